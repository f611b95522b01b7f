# SPDX-License-Identifier: Apache-2.0
"""Checkouts while the ledger or the engine does not answer for a while: each has one end all the same,
and seats, ledger and the peer's book agree."""

import threading

import pytest

from box_office import EVENT, QUICK, SECRETS, ZONE, assert_agreed, checkout, outcome, sagas, wait_ended
from databases import database_of
from payment_peer import PaymentPeer
from server import wait_until
from shop import Shop, engine_of
from test_checkout_faults import Customers, random_faults, settle_attention

COUNT = 120
SEED = 151
FLAGS = ["--ledger-timeout", "1s", *QUICK]
ENDS = ("COMPLETED", "PAYMENT_DECLINED", "NEEDS_ATTENTION")
GONE = ("LEDGER_DOWN", "ENGINE_DOWN", "TIMEOUT", "BUSY")


def play(shop, away, back, is_away):
    """Customers check out, something goes away, is noticed and comes back."""
    with shop, PaymentPeer(random_faults(SEED)) as peer:
        server = shop.serve("--payment-url", peer.url, *FLAGS, env=SECRETS)
        server.call("SEATS.OPEN", EVENT, ZONE, 1000)
        peer.callback_ports = [server.http_port]
        customers = Customers([server], COUNT, SEED)
        running = threading.Thread(target=customers.run, args=(8,))
        running.start()
        wait_until(lambda: customers.begun > COUNT // 3, "customers come", 120)
        away()
        wait_until(lambda: is_away(server), "it is noticed", 120)
        back()
        running.join()
        wait_until(lambda: outcome(checkout(server, "last")) in ENDS, "it is back", 120)
        wait_ended(shop, timeout=300)
        settle_attention(shop, server)
        wait_ended(shop, timeout=300)
        assert_agreed(shop, server, peer)
        assert len(sagas(shop)) > COUNT // 3


@pytest.mark.parametrize("how", ["pause", "kill"])
def test_the_ledger_goes_away(served, request, tmp_path, how):
    play(Shop(served, engine_of("embedded", request, tmp_path)),
         away=getattr(served.server, how),
         back=served.server.resume if how == "pause" else served.server.start,
         is_away=lambda server: outcome(checkout(server, "probe", wait_ms=0)) in GONE)


def test_the_engine_goes_away(request, started, tmp_path):
    redis = request.getfixturevalue("one_redis")
    request.addfinalizer(lambda: redis.resume() if redis.paused else None)
    play(Shop(database_of("postgres", started), engine_of("redis", request, tmp_path)),
         away=redis.pause, back=redis.resume,
         is_away=lambda server: outcome(server.call("SEATS.USER", EVENT, "ann")) in GONE)

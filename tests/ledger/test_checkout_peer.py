# SPDX-License-Identifier: Apache-2.0
"""Checkouts with a payment peer that answers late, twice, wrong or not at all; callbacks; and what an
administrator does about a checkout that needs attention."""

import contextlib
import json
import time
from http.client import HTTPConnection

import pytest

from box_office import (EVENT, QUICK, SECRETS, ZONE, assert_agreed, booking_status, checkout, outcome,
                        saga, wait_ended, zone)
from databases import Database, database_of
from harness import Build
from payment_peer import OLD_SECRET, SECRET, PaymentPeer
from raw_client import http
from server import wait_until
from shop import EmbeddedEngine, Shop, engine_of


@pytest.fixture
def office(started, tmp_path):
    """office(peer, *flags): a shop on SQLite with the embedded engine, and its server."""
    shops = []

    def make(peer, *flags):
        shop = Shop(Database("sqlite", started("sqlite"), f"office{len(shops)}"),
                    EmbeddedEngine(tmp_path))
        shops.append(shop)
        quick = [word for pair in zip(QUICK[::2], QUICK[1::2]) if pair[0] not in flags
                 for word in pair]
        server = shop.serve("--payment-url", peer.url, *quick, *flags, env=SECRETS)
        server.call("SEATS.OPEN", EVENT, ZONE, 100)
        peer.callback_ports = [server.http_port]
        return shop, server

    yield make
    for shop in shops:
        shop.servers.close()


def first(fault, verb="charge"):
    """The fault at the first request of a verb; all is well from then on."""
    return lambda payment, asked, times: fault if asked == verb and times == 0 else "ok"


@pytest.mark.parametrize("fault", ["ok", "pending", "silent", "lost", "cut", "refused", "500", "503",
                                   "redirect", "garbage", "large", "other", "slow", "twice"])
def test_a_charge_that_goes_wrong_is_asked_for(office, fault):
    with PaymentPeer(first(fault)) as peer:
        shop, server = office(peer)
        assert outcome(checkout(server, "b1", quantity=2)) == "COMPLETED", saga(server, "s-b1")
        assert_agreed(shop, server, peer)
        assert [entry["amount"] for entry in peer.book.payments.values()] == [9000]


@pytest.mark.parametrize("fault", ["silent", "lost", "500", "garbage"])
def test_a_refund_that_goes_wrong_is_repeated(office, fault):
    with PaymentPeer(first(fault, "refund")) as peer:
        shop, server = office(peer)
        checkout(server, "b1")
        server.call("SAGA.REFUND", "s-b1")
        assert saga(server, "s-b1", 30000)["status"] == "COMPENSATED"
        assert_agreed(shop, server, peer)


def test_a_declined_payment_is_not_charged(office):
    with PaymentPeer(lambda *_: "declined") as peer:
        shop, server = office(peer)
        refused = checkout(server, "b1")
        assert refused[:2] == [0, "PAYMENT_DECLINED"]
        assert_agreed(shop, server, peer)


def test_a_peer_that_is_down_is_waited_for(office):
    peer = PaymentPeer()
    shop, server = office(peer)
    peer.__exit__()
    assert outcome(checkout(server, "b1", wait_ms=500)) == "PAYING"
    with PaymentPeer() as other:
        server.stop()
        server.flags[server.flags.index(peer.url)] = other.url
        server.start()
        assert saga(server, "s-b1", 60000)["status"] == "COMPLETED"
        assert_agreed(shop, server, other)


# ---- seats that are gone when the payment comes

def lose_hold(server, peer, settles):
    assert outcome(checkout(server, "b1", quantity=2, wait_ms=300)) == "PAYING"
    assert server.call("SEATS.RELEASE", EVENT, "b1")[0] == 1
    settles()
    peer.settles = True
    return saga(server, "s-b1", 60000)


def pending(payment, verb, times):
    return "pending" if verb == "charge" else "ok"


@pytest.mark.parametrize("policy, taken, status", [
    ("rebook", False, "COMPLETED"), ("rebook", True, "COMPENSATED"),
    ("refund", False, "COMPENSATED")])
def test_a_late_payment(office, policy, taken, status):
    with PaymentPeer(pending, settles=False) as peer:
        shop, server = office(peer, "--late-payment", policy)
        seats = 99 if taken else 1
        ended = lose_hold(server, peer, lambda: server.call(
            "SEATS.RESERVE", EVENT, ZONE, "rival", "bob", seats, 100))
        assert ended["status"] == status
        server.call("SEATS.RELEASE", EVENT, "rival")
        assert_agreed(shop, server, peer)


# ---- callbacks

def test_a_callback_ends_the_wait(office):
    """The saga is parked for long; a message wakes it."""
    with PaymentPeer(pending, settles=False) as peer:
        shop, server = office(peer, "--saga-lease", "200ms")
        assert outcome(checkout(server, "b1", wait_ms=300)) == "PAYING"
        shop.rows("UPDATE sagas SET created_at = created_at - 3600000")  # asked for every minute
        wait_until(lambda: shop.rows("SELECT COUNT(*) FROM sagas WHERE due_at - updated_at > 50000 "
                                     "AND owner = ''") == [(1,)], "it is parked")
        payment = saga(server, "s-b1")["payment_id"]
        peer.settles = True
        assert peer.call_back(payment) == 202
        assert saga(server, "s-b1", 30000)["status"] == "COMPLETED"
        assert_agreed(shop, server, peer)


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_callback_to_another_server_ends_the_wait(request, started, tmp_path, kind):
    """The server that drives the saga waits for a minute, and is told by way of the ledger."""
    shop = Shop(database_of(kind, started), engine_of("redis", request, tmp_path))
    with shop, PaymentPeer(pending, settles=False) as peer:
        flags = ["--payment-url", peer.url, *QUICK, "--saga-lease", "10m"]
        driver, other = [shop.serve(*flags, env=SECRETS) for _ in range(2)]
        driver.call("SEATS.OPEN", EVENT, ZONE, 100)
        assert outcome(checkout(driver, "b1", wait_ms=300)) == "PAYING"
        driver.kill()
        shop.rows("UPDATE sagas SET created_at = created_at - 3600000")  # asked for every minute
        other.stop()
        shop.rows("UPDATE sagas SET lease_until = 0")
        driver.start()
        wait_until(lambda: shop.rows("SELECT COUNT(*) FROM sagas WHERE due_at - updated_at > 50000 "
                                     "AND owner <> ''") == [(1,)], "it is waited for", timeout=40)
        other.start()
        peer.callback_ports, peer.settles = [other.http_port], True
        asked = peer.book.times(saga(other, "s-b1")["payment_id"], "ask")
        assert peer.call_back(saga(other, "s-b1")["payment_id"]) == 202
        assert saga(driver, "s-b1", 30000)["status"] == "COMPLETED"
        assert peer.book.times(saga(other, "s-b1")["payment_id"], "ask") > asked
        assert shop.rows("SELECT COUNT(*) FROM barriers WHERE step = 'wake'") == [(0,)]
        assert_agreed(shop, driver, peer)


def test_callbacks_are_believed_only_with_their_signature(office):
    with PaymentPeer(pending, settles=False) as peer:
        shop, server = office(peer)
        checkout(server, "b1", wait_ms=300)
        payment = saga(server, "s-b1")["payment_id"]
        now = int(time.time())
        assert peer.call_back(payment, message="m1") == 202
        assert peer.call_back(payment, message="m1") == 422, "a message that has come before"
        assert peer.call_back(payment, message="m2", secret=OLD_SECRET) == 202
        assert peer.call_back(payment, message="m3", at=now - 3600) == 401
        assert peer.call_back(payment, message="m4", at=now + 3600) == 401
        assert peer.call_back(payment, message="m5", tamper=True) == 401
        assert peer.call_back(payment, message="m6", secret=SECRET[:-6] + "AAAAA=") == 401
        assert peer.call_back("nobody", message="m7") == 404
        assert http(server.http_port, "POST", "/v1/payments/callback", {"payment_id": payment}
                    ).status == 401
        assert saga(server, "s-b1")["status"] == "PAYING", "what a callback says is not believed"
        peer.settles = True
        assert saga(server, "s-b1", 60000)["status"] == "COMPLETED"
        assert_agreed(shop, server, peer)


# ---- the token of a payment

TOKEN = "tok-4242424242424242"


def tokens(shop):
    return [row[0] for row in shop.rows("SELECT payment_token FROM sagas")]


@pytest.mark.parametrize("fault, end", [("ok", "COMPLETED"), ("lost", "COMPLETED"), ("declined", "PAYMENT_DECLINED")])
def test_a_token_is_kept_no_longer_than_it_may_be_needed(office, fault, end):
    with PaymentPeer(first(fault)) as peer:
        shop, server = office(peer)
        assert outcome(checkout(server, "b1", "ann", 1, 4500, "TOKEN", TOKEN)) == end
        assert set(peer.book.tokens) == {TOKEN} and len(peer.book.tokens) == 1 + (fault == "lost")
        assert tokens(shop) == [""]
        assert_agreed(shop, server, peer)


def test_a_token_stays_while_a_charge_may_have_to_be_repeated(office):
    with PaymentPeer(lambda payment, verb, times: "refused") as peer:
        shop, server = office(peer, "--payment-retries", "2")
        assert outcome(checkout(server, "b1", "ann", 1, 4500, "TOKEN", TOKEN)) == "NEEDS_ATTENTION"
        assert outcome(checkout(server, "b2", "ann", 1, 4500, "TOKEN", TOKEN)) == "NEEDS_ATTENTION"
        assert tokens(shop) == [TOKEN, TOKEN]
        peer.faults = lambda *_: "ok"
        server.call("SAGA.RESUME", "s-b1")
        server.call("SAGA.REFUND", "s-b2")
        assert saga(server, "s-b1", 30000)["status"] == "COMPLETED"
        assert saga(server, "s-b2", 30000)["status"] == "COMPENSATED"
        assert set(peer.book.tokens) == {TOKEN} and tokens(shop) == ["", ""]
        assert_agreed(shop, server, peer)


def test_a_token_is_shown_nowhere(office):
    with PaymentPeer(unreachable) as peer:
        _, server = office(peer, "--payment-retries", "1", "--slow-threshold", "0", "--log-level", "debug")
        feed = HTTPConnection("127.0.0.1", server.http_port, timeout=60)
        feed.request("GET", "/v1/feed")
        stream = feed.getresponse()
        refused = checkout(server, "b0", "ann", 1, 4500, "CURRENCY", "eur", "TOKEN", TOKEN)
        assert outcome(checkout(server, "b1", "ann", 1, 4500, "TOKEN", TOKEN)) == "NEEDS_ATTENTION"
        server.call("QUOTA.LIMIT", "last", 1)
        told = []
        while not told or "QUOTA.LIMIT" not in told[-1]:
            told.append(stream.readline().decode())
        feed.close()
        slow = str(server.call("SLOWLOG", "GET", 100))
        assert "SEATS.CHECKOUT" in slow
        shown = [*told, slow, str(refused), str(server.call("SAGA.GET", "s-b1")), server.said()]
        assert not any(TOKEN in text for text in shown)


# ---- attention

def unreachable(payment, verb, times):
    return "500" if verb != "refund" else "ok"


def needing_attention(office, peer):
    shop, server = office(peer, "--payment-retries", "2")
    assert outcome(checkout(server, "b1", quantity=2)) == "NEEDS_ATTENTION"
    shown = saga(server, "s-b1")
    assert (shown["error_code"], shown["payment"]) == ("TIMEOUT", "sent")
    assert zone(server)["reserved"] == 2, "the seats stay held while nobody knows"
    return shop, server


def test_attention_is_resumed(office):
    with PaymentPeer(unreachable) as peer:
        shop, server = needing_attention(office, peer)
        peer.faults = lambda *_: "ok"
        assert server.call("SAGA.RESUME", "s-b1") == [1, "s-b1", "PAYING"]
        assert saga(server, "s-b1", 30000)["status"] == "COMPLETED"
        assert server.call("SAGA.RESUME", "s-b1") == [1, "s-b1", "COMPLETED"]
        assert_agreed(shop, server, peer)


def test_attention_is_refunded(office):
    with PaymentPeer(unreachable) as peer:
        shop, server = needing_attention(office, peer)
        peer.faults = lambda *_: "ok"
        assert server.call("SAGA.REFUND", "s-b1") == [1, "s-b1", "COMPENSATING"]
        assert saga(server, "s-b1", 30000)["status"] == "COMPENSATED"
        assert_agreed(shop, server, peer)
        assert [entry["refunded"] for entry in peer.book.payments.values()] == [1]


@pytest.mark.parametrize("command, end", [("SAGA.RESUME", "COMPLETED"), ("SAGA.REFUND", "COMPENSATED")])
def test_killed_when_it_needs_attention_it_still_does(started, tmp_path, command, end):
    shop = Shop(Database("sqlite", started("sqlite"), "killed"), EmbeddedEngine(tmp_path))
    with shop, PaymentPeer(unreachable) as peer:
        server = shop.serve("--payment-url", peer.url, *QUICK, "--payment-retries", "2",
                            program=Build().path / "tests" / "holdfast-faults",
                            env={**SECRETS, "HOLDFAST_FAULT": "saga_needs_attention"})
        server.call("SEATS.OPEN", EVENT, ZONE, 100)
        with contextlib.suppress(ConnectionError, OSError):
            checkout(server, "b1", quantity=2)
        wait_until(lambda: server.process.poll() is not None, "it dies", timeout=60)
        server.kill()
        server.env = SECRETS
        server.start()
        shown = saga(server, "s-b1")
        assert (shown["status"], shown["payment"], shown["error_code"]) == ("NEEDS_ATTENTION", "sent", "TIMEOUT")
        assert zone(server)["reserved"] == 2
        peer.faults = lambda *_: "ok"
        assert server.call(command, "s-b1")[0] == 1
        assert saga(server, "s-b1", 60000)["status"] == end
        assert_agreed(shop, server, peer)


def test_attention_is_told_to_the_receiver_of_webhooks(office):
    """In the outbox with the move itself; nobody listens there."""
    with PaymentPeer(unreachable) as peer:
        shop, server = office(peer, "--payment-retries", "1", "--webhook-url", "http://127.0.0.1:9/")
        assert outcome(checkout(server, "b1")) == "NEEDS_ATTENTION"
        told = [row for row in shop.rows("SELECT scope, subject_id, type, payload FROM outbox")
                if row[2] == "saga.needs_attention"]
        assert [row[:2] for row in told] == [(EVENT, "b1")]
        assert json.loads(told[0][3])["saga_id"] == "s-b1"


def test_a_refund_that_is_refused_needs_attention(office):
    with PaymentPeer() as peer:
        shop, server = office(peer)
        checkout(server, "b1")
        kept = dict(peer.book.payments)
        peer.book.payments.clear()
        server.call("SAGA.REFUND", "s-b1")
        assert saga(server, "s-b1", 30000)["status"] == "NEEDS_ATTENTION"
        assert booking_status(server, "b1") is None
        peer.book.payments.update(kept)
        server.call("SAGA.RESUME", "s-b1")
        assert saga(server, "s-b1", 30000)["status"] == "COMPENSATED"
        wait_ended(shop)
        assert_agreed(shop, server, peer)

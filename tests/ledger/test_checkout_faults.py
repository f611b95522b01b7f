# SPDX-License-Identifier: Apache-2.0
"""Many checkouts at once, with faults of the payment peer, lost holds and killed servers by a seed:
each has one end, and seats, ledger and the peer's book agree.

HOLDFAST_CHECKOUT_SEED and HOLDFAST_CHECKOUT_SAGAS play another or a longer one."""

import contextlib
import os
import random
import threading

import pytest

from box_office import (EVENT, FINAL, QUICK, SECRETS, ZONE, assert_agreed, sagas, wait_ended)
from databases import Database, database_of
from payment_peer import PaymentPeer
from server import Error, wait_until
from shop import EmbeddedEngine, Shop, engine_of

SEED = int(os.environ.get("HOLDFAST_CHECKOUT_SEED", "15"))
SAGAS = int(os.environ.get("HOLDFAST_CHECKOUT_SAGAS", "1000"))
CHARGE = ["ok"] * 14 + ["declined", "declined", "pending", "cut", "refused", "500", "503",
                        "redirect", "garbage", "large", "other", "slow", "twice", "silent"]
LATER = ["ok"] * 8 + ["cut", "500", "503", "garbage", "redirect", "slow"]


def random_faults(seed):
    """By the payment's place in the order of arrival: ids are made anew in each run."""
    numbers, lock = {}, threading.Lock()

    def fault(payment, verb, times):
        with lock:
            number = numbers.setdefault(payment, len(numbers))
        dice = random.Random(f"{seed}:{number}:{verb}:{times}")
        if times > 4:
            return "ok"
        return dice.choice(CHARGE if verb == "charge" else LATER)
    return fault


class Customers:
    """Check out side by side, each again until it is told something."""

    def __init__(self, servers, count, seed, prefix="b"):
        self.servers, self.count, self.seed, self.prefix = servers, count, seed, prefix
        self.begun = 0
        self.lock = threading.Lock()

    def next(self):
        with self.lock:
            self.begun += 1
            return self.begun - 1 if self.begun <= self.count else None

    def check_out(self, number):
        """Again on whichever server answers, until one has taken it."""
        dice = random.Random(f"{self.seed}:{self.prefix}{number}")
        booking, quantity = f"{self.prefix}{number}", dice.randint(1, 3)
        for attempt in range(10_000):
            server = self.servers[(number + attempt) % len(self.servers)]
            with contextlib.suppress(OSError, ConnectionError):
                answer = server.call("SEATS.CHECKOUT", EVENT, ZONE, f"u{number % 200}", quantity, 1000,
                                     "BOOKING", booking, "SAGA", f"s-{booking}",
                                     "PRICE", dice.choice([100, 2500, 9900]))
                if not isinstance(answer, Error):
                    if dice.random() < 0.03:
                        server.call("SEATS.RELEASE", EVENT, booking)
                    return
            threading.Event().wait(0.02)
        raise AssertionError(f"nobody takes {booking}")

    def customer(self):
        while (number := self.next()) is not None:
            self.check_out(number)

    def run(self, customers=16):
        failures = []

        def guarded():
            try:
                self.customer()
            except BaseException as error:  # shown by the test's own thread
                failures.append(error)

        threads = [threading.Thread(target=guarded) for _ in range(customers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]


def settle_attention(shop, server):
    """What an administrator would do about those that need attention."""
    for name, row in sagas(shop).items():
        if row[0] == "NEEDS_ATTENTION":
            server.call("SAGA.RESUME", name)


def test_random_faults_of_the_peer(started, tmp_path):
    shop = Shop(Database("sqlite", started("sqlite"), "faults"), EmbeddedEngine(tmp_path))
    with shop, PaymentPeer(random_faults(SEED)) as peer:
        server = shop.serve("--payment-url", peer.url, *QUICK, env=SECRETS)
        server.call("SEATS.OPEN", EVENT, ZONE, SAGAS)
        peer.callback_ports = [server.http_port]
        Customers([server], SAGAS, SEED).run()
        wait_ended(shop, SAGAS, timeout=300)
        settle_attention(shop, server)
        wait_ended(shop, SAGAS, timeout=300)
        assert_agreed(shop, server, peer)
        ends = [row[0] for row in sagas(shop).values()]
        assert ends.count("COMPLETED") > SAGAS / 10 and ends.count("COMPENSATED") > SAGAS / 10
        assert set(ends) <= FINAL


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_two_servers_that_are_killed_in_turn(request, started, tmp_path, kind):
    """On one database and one Redis: what one has begun the other ends, and none does it twice."""
    count = max(60, SAGAS // 10)
    shop = Shop(database_of(kind, started), engine_of("redis", request, tmp_path))
    with shop, PaymentPeer(random_faults(SEED + 1)) as peer:
        servers = [shop.serve("--payment-url", peer.url, *QUICK, env=SECRETS) for _ in range(2)]
        servers[0].call("SEATS.OPEN", EVENT, ZONE, count)
        peer.callback_ports = [server.http_port for server in servers]
        customers = Customers(servers, count, SEED + 1)

        def kill_in_turn():
            for turn in range(3):
                wait_until(lambda: customers.begun > (turn + 1) * count // 5, "customers come", 300)
                servers[turn % 2].restart("kill")

        killer = threading.Thread(target=kill_in_turn)
        killer.start()
        customers.run(8)
        killer.join()
        shop.bury_the_dead()
        wait_ended(shop, count, timeout=300)
        settle_attention(shop, servers[0])
        wait_ended(shop, count, timeout=300)
        assert_agreed(shop, servers[0], peer)

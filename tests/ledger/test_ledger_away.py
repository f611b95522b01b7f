# SPDX-License-Identifier: Apache-2.0
"""The database dies, is frozen, or loses its connections under load: orders are refused or unknown
meanwhile, and nothing is lost or doubled afterwards."""

import pytest

from server import wait_until
from shop import Rush, buy, load, outcome

TIMEOUT_S = 1
FLAGS = ["--ledger-timeout", f"{TIMEOUT_S}s"]
# A product that was not sold yet is compared with the ledger first, which a frozen one holds up.
DOWN = {"LEDGER_DOWN", "TIMEOUT", "LOADING"}


def settle(server, rush):
    """Every order has one end: those that were refused or unknown are tried again."""
    for order in rush.orders(*DOWN):
        answer = wait_until(lambda: known(buy(server, order)), order)
        rush.outcomes[order] = answer


def known(answer):
    found = outcome(answer)
    return found if found in ("SOLD", "SOLD_OUT") else None


def check(shop, server, rush, loaded):
    settle(server, rush)
    assert rush.seen() <= {"SOLD", "SOLD_OUT"}
    assert shop.sold() == rush.count("SOLD")
    assert shop.stock() == loaded - shop.sold()
    shop.wait_agreed(server)


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_a_database_away_under_load(served_shop, fault):
    shop = served_shop
    server = shop.serve(*FLAGS)
    load(server, 1_000_000)
    rush = Rush(server, buyers=16)
    with rush.going():
        wait_until(lambda: rush.count("SOLD") > 200, "the rush is on")
        getattr(shop.database.server, fault)()
        wait_until(lambda: rush.seen() & DOWN, "refused")
        wait_until(lambda: rush.count("LEDGER_DOWN") > 20, "refused for sure")
        shop.database.server.start() if fault == "kill" else shop.database.server.resume()
        sold = rush.count("SOLD")
        wait_until(lambda: rush.count("SOLD") > sold + 200, "the rush is on again")
    assert rush.seen() <= {"SOLD"} | DOWN, rush.seen()
    assert rush.slowest_s < TIMEOUT_S + 9, "nobody waits longer than the timeout"
    check(shop, server, rush, 1_000_000)


def test_no_stock_stays_lost(served_shop):
    """A sale of few pieces with the database away: they are all there afterwards."""
    shop = served_shop
    server = shop.serve(*FLAGS)
    load(server, 10)
    shop.database.server.pause()
    rush = Rush(server, buyers=20).run(1)
    assert rush.seen() <= DOWN | {"SOLD_OUT"} and rush.seen() & DOWN
    shop.database.server.resume()
    check(shop, server, rush, 10)
    assert Rush(server, buyers=10, prefix="more").run(2).seen() <= {"SOLD", "SOLD_OUT"}
    assert shop.sold() == 10 and shop.stock() == 0


def test_a_server_that_starts_without_its_database(served_shop):
    shop = served_shop
    shop.database.server.stop()
    server = shop.serve(*FLAGS)
    try:
        assert outcome(buy(server, "o-1")) == "LEDGER_DOWN"
    finally:
        shop.database.server.start()
    load(server, 5)
    assert shop.stock() == 5
    assert wait_until(lambda: known(buy(server, "o-1")), "bought") == "SOLD"

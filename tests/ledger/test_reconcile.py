# SPDX-License-Identifier: Apache-2.0
"""Reconciliation in the middle of a rush changes nothing that is in flight, finds what is really
wrong, and is done once however many servers there are."""

import contextlib
import threading

import pytest

from harness import Build, run
from server import wait_until
from shop import PRODUCT, Rush, buy, outcome, stock_of


def test_a_rush_that_never_pauses_is_not_corrected(shop):
    server = shop.serve("--reconcile-every", "20ms")
    server.call("STOCK.LOAD", PRODUCT, 1_000_000)
    rush = Rush(server, buyers=12)
    reports = []
    with rush.going():
        while rush.count("SOLD") < 3000:
            reports.append(server.call("RECONCILE"))
    assert rush.seen() == {"SOLD"}
    assert all(report[0] == 1 and report[2] == 0 for report in reports), reports
    assert shop.drift() == []
    shop.wait_agreed(server)
    assert shop.sold() == rush.count("SOLD") == 1_000_000 - shop.stock()


def test_a_naive_overwrite_would_be_wrong(shop):
    """What the interval is for: the difference between the two sides, as one reads it off in a rush, is
    not 0, though nothing is wrong. Whoever wrote the ledger's stock over the engine's would sell
    what is taken already."""
    server = shop.serve("--reconcile-every", "20ms")
    server.call("STOCK.LOAD", PRODUCT, 1_000_000)
    rush = Rush(server, buyers=12)
    apart = 0
    with rush.going():
        while rush.count("SOLD") < 2000 or apart == 0:
            held = stock_of(server)
            apart = max(apart, abs(held["available"] - shop.stock()))
            assert rush.count("SOLD") < 50_000, "the two sides never differ"
    assert apart > 0
    assert shop.drift() == []


def test_what_is_really_wrong_is_found_in_a_rush(shop):
    server = shop.serve("--reconcile-every", "20ms")
    server.call("STOCK.LOAD", PRODUCT, 100_000)
    rush = Rush(server, buyers=8)
    with rush.going():
        wait_until(lambda: rush.count("SOLD") > 100, "the rush is on")
        shop.rows("UPDATE inventory SET stock = stock - 50000 WHERE product_id = ?", PRODUCT)
        wait_until(lambda: sum(after - before for before, after, _, _ in shop.drift()) < -40_000,
                   "most of it is corrected")
    shop.wait_agreed(server)
    wait_until(lambda: sum(after - before for before, after, _, _ in shop.drift()) == -50_000,
               "all of it is written down")
    assert shop.stock() == 50_000 - shop.sold()


def test_many_servers_correct_it_once(redis_shop):
    shop = redis_shop
    servers = [shop.serve("--reconcile-every", "20ms") for _ in range(3)]
    servers[0].call("STOCK.LOAD", PRODUCT, 100)
    for server in servers:
        assert outcome(buy(server, f"o-{server.resp_port}")) == "SOLD"
    shop.rows("UPDATE inventory SET stock = stock + 40 WHERE product_id = ?", PRODUCT)
    threads = [threading.Thread(target=server.call, args=("RECONCILE",)) for server in servers * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shop.wait_agreed(servers[0])
    assert shop.wait_corrected() == [40]
    assert stock_of(servers[1])["available"] == 137


def test_many_servers_sell_together(redis_shop):
    shop = redis_shop
    servers = [shop.serve("--reconcile-every", "20ms") for _ in range(2)]
    servers[0].call("STOCK.LOAD", PRODUCT, 1500)
    rushes = [Rush(server, buyers=8, prefix=f"s{number}") for number, server in enumerate(servers)]
    threads = [threading.Thread(target=rush.run, args=(120,)) for rush in rushes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(rush.count("SOLD") for rush in rushes) == 1500 == shop.sold()
    assert all(rush.seen() <= {"SOLD", "SOLD_OUT"} for rush in rushes)
    assert shop.stock() == 0 and shop.drift() == []


def test_a_dead_server_is_finished_by_another(redis_shop):
    """Killed while orders are in flight: the other one settles what the ledger has."""
    shop = redis_shop
    one = shop.serve()
    one.call("STOCK.LOAD", PRODUCT, 100_000)
    dying = [writer for writer, in shop.rows("SELECT writer_id FROM writers")]
    other = shop.serve()
    rush = Rush(one, buyers=8)
    with contextlib.suppress(ConnectionError, OSError), rush.going():
        wait_until(lambda: rush.count("SOLD") > 200, "the rush is on")
        one.kill()
    sold = shop.sold()
    assert sold >= rush.count("SOLD")
    for writer in dying:  # as if they had not been heard of for long
        shop.rows("UPDATE writers SET seen_at = 1 WHERE writer_id = ?", writer)
    wait_until(lambda: buried(shop, dying), "the dead are buried")
    wait_until(lambda: stock_of(other)["available"] + stock_of(other)["taken"] == shop.stock(),
               "the other one has settled them")
    assert shop.sold() == sold and shop.stock() == 100_000 - sold


def buried(shop, writers):
    left = {writer for writer, in shop.rows("SELECT writer_id FROM writers")}
    return not left & set(writers)


@pytest.fixture
def corrected(shop):
    server = shop.serve("--reconcile-every", "1h")
    server.call("STOCK.LOAD", PRODUCT, 100)
    buy(server, "o-1")
    assert server.call("RECONCILE") == [1, 1, 0, 0]
    shop.rows("UPDATE inventory SET stock = stock + 5 WHERE product_id = ?", PRODUCT)
    return shop, server


def test_on_demand_and_dry(corrected):
    shop, server = corrected
    assert server.call("RECONCILE", "DRY") == [1, 1, 1, 5]
    assert stock_of(server)["available"] == 99 and shop.drift() == []
    assert server.call("RECONCILE", "PRODUCT", PRODUCT) == [1, 1, 1, 5]
    assert stock_of(server)["available"] == 104
    assert server.call("RECONCILE") == [1, 1, 0, 0]


def test_by_the_program(corrected):
    shop, server = corrected
    program = Build().program
    audit = run(program, "audit", "--ledger", server.url)
    assert audit.code == 1 and PRODUCT in audit.out, audit
    report = run(program, "reconcile", "--url", server.url)
    assert report.code == 0 and "5" in report.out, report
    audit = run(program, "audit", "--ledger", server.url)
    assert audit.code == 0, audit
    assert stock_of(server)["available"] == 104

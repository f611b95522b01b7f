# SPDX-License-Identifier: Apache-2.0
"""Redis dies under load: the breaker opens within its window, a trickle goes straight to the
conditional update, all others are refused at once, and when Redis is back all of it is made good."""

import time

from raw_client import http
from server import wait_until
from shop import PRODUCT, Rush, buy, metrics, outcome, stock_of

RATE = 40
BREAKER = ["--breaker-window", "1s", "--breaker-open-for", "500ms", "--fallback-rate", RATE]


def test_redis_killed_under_load(redis_shop):
    shop = redis_shop
    server = shop.serve(*BREAKER)
    server.call("STOCK.LOAD", PRODUCT, 1_000_000)
    rush = Rush(server, buyers=16)
    with rush.going():
        wait_until(lambda: rush.count("SOLD") > 200, "the rush is on")
        shop.engine.redis.kill()
        wait_until(lambda: "open" in status(server), "the breaker is open")
        start, before = time.monotonic(), shop.sold()
        wait_until(lambda: shop.sold() > before + RATE, "a trickle is sold")
        sold = shop.sold() - before
        lasted = time.monotonic() - start  # longer than all that was counted took
        assert sold <= RATE * (lasted + 1) + RATE  # the bucket holds a second's
        assert rush.count("BUSY") > 0
        refused = http(server.http_port, "POST", f"/v1/products/{PRODUCT}/orders",
                       {"user_id": "ann", "quantity": 1})
        if refused.status == 503:
            assert int(refused.headers["retry-after"]) >= 1
        shop.engine.redis.start()
        wait_until(lambda: "closed" in status(server), "the breaker is closed again")
        sold = rush.count("SOLD")
        wait_until(lambda: rush.count("SOLD") > sold + 200, "the rush is on again")
    assert rush.slowest_s < 15, "nobody waits longer than the timeouts"
    assert rush.seen() <= {"SOLD", "BUSY", "TIMEOUT", "ENGINE_DOWN", "LOADING"}, rush.seen()
    settle_unknown(server, rush)
    trickled = shop.value("SELECT COUNT(*) FROM orders WHERE user_id = 'ann'")  # by HTTP, unless it was refused
    assert shop.sold() == rush.count("SOLD") + trickled
    assert shop.stock() == 1_000_000 - shop.sold()
    reload_after_loss(shop, server)
    shop.wait_agreed(server)


def status(server):
    lines = http(server.http_port, "GET", "/readyz").body.decode().lower().splitlines()
    return next((line for line in lines if "breaker" in line), "")


def settle_unknown(server, rush):
    """Asks for every order whose outcome is not known, until it is."""
    for order in rush.orders("TIMEOUT"):
        wait_until(lambda: outcome(buy(server, order)) in ("SOLD", "SOLD_OUT"), order)
        rush.outcomes[order] = outcome(buy(server, order))


def reload_after_loss(shop, server):
    """Redis came back with nothing, since it keeps nothing on disk here."""
    assert stock_of(server) is not None


def test_the_trickle_is_divided_among_servers(redis_shop):
    server = redis_shop.serve(*BREAKER, "--servers", 4)
    server.call("STOCK.LOAD", PRODUCT, 100_000)
    redis_shop.engine.redis.kill()
    rush = Rush(server, buyers=8)
    with rush.going():
        wait_until(lambda: "open" in status(server), "the breaker is open")
        start, before = time.monotonic(), redis_shop.sold()
        wait_until(lambda: redis_shop.sold() > before + RATE // 2, "a trickle is sold")
        sold = redis_shop.sold() - before
        lasted = time.monotonic() - start
        assert sold <= RATE / 4 * (lasted + 1) + RATE / 4 + 1


def test_the_trickle_never_oversells(redis_shop):
    server = redis_shop.serve(*BREAKER)
    server.call("STOCK.LOAD", PRODUCT, 30)
    redis_shop.engine.redis.kill()
    rush = Rush(server, buyers=8)
    with rush.going():
        wait_until(lambda: rush.count("SOLD_OUT") > 0, "it is sold out")
    assert redis_shop.sold() == 30 == rush.count("SOLD") and redis_shop.stock() == 0


def test_breaker_and_limiter_are_in_the_metrics(redis_shop):
    server = redis_shop.serve(*BREAKER)
    names = "\n".join(metrics(server))
    for part in ("breaker", "fallback", "ledger", "drift"):
        assert part in names, part
    assert "breaker" in http(server.http_port, "GET", "/readyz").body.decode().lower()

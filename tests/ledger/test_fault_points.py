# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the server between any two steps of a purchase and a return, with the engine on Redis and
the ledger on a server: tests/e2e/test_sale_faults.py has all points on the embedded engine."""

import contextlib

import pytest

from harness import Build
from server import wait_until
from shop import PRODUCT, buy, outcome

PURCHASE = ["purchase_taken", "purchase_sold", "purchase_settled", "purchase_answered",
            "purchase_told"]
RETURN = ["return_ended", "return_adjusted", "return_told"]


@pytest.fixture(params=["postgres", "mariadb"])
def dying_shop(request, redis_shop_on):
    return redis_shop_on(request.param)


def die_at(server, point, *words):
    """Starts the server so that it dies at the point, lets it, and starts it again."""
    server.stop()
    server.env = {"HOLDFAST_FAULT": point}
    server.start()
    with contextlib.suppress(ConnectionError, OSError):
        server.call(*words)
    wait_until(lambda: server.process.poll() is not None, f"it dies at {point}")
    server.kill()
    server.env = {}
    server.start()


def serve(shop, *flags):
    server = shop.serve(*flags, program=Build().path / "tests" / "holdfast-faults")
    server.call("STOCK.LOAD", PRODUCT, 10)
    return server


@pytest.mark.parametrize("point", PURCHASE)
def test_killed_in_a_purchase(dying_shop, point):
    shop = dying_shop
    server = serve(shop)
    die_at(server, point, "STOCK.BUY", PRODUCT, "o-1", "ann", 2)
    shop.bury_the_dead()
    wait_until(lambda: outcome(buy(server, "o-1", "ann", 2)) == "SOLD", point)
    assert shop.sold() == 2 and shop.stock() == 8
    shop.wait_agreed(server)


@pytest.mark.parametrize("point", RETURN)
def test_killed_in_a_return(dying_shop, point):
    shop = dying_shop
    server = serve(shop)
    buy(server, "o-1", "ann", 2)
    die_at(server, point, "STOCK.RETURN", PRODUCT, "o-1")
    shop.bury_the_dead()
    wait_until(lambda: server.call("STOCK.RETURN", PRODUCT, "o-1")[1] == "RETURNED", point)
    assert shop.sold() == 0 and shop.stock() == 10
    shop.wait_agreed(server)


def test_killed_past_an_engine_that_is_away(dying_shop):
    shop = dying_shop
    server = serve(shop)
    server.stop()
    server.env = {"HOLDFAST_FAULT": "purchase_direct_sold"}
    server.start()
    shop.engine.redis.kill()
    with contextlib.suppress(ConnectionError, OSError):
        wait_until(lambda: outcome(buy(server, "o-1", "ann", 2)) == "SOLD", "it dies")
    wait_until(lambda: server.process.poll() is not None, "it dies")
    server.kill()
    shop.engine.redis.start()
    server.env = {}
    server.start()
    shop.bury_the_dead()
    wait_until(lambda: outcome(buy(server, "o-1", "ann", 2)) == "SOLD", "the retry")
    assert shop.sold() == 2 and shop.stock() == 8
    shop.wait_agreed(server)

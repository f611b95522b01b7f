# SPDX-License-Identifier: Apache-2.0
"""An engine that is put back to an earlier state, comes up empty, or has lost its head altogether: the
ledger goes on deciding, nobody is sold what does not exist, and both agree again by themselves."""

import shutil

import pytest

from shop import PRODUCT, Rush, buy, outcome, stock_of


def sell(server, first, last):
    for number in range(first, last):
        assert outcome(buy(server, f"early-{number}")) == "SOLD"


def test_an_engine_put_back_to_an_earlier_state(shop):
    server = shop.serve()
    server.call("STOCK.LOAD", PRODUCT, 100)
    sell(server, 0, 30)
    server.stop()
    shop.engine.remember()
    server.start()
    sell(server, 30, 60)
    server.kill()
    shop.engine.roll_back()
    server.start()
    rush = Rush(server, buyers=20).run(10)
    assert rush.count("SOLD") == 40 and rush.seen() == {"SOLD", "SOLD_OUT"}
    assert shop.sold() == 100 and shop.stock() == 0
    shop.bury_the_dead()
    shop.wait_agreed(server)
    assert stock_of(server)["available"] == 0
    assert shop.wait_corrected()
    assert server.call("RECONCILE")[3] == 0
    # Orders that the engine has forgotten are still the buyers'.
    for number in (0, 29, 30, 59):
        assert outcome(buy(server, f"early-{number}")) == "SOLD"
    assert shop.sold() == 100


def test_it_happens_while_the_server_runs(redis_shop):
    shop = redis_shop
    server = shop.serve()
    server.call("STOCK.LOAD", PRODUCT, 100)
    sell(server, 0, 30)
    shop.engine.remember()
    sell(server, 30, 60)
    shop.engine.roll_back()
    rush = Rush(server, buyers=20)
    while rush.count("SOLD") < 40:  # those refused while Redis came back try again
        rush.prefix += "x"
        rush.run(5)
    assert rush.count("SOLD") == 40 and shop.sold() == 100 and shop.stock() == 0
    shop.wait_agreed(server)


def test_an_engine_that_comes_up_empty(shop):
    server = shop.serve()
    server.call("STOCK.LOAD", PRODUCT, 50)
    sell(server, 0, 20)
    server.kill()
    empty(shop)
    server.start()
    shop.bury_the_dead()
    rush = Rush(server, buyers=10).run(6)
    assert rush.count("SOLD") == 30 and shop.sold() == 50 and shop.stock() == 0
    shop.wait_agreed(server)


def empty(shop):
    if shop.engine.name == "redis":
        shop.engine.redis.client().flushall()
    else:
        shutil.rmtree(shop.engine.directory)


def test_one_per_customer_outlives_the_engine(shop):
    server = shop.serve()
    server.call("STOCK.LOAD", PRODUCT, 50)
    server.stop()
    shop.engine.remember()
    server.start()
    assert outcome(buy(server, "o-1", "ann", 1, PRODUCT, "MAX", 1)) == "SOLD"
    server.kill()
    shop.engine.roll_back()
    server.start()
    assert outcome(buy(server, "o-2", "ann", 1, PRODUCT, "MAX", 1)) == "USER_LIMIT_EXCEEDED"
    assert outcome(buy(server, "o-1", "ann", 1, PRODUCT, "MAX", 1)) == "SOLD"
    shop.bury_the_dead()
    shop.wait_agreed(server)
    assert shop.sold() == 1


@pytest.mark.parametrize("delta", [25, -25])
def test_stock_that_the_shop_itself_changes(shop, delta):
    server = shop.serve()
    server.call("STOCK.LOAD", PRODUCT, 50)
    sell(server, 0, 5)
    shop.rows("UPDATE inventory SET stock = stock + ? WHERE product_id = ?", delta, PRODUCT)
    shop.wait_agreed(server)
    assert stock_of(server)["available"] == 45 + delta
    assert shop.wait_corrected() == [delta]

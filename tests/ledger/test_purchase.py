# SPDX-License-Identifier: Apache-2.0
"""STOCK.BUY and its kin, on every database and every engine: the ledger has a row for each order that
was answered SOLD, and its stock is less by just that."""

import pytest

from raw_client import http
from server import Error
from shop import PRODUCT, Rush, buy, outcome, stock_of


@pytest.fixture
def server(shop):
    server = shop.serve()
    assert server.call("STOCK.LOAD", PRODUCT, 100) == [1, 100]
    return server


def order_of(server, order, product=PRODUCT):
    words = server.call("STOCK.ORDER", product, order)
    return dict(zip(words[::2], words[1::2])) if words[0] != 0 else words[1]


def test_a_purchase_is_in_the_ledger_and_in_the_engine(shop, server):
    assert shop.stock() == 100
    assert buy(server, "o-1", "ann", 3, PRODUCT, "PRICE", 4200) == [1, 97, "SOLD"]
    assert shop.stock() == 97
    assert shop.rows("SELECT product_id, user_id, quantity, unit_price, status FROM orders "
                     "WHERE order_id = ?", "o-1") == [(PRODUCT, "ann", 3, 4200, "sold")]
    found = order_of(server, "o-1")
    assert found["status"] == "sold" and found["quantity"] == 3 and found["unit_price"] == 4200
    assert found["user_id"] == "ann" and found["sold_at"] > 1_600_000_000_000
    held = stock_of(server)
    assert (held["available"], held["taken"], held["sold"]) == (97, 0, 3)
    assert order_of(server, "o-2") == "NOT_FOUND"


def test_the_same_again_answers_as_before_and_other_arguments_are_refused(shop, server):
    for _ in range(3):
        assert buy(server, "o-1", "ann", 2)[0::2] == [1, "SOLD"]
    assert shop.stock() == 98 and shop.sold() == 2
    for changed in (("bob", 2), ("ann", 3)):
        answer = buy(server, "o-1", *changed)
        assert answer[:2] == [0, "INVALID_STATE"], answer
    assert shop.stock() == 98 and stock_of(server)["available"] == 98


def test_the_same_again_after_a_restart(shop, server):
    assert outcome(buy(server, "o-1", "ann", 2)) == "SOLD"
    server.restart("kill")
    assert outcome(buy(server, "o-1", "ann", 2)) == "SOLD"
    shop.wait_agreed(server)
    assert shop.stock() == 98 and shop.sold() == 2


def test_no_more_is_sold_than_there_is(shop, server):
    rush = Rush(server, buyers=20).run(8)
    assert rush.seen() == {"SOLD", "SOLD_OUT"}
    assert rush.count("SOLD") == 100 == shop.sold()
    assert shop.stock() == 0
    orders = {order for order, in shop.rows("SELECT order_id FROM orders WHERE status = 'sold'")}
    assert orders == set(rush.orders("SOLD"))
    shop.wait_agreed(server)


def test_refusals_after_sold_out_do_not_reach_the_database(shop, server):
    buy(server, "all", "ann", 100)
    before = shop.value("SELECT COUNT(*) FROM orders")
    sales = ledger_sales(server)
    assert Rush(server, buyers=4, prefix="late").run(20).seen() == {"SOLD_OUT"}
    assert ledger_sales(server) == sales
    assert shop.value("SELECT COUNT(*) FROM orders") == before


def ledger_sales(server):
    lines = http(server.http_port, "GET", "/metrics").body.decode().splitlines()
    return [line for line in lines if line.startswith("holdfast_ledger_sales_total")]


def test_one_per_customer(shop, server):
    assert outcome(buy(server, "o-1", "ann", 1, PRODUCT, "MAX", 1)) == "SOLD"
    assert outcome(buy(server, "o-2", "ann", 1, PRODUCT, "MAX", 1)) == "USER_LIMIT_EXCEEDED"
    assert outcome(buy(server, "o-1", "ann", 1, PRODUCT, "MAX", 1)) == "SOLD"
    assert shop.sold() == 1


def test_an_order_comes_back_once(shop, server):
    buy(server, "o-1", "ann", 5)
    for _ in range(2):
        assert server.call("STOCK.RETURN", PRODUCT, "o-1")[:2] == [1, "RETURNED"]
    assert shop.stock() == 100 and shop.sold() == 0
    assert order_of(server, "o-1")["status"] == "returned"
    assert order_of(server, "o-1")["returned_at"] >= order_of(server, "o-1")["sold_at"]
    shop.wait_agreed(server)
    assert outcome(buy(server, "o-1", "ann", 5)) == "INVALID_STATE"
    assert outcome(server.call("STOCK.RETURN", PRODUCT, "never")) == "NOT_FOUND"
    shop.wait_agreed(server)
    assert shop.stock() == 100
    assert shop.drift() == []


def test_a_product_of_the_ledger_is_opened_at_its_first_use(shop):
    server = shop.serve()
    shop.rows("INSERT INTO inventory (product_id, stock) VALUES (?, ?)", "hat", 7)
    assert buy(server, "o-1", "ann", 2, "hat") == [1, 5, "SOLD"]
    assert shop.stock("hat") == 5
    shop.rows("INSERT INTO inventory (product_id, stock) VALUES (?, ?)", "cap", 3)
    assert server.call("STOCK.OPEN", "cap") == [1, 3]
    assert server.call("STOCK.OPEN", "cap") == [1, 3]
    assert outcome(buy(server, "o-2", "ann", 4, "cap")) == "SOLD_OUT"
    for words in (("STOCK.OPEN", "none"), ("STOCK.BUY", "none", "o-3", "ann", 1)):
        assert outcome(server.call(*words)) == "PRODUCT_NOT_FOUND"


def test_loading_moves_the_stock_by_the_difference(shop, server):
    buy(server, "o-1", "ann", 10)
    assert server.call("STOCK.LOAD", PRODUCT, 150) == [1, 140]
    assert shop.stock() == 140
    assert server.call("STOCK.LOAD", PRODUCT, 20) == [1, 10]
    assert shop.stock() == 10
    assert outcome(server.call("STOCK.LOAD", PRODUCT, 5)) == "CAPACITY_IN_USE"
    assert shop.stock() == 10
    shop.wait_agreed(server)
    assert shop.drift() == []


def test_over_http(shop, server):
    path = f"/v1/products/{PRODUCT}/orders"
    made = http(server.http_port, "POST", path, {"user_id": "ann", "quantity": 2, "unit_price": 500})
    assert made.status == 201, made
    order = made.json["order_id"]
    found = http(server.http_port, "GET", f"{path}/{order}")
    assert found.status == 200 and found.json["status"] == "sold"
    assert found.json["quantity"] == 2 and found.json["unit_price"] == 500
    back = http(server.http_port, "POST", f"{path}/{order}/return", {})
    assert back.status == 200, back
    assert http(server.http_port, "GET", f"{path}/none").status == 404
    gone = http(server.http_port, "POST", path, {"user_id": "ann", "quantity": 1000})
    assert gone.status == 409 and gone.code == "SOLD_OUT"
    report = http(server.http_port, "POST", "/v1/reconcile", {})
    assert report.status == 200 and report.json["drift"] == 0


def test_what_is_wrong_changes_nothing(shop, server):
    for words in (("STOCK.BUY", PRODUCT, "o-1", "ann", 0), ("STOCK.BUY", PRODUCT, "o-1", "ann", -1),
                  ("STOCK.BUY", PRODUCT, "", "ann", 1), ("STOCK.BUY", PRODUCT, "o 1", "ann", 1),
                  ("STOCK.BUY", PRODUCT, "o-1", "ann", 1, "PRICE", -1),
                  ("STOCK.BUY", PRODUCT, "o-1", "ann")):
        answer = server.call(*words)
        assert isinstance(answer, Error) or answer[0] == 0, words
    assert shop.value("SELECT COUNT(*) FROM orders") == 0 and shop.stock() == 100

# SPDX-License-Identifier: Apache-2.0
"""Every text that a client sends and that reaches SQL is a value there and nothing else."""

import pytest

from raw_client import http
from shop import outcome

TEXTS = ["';DROP/**/TABLE/**/orders;--", '";DELETE/**/FROM/**/inventory;--', "x'OR'1'='1", "\\';--", "`a`", "$1", "?", "%s",
         "%27", "naïve-ß-漢字-🎟", "a" * 128, "NULL", "(SELECT/**/1)", "e'\\x27'", "0x27", "--", "/*"]


@pytest.fixture
def server(shop):
    return shop.serve()


@pytest.mark.parametrize("text", TEXTS)
def test_as_product_order_and_user(shop, server, text):
    assert server.call("STOCK.LOAD", text, 5) == [1, 5]
    assert server.call("STOCK.BUY", text, text, text, 2) == [1, 3, "SOLD"]
    assert shop.rows("SELECT order_id, product_id, user_id, quantity FROM orders") == [
        (text, text, text, 2)]
    words = server.call("STOCK.ORDER", text, text)
    assert dict(zip(words[::2], words[1::2]))["user_id"] == text
    assert outcome(server.call("STOCK.BUY", text, text, text, 2)) == "SOLD"
    assert server.call("STOCK.RETURN", text, text)[:2] == [1, "RETURNED"]
    assert server.call("RECONCILE", "PRODUCT", text)[2:] == [0, 0]
    assert shop.rows("SELECT product_id, stock FROM inventory") == [(text, 5)]


@pytest.mark.parametrize("text", TEXTS[:6])
def test_as_event_zone_booking_and_payment(shop, server, text):
    assert server.call("SEATS.OPEN", text, text, 5)[0] == 1
    assert server.call("SEATS.RESERVE", text, text, text, text, 2, 4)[0] == 1
    assert server.call("SEATS.CONFIRM", text, text, "USER", text, "PAYMENT", text)[:2] == [
        1, "CONFIRMED"]
    assert shop.rows("SELECT event_id, booking_id, zone_id, user_id, payment_id, status "
                     "FROM bookings") == [(text, text, text, text, text, "confirmed")]
    assert server.call("SEATS.REFUND", text, text)[:2] == [1, "REFUNDED"]
    assert shop.rows("SELECT event_id, zone_id, capacity, sold FROM zones") == [(text, text, 5, 0)]


def test_numbers_are_numbers(shop, server):
    server.call("STOCK.LOAD", "hat", 5)
    for body in ({"user_id": "ann", "quantity": "1; DROP TABLE orders"},
                 {"user_id": "ann", "quantity": 1, "unit_price": "0 OR 1=1"},
                 {"user_id": "ann", "quantity": 1.5}):
        assert http(server.http_port, "POST", "/v1/products/hat/orders", body).status == 400
    assert shop.rows("SELECT * FROM orders") == [] and shop.stock("hat") == 5

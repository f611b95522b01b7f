# SPDX-License-Identifier: Apache-2.0
"""STOCK.LIST of a product in shards on a real cluster: a walk over all counters shows what is there
from beginning to end exactly once, while others buy and the counters become one."""

import threading

import pytest

from raw_client import Client, Http

SHARDS = 10
STAYING = 300
CLIENTS = 16


def load(server, product, *options, shards=SHARDS):
    words = ("STOCK.LOAD", product, 10000, "SHARDS", shards, *options)
    assert server.call(*words)[0] == 1


def take(server, product, order, *options):
    assert server.call("STOCK.TAKE", product, order, "u-" + order, 1, *options)[0] == 1


def pages(servers, product, count, between=lambda number: None):
    """The orders of each page; the servers take turns, as a cursor is good at any of them."""
    found, cursor = [], ""
    while True:
        server = servers[len(found) % len(servers)]
        cursor, *items = server.call("STOCK.LIST", product, "AFTER", cursor, "COUNT", count)
        assert len(items) <= count
        found.append([item[1] for item in items])
        if not cursor:
            return found
        between(len(found))


def walk(*args, **options):
    return sum(pages(*args, **options), [])


@pytest.mark.parametrize("limit", [(), ("MAX", 1)], ids=["by order", "by user"])
def test_every_counter_is_walked(servers, product, limit):
    orders = [f"o{number}" for number in range(STAYING)]
    load(servers[0], product, "POLICY", "steal")
    for number, order in enumerate(orders):
        take(servers[number % 2], product, order, *limit)
    for count in (1, 7, 100, 1000):
        assert sorted(walk(servers, product, count)) == sorted(orders)
    assert [len(page) for page in pages(servers, product, 100)] == [100, 100, 100]
    item = servers[0].call("STOCK.LIST", product, "COUNT", 1)[1]
    fields = dict(zip(item[::2], item[1::2]))
    assert list(fields) == [
        "order_id", "user_id", "quantity", "created_at", "expires_at", "status"]
    assert fields["user_id"] == "u-" + fields["order_id"] and fields["quantity"] == 1
    assert fields["expires_at"] - fields["created_at"] == 900_000 and fields["status"] == "taken"


def buy_and_give(server, product, number, stopping, failures):
    try:
        with Client(server.resp_port) as client:
            turn = 0
            while not stopping.is_set():
                order = f"c{number}-{turn % 20}"
                client.call("STOCK.TAKE", product, order, "buyer", "1")
                client.call("STOCK.GIVE", product, order)
                turn += 1
    except Exception as failure:  # pylint: disable=broad-except
        failures.append(failure)


def test_what_stays_comes_once_while_others_buy_and_the_counters_become_one(servers, product):
    load(servers[0], product, "WATERMARK", 0)
    for number in range(STAYING):
        take(servers[number % 2], product, f"stay{number}")
    stopping, failures = threading.Event(), []
    threads = [
        threading.Thread(target=buy_and_give,
                         args=(servers[number % 2], product, number, stopping, failures))
        for number in range(CLIENTS)]

    def merge(number):
        if number == 3:
            load(servers[0], product, "WATERMARK", 10000)

    for thread in threads:
        thread.start()
    try:
        walks = [walk(servers, product, 25, merge), walk(servers, product, 25)]
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert failures == []
    for orders in walks:
        stayed = [order for order in orders if order.startswith("stay")]
        assert sorted(stayed) == sorted(f"stay{number}" for number in range(STAYING))
    assert servers[1].call("STOCK.GET", product)[-1] == "merged"


def test_a_page_asks_so_many_counters_at_most(servers, product):
    load(servers[0], product, shards=100)
    take(servers[0], product, "only")
    found = pages(servers, product, 1000)
    assert [len(page) for page in found].count(0) == 1 and sum(found, []) == ["only"]


def test_what_is_no_cursor_and_no_product_is_refused(servers, product):
    for server in servers:
        assert server.call("STOCK.LIST", product)[:2] == [0, "PRODUCT_NOT_FOUND"]
    load(servers[0], product)
    for after in ("!", "10:", "-1:o", "main", "0", "x:o"):
        for server in servers:
            answer = server.call("STOCK.LIST", product, "AFTER", after)
            assert answer[:2] == [0, "INVALID_ARGUMENT"] and f'"{after}"' in answer[2], answer
    assert servers[0].call("STOCK.CLOSE", product)[0] == 1
    for server in servers:
        assert server.call("STOCK.LIST", product, "AFTER", "3:o")[:2] == [0, "PRODUCT_NOT_FOUND"]


def test_a_product_that_is_loaded_anew_is_read_anew(servers, product):
    """The other server still remembers the former product, with more shards."""
    load(servers[0], product)
    assert servers[1].call("STOCK.LIST", product) == [""]
    assert servers[0].call("STOCK.CLOSE", product)[0] == 1
    load(servers[0], product, shards=2)
    take(servers[0], product, "new")
    assert walk(servers[1:], product, 1) == ["new"]
    assert servers[1].call("STOCK.LIST", product, "AFTER", "5:o")[1] == "INVALID_ARGUMENT"


def test_a_page_over_http(servers, product):
    load(servers[0], product)
    take(servers[0], product, "o1")
    with Http(servers[0].http_port) as http:
        reply = http.call("GET", f"/v1/products/{product}/takes?count=10")
    assert reply.status == 200 and reply.json["cursor"] == ""
    assert [item["order_id"] for item in reply.json["items"]] == ["o1"]

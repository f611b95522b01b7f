# SPDX-License-Identifier: Apache-2.0
"""A small product in shards that two servers sell, for tests in which a place is set back."""

from raw_client import fields
from servers import wait_until

SHARDS = 3
LOADED = 12  # 4 at each shard
POLICIES = {"merge": ("WATERMARK", "5", "POLICY", "merge"), "steal": ("POLICY", "steal")}


def load(server, product, policy="steal", quantity=LOADED):
    words = ("STOCK.LOAD", product, quantity, "SHARDS", SHARDS, *POLICIES[policy])
    answer = server.call(*words)
    assert answer[0] == 1, answer
    return answer[1]


def figures(server, product):
    return fields(server.call("STOCK.GET", product))


def sell_out(servers, product, start=0):
    """Sells one after the other until it is sold out. Gives the orders."""
    for number in range(start, start + 4 * LOADED):
        answer = servers[number % 2].call("STOCK.TAKE", product, f"o{number}", f"u{number}", 1)
        if answer[0] != 1:
            assert answer[1] == "SOLD_OUT", answer
            return [f"o{sold}" for sold in range(start, number)]
    raise AssertionError("there is no end to it")


def assert_sold_out(servers, product):
    for server in servers:
        answer = server.call("STOCK.TAKE", product, "late", "late", 1)
        assert answer == [0, "SOLD_OUT", "0 left, 1 requested"]


def wait_sold_out(servers, product):
    """Waits until what came back was moved to where it is owed: an order of more than any place has makes
    a server look at all of them."""
    def is_sold_out():
        return all(server.call("STOCK.TAKE", product, "large", "large", LOADED)
                   == [0, "SOLD_OUT", f"0 left, {LOADED} requested"] for server in servers)

    wait_until(is_sold_out, "what came back pays the debt")
    assert_sold_out(servers, product)

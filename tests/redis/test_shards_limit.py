# SPDX-License-Identifier: Apache-2.0
"""One per customer on a product in shards: what a user has counts, wherever it was taken.

There is one unit more than there are customers, so that nobody may ever hear SOLD_OUT, however the
units move from shard to shard.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis


SHARDS = 10
CUSTOMERS = 64
TRIES = 20
PLACES = ["main", *map(str, range(SHARDS))]
PATIENCE_S = 60
POLICIES = {"merge": ("WATERMARK", "30", "POLICY", "merge"), "steal": ("POLICY", "steal")}


def load(server, product, quantity, *options):
    answer = server.call("STOCK.LOAD", product, quantity, "SHARDS", SHARDS, *options)
    assert answer == [1, quantity]


def units_of_users(cluster, product):
    """What each user has, by the orders in Redis; and the same by what is counted for the user."""
    client, by_orders, by_counts = cluster.client(), {}, {}
    for place in PLACES:
        tag = f"{{{product}_{place}}}"
        for record in client.hgetall(f"stock:orders:{tag}").values():
            state, quantity, _, user = record.decode().split(" ")
            if state != "G":
                by_orders[user] = by_orders.get(user, 0) + int(quantity)
        for field, count in client.hgetall(f"stock:users:{tag}").items():
            user = field.decode()[2:]
            by_counts[user] = by_counts.get(user, 0) + int(count)
    assert by_orders == by_counts
    return by_orders


class Customer:
    """Tries again and again, through both servers at the same time."""

    def __init__(self, servers, product, number):
        self.clients = [redis.Redis(port=server.resp_port, socket_timeout=PATIENCE_S)
                        for server in servers]
        self.product = product
        self.user = f"u{number}"
        self.dice = random.Random(number)
        self.lock = threading.Lock()
        self.held = 0
        self.heard = {}  # answer -> how often

    def call(self, side, *words):
        """The answer; asked again with the same words until it is one of what was asked for."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                answer = self.clients[side].execute_command(*words)
            except redis.RedisError as error:  # not known whether it happened, or too busy
                answer = [0, str(error)]
            if answer[0] == 1 or answer[1] in (b"SOLD_OUT", b"USER_LIMIT_EXCEEDED"):
                return answer
            assert time.monotonic() < end, f"{words}: still {answer}"

    def take(self, side, order):
        answer = self.call(side, "STOCK.TAKE", self.product, order, self.user, 1, "MAX", 1)
        said = "taken" if answer[0] == 1 else answer[1].decode()
        with self.lock:
            self.heard[said] = self.heard.get(said, 0) + 1
            self.held += answer[0]
        return answer[0] == 1

    def give(self, side, order, *options):
        with self.lock:
            self.held -= 1  # before it may be taken again
        assert self.call(side, "STOCK.GIVE", self.product, order, *options)[0] == 1

    def try_on(self, side):
        """Half of the tries, on one server; another thread makes the others on the other."""
        for count in range(TRIES // 2):
            order = f"{self.user}-{side}-{count}"
            if not self.take(side, order):
                continue
            roll = self.dice.random()
            other = 1 - side
            again = self.call(other, "STOCK.TAKE", self.product, order, self.user, 1, "MAX", 1)
            assert again[0] == 1, "a retry, through the other server"
            if roll < 0.7 and count + 1 < TRIES // 2:
                self.give(other, order, *(("USER", self.user) if roll < 0.4 else ()))
            elif roll < 0.9:
                words = ("STOCK.SETTLE", self.product, order, "USER", self.user)
                assert self.call(other, *words)[0] == 1

    def finish(self):
        if self.held == 0:
            assert self.take(0, f"{self.user}-last"), self.heard
        for client in self.clients:
            client.close()


@pytest.mark.parametrize("policy", POLICIES)
def test_one_per_customer(cluster, servers, product, policy):
    load(servers[0], product, CUSTOMERS + 1, *POLICIES[policy])
    customers = [Customer(servers, product, number) for number in range(CUSTOMERS)]
    with ThreadPoolExecutor(2 * CUSTOMERS) as pool:
        for attempt in [pool.submit(customer.try_on, side)
                        for customer in customers for side in (0, 1)]:
            attempt.result()
        for last in [pool.submit(customer.finish) for customer in customers]:
            last.result()
    assert [customer.held for customer in customers] == [1] * CUSTOMERS
    assert sum(customer.heard.get("SOLD_OUT", 0) for customer in customers) == 0
    assert all("USER_LIMIT_EXCEEDED" in customer.heard for customer in customers)
    assert units_of_users(cluster, product) == {f"u{n}": 1 for n in range(CUSTOMERS)}
    figures = servers[1].call("STOCK.GET", product)
    assert figures[:2] == ["available", 1] and figures[3] + figures[5] == CUSTOMERS
    # What remains is told as this server last saw it, and the other was asked meanwhile.
    assert servers[0].call("STOCK.TAKE", product, "last", "late", 1, "MAX", 1)[0] == 1
    assert servers[0].call("STOCK.GET", product)[:2] == ["available", 0]
    assert servers[1].call("STOCK.TAKE", product, "more", "later", 1, "MAX", 1)[:2] == [
        0, "SOLD_OUT"]
    assert servers[1].call("STOCK.TAKE", product, "more", "u1", 1, "MAX", 1)[:2] == [0, "SOLD_OUT"]


@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_taken_before_the_first_limit_counts(cluster, servers, product, policy):
    """Orders without a limit are spread by their ids, also at the other server."""
    load(servers[0], product, 100, *POLICIES[policy])
    for number in range(20):
        assert servers[number % 2].call("STOCK.TAKE", product, f"o{number}", "ann", 1)[0] == 1
    for server in servers:
        refused = server.call("STOCK.TAKE", product, "more", "ann", 1, "MAX", 20)
        assert refused == [
            0, "USER_LIMIT_EXCEEDED",
            "the user has 20 of the product, 1 requested, at most 20 allowed"]
    for number in range(10):
        assert servers[number % 2].call("STOCK.SETTLE", product, f"o{number}")[0] == 1
        assert servers[number % 2].call("STOCK.GIVE", product, f"o{10 + number}")[0] == 1
    for number in range(10):
        words = ("STOCK.TAKE", product, f"n{number}", "ann", 1, "MAX", 20)
        assert servers[number % 2].call(*words)[0] == 1
    for server in servers:
        assert server.call("STOCK.TAKE", product, "more", "ann", 1, "MAX", 20)[1] == (
            "USER_LIMIT_EXCEEDED")
        assert server.call("STOCK.TAKE", product, "o3", "ann", 1)[0] == 1, "a retry"
        assert server.call("STOCK.TAKE", product, "o3", "bob", 1)[1] == "INVALID_STATE"
        assert server.call("STOCK.TAKE", product, "n3", "bob", 1, "MAX", 9)[1] == "INVALID_STATE"
        assert server.call("STOCK.EXTEND", product, "n3", "20m", "USER", "bob")[1] == "NOT_OWNER"
        assert server.call("STOCK.EXTEND", product, "n3", "20m")[0] == 1
    assert units_of_users(cluster, product) == {"ann": 20}


def test_the_limit_holds_over_a_merge_and_a_new_spread(cluster, servers, product):
    load(servers[0], product, 40, "POLICY", "steal")
    users = [f"u{number}" for number in range(10)]

    def take_all(most, prefix):
        for number, user in enumerate(users):
            server = servers[number % 2]
            order = f"{prefix}-{user}"
            assert server.call("STOCK.TAKE", product, order, user, 1, "MAX", most)[0] == 1
            for other in servers:
                refused = other.call("STOCK.TAKE", product, "x" + order, user, 1, "MAX", most)
                assert refused[1] == "USER_LIMIT_EXCEEDED", refused

    take_all(1, "sharded")
    load_again = ("STOCK.LOAD", product, 40, "SHARDS", SHARDS)
    assert servers[1].call(*load_again, "WATERMARK", "40")[0] == 1
    take_all(2, "merged")
    assert servers[0].call("STOCK.GET", product)[-1] == "merged"
    assert servers[0].call(*load_again, "POLICY", "steal")[0] == 1
    assert servers[1].call("STOCK.GET", product)[-1] == "sharded"
    take_all(3, "spread")
    for user in users:
        for prefix in ("sharded", "merged", "spread"):
            assert servers[0].call("STOCK.GIVE", product, f"{prefix}-{user}", "USER", user)[0] == 1
            assert servers[1].call("STOCK.GIVE", product, f"{prefix}-{user}")[0] == 1, "again"
    assert units_of_users(cluster, product) == {}
    assert servers[1].call("STOCK.GET", product)[1] == 40

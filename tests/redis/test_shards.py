# SPDX-License-Identifier: Apache-2.0
"""Stock in shards on a real cluster: sold to exactly zero, by many, through crashes.

Buyers never give up on an order whose outcome they do not know: they ask again with the same id, so
that at the end each has been taken or not, and what was taken can be counted.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from redis_cluster import RedisCluster
from server import Server
from servers import wait_until
from shard_books import (Books, Transfer, keep_transfers_out, let_transfers_in,
                         places)

SHARDS = 10
BUYERS = 64
PATIENCE_S = 60
POLICIES = {"merge": ("WATERMARK", "300", "POLICY", "merge"), "steal": ("POLICY", "steal")}


@pytest.fixture(scope="module")
def cluster():
    """What a node has acknowledged is on its disk: it may be killed and comes back as it was."""
    with RedisCluster(masters=3, replicas=0, appendonly="yes", appendfsync="always",
                      cluster_require_full_coverage="no") as nodes:
        yield nodes


@pytest.fixture
def servers(cluster):
    with Server("--engine", cluster.url, memory=True) as one:
        with Server("--engine", cluster.url, memory=True) as other:
            yield [one, other]


# ---- what is in Redis


def read_books(cluster, product):
    return Books(cluster.client(), product, SHARDS)


def open_transfers(cluster, product):
    client = cluster.client()
    return sum([client.hlen(f"stock:outbox:{{{product}_{place}}}") for place in places(SHARDS)])


# ---- the sale


class Sale:
    """Buyers that take one unit after the other until it is sold out."""

    def __init__(self, servers, product):
        self.ports = [server.resp_port for server in servers]
        self.product = product
        self.lock = threading.Lock()
        self.taken = {}  # order -> when it was first asked for
        self.sold_out = []  # when that was heard
        self.trouble = 0  # answers that said neither

    def run(self, meanwhile=lambda: None):
        with ThreadPoolExecutor(BUYERS) as pool:
            buyers = [pool.submit(self.buy, number) for number in range(BUYERS)]
            meanwhile()
            for buyer in buyers:
                buyer.result()

    def buy(self, number):
        taken, trouble, count = {}, 0, 0
        dice = random.Random(number)
        while True:
            order, asked = f"o{number}-{count}", time.monotonic()
            answer = self.ask(number, order)
            while not is_definite(answer):
                assert time.monotonic() < asked + PATIENCE_S, f"{order}: still {answer}"
                trouble += 1
                answer = self.ask(number, order)
            if answer[0] == 0:
                break
            taken[order] = asked
            count += 1
            if dice.random() < 0.3:
                self.settle(number, order)
        with self.lock:
            self.taken.update(taken)
            self.sold_out.append(time.monotonic())
            self.trouble += trouble

    def ask(self, number, order):
        return self.call(number, "STOCK.TAKE", self.product, order, f"u{number}", 1)

    def settle(self, number, order):
        end = time.monotonic() + PATIENCE_S
        while self.call(number, "STOCK.SETTLE", self.product, order)[0] != 1:
            assert time.monotonic() < end, f"{order} cannot be settled"

    def call(self, number, *words):
        """The answer, or (0, error): then it is not known whether it happened."""
        port = self.ports[number % len(self.ports)]
        try:
            with redis.Redis(port=port, socket_timeout=PATIENCE_S) as client:
                return client.execute_command(*words)
        except redis.RedisError as error:
            self.ports = [p for p in self.ports if p != port or self.is_up(p)] or self.ports
            time.sleep(0.01)  # it will not be any better at once
            return (0, str(error))

    @staticmethod
    def is_up(port):
        try:
            with redis.Redis(port=port, socket_timeout=PATIENCE_S) as client:
                return client.ping()
        except redis.ConnectionError:
            return False
        except redis.RedisError:
            return True

    def assert_exact(self, cluster, quantity):
        """Nothing is left, each unit has one buyer, and nobody heard SOLD_OUT before that."""
        books = read_books(cluster, self.product)
        books.assert_conserved()
        assert books.sums["available"] + books.sums["transit"] == 0
        assert len(self.taken) == quantity
        assert set(books.orders) == {order.encode() for order in self.taken}
        assert max(self.taken.values()) < min(self.sold_out), "SOLD_OUT while there was stock"
        return books


def is_definite(answer):
    return answer[0] == 1 or answer[1] == b"SOLD_OUT"


def load(server, product, quantity, *options):
    answer = server.call("STOCK.LOAD", product, quantity, "SHARDS", SHARDS, *options)
    assert answer == [1, quantity]


# ---- what must be seen


@pytest.mark.parametrize("policy", POLICIES)
def test_it_is_sold_to_exactly_zero(cluster, servers, product, policy):
    load(servers[0], product, 2000, *POLICIES[policy])
    sale = Sale(servers, product)
    sale.run()
    books = sale.assert_exact(cluster, 2000)
    assert sale.trouble == 0
    assert books.mode == ("merged" if policy == "merge" else "sharded")
    figures = servers[1].call("STOCK.GET", product)
    assert figures[:2] == ["available", 0] and figures[3] + figures[5] == 2000


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("left_after", ["send", "receive"])
def test_a_transfer_that_somebody_left_half_done_is_carried_on_with(
        cluster, servers, product, policy, left_after):
    load(servers[0], product, 1000, *POLICIES[policy])
    client = cluster.client()
    for shard in range(3):
        leave_transfer(client, product, str(shard), "main", left_after)
    books = read_books(cluster, product)
    books.assert_conserved()
    assert books.sums["transit"] == (300 if left_after == "send" else 0)
    answer = servers[1].call("STOCK.TAKE", product, "all", "u", 1000)
    assert answer[0] == 1, answer
    assert open_transfers(cluster, product) == 0
    read_books(cluster, product).assert_conserved()
    assert servers[0].call("STOCK.TAKE", product, "more", "u", 1)[:2] == [0, "SOLD_OUT"]


def leave_transfer(client, product, source, target, last_step):
    """What a server would leave that dies in the middle of a transfer of all a place has."""
    transfer = Transfer(client, product, source, target)
    transfer.send()
    if last_step == "receive":
        assert [transfer.receive() for _ in range(2)] == [100, 0]  # once is as good as twice


def test_a_server_dies_in_the_middle_of_a_merge(cluster, servers, product):
    """Transfers have been sent and not received; the other server has to end them."""
    victim, heir = servers
    load(victim, product, 1500, "WATERMARK", "1000", "POLICY", "merge")
    main = cluster.master_of(f"stock:{{{product}_main}}").client()
    sale = Sale([victim], product)

    def kill_while_merging():
        wait_until(lambda: open_transfers(cluster, product) > 0, "a transfer is under way")
        victim.kill()
        assert open_transfers(cluster, product) > 0
        sale.ports = [heir.resp_port]
        let_transfers_in(main, product)

    keep_transfers_out(main, product)
    try:
        sale.run(kill_while_merging)
    finally:
        let_transfers_in(main, product)
    sale.assert_exact(cluster, 1500)
    assert open_transfers(cluster, product) == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_redis_master_dies_and_comes_back(cluster, servers, product, policy):
    load(servers[0], product, 1500, *POLICIES[policy])
    node = cluster.master_of(f"stock:{{{product}_main}}")

    def kill_and_restart():
        wait_until(lambda: sum(read_books(cluster, product).orders.values()) > 300, "the sale is on")
        node.restart("kill")
        cluster.wait_ok()

    sale = Sale(servers, product)
    sale.run(kill_and_restart)
    sale.assert_exact(cluster, 1500)
    assert servers[0].call("STOCK.GET", product)[1] == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_given_back_is_sold_again(cluster, servers, product, policy):
    load(servers[0], product, 200, *POLICIES[policy])
    assert servers[0].call("STOCK.TAKE", product, "big", "u", 200)[0] == 1
    assert servers[1].call("STOCK.TAKE", product, "late", "u", 1)[:2] == [0, "SOLD_OUT"]
    assert servers[1].call("STOCK.GIVE", product, "big")[0] == 1
    assert servers[1].call("STOCK.GIVE", product, "big")[0] == 1
    sale = Sale(servers, product)
    sale.run()
    sale.assert_exact(cluster, 200)


def test_an_order_made_before_the_split_is_found_after_it(cluster, servers, product):
    call = servers[0].call
    assert call("STOCK.LOAD", product, 50) == [1, 50]
    assert call("STOCK.TAKE", product, "early", "u", 5) == [1, 45]
    load_answer = servers[1].call("STOCK.LOAD", product, 100, "SHARDS", SHARDS)
    assert load_answer == [1, 95]
    for server in servers:
        assert server.call("STOCK.TAKE", product, "early", "u", 5)[0] == 1
        assert server.call("STOCK.TAKE", product, "early", "u", 6)[:2] == [0, "INVALID_STATE"]
    assert call("STOCK.SETTLE", product, "early")[0] == 1
    assert servers[1].call("STOCK.GIVE", product, "early")[:2] == [0, "INVALID_STATE"]
    assert call("STOCK.GET", product) == [
        "available", 95, "taken", 0, "sold", 5, "loaded", 100, "shards", SHARDS, "mode", "sharded"]


def test_a_merged_product_is_spread_again_when_it_is_loaded(cluster, servers, product):
    load(servers[0], product, 20, "WATERMARK", "10")
    for number in range(20):
        assert servers[number % 2].call("STOCK.TAKE", product, f"o{number}", "u", 1)[0] == 1
    assert servers[0].call("STOCK.TAKE", product, "no", "u", 1)[:2] == [0, "SOLD_OUT"]
    assert servers[1].call("STOCK.GET", product)[-1] == "merged"
    answer = servers[0].call("STOCK.LOAD", product, 220, "SHARDS", SHARDS, "WATERMARK", "10")
    assert answer == [1, 200]
    for server in servers:
        assert server.call("STOCK.GET", product)[-1] == "sharded"
        for number in range(20):  # taken at a shard or, once merged, at the main place
            assert server.call("STOCK.TAKE", product, f"o{number}", "u", 1)[0] == 1
    books = read_books(cluster, product)
    books.assert_conserved()
    assert books.sums["available"] == 200 and books.sums["taken"] == 20


def test_taking_away_more_than_is_left_is_refused(cluster, servers, product):
    load(servers[0], product, 100, "POLICY", "steal")
    assert servers[0].call("STOCK.TAKE", product, "o", "u", 30)[0] == 1
    assert servers[1].call("STOCK.ADJUST", product, -71, "lost")[:2] == [0, "CAPACITY_IN_USE"]
    assert servers[1].call("STOCK.ADJUST", product, -70, "lost") == [1, 0]
    load_less = servers[0].call("STOCK.LOAD", product, 99, "SHARDS", SHARDS, "POLICY", "steal")
    assert load_less[:2] == [0, "CAPACITY_IN_USE"]
    assert servers[0].call("STOCK.ADJUST", product, 5, "found") == [1, 5]
    read_books(cluster, product).assert_conserved()

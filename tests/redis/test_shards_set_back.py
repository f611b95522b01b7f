# SPDX-License-Identifier: Apache-2.0
"""A place of a product in shards is set back, by a failover to a replica that was behind, over more
than transfers: orders, a LOAD, a change of mode, a limit, a CLOSE. And what is said of it meanwhile."""

import pytest
import redis
from redis.crc import key_slot

from faults import audit, cut_off, let_in, until_known, wait_replicated
from redis_cluster import HASTY_MS, RedisCluster
from server import Error, Server
from servers import wait_until
from shard_books import (Books, Past, Transfer, keep_transfers_out, keys_of, let_transfers_in,
                         places)
from shard_sale import LOADED, POLICIES, SHARDS, assert_sold_out, figures, load, sell_out


@pytest.fixture(scope="module")
def client(cluster):
    return cluster.client()


@pytest.fixture(autouse=True)
def adds_up(cluster, servers):
    """Whatever a test does to a product, it is made good in the end."""
    yield
    assert audit(cluster.url) == []


def transfer(client, product, source, target, quantity):
    moved = Transfer(client, product, source, target)
    moved.send(quantity, quantity)
    assert moved.receive() == quantity
    assert moved.forget() == 0


def order_of(shard):
    """The id of an order that belongs to a shard."""
    return next(order for order in map(str, range(1000))
                if key_slot(order.encode()) % SHARDS == shard)


def total(client, product, place, field):
    return int(client.hget(keys_of(product, place)[1], field) or 0)


# ---- what is said of it


def test_the_audit_names_both_ends_until_it_is_made_good(cluster, client, servers, product):
    load(servers[0], product)
    source, target = Past(client, product, "0"), Past(client, product, "main")
    transfer(client, product, "0", "main", 3)
    after = Past(client, product, "0")
    source.come_back()
    assert audit(cluster.url) == [
        f"place 0 of product {product}: forgot 3 that it sent to place main: 0 left here, 3 arrived "
        "there"]
    after.come_back()
    target.come_back()
    assert audit(cluster.url) == [
        f"place main of product {product}: lost 3 of what place 0 sent it: 3 left there, 0 arrived "
        "here, 0 are on their way"]
    assert figures(servers[0], product)["available"] == LOADED
    assert audit(cluster.url) == []
    assert f"product {product}: a failover made main forget 3 that went from 0 to main: received " \
        "again" in servers[0].said()
    assert total(client, product, "main", "lost_received") == 3


def test_what_was_sold_twice_is_owed_until_it_is_accepted(cluster, client, servers, product):
    load(servers[0], product)
    past = Past(client, product, "0")
    transfer(client, product, "0", "1", 4)
    for shard, quantity in ((1, 8), (2, 4)):
        assert servers[0].call("STOCK.TAKE", product, order_of(shard), "u", quantity)[0] == 1
    past.come_back()
    assert servers[0].call("STOCK.TAKE", product, order_of(0), "u", 4) == [1, 0]
    assert_sold_out(servers, product)
    findings = audit(cluster.url)
    assert findings == [f"place 0 of product {product}: owes 4: it sold them twice after failovers "
                        "had lost 4 of what it had sent to other places"]
    assert servers[1].call("STOCK.ADJUST", product, 4, "oversold, accepted") == [1, 0]
    assert audit(cluster.url) == []
    assert figures(servers[0], product)["loaded"] == LOADED + 4
    assert_sold_out(servers, product)


def test_a_sum_that_somebody_has_changed_holds_nobody_up(client, servers, product):
    load(servers[0], product)
    sums = keys_of(product, "1")[1]
    client.hincrby(sums, "received", 7)
    assert len(sell_out(servers, product)) == LOADED
    assert_sold_out(servers, product)
    client.hincrby(sums, "received", -7)


def test_a_transfer_that_cannot_arrive_is_why_a_take_is_refused(cluster, client, servers, product):
    load(servers[0], product)
    moved = Transfer(client, product, "0", "main")
    moved.send()
    node = cluster.master_of(moved.target_keys[0]).client()
    keep_transfers_out(node, product)
    try:
        answer = servers[0].call("STOCK.TAKE", product, "all", "u", LOADED)
    finally:
        let_transfers_in(node, product)
    assert isinstance(answer, Error), answer
    assert "stock cannot be moved between shards: " in answer.message, answer
    assert servers[0].call("STOCK.TAKE", product, "all", "u", LOADED) == [1, 0]


def test_a_product_that_sells_is_made_good_though_nothing_is_short(client, servers, product):
    load(servers[0], product)
    past = Past(client, product, "0")
    transfer(client, product, "0", "1", 1)
    past.come_back()

    def sell():
        assert servers[0].call("STOCK.TAKE", product, "o", "u", 1)[0] == 1
        assert servers[0].call("STOCK.GIVE", product, "o")[0] == 1
        return total(client, product, "0", "lost_sent") == 1

    wait_until(sell, "the source has taken it off again")


def test_what_was_passed_on_is_missing_in_no_sum_and_still_made_good(
        cluster, client, servers, product):
    """A shard got something, gave it to another, and forgot both."""
    load(servers[0], product)
    past = Past(client, product, "1")
    transfer(client, product, "0", "1", 2)
    transfer(client, product, "1", "2", 2)
    past.come_back()
    assert len(audit(cluster.url)) == 2
    assert figures(servers[0], product)["available"] == LOADED

    def ask():
        assert figures(servers[0], product)["available"] == LOADED
        return total(client, product, "1", "lost_sent") == 2

    wait_until(ask, "the shard knows again what it did")
    assert total(client, product, "1", "lost_received") == 2


def test_a_full_redis_lets_a_transfer_end_and_none_begin(cluster, client, servers, product):
    load(servers[0], product)
    moved, other = Transfer(client, product, "0", "main"), Transfer(client, product, "1", "main")
    past = Past(client, product, "2")
    transfer(client, product, "2", "1", 1)
    moved.send(2, 2)
    past.come_back()
    nodes = [node.client() for node in cluster.masters]
    try:
        for node in nodes:
            node.config_set("maxmemory", 1)
        before = [client.hgetall(key) for key in keys_of(product, "1")[1:2]]
        with pytest.raises(redis.RedisError, match="OOM|used memory"):
            other.send()
        assert [client.hgetall(key) for key in keys_of(product, "1")[1:2]] == before
        assert (moved.receive(), moved.receive(), moved.forget()) == (2, 0, 0)
        assert figures(servers[0], product)["available"] == LOADED
    finally:
        for node in nodes:
            node.config_set("maxmemory", 0)
    assert figures(servers[0], product)["available"] == LOADED
    Books(client, product, SHARDS).assert_conserved()


# ---- orders, loads and modes


def test_orders_that_were_lost_are_sold_again_and_no_others(client, servers, product):
    load(servers[0], product)
    words = [("STOCK.TAKE", product, f"o{number}", f"u{number}", 1) for number in range(6)]
    kept = [servers[0].call(*line)[0] for line in words[:3]]
    pasts = [Past(client, product, place) for place in places(SHARDS)]
    lost = [servers[0].call(*line)[0] for line in words[3:]]
    assert kept + lost == [1] * 6
    for past in pasts:
        past.come_back()
    assert servers[1].call("STOCK.SETTLE", product, "o5")[:2] == [0, "NOT_FOUND"]
    assert servers[1].call("STOCK.SETTLE", product, "o0")[0] == 1
    assert len(sell_out(servers, product, start=100)) == LOADED - 3
    assert_sold_out(servers, product)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_load_that_was_lost_takes_its_stock_back(client, servers, product, policy):
    load(servers[0], product, policy)
    past = Past(client, product, "main")
    assert load(servers[0], product, policy, 2 * LOADED) == 2 * LOADED
    past.come_back()
    assert figures(servers[1], product)["available"] == LOADED
    orders = sell_out(servers, product)
    assert len(orders) == LOADED
    Books(client, product, SHARDS).assert_conserved()
    assert load(servers[1], product, policy, 2 * LOADED) == LOADED
    assert len(sell_out(servers, product, start=100)) == LOADED


@pytest.mark.parametrize("policy", POLICIES)
def test_a_main_place_that_is_lost_comes_back_with_the_same_load(
        cluster, client, servers, product, policy):
    load(servers[0], product, policy)
    for number in range(5):
        assert servers[0].call("STOCK.TAKE", product, f"before{number}", "u", 1)[0] == 1
    held = Books(client, product, SHARDS).orders
    client.delete(*keys_of(product, "main"))
    assert servers[1].call("STOCK.GET", product)[:2] == [0, "PRODUCT_NOT_FOUND"]
    assert audit(cluster.url) == [f"product {product}: in shards, but its main place is lost"]
    load(servers[0], product, policy)
    books = Books(client, product, SHARDS)
    kept = sum(books.orders.values())
    assert kept == sum(held.values()) or policy == "merge"  # it may have been merged by then
    now = figures(servers[1], product)
    assert (now["available"], now["taken"], now["loaded"]) == (LOADED - kept, kept, LOADED)
    assert len(sell_out(servers, product)) == LOADED - kept
    assert_sold_out(servers, product)


def test_a_merge_that_the_main_place_lost_loses_nothing(client, servers, product):
    load(servers[0], product, "merge")
    past = Past(client, product, "main")
    orders = [f"o{number}" for number in range(8)]
    for order in orders:
        assert servers[0].call("STOCK.TAKE", product, order, "u", 1)[0] == 1
    wait_until(lambda: figures(servers[0], product)["mode"] == "merged", "it is merged")
    before = Books(client, product, SHARDS)
    past.come_back()
    kept = Books(client, product, SHARDS).orders
    assert figures(servers[1], product)["available"] == LOADED - len(kept)
    assert before.sums["available"] + before.sums["taken"] == LOADED
    assert len(sell_out(servers, product, start=100)) == LOADED - len(kept)
    assert_sold_out(servers, product)


def test_a_limit_that_the_main_place_lost_still_holds(cluster, client, servers, product):
    load(servers[0], product)
    past = Past(client, product, "main")
    assert servers[0].call("STOCK.TAKE", product, "o1", "ann", 1, "MAX", 1)[0] == 1
    past.come_back()
    with Server("--engine", cluster.url, memory=True) as fresh:
        for server in (fresh, *servers):
            assert server.call("STOCK.TAKE", product, "o1", "ann", 1)[0] == 1, "the same order"
            refused = server.call("STOCK.TAKE", product, "o2", "ann", 1, "MAX", 1)
            assert refused[:2] == [0, "USER_LIMIT_EXCEEDED"], refused
    assert total(client, product, "main", "limited") == 1
    Books(client, product, SHARDS).assert_conserved()


# ---- closing


@pytest.mark.parametrize("place", ["main", "0"])
def test_what_was_closed_stays_closed_and_what_is_loaded_anew_is_all_there_is(
        client, servers, product, place):
    load(servers[0], product)
    sold = sell_out(servers, product)[:5]
    for number in range(LOADED):
        verb = "STOCK.SETTLE" if number < len(sold) else "STOCK.GIVE"
        assert servers[0].call(verb, product, f"o{number}")[0] == 1
    past = Past(client, product, place)
    at_place = total(client, product, place, "sold")
    assert servers[0].call("STOCK.CLOSE", product) == [1, 5, LOADED - 5]
    past.come_back()
    for server in servers:
        assert server.call("STOCK.GET", product)[:2] == [0, "PRODUCT_NOT_FOUND"]
        assert server.call("STOCK.TAKE", product, "o1", "u", 1)[:2] == [0, "PRODUCT_NOT_FOUND"]
    load(servers[1], product)
    left = LOADED - (at_place if place != "main" else 0)  # the old orders came back with the shard
    assert figures(servers[0], product)["available"] == left
    assert len(sell_out(servers, product, start=100)) == left
    assert_sold_out(servers, product)


# ---- for once, a real failover


def test_masters_that_are_replaced_by_replicas_which_were_behind():
    """First the target of transfers forgets, then the source."""
    product = "shoes"
    with RedisCluster(masters=3, replicas=1, node_timeout_ms=HASTY_MS) as nodes:
        with Server("--engine", nodes.url, memory=True) as one, \
                Server("--engine", nodes.url, memory=True) as other:
            client = nodes.client()
            for forgets in ("1", "0"):
                name = f"{product}{forgets}"
                load(one, name)
                fail_over(nodes, keys_of(name, forgets)[0],
                          lambda: transfer(client, name, "0", "1", 3))
                now, _ = until_known(lambda: one.call("STOCK.GET", name), "the product")
                assert now[:2] == ["available", LOADED]
                assert len(sell_out([one, other], name)) == LOADED
                assert_sold_out([one, other], name)
                assert audit(nodes.url) == []


def fail_over(nodes, key, writes):
    """The master of a key is replaced by a replica that has heard nothing of these writes."""
    master = nodes.master_of(key)
    wait_replicated(master, key=key + "{}")
    replica = next(node for node in nodes.replicas
                   if node.client().info("replication")["master_port"] == master.port)
    cut_off(replica)
    writes()
    master.kill()
    let_in(replica)
    replica.client().execute_command("CLUSTER", "FAILOVER", "TAKEOVER")
    nodes.wait_ok()

# SPDX-License-Identifier: Apache-2.0
"""STOCK.CLOSE of a product in shards: nothing is sold of what is closed, and whoever finds it half
closed carries on with it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from server import Error
from shard_books import KEYS, Transfer, keys_of, places, run_script

SHARDS = 10
PLACES = places(SHARDS)
DAY_MS = 24 * 60 * 60 * 1000


def load(server, product, quantity, *options):
    answer = server.call("STOCK.LOAD", product, quantity, "SHARDS", SHARDS, *options)
    assert answer == [1, quantity]


def tag(product, place):
    return f"{{{product}_{place}}}"


def turn(client, product, mode):
    """What a server leaves that dies behind this step of a close."""
    epoch = client.hget(f"stock:totals:{tag(product, 'main')}", "epoch")
    turned = run_script(client, "turn_shards", keys_of(product, "main")[:6], epoch, mode, 0)
    assert turned[0] == 1
    return turned[1]


def assert_gone(cluster, product):
    """All that is left has an end, and says no more than how far the product had come."""
    client = cluster.client()
    for place in PLACES:
        for key in KEYS:
            name = f"{key}:{tag(product, place)}"
            if key == "stock:totals":
                assert 0 < client.pttl(name) <= DAY_MS or not client.exists(name), name
            else:
                assert not client.exists(name), name
        assert set(client.hkeys(f"stock:totals:{tag(product, place)}")) <= {
            b"epoch", b"mode", b"wiped"}


@pytest.mark.parametrize("options", [("POLICY", "steal"), ("WATERMARK", "60", "POLICY", "merge")])
def test_it_is_closed_and_loaded_anew(cluster, servers, product, options):
    load(servers[0], product, 100, *options)
    for number in range(50):
        words = ("STOCK.TAKE", product, f"o{number}", f"u{number}", 1, "MAX", 1)
        assert servers[number % 2].call(*words)[0] == 1
    refused = servers[0].call("STOCK.CLOSE", product)
    assert refused == [
        0, "INVALID_STATE",
        "50 are taken: settle or give them back, or wait until they expire"]
    assert servers[1].call("STOCK.TAKE", product, "o50", "u50", 1, "MAX", 1)[0] == 1, "still open"
    for number in range(51):
        verb = "STOCK.SETTLE" if number < 20 else "STOCK.GIVE"
        assert servers[number % 2].call(verb, product, f"o{number}")[0] == 1
    assert servers[1].call("STOCK.CLOSE", product) == [1, 20, 80]
    assert_gone(cluster, product)
    for server in servers:
        assert server.call("STOCK.CLOSE", product) == [1, 0, 0]
        assert server.call("STOCK.GET", product)[1] == "PRODUCT_NOT_FOUND"
        assert server.call("STOCK.TAKE", product, "o1", "u1", 1)[1] == "PRODUCT_NOT_FOUND"
    load(servers[0], product, 10)
    assert servers[1].call("STOCK.TAKE", product, "o1", "u1", 10, "MAX", 10) == [1, 0]
    assert servers[0].call("STOCK.GET", product)[:8] == [
        "available", 0, "taken", 10, "sold", 0, "loaded", 10]
    for place in PLACES:
        assert cluster.client().pttl(f"stock:totals:{tag(product, place)}") == -1
    assert servers[0].call("STOCK.GIVE", product, "o1")[0] == 1
    assert servers[0].call("STOCK.CLOSE", product) == [1, 0, 10]


@pytest.mark.parametrize("words", [
    ("STOCK.CLOSE",), ("STOCK.GET",), ("STOCK.TAKE", "o1", "ann", 1), ("STOCK.GIVE", "o1"),
    ("STOCK.LOAD", 30, "SHARDS", SHARDS)], ids=lambda words: words[0])
@pytest.mark.parametrize("left_at", ["closing", "taken", "closed", "wiped"])
def test_whoever_finds_it_half_closed_carries_on(cluster, servers, product, words, left_at):
    client = cluster.client()
    load(servers[0], product, 50, "POLICY", "steal")
    if left_at == "taken":
        assert servers[0].call("STOCK.TAKE", product, "held", "bob", 5)[0] == 1
    epoch = turn(client, product, "closing")
    if left_at in ("closed", "wiped"):
        epoch = turn(client, product, "closed")
    if left_at == "wiped":
        for place in PLACES[4:]:
            wiped = run_script(client, "wipe_shard", keys_of(product, place), epoch, "closed")
            assert wiped[0] == 1
    answer = servers[1].call(words[0], product, *words[1:])
    if left_at == "taken":
        expected = {"STOCK.CLOSE": [0, "INVALID_STATE"], "STOCK.GET": ["available", 45],
                    "STOCK.TAKE": [1, 44], "STOCK.GIVE": [0, "NOT_FOUND"], "STOCK.LOAD": [1, 25]}
        assert answer[:2] == expected[words[0]]
        assert servers[0].call("STOCK.GIVE", product, "held")[0] == 1
    elif words[0] == "STOCK.CLOSE":
        assert answer == [1, 0, 15 if left_at == "wiped" else 50]
        assert_gone(cluster, product)
    elif words[0] == "STOCK.LOAD":
        assert answer == [1, 30]
        assert servers[0].call("STOCK.TAKE", product, "all", "ann", 30) == [1, 0]
    else:
        assert answer[:2] == [0, "PRODUCT_NOT_FOUND"]
        assert servers[0].call("STOCK.CLOSE", product)[0] == 1
        assert_gone(cluster, product)


def test_a_late_wipe_leaves_a_new_product_alone(cluster, servers, product):
    """Two servers carry on with a close; one of them is slow."""
    client = cluster.client()
    load(servers[0], product, 50, "POLICY", "steal")
    turn(client, product, "closing")
    epoch = turn(client, product, "closed")
    assert servers[0].call("STOCK.CLOSE", product) == [1, 0, 50]
    load(servers[0], product, 50, "POLICY", "steal")
    for place in PLACES:
        run_script(client, "wipe_shard", keys_of(product, place), epoch, "closed")
    assert servers[1].call("STOCK.TAKE", product, "all", "ann", 50) == [1, 0]


def snapshot(client, product):
    """All keys of a product, by name."""
    return {name: client.dump(name) for place in PLACES for name in keys_of(product, place)}


@pytest.mark.parametrize("step", ["send", "receive", "forget"])
@pytest.mark.parametrize("anew", [False, True], ids=["closed", "loaded anew"])
def test_a_late_transfer_leaves_what_was_closed_alone(cluster, servers, product, step, anew):
    """One server completes a transfer that another completed before; then the product is closed."""
    client = cluster.client()
    load(servers[0], product, 100, "POLICY", "steal")
    moved = Transfer(client, product, "main", "3")
    run_script(client, "adjust_shards", moved.source_keys[:6], 7, "")  # something to send
    moved.send()
    moved.receive()
    moved.forget()
    assert servers[1].call("STOCK.CLOSE", product) == [1, 0, 107]
    if anew:
        load(servers[0], product, 100, "POLICY", "steal")
    before = snapshot(client, product)
    getattr(moved, step)() if step != "send" else send_again(moved)
    assert snapshot(client, product) == before
    if not anew:
        assert_gone(cluster, product)
        load(servers[0], product, 100, "POLICY", "steal")
    assert servers[1].call("STOCK.TAKE", product, "all", "ann", 100) == [1, 0]


def send_again(moved):
    sent = run_script(moved.client, "send_stock", moved.source_keys[:7], "4", 0, 1, moved.epoch)
    assert sent[0] == 0


@pytest.mark.parametrize("script, args", [("limit_shards", ()), ("adjust_shards", (5, ""))])
def test_a_late_change_leaves_what_was_closed_alone(cluster, servers, product, script, args):
    client = cluster.client()
    load(servers[0], product, 100)
    assert servers[1].call("STOCK.CLOSE", product) == [1, 0, 100]
    late = run_script(client, script, keys_of(product, "main")[:6], *args)
    assert late[:2] == [0, b"STALE"]
    assert_gone(cluster, product)


def test_nothing_is_taken_by_who_believes_that_a_closing_product_is_open(cluster, servers, product):
    """Even if it knows the epoch, by whichever way: a CLOSE has counted what is taken here."""
    client = cluster.client()
    load(servers[0], product, 100, "POLICY", "steal")
    epoch = turn(client, product, "closing")
    keys = keys_of(product, "3")
    run_script(client, "read_shard", keys, epoch, "closing", 0)
    taken = run_script(client, "take_shard", keys[:6], "o1", "ann", 1, 600, 2**53 - 1, epoch,
                       "sharded", 1, 0, 0)
    assert taken == [0, b"STALE", epoch]
    assert servers[1].call("STOCK.CLOSE", product) == [1, 0, 100]


def test_nothing_is_taken_of_what_was_closed(cluster, servers, product):
    """Buyers go on while it is closed again and again: a close that succeeds has found all."""
    rounds, sold_then, done = 8, [], threading.Event()

    def call(server, *words):
        """Closes in a row may keep a command from going through: it is BUSY, and changed nothing."""
        while isinstance(answer := server.call(*words), Error):
            assert answer.code == "BUSY", answer
        return answer

    def buy(number):
        bought = 0
        while not done.is_set():
            order = f"o{number}-{bought}"
            server = servers[number % 2]
            if call(server, "STOCK.TAKE", product, order, f"u{number}", 1)[0] == 1:
                settled = call(server, "STOCK.SETTLE", product, order)
                assert settled[0] == 1, settled
                bought += 1
        return bought

    def close():
        for _ in range(rounds):
            words = ("STOCK.LOAD", product, 2000, "SHARDS", SHARDS, "POLICY", "steal")
            assert call(servers[0], *words)[0] == 1
            while (answer := call(servers[1], "STOCK.CLOSE", product))[0] != 1:
                assert answer[1] == "INVALID_STATE", answer
            sold_then.append(answer[1])
            assert answer[1] + answer[2] == 2000

    with ThreadPoolExecutor(9) as pool:
        buyers = [pool.submit(buy, number) for number in range(8)]
        try:
            pool.submit(close).result()
        finally:
            done.set()
        assert sum(buyer.result() for buyer in buyers) == sum(sold_then)
    assert_gone(cluster, product)

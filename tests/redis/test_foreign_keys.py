# SPDX-License-Identifier: Apache-2.0
"""A key of another type, or with another value, where one of ours should be. A command that cannot be
carried out for that says so and has changed nothing; what fell due stays until it can be given back;
and an index that only lists need stops no sale."""

import pytest

from commands_page import EXAMPLES, fill_in
from faults import audit, put_another_type
from raw_client import fields
from script_calls import named
from server import Error
from servers import wait_until

# Without a sale to lose: a semaphore's slots come back by their heartbeats, an index is made anew.
LOOSE = ("SEM.", "SEATS.LIST")
TRIED = [example for example in EXAMPLES if not example.needs_ledger
         and not example.name.startswith(LOOSE) and example.name != "LIST"]


def state(store):
    return {key: store.dump(key) for key in store.keys()}


def restore(store, kept):
    store.flushall()
    for key, (value, ttl) in kept.items():
        store.restore(key, ttl, value)


def beside(keys):
    """With those of an event that need not be there."""
    others = ("rules", "bookings", "blank", "closed", "zones")
    return sorted({*keys, *(key.replace(b"seats:due:", b"seats:%s:" % name.encode())
                            for key in keys if b"seats:due:" in key for name in others)})


@pytest.mark.parametrize("example", TRIED, ids=repr)
def test_a_command_that_fails_has_changed_nothing(server, store, example):
    given = None
    for words in example.before:
        given = named(words[0], server.call(*fill_in(words, given)))
    line = fill_in(example.line, given)
    kept = {key: (store.dump(key), max(0, store.pttl(key))) for key in store.keys()}
    server.call(*line)
    for key in beside({*kept, *store.keys()}):
        restore(store, kept)
        put_another_type(store, key)
        before = state(store)
        reply = server.call(*line)
        assert not isinstance(reply, Error) or state(store) == before, f"{key}: {reply}"


@pytest.mark.parametrize("value", ["text", None], ids=["no count", "another type"])
def test_seats_that_fell_due_wait_for_their_zone(standalone, server, do, store, value):
    for zone in ("floor", "stage"):
        do(f"SEATS.OPEN x {zone} 9")
        do(f"SEATS.RESERVE x {zone} b-{zone} ann 2 4 TTL 50ms")
    key = "zone:availability:{x}:floor"
    put_wrong(store, key, value)
    wait_until(lambda: is_wrong(server.call("SEATS.ZONE", "x", "stage")), "the holds fell due")
    held = store.zrange("seats:due:{x}", 0, -1)
    assert sorted(entry.split()[0] for entry in held) == [b"h", b"h"], held
    assert store.get("zone:availability:{x}:stage") == b"7"
    put_right(store, key, 7)
    for zone in ("floor", "stage"):
        assert fields(server.call("SEATS.ZONE", "x", zone))["available"] == 9
    assert audit(standalone.url) == []


@pytest.mark.parametrize("value", ["text", None], ids=["no count", "another type"])
def test_orders_that_fell_due_wait_for_their_counter(standalone, server, do, store, value):
    do("STOCK.LOAD x 9")
    do("STOCK.TAKE x o-1 ann 2 TTL 50ms")
    put_wrong(store, "stock:x_main", value)
    deadline = store.zscore("stock:due:{x_main}", "o-1")
    wait_until(lambda: now_ms(store) > deadline, "the order fell due")
    assert is_wrong(server.call("STOCK.GET", "x"))
    assert store.hlen("stock:orders:{x_main}") == 1
    put_right(store, "stock:x_main", 7)
    assert fields(server.call("STOCK.GET", "x"))["available"] == 9
    assert audit(standalone.url) == []


def now_ms(store):
    seconds, microseconds = store.time()
    return seconds * 1000 + microseconds / 1000


def put_wrong(store, key, value):
    store.delete(key)
    if value is None:
        store.rpush(key, "element")
    else:
        store.set(key, value)


def put_right(store, key, value):
    store.delete(key)
    store.set(key, value)


def is_wrong(reply):
    return isinstance(reply, Error) and reply.code == "INTERNAL"


def test_an_index_of_another_type_stops_no_sale(server, do, store):
    do("SEATS.OPEN x floor 9")
    store.set("seats:bookings:{x}", "text")
    for booking in ("b-1", "b-2"):
        assert server.call("SEATS.RESERVE", "x", "floor", booking, "ann", 1, 4)[0] == 1
    assert server.call("SEATS.CONFIRM", "x", "b-1")[0] == 1
    assert server.call("SEATS.RELEASE", "x", "b-2")[0] == 1
    assert server.call("SEATS.REFUND", "x", "b-1")[0] == 1
    assert fields(server.call("SEATS.ZONE", "x", "floor"))["available"] == 9


def test_a_users_key_of_another_type_costs_nobody_the_place(server, do, store):
    users = ["ann", "ben", "cleo"]
    for user in users:
        do(f"ROOM.JOIN x {user}")
    store.delete("queue:user:{x}:ben")
    store.set("queue:user:{x}:ben", "text")
    admitted = server.call("ROOM.ADMIT", "x", 3)
    assert admitted[::2] == users
    for user, given in zip(users, admitted[1::2]):
        assert server.call("ROOM.CHECK", "x", user, given) == 1

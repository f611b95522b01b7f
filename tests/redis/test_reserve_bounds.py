# SPDX-License-Identifier: Apache-2.0
"""What a reserve finds out late, since most calls do not need it: a refusal has changed nothing."""

import pytest

from letter import Scripts, dump
from server import Server
from servers import RedisServer
from test_batches import say

MOST = 2 ** 53 - 1


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as running:
        yield running


@pytest.fixture(scope="module")
def server(redis):
    with Server("--engine", redis.url + "?worker=no") as running:
        yield running


def reserve(client, zone, user, booking, quantity=1, most=4):
    """As a program calls that had the usual script."""
    return Scripts(client).reserve_seats(
        [f"zone:availability:{zone}", f"user:reservations:{user}:gala", f"reservation:{booking}"],
        [quantity, most, user, booking, zone, "gala", "", 0, 600])


@pytest.mark.parametrize("user, code", [("new", b"ZONE_NOT_FOUND"), ("known", b"ZONE_NOT_FOUND")])
def test_a_zone_that_is_missing(redis, user, code):
    client = redis.client()
    client.flushall()
    client.set("zone:availability:floor", 5)
    assert reserve(client, "floor", "known", "b-1")[0] == 1
    before = dump(client)
    assert reserve(client, "nowhere", user, "b-2")[:2] == [0, code]
    assert reserve(client, "nowhere", user, "b-2", quantity=9)[:2] == [0, code]
    assert dump(client) == before


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("user", ["new", "known"])
def test_a_zone_that_has_too_few(redis, user, left):
    client = redis.client()
    client.flushall()
    client.mset({"zone:availability:floor": 5, "zone:availability:stalls": left})
    assert reserve(client, "floor", "known", "b-1")[0] == 1
    before = dump(client)
    assert reserve(client, "stalls", user, "b-2", quantity=2) == [
        0, b"INSUFFICIENT_STOCK", b"%d seats available, 2 requested" % left]
    assert dump(client) == before


def test_a_zone_with_too_few_for_a_user_who_may_not(redis):
    client = redis.client()
    client.flushall()
    client.set("zone:availability:floor", 1)
    assert reserve(client, "floor", "new", "b-1", quantity=2, most=1)[1] == b"INSUFFICIENT_STOCK"
    client.set("zone:availability:floor", 2)
    assert reserve(client, "floor", "new", "b-1", quantity=2, most=1)[1] == b"USER_LIMIT_EXCEEDED"
    assert client.keys() == [b"zone:availability:floor"]


@pytest.mark.parametrize("together", [1, 5])
def test_a_user_whose_confirmed_seats_are_all_there_can_be(redis, server, together):
    redis.client().flushall()
    port = server.resp_port
    say(port, f"SEATS.OPEN gala floor {MOST}", "SEATS.OPEN gala stalls 100",
        f"SEATS.RESERVE gala floor b-1 ann {MOST} {MOST}", "SEATS.CONFIRM gala b-1")
    answers = say(port, *[f"SEATS.RESERVE gala stalls c-{n} ann 1 4" for n in range(together)])
    assert [answer[:2] for answer in answers] == [[0, "USER_LIMIT_EXCEEDED"]] * together
    assert say(port, "SEATS.RESERVE gala stalls d-1 ben 1 4")[0][:3] == [1, 99, 1]

# SPDX-License-Identifier: Apache-2.0
"""MULTI and EXEC on a server whose engine is Redis: in order, each after the answer to the one before
it, and nobody else is held up."""

import socket

import pytest

from raw_client import Client, encode, transact
from resp_parts import client, other
from server import Server
from servers import RedisServer, wait_until


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as one:
        yield one


@pytest.fixture(scope="module")
def server(redis):
    with Server("--engine", redis.url) as one:
        yield one


def test_all_is_carried_out_in_order_and_answered_in_one_array(client):
    answers = transact(client, "SEATS.OPEN gala floor 300", "PING",
                       *[f"SEATS.RESERVE gala floor b{n} u{n} 1 1" for n in range(300)],
                       "SEATS.RESERVE gala floor more ann 1 1", "ECHO end")
    assert answers[:2] == [[1, 300, 300], "PONG"]
    assert [answer[:3] for answer in answers[2:302]] == [[1, 299 - n, 1] for n in range(300)]
    assert answers[302][:2] == [0, "INSUFFICIENT_STOCK"] and answers[303] == "end"
    assert client.call("PING") == "PONG"


def test_a_command_that_has_to_be_sent_again_is_not_overtaken(redis, client):
    client.call("SEATS.OPEN", "before", "floor", 5)
    redis.client().script_flush()
    # This brings the one script back, and not the other.
    client.call("SEATS.RESERVE", "before", "floor", "b", "ann", 1, 1)
    answers = transact(client, "SEATS.OPEN after floor 5", "SEATS.RESERVE after floor b ann 1 1")
    assert [answer[:3] for answer in answers] == [[1, 5, 5], [1, 4, 1]]


def test_replies_keep_their_types_in_resp3(client):
    client.hello(3)
    answers = transact(client, "SEATS.OPEN types floor 5", "SEATS.ZONE types floor", "LOCK.GET types")
    assert answers[1] == {"capacity": 5, "available": 5, "reserved": 0, "confirmed": 0}
    assert answers[2] is None


def test_what_comes_before_and_behind_it_keeps_its_place(client):
    client.send_raw(encode("QUOTA.LIMIT", "place", 5) + encode("MULTI") +
                    encode("QUOTA.RESERVE", "place", 2) + encode("QUOTA.GET", "place") +
                    encode("EXEC") + encode("QUOTA.RESERVE", "place", 3) + encode("PING") +
                    encode("MULTI") + encode("QUOTA.GET", "place") + encode("EXEC"))
    assert [client.read() for _ in range(10)] == [
        [1, 0, 5], "OK", "QUEUED", "QUEUED", [[1, 2, 5], [2, 5, 0]], [1, 5, 5], "PONG", "OK",
        "QUEUED", [[5, 5, 0]]]


def test_no_command_waits_inside(client, other):
    other.call("SEM.ACQUIRE", "inside", "holder", 1)
    answers = transact(client, "SEM.ACQUIRE inside late 1 WAIT 60000", "SEM.CARD inside")
    assert answers[0][:2] == [0, "NO_SLOT"] and answers[1] == 1


def test_an_error_aborts_and_nothing_reaches_redis(client):
    client.send_raw(encode("MULTI") + encode("QUOTA.LIMIT", "aborted", 5) + encode("QUOTA.LIMIT") +
                    encode("EXEC"))
    answers = [client.read() for _ in range(4)]
    assert answers[2].code == "ERR" and answers[3].code == "EXECABORT"
    assert client.call("QUOTA.GET", "aborted") == [0, 0, 0]


def test_who_sends_no_more_is_still_answered(server):
    with Client(server.resp_port) as client:
        client.send_raw(encode("MULTI") + b"".join(encode("STOCK.LOAD", f"half-{n}", n)
                                                   for n in range(50)) + encode("EXEC"))
        client.socket.shutdown(socket.SHUT_WR)
        assert [client.read() for _ in range(51)] == ["OK"] + ["QUEUED"] * 50
        assert client.read() == [[1, n] for n in range(50)]
        assert client.read_nothing_more() == b""


def test_others_are_served_while_redis_does_not_answer(redis, client, other):
    redis.pause()
    try:
        client.send_raw(encode("MULTI") + encode("QUOTA.LIMIT", "paused", 5) * 3 + encode("EXEC"))
        assert [client.read() for _ in range(4)] == ["OK"] + ["QUEUED"] * 3
        assert other.call("PING") == "PONG"
    finally:
        redis.resume()
    assert client.read() == [[1, 0, 5]] * 3


def test_who_leaves_in_the_middle_has_all_of_it_carried_out(redis, server, other):
    """But for what it could never learn of and would hold for nothing."""
    redis.pause()
    try:
        client = Client(server.resp_port)
        client.send_raw(encode("MULTI") + b"".join(
            encode("QUOTA.LIMIT", f"left-{n}", 5) for n in range(20)) +
            encode("SEM.ACQUIRE", "left", "a", 1) + encode("QUOTA.LIMIT", "left-20", 5) +
            encode("EXEC"))
        assert [client.read() for _ in range(23)] == ["OK"] + ["QUEUED"] * 22
        wait_until(lambda: " flags=b " in other.call("CLIENT", "LIST"), "EXEC is running")
        client.reset()
    finally:
        redis.resume()
    wait_until(lambda: other.call("QUOTA.GET", "left-20") == [0, 5, 0], "the last one")
    assert [other.call("QUOTA.GET", f"left-{n}")[1] for n in range(20)] == [5] * 20
    assert other.call("SEM.CARD", "left") == 0

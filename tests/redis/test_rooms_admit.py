# SPDX-License-Identifier: Apache-2.0
"""ROOM.ADMIT of many goes in steps of 20 on Redis. Whatever fails between them, no pass that is known
is lost, and with an id the same command again tells all of them: nobody twice, nobody too many."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from faults import is_unknown, pipelined, serve, until_known
from proxy import Proxy
from raw_client import http
from server import Error
from servers import RedisServer

TIMEOUT_MS = 5000  # a cut is noticed at once
STEP = 20
USERS = [f"u-{number:03}" for number in range(260)]
# Where the answer is cut, in bytes: in each of the steps of about 1000, and between two.
PLACES = [1, 2000, 3300, 5200, 7900, 10_000]


@pytest.fixture(scope="module")
def one_redis():
    with RedisServer(appendonly="yes", appendfsync="always") as server:
        yield server


@pytest.fixture
def near(one_redis):
    """A server that is not disturbed, with the users in line."""
    one_redis.client().flushall()
    with serve(one_redis.url, timeout_ms=10_000, more="&worker=no") as server:
        joined = pipelined(server, [("ROOM.JOIN", "gala", user) for user in USERS])
        assert all(answer[0] == 1 for answer in joined)
        server.tokens = dict(zip(USERS, (answer[3] for answer in joined)))
        yield server


def far_from(proxy):
    """A server behind a proxy that calls no script but for the test's own commands."""
    return serve(proxy.url, timeout_ms=TIMEOUT_MS, more="&worker=no")


def users_of(answer):
    assert not isinstance(answer, Error), answer
    return answer[::2]


def valid(server, answer):
    """How many of the passes are good."""
    pairs = list(zip(answer[::2], answer[1::2]))
    return sum(pipelined(server, [("ROOM.CHECK", "gala", *pair) for pair in pairs]))


def stats(server):
    words = server.call("ROOM.STATS", "gala")
    return dict(zip(words[::2], words[1::2]))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", ["ROOM.ADMIT gala 200", "ROOM.TICK gala"])
def test_without_an_id_the_steps_before_are_answered(one_redis, near, command, place):
    with Proxy(one_redis.port) as proxy, far_from(proxy) as far:
        proxy.cut_reply_after(place)
        answer = far.call(*command.split())
        proxy.wait_cut()
    if place < STEP * 48:  # in the first step: nobody knows
        assert is_unknown(answer)
        answer = []
    known = users_of(answer)
    assert known == USERS[:len(known)] and len(known) % STEP == 0
    assert valid(near, answer) == len(known)
    # Those of the step that was cut are admitted, and get their passes by their tokens.
    assert stats(near)["inside"] == len(known) + STEP
    for user in USERS[len(known):len(known) + STEP:10]:
        path = f"/v1/events/gala/queue/{user}?token={near.tokens[user]}"
        given = http(near.http_port, "GET", path).json["pass"]
        assert near.call("ROOM.CHECK", "gala", user, given) == 1


@pytest.mark.parametrize("dies", [False, True], ids=["cut", "killed"])
@pytest.mark.parametrize("place", PLACES)
def test_with_an_id_the_same_command_again_tells_all(one_redis, near, place, dies):
    def ask():
        return far.call("ROOM.ADMIT", "gala", 200, "ID", "wave-1", timeout=30)

    with Proxy(one_redis.port) as proxy, far_from(proxy) as far:
        proxy.cut_reply_after(place)
        first = ask()
        proxy.wait_cut()
        assert is_unknown(first) and "same" in first.message.lower(), first
        if dies:
            one_redis.restart("kill")
        answer, _ = until_known(ask, "the retry")
        assert users_of(answer) == USERS[:200]
        assert ask() == answer
    assert valid(near, answer) == 200
    assert stats(near)["inside"] == 200 and stats(near)["waiting"] == 60
    refused = near.call("ROOM.ADMIT", "gala", 201, "ID", "wave-1")
    assert refused[:2] == [0, "INVALID_STATE"] and "count 200, not 201" in refused[2]


def test_many_cuts_one_after_the_other(one_redis, near):
    with Proxy(one_redis.port) as proxy, far_from(proxy) as far:
        for place in (2600, 2600, 5300, 1, 7900, 9000):
            proxy.cut_reply_after(place)
            far.call("ROOM.ADMIT", "gala", 200, "PASS", "1h", "ID", "wave-1", timeout=30)
            proxy.wait_cut()
        answer, _ = until_known(lambda: far.call("ROOM.ADMIT", "gala", 200, "PASS", "1h",
                                                 "ID", "wave-1", timeout=30), "the retry")
    assert users_of(answer) == USERS[:200]
    assert stats(near)["inside"] == 200


def test_the_same_id_through_two_servers_at_once(one_redis, near):
    with serve(one_redis.url, timeout_ms=10_000, more="&worker=no") as other:
        with ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(server.call, "ROOM.ADMIT", "gala", 200, "ID", "wave-1", timeout=30)
                     for server in (near, other) * 3]
            answers = [call.result() for call in calls]
    assert all(answer == answers[0] for answer in answers)
    assert users_of(answers[0]) == USERS[:200]
    assert stats(near)["inside"] == 200


def test_inside_ends_it_for_good(near):
    """A place that falls free later is not filled by the retry: the first would not have."""
    near.call("ROOM.OPEN", "gala", "INSIDE", 120)
    answer = near.call("ROOM.ADMIT", "gala", 200, "ID", "wave-1")
    assert users_of(answer) == USERS[:120]
    assert near.call("ROOM.DONE", "gala", USERS[7]) == 1
    again = near.call("ROOM.ADMIT", "gala", 200, "ID", "wave-1")
    assert users_of(again) == USERS[:7] + USERS[8:120]
    assert stats(near)["inside"] == 119


def test_what_is_remembered_goes_with_the_retry_window(one_redis, near):
    near.call("ROOM.ADMIT", "gala", 200, "ID", "wave-1")
    store = one_redis.client()
    key = "queue:admission:{gala}:wave-1"
    assert 290 < store.ttl(key) <= 300
    assert store.llen(key) == 1 + 2 * 200
    assert redis.Redis(port=near.resp_port).execute_command("LIST", "rooms")[1:] == [b"gala"]

# SPDX-License-Identifier: Apache-2.0
"""Commands of one scope are carried out in the order in which they were submitted, also when more
fell due than one call gives back, so that calls have to be made again."""

import pytest

from server import Server
from servers import RedisServer
from test_batches import figure, say

# More than one call gives back, than two do, and so many that calls in flight come to the end of it.
HEAPS = (33, 40, 49, 70, 200)
BEHIND = 150  # commands submitted at once: ten calls, of which four are in flight


@pytest.fixture(scope="module")
def servers():
    with RedisServer() as redis, Server("--engine", redis.url + "?worker=no") as server:
        yield redis, server


def let_expire(redis, key, count):
    """All that has a deadline is due from now on, without waiting for it."""
    client = redis.client()
    assert client.zcard(key) == count
    client.zadd(key, {name: 1000 for name in client.zrange(key, 0, -1)}, xx=True)


def granted(answers):
    return [answer for answer in answers if answer[0] != 1] == []


@pytest.mark.parametrize("heap", HEAPS)
def test_takes_behind_a_heap_of_expired_orders(servers, heap):
    redis, server = servers
    product = f"shoes{heap}"
    assert granted(say(server.resp_port, f"STOCK.LOAD {product} 1000"))
    assert granted(say(server.resp_port, *[f"STOCK.TAKE {product} o{n} ann 1"
                                           for n in range(heap)]))
    let_expire(redis, f"stock:due:{{{product}_main}}", heap)
    answers = say(server.resp_port, *[f"STOCK.TAKE {product} p{n} ben 1" for n in range(BEHIND)])
    assert answers == [[1, 999 - n] for n in range(BEHIND)]


@pytest.mark.parametrize("heap", HEAPS)
def test_bookings_behind_a_heap_of_expired_ones(servers, heap):
    redis, server = servers
    event = f"gala{heap}"
    assert granted(say(server.resp_port, f"SEATS.OPEN {event} floor 1000"))
    assert granted(say(server.resp_port, *[f"SEATS.RESERVE {event} floor a{n} u{n} 1 4"
                                           for n in range(heap)]))
    let_expire(redis, f"seats:due:{{{event}}}", heap)
    lines = [line for n in range(BEHIND // 3) for line in (
        f"SEATS.RESERVE {event} floor b{n} v{n} 1 4", f"SEATS.CONFIRM {event} b{n} PAYMENT p{n}",
        f"SEATS.OPEN {event} floor {1001 + n}")]
    answers = say(server.resp_port, *lines, f"SEATS.LIST {event} COUNT 1", f"SEATS.RELEASE {event} b0",
                  f"SEATS.CLOSE {event} FORCE", f"SEATS.OPEN {event} floor 7")
    rounds = BEHIND // 3
    assert [answer[:3] for answer in answers[0:-4:3]] == [[1, 999, 1]] * rounds
    assert [answer[:2] for answer in answers[1:-4:3]] == [[1, "CONFIRMED"]] * rounds
    assert answers[2:-4:3] == [[1, 1000, 1001 + n] for n in range(rounds)]
    assert [answer[1] for answer in answers[-3:-1]] == ["INVALID_STATE", rounds]
    assert answers[-1] == [1, 7, 7]


@pytest.mark.parametrize("heap", HEAPS)
def test_holds_behind_a_heap_of_expired_ones(servers, heap):
    redis, server = servers
    tenant = f"acme{heap}"
    assert granted(say(server.resp_port, f"QUOTA.LIMIT {tenant} 1000"))
    assert granted(say(server.resp_port, *[f"QUOTA.RESERVE {tenant} 1 HOLD h{n}"
                                           for n in range(heap)]))
    let_expire(redis, f"quota:tenant:{tenant}:due", heap)
    lines = [line for n in range(BEHIND // 2) for line in (
        f"QUOTA.RESERVE {tenant} 2 HOLD i{n}", f"QUOTA.COMMIT {tenant} i{n} AMOUNT 1")]
    answers = say(server.resp_port, *lines)
    assert answers[0::2] == [[1, n + 2, 1000] for n in range(BEHIND // 2)]
    assert answers[1::2] == [[1, n + 1, 1000] for n in range(BEHIND // 2)]


def test_nothing_is_held_back_for_good(servers):
    _, server = servers
    assert figure(server, "in_flight") == 0

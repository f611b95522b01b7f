# SPDX-License-Identifier: Apache-2.0
"""Waiters for a slot on Redis: they fill no queue, what gives back is never refused for it, and what
a client got that is gone before it read its answer is given back, and nothing else."""

import pytest

from proxy import Proxy
from raw_client import Client, fields
from server import Server
from servers import RedisServer, wait_until
# The same as on the embedded engine.
from test_waiting import (  # noqa: F401
    client, line, test_a_client_killed_before_it_read_its_grant,
    test_a_client_that_read_its_grant_keeps_its_slot, test_a_grant_that_arrived_is_kept,
    test_a_grant_that_was_never_read_is_given_back, test_a_waiter_that_disconnects_leaves_the_line,
    test_http_grant_that_never_arrived_is_given_back,
    test_http_waiter_that_disconnects_leaves_the_line,
    test_many_waiters_that_disconnect_at_once,
    test_the_same_id_on_another_connection_takes_the_place_over)

QUEUE = 4
LONG_MS = 60_000


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as running:
        yield running


@pytest.fixture(scope="module")
def server(redis):
    """One whose queue is shorter than any line here."""
    with Server("--engine", f"{redis.url}?queue={QUEUE}", memory=True) as running:
        yield running


@pytest.fixture(scope="module")
def far(redis):
    """A server on the same Redis, behind a proxy that can stall."""
    with Proxy(redis.port) as proxy, \
            Server("--engine", f"redis://127.0.0.1:{proxy.port}", memory=True) as running:
        running.proxy = proxy
        yield running


@pytest.fixture
def name(request):
    return request.node.name


def stats(server, name):
    return fields(server.call("SEM.STATS", name))


def wait_in_line(server, name, who, position, *words):
    """A connection whose ACQUIRE waits, once it does."""
    waiter = Client(server.resp_port)
    waiter.send("SEM.ACQUIRE", name, who, 1, "WAIT", LONG_MS, *words)
    wait_until(lambda: stats(server, name)["waiting"] == position, f"{who} is in line")
    return waiter


# ---- the queue -----------------------------------------------------------------------------------

def test_waiters_do_not_count_against_the_queue(server, name):
    assert server.call("SEM.ACQUIRE", name, "holder", 1)[0] == 1
    waiters = [wait_in_line(server, name, f"w-{i}", i + 1) for i in range(3 * QUEUE)]
    assert server.call("SEM.PING", name, "holder", 60, 600) == [0, 1]
    assert server.call("QUOTA.LIMIT", name, 7) == [1, 0, 7]
    held = "holder"
    for i, waiter in enumerate(waiters):
        assert server.call("SEM.RELEASE", name, held) == 1
        assert waiter.read()[:2] == [1, 1]
        held = f"w-{i}"
        waiter.close()
    assert server.call("SEM.RELEASE", name, held) == 1


GIVES_BACK = [
    (("SEATS.OPEN", "$", "z", 5), ("SEATS.RESERVE", "$", "z", "b", "u", 1, 4),
     ("SEATS.RELEASE", "$", "b")),
    (("QUOTA.LIMIT", "$", 9), ("QUOTA.RESERVE", "$", 5, "HOLD", "h"), ("QUOTA.CANCEL", "$", "h")),
    (("SEM.ACQUIRE", "$", "a", 1), ("SEM.PING", "$", "a", 60, 600)),
    (("SEM.ACQUIRE", "$", "a", 1), ("SEM.RELEASE", "$", "a")),
    (("LOCK.TRY", "$", 60, "ID", "l"), ("LOCK.UNLOCK", "$", "l")),
    (("STOCK.LOAD", "$", 5), ("STOCK.TAKE", "$", "o", "u", 1), ("STOCK.GIVE", "$", "o")),
    (("ROOM.JOIN", "$", "u"), ("ROOM.LEAVE", "$", "u")),
    (("IDEM.BEGIN", "$", "f"), ("IDEM.ABORT", "$")),
]


def test_a_waiter_for_as_many_slots_as_there_can_be_gets_them(server, name):
    assert server.call("SEM.ACQUIRE", name, "first", 128, "SLOTS", 128)[:2] == [1, 128]
    waiter = Client(server.resp_port)
    waiter.send("SEM.ACQUIRE", name, "second", 128, "SLOTS", 128, "WAIT", LONG_MS)
    wait_until(lambda: stats(server, name)["waiting"] == 1, "the second is in line")
    assert server.call("SEM.RELEASE", name, "first") == 1
    assert waiter.read()[:2] == [1, 128]
    waiter.close()


@pytest.mark.parametrize("steps", GIVES_BACK, ids=lambda steps: steps[-1][0])
def test_what_gives_back_is_not_refused_for_the_queue(server, redis, name, steps):
    """Redis stands still, and as many commands as may be pending are."""
    steps = [[name if word == "$" else word for word in step] for step in steps]
    for step in steps[:-1]:
        server.call(*step)
    pending = [Client(server.resp_port) for _ in range(QUEUE)]
    with Client(server.resp_port) as giving, Client(server.resp_port) as refused:
        redis.pause()
        try:
            for one in pending:
                one.send("SEM.CARD", name)
            wait_until(lambda: "BUSY" in str(refused.call("SEM.CARD", name)), "the queue is full")
            giving.send(*steps[-1])
        finally:
            redis.resume()
        answer = giving.read()
        assert "BUSY" not in str(answer) and answer not in (0, [0, 0]), answer
        for one in pending:
            one.read()
            one.close()


# ---- clients that are gone -----------------------------------------------------------------------

def test_a_grant_in_flight_is_given_back(server, far, name):
    """The waiter is granted its slot while its server cannot hear of it, and leaves."""
    assert server.call("SEM.ACQUIRE", name, "holder", 1)[0] == 1
    waiter = wait_in_line(far, name, "gone", 1)
    far.proxy.stall()
    assert server.call("SEM.RELEASE", name, "holder") == 1
    assert stats(server, name) == {"in_use": 1, "max": 1, "waiting": 0}
    waiter.close()
    far.proxy.resume()
    wait_until(lambda: stats(server, name)["in_use"] == 0, "the slot is given back")


def test_what_the_same_id_holds_elsewhere_is_left_alone(server, far, name):
    """The client gave its first server up and retried with another one: it holds the slot there."""
    assert server.call("SEM.ACQUIRE", name, "holder", 1)[0] == 1
    waiter = wait_in_line(far, name, "one", 1)
    far.proxy.stall()
    assert server.call("SEM.RELEASE", name, "holder") == 1
    granted = server.call("SEM.ACQUIRE", name, "one", 1)
    waiter.close()
    far.proxy.resume()
    # What the far server does about its waiter comes before what it is asked now.
    for _ in range(20):
        assert fields(far.call("SEM.STATS", name))["in_use"] == 1
    assert server.call("SEM.ACQUIRE", name, "one", 1) == granted
    assert server.call("SEM.RELEASE", name, "one") == 1


def test_a_place_in_line_that_another_server_took_over_is_left_alone(server, far, redis, name):
    def note():
        return redis.client().hget(f"adv-sem:semaphore_own:{name}", "one")

    assert server.call("SEM.ACQUIRE", name, "holder", 1)[0] == 1
    first = wait_in_line(far, name, "one", 1)
    before = note()
    far.proxy.stall()
    with Client(server.resp_port) as second:
        second.send("SEM.ACQUIRE", name, "one", 1, "WAIT", LONG_MS)
        wait_until(lambda: note() != before, "it took the place over")
        first.close()
        far.proxy.resume()
        for _ in range(20):
            far.call("SEM.STATS", name)
        assert server.call("SEM.RELEASE", name, "holder") == 1
        assert second.read()[:2] == [1, 1]
    server.call("SEM.RELEASE", name, "one")


def test_a_server_that_stops_takes_its_waiters_along(server, redis, name):
    assert server.call("SEM.ACQUIRE", name, "holder", 1)[0] == 1
    with Server("--engine", redis.url, memory=True) as other:
        waiters = [wait_in_line(other, name, f"w-{i}", i + 1) for i in range(3)]
        other.stop()
        for waiter in waiters:
            assert "BUSY" in str(waiter.read())
    assert stats(server, name) == {"in_use": 1, "max": 1, "waiting": 0}
    assert server.call("SEM.RELEASE", name, "holder") == 1

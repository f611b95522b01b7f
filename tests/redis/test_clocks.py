# SPDX-License-Identifier: Apache-2.0
"""Whose clock counts: Redis' own, and no other; and what happens when that one is set."""

from pathlib import Path

import pytest

from raw_client import fields, http
from server import Server, wait_until
from servers import RedisServer
from shifted_clock import ShiftedClock


def redis_ms(server):
    """What a Redis server's clock says, in ms."""
    seconds, micros = server.client().time()
    return seconds * 1000 + micros // 1000


@pytest.fixture
def redis_clock():
    return ShiftedClock()


@pytest.fixture
def redis(redis_clock):
    with RedisServer(env=redis_clock.env) as server:
        yield server


def serve(redis, query="", **shift):
    clock = ShiftedClock()
    clock.shift(**shift)
    server = Server("--engine", redis.url + query, memory=True, env=clock.env)
    server.clock = clock  # its file has to stay
    assert "libshifted_clock" in Path(f"/proc/{server.pid}/maps").read_text()
    return server


@pytest.fixture
def ahead(redis):
    """A server whose clock is an hour ahead of Redis'."""
    with serve(redis, hours=1) as server:
        yield server


@pytest.fixture
def behind(redis):
    with serve(redis, hours=-1) as server:
        yield server


# Two servers, two hours apart


def test_the_line_for_a_semaphore_is_in_the_order_of_arrival(ahead, behind):
    assert ahead.call("SEM.ACQUIRE", "s", "holder", 1)[0] == 1
    line = [(server, f"c-{n}") for n in range(6) for server in [(ahead, behind)[n % 2]]]
    waiting = []
    for place, (server, client) in enumerate(line, 1):
        connection = server.connect()
        connection.send("SEM.ACQUIRE", "s", client, 1, "WAIT", 60_000)
        waiting.append(connection)
        wait_until(lambda: behind.call("SEM.STATS", "s")[5] == place, f"{client} is in line")
    fences = []
    for server, client in [(behind, "holder"), *line[:-1]]:
        assert server.call("SEM.RELEASE", "s", client) == 1
        with waiting.pop(0) as connection:
            lead, in_use, fence = connection.read()
        assert (lead, in_use) == (1, 1)
        fences.append(fence)
    assert fences == sorted(set(fences))


def test_the_waiting_room_is_in_the_order_of_arrival(ahead, behind):
    for n in range(6):
        server = (ahead, behind)[n % 2]
        assert server.call("ROOM.JOIN", "gala", f"u-{n}")[:3] == [1, n + 1, n + 1]
    admitted = behind.call("ROOM.ADMIT", "gala", 3) + ahead.call("ROOM.ADMIT", "gala", 3)
    assert admitted[::2] == [f"u-{n}" for n in range(6)]
    for user, user_pass in zip(admitted[::2], admitted[1::2]):
        assert ahead.call("ROOM.CHECK", "gala", user, user_pass) == 1


def test_a_hold_ends_when_redis_says_so(redis, redis_clock, ahead, behind):
    for number, server in enumerate((ahead, behind)):
        event = f"ev-{number}"
        server.call("SEATS.OPEN", event, "floor", 10)
        began = redis_ms(redis)
        assert server.call("SEATS.RESERVE", event, "floor", "b", "ann", 2, 4, "TTL", 600)[0] == 1
        booking = fields(server.call("SEATS.GET", event, "b"))
        assert began <= booking["created_at"] <= redis_ms(redis)
        assert booking["expires_at"] == booking["created_at"] + 600_000
    assert ahead.call("LOCK.TRY", "seat", 600, "ID", "mine")[0] == "mine"
    assert ahead.call("IDEM.BEGIN", "key", "print", "TTL", 600) == [1, "NEW"]
    for server in (ahead, behind):
        assert available(server, "ev-0") == available(server, "ev-1") == 8
        assert server.call("LOCK.TRY", "seat", 600, "ID", "yours") is None
        assert server.call("IDEM.BEGIN", "key", "print") == [0, "PROCESSING"]
    redis_clock.shift(seconds=600)
    for server in (behind, ahead):
        assert available(server, "ev-0") == available(server, "ev-1") == 10
        assert server.call("SEATS.GET", "ev-0", "b")[:2] == [0, "RESERVATION_NOT_FOUND"]
        assert server.call("LOCK.GET", "seat") is None
        assert server.call("IDEM.ABORT", "key") == 0


def test_a_worker_with_a_wrong_clock_gives_nothing_back_too_early(redis, redis_clock, behind):
    behind.call("SEATS.OPEN", "ev", "floor", 10)
    behind.call("SEATS.RESERVE", "ev", "floor", "b", "ann", 2, 4, "TTL", 600)
    with serve(redis, hours=1) as server:
        wait_until(lambda: figure(server, "worker_visits_total") > 0, "its worker has looked")
        assert redis.client().get("zone:availability:{ev}:floor") == b"8"
    redis_clock.shift(seconds=600)
    with serve(redis, hours=1):
        wait_until(lambda: redis.client().get("zone:availability:{ev}:floor") == b"10",
                   "the worker has given them back")


# Redis' clock is set back


def test_what_has_expired_stays_so_when_the_clock_is_set_back(redis_clock, behind):
    behind.call("SEATS.OPEN", "ev", "floor", 10)
    behind.call("SEATS.RESERVE", "ev", "floor", "b", "ann", 2, 4, "TTL", 60)
    behind.call("QUOTA.LIMIT", "t", 10)
    behind.call("QUOTA.RESERVE", "t", 4, "HOLD", "h", "TTL", 60)
    behind.call("STOCK.LOAD", "p", 10)
    behind.call("STOCK.TAKE", "p", "o", "ann", 3, "TTL", 60)
    behind.call("SEM.ACQUIRE", "s", "a", 1, "HEARTBEAT", 60)
    behind.call("LOCK.TRY", "r", 60, "ID", "x")
    behind.call("ROOM.JOIN", "ev", "ann", "TTL", 60)
    redis_clock.shift(seconds=60)
    for hours in (0, -1):
        redis_clock.shift(hours=hours)
        assert available(behind, "ev") == 10
        assert behind.call("SEATS.GET", "ev", "b")[:2] == [0, "RESERVATION_NOT_FOUND"]
        assert behind.call("QUOTA.GET", "t") == [0, 10, 0]
        assert behind.call("STOCK.GIVE", "p", "o")[:2] == [0, "NOT_FOUND"]
        assert behind.call("SEM.CARD", "s") == 0
        assert behind.call("LOCK.GET", "r") is None
        assert behind.call("ROOM.POSITION", "ev", "ann")[:2] == [0, "NOT_IN_QUEUE"]


def test_nobody_overtakes_and_nothing_is_lost_when_the_clock_is_set_back(redis_clock, behind):
    behind.call("SEM.ACQUIRE", "s", "holder", 1)
    behind.call("SEATS.OPEN", "ev", "floor", 10)
    first_fence = behind.call("LOCK.TRY", "r", 60, "ID", "x")[1]
    for n in range(3):
        assert behind.call("SEM.QUEUE", "s", f"c-{n}", 86400, 86400) == [1, n + 1]
        assert behind.call("ROOM.JOIN", "gala", f"u-{n}")[1] == n + 1
        assert behind.call("SEATS.RESERVE", "ev", "floor", f"b-{n}", "ann", 1, 9)[0] == 1
        redis_clock.shift(hours=-1)
    assert available(behind, "ev") == 7
    for n in range(3):
        assert behind.call("SEM.RELEASE", "s", f"c-{n - 1}" if n else "holder") == 1
        assert behind.call("SEM.PING", "s", f"c-{n}", 86400, 86400) == [0, 1]
        assert behind.call("SEATS.CONFIRM", "ev", f"b-{n}")[0] == 1
    assert behind.call("ROOM.ADMIT", "gala", 9)[::2] == ["u-0", "u-1", "u-2"]
    assert behind.call("LOCK.UNLOCK", "r", "x") == 1
    assert behind.call("LOCK.TRY", "r", 60, "ID", "y")[1] > first_fence


def available(server, event):
    return fields(server.call("SEATS.ZONE", event, "floor"))["available"]


def figure(server, name):
    """A figure of /metrics; 0 while it is not told."""
    text = http(server.http_port, "GET", "/metrics").body.decode()
    return sum(float(line.split(" ")[-1]) for line in text.splitlines()
               if line.split(" ")[0].endswith(name))

# SPDX-License-Identifier: Apache-2.0
"""Holds that nobody ends: each comes back at its deadline, exactly once, whoever looks after it.

What is in Redis is looked at directly, too: a command would give back what it meets by itself.
"""

import re

import pytest

from raw_client import http
from server import Server
from servers import RedisServer, wait_until
from shifted_clock import ShiftedClock

EVENTS, USERS, BOOKINGS = 5, 3, 40  # bookings of two seats in each event, by each user
CAPACITY = 1000
HELD = 2 * BOOKINGS
LONG_S, SHORT_S = 600, 2  # until the clock is set, and until it comes by itself
GRACE_S = 60


@pytest.fixture
def clock():
    return ShiftedClock()


@pytest.fixture
def redis(clock):
    with RedisServer(env=clock.env) as server:
        yield server


def serve(redis, worker):
    return Server("--engine", f"{redis.url}?worker={'yes' if worker else 'no'}", memory=True)


def hold(server, ttl_s):
    """Seats, quota and stock, all held for the same time. Pipelined: it is to be done in time."""
    with server.connect() as connection:
        commands = []
        for e in range(EVENTS):
            commands += [("SEATS.OPEN", f"ev-{e}", "floor", CAPACITY),
                         ("QUOTA.LIMIT", f"t-{e}", CAPACITY), ("STOCK.LOAD", f"p-{e}", CAPACITY)]
            commands += [("SEATS.RESERVE", f"ev-{e}", "floor", f"b-{u}-{b}", f"u-{u}", 2, HELD,
                          "TTL", ttl_s) for u in range(USERS) for b in range(BOOKINGS)]
            for b in range(BOOKINGS):
                commands += [("QUOTA.RESERVE", f"t-{e}", 2, "HOLD", f"h-{b}", "TTL", ttl_s),
                             ("STOCK.TAKE", f"p-{e}", f"o-{b}", "ann", 2, "TTL", ttl_s)]
        for command in commands:
            connection.send(*command)
        replies = [connection.read() for _ in commands]
    assert [reply for reply in replies if reply[0] != 1] == []


def in_redis(redis):
    """(free seats, quota used, stock left) of each scope, as the keys say."""
    names = [name.format(e) for e in range(EVENTS) for name in (
        "zone:availability:{{ev-{}}}:floor", "quota:tenant:t-{}:used", "stock:p-{}_main")]
    values = [int(value) for value in redis.client().mget(names)]
    return list(zip(values[::3], values[1::3], values[2::3]))


def user_counts(redis):
    """What the keys say of each user, without those that are gone."""
    names = [f"user:reservations:{{ev-{e}}}:u-{u}" for e in range(EVENTS) for u in range(USERS)]
    return [int(value) for value in redis.client().mget(names) if value is not None]


TAKEN = [(CAPACITY - HELD * USERS, HELD, CAPACITY - HELD)] * EVENTS
BACK = [(CAPACITY, 0, CAPACITY)] * EVENTS
RETURNED = [EVENTS * USERS * BOOKINGS, EVENTS * BOOKINGS, EVENTS * BOOKINGS]


def check_commands(server, held_by_user):
    """What the commands tell once everything is back."""
    for e in range(EVENTS):
        zone = server.call("SEATS.ZONE", f"ev-{e}", "floor")
        assert zone == ["capacity", CAPACITY, "available", CAPACITY, "reserved", 0, "confirmed", 0]
        assert server.call("QUOTA.GET", f"t-{e}") == [0, CAPACITY, 0]
        assert server.call("STOCK.GET", f"p-{e}")[:6] == [
            "available", CAPACITY, "taken", 0, "sold", 0]
        for u in range(USERS):
            assert server.call("SEATS.USER", f"ev-{e}", f"u-{u}") == [held_by_user, 0]


def watch_them_come_back(redis):
    """Looks until all is back. More than there ever was may not be there at any moment."""
    def all_back():
        now = in_redis(redis)
        assert all(seats <= CAPACITY and used >= 0 and stock <= CAPACITY
                   for seats, used, stock in now), now
        return now == BACK
    wait_until(all_back, "all came back")


def test_with_no_worker_the_next_command_sees_all_of_it_again(redis, clock):
    with serve(redis, worker=False) as server:
        hold(server, LONG_S)
        clock.shift(seconds=LONG_S)
        assert in_redis(redis) == TAKEN  # nobody has looked yet
        check_commands(server, held_by_user=HELD)
        assert in_redis(redis) == BACK
        clock.shift(seconds=GRACE_S)
        check_commands(server, held_by_user=0)
        assert user_counts(redis) == []


def test_a_worker_that_starts_late_gives_everything_back_once(redis, clock):
    with serve(redis, worker=False) as server:
        hold(server, LONG_S)
    clock.shift(seconds=LONG_S)
    assert in_redis(redis) == TAKEN
    with serve(redis, worker=True) as server:
        watch_them_come_back(redis)
        assert user_counts(redis) == [HELD] * EVENTS * USERS  # for another minute
        wait_until(lambda: returned(server) == RETURNED, "it has counted them")
        check_commands(server, held_by_user=HELD)
    clock.shift(seconds=GRACE_S)
    with serve(redis, worker=True) as server:
        wait_until(lambda: user_counts(redis) == [], "the users' counts came back")
        check_commands(server, held_by_user=0)
        assert in_redis(redis) == BACK


def test_two_workers_that_start_late_together_give_everything_back_once(redis, clock):
    with serve(redis, worker=False) as server:
        hold(server, LONG_S)
    clock.shift(seconds=LONG_S + GRACE_S)
    with serve(redis, worker=True) as one, serve(redis, worker=True) as two:
        watch_them_come_back(redis)
        wait_until(lambda: user_counts(redis) == [], "the users' counts came back")
        wait_until(lambda: returned(one, two) == RETURNED, "they have counted them")
        for server in (one, two):
            check_commands(server, held_by_user=0)
        assert in_redis(redis) == BACK


def test_two_workers_that_wait_for_the_same_deadlines_give_everything_back_once(redis):
    with serve(redis, worker=True) as one, serve(redis, worker=True) as two:
        hold(one, SHORT_S)
        hold(two, SHORT_S)  # the same again: now both know of it
        watch_them_come_back(redis)
        wait_until(lambda: returned(one, two) == RETURNED, "they have counted them")
        for server in (one, two):
            check_commands(server, held_by_user=HELD)
        assert in_redis(redis) == BACK


def test_holds_that_lapse_while_others_are_taken_are_never_counted_twice(redis):
    """Commands give back what they meet, and two workers do at the same time."""
    capacity, granted, sold = 100, 0, 0
    with serve(redis, worker=True) as one, serve(redis, worker=True) as two:
        one.call("SEATS.OPEN", "ev", "floor", capacity)
        with one.connect() as here, two.connect() as there:
            while granted < 5 * capacity:  # each seat is held, lapses, and is held by another
                bookings = [f"b-{granted}-{n}" for n in range(20)]
                for booking, connection in zip(bookings, 10 * [here, there]):
                    connection.send("SEATS.RESERVE", "ev", "floor", booking, booking, 1, 1,
                                    "TTL", "50ms")
                replies = [connection.read()[0] for _ in range(10) for connection in (here, there)]
                granted += sum(replies)
                if replies[0] and sold < capacity // 2:
                    sold += here.call("SEATS.CONFIRM", "ev", bookings[0])[0]
        wait_until(lambda: int(redis.client().get("zone:availability:{ev}:floor"))
                   == capacity - sold, "all but the sold seats came back")
        assert one.call("SEATS.ZONE", "ev", "floor") == [
            "capacity", capacity, "available", capacity - sold, "reserved", 0, "confirmed", sold]


def returned(*servers):
    """How many bookings, quota holds and orders the servers' workers gave back, all together."""
    texts = [http(server.http_port, "GET", "/metrics").body.decode() for server in servers]
    return [sum(int(re.search(rf"worker_returned_{what}_total (\d+)", text)[1]) for text in texts)
            for what in ("seats", "quota", "stock")]

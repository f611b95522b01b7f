# SPDX-License-Identifier: Apache-2.0
"""The admission worker of two servers on one Redis, which are killed in turn under a rush: rate and
cap hold, everybody is admitted once and in order."""

import threading

import pytest

from raw_client import Client
from server import Server, wait_until
from servers import RedisServer

USERS, RATE, INSIDE = 10_000, 500, 300
BATCH = 200
PATIENCE_S = 240

# One moment of the room: how many passes are valid, how many are in line, the first and the last.
MOMENT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return {redis.call('ZCOUNT', KEYS[1], '(' .. string.format('%.0f', now), '+inf'),
    redis.call('ZCARD', KEYS[2]), redis.call('ZRANGE', KEYS[2], 0, 0)[1] or '',
    redis.call('ZRANGE', KEYS[2], -1, -1)[1] or ''}
"""


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as one:
        yield one


@pytest.fixture(scope="module")
def servers(redis):
    with Server("--engine", redis.url) as one, Server("--engine", redis.url) as other:
        yield one, other


def stats(server, event):
    words = server.call("ROOM.STATS", event)
    return dict(zip(words[::2], words[1::2]))


def clock_s(redis):
    whole, micros = redis.client().time()
    return whole + micros / 1e6


def name(n):
    return f"u{n:05}"


def join_all(server, event, count):
    """Pipelined; gives the tokens."""
    tokens = []
    with Client(server.resp_port) as client:
        for start in range(0, count, BATCH):
            some = range(start, min(start + BATCH, count))
            for n in some:
                client.send("ROOM.JOIN", event, name(n), "TTL", "1h")
            replies = [client.read() for _ in some]
            assert all(reply[0] == 1 for reply in replies), replies
            tokens += [reply[3] for reply in replies]
    return tokens


class Visitors:
    """Every other user from `first` on, in order: each waits until it is admitted and is then done.
    Their server may die at any time: they go to the other one."""

    def __init__(self, servers, tokens, first):
        self.servers, self.tokens = servers, tokens
        self.waiting = list(range(first, USERS, 2))
        self.at, self.unheard, self.done, self.error = first, set(), 0, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while self.waiting:
                self.at += 1
                try:
                    with Client(self.servers[self.at % 2].resp_port) as client:
                        while self.waiting:
                            self.look(client)
                except (OSError, EOFError, AssertionError) as error:
                    if isinstance(error, AssertionError) and "lost" in str(error):
                        raise
        except BaseException as error:  # of a thread: it has to be told by the test
            self.error = error

    def ask(self, client, commands):
        for command in commands:
            client.send(*command)
        return [client.read() for _ in commands]

    def look(self, client):
        some = self.waiting[:BATCH]
        replies = self.ask(client, [("ROOM.POSITION", "rush", name(n), "TOKEN", self.tokens[n])
                                    for n in some])
        inside = []
        for n, reply in zip(some, replies):
            if isinstance(reply, Exception):
                raise OSError(reply)  # not now
            if reply[0] == 0 and reply[1] == "NOT_IN_QUEUE":
                assert n in self.unheard, f"{name(n)} is lost"
                self.leave(n)
            elif reply[0] == 0:
                inside.append(n)
        self.unheard.update(inside)
        for n, reply in zip(inside, self.ask(client, [("ROOM.DONE", "rush", name(n))
                                                      for n in inside])):
            if isinstance(reply, Exception):
                raise OSError(reply)
            assert reply == 1, f"{name(n)} is lost: admitted, and had no pass"
            self.leave(n)

    def leave(self, n):
        self.waiting.remove(n)
        self.unheard.discard(n)
        self.done += 1


class Watcher:
    """Looks at the room again and again, and remembers what may not be."""

    def __init__(self, redis):
        self.wrong, self.most, self.looks, self.over = [], 0, 0, threading.Event()
        self.script = redis.client().register_script(MOMENT)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.wait(0.002):
            inside, waiting, first, last = self.script(
                keys=["queue:passes:{rush}", "queue:rush"])
            self.looks += 1
            self.most = max(self.most, inside)
            in_order = waiting == 0 or (
                first.decode() == name(USERS - waiting) and last.decode() == name(USERS - 1))
            if inside > INSIDE or not in_order:
                self.wrong.append((inside, waiting, first, last))

    def end(self):
        self.over.set()
        self.thread.join(PATIENCE_S)


def admitted(servers, count):
    """Waits until so many are admitted; asks whichever server runs."""
    def enough():
        running = next(server for server in servers if server.process is not None)
        return stats(running, "rush")["admitted"] >= count
    wait_until(enough, f"{count} admitted", PATIENCE_S)


def test_a_rush_through_two_servers_that_are_killed(redis, servers):
    one, other = servers
    one.call("ROOM.OPEN", "rush", "RATE", RATE, "INSIDE", INSIDE, "PAUSED")
    tokens = join_all(one, "rush", USERS)
    line = redis.client().zrange("queue:rush", 0, -1)
    assert [user.decode() for user in line] == [name(n) for n in range(USERS)]

    watcher, visitors, begun = Watcher(redis), [], clock_s(redis)
    other.call("ROOM.OPEN", "rush", "RATE", RATE, "INSIDE", INSIDE)
    try:
        wait_until(lambda: watcher.most >= INSIDE, "the cap is reached", PATIENCE_S)
        visitors += [Visitors(servers, tokens, first) for first in (0, 1)]
        for at, act in ((2000, one.kill), (4000, one.start), (6000, other.kill), (8000, other.start)):
            admitted(servers, at)
            act()
        for visitor in visitors:
            visitor.thread.join(PATIENCE_S)
        elapsed = clock_s(redis) - begun
    finally:
        watcher.end()
        for visitor in visitors:
            visitor.waiting.clear()  # a failure ends them too
            visitor.thread.join(PATIENCE_S)
    assert [visitor.error for visitor in visitors] == [None, None]
    assert sum(visitor.done for visitor in visitors) == USERS
    assert watcher.wrong == [] and watcher.looks > 100
    assert stats(one, "rush")["admitted"] == USERS, "nobody was admitted twice"
    assert stats(one, "rush")["waiting"] == stats(one, "rush")["inside"] == 0
    assert USERS <= RATE * (elapsed + 1), "no faster than the rate, by both together"


def test_a_random_order_is_drawn_of_any_number(redis, servers):
    """1,000 users who came before the start are on average 333 places from where they came. That it
    is less than 200, or more than 450, by chance is beyond all odds."""
    early, late = 1000, 20
    start = int(clock_s(redis) * 1000) + 10**9
    servers[0].call("ROOM.OPEN", "lot", "INSIDE", 1, "START", start, "ORDER", "random")
    with Client(servers[1].resp_port) as client:
        for n in range(early):
            assert client.call("ROOM.JOIN", "lot", name(n))[1] == 0
        assert client.call("ROOM.STATS", "lot")[3] == 0, "nobody inside"
        client.call("ROOM.OPEN", "lot", "ORDER", "random", "PAUSED")
        for n in range(early, early + late):
            assert client.call("ROOM.JOIN", "lot", name(n))[1] == n + 1, "behind them, as they come"
    line = [int(user[1:]) for user in redis.client().zrange("queue:lot", 0, -1)]
    assert sorted(line[:early]) == list(range(early))
    assert line[early:] == list(range(early, early + late))
    moved = sum(abs(n - place) for place, n in enumerate(line[:early])) / early
    assert 200 < moved < 450


def test_nobody_is_admitted_before_the_start(redis, servers):
    start = int(clock_s(redis) * 1000) + 1500
    servers[0].call("ROOM.OPEN", "later", "INSIDE", 50, "START", start)
    for n in range(20):
        servers[n % 2].call("ROOM.JOIN", "later", name(n))

    def all_inside():
        before = clock_s(redis) * 1000 < start
        inside = stats(servers[0], "later")["inside"]
        after = clock_s(redis) * 1000 >= start
        assert not before or after or inside == 0
        return inside == 20
    wait_until(all_inside, "all inside", PATIENCE_S)

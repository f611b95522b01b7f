# SPDX-License-Identifier: Apache-2.0
"""Another program works on the same semaphores by the well-known keys: one line, one limit."""

import threading

import pytest

from other_client import OtherClient
from server import Server
from servers import RedisServer, wait_until


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def server(redis):
    with Server("--engine", redis.url, memory=True) as server:
        yield server


@pytest.fixture
def name(request):
    return request.node.name


@pytest.fixture
def other(redis, name):
    """other(id, …): a client of the other program."""
    return lambda identity, limit=1, **more: OtherClient(
        redis.client(), name, identity, limit, **more)


class Ours:
    """An ACQUIRE that waits on a connection of its own."""

    def __init__(self, server, name, identity, limit=1, wait_ms=30_000, *options):
        self.server, self.name, self.id = server, name, identity
        self.connection = server.connect()
        self.connection.send("SEM.ACQUIRE", name, identity, limit, "WAIT", wait_ms, *options)
        wait_until(lambda: server.call("SEM.PING", name, identity, 180, 86400) != [0, 0],
                   f"{identity} is in")

    def answer(self):
        with self.connection:
            return self.connection.read()

    def release(self):
        return self.server.call("SEM.RELEASE", self.name, self.id)


def test_one_line_for_both_in_the_order_of_arrival(server, name, other):
    first = Ours(server, name, "first")
    theirs_1 = other("theirs-1")
    theirs_1.queue()
    ours_1 = Ours(server, name, "ours-1")
    theirs_2 = other("theirs-2")
    theirs_2.queue()
    ours_2 = Ours(server, name, "ours-2")
    assert first.answer()[0] == 1
    assert server.call("SEM.STATS", name) == ["in_use", 1, "max", 1, "waiting", 4]

    first.release()
    assert theirs_1.told(10) and theirs_1.confirm()
    theirs_1.release()
    assert ours_1.answer()[:2] == [1, 1]
    ours_1.release()
    assert theirs_2.told(10) and theirs_2.confirm()
    theirs_2.release()
    assert ours_2.answer()[:2] == [1, 1]
    ours_2.release()
    assert server.call("SEM.STATS", name) == ["in_use", 0, "max", 0, "waiting", 0]


def test_a_release_of_ours_wakes_theirs_at_once(server, name, other):
    assert server.call("SEM.ACQUIRE", name, "ours", 1)[0] == 1
    theirs = other("theirs")
    theirs.queue()
    assert theirs.wake() == 0
    assert server.call("SEM.RELEASE", name, "ours") == 1
    assert theirs.redis.llen(theirs.lists + "theirs") == 1  # it is there already
    assert theirs.told(10) and theirs.confirm()


def test_theirs_wakes_ours_and_the_slot_is_as_good_as_any(server, name, other):
    theirs = other("theirs")
    assert theirs.acquire()
    ours = Ours(server, name, "ours", 1, 30_000, "HEARTBEAT", "60s")
    theirs.release()
    theirs.wake()
    lead, slots, fence = ours.answer()
    assert (lead, slots) == (1, 1) and fence > 0
    assert server.call("SEM.ACQUIRE", name, "ours", 1, "HEARTBEAT", "60s") == [1, 1, fence]
    assert server.call("SEM.PING", name, "ours", 60, 86400) == [0, 1]
    assert ours.release() == 1


def test_a_slot_that_theirs_just_gives_up_comes_to_ours(server, name, other):
    """Their release hands nothing on: whoever waits has to look."""
    theirs = other("theirs")
    assert theirs.acquire()
    ours = Ours(server, name, "ours")
    theirs.release()
    assert ours.answer()[:2] == [1, 1]


def test_who_does_not_ping_is_dead_for_both(server, name, other):
    theirs = other("theirs", heartbeat_s=0.3)
    assert theirs.acquire()
    ours = Ours(server, name, "ours", 1, 30_000, "HEARTBEAT", "300ms")
    assert ours.answer()[:2] == [1, 1]
    assert theirs.ping() == [0, 0]
    again = other("again")
    assert again.acquire()  # ours did not ping either
    assert server.call("SEM.PING", name, "ours", 60, 86400) == [0, 0]
    again.release()


def test_both_count_the_same_slots(server, name, other):
    theirs = other("theirs", limit=3)
    assert theirs.acquire()
    assert server.call("SEM.ACQUIRE", name, "ours", 3)[:2] == [1, 2]
    assert server.call("SEM.CARD", name) == theirs.card() == 2
    assert server.call("SEM.STATS", name) == ["in_use", 2, "max", 3, "waiting", 0]
    assert theirs.ping() == [0, 1]
    assert server.call("SEM.RELEASE", name, "theirs") == 1
    assert theirs.ping() == [0, 0]


def test_theirs_counts_all_slots_of_ours(server, name, other):
    assert server.call("SEM.ACQUIRE", name, "ours", 4, "SLOTS", 3)[:2] == [1, 3]
    first, second = other("theirs-1", limit=4), other("theirs-2", limit=4)
    assert first.acquire() and first.card() == 4
    second.queue()
    assert second.wake() == 0
    assert server.call("SEM.PING", name, "ours", 60, 86400) == [0, 1]
    assert server.call("SEM.RELEASE", name, "ours") == 1
    assert second.told(10) and second.confirm() and second.card() == 2


def test_who_dies_with_several_slots_is_dead_for_both(server, name, other):
    assert server.call("SEM.ACQUIRE", name, "ours", 4, "SLOTS", 3, "HEARTBEAT", "300ms")[0] == 1
    theirs = other("theirs", limit=4)
    wait_until(lambda: theirs.card() == 0, "all its slots are given back")
    assert server.call("SEM.CARD", name) == 0


def test_one_slot_given_by_theirs_does_not_make_ours_a_holder_of_several(server, name, other):
    """Their wake hands a single slot to the first in line, whatever it wants."""
    holder = other("theirs", limit=3)
    assert holder.acquire()
    assert server.call("SEM.ACQUIRE", name, "first", 3)[:2] == [1, 2]
    ours = Ours(server, name, "ours", 3, 30_000, "SLOTS", 3)
    assert holder.wake() == 1 and holder.card() == 3
    wait_until(lambda: server.call("SEM.STATS", name) == ["in_use", 2, "max", 3, "waiting", 1],
               "it is in line again")
    holder.release()
    assert server.call("SEM.RELEASE", name, "first") == 1
    assert ours.answer()[:2] == [1, 3]
    assert holder.card() == 3


def test_the_limit_holds_while_both_take_and_give(redis, server, name):
    """Nobody is inside who should not be, and everybody gets in."""
    limit, rounds, clients = 3, 5, 4
    lock, inside, most, failures = threading.Lock(), set(), [0], []

    def stay(identity):
        with lock:
            inside.add(identity)
            most[0] = max(most[0], len(inside))
        for _ in range(5):
            redis.client().ping()
        with lock:
            inside.discard(identity)

    def theirs(number):
        for turn in range(rounds):
            client = OtherClient(redis.client(db=0), name, f"theirs-{number}-{turn}", limit)
            if not client.acquire():
                failures.append(client.id)
                continue
            stay(client.id)
            client.release()

    def ours(number):
        with server.connect() as connection:
            for turn in range(rounds):
                identity = f"ours-{number}-{turn}"
                reply = connection.call("SEM.ACQUIRE", name, identity, limit, "WAIT", 30_000)
                if reply[0] != 1:
                    failures.append((identity, reply))
                    continue
                stay(identity)
                connection.call("SEM.RELEASE", name, identity)

    threads = [threading.Thread(target=run, args=(n,)) for run in (theirs, ours)
               for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert 1 < most[0] <= limit
    assert server.call("SEM.CARD", name) == 0

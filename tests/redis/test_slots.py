# SPDX-License-Identifier: Apache-2.0
"""Many clients that want different numbers of slots of one semaphore, through a server, on both
engines: everybody gets in, in the order of arrival, and never more than the limit."""

import threading

import pytest

from raw_client import Client, fields
from server import Server
from servers import RedisServer, wait_until

LIMIT = 5
LONG_MS = 120_000


@pytest.fixture(scope="module", params=["embedded", "redis"])
def server(request):
    if request.param == "embedded":
        with Server() as one:
            yield one
        return
    with RedisServer() as redis, Server("--engine", redis.url, memory=True) as one:
        yield one


class Line:
    """A semaphore and the connections that wait for its slots."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        self.client = Client(server.resp_port)

    def stats(self):
        return fields(self.client.call("SEM.STATS", self.name))

    def join(self, who, slots, limit=LIMIT):
        """A connection whose ACQUIRE waits, once it does."""
        before = self.stats()["waiting"]
        waiter = Client(self.server.resp_port)
        waiter.send("SEM.ACQUIRE", self.name, who, limit, "WAIT", LONG_MS, "SLOTS", slots)
        wait_until(lambda: self.stats()["waiting"] == before + 1, f"{who} is in line")
        return waiter

    def release(self, who):
        assert self.client.call("SEM.RELEASE", self.name, who) == 1


@pytest.fixture
def line(server, request):
    return Line(server, request.node.name)


def test_mixed_sizes_are_served_in_the_order_of_arrival(line):
    """One waiter after the other gets its slots: those behind it only with it or later."""
    for i in range(LIMIT):
        assert line.client.call("SEM.ACQUIRE", line.name, f"first-{i}", LIMIT)[0] == 1
    sizes = [5, 1, 2, 3, 1, 4, 1, 1, 5, 2]
    waiters = [line.join(f"w-{i}", slots) for i, slots in enumerate(sizes)]
    held = [f"first-{i}" for i in range(LIMIT)]
    weight = {who: 1 for who in held}
    fences, next_up = [], 0
    while next_up < len(sizes):
        line.release(held.pop(0))
        free = LIMIT - sum(weight[who] for who in held)
        while next_up < len(sizes) and sizes[next_up] <= free:
            lead, in_use, fence = waiters[next_up].read()
            assert (lead, in_use) == (1, LIMIT - free + sizes[next_up])
            fences.append(fence)
            held.append(f"w-{next_up}")
            weight[f"w-{next_up}"] = sizes[next_up]
            free -= sizes[next_up]
            next_up += 1
        expected = {"in_use": LIMIT - free, "max": LIMIT, "waiting": len(sizes) - next_up}
        assert line.stats() == expected
    assert fences == sorted(fences)


def test_a_large_request_is_neither_starved_nor_overtaken(line):
    """Clients for one slot come and go all the time; in the middle one comes for all slots."""
    done, failures, lock, order = threading.Event(), [], threading.Lock(), []

    def small(number):
        with Client(line.server.resp_port) as client:
            turn = 0
            while not done.is_set():
                who, turn = f"small-{number}-{turn}", turn + 1
                reply = client.call("SEM.ACQUIRE", line.name, who, LIMIT, "WAIT", LONG_MS)
                if reply[0] != 1 or not 1 <= reply[1] <= LIMIT:
                    failures.append(reply)
                    return
                with lock:
                    order.append((reply[2], who))
                client.call("SEM.RELEASE", line.name, who)

    threads = [threading.Thread(target=small, args=(n,)) for n in range(3 * LIMIT)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(5):
            with Client(line.server.resp_port) as large:
                who = f"large-{turn}"
                reply = large.call("SEM.ACQUIRE", line.name, who, LIMIT, "WAIT", LONG_MS,
                                   "SLOTS", LIMIT)
                assert reply[:2] == [1, LIMIT], reply
                assert line.client.call("SEM.CARD", line.name) == LIMIT
                with lock:
                    assert all(fence < reply[2] for fence, _ in order)  # alone, and the newest
                assert large.call("SEM.RELEASE", line.name, who) == 1
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert line.client.call("SEM.CARD", line.name) == 0


def test_many_clients_of_mixed_sizes_never_exceed_the_limit(line):
    lock, inside, most, failures = threading.Lock(), {}, [0], []

    def client_of(number):
        with Client(line.server.resp_port) as client:
            for turn in range(6):
                who, slots = f"c-{number}-{turn}", (number + turn) % LIMIT + 1
                reply = client.call("SEM.ACQUIRE", line.name, who, LIMIT, "WAIT", LONG_MS, "SLOTS",
                                    slots)
                if reply[0] != 1:
                    failures.append((who, reply))
                    return
                with lock:
                    inside[who] = slots
                    most[0] = max(most[0], sum(inside.values()))
                client.call("SEM.PING", line.name, who, 60, 600)
                with lock:
                    del inside[who]
                client.call("SEM.RELEASE", line.name, who)

    threads = [threading.Thread(target=client_of, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert 1 < most[0] <= LIMIT
    assert line.client.call("SEM.CARD", line.name) == 0


def test_a_waiter_for_more_than_a_lowered_limit_is_told(line):
    assert line.client.call("SEM.ACQUIRE", line.name, "holder", LIMIT, "SLOTS", LIMIT)[0] == 1
    large = line.join("large", LIMIT)
    small = line.join("small", 1, limit=2)
    line.release("holder")
    assert large.read() == [0, "INVALID_QUANTITY",
                            f"SLOTS {LIMIT} is more than the limit, which is 2 now"]
    assert small.read()[:2] == [1, 1]
    line.release("small")
    assert line.stats() == {"in_use": 0, "max": 0, "waiting": 0}


def test_who_goes_away_gives_back_all_slots_or_its_place(line):
    assert line.client.call("SEM.ACQUIRE", line.name, "holder", LIMIT, "SLOTS", 3)[0] == 1
    large = line.join("large", 4)
    small = line.join("small", 2)
    large.close()
    assert small.read()[:2] == [1, LIMIT]
    assert line.stats()["waiting"] == 0

# SPDX-License-Identifier: Apache-2.0
"""The semaphore library of the layout `adv-sem`, with our files in place of its scripts: its keys, its
arguments, its own clock; alone, and beside a server of ours in the same line."""

import asyncio
import inspect
import time

import pytest
import redis.asyncio

from caller_programs import LUA
from caller_semaphore import Semaphore
from server import Server
from servers import PATIENCE_S, wait_until
from test_audit import audit

DAY_S = 86_400


class Where:
    """A layout of the names on a Redis or a cluster."""

    def __init__(self, kind, redis):
        self.kind, self.redis, self.tagged = kind, redis, kind != "plain"

    def node(self, name):
        return self.redis.master_of(f"{{{name}}}") if self.kind == "cluster" else self.redis


@pytest.fixture(scope="module", params=["plain", "tagged", "cluster"])
def where(request):
    name = "cluster" if request.param == "cluster" else "standalone"
    return Where(request.param, request.getfixturevalue(name))


@pytest.fixture(scope="module")
def beside(where):
    """A server of ours in the same line."""
    with Server("--engine", where.redis.url, memory=True) as server:
        yield server


# Where its names are the library's: plain ones on a Redis alone, tagged ones on a cluster.
shared = pytest.mark.parametrize("where", ["plain", "cluster"], indirect=True)


@pytest.fixture
def play(where, request):
    """play(scenario): runs it with a function that makes clients of one semaphore."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)

    def run(scenario):
        async def main():
            client = redis.asyncio.Redis(port=where.node(name).port)

            def client_of(value, **more):
                return Semaphore(client, LUA, name, value, tagged=where.tagged, **more)

            try:
                await asyncio.wait_for(scenario(client_of), 3 * PATIENCE_S)
            finally:
                await client.close()

        assert inspect.iscoroutinefunction(scenario)
        asyncio.run(main())

    run.name, run.store = name, where.node(name).client()
    return run


async def wait_for_card(client, expected):
    end = time.monotonic() + PATIENCE_S
    while await client.card() != expected:
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def test_slots_are_taken_counted_and_given_back(play):
    async def scenario(client_of):
        one = client_of(2)
        first, second = await one.acquire(), await one.acquire()
        assert await one.card() == 2 and await one.locked()
        assert (await one.stats())[one.keys.tag] == (2, 2)
        assert await one.ping(first) == (0, 1)
        assert await one.release(first) == 1 and await one.release(first) == 0
        assert await one.ping(first) == (0, 0)
        assert await one.card() == 1 and not await one.locked()
        assert await one.release(second) == 1
        assert await one.card() == 0

    play(scenario)


def test_the_limit_holds_and_everybody_gets_in(play):
    async def scenario(client_of):
        inside, most = set(), []

        async def user():
            one = client_of(3)
            held = await one.acquire()
            inside.add(held)
            most.append(len(inside))
            await one.card()
            inside.discard(held)
            assert await one.release(held) == 1

        await asyncio.gather(*[user() for _ in range(15)])
        assert len(most) == 15 and max(most) <= 3

    play(scenario)


@pytest.mark.parametrize("clock_off_s", [0, -DAY_S, DAY_S])
def test_the_line_is_in_the_order_of_arrival_whatever_clocks_say(play, clock_off_s):
    async def scenario(client_of):
        one, other = client_of(1), client_of(1, clock=lambda: time.time() + clock_off_s)
        holder = await one.acquire()
        for client, identity in ((one, "first"), (other, "second"), (one, "third")):
            await client.queue(identity)
        assert await other.ping("second") == (1, 0)
        assert await other.card() == 1, "nobody is taken for dead"
        for identity, client, before in (("first", one, holder), ("second", other, "first"),
                                         ("third", one, "second")):
            await one.give(before)
            await client.wake_up_nexts()
            assert await client.notified(identity), identity
            changed, card = await client.take(identity)
            assert (changed, card) == (1, 1)
        await one.give("third")
        assert await other.card() == 0

    play(scenario)


def test_a_release_hands_the_slot_on(play):
    """The waiter is notified in the same step; the usual script leaves that to the next who looks."""
    async def scenario(client_of):
        one = client_of(1)
        holder = await one.acquire()
        await one.queue("next")
        assert await one.wake_up_nexts() == 0
        await one.release(holder)
        assert await one.notified("next")
        assert await one.take("next") == (1, 1)

    play(scenario)


def test_who_does_not_ping_is_dead_and_its_grant_is_stale(play):
    async def scenario(client_of):
        hasty, other = client_of(1, heartbeat_s=1), client_of(1)
        await hasty.queue("dead")
        assert await hasty.wake_up_nexts() == 1 and await hasty.notified("dead")
        assert (await hasty.take("dead"))[0] == 1
        held = await other.acquire()
        assert await hasty.ping("dead") == (0, 0)
        assert (await hasty.take("dead"))[0] == 0
        assert await other.card() == 1
        await other.release(held)

    play(scenario)


def test_heartbeats_keep_a_holder_and_a_wait_in_vain_leaves_no_trace(play):
    async def scenario(client_of):
        one = client_of(1, heartbeat_s=1)
        held = await one.acquire()
        with pytest.raises(TimeoutError):
            await client_of(1).acquire(timeout_s=2)
        assert await one.card() == 1 and await one.ping(held) == (0, 1)
        assert await one.client.zcard(one.keys.waiting) == 0
        await one.release(held)

    play(scenario)


def test_one_short_ttl_takes_no_slot_from_others(play):
    """The usual script lets all slots expire with the TTL of whoever came last."""
    async def scenario(client_of):
        long, short = client_of(2), client_of(2, ttl_s=1)
        held = await long.acquire()
        await short.acquire(identity="short")
        for key in (long.keys.main, long.keys.ttl):
            assert await long.client.pttl(key) > 60_000 or await long.client.pttl(key) == -1, key
        await wait_for_card(long, 1)  # the short one is over
        assert await long.ping(held) == (0, 1)
        await short.release("short")

    play(scenario)


# ---- beside a server of ours

@shared
def test_both_stand_in_one_line(play, beside):
    name = play.name

    async def scenario(client_of):
        one = client_of(1)
        holder = await one.acquire()
        await one.queue("theirs-1")
        connection = beside.connect()
        connection.send("SEM.ACQUIRE", name, "ours", 1, "WAIT", 30_000)
        await asyncio.to_thread(
            wait_until, lambda: beside.call("SEM.PING", name, "ours", 180, DAY_S) == [1, 0], "in line")
        await one.queue("theirs-2")
        assert beside.call("SEM.STATS", name) == ["in_use", 1, "max", 1, "waiting", 3]

        await one.release(holder)
        assert await one.notified("theirs-1") and (await one.take("theirs-1"))[0] == 1
        await one.give("theirs-1")
        with connection:
            lead, in_use, fence = await asyncio.to_thread(connection.read)
        assert (lead, in_use) == (1, 1) and fence > 0
        assert await one.card() == 1
        assert beside.call("SEM.RELEASE", name, "ours") == 1
        assert await one.notified("theirs-2") and (await one.take("theirs-2"))[0] == 1
        await one.give("theirs-2")
        assert beside.call("SEM.CARD", name) == 0
        assert beside.call("SEM.ACQUIRE", name, "later", 1)[2] > fence

    play(scenario)


@shared
def test_the_limit_holds_across_both(where, play, beside):
    name, inside, most = play.name, set(), []

    async def scenario(client_of):
        async def theirs():
            one = client_of(3)
            for _ in range(3):
                await stay(await one.acquire(), one.release)

        async def ours(number):
            with beside.connect() as connection:
                for turn in range(3):
                    identity = f"ours-{number}-{turn}"
                    words = ("SEM.ACQUIRE", name, identity, 3, "WAIT", 60_000)
                    assert (await asyncio.to_thread(connection.call, *words))[0] == 1
                    await stay(identity, lambda held: asyncio.to_thread(
                        connection.call, "SEM.RELEASE", name, held))

        async def stay(identity, leave):
            inside.add(identity)
            most.append(len(inside))
            await asyncio.sleep(0)
            inside.discard(identity)
            assert await leave(identity) == 1

        await asyncio.gather(*[theirs() for _ in range(4)], *[ours(n) for n in range(4)])
        assert len(most) == 24 and max(most) <= 3
        assert await client_of(3).card() == 0

    play(scenario)
    assert audit(where.redis.url) == []

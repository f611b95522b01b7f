# SPDX-License-Identifier: Apache-2.0
"""A cluster whose slots move back and forth, by hand and by redis-cli, while clients of every family
are at work on them, through two servers and by calling the scripts. Nothing is handed out twice,
nobody is lost, every acknowledged hold is accounted for, and the totals agree with their records.

HOLDFAST_RESHARD_ROUNDS=200 makes it longer.
"""

import contextlib
import os

import pytest

from cluster_caller import ClusterCaller, Table
from faults import audit, serve, wait_replicated
from redis_cluster import HASTY_MS, RedisCluster
from reshard_lines import Idempotency, Lock, Room, Semaphore
from reshard_load import Caller, Load, Quota, Seats, Stock
from servers import wait_until
from slot_moves import Move, names_in, owned, refusals, reshard, slot_of, wait_agreed

ROUNDS = int(os.environ.get("HOLDFAST_RESHARD_ROUNDS", 10))
LOW = range(24)  # redis-cli moves the lowest slots of a master: all scopes are in these
SHARDS = 4
WAIT_MS, SOON_MS = 8000, 400  # how long clients stand in line


@pytest.fixture(scope="module")
def cluster():
    with RedisCluster(replicas=0, node_timeout_ms=HASTY_MS) as nodes:
        yield nodes


def names(prefix, count, suffix=""):
    return names_in(LOW, prefix, count, suffix)


def families(wait_ms, keys):
    [event], [tenant], [room] = (names(prefix, 1) for prefix in ("event", "tenant", "room"))
    [semaphore], [lock] = names("sem", 1), names("lock", 1)
    single, split = names("single", 1, "_main")[0], names("split", 1, "_main")[0]
    return [Seats(event, 24), Quota(tenant, 24), Stock(single, 24), Stock(split, 48, SHARDS),
            Semaphore(semaphore, 3, wait_ms), Lock(lock), Room(room),
            Idempotency(names("key", keys))]


def slots_of(work):
    """Those of all scopes: the lowest, and those of the shards."""
    split = next(family.scope for family in work if getattr(family, "shards", 1) > 1)
    return sorted({*LOW, *(slot_of(f"{split}_{shard}") for shard in range(SHARDS))})


class Mover:
    """Moves the slots of all scopes between two masters."""

    def __init__(self, cluster, slots):
        self.cluster, self.slots = cluster, slots

    def round(self, number, load):
        ends = [self.cluster.master_of_slot(LOW[0]), None]
        ends[1] = next(node for node in self.cluster.masters if node != ends[0])
        if number % 4 in (0, 3):
            self.by_hand(ends[1], load)
        else:
            reshard(self.cluster, *ends, len(LOW))

    def by_hand(self, target, load):
        """Half of the keys move, then the callers notice, then the rest moves."""
        there = owned(target)
        moves = [Move(self.cluster, slot, target) for slot in self.slots if slot not in there]
        for move in moves:
            move.every_other()
        seen = refusals(self.cluster)
        wait_until(lambda: refusals(self.cluster) > seen + len(load.threads), "they notice")
        for move in moves:
            move.finish()
        wait_agreed(self.cluster)


class Site:
    """A cluster, two servers on it of which one gives up soon, and programs that call scripts."""

    def __init__(self, cluster, one, other):
        self.cluster, self.servers = cluster, (one, other)
        table = Table()

        def scripts():
            return ClusterCaller(cluster, table)
        self.makers = [one.connect, other.connect, scripts]

    def caller(self, load):
        return Caller(load, self.servers[0].connect())

    def set_up(self, work):
        load = Load(self.makers, work)
        for family in work:
            family.set_up(self.caller(load))
        return load

    def account(self, load, work):
        for family in work:
            family.account(self.caller(load))
        assert audit(self.cluster.url) == []


@contextlib.contextmanager
def servers_on(cluster, worker):
    """One whose commands wait for a long time, and one that refuses them soon."""
    with serve(cluster.url, timeout_ms=20_000, more=f"&worker={worker}") as patient:
        with serve(cluster.url, timeout_ms=300, more=f"&worker={worker}") as hasty:
            yield patient, hasty


@pytest.mark.parametrize("worker", ["yes", "no"])
def test_slots_move_back_and_forth_under_load(cluster, worker, record_property):
    cluster.flush()
    work = families(WAIT_MS, 40 * ROUNDS)
    with servers_on(cluster, worker) as (one, other):
        site = Site(cluster, one, other)
        with site.set_up(work) as load:
            mover = Mover(cluster, slots_of(work))
            for number in range(ROUNDS):
                load.wait_more()
                mover.round(number, load)
            load.wait_more()
        record_property("turns", sum(load.turns.values()))
        record_property("tries", dict(load.tries))
        site.account(load, work)


@pytest.fixture
def failing():
    with RedisCluster(node_timeout_ms=HASTY_MS) as nodes:
        yield nodes


def kill_owner(cluster, load):
    """The master that has the scopes dies, and its replica takes over. All that was answered is at
    the replica by then, so that Redis itself loses nothing."""
    load.pause()
    master = cluster.master_of_slot(LOW[0])
    wait_replicated(master, key=f"{{{names('mark', 1)[0]}}}")
    master.kill()
    load.resume()
    cluster.wait_ok()
    load.wait_more()
    master.start()
    cluster.wait_ok()
    wait_agreed(cluster)


def test_masters_die_between_the_moves(failing, record_property):
    work = families(SOON_MS, 40 * ROUNDS)
    with servers_on(failing, "yes") as (one, other):
        site = Site(failing, one, other)
        with site.set_up(work) as load:
            mover = Mover(failing, slots_of(work))
            for number in range(ROUNDS):
                load.wait_more()
                mover.round(number, load)
                if number % 4 == 2:
                    kill_owner(failing, load)
            load.wait_more()
        record_property("turns", sum(load.turns.values()))
        record_property("tries", dict(load.tries))
        site.account(load, work)

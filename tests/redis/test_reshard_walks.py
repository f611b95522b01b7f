# SPDX-License-Identifier: Apache-2.0
"""What goes on by itself, or walks over all keys, while slots move: clients that stand in line, the
release worker, lists, the audit."""

import threading

import pytest

from faults import audit, told_again
from raw_client import fields
from redis_cluster import HASTY_MS, RedisCluster
from server import Error, Server
from servers import wait_until
from slot_moves import Move, names_in, owned, refusals, reshard, settle, slot_of, wait_agreed

TIMEOUT_MS = 1000
UNREAD = ("cannot be read: one of its keys is not of the kind it should be, or its slot is being "
          "moved")


@pytest.fixture(scope="module")
def cluster():
    with RedisCluster(replicas=0, node_timeout_ms=HASTY_MS) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def server(cluster):
    with Server("--engine", f"{cluster.url}?timeout={TIMEOUT_MS}", "--admission-every", "0",
                memory=True) as one:
        yield one


@pytest.fixture(autouse=True)
def still(cluster):
    cluster.flush()
    yield
    settle(cluster)


def half_moved(cluster, tag):
    move = Move(cluster, slot_of(tag))
    move.every_other()
    return move


def wait_refused(cluster, count):
    """Until so many more calls were refused."""
    seen = refusals(cluster)
    wait_until(lambda: refusals(cluster) >= seen + count, f"{count} calls more are refused")


def test_who_stands_in_line_stays_there(cluster, server):
    """Its wait is longer than a command may take, and so is the move."""
    assert server.call("SEM.ACQUIRE", "gpu", "first", 1)[0] == 1
    with server.connect() as one, server.connect() as other:
        for place, (waiter, who) in enumerate([(one, "second"), (other, "third")], 1):
            waiter.send("SEM.ACQUIRE", "gpu", who, 1, "WAIT", 60_000)
            wait_until(lambda: fields(server.call("SEM.STATS", "gpu"))["waiting"] == place, who)
        move = half_moved(cluster, "gpu")
        refused = told_again(server.call("SEM.RELEASE", "gpu", "first"),
                             lambda: server.call("SEM.RELEASE", "gpu", "first"))
        assert isinstance(refused, Error) and refused.code == "BUSY"
        wait_refused(cluster, 20)
        move.finish()
        assert server.call("SEM.RELEASE", "gpu", "first") == 1
        assert one.read()[:2] == [1, 1]
        assert server.call("SEM.RELEASE", "gpu", "second") == 1
        assert other.read()[:2] == [1, 1]


def test_the_worker_gives_back_what_fell_due_during_the_move(cluster, server):
    """Nobody asks for the scopes any more, and the counters are read in Redis itself."""
    assert server.call("SEATS.OPEN", "gala", "floor", 10)[0] == 1
    assert server.call("SEATS.RESERVE", "gala", "floor", "b-1", "ann", 2, 4, "TTL", "2s")[0] == 1
    assert server.call("QUOTA.LIMIT", "acme", 10)[0] == 1
    assert server.call("QUOTA.RESERVE", "acme", 3, "HOLD", "h-1", "TTL", "2s")[0] == 1
    moves = [half_moved(cluster, "gala"), half_moved(cluster, "acme")]

    def states():
        """Without the record of the booking, which Redis deletes at its deadline by itself."""
        return [{place: value for place, value in move.state().items()
                 if not place[1].startswith(b"reservation:")} for move in moves]

    before = states()
    wait_refused(cluster, 8)
    assert states() == before
    for move in moves:
        move.finish()
    wait_agreed(cluster)
    client = cluster.client()
    wait_until(lambda: client.get("zone:availability:{gala}:floor") == b"10", "the seats")
    wait_until(lambda: client.get("quota:tenant:{acme}:used") == b"0", "the quota")


def listed(server, tries=100):
    """The names of all events, page by page; what is BUSY, or late on a busy machine, is asked for
    again, so often at most. Gives the error that was left."""
    found, cursor = [], ""
    while True:
        reply = server.call("LIST", "events", *(("AFTER", cursor) if cursor else ()))
        if isinstance(reply, Error):
            assert reply.code in ("BUSY", "TIMEOUT"), reply  # it only reads
            tries -= 1
            if tries == 0:
                return reply
            continue
        found += reply[1:]
        cursor = reply[0]
        if not cursor:
            return found


def test_a_list_is_busy_while_a_slot_stands_still(cluster, server):
    for event in ("gala", "opera", "match"):
        assert server.call("SEATS.OPEN", event, "floor", 10)[0] == 1
    move = half_moved(cluster, "gala")
    before = move.state()
    assert isinstance(listed(server, tries=1), Error)
    assert move.state() == before
    move.finish()
    wait_agreed(cluster)
    assert sorted(listed(server)) == ["gala", "match", "opera"]


def fill(server, scope):
    """Something of every family, and open holds of each."""
    for words in (("SEATS.OPEN", scope, "floor", 10),
                  ("SEATS.RESERVE", scope, "floor", "b-1", "ann", 2, 4),
                  ("QUOTA.LIMIT", scope, 10), ("QUOTA.RESERVE", scope, 3, "HOLD", "h-1"),
                  ("SEM.ACQUIRE", scope, "c-1", 2), ("ROOM.JOIN", scope, "ann"),
                  ("ROOM.JOIN", scope, "bob"), ("ROOM.ADMIT", scope, 1)):
        reply = server.call(*words)
        assert reply[0] in (1, "ann"), (words, reply)


def fill_product(server, product):
    assert server.call("STOCK.LOAD", product, 10)[0] == 1
    assert server.call("STOCK.TAKE", product, "o-1", "ann", 2)[0] == 1


class BackAndForth:
    """Moves the lowest slots of a master to the next one and back, again and again."""

    def __init__(self, cluster, slots):
        self.cluster, self.slots, self.stopped = cluster, slots, threading.Event()
        self.rounds, self.failure = 0, None
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.stopped.set()
        self.thread.join()
        if kind is None and self.failure:
            raise self.failure

    def goes_on(self, rounds):
        """Has it yet to move so often?"""
        if self.failure:
            raise self.failure
        return self.rounds < rounds

    def _run(self):
        ends = [self.cluster.master_of_slot(self.slots[0])]
        ends.append(next(node for node in self.cluster.masters if node != ends[0]))
        try:
            while not self.stopped.is_set():
                reshard(self.cluster, *ends, len(self.slots))
                ends.reverse()
                self.rounds += 1
        except BaseException as failure:
            self.failure = failure


def test_lists_and_audits_tell_nothing_wrong_while_slots_move(cluster, server):
    """A name may be missed or come twice if its slot moves during the walk, and a scope that cannot
    be read is said to be so; all others are told of as ever."""
    low = sorted(owned(cluster.masters[0]))[:12]
    moving = names_in(low, "moving", 12)
    resting = names_in(owned(cluster.masters[-1]), "resting", 40)
    for scope in moving + resting:
        fill(server, scope)
    for product in names_in(low, "product", 4, "_main"):
        fill_product(server, product)
    with BackAndForth(cluster, low) as mover:
        while mover.goes_on(8):
            names = listed(server)
            assert set(resting) <= set(names) <= set(resting + moving)
            for finding in audit(cluster.url):
                what, _, said = finding.partition(": ")
                assert said == UNREAD and what.split(" ")[1] not in resting, finding
    assert audit(cluster.url) == []
    assert sorted(listed(server)) == sorted(moving + resting)

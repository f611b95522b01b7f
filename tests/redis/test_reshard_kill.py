# SPDX-License-Identifier: Apache-2.0
"""One of the two masters of a slot dies while half of its keys have moved: the slot stays refused
until somebody brings the move to its end, and then nothing is missing."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from faults import audit, is_not_now, serve, wait_replicated
from redis_cluster import HASTY_MS, RedisCluster
from server import Error
from servers import wait_until
from slot_moves import Move, names_in, slot_of, wait_agreed

TIMEOUT_MS = 400
SCOPE = "gala"


@pytest.fixture
def cluster():
    with RedisCluster(node_timeout_ms=HASTY_MS, appendonly="yes", appendfsync="always") as nodes:
        yield nodes


@pytest.fixture
def server(cluster):
    with serve(cluster.url, timeout_ms=TIMEOUT_MS) as one:
        yield one


ASKED = {("SEATS.ZONE", SCOPE, "floor"): ["capacity", 10, "available", 8, "reserved", 2,
                                          "confirmed", 0],
         ("SEATS.USER", SCOPE, "ann"): [2, 0],
         ("QUOTA.GET", SCOPE): [3, 10, 3],
         ("SEM.CARD", SCOPE): 1,
         ("ROOM.POSITION", SCOPE, "bob"): [1, 1]}


def fill(server):
    for words in (("SEATS.OPEN", SCOPE, "floor", 10),
                  ("SEATS.RESERVE", SCOPE, "floor", "b-1", "ann", 2, 4),
                  ("QUOTA.LIMIT", SCOPE, 10), ("QUOTA.RESERVE", SCOPE, 3, "HOLD", "h-1"),
                  ("SEM.ACQUIRE", SCOPE, "c-1", 2), ("ROOM.JOIN", SCOPE, "bob")):
        assert server.call(*words)[0] == 1, words


CHANGES = (("SEATS.RESERVE", SCOPE, "floor", "b-2", "ann", 1, 4), ("QUOTA.COMMIT", SCOPE, "h-1"),
           ("SEM.RELEASE", SCOPE, "c-1"), ("ROOM.ADMIT", SCOPE, 1))


def assert_refused(server):
    """Whatever reads and whatever writes."""
    commands = [*ASKED, *CHANGES]
    with ThreadPoolExecutor(len(commands)) as pool:
        for words, reply in zip(commands, pool.map(lambda words: server.call(*words), commands)):
            assert is_not_now(reply), f"{words}: {reply}"


def assert_all_there(cluster, server):
    for words, expected in ASKED.items():
        wait_until(lambda: not isinstance(server.call(*words), Error), f"{words} is answered")
        assert server.call(*words) == expected, words
    assert audit(cluster.url) == []
    assert server.call("SEATS.CONFIRM", SCOPE, "b-1")[0] == 1


def half_moved(cluster, server):
    fill(server)
    move = Move(cluster, slot_of(SCOPE))
    move.every_other()
    assert_refused(server)
    return move


def replica_of(cluster, master):
    return next(node for node in cluster.replicas
                if node.client().info("replication")["master_port"] == master.port)


def wait_promoted(replica):
    wait_until(lambda: replica.client().info("replication")["role"] == "master", "it takes over")


def replicated(master):
    """All of it is at the replica, by a write to a slot of its own that does not move."""
    client = master.client()
    first = next(row[0] for row in client.execute_command("CLUSTER", "SLOTS")
                 if row[2][1] == master.port)
    wait_replicated(master, key=f"{{{names_in(range(first, first + 50), 'mark', 1)[0]}}}")


def test_the_master_that_gives_it_away_dies_and_comes_back(cluster, server):
    """Its replicas were told not to take over, since those of Redis do not know that it moves."""
    for replica in cluster.replicas:
        replica.client().config_set("cluster-replica-no-failover", "yes")
    move = half_moved(cluster, server)
    before = move.state()
    move.source.kill()
    assert_refused(server)
    move.source.start()
    wait_until(lambda: move.state().keys() == before.keys(), "it has read its file")
    assert_refused(server)
    assert move.state() == before
    move.finish()
    assert_all_there(cluster, server)


def test_the_master_that_receives_it_dies(cluster, server):
    """Its replica takes over, and whoever moves the slot goes on with that."""
    move = half_moved(cluster, server)
    replicated(move.target)
    heir = replica_of(cluster, move.target)
    move.target.kill()
    wait_promoted(heir)
    assert_refused(server)
    move.go_on_with(heir)
    assert_refused(server)
    move.finish()
    wait_agreed(cluster)
    assert_all_there(cluster, server)


def test_the_replica_of_the_one_that_gives_it_away_takes_over(cluster, server):
    """Where replicas are told that a slot moves, as those of Valkey are from 8.0 on."""
    if "valkey_version" not in cluster.masters[0].client().info("server"):
        pytest.skip("the replicas of this server do not know which slots move")
    move = half_moved(cluster, server)
    replicated(move.source)
    heir = replica_of(cluster, move.source)
    move.source.kill()
    wait_promoted(heir)
    assert_refused(server)
    move.go_on_from(heir)
    move.finish()
    assert_all_there(cluster, server)

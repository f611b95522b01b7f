# SPDX-License-Identifier: Apache-2.0
"""wait_replicas and wait_aof: what is acknowledged is where the URL says, and the rest is unknown."""

import pytest
import redis

from harness import Build, run
from redis_cluster import RedisCluster
from sentinels import Sentinels
from server import Error, Server
from servers import RedisServer, wait_until

WAITS = "?worker=no&wait_replicas=1&timeout=4s&wait_timeout=1s"
RESERVE = ("SEATS.RESERVE", "gala", "floor", "b1", "ann", 1, 4)


@pytest.fixture(name="pair")
def a_master_and_its_replica():
    with RedisServer(appendonly="yes") as master:
        with RedisServer(replicaof=f"127.0.0.1 {master.port}", appendonly="yes") as replica:
            client = master.client()
            # A replica that is connected counts for WAIT once it has acknowledged something.
            wait_until(lambda: client.set("begun", 1) and client.wait(1, 1000) == 1, "a replica")
            yield master, replica


def booking(server, name="b1"):
    return server.client().hget(f"reservation:{{gala}}:{name}", "status")


def answer(server, *words):
    reply = server.call(*words)
    return str(reply) if isinstance(reply, Error) else reply


def acknowledged(server, *words):
    """The answer, once it is given: on a busy machine a replica may take longer than it should."""
    return wait_until(lambda: isinstance(reply := answer(server, *words), list) and reply,
                      f"{words} is acknowledged")


def is_unknown(reply):
    return "outcome unknown" in str(reply) and "0 of 1 replicas" in str(reply)


def test_what_is_acknowledged_is_on_the_replica(pair):
    master, replica = pair
    with Server("--engine", master.url + WAITS) as server:
        assert answer(server, "SEATS.OPEN", "gala", "floor", 1000) == [1, 1000, 1000]
        for number in range(50):
            reply = answer(server, "SEATS.RESERVE", "gala", "floor", f"b{number}", "ann", 1, 99)
            assert reply[:1] == [1], reply
            assert booking(replica, f"b{number}") == b"reserved"


def test_without_its_replica_nothing_is_acknowledged(pair):
    master, replica = pair
    with Server("--engine", master.url + WAITS) as server:
        assert answer(server, "SEATS.OPEN", "gala", "floor", 5) == [1, 5, 5]
        replica.pause()
        try:
            assert is_unknown(answer(server, *RESERVE))
            assert booking(master) == b"reserved"  # it happened, and may still be lost
            assert is_unknown(answer(server, *RESERVE))
            # Another connection changes nothing either, and must not take that for safe.
            with Server("--engine", master.url + WAITS) as other:
                assert is_unknown(answer(other, *RESERVE))
                assert "could still be lost" in str(answer(other, "SEATS.GET", "gala", "b1"))
        finally:
            replica.resume()
        wait_until(lambda: answer(server, *RESERVE)[:1] == [1], "the retry that succeeds")
        assert booking(replica) == b"reserved"
        assert server.call("SEATS.ZONE", "gala", "floor")[3] == 4


def test_a_replica_that_takes_over_has_all_that_was_acknowledged(pair):
    master, replica = pair
    acknowledged = []
    with Server("--engine", master.url + WAITS) as server:
        assert answer(server, "SEATS.OPEN", "gala", "floor", 1000) == [1, 1000, 1000]
        for number in range(30):
            if number == 20:
                replica.pause()
            if answer(server, "SEATS.RESERVE", "gala", "floor", f"b{number}", "u", 1, 99)[:1] == [1]:
                acknowledged.append(number)
            if number == 21:
                break
    replica.resume()
    wait_until(lambda: replica.client().ping(), "the replica's answer")
    master.kill()
    replica.client().replicaof("no", "one")
    assert acknowledged == list(range(20))
    with Server("--engine", replica.url + "?worker=no") as server:
        assert [server.call("SEATS.GET", "gala", f"b{number}")[1] for number in acknowledged] == [
            f"b{number}" for number in acknowledged]


# ---- on a cluster


@pytest.fixture(name="nodes")
def a_cluster_with_a_replica_each():
    with RedisCluster(masters=2, replicas=1) as cluster:
        yield cluster


def event_of(cluster, master):
    """An event whose keys are that master's, and which its replica has heard of."""
    event = next(name for name in (f"e{number}" for number in range(1000))
                 if cluster.master_of(f"{{{name}}}") is master)
    client = master.client()
    wait_until(lambda: client.set(f"begun:{{{event}}}", 1) and client.wait(1, 1000) == 1,
               f"a replica of {master}")
    return event


def replica_of(cluster, master):
    return next(node for node in cluster.replicas
                if int(node.client().info("replication")["master_port"]) == master.port)


def status_at(replica, event, name):
    """What a replica in a cluster has of a booking: it tells only who asks for it."""
    client = replica.client(single_connection_client=True)
    client.execute_command("READONLY")
    return client.hget(f"reservation:{{{event}}}:{name}", "status")


def test_on_a_cluster_each_master_waits_for_its_own_replica(nodes):
    one, other = nodes.masters
    calm, cut = event_of(nodes, one), event_of(nodes, other)
    with Server("--engine", nodes.url + WAITS) as server:
        def words(event, name):
            return "SEATS.RESERVE", event, "floor", name, "ann", 1, 99

        for event, master in ((calm, one), (cut, other)):
            assert acknowledged(server, "SEATS.OPEN", event, "floor", 100) == [1, 100, 100]
            for number in range(10):
                assert acknowledged(server, *words(event, f"b{number}"))[0] == 1
                assert status_at(replica_of(nodes, master), event, f"b{number}") == b"reserved"
        replica = replica_of(nodes, other)
        replica.pause()
        try:
            assert is_unknown(answer(server, *words(cut, "late")))
            assert other.client().hget(f"reservation:{{{cut}}}:late", "status") == b"reserved"
            assert is_unknown(answer(server, *words(cut, "late"))), "a retry that changes nothing"
            assert acknowledged(server, *words(calm, "late"))[0] == 1, "the other has its replica"
        finally:
            replica.resume()
        assert acknowledged(server, *words(cut, "late"))[0] == 1
        assert status_at(replica, cut, "late") == b"reserved"


# ---- behind Sentinel


def test_behind_sentinel_a_failover_loses_nothing_that_was_acknowledged():
    """Two replicas have to have it, so that it does not matter which of them takes over; then one
    is left, and that is too few."""
    names = [f"b{number}" for number in range(20)]
    two = WAITS.replace("wait_replicas=1", "wait_replicas=2")
    with Sentinels(replicas=2, down_after_ms=3000) as group:
        client = group.master.client()
        wait_until(lambda: client.set("begun", 1) and client.wait(2, 1000) == 2, "two replicas")
        with Server("--engine", group.url + two) as server:
            assert acknowledged(server, "SEATS.OPEN", "gala", "floor", 100) == [1, 100, 100]
            for name in names:
                words = ("SEATS.RESERVE", "gala", "floor", name, "ann", 1, 99)
                assert acknowledged(server, *words)[0] == 1
            old = group.master
            old.kill()
            new = group.wait_failover(old)
            assert [booking(new, name) for name in names] == [b"reserved"] * len(names)
            late = ("SEATS.RESERVE", "gala", "floor", "late", "ann", 1, 99)
            wait_until(lambda: "1 of 2 replicas" in str(answer(server, *late)),
                       "the answer that one replica is too few")
            assert booking(new, "late") == b"reserved"
        with Server("--engine", group.url + WAITS) as server:  # one is enough for this one
            assert acknowledged(server, *late)[0] == 1
            assert acknowledged(server, "SEATS.ZONE", "gala", "floor")[3] == 100 - len(names) - 1


# ---- the disk


def test_wait_aof_needs_a_server_that_has_it(pair):
    master, _ = pair
    try:
        knows = bool(master.client().execute_command("WAITAOF", 0, 0, 0))
    except redis.ResponseError:
        knows = False
    url = master.url + "?worker=no&wait_aof=1"
    if not knows:
        ended = run(Build().program, "call", "--engine", url, "SEATS.OPEN", "gala", "floor", "5")
        assert ended.code != 0 and "does not know WAITAOF" in ended.err + ended.out
        return
    with Server("--engine", url + "&wait_replicas=1") as server:
        assert answer(server, "SEATS.OPEN", "gala", "floor", 5) == [1, 5, 5]
    master.client().config_set("appendonly", "no")
    ended = run(Build().program, "call", "--engine", url, "SEATS.ZONE", "gala", "floor")
    assert ended.code != 0 and "wait_aof=1 needs appendonly yes" in ended.err + ended.out

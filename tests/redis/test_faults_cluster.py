# SPDX-License-Identifier: Apache-2.0
"""A master of a real cluster that dies, or stands still, while many callers are at work on all of
them. What a dead master takes along is lost in whole commands, as with Sentinel."""

import time

import pytest

from faults import (PATIENT_MS, Crowd, Line, audit, cut_off, is_unknown, let_in, open_zone, reserve,
                    serve, until_known, wait_replicated)
from raw_client import fields
from redis_cluster import HASTY_MS, RedisCluster
from servers import wait_until

TIMEOUT_MS = 800


@pytest.fixture(scope="module")
def cluster():
    """Nodes that a test kills are back, as replicas, before the next one."""
    with RedisCluster(node_timeout_ms=HASTY_MS) as nodes:
        yield nodes


@pytest.fixture(autouse=True)
def whole(cluster):
    for node in cluster.members:
        if node.process is None:
            node.start()
    cluster.wait_ok().flush()


@pytest.fixture
def server(cluster):
    with serve(cluster.url, timeout_ms=TIMEOUT_MS) as one:
        yield one


def spread_events(cluster):
    """One event at each master, in their order."""
    masters, events = cluster.masters, {}
    for number in range(100):
        owner = cluster.master_of(f"{{event-{number}}}")
        events.setdefault(owner.port, f"event-{number}")
    return [events[master.port] for master in masters]


def replica_of(cluster, master):
    return next(node for node in cluster.replicas
                if node.client().info("replication")["master_port"] == master.port)


def test_callers_go_on_after_a_master_was_killed_and_nothing_counts_twice(
        cluster, server, record_property):
    with Crowd(server, spread_events(cluster), TIMEOUT_MS) as crowd:
        crowd.wait_more()
        killed_s = time.monotonic()
        cluster.masters[1].kill()
        cluster.wait_ok()
        crowd.wait_more()
    lost = crowd.count()
    record_property("acknowledged", len(crowd.bookings))
    record_property("acknowledged_and_lost", len(lost))
    assert crowd.tries, "nobody noticed"
    assert all(booking.asked_s < killed_s for booking in lost), "lost after the failover"
    assert {booking.event for booking in lost} <= {crowd.events[1]}, "lost at another master"
    assert audit(cluster.url) == []


def test_what_the_master_took_along_is_gone_in_whole_bookings(cluster, server):
    event, master = spread_events(cluster)[0], cluster.masters[0]
    open_zone(server, event)
    kept = [reserve(server, event, f"kept{number}", quantity=2) for number in range(10)]
    wait_replicated(master, key=f"{{{event}}}")
    replica = replica_of(cluster, master)
    cut_off(replica)
    lost = [reserve(server, event, f"lost{number}", quantity=3) for number in range(10)]
    assert [answer[0] for answer in kept + lost] == [1] * 20
    master.kill()
    let_in(replica)
    cluster.wait_ok()

    zone, _ = until_known(lambda: server.call("SEATS.ZONE", event, "floor"), "the zone")
    assert fields(zone)["reserved"] == 20
    assert server.call("SEATS.USER", event, "ann") == [20, 0]
    gone = [server.call("SEATS.GET", event, f"lost{number}")[:2] for number in range(10)]
    assert gone == [[0, "RESERVATION_NOT_FOUND"]] * 10
    assert audit(cluster.url) == []


def test_a_master_that_stood_still_and_was_replaced_does_no_harm_when_it_wakes(
        cluster, server, record_property):
    with Crowd(server, spread_events(cluster), TIMEOUT_MS) as crowd:
        crowd.wait_more()
        master, paused_s = cluster.masters[2], time.monotonic()
        master.pause()
        cluster.wait_ok()
        crowd.wait_more()
        master.resume()
        cluster.wait_ok()
        crowd.wait_more()
    lost = crowd.count()
    record_property("acknowledged_and_lost", len(lost))
    assert "TIMEOUT" in crowd.tries, "what it was sent before had no outcome"
    assert all(booking.asked_s < paused_s for booking in lost), "lost after the failover"
    assert audit(cluster.url) == []


def test_callers_at_other_masters_do_not_notice_one_that_stands_still(cluster, server):
    events, master = spread_events(cluster), cluster.masters[0]
    for event in events:
        open_zone(server, event)
    master.pause()
    with server.connect() as connection:
        connection.send("SEATS.RESERVE", events[0], "floor", "b", "ann", 1, 9)
        for event in events[1:]:
            assert reserve(server, event, "b")[0] == 1
        assert is_unknown(connection.read())
    master.resume()
    cluster.wait_ok()
    answer, _ = until_known(lambda: reserve(server, events[0], "b"), "b")
    assert answer[0] == 1 and answer[2] == 1


def test_those_in_line_keep_their_places_over_a_failover(cluster, server):
    master = cluster.master_of("{gpu}")
    fence = server.call("SEM.ACQUIRE", "gpu", "first", 1)[2]
    with Line(server, "gpu") as line:
        wait_replicated(master, key="{gpu}")
        master.kill()
        cluster.wait_ok()
        fences = line.pass_on("first")
    assert [fence, *fences] == sorted({fence, *fences})
    wait_until(lambda: line.waiting() == 0, "nobody waits")


def test_scripts_that_are_flushed_on_every_node_are_loaded_again_unnoticed(cluster):
    with serve(cluster.url, timeout_ms=PATIENT_MS) as server:
        with Crowd(server, spread_events(cluster), PATIENT_MS) as crowd:
            for _ in range(5):
                crowd.wait_more()
                for node in cluster.masters:
                    node.client().script_flush()
            crowd.wait_more()
        assert crowd.tries == []
        assert crowd.count() == []

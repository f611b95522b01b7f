# SPDX-License-Identifier: Apache-2.0
"""A master that dies, or stands still, behind real Sentinels, while many callers are at work.

Replication is asynchronous: what the master acknowledged last may be lost with it. What is lost is
lost in whole commands, from the end, so that nothing is inconsistent afterwards: no total differs
from its records (`holdfast audit` is clean), and no caller holds what it did not ask for.
"""

import time

import pytest

from faults import (Crowd, Line, audit, cut_off, let_in, open_zone, reserve, serve, until_known,
                    wait_replicated)
from raw_client import fields
from sentinels import Sentinels

EVENTS = ["gala", "ball", "fair"]
TIMEOUT_MS = 800


@pytest.fixture
def group():
    with Sentinels() as servers:
        yield servers


@pytest.fixture
def server(group):
    with serve(group.url, timeout_ms=TIMEOUT_MS) as one:
        yield one


def test_callers_go_on_after_the_master_was_killed_and_nothing_counts_twice(
        group, server, record_property):
    with Crowd(server, EVENTS, TIMEOUT_MS) as crowd:
        crowd.wait_more()
        master, killed_s = group.master, time.monotonic()
        master.kill()
        group.wait_failover(master)
        crowd.wait_more()
    lost = crowd.count()
    record_property("acknowledged", len(crowd.bookings))
    record_property("acknowledged_and_lost", len(lost))
    assert crowd.tries, "nobody noticed"
    assert all(booking.asked_s < killed_s for booking in lost), "lost after the failover"
    assert audit(group.url) == []


def test_what_the_master_took_along_is_gone_in_whole_bookings(group, server):
    open_zone(server, "gala")
    kept = [reserve(server, "gala", f"kept{number}", quantity=2) for number in range(10)]
    wait_replicated(group.master, replicas=2)
    replicas = group.replicas
    for replica in replicas:
        cut_off(replica)
    lost = [reserve(server, "gala", f"lost{number}", quantity=3) for number in range(10)]
    assert [answer[0] for answer in kept + lost] == [1] * 20
    master = group.master
    master.kill()
    for replica in replicas:
        let_in(replica)
    group.wait_failover(master)

    zone, _ = until_known(lambda: server.call("SEATS.ZONE", "gala", "floor"), "the zone")
    assert fields(zone)["reserved"] == 20
    assert server.call("SEATS.USER", "gala", "ann") == [20, 0]
    for number in range(10):
        assert fields(server.call("SEATS.GET", "gala", f"kept{number}"))["quantity"] == 2
        gone = server.call("SEATS.GET", "gala", f"lost{number}")
        assert gone[:2] == [0, "RESERVATION_NOT_FOUND"]
    assert audit(group.url) == []
    assert reserve(server, "gala", "lost0", quantity=3)[2] == 23, "it can be made anew"


def test_a_master_that_stood_still_and_was_replaced_does_no_harm_when_it_wakes(
        group, server, record_property):
    with Crowd(server, EVENTS, TIMEOUT_MS) as crowd:
        crowd.wait_more()
        master, paused_s = group.master, time.monotonic()
        master.pause()
        group.wait_failover(master)
        crowd.wait_more()
        master.resume()  # and takes itself for the master still, until a Sentinel corrects it
        crowd.wait_more(1000)
    lost = crowd.count()
    record_property("acknowledged_and_lost", len(lost))
    assert "TIMEOUT" in crowd.tries, "what it was sent before had no outcome"
    assert all(booking.asked_s < paused_s for booking in lost), "lost after the failover"
    assert audit(group.url) == []


def test_those_in_line_keep_their_places_over_a_failover(group, server):
    fence = server.call("SEM.ACQUIRE", "gpu", "first", 1)[2]
    with Line(server, "gpu") as line:
        master = group.master
        wait_replicated(master, replicas=2)
        master.kill()
        group.wait_failover(master)
        fences = line.pass_on("first")
    assert [fence, *fences] == sorted({fence, *fences})
    assert line.waiting() == 0

# SPDX-License-Identifier: Apache-2.0
"""LIST on Redis, while others add and remove: what was there from beginning to end comes exactly
once, also when the server in front of it is restarted; and with its totals."""

import pytest

from crowd import PAGES, WALKS, Crowd, walk
from raw_client import Client, Http
from redis_cluster import RedisCluster
from server import Server, wait_until
from servers import RedisServer

STAYING = 400


@pytest.fixture(scope="module", params=[RedisServer, RedisCluster])
def server(request):
    redis = request.param()
    try:
        with Server("--engine", redis.url, "--admission-every", "0", memory=True) as one:
            yield one
    finally:
        redis.close()


def names(server, kind, count):
    """Pages of LIST."""
    def page(cursor):
        reply = server.call("LIST", kind, "AFTER", cursor, "COUNT", count)
        return reply[0], reply[1:]
    return page


def items_over_http(server, kind, match):
    cursor, items = None, []
    with Http(server.http_port) as client:
        while cursor != "":
            page = client.call(
                "GET", f"/v1/list/{kind}?match={match}&after={cursor or ''}").json
            cursor, items = page["cursor"], items + page["items"]
    return items


def lock_and_unlock(client, name):
    client.call("LOCK.TRY", name, "60", "ID", "me")
    client.call("LOCK.UNLOCK", name, "me")


def test_what_stays_comes_once_while_others_come_and_go(server):
    for i in range(STAYING):
        server.call("LOCK.TRY", f"stay{i}", "3600", "ID", "me")
    # A table of keys that grows during the walk may show a name twice (docs/redis.md): the fences,
    # which stay, are there before.
    with Client(server.resp_port) as client:
        for name in Crowd.NAMES:
            lock_and_unlock(client, name)
    with Crowd(server, lock_and_unlock):
        found = walk(names(server, "locks", 25))
    stayed = [name for name in found if name.startswith("stay")]
    assert sorted(stayed) == sorted(f"stay{i}" for i in range(STAYING))


@pytest.mark.parametrize("front", PAGES)
@pytest.mark.parametrize("command", WALKS)
def test_what_stays_in_a_scope_comes_once_while_others_come_and_go(server, command, front):
    WALKS[command](server, PAGES[front], f"walked-{front}")


def test_a_cursor_outlives_a_restart_of_the_server(server):
    for i in range(STAYING):
        server.call("SEATS.OPEN", f"e{i % 20}", f"z{i}", "10")
    found = walk(names(server, "zones", 20), lambda pages: pages == 3 and server.restart())
    found = [name for name in found if name.startswith("e")]
    assert sorted(found) == sorted(f"e{i % 20} z{i}" for i in range(STAYING))
    found = [name for name in walk(names(server, "events", 3)) if name.startswith("e")]
    assert sorted(found) == sorted(f"e{i}" for i in range(20))


def test_totals_are_told_over_http(server):
    server.call("QUOTA.LIMIT", "totals", "100")
    server.call("QUOTA.RESERVE", "totals", "30", "HOLD", "h")
    server.call("SEM.ACQUIRE", "totals", "a", "2")
    server.call("IDEM.BEGIN", "totals", "print")
    server.call("ROOM.JOIN", "totals", "ann")
    expected = {
        "tenants": {"used": 30, "limit": 100, "held": 30},
        "semaphores": {"in_use": 1, "max": 2, "waiting": 0},
        "keys": {"state": "PROCESSING"},
        "rooms": {"waiting": 1, "inside": 0},
    }
    for kind, totals in expected.items():
        assert items_over_http(server, kind, "totals") == [{"name": "totals", **totals}]


def test_an_event_tells_its_bookings_and_is_gone_when_it_is_closed(server):
    server.call("SEATS.OPEN", "sale", "floor", "1000")
    for i in range(5):
        server.call("SEATS.RESERVE", "sale", "floor", f"b{i}", f"u{i}", "1", "4",
                    "TTL", "10s" if i < 3 else "1")
    server.call("SEATS.CONFIRM", "sale", "b0", "PAYMENT", "p")
    server.call("SEATS.RELEASE", "sale", "b1")
    wait_until(lambda: items_over_http(server, "events", "sale") ==
               [{"name": "sale", "zones": 1, "bookings": 2}])
    server.call("SEATS.RELEASE", "sale", "b2")
    for i in range(600):  # more than one call of a script removes
        server.call("SEATS.RESERVE", "sale", "floor", f"c{i}", f"u{i}", "1", "4")
        server.call("SEATS.CONFIRM", "sale", f"c{i}")
    assert server.call("SEATS.CLOSE", "sale", "FORCE") == [1, 601, 1]
    assert items_over_http(server, "events", "sale") == []


def test_a_room_comes_once_by_whatever_shows_it(server):
    def rooms():
        return items_over_http(server, "rooms", "party")

    server.call("ROOM.OPEN", "party", "INSIDE", "5")
    assert rooms() == [{"name": "party", "waiting": 0, "inside": 0}]
    server.call("ROOM.JOIN", "party", "ann")
    server.call("ROOM.JOIN", "party", "bob")
    server.call("ROOM.ADMIT", "party", "1")
    assert rooms() == [{"name": "party", "waiting": 1, "inside": 1}]
    server.call("ROOM.OPEN", "party")
    assert rooms() == [{"name": "party", "waiting": 1, "inside": 1}]
    server.call("ROOM.LEAVE", "party", "bob")
    assert rooms() == [{"name": "party", "waiting": 0, "inside": 1}]
    server.call("ROOM.DONE", "party", "ann")
    assert rooms() == []


def test_a_cursor_of_no_master_is_refused(server):
    assert server.call("LIST", "zones", "AFTER", "00000001.17.0000000000000000")[1] == \
        "INVALID_ARGUMENT"
    assert server.call("LIST", "zones", "AFTER", "0.1.2.3")[1] == "INVALID_ARGUMENT"

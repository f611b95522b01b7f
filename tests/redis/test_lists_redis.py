# SPDX-License-Identifier: Apache-2.0
"""LIST on Redis, while others add and remove: what was there from beginning to end comes exactly
once, also when the server in front of it is restarted; and with its totals."""

import threading

import pytest

from raw_client import Client, Http
from redis_cluster import RedisCluster
from server import Server
from servers import RedisServer

STAYING = 400
CLIENTS = 64


@pytest.fixture(scope="module", params=[RedisServer, RedisCluster])
def server(request):
    redis = request.param()
    try:
        with Server("--engine", redis.url, memory=True) as one:
            yield one
    finally:
        redis.close()


def walk(server, kind, count, between=lambda pages: None):
    names, cursor, pages = [], "", 0
    while True:
        reply = server.call("LIST", kind, "AFTER", cursor, "COUNT", count)
        cursor = reply[0]
        names += reply[1:]
        pages += 1
        if not cursor:
            return names
        between(pages)


def add_and_remove(server, number, stopping, failures):
    try:
        with Client(server.resp_port) as client:
            while not stopping.is_set():
                client.call("LOCK.TRY", f"c{number}", "60", "ID", "me")
                client.call("LOCK.UNLOCK", f"c{number}", "me")
    except Exception as failure:  # pylint: disable=broad-except
        failures.append(failure)


def test_what_stays_comes_once_while_others_come_and_go(server):
    for i in range(STAYING):
        server.call("LOCK.TRY", f"stay{i}", "3600", "ID", "me")
    stopping, failures = threading.Event(), []
    threads = [threading.Thread(target=add_and_remove, args=(server, i, stopping, failures))
               for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        names = walk(server, "locks", 25)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert failures == []
    stayed = [name for name in names if name.startswith("stay")]
    assert sorted(stayed) == sorted(f"stay{i}" for i in range(STAYING))


def test_a_cursor_outlives_a_restart_of_the_server(server):
    for i in range(STAYING):
        server.call("SEATS.OPEN", f"e{i % 20}", f"z{i}", "10")
    names = walk(server, "zones", 20, lambda pages: pages == 3 and server.restart())
    assert sorted(names) == sorted(f"e{i % 20} z{i}" for i in range(STAYING))
    assert sorted(walk(server, "events", 3)) == sorted(f"e{i}" for i in range(20))


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
        "rooms": {"waiting": 1},
    }
    with Http(server.http_port) as client:
        for kind, totals in expected.items():
            cursor, items = None, []
            while cursor != "":
                page = client.call(
                    "GET", f"/v1/list/{kind}?match=totals&after={cursor or ''}").json
                cursor, items = page["cursor"], items + page["items"]
            assert items == [{"name": "totals", **totals}]


def test_a_cursor_of_no_master_is_refused(server):
    assert server.call("LIST", "zones", "AFTER", "00000001.17.0000000000000000")[1] == \
        "INVALID_ARGUMENT"
    assert server.call("LIST", "zones", "AFTER", "0.1.2.3")[1] == "INVALID_ARGUMENT"

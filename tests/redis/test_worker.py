# SPDX-License-Identifier: Apache-2.0
"""The release worker: what fell due is back in Redis although nobody asks for it, wherever it is,
whoever made it, and whatever happened to Redis in between.

Nothing here sends a command after the holds were made: what comes back, the worker gave back.
"""

import re
import urllib.request

import pytest
import redis

from redis_cluster import RedisCluster
from server import Server
from servers import RedisServer, wait_until

EVENTS = 40  # scopes of each family
SOON_S = 10  # a good deal less than the minute after which the worker looks at everything again


def serve(deployment, worker=True):
    return Server("--engine", f"{deployment.url}?worker={'yes' if worker else 'no'}", memory=True)


def hold(server, ttl):
    """Something on hold in many scopes of every family."""
    client = redis.Redis(port=server.resp_port)
    for number in range(EVENTS):
        for line in (f"SEATS.OPEN e{number} floor 10", f"QUOTA.LIMIT t{number} 100",
                     f"STOCK.LOAD p{number} 10",
                     f"SEATS.RESERVE e{number} floor b ann 3 9 TTL {ttl}",
                     f"QUOTA.RESERVE t{number} 30 HOLD h TTL {ttl}",
                     f"STOCK.TAKE p{number} o ann 4 TTL {ttl}",
                     f"ROOM.JOIN e{number} ann TTL {ttl}"):
            assert client.execute_command(*line.split())[0] == 1, line


def keys(number, tag):
    """Where what is free, used or in line is; with `tag` in braces."""
    scope = (lambda name: f"{{{name}}}") if tag else (lambda name: name)
    return (f"zone:availability:{{e{number}}}:floor", f"quota:tenant:{scope(f't{number}')}:used",
            f"stock:{scope(f'p{number}_main')}", f"queue:{scope(f'e{number}')}")


def state(client, tag=False):
    """How many scopes are in which state: seats free, quota used, stock free, users in line."""
    count = {}
    for number in range(EVENTS):
        zone, used, stock, queue = keys(number, tag)
        now = (int(client.get(zone)), int(client.get(used)), int(client.get(stock)),
               client.zcard(queue))
        count[now] = count.get(now, 0) + 1
    return count


ON_HOLD = {(7, 30, 6, 1): EVENTS}
BACK = {(10, 0, 10, 0): EVENTS}


def figures(server):
    """What the worker tells of itself."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/metrics") as answer:
        text = answer.read().decode()
    return {name: float(number)
            for name, number in re.findall(r"(?m)^\w*?worker_(\w+)(?:\{[^}]*\})? (\S+)$", text)}


@pytest.fixture
def standalone():
    with RedisServer() as server:
        yield server


def test_what_this_engine_made_comes_back_at_its_time(standalone):
    with serve(standalone) as server:
        hold(server, "6s")
        assert state(standalone.client()) == ON_HOLD
        wait_until(lambda: state(standalone.client()) == BACK, "everything is back", SOON_S)
        assert figures(server)["late_milliseconds"] < 5000


def test_what_others_made_is_found_at_the_start(standalone):
    with serve(standalone, worker=False) as server:
        hold(server, "10ms")
    assert state(standalone.client()) == ON_HOLD
    with serve(standalone):
        wait_until(lambda: state(standalone.client()) == BACK, "everything is back", SOON_S)


def test_plain_names_of_other_programs_are_found_as_well(standalone):
    store = standalone.client()
    store.set("zone:availability:floor", 97)
    store.set("user:reservations:ann:gala", 3)
    store.hset("reservation:b-1", mapping={"status": "reserved", "event_id": "gala"})
    store.zadd("seats:due:gala", {"h floor ann 3 b-1": 1})
    with serve(standalone) as server:
        wait_until(lambda: store.get("zone:availability:floor") == b"100", "it is back", SOON_S)
        assert store.keys() == [b"zone:availability:floor"]
        wait_until(lambda: figures(server)["returned_seats_total"] == 1, "it is counted", SOON_S)


def test_much_in_one_scope_does_not_keep_the_others_waiting(standalone):
    with serve(standalone, worker=False) as server:
        client = redis.Redis(port=server.resp_port)
        client.execute_command("SEATS.OPEN", "huge", "floor", 100_000)
        pipe = client.pipeline(transaction=False)
        for number in range(20_000):
            pipe.execute_command("SEATS.RESERVE", "huge", "floor", f"b{number}", f"u{number}", 1,
                                 1, "TTL", "20s")
        pipe.execute()
        hold(server, "10ms")
    store = standalone.client()
    # All of them are due now: as if that long had passed.
    for entry, _ in store.zscan_iter("seats:due:{huge}", count=1000):
        store.zadd("seats:due:{huge}", {entry: 1})
    with serve(standalone):
        wait_until(lambda: state(store) == BACK, "the others are back", SOON_S)
        wait_until(lambda: int(store.get("zone:availability:{huge}:floor")) == 100_000,
                   "all of it is back", SOON_S)


def test_a_redis_that_was_away(standalone):
    with serve(standalone) as server:
        hold(server, "1s")
        standalone.pause()
        try:
            wait_until(lambda: figures(server)["errors_total"] > 0, "it was missed", 30)
        finally:
            standalone.resume()
        wait_until(lambda: state(standalone.client()) == BACK, "everything is back", 30)


def test_in_a_namespace(standalone):
    space = "shop"
    engine = f"{standalone.url}?namespace={space}"
    with Server("--engine", engine + "&worker=no", memory=True) as server:
        hold(server, "10ms")
    store = standalone.client()
    assert int(store.get("shop:zone:availability:{e0}:floor")) == 7
    with Server("--engine", engine, memory=True):
        wait_until(lambda: all(int(store.get(f"shop:zone:availability:{{e{number}}}:floor")) == 10
                               for number in range(EVENTS)), "everything is back", SOON_S)


def test_on_a_cluster():
    with RedisCluster(masters=3, replicas=0) as nodes:
        store = nodes.client()
        with serve(nodes, worker=False) as server:
            hold(server, "10ms")
            client = redis.Redis(port=server.resp_port)
            client.execute_command(*"STOCK.LOAD socks 100 SHARDS 6 POLICY steal".split())
            for number in range(50):
                client.execute_command("STOCK.TAKE", "socks", f"o{number}", f"u{number}", 2, "TTL",
                                       "10ms")
        places = [f"{{socks_{place}}}" for place in ("main", *range(6))]
        assert state(store, tag=True) == ON_HOLD
        with serve(nodes) as server:
            wait_until(lambda: state(store, tag=True) == BACK, "everything is back", SOON_S)
            wait_until(lambda: sum(int(store.get(f"stock:{place}") or 0) for place in places)
                       == 100, "the shards are", SOON_S)
            nodes.flush()
            hold(server, "1s")
            wait_until(lambda: state(store, tag=True) == BACK, "everything is back again", SOON_S)
            assert figures(server)["sweeps_total"] >= 1

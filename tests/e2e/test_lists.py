# SPDX-License-Identifier: Apache-2.0
"""Walks over lists while 64 clients add and remove: what was there from beginning to end comes
exactly once, over RESP and over HTTP, also when the server is restarted in the middle."""

import queue
from urllib.parse import quote, urlencode

import pytest

from crowd import PAGES, WALKS, Crowd, walk
from raw_client import Client, Http
from server import Server

STAYING = 600


def resp_pages(server, kind, count):
    """A function from a cursor to (next cursor, names)."""
    def page(cursor):
        with Client(server.resp_port) as client:
            reply = client.call("LIST", kind, "AFTER", cursor, "COUNT", count)
        return reply[0], reply[1:]
    return page


def http_pages(server, kind, count):
    def page(cursor):
        query = urlencode({"after": cursor, "count": count})
        with Http(server.http_port) as client:
            body = client.call("GET", f"/v1/list/{quote(kind)}?{query}").json
        return body["cursor"], [item["name"] for item in body["items"]]
    return page


def lock_and_unlock(client, name):
    client.call("LOCK.TRY", name, "60", "ID", "me")
    client.call("LOCK.UNLOCK", name, "me")


def hold_and_cancel(client, name):
    client.call("QUOTA.LIMIT", name, "5")
    client.call("QUOTA.RESERVE", name, "1", "HOLD", "h")
    client.call("QUOTA.CANCEL", name, "h")
    client.call("QUOTA.LIMIT", name, "0")


def begin_and_abort(client, name):
    client.call("IDEM.BEGIN", name, "print")
    client.call("IDEM.ABORT", name)


def acquire_and_release(client, name):
    client.call("SEM.ACQUIRE", name, "me", "2")
    client.call("SEM.RELEASE", name, "me")


KINDS = {
    "locks": (lambda i: ("LOCK.TRY", f"stay{i}", "3600", "ID", "me"), lock_and_unlock),
    "tenants": (lambda i: ("QUOTA.LIMIT", f"stay{i}", "7"), hold_and_cancel),
    "keys": (lambda i: ("IDEM.BEGIN", f"stay{i}", "print", "TTL", "3600"), begin_and_abort),
    "semaphores": (lambda i: ("SEM.ACQUIRE", f"stay{i}", "me", "2", "HEARTBEAT", "3600"),
                   acquire_and_release),
}


@pytest.fixture(scope="module")
def server():
    with Server(memory=True) as one:
        yield one


def fill(server, kind, count=STAYING):
    make, _ = KINDS[kind]
    with Client(server.resp_port) as client:
        for i in range(count):
            client.send(*make(i))
        for i in range(count):
            client.read()
    return {f"stay{i}" for i in range(count)}


@pytest.mark.parametrize("pages", [resp_pages, http_pages])
@pytest.mark.parametrize("kind", KINDS)
def test_what_stays_comes_once_while_others_come_and_go(server, kind, pages):
    staying = fill(server, kind)
    with Crowd(server, KINDS[kind][1]):
        for count in (7, 50):
            names = walk(pages(server, kind, count))
            stayed = [name for name in names if name.startswith("stay")]
            assert len(stayed) == len(staying) and set(stayed) == staying


@pytest.mark.parametrize("pages", [resp_pages, http_pages])
def test_zones_of_many_events_come_once_while_others_are_opened(server, pages):
    with Client(server.resp_port) as client:
        for i in range(STAYING):
            client.call("SEATS.OPEN", f"stay{i % 40}", f"z{i}", "10")
    staying = {f"stay{i % 40} z{i}" for i in range(STAYING)}
    # Fewer with each page than are on it: otherwise the crowd may outrun the walk for ever.
    to_open = queue.Queue()

    def open_more(pages_before):
        for i in range(40):
            to_open.put(f"{pages.__name__}-{pages_before}-{i}")

    def open_zone(client, name):
        try:
            client.call("SEATS.OPEN", name, to_open.get(timeout=0.01), "1")
        except queue.Empty:
            client.call("SEATS.ZONE", name, "z0")

    open_more(0)
    with Crowd(server, open_zone):
        names = walk(pages(server, "zones", 50), open_more)
    stayed = [name for name in names if name.startswith("stay")]
    assert len(stayed) == len(staying) and set(stayed) == staying
    assert len(names) == len(set(names))


@pytest.mark.parametrize("front", PAGES)
@pytest.mark.parametrize("command", WALKS)
def test_what_stays_in_a_scope_comes_once_while_others_come_and_go(server, command, front):
    WALKS[command](server, PAGES[front], f"walked-{front}")


def test_a_cursor_outlives_a_restart():
    with Server() as server:
        with Client(server.resp_port) as client:
            for i in range(300):
                client.call("SEATS.OPEN", f"e{i % 30}", f"z{i}", "10")
                client.call("QUOTA.LIMIT", f"t{i}", "10")
                client.call("STOCK.LOAD", f"p{i}", "10")
        for kind in ("zones", "tenants", "products", "events"):
            def restart(pages):
                if pages in (2, 5):
                    server.restart("stop" if pages == 2 else "kill")
            names = walk(resp_pages(server, kind, 5), restart)
            assert len(names) == len(set(names)) == (30 if kind == "events" else 300)


def test_a_list_tells_its_totals_over_http():
    with Server(memory=True) as server, Http(server.http_port) as client:
        server.call("SEATS.OPEN", "totals", "floor", "10")
        server.call("SEATS.RESERVE", "totals", "floor", "b1", "ann", "2", "4")
        server.call("STOCK.LOAD", "totals", "9")
        zones = client.call("GET", "/v1/list/zones?match=totals").json
        assert zones == {"cursor": "", "items": [
            {"name": "totals floor", "event_id": "totals", "zone_id": "floor", "capacity": 10,
             "available": 8, "reserved": 2, "confirmed": 0}]}
        product = client.call("GET", "/v1/list/products?match=totals").json["items"][0]
        assert product["available"] == product["loaded"] == 9
        assert client.call("GET", "/v1/list/events?match=totals").json["items"] == [
            {"name": "totals", "zones": 1, "bookings": 1}]
        server.call("ROOM.OPEN", "totals", "INSIDE", "5")
        room = {"name": "totals", "waiting": 0, "inside": 0}
        assert client.call("GET", "/v1/list/rooms").json == {"cursor": "", "items": [room]}
        assert client.call("GET", "/v1/list/nothing").code == "INVALID_ARGUMENT"
        assert client.call("GET", "/v1/list/zones?after=x").code == "INVALID_ARGUMENT"
        assert client.call("GET", "/v1/list/zones?colour=x").code == "INVALID_ARGUMENT"

# SPDX-License-Identifier: Apache-2.0
"""Many clients that add and remove, and somebody who walks over a list meanwhile, over RESP and
over HTTP."""

import threading
from urllib.parse import quote, urlencode

from raw_client import Client, Http

CLIENTS = 64
NAMES_EACH = 7


def walk(page, between=lambda pages: None):
    """All items from the first page to the last. `page` is a function from a cursor to the next
    one and the items."""
    items, pages = [], 0
    cursor, found = page("")
    while True:
        items += found
        pages += 1
        if not cursor:
            return items
        between(pages)
        cursor, found = page(cursor)


def as_dict(flat):
    return dict(zip(flat[::2], flat[1::2]))


def items_by_resp(server, command, scope, count, **filters):
    """Pages of a list of a scope: SEATS.LIST, QUOTA.LIST, SEM.LIST."""
    options = [word for name, value in filters.items() for word in (name.upper(), value)]

    def page(cursor):
        with Client(server.resp_port) as client:
            reply = client.call(command, scope, *options, "AFTER", cursor, "COUNT", count)
        return reply[0], [as_dict(item) for item in reply[1:]]
    return page


ROUTES = {
    "SEATS.LIST": "/v1/events/{}/bookings",
    "QUOTA.LIST": "/v1/quotas/{}/holds",
    "SEM.LIST": "/v1/semaphores/{}/clients",
}


def items_by_http(server, command, scope, count, **filters):
    path = ROUTES[command].format(quote(scope))

    def page(cursor):
        query = urlencode({**filters, "after": cursor, "count": count})
        with Http(server.http_port) as client:
            body = client.call("GET", f"{path}?{query}").json
        return body["cursor"], body["items"]
    return page


class Crowd:
    """Clients that add and remove things of a kind of their own, until they are told to stop."""

    NAMES = [f"c{number}-{i}" for number in range(CLIENTS) for i in range(NAMES_EACH)]

    def __init__(self, server, work):
        self.server, self.work = server, work
        self.stopping = threading.Event()
        self.rounds = [0] * CLIENTS
        self.failures = []
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(CLIENTS)]

    def run(self, number):
        try:
            with Client(self.server.resp_port) as client:
                while not self.stopping.is_set() or self.rounds[number] == 0:
                    self.work(client, f"c{number}-{self.rounds[number] % NAMES_EACH}")
                    self.rounds[number] += 1
        except Exception as failure:  # pylint: disable=broad-except
            self.failures.append(failure)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        assert self.failures == []
        assert min(self.rounds) > 0


# ---- the lists of a scope

def call_all(server, commands):
    """Sends all and reads all: the replies, of which none may refuse."""
    with Client(server.resp_port) as client:
        for command in commands:
            client.send(*command)
        replies = [client.read() for _ in commands]
    assert not [reply for reply in replies if isinstance(reply, list) and reply[0] == 0]


def check_walk(items, field, staying, fits=lambda item: True):
    """What stayed came exactly once, and nothing that never was there."""
    names = [item[field] for item in items]
    stayed = [name for name in names if name.startswith("stay")]
    assert len(stayed) == len(set(stayed)) and set(stayed) == staying
    assert all(name.startswith(("stay", "c")) for name in names)
    assert all(fits(item) for item in items)


def walk_bookings(server, pages, event, staying=300, count=40):
    """SEATS.LIST, of all and by each filter; those that stay are confirmed by threes."""
    call_all(server, [("SEATS.OPEN", event, f"z{i}", "100000") for i in range(2)])
    call_all(server, [("SEATS.RESERVE", event, f"z{i % 2}", f"stay{i}", f"u{i % 5}", "1", "9999",
                       "TTL", "1h") for i in range(staying)])
    call_all(server, [("SEATS.CONFIRM", event, f"stay{i}") for i in range(0, staying, 3)])

    def book_and_release(client, name):
        client.call("SEATS.RESERVE", event, f"z{len(name) % 2}", name, "u1", "1", "9999")
        client.call("SEATS.RELEASE", event, name)

    filters = [
        ({}, lambda i: True),
        ({"zone": "z1"}, lambda i: i % 2 == 1),
        ({"user": "u1"}, lambda i: i % 5 == 1),
        ({"status": "confirmed"}, lambda i: i % 3 == 0),
        ({"zone": "z0", "user": "u1", "status": "reserved"},
         lambda i: i % 2 == 0 and i % 5 == 1 and i % 3 != 0),
    ]
    fields = {"zone": "zone_id", "user": "user_id", "status": "status"}
    with Crowd(server, book_and_release):
        for wanted, is_wanted in filters:
            check_walk(
                walk(pages(server, "SEATS.LIST", event, count, **wanted)), "booking_id",
                {f"stay{i}" for i in range(staying) if is_wanted(i)},
                lambda item, wanted=wanted: all(
                    item[fields[name]] == value for name, value in wanted.items()))


def walk_holds(server, pages, tenant, staying=300, count=40):
    """QUOTA.LIST."""
    call_all(server, [("QUOTA.LIMIT", tenant, "1000000")])
    call_all(server, [("QUOTA.RESERVE", tenant, i + 1, "HOLD", f"stay{i}", "TTL", "1h")
                      for i in range(staying)])

    def hold_and_cancel(client, name):
        client.call("QUOTA.RESERVE", tenant, "7", "HOLD", name)
        client.call("QUOTA.CANCEL", tenant, name)

    with Crowd(server, hold_and_cancel):
        items = walk(pages(server, "QUOTA.LIST", tenant, count))
    check_walk(items, "hold_id", {f"stay{i}" for i in range(staying)},
               lambda item: item["amount"] == (int(item["hold_id"][4:]) + 1
                                               if item["hold_id"].startswith("stay") else 7))


def walk_clients(server, pages, name, staying=300, count=40):
    """SEM.LIST: some hold from the beginning, and those in line get their slots during the walk."""
    half = staying // 2
    call_all(server, [("SEM.ACQUIRE", name, f"stay{i}", half, "HEARTBEAT", "1h")
                      for i in range(half)])
    call_all(server, [("SEM.QUEUE", name, f"stay{i}", "1h", "1h") for i in range(half, staying)])
    limits = iter(range(half, 10 * staying, half // 4))

    def queue_and_leave(client, client_id):
        client.call("SEM.QUEUE", name, client_id, "1h", "1h")
        client.call("SEM.RELEASE", name, client_id)

    def wake_more(_):
        server.call("SEM.WAKE", name, next(limits), "1h", "1h")

    with Crowd(server, queue_and_leave):
        items = walk(pages(server, "SEM.LIST", name, count), wake_more)
    check_walk(items, "id", {f"stay{i}" for i in range(staying)},
               lambda item: item["state"] in ("holding", "waiting"))
    states = {item["id"]: item["state"] for item in items}
    assert all(states[f"stay{i}"] == "holding" for i in range(half))
    assert "holding" in {states[f"stay{i}"] for i in range(half, staying)}


WALKS = {"SEATS.LIST": walk_bookings, "QUOTA.LIST": walk_holds, "SEM.LIST": walk_clients}
PAGES = {"resp": items_by_resp, "http": items_by_http}

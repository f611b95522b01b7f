# SPDX-License-Identifier: Apache-2.0
"""A booking service in Go that has the usual three scripts, with our files in their place: its keys,
its arguments, its way to read replies; alone, and beside a server of ours on the same seats."""

import threading

import pytest

from caller_programs import FOLDER, Caller
from harness import Build
from languages import go_program
from server import Server
from servers import wait_until
from test_audit import audit

EVENT = "gala"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return go_program(Build(), FOLDER / "seats.go", tmp_path_factory.mktemp("go") / "seats")


class Where:
    """A layout of the names on a Redis or a cluster, with a service that works there."""

    def __init__(self, layout, redis, program):
        self.redis, self.layout = redis, "plain" if layout == "plain" else "tagged"
        node = redis.master_of(f"{{{EVENT}}}") if layout == "cluster" else redis
        self.store = node.client()
        self.caller = Caller([program], self.layout, [node.address])


@pytest.fixture(scope="module", params=["plain", "tagged", "cluster"])
def where(request, program):
    redis = request.getfixturevalue("cluster" if request.param == "cluster" else "standalone")
    made = Where(request.param, redis, program)
    with made.caller:
        yield made


@pytest.fixture
def seats(where):
    return where.caller


@pytest.fixture
def event(where):
    """Its name; nothing is left of the last one."""
    where.store.flushall()
    return EVENT


@pytest.fixture
def beside(where, event):
    """A server of ours on the same seats."""
    with Server("--engine", where.redis.url, memory=True) as server:
        yield server


# Where its names are the service's: the engine has tagged ones for seats everywhere.
shared = pytest.mark.parametrize("where", ["tagged", "cluster"], indirect=True)


def free(seats, zone="floor"):
    """What the service's inventory worker reads of a zone."""
    zones = seats.inventory()["zones"]
    [found] = [count for key, count in zones.items() if key.endswith(f":{zone}")]
    return found


def granted(remaining, user_reserved):
    return {"ok": True, "remaining": remaining, "user_reserved": user_reserved}


def test_a_booking_is_reserved_paid_for_and_kept(seats, event):
    seats.seed(event, "floor", 10)
    assert seats.reserve(event, "floor", "b-1", "ann", 2, 4, 600) == granted(8, 2)
    found = seats.look(event, "b-1")
    record = found["record"]
    assert {name: record[name] for name in (
        "booking_id", "user_id", "zone_id", "event_id", "show_id", "quantity", "status")} == {
            "booking_id": "b-1", "user_id": "ann", "zone_id": "floor", "event_id": event,
            "show_id": "show-1", "quantity": "2", "status": "reserved"}
    assert float(record["unit_price"]) == 49.5
    assert 590_000 < found["ttl_ms"] <= 600_000
    assert free(seats) == 8

    paid = {"ok": True, "status": "CONFIRMED", "code": "CODE-17"}
    assert seats.confirm(event, "b-1", "ann", "pay-1", "CODE-17") == paid
    found = seats.look(event, "b-1")
    assert found["ttl_ms"] == -1 and found["record"]["status"] == "confirmed"
    assert found["record"]["payment_id"] == "pay-1"
    assert seats.confirm(event, "b-1", "ann", "pay-1", "CODE-18") == paid, "a retry"
    assert seats.confirm(event, "b-1", "ann", "pay-2", "CODE-19")["code"] == "INVALID_STATE"
    assert seats.cancel(event, "floor", "b-1", "ann")["code"] == "INVALID_STATE"
    assert seats.reserve(event, "floor", "b-2", "ann", 4, 4, 600) == granted(4, 4)


def test_the_key_of_the_record_is_enough_to_confirm(seats, event):
    seats.seed(event, "floor", 10)
    seats.reserve(event, "floor", "b-1", "ann", 3, 4, 600)
    paid = seats.confirm(event, "b-1", "bare", "", "")
    assert paid["status"] == "CONFIRMED" and len(paid["code"]) == 10
    assert seats.look(event, "b-1")["ttl_ms"] == -1
    assert seats.reserve(event, "floor", "b-2", "ann", 4, 4, 600) == granted(3, 4)


def test_what_is_refused_changes_nothing(seats, event):
    assert seats.reserve(event, "floor", "b-1", "ann", 1, 4, 600)["code"] == "ZONE_NOT_FOUND"
    seats.seed(event, "floor", 10)
    seats.reserve(event, "floor", "b-1", "ann", 3, 4, 600)
    for code, words in {
            "INVALID_QUANTITY": ("b-2", "ann", 0, 4, 600),
            "INSUFFICIENT_STOCK": ("b-2", "bob", 8, 9, 600),
            "USER_LIMIT_EXCEEDED": ("b-2", "ann", 2, 4, 600),
            "BOOKING_EXISTS": ("b-1", "ann", 1, 4, 600)}.items():
        refused = seats.reserve(event, "floor", *words)
        assert (refused["ok"], refused["code"]) == (False, code) and refused["message"]
    assert seats.cancel(event, "floor", "b-2", "ann")["code"] == "RESERVATION_NOT_FOUND"
    assert seats.confirm(event, "b-2", "ann", "p", "c")["code"] == "RESERVATION_NOT_FOUND"
    for refused in (seats.confirm(event, "b-1", "bob", "p", "c"),
                    seats.cancel(event, "floor", "b-1", "bob")):
        assert refused["code"] in ("NOT_OWNER", "INVALID_ARGUMENT")  # the key is bob's, too
    assert free(seats) == 7 and seats.look(event, "b-1")["record"]["status"] == "reserved"
    assert seats.reserve(event, "floor", "b-1", "ann", 3, 4, 600) == granted(7, 3), "a retry"


@pytest.mark.parametrize("how", [(), ("bare",)])
def test_a_cancelled_booking_gives_everything_back(seats, event, how):
    seats.seed(event, "floor", 10)
    seats.reserve(event, "floor", "b-1", "ann", 3, 4, 600)
    seats.reserve(event, "floor", "b-2", "ann", 1, 4, 600)
    gone = {"ok": True, "status": "SUCCESS", "available": 9, "user_reserved": 1}
    assert seats.cancel(event, "floor", "b-1", "ann", *how) == gone
    assert free(seats) == 9
    assert seats.cancel(event, "floor", "b-1", "ann", *how) == gone, "a retry"
    assert free(seats) == 9
    assert seats.reserve(event, "floor", "b-3", "ann", 3, 4, 600) == granted(6, 4)


def test_seats_that_nobody_paid_for_come_back(seats, event):
    seats.seed(event, "floor", 10)
    assert seats.reserve(event, "floor", "b-1", "ann", 7, 8, 1) == granted(3, 7)
    wait_until(lambda: seats.look(event, "b-1")["ttl_ms"] == -2, "it lapses")
    assert seats.confirm(event, "b-1", "ann", "p", "c")["code"] == "RESERVATION_NOT_FOUND"
    # The user's count stays for a minute, the seats are there for the next caller.
    assert seats.reserve(event, "floor", "b-2", "ann", 2, 8, 600)["code"] == "USER_LIMIT_EXCEEDED"
    assert seats.reserve(event, "floor", "b-3", "bob", 10, 10, 600) == granted(0, 10)
    assert free(seats) == 0


def test_many_that_lapse_at_once_are_there_for_the_next_call(seats, event):
    """The service knows nothing of AGAIN."""
    seats.seed(event, "floor", 100)
    assert seats.rush(event, "floor", 100, 1)["outcomes"] == {"reserved": 100}
    wait_until(lambda: all(seats.look(event, f"b-{n}")["ttl_ms"] == -2 for n in range(100)),
               "all lapse")
    assert seats.reserve(event, "floor", "b", "ann", 100, 100, 600) == granted(0, 100)


def test_a_script_that_redis_forgot_is_sent_again(seats, event):
    seats.seed(event, "floor", 10)
    seats.forget()
    assert seats.reserve(event, "floor", "b-1", "ann", 2, 4, 600) == granted(8, 2)


def test_a_rush_sells_what_there_is(seats, event):
    seats.seed(event, "floor", 30)
    assert seats.rush(event, "floor", 100, 600)["outcomes"] == {
        "reserved": 30, "INSUFFICIENT_STOCK": 70}
    assert free(seats) == 0


# ---- beside a server of ours

def zone(server, event):
    listed = server.call("SEATS.ZONE", event, "floor")
    return dict(zip(listed[::2], listed[1::2]))


@shared
def test_both_sell_the_same_seats(where, seats, event, beside):
    """Each goes on with what the other began, and the audit finds nothing."""
    assert beside.call("SEATS.OPEN", event, "floor", 20) == [1, 20, 20]
    seats.reserve(event, "floor", "b-1", "ann", 2, 4, 600)
    assert beside.call("SEATS.RESERVE", event, "floor", "b-2", "ann", 2, 4)[:3] == [1, 16, 4]
    assert seats.reserve(event, "floor", "b-3", "ann", 1, 4, 600)["code"] == "USER_LIMIT_EXCEEDED"
    assert beside.call("SEATS.CONFIRM", event, "b-1")[:2] == [1, "CONFIRMED"]
    assert seats.confirm(event, "b-2", "ann", "pay", "CODE")["code"] == "CODE"
    record = beside.call("SEATS.GET", event, "b-1")
    assert dict(zip(record[::2], record[1::2]))["status"] == "confirmed"
    seats.reserve(event, "floor", "b-4", "bob", 3, 4, 600)
    assert beside.call("SEATS.RELEASE", event, "b-4") == [1, "SUCCESS", 16, 0]

    answers = []
    selling = threading.Thread(target=lambda: answers.append(seats.rush(event, "floor", 40, 600)))
    selling.start()
    with beside.connect() as connection:
        ours = [connection.call("SEATS.RESERVE", event, "floor", f"o-{n}", f"o-{n}", 1, 4)[0]
                for n in range(20)]
    selling.join()
    sold = sum(ours) + answers[0]["outcomes"].get("reserved", 0)
    assert sold == 16 and free(seats) == 0
    assert zone(beside, event) == {"capacity": 20, "available": 0, "reserved": 16, "confirmed": 4}
    assert audit(where.redis.url) == []


@shared
def test_a_zone_that_was_set_is_a_zone_for_our_server(where, seats, event, beside):
    seats.seed(event, "floor", 10)
    seats.reserve(event, "floor", "b-1", "ann", 2, 4, 600)
    assert beside.call("SEATS.RESERVE", event, "floor", "b-2", "bob", 3, 4)[:3] == [1, 5, 3]
    assert beside.call("SEATS.CONFIRM", event, "b-1")[:2] == [1, "CONFIRMED"]
    found = zone(beside, event)
    assert (found["available"], found["reserved"], found["confirmed"]) == (5, 3, 2)
    assert found["capacity"] == 10
    assert audit(where.redis.url) == []


@shared
def test_our_worker_gives_back_what_the_service_let_lapse(where, seats, event):
    seats.seed(event, "floor", 10)
    seats.reserve(event, "floor", "b-1", "ann", 7, 8, 1)
    with Server("--engine", where.redis.url, memory=True):  # it finds the event when it starts
        wait_until(lambda: free(seats) == 10, "the inventory is right, and nobody called")

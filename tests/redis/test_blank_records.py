# SPDX-License-Identifier: Apache-2.0
"""A reserve copies the record from the event's blank, and a batch from its first record: what is
written is the same as if it were written field by field, whatever is in the blank's place."""

import pytest

from letter import EVERY_NAME, Scripts
from server import Server
from servers import RedisServer
from test_batches import say, without_times

COUNT = 20


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as running:
        if int(running.client().info("server")["redis_version"].partition(".")[0]) < 7:
            pytest.skip("copies are for Redis 7.0 or later")
        yield running


@pytest.fixture
def client(redis):
    found = redis.client()
    found.execute_command("ACL", "SETUSER", "default", "+copy")
    found.flushall()
    return found


@pytest.fixture(scope="module")
def server(redis):
    with Server("--engine", redis.url + "?worker=no") as running:
        yield running


class Event:
    """One event, its keys named plain or tagged, with or without a namespace."""

    def __init__(self, client, named=("", "{}")):
        space, form = named
        self.client, self.tagged = client, form != "{}"
        self.space, self.scope = space, form.format("gala")
        self.blank = f"{space}seats:blank:{self.scope}"
        client.set(self.key("zone:availability", "floor"), 1000)

    def key(self, kind, name):
        return f"{self.space}{kind}:{self.scope}:{name}" if self.tagged else \
            f"{self.space}{kind}:{name}:gala" if kind == "user:reservations" else \
            f"{self.space}{kind}:{name}"

    def reserve(self, booking, user="ann", quantity=1, show="", price="0", ttl=600):
        answer = Scripts(self.client).reserve_seats(
            [self.key("zone:availability", "floor"), self.key("user:reservations", user),
             self.key("reservation", booking)],
            [quantity, 100, user, booking, "floor", "gala", show, price, ttl])
        assert answer[0] == 1, answer
        return self.client.hgetall(self.key("reservation", booking))

    def record(self, booking, user="ann", quantity=1, show="", price="0"):
        """What is to be in it, but for the times."""
        return {b"booking_id": booking.encode(), b"user_id": user.encode(), b"zone_id": b"floor",
                b"event_id": b"gala", b"show_id": show.encode(), b"status": b"reserved",
                b"quantity": str(quantity).encode(), b"unit_price": price.encode()}


def assert_record(found, expected, ttl_s=600):
    created, expires = int(found.pop(b"created_at")), int(found.pop(b"expires_at"))
    assert found == expected and expires - created == ttl_s * 1000


@EVERY_NAME
def test_every_field_is_that_of_the_call(client, named):
    event = Event(client, named)
    for number, ttl in enumerate((600, 30, 7)):
        words = {"user": f"u-{number}", "quantity": 1 + number, "show": "late" * number,
                 "price": str(number * 5)}
        assert_record(event.reserve(f"b-{number}", ttl=ttl, **words),
                      event.record(f"b-{number}", **words), ttl)
        assert 0 < client.pttl(event.key("reservation", f"b-{number}")) <= ttl * 1000
    assert client.exists(event.blank) == 1 and client.pttl(event.blank) == -1


def test_a_blank_tells_of_nobody(client):
    event = Event(client)
    event.reserve("secret-booking", "secret-user", show="secret-show")
    assert b"secret" not in b"".join(client.hgetall(event.blank).values())


@pytest.mark.parametrize("put", [
    lambda client, key: client.set(key, "no hash"),
    lambda client, key: client.rpush(key, "no", "hash"),
    lambda client, key: client.hset(key, "booking_id", "some fields are missing"),
], ids=["text", "list", "short"])
def test_what_is_in_the_place_of_a_blank_does_no_harm(client, put):
    event = Event(client)
    put(client, event.blank)
    for booking in ("b-1", "b-2", "b-3"):
        assert_record(event.reserve(booking), event.record(booking))
    assert client.hget(event.blank, "status") == b"reserved"
    assert client.get("zone:availability:floor") == b"997"


def test_long_values_stay_with_their_own_record(client, server):
    """Redis keeps a hash with one long value in a larger form, and its copies too."""
    event, long = Event(client, ("", "{{{}}}")), "x" * 100
    event.reserve(long, long, show=long, price="0" * 100)
    event.reserve("b-1")
    answers = say(server.resp_port, f"SEATS.RESERVE gala floor {'y' * 100} zoe 1 9",
                  *[f"SEATS.RESERVE gala floor c-{n} u-{n} 1 9" for n in range(COUNT)])
    assert [answer[0] for answer in answers] == [1] * (COUNT + 1)
    for booking in ("b-1", *[f"c-{n}" for n in range(COUNT)]):
        assert client.object("encoding", event.key("reservation", booking)) != b"hashtable"


def test_a_record_of_another_program_is_no_blank(client):
    """One that has no status is none of ours: it is completed, as ever, and not copied."""
    event = Event(client)
    client.hset("reservation:b-1", "note", "of another program")
    assert event.reserve("b-1")[b"note"] == b"of another program"
    assert b"note" not in event.reserve("b-2") and b"note" not in event.reserve("b-3")


def test_a_blank_goes_with_the_event(client, server):
    say(server.resp_port, "SEATS.OPEN gala floor 9", "SEATS.RESERVE gala floor b ann 1 4")
    assert client.exists("seats:blank:{gala}")
    assert say(server.resp_port, "SEATS.RELEASE gala b", "SEATS.CLOSE gala")[1][0] == 1
    assert say(server.resp_port, "SEATS.ZONE gala floor")[0][1] == "ZONE_NOT_FOUND"
    assert not client.exists("seats:blank:{gala}")


def test_a_blank_goes_with_the_last_deadline(client):
    event = Event(client)
    event.reserve("b-1")
    client.zrem("seats:due:gala", *client.zrange("seats:due:gala", 0, -1))
    client.zadd("seats:due:gala", {"g floor ann 1 b-0 1": 1})
    event.client.delete("zone:availability:floor")
    assert Scripts(client).reserve_seats(
        ["zone:availability:floor", "user:reservations:ben:gala", "reservation:b-2"],
        [1, 4, "ben", "b-2", "floor", "gala"])[1] == b"ZONE_NOT_FOUND"
    assert not client.exists("seats:due:gala", event.blank)


def test_a_user_that_may_not_copy(client, server):
    """An access list that an older version was content with: the same is written."""
    kept = []
    lines = [f"SEATS.RESERVE gala floor b-{n} u-{n % 15} {1 + n % 2} 9 PRICE 3"
             for n in range(COUNT)]
    for rule in ("+copy", "-copy"):
        client.flushall()
        client.execute_command("ACL", "SETUSER", "default", rule)
        say(server.resp_port, "SEATS.OPEN gala floor 1000")
        assert say(server.resp_port, "SEATS.RESERVE gala floor a zoe 1 9")[0][0] == 1
        assert [answer[0] for answer in say(server.resp_port, *lines)] == [1] * COUNT
        assert client.exists("seats:blank:{gala}") == (rule == "+copy")
        kept.append({key: (without_times(sorted(client.hgetall(key).items()))
                           if client.type(key) == b"hash" else client.get(key),
                           client.pttl(key) > 0)
                     for key in client.keys() if client.type(key) in (b"hash", b"string")
                     and not key.startswith(b"seats:blank:")})
    assert kept[0] == kept[1] and len(kept[0]) > 2 * 15

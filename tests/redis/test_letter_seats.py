# SPDX-License-Identifier: Apache-2.0
"""reserve_seats, release_seats and confirm_booking, called with exactly the keys and arguments that
the scripts of the field have: on plain and on tagged names, with and without a namespace."""

import re

import pytest
import redis

from seats_caller import LAYOUTS, Field

CODE = re.compile(rb"[0-9A-HJKMNP-TV-Z]{10}")
GRACE_MS = 60_000


@pytest.fixture(params=LAYOUTS)
def field(request, store):
    program = Field(store, *LAYOUTS[request.param])
    store.set(program.key("zone:availability", "floor"), 100)  # as zones are opened in the field
    return program


@pytest.fixture
def plain(store):
    store.set("zone:availability:floor", 100)
    return Field(store, "", False)


# ---- what is granted


def test_a_booking_from_its_reserve_to_its_confirm(field):
    granted = field.reserve("b-1")
    assert granted[:3] == [1, 98, 2] and granted[4] == b"reserved"
    record = field.store.hgetall(field.key("reservation", "b-1"))
    assert {name: record[name] for name in record if not name.endswith(b"_at")} == {
        b"booking_id": b"b-1", b"user_id": b"ann", b"zone_id": b"floor", b"event_id": b"gala",
        b"show_id": b"s-1", b"quantity": b"2", b"unit_price": b"500", b"status": b"reserved"}
    assert int(record[b"expires_at"]) == granted[3] == int(record[b"created_at"]) + 600_000
    assert 595 <= field.store.ttl(field.key("reservation", "b-1")) <= 600
    assert field.reserve("b-1") == granted
    done = field.confirm("b-1", "b-1", "ann", "p-1")
    assert done[:2] == [1, b"CONFIRMED"] and CODE.fullmatch(done[2])
    assert field.store.ttl(field.key("reservation", "b-1")) == -1
    assert (field.free(), field.count()) == (98, 0)
    assert field.confirm("b-1", "b-1", "ann", "p-1") == done
    assert field.confirm("b-1", "b-1", "ann", "p-2")[:2] == [0, b"INVALID_STATE"]
    assert field.release("b-1")[:2] == [0, b"INVALID_STATE"]


def test_a_booking_from_its_reserve_to_its_release(field):
    field.reserve("b-1")
    field.reserve("b-2", quantity=1)
    assert field.release("b-1", "b-1", "ann") == [1, b"SUCCESS", 99, 1]
    assert field.release("b-1", "b-1", "ann") == [1, b"SUCCESS", 99, 1]
    assert field.release("b-2") == [1, b"SUCCESS", 100, 0]
    assert not field.store.exists(field.key("user:reservations", "ann"))
    assert field.release("b-3")[:2] == [0, b"RESERVATION_NOT_FOUND"]
    assert field.confirm("b-1")[:2] == [0, b"RESERVATION_NOT_FOUND"]
    assert field.reserve("b-1", user="bob")[:3] == [1, 98, 2]
    assert field.store.ttl(field.key("reservation", "b-1")) <= 600


def test_arguments_that_are_missing_have_their_defaults(field):
    assert field.reserve("b-1", ttl=None)[0] == 1
    assert 595 <= field.store.ttl(field.key("reservation", "b-1")) <= 600
    assert field.reserve("b-2", quantity=1, ttl="")[0] == 1
    assert 595 <= field.store.ttl(field.key("reservation", "b-2")) <= 600
    least = (1, 4, "ann", "b-3", "floor", "gala")
    short = field.run("reserve_seats", field.keys("b-3"), *least)
    assert short[:3] == [1, 96, 4]
    record = field.store.hgetall(field.key("reservation", "b-3"))
    assert (record[b"show_id"], record[b"unit_price"]) == (b"", b"0")
    assert field.run("reserve_seats", field.keys("b-3"), *least) == short
    assert field.reserve("b-4", user="bob", ttl=10**9)[0] == 1  # taken as 30 days
    assert field.store.ttl(field.key("reservation", "b-4")) == 30 * 86_400


def test_a_code_that_is_given_is_used(field):
    field.reserve("b-1")
    keys = [field.key("reservation", "b-1"), field.key("user:reservations", "ann")]
    assert field.run("confirm_booking", keys, "b-1", "ann", "p-1", "MYOWNCODE1") == [
        1, b"CONFIRMED", b"MYOWNCODE1"]


def test_codes_differ(field):
    codes = set()
    for number in range(20):
        field.reserve(f"b-{number}", user=f"u-{number}")
        codes.add(field.confirm(f"b-{number}")[2])
    assert len(codes) == 20


# ---- expiry


def test_seats_come_back_at_the_deadline_with_nobody_but_the_caller(field):
    deadline = field.reserve("b-1", quantity=4, ttl="0.05")[3]
    field.wait_past(deadline)
    assert field.confirm("b-1", "b-1", "ann")[:2] == [0, b"RESERVATION_NOT_FOUND"]
    assert field.release("b-1")[:2] == [0, b"RESERVATION_NOT_FOUND"]
    assert field.reserve("b-2", user="bob")[:3] == [1, 98, 2]  # the four are free again
    assert field.reserve("b-3")[:2] == [0, b"USER_LIMIT_EXCEEDED"]  # and count for a minute more
    assert field.count() == 4
    left = field.store.pttl(field.key("user:reservations", "ann"))
    assert GRACE_MS - 5_000 < left <= GRACE_MS


def test_a_record_that_redis_deleted_takes_no_seats_with_it(field):
    deadline = field.reserve("b-1", ttl="0.02")[3]
    field.wait_past(deadline + 5)
    assert not field.store.exists(field.key("reservation", "b-1"))  # by its TTL alone
    assert field.free() == 98
    again = field.reserve("b-1", user="bob")
    assert again[:3] == [1, 98, 2]
    assert field.store.zcount(field.key("seats:due"), again[3], again[3]) == 1
    assert field.release("b-1", user="bob") == [1, b"SUCCESS", 100, 0]


def test_the_users_count_lives_as_long_as_its_longest_hold(field):
    key = field.key("user:reservations", "ann")
    field.reserve("b-1", quantity=1, ttl=600)
    assert 600_000 < field.store.pttl(key) <= 600_000 + GRACE_MS
    field.reserve("b-2", quantity=1, ttl=10)
    assert field.store.pttl(key) > 600_000
    field.reserve("b-3", quantity=1, ttl=1000)
    assert 1_000_000 < field.store.pttl(key) <= 1_000_000 + GRACE_MS
    due = [field.key("reservation", "b-2"), field.key("seats:due")]
    field.run("extend_booking", due[:1], "b-2", 115)
    assert 110 <= field.store.ttl(due[0]) <= 115 and field.store.pttl(key) > 1_000_000
    field.run("extend_booking", [field.key("reservation", "b-1")], "b-1", 5000)
    assert 5_000_000 < field.store.pttl(key) <= 5_000_000 + GRACE_MS
    assert 4995 <= field.store.ttl(field.key("reservation", "b-1")) <= 5000


def test_a_count_for_life_does_not_expire(field):
    field.reserve("b-1", more=(1,))
    field.confirm("b-1")
    assert field.store.ttl(field.key("user:reservations", "ann")) == -1
    assert field.reserve("b-2", quantity=3)[:2] == [0, b"USER_LIMIT_EXCEEDED"]


def test_more_may_be_due_than_one_batch(field):
    """Callers from outside do not know AGAIN."""
    crowd(field, 480)
    assert field.reserve("b-1", user="bob")[:3] == [1, 100 + 480 - 2, 2]


def test_a_reserve_is_busy_while_more_is_due_than_one_call_gives_back(field):
    crowd(field, 480 + 480 + 10)
    for given_back in (480, 960):
        assert field.reserve("b-1", user="bob")[:2] == [0, b"BUSY"]
        assert not field.store.exists(field.key("reservation", "b-1"))
        assert field.store.zcard(field.key("seats:due")) == 970 - given_back
    assert field.reserve("b-1", user="bob")[:3] == [1, 100 + 970 - 2, 2]


def test_a_booking_is_found_while_more_is_due_than_one_call_gives_back(field):
    field.reserve("b-1")
    field.reserve("b-2")
    crowd(field, 1000)
    assert field.confirm("b-1")[:2] == [1, b"CONFIRMED"]
    assert field.release("b-2")[:2] == [1, b"SUCCESS"]
    assert field.store.zcard(field.key("seats:due")) == 1000 - 2 * 48


def test_a_booking_that_is_due_itself_is_not_found_whoever_comes_before_it(field):
    field.reserve("b-1")
    crowd(field, 1000)
    entry = next(name for name in field.store.zrange(field.key("seats:due"), 0, -1)
                 if name.endswith(b" b-1"))
    field.store.zadd(field.key("seats:due"), {entry: 5000})
    field.store.hset(field.key("reservation", "b-1"), "expires_at", 5000)
    assert field.confirm("b-1")[:2] == [0, b"RESERVATION_NOT_FOUND"]
    assert field.store.zscore(field.key("seats:due"), entry) == 5000


def test_a_booking_of_an_event_that_was_closed_is_not_found(field):
    field.reserve("b-1")
    names = {f"c-{number}": 0 for number in range(100)}
    field.store.zadd(field.key("seats:bookings"), names)
    field.store.zadd(field.key("seats:due"), {"c": 0})
    assert field.confirm("b-1")[:2] == [0, b"BUSY"]


def crowd(field, count):
    """Holds that fell due long ago, one seat each, which the zone is missing."""
    field.store.zadd(field.key("seats:due"),
                     {f"h floor u-{number} 1 old-{number}": 1 + number for number in range(count)})


# ---- refusals


def refused(field, code, call):
    before = field.state()
    assert call()[:2] == [0, code]
    assert field.state() == before


def test_refusals_of_a_reserve_change_nothing(field):
    field.reserve("b-1")
    for code, call in {
        b"INVALID_QUANTITY": lambda: field.reserve("b-2", quantity=0),
        b"ZONE_NOT_FOUND": lambda: field.reserve("b-2", zone="attic"),
        b"INSUFFICIENT_STOCK": lambda: field.reserve("b-2", quantity=99, most=999),
        b"USER_LIMIT_EXCEEDED": lambda: field.reserve("b-2", quantity=3),
        b"BOOKING_EXISTS": lambda: field.reserve("b-1", quantity=1),
        b"INVALID_TTL": lambda: field.reserve("b-2", ttl="soon"),
        b"INVALID_ID": lambda: field.reserve("b 2"),
    }.items():
        refused(field, code, call)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_reserve_with_the_key_of_something_else_is_refused(field, place):
    keys = field.keys("b-1")
    keys[place] = field.keys("b-2", user="bob", zone="attic")[place]
    field.store.set(field.key("zone:availability", "attic"), 5)
    refused(field, b"INVALID_ARGUMENT", lambda: field.run(
        "reserve_seats", keys, 1, 4, "ann", "b-1", "floor", "gala", "", 0, 600))


def test_keys_of_another_event_are_refused(field):
    field.reserve("b-1")
    other = field.key("seats:due", event="ball")
    refused(field, b"INVALID_ARGUMENT", lambda: field.run(
        "reserve_seats", [*field.keys("b-2"), other], 1, 4, "ann", "b-2", "floor", "gala"))
    for script in ("confirm_booking", "release_seats", "get_booking", "refund_booking"):
        refused(field, b"INVALID_ARGUMENT", lambda script=script: field.run(
            script, [field.key("reservation", "b-1"), other], "b-1", ""))


def test_a_release_and_a_confirm_of_something_else_are_refused(field):
    field.reserve("b-1")
    field.reserve("b-2", user="bob")
    field.store.set(field.key("zone:availability", "attic"), 5)
    refused(field, b"INVALID_ARGUMENT", lambda: field.release("b-1", "b-2"))
    refused(field, b"NOT_OWNER", lambda: field.release("b-1", "b-1", "bob"))
    refused(field, b"INVALID_ARGUMENT", lambda: field.release("b-1", user="bob"))
    refused(field, b"INVALID_ARGUMENT", lambda: field.run(
        "release_seats", field.keys("b-1", zone="attic"), "b-1", "ann"))
    refused(field, b"INVALID_ARGUMENT", lambda: field.confirm("b-1", "b-2"))
    refused(field, b"NOT_OWNER", lambda: field.confirm("b-1", "b-1", "bob"))
    keys = [field.key("reservation", "b-1"), field.key("user:reservations", "bob")]
    refused(field, b"INVALID_ARGUMENT", lambda: field.run("confirm_booking", keys))


def test_plain_bookings_of_two_events_do_not_meet(plain):
    plain.reserve("b-1")
    refused(plain, b"BOOKING_EXISTS", lambda: plain.reserve("b-1", event="ball"))
    plain.release("b-1")
    deadline = plain.reserve("b-1", ttl="0.02")[3]
    plain.wait_past(deadline + 5)
    assert plain.reserve("b-1", event="ball", quantity=1)[:3] == [1, 97, 1]
    assert plain.reserve("b-9", user="bob")[:3] == [1, 97, 2]  # takes back what gala's b-1 had
    assert plain.store.hget("reservation:b-1", "event_id") == b"ball"
    assert plain.run("confirm_booking", ["reservation:b-1"])[:2] == [1, b"CONFIRMED"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_key_of_another_type_is_an_error_that_changes_nothing(field, place):
    field.reserve("b-1")
    for call in (field.reserve, field.release, field.confirm):
        booking = "b-2" if call == field.reserve else "b-1"
        key = field.keys(booking)[place]
        kept = field.store.dump(key)
        field.store.delete(key)
        field.store.rpush(key, "x")
        before = field.state()
        if call == field.confirm and place == 0:
            assert call(booking)[0] == 1  # it needs no key of the zone
            field.store.delete(key)
            continue
        with pytest.raises(redis.ResponseError):
            call(booking)
        assert field.state() == before
        field.store.delete(key)
        if kept:
            field.store.restore(key, 0, kept)

# SPDX-License-Identifier: Apache-2.0
"""The indexes of an event in Redis name its zones and the bookings that are confirmed and, from the
first list on, reserved, whichever way a booking comes and goes."""

import time

from harness import Build, run


def bookings(store):
    return [name.decode() for name in store.zrange("seats:bookings:{gala}", 0, -1)]


def expire(store, booking):
    """Waits until Redis' own clock is past the booking's deadline."""
    deadline = int(store.hget(f"reservation:{{gala}}:{booking}", "expires_at"))
    while True:
        seconds, micros = store.time()
        left_ms = deadline - (seconds * 1000 + micros // 1000)
        if left_ms < 0:
            return
        time.sleep((left_ms + 1) / 1000)


def test_zones_are_named_once(do, store):
    for line in ("SEATS.OPEN gala floor 10", "SEATS.OPEN gala balcony 5",
                 "SEATS.OPEN gala floor 8"):
        do(line)
    assert store.zrange("seats:zones:{gala}", 0, -1, withscores=True) == [
        (b"balcony", 0), (b"floor", 0)]


def test_a_zone_that_is_refused_is_not_named(do, store):
    do("SEATS.OPEN gala floor 10")
    do("SEATS.RESERVE gala floor b1 ann 5 9")
    store.delete("seats:zones:{gala}")
    assert do("SEATS.OPEN gala floor 4")[1] == b"CAPACITY_IN_USE"
    assert not store.exists("seats:zones:{gala}")


def listed(do):
    """The names that a list gives, page by page."""
    names, cursor = [], b""
    while True:
        after = f" AFTER {cursor.decode()}" if cursor else ""
        cursor, *page = do("SEATS.LIST gala COUNT 100" + after)
        names += [booking[1].decode() for booking in page]
        if not cursor:
            return names


def test_a_reserved_booking_is_named_from_the_first_list_on(do, store):
    do("SEATS.OPEN gala floor 10")
    assert listed(do) == []
    for booking in ("b1", "b2"):
        do(f"SEATS.RESERVE gala floor {booking} ann 1 9")
    do("SEATS.CONFIRM gala b2")
    assert bookings(store) == ["b2"]
    assert listed(do) == ["b1", "b2"] == bookings(store)
    do("SEATS.RESERVE gala floor b3 ann 1 9")
    assert bookings(store) == ["b1", "b2", "b3"] == listed(do)


def test_the_first_list_names_any_number_of_bookings(do, store):
    """More than one call of the script adds, and more of one moment than that."""
    do("SEATS.OPEN gala floor 10000")
    names = [f"b{number:04}" for number in range(900)]
    for name in names:
        do(f"SEATS.RESERVE gala floor {name} ann 1 9999")
    for name in names[100:600]:
        store.zadd("seats:due:{gala}", {f"h floor ann 1 {name}": 2e12})
    assert listed(do) == names == bookings(store)
    assert store.hgetall("seats:rules:{gala}") == {b"listed": b"1"}


def test_a_booking_is_named_while_it_is_reserved_or_confirmed(do, store):
    do("SEATS.OPEN gala floor 10")
    do("SEATS.RESERVE gala floor b0 ann 1 9")
    assert listed(do) == ["b0"]
    do("SEATS.RELEASE gala b0")
    for booking in ("b1", "b2", "b3"):
        do(f"SEATS.RESERVE gala floor {booking} ann 1 9")
    assert do("SEATS.RESERVE gala floor b4 ann 99 999")[0] == 0
    assert bookings(store) == ["b1", "b2", "b3"]
    do("SEATS.CONFIRM gala b1")
    do("SEATS.RELEASE gala b2")
    assert bookings(store) == ["b1", "b3"]
    do("SEATS.CONFIRM gala b3")
    do("SEATS.REFUND gala b3")
    assert bookings(store) == ["b1"]
    do("SEATS.RESERVE gala floor b3 ann 1 9")
    do("SEATS.RESERVE gala floor b2 ann 1 9")
    assert bookings(store) == ["b1", "b2", "b3"]


def test_an_expired_booking_is_no_longer_named(do, store):
    do("SEATS.OPEN gala floor 10")
    do("SEATS.RESERVE gala floor long ann 1 9")
    do("SEATS.RESERVE gala floor short ann 1 9 TTL 10ms")
    assert listed(do)[0] == "long"
    expire(store, "short")
    do("SEATS.ZONE gala floor")
    assert bookings(store) == ["long"]


def test_keys_that_a_caller_leaves_out_are_made(do, store):
    """Programs that call the scripts with the keys of older versions."""
    def script(name):
        return store.register_script((Build().path / "lua" / f"{name}.lua").read_text())

    zone = "zone:availability:{gala}:main:floor"
    totals, due = "zone:totals:{gala}:main:floor", "seats:due:{gala}"
    assert script("open_zone")([zone, totals, due], ["10"]) == [1, 10, 10]
    reply = script("reserve_seats")(
        [zone, "user:reservations:{gala}:ann", "reservation:{gala}:b1", due,
         "user:confirmed:{gala}:ann"],
        [2, 4, "ann", "b1", "main:floor", "gala", "", 0, 600, 0])
    assert reply[:3] == [1, 8, 2]
    assert store.zrange("seats:zones:{gala}", 0, -1) == [b"main:floor"]
    assert store.zrange(due, 0, -1) == [b"h main:floor ann 2 b1"]
    store.hset("seats:rules:{gala}", "max:main:floor", 3)
    reply = script("reserve_seats")(
        [zone, "user:reservations:{gala}:ann", "reservation:{gala}:b2", due,
         "user:confirmed:{gala}:ann"],
        [2, 4, "ann", "b2", "main:floor", "gala", "", 0, 600, 0])
    assert reply[:2] == [0, b"USER_LIMIT_EXCEEDED"]


def test_arguments_that_a_caller_leaves_out_have_their_defaults(do, store):
    do("SEATS.OPEN gala floor 10")
    reserve = store.register_script((Build().path / "lua" / "reserve_seats.lua").read_text())

    def call(booking):
        return reserve(["zone:availability:{gala}:floor", "user:reservations:{gala}:ann",
                        f"reservation:{{gala}}:{booking}", "seats:due:{gala}",
                        "user:confirmed:{gala}:ann"],
                       [2, 9, "ann", booking, "floor", "gala", "", 0, 600])

    first = call("b1")
    assert first[:3] == [1, 8, 2]
    assert call("b1") == first
    do("ROOM.OPEN gala GATE")
    assert call("b1") == first
    assert call("b2")[:2] == [0, b"NOT_ADMITTED"]
    assert listed(do) == ["b1"]


def test_refunds_may_sum_up_to_more_than_redis_can_count(do, store, standalone):
    """As often as it takes that all seats ever refunded are more than 64 bits hold."""
    most = 2**53 - 1
    do(f"SEATS.OPEN gala floor {most}")
    for i in range(1026):
        do(f"SEATS.RESERVE gala floor b{i} ann {most} {most} LIFETIME")
        do(f"SEATS.CONFIRM gala b{i}")
        assert do(f"SEATS.REFUND gala b{i}") == [1, b"REFUNDED", most]
    assert do("SEATS.USER gala ann") == [0, 0]
    assert run(Build().program, "audit", standalone.url).code == 0

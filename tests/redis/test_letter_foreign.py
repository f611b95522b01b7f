# SPDX-License-Identifier: Apache-2.0
"""Bookings and zones that the scripts of the field left behind when their files were replaced by
ours: released, confirmed or refused, and no seat is lost or counted twice by that."""

from pathlib import Path

import pytest

from seats_caller import LAYOUTS, Field

USUAL = Path(__file__).resolve().parent.parent.parent / "bench" / "reserve_usual.lua"


@pytest.fixture(params=LAYOUTS)
def field(request, store):
    """Two seats of 100 are held by a booking that the usual script made."""
    program = Field(store, *LAYOUTS[request.param])
    store.set(program.key("zone:availability", "floor"), 100)
    usual = store.register_script(USUAL.read_text())
    granted = usual(program.keys("b-1"), [2, 4, "ann", "b-1", "floor", "gala", "", 0, 600])
    assert granted == [1, 98, 2]
    return program


def zone(field):
    """Of get_zone: capacity, available, reserved, confirmed."""
    keys = [field.key("zone:availability", "floor"), field.key("zone:totals", "floor"),
            field.key("seats:due")]
    return field.run("get_zone", keys)[1:8:2]


def open_zone(field, capacity):
    keys = [field.key("zone:availability", "floor"), field.key("zone:totals", "floor"),
            field.key("seats:due")]
    return field.run("open_zone", keys, capacity)


def test_such_a_booking_is_released_once(field):
    assert field.release("b-1", "b-1", "ann") == [1, b"SUCCESS", 100, 0]
    assert field.release("b-1", "b-1", "ann") == [1, b"SUCCESS", 100, 0]
    assert field.confirm("b-1")[:2] == [0, b"RESERVATION_NOT_FOUND"]


def test_such_a_booking_is_confirmed_for_good(field):
    done = field.confirm("b-1", "b-1", "ann", "p-1")
    assert done[:2] == [1, b"CONFIRMED"] and field.confirm("b-1", "b-1", "ann", "p-1") == done
    assert field.store.ttl(field.key("reservation", "b-1")) == -1
    assert (field.free(), field.count()) == (98, 0)
    assert zone(field) == [100, 98, 0, 2]
    refund = field.run("refund_booking", [field.key("reservation", "b-1")], "b-1", "")
    assert refund == [1, b"REFUNDED", 100] and zone(field) == [100, 100, 0, 0]


def test_the_same_reserve_again_finds_it(field):
    again = field.reserve("b-1")
    assert again[:2] == [0, b"BOOKING_EXISTS"]  # with another SHOW
    keys, arguments = field.keys("b-1"), [2, 4, "ann", "b-1", "floor", "gala", "", 0, 600]
    assert field.run("reserve_seats", keys, *arguments)[:3] == [1, 98, 2]
    assert (field.free(), field.count()) == (98, 2)


def test_it_is_read_and_not_extended(field):
    keys = [field.key("reservation", "b-1")]
    found = field.run("get_booking", keys, "b-1")
    assert dict(zip(found[::2], found[1::2]))[b"status"] == b"reserved"
    assert field.run("extend_booking", keys, "b-1", 900)[:2] == [0, b"INVALID_STATE"]


def test_its_users_limit_still_counts_it(field):
    assert field.reserve("b-2", quantity=3)[:2] == [0, b"USER_LIMIT_EXCEEDED"]
    assert field.reserve("b-2")[:3] == [1, 96, 4]
    assert field.release("b-1") == [1, b"SUCCESS", 98, 2]


@pytest.mark.parametrize("change", [("HDEL", "quantity"), ("HSET", "quantity", "two"),
                                    ("HDEL", "zone_id"), ("HDEL", "user_id"),
                                    ("HSET", "status", "cancelled")])
def test_a_record_that_does_not_say_what_it_holds_is_refused(field, change):
    command, *words = change
    field.store.execute_command(command, field.key("reservation", "b-1"), *words)
    before = field.state()
    for reply in (field.release("b-1"), field.confirm("b-1")):
        assert reply[0] == 0 and reply[1] in (b"INVALID_STATE", b"INVALID_ARGUMENT")
    assert field.state() == before


def test_a_zone_that_was_set_has_the_capacity_that_is_known(field):
    field.release("b-1")
    assert zone(field) == [100, 100, 0, 0]
    field.reserve("b-2")
    field.reserve("b-3", user="bob", quantity=1)
    field.confirm("b-3")
    assert zone(field) == [100, 97, 2, 1]
    assert open_zone(field, 2)[:2] == [0, b"CAPACITY_IN_USE"]
    assert open_zone(field, 110) == [1, 107, 110] and zone(field) == [110, 107, 2, 1]


def test_a_former_booking_adds_to_the_capacity_of_a_zone_opened_without_it(field):
    assert open_zone(field, 98) == [1, 98, 98]
    assert field.release("b-1") == [1, b"SUCCESS", 100, 0] and zone(field) == [100, 100, 0, 0]

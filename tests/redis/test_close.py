# SPDX-License-Identifier: Apache-2.0
"""An event that is closed in Redis: nothing of it stays, however large it was and whoever goes on
with what one call left behind."""

import pytest
import redis

from harness import Build, run
from server import Server

KEYS = [f"seats:{kind}:{{gala}}" for kind in ("due", "rules", "bookings", "zones")]


@pytest.fixture
def close(store):
    """One call of the script, as by an engine that is lost afterwards."""
    text = (Build().path / "lua" / "close_event.lua").read_text()
    return lambda force=1: store.eval(text, len(KEYS), *KEYS, force)


def sell(do, count, zones=1):
    for zone in range(zones):
        do(f"SEATS.OPEN gala z{zone} 1000")
    for i in range(count):
        do(f"SEATS.RESERVE gala z{i % zones} b{i} u{i} 1 9 LIFETIME")
        do(f"SEATS.CONFIRM gala b{i}")


def left(store):
    """The keys of the event that Redis will not delete by itself."""
    return sorted(key for key in store.keys("*{gala}*") if store.ttl(key) == -1)


def test_a_small_event_is_gone_with_one_call(do, store, close):
    sell(do, 20, zones=3)
    assert close() == [1, 20, 3]
    assert left(store) == []


def test_any_command_goes_on_with_what_a_lost_engine_left(do, store, close):
    sell(do, 450, zones=2)
    assert close() == [1, 450, 2]
    assert store.zscore(KEYS[0], "c") == 0
    assert do("SEATS.GET gala b449")[1] == b"RESERVATION_NOT_FOUND"
    assert left(store) == []


def test_closing_again_finishes_it(do, store, close):
    sell(do, 450)
    close()
    assert do("SEATS.CLOSE gala") == [1, 0, 0]
    assert left(store) == []


def test_an_event_opened_meanwhile_has_nothing_of_the_old_one(do, store, close):
    sell(do, 450)
    close()
    assert do("SEATS.OPEN gala z0 5") == [1, 5, 5]
    assert do("SEATS.USER gala u3") == [0, 0]
    assert do("SEATS.RESERVE gala z0 b3 u3 5 5")[:2] == [1, 0]


def test_the_audit_has_nothing_to_say_in_the_middle(do, standalone, store, close):
    sell(do, 450, zones=2)
    close()
    assert run(Build().program, "audit", standalone.url).code == 0
    assert store.zscore(KEYS[0], "c") == 0


def test_the_worker_goes_on_by_itself(standalone, store, close, do):
    sell(do, 450)
    close()
    with Server("--engine", standalone.url, memory=True):
        while left(store):
            pass


def test_seats_of_many_zones_are_summed_up_in_several_calls(do, store):
    for zone in range(250):
        do(f"SEATS.OPEN gala z{zone:03} 10")
    do("SEATS.RESERVE gala z249 b u 3 9")
    assert do("SEATS.CLOSE gala")[1] == b"INVALID_STATE"
    assert b"3 seats" in do("SEATS.CLOSE gala FORCE")[2]
    assert not store.hexists(KEYS[1], "closing")
    do("SEATS.RELEASE gala b")
    assert do("SEATS.CLOSE gala") == [1, 0, 250]
    do("SEATS.CLOSE gala")
    assert left(store) == []


def test_a_reserve_in_the_middle_of_the_sum_is_counted(do, store, close):
    for zone in range(250):
        do(f"SEATS.OPEN gala z{zone:03} 10")
    with pytest.raises(redis.ResponseError, match="AGAIN"):
        close()
    assert store.hexists(KEYS[1], "closing")
    do("SEATS.RESERVE gala z000 b u 2 9")
    assert not store.hexists(KEYS[1], "closing")
    assert b"2 seats" in do("SEATS.CLOSE gala FORCE")[2]

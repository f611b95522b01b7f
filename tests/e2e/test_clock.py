# SPDX-License-Identifier: Apache-2.0
"""A server on a machine whose wall clock is wrong, and is set while it runs or while it is down:
what was told expired stays expired, fences only grow, and durations keep their length."""

import re
import time

import pytest

from harness import run
from server import Server, wait_until
from shifted_clock import CountedSyncs, ShiftedClock, both

MISSING = "RESERVATION_NOT_FOUND"


@pytest.fixture
def clock():
    return ShiftedClock()


@pytest.fixture
def server(clock, tmp_path):
    with Server(directory=tmp_path / "data", env=clock.env) as started:
        yield started


def crash(server, clock, boot, **shift):
    """Kills it and starts it again, with another time of day, and perhaps on another boot."""
    server.kill()
    clock.shift(**shift)
    if boot == "other boot":
        clock.boot()
    server.env = clock.env
    server.start()


def metric(server, name):
    text = server.call("METRICS")
    return float(re.search(rf"(?m)^holdfast_{name} (\S+)$", text)[1])


def is_held(server, booking):
    answer = server.call("SEATS.GET", "gala", booking)
    assert answer[0] != 0 or answer[1] == MISSING, answer
    return answer[0] != 0


def reserve(server, booking, ttl):
    server.call("SEATS.OPEN", "gala", "floor", 1000)
    assert server.call("SEATS.RESERVE", "gala", "floor", booking, "ann", 1, 100, "TTL", ttl)[0] == 1


both_boots = pytest.mark.parametrize("boot", ["same boot", "other boot"])


# ---- what was told stays -----------------------------------------------------------------------


@both_boots
def test_a_slot_that_was_handed_on_stays_handed_on(server, clock, boot):
    """The holder dies, the waiter gets its slot and reads so; then the server is killed."""
    first = server.call("SEM.ACQUIRE", "gate", "dead", 1, "HEARTBEAT", "300ms")
    with server.connect() as waiter:
        granted = waiter.call("SEM.ACQUIRE", "gate", "alive", 1, "WAIT", 60000)
        assert granted[:2] == [1, 1] and granted[2] > first[2]
        crash(server, clock, boot, seconds=-30)
    assert server.call("SEM.PING", "gate", "dead", 10, 60) == [0, 0]
    assert server.call("SEM.ACQUIRE", "gate", "alive", 1) == granted
    assert server.call("SEM.ACQUIRE", "gate", "next", 1)[1] == "NO_SLOT"
    assert server.call("SEM.RELEASE", "gate", "alive") == 1
    assert server.call("SEM.ACQUIRE", "gate", "next", 1)[2] > granted[2]


@both_boots
def test_a_booking_that_was_told_gone_stays_gone(server, clock, boot):
    reserve(server, "b", "100ms")
    wait_until(lambda: not is_held(server, "b"))
    crash(server, clock, boot, seconds=-30)
    assert server.call("SEATS.CONFIRM", "gala", "b")[1] == MISSING
    assert server.call("SEATS.ZONE", "gala", "floor")[3] == 1000


@both_boots
def test_a_refusal_that_showed_it_counts_too(server, clock, boot):
    """Releasing somebody else's booking is refused, and then says that there is none."""
    reserve(server, "b", "100ms")
    wait_until(lambda: server.call("SEATS.RELEASE", "gala", "b", "USER", "bob")[1] == MISSING)
    crash(server, clock, boot, seconds=-30)
    assert server.call("SEATS.CONFIRM", "gala", "b")[1] == MISSING


def test_reading_writes_nothing_while_nothing_falls_due(server):
    reserve(server, "b", "60s")
    segment = max(server.directory.glob("journal-*"))
    before = segment.read_bytes()
    for _ in range(100):
        assert is_held(server, "b")
        server.call("INFO")
    assert segment.read_bytes() == before
    assert metric(server, "ticks_total") == 0


# ---- durations keep their length ---------------------------------------------------------------


@both_boots
@pytest.mark.parametrize("ahead", [{"hours": 1}, {"years": 10}], ids=["an hour", "ten years"])
def test_a_run_with_a_clock_ahead_does_not_stop_time(server, clock, boot, ahead):
    crash(server, clock, boot, **ahead)
    reserve(server, "before", "30s")
    crash(server, clock, boot, **{unit: -number for unit, number in ahead.items()})
    began = time.monotonic()
    reserve(server, "b", "2s")
    assert is_held(server, "b") and is_held(server, "before")
    wait_until(lambda: not is_held(server, "b"))
    assert time.monotonic() - began >= 1.9
    assert is_held(server, "before")
    apart = "1 hour|59 minutes" if "hours" in ahead else "10 years|9 years 364 days"
    wait_until(lambda: re.search(rf"warning.*the wall clock is ({apart}).* behind", server.said()))
    offset = metric(server, "clock_offset_seconds")
    expected = 3600 if "hours" in ahead else 10 * 365 * 86400
    assert abs(offset - expected) < 60


@both_boots
def test_a_clock_set_ahead_between_two_runs_is_followed(server, clock, boot):
    reserve(server, "b", "30m")
    crash(server, clock, boot, hours=1)
    assert not is_held(server, "b")
    assert abs(metric(server, "clock_offset_seconds")) < 1
    said = "set ahead by 1 hour" if boot == "same boot" else "the last record is 1 hour old"
    wait_until(lambda: re.search(said, server.said()))


@pytest.mark.parametrize("hours", [-1, 1, -87600, 87600])
def test_a_step_of_the_wall_clock_moves_no_deadline(server, clock, hours):
    reserve(server, "long", "30m")
    reserve(server, "short", "1s")
    clock.shift(hours=hours)
    assert is_held(server, "long")
    wait_until(lambda: not is_held(server, "short"))
    assert is_held(server, "long")
    assert abs(metric(server, "clock_offset_seconds") + hours * 3600) < 60


def test_time_passes_while_the_server_is_down(server, clock):
    """On the same boot, whatever the wall clock says."""
    reserve(server, "short", "1s")
    reserve(server, "long", "30m")
    due = time.monotonic() + 1
    server.kill()
    clock.shift(hours=-5)
    wait_until(lambda: time.monotonic() > due)
    server.start()
    assert not is_held(server, "short") and is_held(server, "long")


@pytest.mark.parametrize("years", [-100, 5000])
def test_a_clock_that_cannot_be_right_is_refused(clock, tmp_path, years):
    clock.shift(years=years)
    with Server(directory=tmp_path / "data", env=clock.env, start=False) as server:
        with pytest.raises(AssertionError, match="the clock cannot be right"):
            server.start()


def test_everysec_syncs_whatever_the_clock_says(clock, tmp_path):
    syncs = CountedSyncs()
    clock.shift(hours=1)
    with Server("--fsync", "everysec", directory=tmp_path / "data",
                env=both(clock, syncs)) as server:
        reserve(server, "b", "60s")
        server.kill()
        clock.shift(hours=-1)
        clock.boot()
        server.env = both(clock, syncs)
        server.start()
        before = syncs.count

        def synced_twice():
            server.call("QUOTA.LIMIT", "acme", 1)
            return syncs.count >= before + 2

        wait_until(synced_twice)


# ---- fences ------------------------------------------------------------------------------------


def fence_of(server, name):
    return server.call("LOCK.TRY", name, 60)[1]


def test_fences_grow_after_a_backup_is_restored(server, clock, tmp_path):
    fence_of(server, "before")
    assert run(server.program, "backup", server.directory, tmp_path / "backup").code == 0
    highest = max(fence_of(server, f"after-{i}") for i in range(100))
    server.stop()
    clock.shift(hours=-2)
    clock.boot()
    assert run(server.program, "restore", tmp_path / "backup", tmp_path / "restored").code == 0
    with Server(directory=tmp_path / "restored", env=clock.env) as restored:
        assert fence_of(restored, "next") > highest


def test_fences_grow_over_restarts_in_memory(clock):
    with Server(memory=True, env=clock.env) as server:
        fences = [fence_of(server, "a"), fence_of(server, "b")]
        server.restart("kill")
        assert fence_of(server, "c") > max(fences)

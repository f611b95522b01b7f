# SPDX-License-Identifier: Apache-2.0
"""What semaphores note for themselves: it stays as long as somebody may come for it, not longer."""

import time

import pytest
import redis

from harness import Build
from servers import wait_until

PARTS = ("main", "ttl", "max", "waiting", "waiting_heartbeat", "own", "fence")
GARBAGE = 300     # of each kind: enough for the sweep to begin
SWEPT_FROM = 100  # as many may stay
SWEEPS = 150      # clients that join the line, each of which sweeps a few
RETRY_WINDOW_S = 300
DAY_S = 86400
WAITERS = 7       # one more than a call grants slots to


@pytest.fixture
def sem(store):
    """sem(script, …): a script of the engine on one semaphore."""
    folder = Build().path / "lua"
    scripts = {path.stem: store.register_script(path.read_text()) for path in folder.glob("*.lua")}
    front = {"queue": ["waiting", "waiting_heartbeat"],
             "wake_up_nexts": ["main", "ttl", "waiting", "waiting_heartbeat"],
             "release": ["main", "ttl", "waiting", "waiting_heartbeat"],
             "ping": ["waiting", "waiting_heartbeat", "main", "ttl"]}

    def run(script, *arguments):
        first = front.get(script, [])
        parts = first + [part for part in PARTS if part not in first]
        return scripts[script](keys=[f"adv-sem:semaphore_{part}:gpu" for part in parts],
                               args=arguments)
    return run


@pytest.fixture
def own(store):
    return lambda: store.hgetall("adv-sem:semaphore_own:gpu")


def refused_in_line(sem):
    """A call that waits for 3 slots when the limit becomes 2: its answer waits for it."""
    sem("acquire_slot", "holder", 3, 180, DAY_S, 0, "t-0", "", 10)
    assert sem("acquire_slot", "wide", 3, 180, DAY_S, 600, "t-1", "answers", 600, 3)[0] == 2
    assert sem("wake_up_nexts", 2, 180, DAY_S) == 0


def sweep(store, sem):
    """Notes on ids that are long gone, answers that are too old, and clients enough to find them.
    How many of them are left."""
    old = f"{(time.time() - RETRY_WINDOW_S - 1) * 1000:.0f}"
    store.hset("adv-sem:semaphore_own:gpu", mapping={
        **{f"gone-{n}": "H 180000 86400000 1000 1000  1 1 1000" for n in range(GARBAGE)},
        **{f"{{gone-{n} t}}": f"1 1000 {old}" for n in range(GARBAGE)},
        **{f"{{refused-{n} t}}": f"R 3 2 {old}" for n in range(GARBAGE)}})
    for n in range(SWEEPS):
        sem("queue", f"c-{n}", 180, DAY_S)
        sem("release", f"c-{n}")
    fields = store.hkeys("adv-sem:semaphore_own:gpu")
    return sum(b"gone" in field or b"refused" in field for field in fields)


def test_an_answer_that_a_call_may_come_for_survives_the_sweep(store, sem, own):
    refused_in_line(sem)
    sweep(store, sem)
    assert sem("await_slot", "wide", "t-1", 10, 0)[:2] == [0, b"INVALID_QUANTITY"]
    assert not any(field.startswith(b"{wide") for field in own())


def test_what_nobody_comes_for_goes_in_the_end(store, sem):
    refused_in_line(sem)
    assert sweep(store, sem) < SWEPT_FROM + 10


@pytest.mark.parametrize("field", ["{handing on}", "{behind}", "{woken}", "{limit}", "{pattern}",
                                   "{mending}"])
def test_what_is_noted_of_the_semaphore_itself_survives_the_sweep(store, sem, own, field):
    """Whatever a number in it looks like."""
    sem("acquire_slot", "holder", 1, 180, DAY_S, 0, "t-0", "", 10)
    sem("queue", "first", 180, DAY_S)
    value = "1" if field != "{pattern}" else "l:@@@ACQUISITION_ID@@@"
    store.hset("adv-sem:semaphore_own:gpu", field, value)
    assert sweep(store, sem) < SWEPT_FROM + 10
    if field not in ("{handing on}", "{behind}"):  # which the next call deals with
        assert own().get(field.encode()) == value.encode()


def test_notes_on_clients_survive_the_sweep(store, sem, own):
    sem("acquire_slot", "holder", 1, 180, DAY_S, 0, "t-0", "", 10)
    assert sem("acquire_slot", "first", 1, 180, DAY_S, 600, "t-1", "answers", 600)[0] == 2
    before = own()
    sweep(store, sem)
    after = own()
    assert before[b"holder"] == after[b"holder"] and before[b"first"] == after[b"first"]
    assert sem("release", "holder") == 1
    assert sem("await_slot", "first", "t-1", 10, 0)[:2] == [1, 1]


# ---- fences


def test_a_fence_is_forgotten_in_the_end_and_never_goes_back(store, sem):
    fences = []
    for n, ttl in enumerate((1, 3600, 30 * DAY_S, 1)):
        reply = sem("acquire_slot", f"c-{n}", 1, 180, ttl, 0, f"t-{n}", "", 10)
        fences.append(reply[2])
        left = store.ttl("adv-sem:semaphore_fence:gpu")
        assert ttl < left <= 31 * DAY_S
        assert sem("release", f"c-{n}") == 1
    store.delete("adv-sem:semaphore_fence:gpu")
    wait_until(lambda: store.time()[0] * 10 ** 6 + store.time()[1] > fences[-1] + 1000,
               "the clock goes on")  # fences are about the time in microseconds
    fences.append(sem("acquire_slot", "later", 1, 180, 60, 0, "t", "", 10)[2])
    assert fences == sorted(set(fences))


@pytest.mark.parametrize("way", ["queue and wake", "hand on", "confirm a stranger"])
def test_no_key_of_a_semaphore_is_there_for_ever(store, sem, way):
    if way == "queue and wake":
        sem("queue", "a", 180, DAY_S)
        sem("wake_up_nexts", 1, 180, DAY_S)
    elif way == "hand on":
        sem("acquire_slot", "h", 1, 180, DAY_S, 0, "t-0", "", 10)
        sem("queue", "a", 180, DAY_S)
        sem("release", "h")
    else:
        store.zadd("adv-sem:semaphore_main:gpu", {"a": time.time() + 60})
        assert sem("acquire", "a", 2, 180, DAY_S) == [1, 1]
    keys = store.keys()
    assert b"adv-sem:semaphore_fence:gpu" in keys
    assert [key for key in keys if store.ttl(key) < 0] == []


def woken_in_two_calls(sem):
    """A WAKE that has to be called again, since more wait than one call grants slots to."""
    sem("acquire_slot", "holder", 1, 180, DAY_S, 0, "t-0", "", 10)
    for n in range(WAITERS):
        sem("acquire_slot", f"w-{n}", 1, 180, DAY_S, 600, f"t-w{n}", "answers", 600)
    with pytest.raises(redis.ResponseError, match="AGAIN"):
        sem("wake_up_nexts", 100, 180, DAY_S)


def test_a_wake_counts_who_got_its_slot_by_itself_between_its_calls(sem, own):
    woken_in_two_calls(sem)
    assert sem("await_slot", f"w-{WAITERS - 1}", f"t-w{WAITERS - 1}", 10, 0)[0] == 1
    sem("acquire_slot", "late", 100, 180, DAY_S, 0, "t-1", "", 10)  # by itself, and not woken
    assert sem("wake_up_nexts", 100, 180, DAY_S) == WAITERS
    assert b"{woken}" not in own()
    assert sem("wake_up_nexts", 100, 180, DAY_S) == 0


def test_a_wake_that_nobody_called_again_is_not_counted_for_ever(store, sem, own):
    woken_in_two_calls(sem)
    store.hset("adv-sem:semaphore_own:gpu", "{woken}", "W 6 1000")
    sweep(store, sem)
    assert own()[b"{woken}"].startswith(b"W ")
    assert sem("wake_up_nexts", 100, 180, DAY_S) < WAITERS
    assert b"{woken}" not in own()

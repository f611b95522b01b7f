# SPDX-License-Identifier: Apache-2.0
"""Another program lets the keys of a semaphore expire by its own TTL: our clients outlive it."""

import pytest

from other_client import OtherClient
from server import Server
from servers import RedisServer, wait_until

HALF_A_DAY_MS = 43_200_000
KNOWN = ("main", "ttl", "waiting", "waiting_heartbeat", "max")
MANY = 250  # more than one call puts back


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def server(redis):
    with Server("--engine", redis.url, memory=True) as server:
        yield server


@pytest.fixture
def name(request):
    return "".join(c if c.isalnum() else "-" for c in request.node.name)


@pytest.fixture
def hasty(redis, name):
    """A client of the other program whose keys last for a second."""
    return lambda identity, limit=2, **more: OtherClient(
        redis.client(), name, identity, limit, heartbeat_s=1, ttl_s=1, slack_s=0, **more)


@pytest.fixture
def sem(server, name):
    """sem(command, …) on the test's semaphore."""
    return lambda command, *words: server.call(f"SEM.{command}", name, *words)


@pytest.fixture
def lose(redis, name):
    """lose(part, …): these keys are gone, as when somebody's TTL on them is over."""
    return lambda *parts: redis.client().delete(*[f"adv-sem:semaphore_{part}:{name}"
                                                  for part in parts])


def key_of(name, part):
    return f"adv-sem:semaphore_{part}:{name}"


def members(redis, name, part):
    """Without the one that says when the key was made."""
    return {member: score for member, score in redis.client().zrange(
        key_of(name, part), 0, -1, withscores=True) if member != b"{kept}"}


def gone(redis, name, part):
    wait_until(lambda: not redis.client().exists(key_of(name, part)), f"{part} expires")


def test_a_holder_of_ours_outlives_a_short_ttl(redis, sem, name, hasty):
    granted = sem("ACQUIRE", "ours", 2)
    assert granted[0] == 1
    theirs = hasty("theirs")
    assert theirs.acquire() and theirs.card() == 2
    theirs.ping()
    for part in ("main", "ttl", "max"):
        gone(redis, name, part)
    assert theirs.card() == 0  # the other program cannot know better
    assert sem("PING", "ours", 180, 86400) == [0, 1]
    assert sem("STATS") == ["in_use", 1, "max", 2, "waiting", 0]
    assert sem("ACQUIRE", "ours", 2)[2] == granted[2]
    late = hasty("late", limit=1)
    late.queue()
    assert late.wake() == 0 and late.card() == 1
    late.release()
    assert sem("RELEASE", "ours") == 1


def test_a_sign_of_life_keeps_the_keys_from_expiring(redis, sem, name, hasty):
    assert sem("ACQUIRE", "ours", 2)[0] == 1
    theirs = hasty("theirs")
    assert theirs.acquire()
    theirs.ping()
    assert redis.client().pttl(key_of(name, "main")) <= 1000
    assert sem("PING", "ours", 180, 86400) == [0, 1]
    for part in ("main", "ttl", "own", "names", "max"):
        assert redis.client().pttl(key_of(name, part)) > HALF_A_DAY_MS, part
    assert theirs.release() == 1 and sem("RELEASE", "ours") == 1


@pytest.mark.parametrize("lost", [("main",), ("ttl",), ("main", "ttl"), ("main", "ttl", "max"),
                                  KNOWN])
@pytest.mark.parametrize("call", ["CARD", "STATS", "ACQUIRE", "PING", "QUEUE"])
def test_any_command_puts_holders_back(redis, sem, name, lose, lost, call):
    fences = [sem("ACQUIRE", f"ours-{n}", 4, "SLOTS", n, "TTL", 3600)[2] for n in (1, 2)]
    ends, beats = members(redis, name, "ttl"), members(redis, name, "main")
    lose(*lost)
    words = {"ACQUIRE": ["ours-2", 4, "SLOTS", 2, "TTL", 3600], "PING": ["ours-2", 180, 3600],
             "QUEUE": ["ours-2", 60, 60]}.get(call, [])
    sem(call, *words)
    assert sem("CARD") == 3
    assert sem("ACQUIRE", "more", 4, "SLOTS", 2)[1] == "NO_SLOT"
    assert sem("STATS")[3] == 4
    assert redis.client().zcard(key_of(name, "main")) == 3
    if call != "PING":
        assert members(redis, name, "main") == beats
    for n in (1, 2):
        assert sem("PING", f"ours-{n}", 180, 3600) == [0, 1]
    assert members(redis, name, "ttl") == ends
    for n in (1, 2):
        assert sem("ACQUIRE", f"ours-{n}", 4, "SLOTS", n, "TTL", 3600)[2] == fences[n - 1]
        assert sem("RELEASE", f"ours-{n}") == 1
    assert sem("CARD") == 0


def test_a_release_of_a_lost_slot_hands_it_on(sem, lose):
    assert sem("ACQUIRE", "ours", 1)[0] == 1
    assert sem("QUEUE", "next", 60, 600) == [1, 1]
    lose("main", "ttl")
    assert sem("RELEASE", "ours") == 1
    assert sem("CONFIRM", "next", 1, 60, 600) == [1, 1]


def test_holders_are_put_back_though_others_hold_by_now(sem, lose, hasty):
    """As many of theirs hide that ours are missing: the holder's own sign of life finds out."""
    assert sem("ACQUIRE", "ours", 3)[0] == 1
    lose("main", "ttl", "max")
    theirs = [hasty(f"theirs-{n}") for n in range(2)]
    for each in theirs:
        assert each.acquire()
    assert sem("PING", "ours", 180, 86400) == [0, 1]
    assert sem("CARD") == 3


@pytest.mark.parametrize("lost", [("waiting",), ("waiting_heartbeat",),
                                  ("waiting", "waiting_heartbeat"), KNOWN])
def test_waiters_are_put_back_where_they_were(server, sem, name, lose, lost):
    assert sem("ACQUIRE", "holder", 1)[0] == 1
    waiters = []
    for n in range(3):
        if n == 1:
            sem("QUEUE", "queued", 180, 600)
        else:
            waiters.append(server.connect())
            waiters[-1].send("SEM.ACQUIRE", name, f"w-{n}", 1, "WAIT", 30_000)
        wait_until(lambda: sem("STATS")[5] == n + 1, "it is in line")
    lose(*lost)
    assert sem("STATS") == ["in_use", 1, "max", 1, "waiting", 3]
    assert sem("ACQUIRE", "late", 1)[1] == "NO_SLOT"
    sem("RELEASE", "holder")
    assert waiters[0].read()[:2] == [1, 1]
    assert sem("PING", "queued", 180, 600) == [1, 0]
    sem("RELEASE", "w-0")
    assert sem("PING", "queued", 180, 600) == [0, 1]
    sem("RELEASE", "queued")
    assert waiters[1].read()[:2] == [1, 1]
    sem("RELEASE", "w-2")
    for waiter in waiters:
        waiter.close()


@pytest.mark.parametrize("left_over", [None, "ours-5"])
def test_a_crowd_of_lost_holders_comes_back_before_anybody_is_granted(redis, sem, name, lose,
                                                                     left_over):
    for n in range(MANY):
        assert sem("ACQUIRE", f"ours-{n}", MANY)[0] == 1
    if left_over:  # a caller that never came again when another key was lost
        redis.client().hset(key_of(name, "own"), "{mending}", left_over)
    lose("main", "ttl", "max")
    assert sem("ACQUIRE", "late", MANY)[1] == "NO_SLOT"
    assert sem("CARD") == MANY


# ---- what is gone stays gone


@pytest.mark.parametrize("others", [0, 1])
def test_what_theirs_takes_out_is_not_put_back(sem, hasty, others):
    """Without others the key goes with its last member; that is no expiry."""
    for n in range(others):
        assert sem("ACQUIRE", f"other-{n}", 3)[0] == 1
    assert sem("ACQUIRE", "ours", 3)[0] == 1
    assert hasty("ours").release() == 1
    assert sem("CARD") == others
    assert sem("PING", "ours", 180, 86400) == [0, 0]
    assert sem("RELEASE", "ours") == 0


def test_a_waiter_that_theirs_takes_out_is_not_put_back(sem, hasty):
    assert sem("ACQUIRE", "holder", 1)[0] == 1
    assert sem("QUEUE", "ours", 180, 600) == [1, 1]
    hasty("ours").release()
    assert sem("PING", "ours", 180, 600) == [0, 0]
    assert sem("STATS")[5] == 0


@pytest.mark.parametrize("ends", [("HEARTBEAT", "200ms"), ("TTL", "200ms")])
def test_a_lost_holder_that_is_due_stays_away(redis, sem, name, lose, ends):
    assert sem("ACQUIRE", "kept", 2)[0] == 1
    assert sem("ACQUIRE", "ours", 2, *ends)[0] == 1
    due = members(redis, name, "ttl" if ends[0] == "TTL" else "main")[b"ours"]
    lose("main", "ttl")
    wait_until(lambda: float("%d.%06d" % redis.client().time()) > due, "it is due")
    assert sem("PING", "ours", 180, 86400) == [0, 0]
    assert sem("CARD") == 1

# SPDX-License-Identifier: Apache-2.0
"""Locks on three independent Redis servers of which some are dead or stand still."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from faults import PATIENCE_S, SLACK_S, is_not_now, is_unknown, serve, until_known
from server import Error
from servers import Group, RedisServer, wait_until

TIMEOUT_MS = 500
LIMIT_S = 3 * TIMEOUT_MS / 1000 + SLACK_S  # of asking, raising the fence, and giving back


@pytest.fixture
def three():
    group = Group()
    with group:
        group.launch([RedisServer(start=False) for _ in range(3)])
        yield group.members


@pytest.fixture
def server(three):
    with serve_locks(three) as one:
        yield one


def serve_locks(three):
    return serve("redlock://" + ",".join(redis.address for redis in three), timeout_ms=TIMEOUT_MS)


def timed(server, *words):
    start = time.monotonic()
    answer = server.call(*words)
    took = time.monotonic() - start
    assert took < LIMIT_S, f"{answer} after {took:.3f} s"
    return answer


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_with_one_of_three_away_locks_go_on(three, server, fault):
    fence = timed(server, "LOCK.TRY", "seat", 20, "ID", "before")[1]
    getattr(three[0], fault)()
    assert timed(server, "LOCK.TRY", "seat", 20, "ID", "other") is None
    assert timed(server, "LOCK.GET", "seat")[0] == "before"
    assert timed(server, "LOCK.EXTEND", "seat", "before", 20) == 1
    assert timed(server, "LOCK.UNLOCK", "seat", "before") == 1
    for number in range(20):
        answer = timed(server, "LOCK.TRY", "seat", 20, "ID", f"after{number}")
        assert answer[0] == f"after{number}" and answer[1] > fence
        fence = answer[1]
        again = [timed(server, "LOCK.TRY", "seat", 20, "ID", f"after{number}") for _ in range(3)]
        assert again == [answer] * 3, "asked again, in the same millisecond perhaps"
        assert timed(server, "LOCK.UNLOCK", "seat", f"after{number}") == 1


def test_with_two_of_three_dead_nobody_gets_a_lock_and_none_is_left_behind(three, server):
    three[0].kill()
    three[1].kill()
    answer = timed(server, "LOCK.TRY", "seat", 20, "ID", "me")
    assert isinstance(answer, Error) and answer.code == "ENGINE_DOWN"
    assert "too few of the 3 servers" in answer.message
    wait_until(lambda: not three[2].client().exists("seat:locked:seat", "seat:locked:{seat}"),
               "what was taken is given back")
    assert is_not_now(timed(server, "LOCK.GET", "seat"))
    three[0].start()
    answer, _ = until_known(lambda: server.call("LOCK.TRY", "seat", 20, "ID", "me"), "a lock")
    assert answer[0] == "me"


def test_an_unlock_that_too_few_hear_of_is_no_refusal(three, server):
    assert timed(server, "LOCK.TRY", "seat", 20, "ID", "me")[0] == "me"
    three[0].pause()
    three[1].pause()
    answer = timed(server, "LOCK.UNLOCK", "seat", "me")
    assert is_unknown(answer)
    three[0].resume()
    three[1].resume()
    until_known(lambda: server.call("LOCK.UNLOCK", "seat", "me"), "the retry")
    assert server.call("LOCK.GET", "seat") is None


def extend_until_asked(server, redis):
    """Extends until a server that was away answers again, too. Gives the last answer."""
    def ask():
        answer, _ = until_known(lambda: server.call("LOCK.EXTEND", "seat", "me", 25), "extending")
        return "cmdstat_evalsha" in redis.client().info("commandstats") and [answer]
    return wait_until(ask, f"{redis} is asked")[0]


def locks_of(redis):
    return [key for key in redis.client().keys("*") if b"locked" in key]


def test_extending_makes_no_lock_on_a_server_that_forgot_it(three, server):
    assert timed(server, "LOCK.TRY", "seat", 20, "ID", "me")[0] == "me"
    # The answer comes with the second vote: the third server may not have been asked yet.
    wait_until(lambda: all(map(locks_of, three)), "all three have it")
    three[0].restart("kill")
    assert extend_until_asked(server, three[0]) == 1, "two of three have it"
    assert locks_of(three[0]) == []
    three[1].restart("kill")
    assert extend_until_asked(server, three[1]) == 0, "one of three is no quorum"
    assert locks_of(three[0]) == locks_of(three[1]) == []
    assert server.call("LOCK.GET", "seat") is None
    assert timed(server, "LOCK.TRY", "seat", 20, "ID", "other")[0] == "other"
    assert timed(server, "LOCK.EXTEND", "seat", "me", 25) == 0


class Contest:
    """Contenders for one lock, which check that nobody else is where they are."""

    def __init__(self, servers, contenders=4):
        self.servers, self.contenders = servers, contenders
        self.inside = threading.Lock()
        self.fences = []
        self.stopped = threading.Event()

    def __enter__(self):
        self.pool = ThreadPoolExecutor(self.contenders)
        self.running = [self.pool.submit(self._run, number) for number in range(self.contenders)]
        return self

    def __exit__(self, kind, *_):
        self.stopped.set()
        self.pool.shutdown()
        for contender in self.running if kind is None else []:
            contender.result()

    def wait_more(self, count=12):
        wanted = len(self.fences) + count
        wait_until(lambda: len(self.fences) >= wanted or any(c.done() for c in self.running),
                   f"{count} more holders", PATIENCE_S)

    def _run(self, number):
        server = self.servers[number % len(self.servers)]
        for turn in itertools.count():
            if self.stopped.is_set():
                return
            who = f"c{number}-{turn}"
            # What a server that went away leaves behind ends by its TTL: that must not be long.
            answer = server.call("LOCK.TRY", "seat", 5, "ID", who)
            if answer is None or is_not_now(answer) or is_unknown(answer):
                # A vote that was split leaves nothing; one that is unknown may have won.
                until_known(lambda: server.call("LOCK.UNLOCK", "seat", who), "giving up")
                continue
            assert self.inside.acquire(blocking=False), f"{who} is not alone"
            self.fences.append(answer[1])
            self.inside.release()
            until_known(lambda: server.call("LOCK.UNLOCK", "seat", who), "unlocking")


def test_two_never_hold_it_and_fences_grow_while_servers_come_and_go(three, server):
    with serve_locks(three) as other:
        with Contest([server, other]) as contest:
            contest.wait_more()
            three[0].pause()
            contest.wait_more()
            three[0].resume()
            contest.wait_more()
            three[1].kill()
            contest.wait_more()
    assert all(a < b for a, b in itertools.pairwise(contest.fences))

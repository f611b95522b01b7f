# SPDX-License-Identifier: Apache-2.0
"""One real Redis that stands still, is full, forgets its scripts or is started anew, and the way to
it, which is cut, stalls or is closed. One Redis that keeps its data loses nothing: every booking
that was acknowledged is there in the end, and every one counts once."""

import random
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis.exceptions import BusyLoadingError

from faults import (CAPACITY, PATIENCE_S, PATIENT_MS, SLACK_S, ZONE, Conversation, Crowd, Line,
                    audit, is_not_now, is_unknown, open_zone, reserve, serve, until_known)
from harness import Build, run
from proxy import Proxy
from raw_client import fields, http
from server import Error
from servers import RedisServer, wait_until

EVENTS = ["gala", "ball"]
TIMEOUT_MS = 1000
LIMIT_S = TIMEOUT_MS / 1000 + SLACK_S
LEASE_S = 10  # so long does a place in line outlive the server that waits in it


@pytest.fixture(scope="module")
def one_redis():
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis(one_redis):
    one_redis.client().config_set("maxmemory", 0)
    one_redis.client().flushall()
    return one_redis


@pytest.fixture
def server(redis):
    with serve(redis.url, timeout_ms=TIMEOUT_MS) as one:
        yield one


@pytest.fixture
def proxy(redis):
    with Proxy(redis.port) as between:
        yield between


def serve_far(proxy, timeout_ms=TIMEOUT_MS):
    """A server whose Redis is behind the proxy, and which calls no script but for the test's own
    commands. After each of several cuts it comes back later than after the one before."""
    return serve(proxy.url, timeout_ms=timeout_ms, more="&worker=no")


@pytest.fixture
def far_server(proxy):
    with serve_far(proxy) as one:
        yield one


def timed(call, *words):
    """The answer, which has come in time."""
    start = time.monotonic()
    answer = call(*words)
    took = time.monotonic() - start
    assert took < LIMIT_S, f"{answer} after {took:.3f} s"
    return answer


# ---- a Redis that stands still, or forgets


def test_callers_of_a_paused_redis_hear_unknown_in_time_and_each_gets_one_hold(redis, server):
    with Crowd(server, EVENTS, TIMEOUT_MS) as crowd:
        crowd.wait_more()
        redis.pause()
        assert is_unknown(timed(server.call, "SEATS.OPEN", "fair", ZONE, 5))
        redis.resume()
        crowd.wait_more()
    assert "TIMEOUT" in crowd.tries
    assert crowd.count() == []
    assert audit(redis.url) == []


def test_scripts_that_are_flushed_are_loaded_again_unnoticed(redis):
    with serve(redis.url, timeout_ms=PATIENT_MS) as server:
        with Crowd(server, EVENTS, PATIENT_MS) as crowd:
            for _ in range(10):
                crowd.wait_more(100)
                redis.client().script_flush()
            crowd.wait_more(100)
        assert crowd.tries == []
        assert crowd.count() == []


def test_the_program_says_unknown_too_and_can_ask_again(redis):
    words = "SEATS.RESERVE gala floor b ann 1 9"
    with Conversation("call", "--engine", f"{redis.url}?timeout={TIMEOUT_MS}", "--json") as program:
        assert program.ask("SEATS.OPEN gala floor 10")["available"] == 10
        redis.pause()
        assert timed(program.ask, words)["error"]["code"] == "TIMEOUT"
        redis.resume()
        again = program.ask(words)
        assert (again["remaining"], again["user_reserved"]) == (9, 1)


# ---- connections that are cut


def cut_answer(proxy, count, call, *words):
    """The answer to a call whose reply is cut after so many bytes."""
    proxy.cut_reply_after(count)
    answer = timed(call, *words)
    proxy.wait_cut()
    return answer


def test_a_reply_that_is_cut_at_any_byte_is_unknown_and_asked_again_is_the_first(
        proxy, server):
    open_zone(server, "gala")
    places = [0, 1, 3, 4, 8, 15, 20, 30, 40, 50]
    for held, count in enumerate(places, 1):
        with serve_far(proxy) as far_server:
            answer = cut_answer(proxy, count, reserve, far_server, "gala", f"b{count}")
            assert is_unknown(answer), f"cut after {count}: {answer}"
            assert "ask again with the same id" in answer.message
            answer, _ = until_known(lambda: reserve(far_server, "gala", f"b{count}"), "a retry")
            assert answer[:3] == [1, CAPACITY - held, held]


# In pairs of words: what is done first, undisturbed, and what is cut.
CUT_COMMANDS = [
    ("", "SEATS.RESERVE {0} floor b ann 2 9"), ("", "SEATS.EXTEND {0} b 900"),
    ("", "SEATS.CONFIRM {0} b PAYMENT p"), ("SEATS.RESERVE {0} floor c ann 2 9",
                                            "SEATS.RELEASE {0} c"),
    ("QUOTA.LIMIT {0} 100", "QUOTA.RESERVE {0} 5 HOLD h"), ("", "QUOTA.COMMIT {0} h"),
    ("QUOTA.RESERVE {0} 7 HOLD i", "QUOTA.CANCEL {0} i"),
    ("STOCK.LOAD {0} 100", "STOCK.TAKE {0} o ann 5"), ("", "STOCK.SETTLE {0} o"),
    ("STOCK.TAKE {0} r ann 7", "STOCK.GIVE {0} r"),
    ("", "SEM.ACQUIRE {0} me 3"), ("", "LOCK.TRY {0} 60 ID me"),
]


def without_chance(answer):
    """An answer without times, fences and codes."""
    text = re.sub(r"'[0-9A-Z]{10}'|\d{13,}", "*", repr(answer))
    return text.replace("cut", "calm")


def test_commands_with_an_id_asked_again_after_a_cut_answer_as_if_nothing_had_been(
        proxy, server):
    def call(words, scope, at=server):
        return at.call(*words.format(scope).split())

    for scope in ("calm", "cut"):
        call("SEATS.OPEN {0} floor 100", scope)
    for before, command in CUT_COMMANDS:
        for scope in ("calm", "cut") if before else ():
            call(before, scope)
        calm = call(command, "calm")
        with serve_far(proxy) as far_server:
            answer = cut_answer(proxy, 1, call, command, "cut", far_server)
            assert is_unknown(answer), f"{command}: {answer}"
            again, _ = until_known(lambda: call(command, "cut", far_server), command)
        assert without_chance(again) == without_chance(calm), command
    for read in ("SEATS.ZONE {0} floor", "SEATS.USER {0} ann", "QUOTA.GET {0}", "STOCK.GET {0}",
                 "SEM.CARD {0}"):
        assert call(read, "cut") == call(read, "calm")


def test_reads_that_are_cut_are_sent_again_unnoticed(proxy):
    with serve_far(proxy, PATIENT_MS) as far_server:
        open_zone(far_server, "gala")
        for count in (0, 5, 30):
            proxy.cut_reply_after(count)
            zone = far_server.call("SEATS.ZONE", "gala", ZONE)
            assert fields(zone)["available"] == CAPACITY
            proxy.wait_cut()


def test_under_load_no_cut_and_no_stall_lets_anything_count_twice(redis, proxy, far_server):
    dice = random.Random(5)
    with Crowd(far_server, EVENTS, TIMEOUT_MS) as crowd:
        for _ in range(6):
            crowd.wait_more(30)
            proxy.cut_reply_after(dice.randrange(500))
            proxy.wait_cut()
        crowd.wait_more()
        proxy.stall()
        wait_until(lambda: is_unknown(reserve(far_server, "gala", "stalled"))
                   or is_not_now(reserve(far_server, "gala", "stalled")), "a stall is noticed")
        proxy.resume()
        crowd.wait_more()
        until_known(lambda: far_server.call("SEATS.RELEASE", "gala", "stalled"), "its end")
    assert "TIMEOUT" in crowd.tries
    assert crowd.count() == []
    assert audit(redis.url) == []


def test_while_connections_are_refused_callers_hear_so_in_time_or_wait_for_the_next(
        proxy, far_server):
    open_zone(far_server, "gala")
    proxy.refuse()
    proxy.cut_all()
    before = proxy.accepted
    answer = timed(reserve, far_server, "gala", "b")
    assert answer.code == "ENGINE_DOWN" and "127.0.0.1" in answer.message
    assert proxy.accepted - before < 30, "it came again and again without a pause"
    with ThreadPoolExecutor(1) as pool:
        before = proxy.accepted
        # A backoff may be longer than one call waits.
        asking = pool.submit(until_known, lambda: reserve(far_server, "gala", "b"), "b")
        wait_until(lambda: proxy.accepted > before, "it tries to connect")
        proxy.refuse(False)
        answer, _ = asking.result(PATIENCE_S)
    assert answer[:3] == [1, CAPACITY - 1, 1]


def test_a_key_makes_one_booking_wherever_the_answer_is_cut(redis, proxy, server):
    """Between taking the key, the booking and the keeping of its answer. A key that is taken by a
    request that is over is free after a minute, which is not waited for here."""
    body = {"zone_id": ZONE, "user_id": "ann", "quantity": 1, "max_per_user": 1000}
    open_zone(server, "gala")

    def ask(asked, key):
        return http(asked.http_port, "POST", "/v1/events/gala/bookings", body,
                    [f"Idempotency-Key: {key}"])

    seen, bookings = set(), set()
    for held, count in enumerate(range(0, 80, 6), 1):
        key = f"k{count}"
        with serve_far(proxy) as far_server:
            proxy.cut_reply_after(count)
            answer = timed(ask, far_server, key)
            seen.add(answer.status)
        if answer.status != 201:
            assert answer.status == 408 and "outcome unknown" in answer.json["error"]["message"]
            answer = ask(server, key)
        if answer.status == 409:
            assert answer.code == "IN_PROGRESS"
            assert redis.client().delete(f"idemp:http :{key}") == 1
            answer = ask(server, key)
        again = ask(server, key)
        assert (answer.status, again.status, again.body) == (201, 201, answer.body)
        assert again.headers["idempotency-replayed"] == "true"
        bookings.add(answer.json["booking_id"])
        zone = fields(server.call("SEATS.ZONE", "gala", ZONE))
        assert zone["reserved"] == held == len(bookings)
    assert seen == {201, 408}


# ---- those in line


def test_those_in_line_keep_their_places_when_connections_are_cut(proxy, far_server):
    far_server.call("SEM.ACQUIRE", "gpu", "first", 1)
    with Line(far_server, "gpu") as line:
        proxy.cut_all()
        line.pass_on("first")
    assert line.waiting() == 0


def test_nobody_waits_longer_than_asked_for_when_redis_is_gone(proxy, far_server):
    far_server.call("SEM.ACQUIRE", "gpu", "first", 1)
    wait_ms = 1000
    start = time.monotonic()
    with Line(far_server, "gpu", wait_ms=wait_ms, callers=3) as line:
        proxy.refuse()
        proxy.cut_all()
        answers = [answer.result(PATIENCE_S) for answer in line.answers.values()]
        took = time.monotonic() - start
    # The last look of a wait has a timeout of its own.
    assert took < (wait_ms + 2 * TIMEOUT_MS) / 1000 + SLACK_S
    assert all(isinstance(answer, Error) for answer in answers), answers
    proxy.refuse(False)


def test_a_server_that_was_killed_is_out_of_line_when_its_lease_ends(redis, server):
    server.call("SEM.ACQUIRE", "gpu", "first", 1)
    with serve(redis.url, timeout_ms=TIMEOUT_MS) as doomed:
        with Line(doomed, "gpu", callers=2, prefix="doomed"):
            with Line(server, "gpu", callers=2) as line:
                killed_s = time.monotonic()
                doomed.kill()
                wait_until(lambda: line.waiting() == 2, "the dead leave", LEASE_S + SLACK_S)
                assert time.monotonic() - killed_s < LEASE_S + SLACK_S
                line.pass_on("first")


# ---- a Redis that is full, or starts anew


def test_a_full_redis_refuses_what_takes_room_and_goes_on_with_the_rest(redis, server):
    def call(words):
        return server.call(*words.split())

    for words in ("SEATS.OPEN gala floor 100", "SEATS.RESERVE gala floor a ann 2 9",
                  "SEATS.RESERVE gala floor b ann 3 9", "QUOTA.LIMIT acme 100",
                  "QUOTA.RESERVE acme 5 HOLD h", "QUOTA.RESERVE acme 3 HOLD j",
                  "STOCK.LOAD shoes 10", "STOCK.TAKE shoes o ann 4", "STOCK.TAKE shoes q ann 2",
                  "SEM.ACQUIRE gpu me 1", "LOCK.TRY seat 60 ID me"):
        assert not isinstance(call(words), Error), words
    reads = ("SEATS.ZONE gala floor", "SEATS.GET gala a", "SEATS.USER gala ann", "QUOTA.GET acme",
             "STOCK.GET shoes", "SEM.CARD gpu")
    before = [call(words) for words in reads]
    redis.client().config_set("maxmemory", 1)
    for words in ("SEATS.OPEN gala balcony 5", "SEATS.RESERVE gala floor c ann 1 9",
                  "QUOTA.RESERVE acme 5 HOLD i", "STOCK.LOAD hats 10", "STOCK.TAKE shoes p ann 1",
                  "SEM.ACQUIRE gpu you 2", "LOCK.TRY aisle 60 ID me", "ROOM.JOIN gala ann",
                  "IDEM.BEGIN key print"):
        answer = call(words)
        assert isinstance(answer, Error) and answer.code == "BUSY", f"{words}: {answer}"
        assert "out of memory (maxmemory)" in answer.message
    assert [call(words) for words in reads] == before
    # Redis refuses the audit's script, because it might write; Valkey lets it read.
    ended = run(Build().program, "audit", redis.url)
    assert ended.code in (0, 69), ended
    assert ("out of memory (maxmemory)" in ended.err) == (ended.code == 69), ended
    for words in ("SEATS.RELEASE gala a", "QUOTA.CANCEL acme h", "STOCK.GIVE shoes o",
                  "SEM.RELEASE gpu me", "LOCK.UNLOCK seat me", "SEATS.CONFIRM gala b",
                  "STOCK.SETTLE shoes q", "QUOTA.COMMIT acme j"):
        answer = call(words)
        assert answer == 1 or (isinstance(answer, list) and answer[0] == 1), f"{words}: {answer}"
    assert call("QUOTA.REFUND acme 1") == 2
    redis.client().config_set("maxmemory", 0)
    assert call("SEATS.RESERVE gala floor c ann 1 9")[:3] == [1, 96, 1]
    assert audit(redis.url) == []


def test_extending_makes_no_lock_on_a_redis_that_forgot_it():
    with RedisServer() as redis, serve(redis.url, timeout_ms=TIMEOUT_MS) as server:
        first = server.call("LOCK.TRY", "seat", 20, "ID", "me")
        assert server.call("LOCK.EXTEND", "seat", "me", 25) == 1
        redis.restart("kill")
        answer, _ = until_known(lambda: server.call("LOCK.EXTEND", "seat", "me", 25), "extending")
        assert answer == 0
        assert redis.client().keys("seat:*") == []
        second = server.call("LOCK.TRY", "seat", 20, "ID", "other")
        assert second[1] > first[1], "fences grow without what was forgotten"
        assert server.call("LOCK.EXTEND", "seat", "me", 25) == 0


def test_a_redis_that_starts_anew_is_waited_for_while_it_loads():
    settings = {"appendonly": "yes", "appendfsync": "always", "aof_use_rdb_preamble": "no",
                "key_load_delay": 100}  # microseconds a command, and as long to sleep
    with RedisServer(**settings) as redis, serve(redis.url, timeout_ms=PATIENT_MS) as server:
        with redis.client().pipeline(transaction=False) as pipeline:
            for number in range(8000):
                pipeline.set(f"filler{number}", number)
            pipeline.execute()
        with Crowd(server, EVENTS, PATIENT_MS, callers=4) as crowd:
            crowd.wait_more(20)
            redis.kill()
            redis.launch()
            wait_until(lambda: is_loading(redis), "it loads")
            assert reserve(server, "gala", "late")[0] == 1
            crowd.wait_more(20)
        assert server.call("SEATS.RELEASE", "gala", "late")[0] == 1
        assert set(crowd.tries) <= {"TIMEOUT"}, "whoever came meanwhile was to be waited for"
        assert crowd.count() == []
        assert audit(redis.url) == []


def is_loading(redis):
    try:
        return redis.client().ping() and False
    except BusyLoadingError:
        return True

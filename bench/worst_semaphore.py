# SPDX-License-Identifier: Apache-2.0
"""The scripts of semaphores at their worst: 1,000 holders and 10,000 waiters, all of another program
that waits on lists of a name of its own, of whom some are due, at one time or each at another; a
limit that is raised; clients with as many slots as one can have; notes that nobody needs; keys that
another program let expire. And the same as programs of the field call them."""

from worst_case import ANSWERED

HOLDERS, LINE = 1000, 10_000
SLOTS_MAX = 128
PARTS = ("main", "ttl", "max", "waiting", "waiting_heartbeat", "own", "fence", "names")
FULL = {  # the keys of each script, in its order
    "acquire_slot": "main ttl max waiting waiting_heartbeat own fence",
    "await_slot": "main ttl max waiting waiting_heartbeat own fence",
    "acquire": "main ttl max waiting waiting_heartbeat own fence",
    "card": "main ttl max waiting waiting_heartbeat own fence",
    "stats": "main ttl max waiting waiting_heartbeat own fence",
    "list_semaphore": "main ttl max waiting waiting_heartbeat own fence names",
    "queue": "waiting waiting_heartbeat main ttl max own fence",
    "ping": "waiting waiting_heartbeat main ttl max own fence",
    "release": "main ttl waiting waiting_heartbeat max own fence",
    "wake_up_nexts": "main ttl waiting waiting_heartbeat max own fence",
}
LETTER = {"acquire": 3, "card": 1, "queue": 2, "ping": 3, "release": 4, "wake_up_nexts": 4}
PATTERN = "other:list:@@@ACQUISITION_ID@@@"


class Semaphore:
    """A semaphore that is full, with a line."""

    def __init__(self, bench, holders=HOLDERS, line=LINE, name="{%s}", slots=1):
        self.bench, self.redis = bench, bench.redis
        name = name % bench.id("s")
        self.tag = name
        self.key = {part: f"adv-sem:semaphore_{part}:{name}" for part in PARTS}
        self.made = 0
        self.limit = holders
        self.redis.set(self.key["max"], self.limit)
        pattern = PATTERN if "{" not in name else f"other:{name}:@@@ACQUISITION_ID@@@"
        self.redis.hset(self.key["own"], "{pattern}", pattern)
        self.hold(holders)
        self.wait(line, slots=slots)
        for part in ("ttl", "waiting_heartbeat"):
            self.redis.zadd(self.key[part], {"{kept}": 1e15 + bench.now() - 10 ** 6})

    def keys(self, script, count=None):
        return [self.key[part] for part in FULL[script].split()][:count]

    def hold(self, count, due_ms=None, apart=0):
        """So many hold a slot; due_ms: since so many ms, each `apart` ms after the one before."""
        key, now = self.key, self.bench.now()
        ends = now + 600_000 if due_ms is None else now - due_ms
        first = self.made + 1
        self.bench.build(
            f"local ends = {ends} + (i - {first}) * {apart} "
            f"redis.call('ZADD', '{key['main']}', string.format('%.3f', ends / 1000), 'h' .. i) "
            f"redis.call('ZADD', '{key['ttl']}', (now + 900000) / 1000, 'h' .. i) "
            f"redis.call('ZADD', '{key['names']}', 0, 'h' .. i) "
            f"redis.call('HSET', '{key['own']}', 'h' .. i, string.format("
            "'H 60000 900000 %.0f %.0f  5 1 %.0f', now - 1000, now * 1000 + i, ends))", count, first)
        self.made += count

    def wait(self, count, due_ms=None, apart=0, slots=1):
        key, now = self.key, self.bench.now()
        ends = now + 600_000 if due_ms is None else now - due_ms
        first = self.made + 1
        self.bench.build(
            f"local ends = {ends} + (i - {first}) * {apart} "
            f"redis.call('ZADD', '{key['waiting']}', 'NX', (now + i) / 1000, 'w' .. i) "
            f"redis.call('ZADD', '{key['waiting_heartbeat']}', ends / 1000, 'w' .. i) "
            f"redis.call('ZADD', '{key['names']}', 0, 'w' .. i) "
            f"redis.call('HSET', '{key['own']}', 'w' .. i, string.format("
            f"'W 60000 900000 0 0   {slots} %.0f %.6f', ends, (now + i) / 1000))", count, first)
        self.made += count

    def settle(self):
        """Does what is due, and makes the limit what is in use."""
        while "AGAIN" in str(self.bench.call("stats", self.keys("stats"))):
            pass
        self.limit = self.redis.zcard(self.key["main"])
        self.redis.set(self.key["max"], self.limit)
        self.redis.hset(self.key["own"], "{limit}", self.limit)

    def over(self, count, due_ms=5000, apart=0):
        """So many more holders are due than before; their slots are for those in line."""
        self.settle()
        self.hold(count, due_ms, apart)
        self.limit += count
        self.redis.set(self.key["max"], self.limit)
        self.redis.hset(self.key["own"], "{limit}", self.limit)


def calls_of(bench, sem, count=None):
    """{script: keys and arguments of a call}"""
    holder = iter(range(1, HOLDERS))

    def call(script, *words):
        keys = sem.keys(script, count[script] if count else None)
        return keys, words
    return {
        "acquire_slot": lambda i: call("acquire_slot", bench.id("n"), sem.limit, 60, 600, 0, "t", "c",
                                       10, 1),
        "await_slot": lambda i: call("await_slot", "w9000", "t", 10, 0),
        "acquire": lambda i: call("acquire", f"h{next(holder)}", sem.limit, 60, 900),
        "queue": lambda i: call("queue", bench.id("n"), 60, 600),
        "ping": lambda i: call("ping", f"h{next(holder)}", 60, 600),
        "release": lambda i: call("release", f"h{next(holder)}"),
        "wake_up_nexts": lambda i: call("wake_up_nexts", sem.limit + 6, 60, 600),
        "card": lambda i: call("card"),
        "stats": lambda i: call("stats"),
        "list_semaphore": lambda i: call("list_semaphore", "", 1000),
    }


def time_semaphores(bench):
    sem = Semaphore(bench)
    states = {
        "4 holders due": lambda i: sem.over(4),
        "4 holders due, each at another time": lambda i: sem.over(4, apart=7),
        "100 holders due": lambda i: sem.over(100),
        "100 holders due, each at another time": lambda i: sem.over(100, apart=7),
        "12 waiters due": lambda i: (sem.settle(), sem.wait(12, 5000)),
        "6 waiters, 2 holders due, each at another time":
            lambda i: (sem.over(2, apart=7), sem.wait(6, 4999, 7)),
        "100 waiters due, each at another time": lambda i: (sem.settle(), sem.wait(100, 5000, 7)),
    }
    for state, before in states.items():
        for script, call in calls_of(bench, sem).items():
            bench.case(script, state, call, before, ANSWERED)
    time_lines(bench)
    time_slots(bench)
    time_sweeps(bench)
    time_losses(bench)
    time_letter(bench)


def time_lines(bench):
    """Free slots in front of a line, because the limit is raised: the rest waits for it."""
    for line in (40, 900):
        sem = Semaphore(bench, line=line)

        def again(i):
            bench.redis.set(sem.key["max"], HOLDERS)
            bench.redis.hset(sem.key["own"], "{limit}", HOLDERS)
        for wait in (0, 5):
            bench.case("acquire_slot", f"a line of {line}, the limit raised to 9,000",
                       lambda i: (sem.keys("acquire_slot"),
                                  [bench.id("n"), 9000, 60, 600, wait, bench.id("t"), "c", 10, 1]),
                       again, ANSWERED)
    sem = Semaphore(bench)
    bench.case("list_semaphore", "COUNT 1000 of 11,000",
               lambda i: (sem.keys("list_semaphore"), [":w", 1000]), check=ANSWERED)


def time_slots(bench):
    """One client with as many slots as a client can have."""
    def words(i, slots=SLOTS_MAX):
        return [f"big{i}", 10 * SLOTS_MAX, 60, 600, 0, "t", "c", 10, slots]
    sem = Semaphore(bench, line=0)
    keys = sem.keys("acquire_slot")
    state = f"SLOTS {SLOTS_MAX}"
    bench.case("acquire_slot", state, lambda i: (keys, words(i)), check=ANSWERED)
    bench.case("ping", state, lambda i: (sem.keys("ping"), [f"big{i}", 60, 600]), check=ANSWERED)
    bench.case("acquire", state,
               lambda i: (sem.keys("acquire"), [f"big{i}", 10 * SLOTS_MAX, 60, 900]), check=ANSWERED)
    bench.case("release", state, lambda i: (sem.keys("release"), [f"big{i}"]), check=ANSWERED)
    # Ten wait behind one another, and the limit is raised for one of them at a time.
    sem = Semaphore(bench, line=10, slots=SLOTS_MAX)
    bench.case("wake_up_nexts", "a waiter with " + state,
               lambda i: (sem.keys("wake_up_nexts"), [HOLDERS + (i + 1) * SLOTS_MAX, 60, 600]),
               check=ANSWERED)


def time_sweeps(bench):
    """Notes on clients that another program took out."""
    for notes in (120, 5000):
        sem = Semaphore(bench, holders=1, line=1)
        note = "'W 60000 900000 0 0   1 1 ' .. '1.000000'"

        def litter(i):
            bench.build(f"redis.call('HSET', '{sem.key['own']}', 'x' .. i, {note})", notes)
        bench.case("queue", f"{notes} notes on nobody to sweep",
                   lambda i: (sem.keys("queue"), [bench.id("n"), 60, 600]), litter)


def time_losses(bench):
    """Keys that another program let expire: the holders are put back, a few in each call."""
    sem = Semaphore(bench)

    def lose(i):
        bench.redis.delete(sem.key["main"], sem.key["ttl"])
        bench.redis.hdel(sem.key["own"], "{mending}")
    for script, call in calls_of(bench, sem).items():
        bench.case(script, "the holders' keys lost", call, lose, ANSWERED)


def time_letter(bench):
    for name in ("%s", "{%s}"):
        sem = Semaphore(bench, line=2 * LINE, name=name)
        how = "to the letter, " + ("tagged, " if "{" in name else "plain, ")
        for script in LETTER:
            call = calls_of(bench, sem, LETTER)[script]

            def again(i):
                sem.over(1000, apart=2)
            bench.case(script, how + "1,000 holders due", call, again, ANSWERED)

            def line_dead(i):
                sem.settle()
                sem.wait(1000, 5000, 2)
            bench.case(script, how + "1,000 waiters due", call, line_dead, ANSWERED)
        bench.case("wake_up_nexts", how + "2,000 slots to hand out",
                   lambda i: (sem.keys("wake_up_nexts", 4), [sem.limit + 2000, 60, 600]),
                   lambda i: sem.settle(), ANSWERED)

# SPDX-License-Identifier: Apache-2.0
"""The scripts of waiting rooms at their worst: 10,000 in line and 10,000 inside, with as many lapsed
entries and passes as one call takes out; a line whose order is drawn. And those of locks and
idempotency, with the largest response."""

from worst_case import ANSWERED, AT_ONCE, LONG_AGO

LINE = 10_000
SHUFFLED = 200
BODY = "x" * (1 << 20)
LAPSED = "31 entries and 31 passes of 10,000 lapsed"
TOKEN = "0123456789abcdef0123456789abcdef"


class Room:
    """A room with a line, and with users inside."""

    def __init__(self, bench, line=LINE, inside=LINE, **settings):
        self.bench = bench
        self.tag = f"{{{bench.id('r')}}}"
        self.queue, self.due, self.settings, self.passes = (
            f"queue:{kind}{self.tag}" for kind in ("", "due:", "room:", "passes:"))
        self.made = 0
        self.join(line, bench.now() + 600_000)
        self.enter(inside, bench.now() + 600_000)
        if settings:
            bench.redis.hset(self.settings, mapping={
                "rate": 0, "inside": 0, "start": 0, "order": "fifo", "pass": 600_000, "paused": 0,
                "gate": 0, "shuffled": 0, "allowance": 0, "allowance_at": 0, "admitted": 0,
                **settings})

    def user(self, name):
        return f"queue:user:{self.tag}:{name}"

    def join(self, count, deadline):
        self.bench.build(
            f"redis.call('ZADD', '{self.queue}', now + i, 'u' .. i) "
            f"redis.call('ZADD', '{self.due}', '{deadline}', 'u' .. i) "
            f"redis.call('HSET', '{self.user('u')}' .. i, 'token', '{TOKEN}', 'deadline', "
            f"'{deadline}') redis.call('PEXPIRE', '{self.user('u')}' .. i, 900000)",
            count, self.made + 1)
        self.made += count

    def enter(self, count, deadline):
        self.bench.build(
            f"redis.call('ZADD', '{self.passes}', '{deadline}', 'u' .. i) "
            f"redis.call('HSET', '{self.user('u')}' .. i, 'pass', '{TOKEN}', 'pass_deadline', "
            f"'{deadline}', 'pass_ttl', '600000', 'pass_token', '{TOKEN}') "
            f"redis.call('PEXPIRE', '{self.user('u')}' .. i, 900000)", count, self.made + 1)
        self.made += count

    def lapse(self, count=AT_ONCE - 1):
        """One fewer than those after which it may be AGAIN."""
        self.join(count, LONG_AGO)
        self.enter(count, LONG_AGO)


def time_rooms(bench):
    room = Room(bench)
    first = iter(range(1, LINE))

    def of_user(name, *words):
        return [room.queue, room.user(name), room.due, room.settings, room.passes], [name, *words]

    calls = {
        "join_queue": lambda i: of_user(bench.id("n"), 10 ** 6, 600, TOKEN),
        "queue_position": lambda i: of_user("u9000", TOKEN),
        "leave_queue": lambda i: of_user(f"u{9000 + i}"),
        "check_pass": lambda i: of_user(f"u{LINE + 1 + i}", TOKEN, 1),
        "end_pass": lambda i: of_user(f"u{LINE + 1 + next(first)}"),
        "room_stats": lambda i: ([room.queue, room.due, room.settings, room.passes], []),
        "reclaim_queue": lambda i: ([room.queue, room.due], [AT_ONCE]),
        "look_inside": lambda i: ([room.settings, room.due, room.passes], ["rooms", 1]),
    }
    for script, call in calls.items():
        bench.case(script, LAPSED, call,
                   lambda i: room.lapse())
    time_admissions(bench)
    time_draws(bench)


def time_admissions(bench):
    room = Room(bench, rate=10 ** 6, allowance=10 ** 9)
    keys = [room.queue, room.due, room.settings, room.passes]
    lapsed = LAPSED
    bench.case("tick_queue", lapsed, lambda i: (keys, [TOKEN]), lambda i: room.lapse())
    bench.case("admit_queue", lapsed, lambda i: (keys, [4000, 0, TOKEN]), lambda i: room.lapse())
    ids = [bench.id("a") for _ in range(20)]
    with_id = [*keys, f"queue:admission:{room.tag}:"]
    bench.case("admit_queue", "with an id, " + lapsed,
               lambda i: ([*keys, with_id[4] + ids[i]], [4000, 0, TOKEN, ids[i], 0]),
               lambda i: room.lapse())
    bench.case("admit_queue", "with an id, the same again, " + lapsed,
               lambda i: ([*keys, with_id[4] + ids[0]], [4000, 0, TOKEN, ids[0], 0]),
               lambda i: room.lapse())
    # All in line are inside already, and one place is free: it is handed out again and again.
    room = Room(bench, line=1000, inside=0, rate=0)
    bench.redis.zadd(room.passes, {f"u{i}": bench.now() + 600_000 for i in range(1, 1001)})
    keys = [room.queue, room.due, room.settings, room.passes]

    def one_free(i):
        room.lapse()
        bench.redis.hset(room.settings, "inside", bench.redis.zcard(room.passes) - AT_ONCE + 2)
    bench.case("admit_queue", "one place for those who are inside already, " + lapsed,
               lambda i: (keys, [4000, 0, TOKEN]), one_free)


def time_draws(bench):
    room = None

    def make(i):
        nonlocal room
        room = Room(bench, line=SHUFFLED)
        room.lapse()
    bench.case("open_room", f"the order of {SHUFFLED} is drawn, {LAPSED}",
               lambda i: ([room.queue, room.due, room.settings, room.passes,
                           f"seats:rules:{room.tag}"],
                          [5, 5, bench.now() + 600_000, "random", 600, 0, 1, TOKEN]), make, ANSWERED)
    bench.case("join_queue", "at a place by lot",
               lambda i: ([room.queue, room.user(f"n{i}"), room.due, room.settings, room.passes],
                          [f"n{i}", 10 ** 6, 600, TOKEN]), lambda i: room.lapse())


def time_locks(bench):
    lock = lambda i: [f"seat:locked:{{l{i}}}", f"seat:fence:{{l{i}}}"]  # noqa: E731
    for script, words in (("try_lock", ["mine", 10]), ("extend_lock", ["mine", 20]), ("get_lock", []),
                          ("unlock", ["mine"])):
        bench.case(script, "held", lambda i: (lock(i), words), check=ANSWERED)
    request = lambda i: [f"idemp:k{i}"]  # noqa: E731
    for script, state, words in (("idem_begin", "new", ["f", 60]),
                                 ("idem_complete", "a response of 1 MiB", [BODY, 600]),
                                 ("idem_begin", "a response of 1 MiB", ["f", 60]),
                                 ("idem_abort", "completed", [])):
        bench.case(script, state, lambda i: (request(i), words), check=ANSWERED)

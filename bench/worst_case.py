# SPDX-License-Identifier: Apache-2.0
"""A script in its worst state, timed by itself: no server of ours stands between it and Redis.

A case puts a state together and then makes the same call several times, each time with as much to do.
What the machine does beside it only adds to a time, so the smallest of the times is the cost of the
case, and the largest cost of its cases that of the script. The times are those that SLOWLOG goes by:
Redis adds them up for each command as well, where no log of what the script calls is in the way."""

import time

import redis

REPEATS = 13
AT_ONCE = 32     # RECLAIMED_AT_ONCE: what one call gives back
MANY = 100_000   # what is there beside it
LONG_AGO = 1000  # ms after the epoch
ANSWERED = object()  # whatever a script says, as long as it is no error but AGAIN

# Makes many records at once: ARGV[1] is a function of a number, then come the first and the last.
BUILD = """
local make = loadstring(ARGV[1])()
for i = tonumber(ARGV[2]), tonumber(ARGV[3]) do make(i) end
"""


class Case:
    """What a call costs: each time in microseconds, and what the script said last."""

    def __init__(self, script, state):
        self.script, self.state = script, state
        self.times = []
        self.reply = None

    @property
    def cost(self):
        return min(self.times)


class Bench:
    """Redis with the scripts of the build, and the cases that were timed."""

    def __init__(self, client, folder):
        self.redis = client
        self.shas = {path.stem: client.script_load(path.read_bytes())
                     for path in folder.glob("*.lua")}
        self.cases = []
        self.number = 0

    def id(self, kind):
        """A name that nothing has yet."""
        self.number += 1
        return f"{kind}-{self.number}"

    def build(self, make, count, first=1):
        """Runs Lua that makes record number `i`, for so many numbers; `ms` is the time."""
        text = f"local now = {self.now()} return function(i) {make} end"
        for start in range(first, first + count, 2000):
            self.redis.eval(BUILD, 0, text, start, min(start + 1999, first + count - 1))

    @staticmethod
    def now():
        return int(time.time() * 1000)

    def call(self, script, keys, arguments=()):
        """The reply; an error that the script answers with is one as well."""
        try:
            return self.redis.evalsha(self.shas[script], len(keys), *keys, *arguments)
        except redis.ResponseError as error:
            return error

    def timed(self, script, keys, arguments=()):
        """The reply, and the microseconds."""
        self.redis.config_resetstat()
        reply = self.call(script, keys, arguments)
        return reply, self.redis.info("commandstats")["cmdstat_evalsha"]["usec"]

    def case(self, script, state, call, before=None, check=None, repeats=REPEATS):
        """Times a call of a script: `call` returns keys and arguments, after `before` has put back
        what the last one used up. Both are told how often they were called before."""
        case = Case(script, state)
        for i in range(repeats):
            if before:
                before(i)
            keys, arguments = call(i)
            case.reply, us = self.timed(script, keys, [str(word) for word in arguments])
            assert self.is_expected(case.reply, check), (script, state, case.reply)
            case.times.append(us)
        self.cases.append(case)

    @staticmethod
    def is_expected(reply, check):
        """Granted, unless something else is to be checked: a code, or the beginning of an error."""
        if isinstance(reply, redis.ResponseError):
            return str(reply).startswith("AGAIN" if check is ANSWERED else check or "-")
        if check is ANSWERED:
            return True
        if isinstance(reply, list) and reply[:1] == [0] and isinstance(reply[1], bytes):
            return reply[1].decode() == check
        return check is None

    def costs(self):
        """{script: its costliest case}, the costliest first."""
        found = {}
        for case in self.cases:
            if case.script not in found or case.cost > found[case.script].cost:
                found[case.script] = case
        return dict(sorted(found.items(), key=lambda item: -item[1].cost))

# SPDX-License-Identifier: Apache-2.0
"""How many instructions Redis spends on a reservation by the usual script and by ours, counted by
valgrind's callgrind: who else uses the machine changes little. The kernel is left out."""

import re
import shutil
import sys
from pathlib import Path

from loads import bookings, encode, ours_on_redis, usual
from peers import SEATS, Connection, Redis

PIPELINE = 16
# So many batches, and how often each; what starting, loading and stopping take is in both counts.
FEW, MANY, REPEAT = 10, 110, 2
QUICK_FEW, QUICK_MANY = 1, 3


def reserve(redis, call, batches):
    """Sends batches of reservations, each with ids of its own; all have to be granted."""
    ids = bookings(batches * PIPELINE)
    with Connection(redis.port) as connection:
        for _ in range(batches):
            connection.socket.sendall("".join(
                encode(call(booking, user)) for booking, user in
                (next(ids) for _ in range(PIPELINE))).encode())
            for _ in range(PIPELINE):
                answer = connection.read()
                assert isinstance(answer, list) and answer[0] == 1, answer


def total(kept, where, batches, prepare):
    """All instructions of a server that carried out so many batches."""
    report = Path(where) / "callgrind.out"
    redis = Redis(where, program=kept.program, prefix=(
        "valgrind", "--tool=callgrind", f"--callgrind-out-file={report}"))
    try:
        redis.call("CONFIG", "SET", "hz", "1")  # it is slow now: its timers are not to count
        redis.call("CONFIG", "SET", "slowlog-log-slower-than", "-1")  # nor what it notes of that
        assert redis.call("SET", "zone:availability:{gala}:floor", SEATS) == "OK"
        reserve(redis, prepare(redis), batches)
    finally:
        redis.close()
    text = report.read_text()
    report.unlink()
    return int(re.search(r"(?m)^(?:summary|totals): (\d+)", text)[1])


def count(kept, script, where, quick):
    """{name: instructions of one reservation}; empty without valgrind."""
    if shutil.which("valgrind") is None:
        return {}

    def by_evalsha(call, load):
        def prepare(redis):
            sha = load(redis)
            return lambda booking, user: call(sha, booking, user)
        return prepare

    def by_fcall(redis):
        name = redis.load_function(script)
        return lambda booking, user: ours_on_redis(name, booking, user, "FCALL")

    ways = {"usual script": by_evalsha(usual, lambda redis: redis.sha),
            "our script": by_evalsha(usual, lambda redis: redis.load(script)),
            "our script, engine's keys": by_evalsha(ours_on_redis, lambda redis: redis.load(script))}
    if kept.has_functions:
        ways["our function, engine's keys"] = by_fcall
    few, many, repeat = (QUICK_FEW, QUICK_MANY, 1) if quick else (FEW, MANY, REPEAT)
    found = {}
    for name, prepare in ways.items():
        # The server's timers add to a count, and nothing takes away: the smallest is the closest.
        low, high = (min(total(kept, where, batches, prepare) for _ in range(repeat))
                     for batches in (few, many))
        found[name] = (high - low) / ((many - few) * PIPELINE)
        print(f"  {name:<58} {found[name]:>10,.0f} instructions", file=sys.stderr)
    return found

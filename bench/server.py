#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the server costs, beside Redis and nginx on the same machine in the same run.

    bench/server.py [--build build] [--quick] [--repeat N] [--only WORD] [--profile]

Also beside Valkey and pogocache, if VALKEY and POGOCACHE name their programs. Peers and ours take
turns, each time freshly started. Prints tables for bench/RESULTS.md: medians, the lowest and the
highest of all repeats, by rate and by processor time of the server. Everything is on 127.0.0.1, in
directories under the build, which are removed.
"""

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from loads import BEFORE_GET, GET, OURS, OUR_READ, SET, bookings, pipe, redis_benchmark, usual, wrk
from peers import BENCH, Connection, Holdfast, Nginx, Pogocache, Redis, resident_bytes
from rounds import Rounds
from server_tables import GRANTS, READS, REFUSALS, print_memory, print_tables, run_name

PROFILE_SYMBOLS = 25
PIPELINES = 1, 16, 64
CALIBRATION = 100_000  # the shorter a run, the better its length has to be known


class Bench(Rounds):
    def __init__(self, options):
        super().__init__(options.build, "bench-server-", 0.5 if options.quick else 1,
                         options.repeat or (3 if options.quick else 4))
        self.calibration = CALIBRATION
        self.bookings = 100_000 if options.quick else 1_000_000
        self.peers = {"Redis": lambda **how: Redis(self.where, **how)}
        if "VALKEY" in os.environ:
            self.peers["Valkey"] = lambda **how: Redis(
                self.where, program=os.environ["VALKEY"], **how)
        if "POGOCACHE" in os.environ:
            self.peers["pogocache"] = lambda: Pogocache(self.where, os.environ["POGOCACHE"])

    # ---- servers

    def ours(self, **options):
        return Holdfast(self.program, self.where, **options)

    def redis(self, **options):
        return Redis(self.where, **options)

    # ---- runs

    def pipelined(self, name, start, words, pipeline, first=None, outcome=None):
        """One run of redis-benchmark on a fresh server, which is sent `first` before; `words` may
        ask it for the script's name; `outcome` is what ours should answer to each."""
        server = start()
        try:
            if first:
                with Connection(server.port) as connection:
                    assert connection.call(*first) == "OK", first
            command = words(server) if callable(words) else words
            count = self.count(name, server, command, pipeline)
            before = server.outcomes() if outcome else None
            run = redis_benchmark(server, command, count, pipeline)
            if outcome:
                self.check(server, before, count, (command[0], outcome))
            self.keep(name, run)
        finally:
            server.close()

    @staticmethod
    def check(server, before, count, key):
        """All of them had the outcome they should have."""
        found = server.outcomes()
        # An id may come up twice, as it would for anybody; then the user is another one.
        twice = found.get(("SEATS.RESERVE", "BOOKING_EXISTS"), 0)
        assert found.get(key, 0) - before.get(key, 0) + twice >= count, (found, count)
        assert twice < 0.01 * count, (found, count)

    def http(self, name, start):
        server = start()
        try:
            self.keep(name, wrk(server, self.seconds))
        finally:
            server.close()

    # ---- the groups

    def our_runs(self, durable, pipeline):
        for load, words, outcome, seats in (
                (GRANTS, OURS, "OK", {}),
                (REFUSALS, OURS, "INSUFFICIENT_STOCK", {"seats": 0}),
                (READS, OUR_READ, "OK", {})):
            yield lambda load=load, words=words, outcome=outcome, seats=seats: self.pipelined(
                run_name("Holdfast", load, durable, pipeline),
                lambda: self.ours(durable=durable, **seats), words, pipeline, outcome=outcome)

    def peer_runs(self, durable, pipeline):
        """Writes beside grants; reads beside reads and refusals, which change nothing either."""
        for who, start in self.peers.items():
            if durable and who == "pogocache":
                continue  # it keeps nothing on disk as it goes
            for load, words, first in ((GRANTS, SET, None), (READS, GET, BEFORE_GET)):
                yield lambda who=who, start=start, load=load, words=words, first=first: (
                    self.pipelined(run_name(who, load, durable, pipeline),
                                   lambda: start(durable=True) if durable else start(), words,
                                   pipeline, first))

    def beside_caches(self, durable, pipeline):
        self.in_turn(*self.our_runs(durable, pipeline), *self.peer_runs(durable, pipeline))

    def usual_script(self):
        def one(load, durable, pipeline, **options):
            return lambda: self.pipelined(
                run_name("usual script", load, durable, pipeline),
                lambda: self.redis(durable=durable, **options), lambda redis: usual(redis.sha),
                pipeline)

        self.in_turn(one(GRANTS, False, 16), one(GRANTS, False, 64), one(GRANTS, True, 16),
                     one(REFUSALS, False, 16, seats=0), one(REFUSALS, False, 64, seats=0))

    def over_http(self):
        self.in_turn(lambda: self.http("nginx: a fixed answer", lambda: Nginx(self.where)),
                     lambda: self.http("Holdfast: HTTP reserve", self.ours))

    def memory(self):
        """Bytes for each booking with UUID ids, each by another user: (ours, Redis)."""
        figures = []
        for start, words, allocated in (
                (self.ours, lambda server, booking, user:
                    ["SEATS.RESERVE", "gala", "floor", booking, user, "1", "10"],
                 Holdfast.state_bytes),
                (self.redis, lambda server, booking, user: usual(server.sha, booking, user),
                 Redis.used_bytes)):
            server = start()
            try:
                before = resident_bytes(server.pid), allocated(server)
                pipe(server, (words(server, *ids) for ids in bookings(self.bookings)))
                after = resident_bytes(server.pid), allocated(server)
                figures.append([(b - a) / self.bookings for a, b in zip(before, after)])
            finally:
                server.close()
        return figures

    # ---- profile

    def record(self):
        """Where the server spends its time with many requests under way."""
        if shutil.which("perf") is None:
            print("perf is not installed: no profile")
            return
        server = self.ours()
        data = Path(self.where) / "perf.data"
        try:
            count = 2 * self.count("profile", server, OURS, 64)
            # perf watches the server for as long as the load generator runs.
            redis_benchmark(server, OURS, count, 64, prefix=[
                "perf", "record", "-q", "-F", "1999", "-p", server.pid, "-o", data, "--"])
        finally:
            server.close()
        report = subprocess.run(
            ["perf", "report", "--stdio", "--no-children", "-F", "overhead,dso,sym", "-i", str(data)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        lines = [line for line in report.splitlines() if line.strip() and line[0] != "#"]
        print("Where the server's time goes, SEATS.RESERVE, pipeline 64:\n")
        print("\n".join(lines[:PROFILE_SYMBOLS]) if lines else "perf gave no samples")


GROUPS = {
    **{f"pipeline{pipeline}": lambda bench, pipeline=pipeline: bench.beside_caches(False, pipeline)
       for pipeline in PIPELINES},
    **{f"always{pipeline}": lambda bench, pipeline=pipeline: bench.beside_caches(True, pipeline)
       for pipeline in PIPELINES},
    "usual": Bench.usual_script,
    "http": Bench.over_http,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", default=BENCH.parent / "build", help="the build directory")
    parser.add_argument("--quick", action="store_true", help="short runs: not for publication")
    parser.add_argument("--repeat", type=int, help="how often each is run: 4, with --quick 3")
    parser.add_argument("--only", choices=[*GROUPS, "memory", "profile"], action="append",
                        help="not all; memory and profile are measured only if they are named")
    parser.add_argument("--profile", action="store_true", help="where the server's time goes")
    options = parser.parse_args()
    wanted = options.only or list(GROUPS)

    busy_before = os.getloadavg()[0]  # others at work make all of it noise
    bench = Bench(options)
    try:
        for name in GROUPS:
            if name in wanted:
                GROUPS[name](bench)
        if bench.runs:
            print(f"{bench.repeat} runs of {bench.seconds} s each, in turn, {os.cpu_count()} cores, "
                  f"50 connections (HTTP: 64); load average before: {busy_before:.1f}. Medians, in "
                  "parentheses the lowest and the highest.\n")
            print_tables(bench.runs, ["Holdfast", *bench.peers], PIPELINES)
        if "memory" in wanted:
            print_memory(bench.memory(), bench.bookings)
        if options.profile or "profile" in wanted:
            bench.record()
    finally:
        bench.close()


if __name__ == "__main__":
    main()

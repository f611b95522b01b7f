#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the server costs, beside Redis and nginx on the same machine in the same run.

    bench/server.py [--build build] [--quick] [--repeat N] [--only WORD] [--profile]

Peer and ours take turns, each time freshly started. Prints tables for bench/RESULTS.md: medians,
the lowest and the highest of all repeats, and which side was busy; with two cores it is often the
load generator. Everything is on 127.0.0.1, in directories under the build, which are removed.
"""

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from loads import OURS, bookings, pipe, redis_benchmark, usual, wrk
from peers import BENCH, Holdfast, Nginx, Redis, resident_bytes
from rounds import Rounds, busy_side, median, rate, verdict

PROFILE_SYMBOLS = 25
REDIS_SET = ["-t", "set", "-d", "128"]


class Bench(Rounds):
    def __init__(self, options):
        super().__init__(options.build, "bench-server-", 0.5 if options.quick else 3,
                         options.repeat or (3 if options.quick else 5))
        self.bookings = 100_000 if options.quick else 1_000_000

    # ---- servers

    def ours(self, **options):
        return Holdfast(self.program, self.where, **options)

    def redis(self, **options):
        return Redis(self.where, **options)

    # ---- runs

    def pipelined(self, name, start, words, pipeline):
        """One run of redis-benchmark on a fresh server; `words` may ask it for the script's name."""
        server = start()
        try:
            command = words(server) if callable(words) else words
            count = self.count(name, server, command, pipeline)
            before = server.outcomes() if isinstance(server, Holdfast) else None
            run = redis_benchmark(server, command, count, pipeline)
            if before is not None:
                self.check(server, before, count, refused="refused" in name)
            self.keep(name, run)
        finally:
            server.close()

    @staticmethod
    def check(server, before, count, refused):
        """All of them had the outcome they should have."""
        outcome = "INSUFFICIENT_STOCK" if refused else "OK"
        key = "SEATS.RESERVE", outcome
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

    def memory_pipelined(self, pipeline):
        self.in_turn(
            lambda: self.pipelined(f"Redis SET, pipeline {pipeline}", self.redis, REDIS_SET,
                                   pipeline),
            lambda: self.pipelined(f"SEATS.RESERVE, pipeline {pipeline}", self.ours, OURS,
                                   pipeline),
            lambda: self.pipelined(f"usual script, pipeline {pipeline}", self.redis,
                                   lambda redis: usual(redis.sha), pipeline))

    def refused(self, pipeline):
        self.in_turn(
            lambda: self.pipelined(f"SEATS.RESERVE refused, pipeline {pipeline}",
                                   lambda: self.ours(seats=0), OURS, pipeline),
            lambda: self.pipelined(f"usual script refused, pipeline {pipeline}",
                                   lambda: self.redis(seats=0), lambda redis: usual(redis.sha),
                                   pipeline))

    def durable(self):
        self.in_turn(
            lambda: self.pipelined("usual script, appendfsync always, pipeline 16",
                                   lambda: self.redis(durable=True),
                                   lambda redis: usual(redis.sha), 16),
            lambda: self.pipelined("SEATS.RESERVE, fsync always, pipeline 16",
                                   lambda: self.ours(durable=True), OURS, 16))

    def one_at_a_time(self):
        self.in_turn(
            lambda: self.pipelined("Redis SET, one at a time", self.redis, REDIS_SET, 1),
            lambda: self.pipelined("SEATS.RESERVE, one at a time", self.ours, OURS, 1))

    def over_http(self):
        self.in_turn(lambda: self.http("nginx return 200", lambda: Nginx(self.where)),
                     lambda: self.http("HTTP reserve", self.ours))

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


# ---- tables

COMPARISONS = [
    # ours, peer, at least so many times as fast
    ("SEATS.RESERVE, pipeline 16", "Redis SET, pipeline 16", 1.5),
    ("SEATS.RESERVE, pipeline 64", "Redis SET, pipeline 64", 1.5),
    ("SEATS.RESERVE, pipeline 16", "usual script, pipeline 16", 10),
    ("SEATS.RESERVE, pipeline 64", "usual script, pipeline 64", 10),
    ("SEATS.RESERVE refused, pipeline 16", "usual script refused, pipeline 16", None),
    ("SEATS.RESERVE refused, pipeline 64", "usual script refused, pipeline 64", None),
    ("SEATS.RESERVE, fsync always, pipeline 16", "usual script, appendfsync always, pipeline 16", 8),
    ("SEATS.RESERVE, one at a time", "Redis SET, one at a time", 1),
    ("HTTP reserve", "nginx return 200", 0.7),
]


def print_comparisons(bench):
    print("| ours | | peer | | x peer | processor time, peer / ours | aim |")
    print("| --- | ---: | --- | ---: | ---: | ---: | --- |")
    for name, peer, aim in COMPARISONS:
        if name in bench.runs and peer in bench.runs:
            ours, theirs = bench.runs[name], bench.runs[peer]
            ratio = median(ours) / median(theirs)
            spent = median(ours, "server_us")
            times = median(theirs, "server_us") / spent if spent > 0 else 0
            print(f"| {name} | {rate(ours)} | {peer} | {rate(theirs)} | {ratio:.2f} | {times:.2f} "
                  f"| {verdict(ratio, aim)} |")
    print()


def print_runs(bench):
    print("| run | median (lowest-highest) | server, us a command | server busy "
          "| load generator busy | at its limit |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for name, runs in bench.runs.items():
        print(f"| {name} | {rate(runs)} | {median(runs, 'server_us'):.2f} "
              f"| {median(runs, 'server_share'):.0%} | {median(runs, 'client_share'):.0%} "
              f"| {busy_side(runs)} |")
    print()


def print_memory(bench, figures):
    ours, redis = figures
    print(f"| memory for a booking, {bench.bookings:,} with UUID ids | ours | the usual script in "
          "Redis | ours / Redis | aim |")
    print("| --- | ---: | ---: | ---: | --- |")
    for i, name in enumerate(("bytes, resident", "bytes, as the server itself counts")):
        ratio = ours[i] / redis[i]
        print(f"| {name} | {ours[i]:.0f} | {redis[i]:.0f} | {ratio:.3f} "
              f"| {verdict(ratio, 1 / 3, at_most=True)} |")
    print()


GROUPS = {
    "pipeline16": lambda bench: bench.memory_pipelined(16),
    "pipeline64": lambda bench: bench.memory_pipelined(64),
    "refused": lambda bench: (bench.refused(16), bench.refused(64)),
    "durable": Bench.durable,
    "one": Bench.one_at_a_time,
    "http": Bench.over_http,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", default=BENCH.parent / "build", help="the build directory")
    parser.add_argument("--quick", action="store_true", help="short runs: not for publication")
    parser.add_argument("--repeat", type=int, help="how often each is run: 5, with --quick 3")
    parser.add_argument("--only", choices=[*GROUPS, "memory", "profile"], action="append")
    parser.add_argument("--profile", action="store_true", help="where the server's time goes")
    options = parser.parse_args()
    wanted = options.only or [*GROUPS, "memory"]

    busy_before = os.getloadavg()[0]  # others at work make all of it noise
    bench = Bench(options)
    try:
        for name in GROUPS:
            if name in wanted:
                GROUPS[name](bench)
        figures = bench.memory() if "memory" in wanted else None
        if bench.runs:
            print(f"{bench.repeat} runs of {bench.seconds} s each, in turn, {os.cpu_count()} cores, "
                  f"50 connections (HTTP: 64); load average before: {busy_before:.1f}\n")
            print_comparisons(bench)
            print_runs(bench)
        if figures:
            print_memory(bench, figures)
        if options.profile or "profile" in wanted:
            bench.record()
    finally:
        bench.close()


if __name__ == "__main__":
    main()

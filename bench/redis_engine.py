#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the engine on Redis costs, beside redis-benchmark on the same Redis in the same run.

    bench/redis_engine.py [--build build] [--quick] [--rounds N] [--seconds S] [--only WORD]

Peer and ours take turns, each time on a fresh redis-server. Prints tables for bench/RESULTS.md. A
ratio is the median over the rounds of ours to the peer's of the same round, with the lowest and the
highest; where others use the machine, Redis' processor time for each command says more than rates.
"""

import argparse
import json
import os
import statistics
import sys

from loads import OURS, measured, ours_on_redis, redis_benchmark, usual
from peers import BENCH, SEATS, Holdfast, Redis
from rounds import Rounds, median, rate, verdict
from script_times import print_times, run_once

from redis_cluster import RedisCluster

IN_FLIGHT = 800  # as many as 50 connections with 16 each
MASTERS = (1, 2, 3)
MODELLED = (3, 6, 12)
LATENCIES = ("p50", "p90", "p99", "p99.9", "max")

SCRIPT, USUAL, ENGINE, SERVER = "our script", "usual script", "our engine", "our server"


class Bench(Rounds):
    def __init__(self, options):
        super().__init__(options.build, "bench-redis-",
                         options.seconds or (0.3 if options.quick else 1.5),
                         options.rounds or (1 if options.quick else 5))
        self.quick = options.quick
        self.calibration //= 10 if self.quick else 1
        self.script = self.build / "lua" / "reserve_seats.lua"

    # ---- runs, each on a fresh server

    def redis(self):
        redis = Redis(self.where)
        redis.ours = redis.load(self.script)
        assert redis.call("SET", "zone:availability:{gala}:floor", SEATS) == "OK"
        return redis

    def by_script(self, name, words, pipeline, connections=50):
        """redis-benchmark with a script; `words` makes the call."""
        redis = self.redis()
        try:
            command = words(redis)
            count = self.count(name, redis, command, pipeline, connections)
            self.keep(name, redis_benchmark(redis, command, count, pipeline, connections))
        finally:
            redis.close()

    def our_script(self, name, pipeline, connections=50):
        self.by_script(name, lambda redis: ours_on_redis(redis.ours), pipeline, connections)

    def usual_script(self, name, pipeline):
        self.by_script(name, lambda redis: usual(redis.sha), pipeline)

    def engine_run(self, name, url, pids, in_flight, events):
        """The program that keeps commands under way in the engine."""
        printed = {}

        def read(text):
            printed.update(json.loads(text))
            return printed["count"] / printed["seconds"], printed["count"]

        run = measured(pids, [self.build / "bench" / "redis_engine", url, in_flight, self.seconds,
                              *events], read)
        run.latency = {name: printed[name] for name in LATENCIES}
        run.caller_us = printed["caller_s"] / printed["count"] * 1e6
        run.engine_us = printed["engine_s"] / printed["count"] * 1e6
        self.keep(name, run)

    def our_engine(self, name, in_flight):
        redis = self.redis()
        try:
            self.engine_run(name, f"redis://127.0.0.1:{redis.port}", [redis.pid], in_flight,
                            ["gala"])
        finally:
            redis.close()

    def our_server(self, name, pipeline):
        """redis-benchmark on our server, which has its state in Redis."""
        redis = self.redis()
        try:
            server = Holdfast(self.program, self.where, engine=f"redis://127.0.0.1:{redis.port}")
            try:
                count = self.count(name, server, OURS, pipeline)
                self.keep(name, redis_benchmark(server, OURS, count, pipeline))
            finally:
                server.close()
        finally:
            redis.close()

    # ---- the groups

    def scripts(self):
        self.in_turn(*[run for pipeline in (16, 1) for run in (
            lambda pipeline=pipeline: self.our_script(f"{SCRIPT}, pipeline {pipeline}", pipeline),
            lambda pipeline=pipeline: self.usual_script(f"{USUAL}, pipeline {pipeline}", pipeline),
        )])

    def engine(self):
        self.in_turn(lambda: self.our_script("redis-benchmark -c 50 -P 16", 16),
                     lambda: self.our_engine(f"{ENGINE}, {IN_FLIGHT} in flight", IN_FLIGHT),
                     lambda: self.our_server(f"{SERVER}, -c 50 -P 16", 16),
                     lambda: self.our_script("redis-benchmark -c 1 -P 1", 1, 1),
                     lambda: self.our_engine(f"{ENGINE}, 1 in flight", 1))

    def masters(self):
        """Clusters of 1, 2 and 3 masters, an event on each."""
        clusters = []
        try:
            for count in MASTERS:
                clusters.append(RedisCluster(masters=count, replicas=0))
            events = [one_event_each(cluster) for cluster in clusters]
            self.in_turn(*[lambda cluster=cluster, names=names: self.on_cluster(cluster, names)
                           for cluster, names in zip(clusters, events)])
        finally:
            for cluster in clusters:
                cluster.close()

    def on_cluster(self, cluster, events):
        cluster.flush()
        self.engine_run(f"cluster of {len(events)}", cluster.url,
                        [node.pid for node in cluster.members], IN_FLIGHT, events)

    def times(self):
        print("  times of the scripts", file=sys.stderr)
        return [run_once(self.program, self.build / "lua", 1 if self.quick else 3)
                for _ in range(1 if self.quick else 2)]


def one_event_each(cluster):
    """Names of events, one on each master."""
    found = {}
    number = 0
    while len(found) < cluster.master_count:
        number += 1
        found.setdefault(cluster.master_of(f"{{gala-{number}}}").port, f"gala-{number}")
    return list(found.values())


# ---- tables

COMPARISONS = [
    # ours, peer, at least so many times as fast
    ("scripts", f"{SCRIPT}, pipeline 16", f"{USUAL}, pipeline 16", 1),
    ("scripts", f"{SCRIPT}, pipeline 1", f"{USUAL}, pipeline 1", 1),
    ("engine", f"{ENGINE}, {IN_FLIGHT} in flight", "redis-benchmark -c 50 -P 16", 0.9),
    ("engine", f"{SERVER}, -c 50 -P 16", "redis-benchmark -c 50 -P 16", None),
    ("engine", f"{ENGINE}, 1 in flight", "redis-benchmark -c 1 -P 1", None),
]


def spread(values):
    values = list(values)
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def print_comparisons(bench, group):
    print("| ours | | peer | | x peer | Redis' time, us a command, peer / ours | aim |")
    print("| --- | ---: | --- | ---: | ---: | ---: | --- |")
    for _, name, peer, aim in [row for row in COMPARISONS if row[0] == group]:
        ours, theirs = bench.runs[name], bench.runs[peer]
        ratios = [one.rate / other.rate for one, other in zip(ours, theirs)]
        spent = "" if name.startswith(SERVER) else (
            f"{median(theirs, 'server_us'):.1f} / {median(ours, 'server_us'):.1f}")
        print(f"| {name} | {rate(ours, 1)} | {peer} | {rate(theirs, 1)} | {spread(ratios)} "
              f"| {spent} | {verdict(statistics.median(ratios), aim)} |")
    print()


def print_engine(bench):
    print("| the engine | " + " | ".join(LATENCIES) + ", us | caller's thread, us a command "
          "| engine's thread, us a command |")
    print("| --- |" + " ---: |" * (len(LATENCIES) + 2))
    for in_flight in (IN_FLIGHT, 1):
        runs = bench.runs[f"{ENGINE}, {in_flight} in flight"]
        figures = [statistics.median(run.latency[name] for run in runs) for name in LATENCIES]
        print(f"| {in_flight} in flight | " + " | ".join(f"{us:,.0f}" for us in figures)
              + f" | {median(runs, 'caller_us'):.2f} | {median(runs, 'engine_us'):.2f} |")
    print()


def print_masters(bench):
    one = bench.runs["cluster of 1"]
    print("| masters | | x one master | all Redis, us a command | Redis, cores busy "
          "| caller's thread, us a command | engine's thread, us a command |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for count in MASTERS:
        runs = bench.runs[f"cluster of {count}"]
        ratios = [run.rate / alone.rate for run, alone in zip(runs, one)]
        print(f"| {count} | {rate(runs, 1)} | {spread(ratios)} | {median(runs, 'server_us'):.1f} "
              f"| {median(runs, 'server_share'):.2f} | {median(runs, 'caller_us'):.2f} "
              f"| {median(runs, 'engine_us'):.2f} |")
    print()
    print_model(median(one, "server_us"), median(one, "caller_us"), median(one, "engine_us"))


def print_model(redis_us, caller_us, engine_us):
    """Every master has a core to itself and as much to do as the others."""
    most = 1000 / max(caller_us, engine_us)
    print("By a model, not measured: rate = masters / Redis' time for a command "
          f"({redis_us:.1f} us), with a core for each and events spread evenly; an engine of one "
          f"process ends at 1 / its thread's time ({max(caller_us, engine_us):.2f} us, "
          f"{most:,.0f} k/s).\n")
    print("| masters | all of them | one engine | engines it takes | cores for the engines |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for count in MODELLED:
        total = 1000 * count / redis_us
        print(f"| {count} | {total:,.0f} k/s | {min(total, most):,.0f} k/s "
              f"| {-(-total // most):.0f} | {total * (caller_us + engine_us) / 1000:.1f} |")
    print()


GROUPS = ("scripts", "engine", "times", "masters")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", default=BENCH.parent / "build", help="the build directory")
    parser.add_argument("--quick", action="store_true", help="very short: not for publication")
    parser.add_argument("--rounds", type=int, help="how often each is run: 5, with --quick 1")
    parser.add_argument("--seconds", type=float, help="how long each time: 1.5, with --quick 0.3")
    parser.add_argument("--only", choices=GROUPS, action="append")
    options = parser.parse_args()
    wanted = options.only or GROUPS

    busy_before = os.getloadavg()[0]  # others at work make all of it noise
    bench = Bench(options)
    try:
        for name in ("scripts", "engine", "masters"):
            if name in wanted:
                getattr(bench, name)()
        times = bench.times() if "times" in wanted else None
    finally:
        bench.close()
    print(f"{bench.repeat} rounds of {bench.seconds} s each, in turn, {os.cpu_count()} cores; "
          f"load average before: {busy_before:.1f}\n")
    if "scripts" in wanted:
        print_comparisons(bench, "scripts")
    if "engine" in wanted:
        print_comparisons(bench, "engine")
        print_engine(bench)
    if times:
        print_times(times)
    if "masters" in wanted:
        print_masters(bench)


if __name__ == "__main__":
    main()

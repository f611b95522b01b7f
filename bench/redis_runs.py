# SPDX-License-Identifier: Apache-2.0
"""The runs of bench/redis_engine.py: one program that keeps the state, Redis or Valkey, and what is
measured on it. The usual script, ours, the engine and the server take turns, each time on a fresh
server."""

import json
import os
import re
import shutil
import subprocess
import sys

from loads import (
    OURS, SAME_IDS, SAME_IDS_TAGGED, measured, ours_on_redis, redis_benchmark, usual, with_numbers)
from peers import BENCH, SEATS, Holdfast, Redis
from rounds import Rounds
from script_times import run_once

from redis_cluster import RedisCluster

IN_FLIGHT = 800  # as many as 50 connections with 16 each
MASTERS = (1, 2, 3)
LATENCIES = ("p50", "p90", "p99", "p99.9", "max")


class Kept:
    """A program that keeps the state."""

    def __init__(self, program):
        said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        self.program, version = program, re.search(r" v=([\d.]+)", said)[1]
        self.label = f"{'Valkey' if 'valkey' in program else 'Redis'} {version}"
        self.has_functions = int(version.partition(".")[0]) >= 7

    @classmethod
    def all_here(cls):
        """Redis; and Valkey if VALKEY names one or there is one on the PATH (VALKEY= for none)."""
        valkey = os.environ.get("VALKEY", shutil.which("valkey-server"))
        return [cls("redis-server")] + ([cls(valkey)] if valkey else [])


class Runs(Rounds):
    """All runs on one of them."""

    def __init__(self, kept, options):
        super().__init__(options.build, "bench-redis-",
                         options.seconds or (0.2 if options.quick else 1.5),
                         options.rounds or (1 if options.quick else 5))
        self.kept, self.quick = kept, options.quick
        self.calibration //= 20 if self.quick else 1
        self.script = self.build / "lua" / "reserve_seats.lua"
        self.instructions, self.script_times = {}, []

    # ---- each on a fresh server

    def redis(self):
        redis = Redis(self.where, program=self.kept.program)
        assert redis.call("SET", "zone:availability:{gala}:floor", SEATS) == "OK"
        return redis

    def by_script(self, name, words, pipeline, connections=50):
        """redis-benchmark with a script; `words` loads it and makes the call."""
        redis = self.redis()
        try:
            command = words(redis)
            answer = redis.call(*with_numbers(command))  # the load generator reads no answers
            assert isinstance(answer, list) and answer[0] == 1, (name, answer)
            count = self.count(name, redis, command, pipeline, connections)
            self.keep(name, redis_benchmark(redis, command, count, pipeline, connections))
        finally:
            redis.close()

    def engine_run(self, name, url, pids, in_flight, events):
        """The program that keeps commands in flight in the engine. It has connected once before:
        compiling all scripts takes Redis as long as thousands of calls, and its peer's is loaded."""
        program, printed = self.build / "bench" / "redis_engine", {}
        subprocess.run([program, url, "1", "0", *events], stdout=subprocess.DEVNULL, check=True)

        def read(text):
            printed.update(json.loads(text))
            return printed["count"] / printed["seconds"], printed["count"]

        run = measured(pids, [program, url, in_flight, self.seconds, *events], read)
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
        """redis-benchmark on our server, which has its state there. What counts is the time that
        Redis takes, as everywhere."""
        redis = self.redis()
        try:
            server = Holdfast(self.program, self.where, engine=f"redis://127.0.0.1:{redis.port}")
            try:
                count = self.count(name, server, OURS, pipeline)
                self.keep(name, redis_benchmark(server, OURS, count, pipeline, pids=[redis.pid]))
            finally:
                server.close()
        finally:
            redis.close()

    # ---- the groups

    def alone(self):
        """The script beside the usual one: with the usual call, with the engine's, as a function."""
        def peer_call(redis):
            return usual(redis.load(BENCH / "reserve_usual.lua", SAME_IDS))

        def usual_call(redis):
            return usual(redis.load(self.script, SAME_IDS))

        def engine_call(redis):
            return ours_on_redis(redis.load(self.script, SAME_IDS_TAGGED))

        def function_call(redis):
            return ours_on_redis(redis.load_function(self.script, SAME_IDS_TAGGED), call="FCALL")

        calls = [("usual script", peer_call), ("our script", usual_call),
                 ("our script, engine's keys", engine_call)]
        if self.kept.has_functions:
            calls.append(("our function, engine's keys", function_call))
        self.in_turn(*[lambda name=name, words=words, pipeline=pipeline:
                       self.by_script(f"{name}, -P {pipeline}", words, pipeline)
                       for pipeline in (16, 1) for name, words in calls])

    def engine(self):
        """Many in flight, which travel in batches, and one at a time; through the server, too."""
        def usual_call(redis):
            return usual(redis.sha)

        self.in_turn(lambda: self.by_script("usual script, -c 50 -P 16", usual_call, 16),
                     lambda: self.our_engine(f"engine, {IN_FLIGHT} in flight", IN_FLIGHT),
                     lambda: self.our_server("server, -c 50 -P 16", 16),
                     lambda: self.by_script("usual script, -c 1 -P 1", usual_call, 1, 1),
                     lambda: self.our_engine("engine, 1 in flight", 1))

    def masters(self):
        """Clusters of 1, 2 and 3 masters, an event on each."""
        clusters = []
        try:
            for count in MASTERS:
                clusters.append(RedisCluster(masters=count, replicas=0,
                                             program=self.kept.program))
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
        self.script_times = [
            run_once(self.program, self.build / "lua", 1 if self.quick else 3, self.kept.program)
            for _ in range(1 if self.quick else 2)]


def one_event_each(cluster):
    """Names of events, one on each master."""
    found = {}
    number = 0
    while len(found) < cluster.master_count:
        number += 1
        found.setdefault(cluster.master_of(f"{{gala-{number}}}").port, f"gala-{number}")
    return list(found.values())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long each script keeps Redis busy, as its SLOWLOG says, under the load of script_exercise.py. On
a cluster of one node: its checks of the slots are in the times.

    bench/script_times.py [--build build] [--only FAMILY]...

times each script by itself in its worst states (worst_case.py), prints a table, the costliest first,
and fails if one takes more than a millisecond."""

import argparse
import hashlib
import os
import statistics
import sys
from pathlib import Path

from peers import BENCH, Server
from script_exercise import Exercise
from worst_case import Bench
from worst_holds import time_quota, time_shards, time_stock
from worst_room import time_locks, time_rooms
from worst_seats import time_seats
from worst_semaphore import time_semaphores

from redis_cluster import RedisCluster
from servers import RedisServer

LOGGED_US = 5  # inside a script most commands take less, and are to leave the log alone
LONG_US = 1000
NO_FILE = "no_file"  # a script that the engine has, and that is no file of its own
WORST = {"seats": time_seats, "quota": time_quota, "stock": time_stock, "shards": time_shards,
         "rooms": time_rooms, "locks": time_locks, "semaphores": time_semaphores}


class Times:
    """Microseconds of every script in one run: {script: [...]}."""

    def __init__(self, folder):
        """`folder` has the scripts."""
        self.names = {hashlib.sha1(path.read_bytes()).hexdigest(): path.stem
                      for path in folder.glob("*.lua")}
        self.found = {name: [] for name in self.names.values()}
        self.calls = 0    # of scripts, in all
        self.events = {}  # what LATENCY noticed: {event: the longest in ms}

    def begin(self, node):
        for name, value in (("slowlog-max-len", 10 ** 6), ("slowlog-log-slower-than", LOGGED_US),
                            ("latency-monitor-threshold", LONG_US // 1000)):
            node.config_set(name, value)
        self.before = self.evalsha_calls(node)
        node.slowlog_reset()
        node.execute_command("LATENCY", "RESET")

    @staticmethod
    def evalsha_calls(node):
        return node.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"]

    def collect(self, node):
        """What was logged since the last time; then the log is empty."""
        node.config_set("slowlog-log-slower-than", -1)
        for event, _, _, longest in node.execute_command("LATENCY", "LATEST"):
            name = event.decode()
            self.events[name] = max(longest, self.events.get(name, 0))
        for _, _, us, words, *_ in node.execute_command("SLOWLOG", "GET", -1):
            if words[0].upper() == b"EVALSHA":
                name = self.names.get(words[1].decode(), NO_FILE)
                self.found.setdefault(name, []).append(us)
        self.calls = self.evalsha_calls(node) - self.before
        node.slowlog_reset()
        node.execute_command("LATENCY", "RESET")
        node.config_set("slowlog-log-slower-than", LOGGED_US)


def go_first(pid):
    """Whatever else runs on this machine does not interrupt it, if we may ask for that."""
    try:
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))
        return True
    except PermissionError:
        return False


def run_once(program, folder, times, redis_program):
    """One run on a fresh Redis, a cluster of one node: there products can be in shards."""
    found = Times(folder)
    with RedisCluster(masters=1, replicas=0, program=redis_program) as cluster:
        found.went_first = go_first(cluster.members[0].pid)
        node = cluster.members[0].client()
        with Server("--engine", cluster.url + "?worker=no", memory=True, program=program) as server:
            found.begin(node)
            exercise = Exercise(server, node, times)
            for family in Exercise.FAMILIES:
                family(exercise)
                found.collect(node)
            exercise.close()
        with Server("--engine", cluster.url, memory=True, program=program) as server:
            exercise = Exercise(server, node, times)
            exercise.worker()
            found.collect(node)
            exercise.close()
    return found


# ---- tables

class Figures:
    """What several runs say of one script, or of several."""

    def __init__(self, runs, names):
        logged = {name: [run.found.get(name, []) for run in runs] for name in names}
        self.every = [us for times in logged.values() for run in times for us in run]
        self.calls = len(self.every)
        worst = {name: [max(run, default=0) for run in times] for name, times in logged.items()}
        # What the host does to the machine comes up in one run; what a script does, in all of them.
        self.slowest = max(worst, key=lambda name: min(worst[name]))
        self.worst = worst[self.slowest]
        self.over = [sum(us > LONG_US for times in logged.values() for us in times[number])
                     for number in range(len(runs))]

    @property
    def median(self):
        return statistics.median(self.every)


def families(names):
    """{folder under lua/: its scripts}"""
    found = {"no file": [NO_FILE]} if NO_FILE in names else {}
    for path in sorted((BENCH.parent / "lua").glob("*/**/*.lua")):
        if path.stem in names:
            found.setdefault(path.relative_to(BENCH.parent / "lua").parts[0], []).append(path.stem)
    return found


def all_names(runs):
    return sorted({name for run in runs for name in run.found})


def slowest(runs):
    return Figures(runs, all_names(runs))


def row(title, figures):
    if not figures.calls:
        return f"| {title} | 0 | | | | |"
    return (f"| {title} | {figures.calls} | {figures.median:.0f} "
            f"| {', '.join(map(str, figures.worst))} | {min(figures.worst)} "
            f"| {', '.join(map(str, figures.over))} |")


def print_times(label, runs, each):
    """By family; with `each`, every script on a row of its own."""
    print(f"How long a script keeps {label} busy, by SLOWLOG, {len(runs)} runs"
          + (", with real-time priority:" if all(run.went_first for run in runs) else
             "; it may have been interrupted, we may not set its priority:") + "\n")
    print("| scripts | calls in the log | median, us | worst of each run, us | the smaller, us "
          "| calls over 1 ms, by run |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    names = all_names(runs)
    if each:
        for name in names:
            print(row(name, Figures(runs, [name])))
    else:
        for family, scripts in families(names).items():
            figures = Figures(runs, scripts)
            print(row(f"{family}, {len(scripts)}: slowest `{figures.slowest}`", figures))
    missing = sum(run.calls - sum(map(len, run.found.values())) for run in runs)
    print(f"\n{sum(run.calls for run in runs)} calls; {missing} took less than {LOGGED_US} us and "
          "are not in the log.")
    for number, run in enumerate(runs, 1):
        noticed = ", ".join(f"{event} {ms} ms" for event, ms in sorted(run.events.items()))
        print(f"LATENCY, run {number}, events of 1 ms and more: {noticed or 'none'}.")
    print()


# ---- each script at its worst

def time_worst(bench, only):
    """Times all cases, or those of some families; each family begins with an empty Redis."""
    for family, time_family in WORST.items():
        if not only or family in only:
            print(f"  {family}", file=sys.stderr)
            time_family(bench)
            bench.redis.flushall()


def print_worst(bench):
    """The table, the costliest script first. Returns the scripts that take too long."""
    print("| script | worst state | cost, us | longest of all calls, us | calls |")
    print("| --- | --- | ---: | ---: | ---: |")
    costs = bench.costs()
    for script, case in costs.items():
        print(f"| {script} | {case.state} | {case.cost} | {max(case.times)} | {len(case.times)} |")
    missing = sorted(bench.shas.keys() - costs.keys())
    print(f"\n{len(costs)} scripts in {len(bench.cases)} states."
          + (f" Not timed: {', '.join(missing)}." if missing else ""))
    return [script for script, case in costs.items() if case.cost > LONG_US]


def main():
    parser = argparse.ArgumentParser(description="Times each script in its worst states; fails if "
                                     f"one takes more than {LONG_US} us.")
    parser.add_argument("--build", type=Path, default=BENCH.parent / "build")
    parser.add_argument("--only", choices=WORST, action="append", help="these families")
    options = parser.parse_args()
    with RedisServer() as server:
        first = go_first(server.pid)
        bench = Bench(server.client(), options.build / "lua")
        time_worst(bench, options.only)
    print(f"Load {os.getloadavg()[0]:.1f}, redis-server "
          + ("with" if first else "without") + " real-time priority.\n")
    late = print_worst(bench)
    if late:
        sys.exit(f"over {LONG_US} us: {', '.join(late)}")


if __name__ == "__main__":
    main()

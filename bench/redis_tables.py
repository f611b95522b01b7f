# SPDX-License-Identifier: Apache-2.0
"""What bench/redis_engine.py prints: a section for bench/RESULTS.md, as Markdown."""

import os
import statistics

from redis_runs import IN_FLIGHT, LATENCIES, MASTERS
from rounds import median, rate, verdict
from script_times import LONG_US, print_times, slowest

MODELLED = (3, 6, 12)
BATCH_AIM = 1.7

# ours, the peer, at least so many times as fast; by rate
RATES = [
    ("alone", "our script, -P 16", "usual script, -P 16", 1),
    ("alone", "our script, -P 1", "usual script, -P 1", 1),
    ("alone", "our script, engine's keys, -P 16", "usual script, -P 16", None),
    ("alone", "our function, engine's keys, -P 16", "our script, engine's keys, -P 16", None),
    ("alone", "our function, engine's keys, -P 1", "our script, engine's keys, -P 1", None),
    ("engine", f"engine, {IN_FLIGHT} in flight", "usual script, -c 50 -P 16", BATCH_AIM),
    ("engine", "server, -c 50 -P 16", "usual script, -c 50 -P 16", None),
    ("engine", "engine, 1 in flight", "usual script, -c 1 -P 1", None),
    ("masters", "cluster of 2", "cluster of 1", None),
    ("masters", "cluster of 3", "cluster of 1", None),
]
# the same by instructions; the fewer the better
COUNTS = [
    ("our script", "usual script", 1),
    ("our script, engine's keys", "usual script", 1),
    ("our function, engine's keys", "our script, engine's keys", None),
]


def spread(values):
    values = list(values)
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def ratios(ours, theirs, what="rate"):
    return [getattr(one, what) / getattr(other, what) for one, other in zip(ours, theirs)]


def compared(bench):
    """The rows of one server in the table of all."""
    label = bench.kept.label
    for group, name, peer, aim in RATES:
        if name not in bench.runs:
            continue
        ours, theirs = bench.runs[name], bench.runs[peer]
        by_rate = ratios(ours, theirs)
        spent = f"{median(theirs, 'server_us'):.1f} / {median(ours, 'server_us'):.1f}"
        less = spread(ratios(theirs, ours, "server_us"))
        yield (f"| {label} | {name} | {rate(ours, 1)} | {peer} | {rate(theirs, 1)} "
               f"| {spread(by_rate)} | {spent} | {less} "
               f"| {verdict(statistics.median(by_rate), aim)} |")
    for name, peer, aim in COUNTS:
        if name in bench.instructions:
            ours, theirs = bench.instructions[name], bench.instructions[peer]
            yield (f"| {label} | {name}, instructions | {ours:,.0f} | {peer} | {theirs:,.0f} "
                   f"| {theirs / ours:.3f} | | | {verdict(theirs / ours, aim)} |")
    if bench.script_times:
        figures = slowest(bench.script_times)
        worst = min(figures.worst)
        yield (f"| {label} | slowest script, `{figures.slowest}` | {worst} us | | | | | "
               f"| {verdict(worst, LONG_US, at_most=True)} |")


def print_engine(benches):
    print("| the engine | on | " + " | ".join(LATENCIES) + ", us | caller's thread, us a command "
          "| engine's thread, us a command |")
    print("| --- | --- |" + " ---: |" * (len(LATENCIES) + 2))
    for bench in benches:
        for in_flight in (IN_FLIGHT, 1):
            runs = bench.runs[f"engine, {in_flight} in flight"]
            figures = [statistics.median(run.latency[name] for run in runs) for name in LATENCIES]
            print(f"| {in_flight} in flight | {bench.kept.label} | "
                  + " | ".join(f"{us:,.0f}" for us in figures)
                  + f" | {median(runs, 'caller_us'):.2f} | {median(runs, 'engine_us'):.2f} |")
    print()


def print_masters(benches):
    print("| masters | on | | all of them, us a command | cores they keep busy "
          "| caller's thread, us a command | engine's thread, us a command |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for bench in benches:
        for count in MASTERS:
            runs = bench.runs[f"cluster of {count}"]
            print(f"| {count} | {bench.kept.label} | {rate(runs, 1)} "
                  f"| {median(runs, 'server_us'):.1f} | {median(runs, 'server_share'):.2f} "
                  f"| {median(runs, 'caller_us'):.2f} | {median(runs, 'engine_us'):.2f} |")
    print()
    one = benches[0].runs["cluster of 1"]
    print_model(benches[0].kept.label, median(one, "server_us"), median(one, "caller_us"),
                median(one, "engine_us"))


def print_model(label, redis_us, caller_us, engine_us):
    """Every master has a core to itself and as much to do as the others."""
    most = 1000 / max(caller_us, engine_us)
    print(f"By a model, not measured, for {label}: rate = masters / its time for a command "
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


def print_section(benches, busy, wanted, each):
    """`busy` are the load averages before and after: others at work make all of it noise."""
    first = benches[0]
    print("## The engine on Redis\n")
    print(f"`make bench-redis`: {' and '.join(bench.kept.label for bench in benches)}, with the load "
          f"on the same {os.cpu_count()} cores; {first.repeat} rounds of {first.seconds} s each, all "
          "in turn, fresh data each. The load average was "
          f"{busy[0]:.1f} before and {busy[1]:.1f} after.\n")
    print("A ratio is the median over the rounds of ours to the peer's of the same round, with the "
          "lowest and the highest. \"Time\" is the processor time of the one that keeps the state "
          "for a command, and how many times less it is than the peer's: where load and server "
          "share the cores it says more than rates do. The usual script is "
          "`bench/reserve_usual.lua`, called by redis-benchmark; ours takes the same call, or the "
          "engine's, with tagged names and the key of the deadlines. Where both are called by "
          "redis-benchmark both first make the ids in their keys those of the arguments.\n")
    print("| on | ours | | beside | | x beside | time, us, beside / ours | x less time | aim |")
    print("| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | --- |")
    for bench in benches:
        for line in compared(bench):
            print(line)
    print()
    if "engine" in wanted:
        print_engine(benches)
    if "masters" in wanted:
        print_masters(benches)
    if "times" in wanted:
        for bench in benches:
            print_times(bench.kept.label, bench.script_times, each)

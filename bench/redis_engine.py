#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the engine on Redis costs, beside redis-benchmark and the usual script in the same run.

    bench/redis_engine.py [--build build] [--quick] [--rounds N] [--seconds S] [--only GROUP]... [--each]

On Redis, and on Valkey if VALKEY names its server program or valkey-server is on the PATH (VALKEY= leaves
it out). Prints the section of bench/RESULTS.md as Markdown; what goes on meanwhile is on standard error.

    alone          our reserve script beside the usual one: rates, and as a function (FCALL)
    instructions   the same, counted by callgrind
    engine         800 commands in flight, one at a time, and through the server
    masters        clusters of 1, 2 and 3
    times          how long each script takes, by SLOWLOG
"""

import argparse
import os
import sys

from peers import BENCH
from redis_instructions import count
from redis_runs import Kept, Runs
from redis_tables import print_section

GROUPS = ("alone", "instructions", "engine", "masters", "times")


def measure(kept, options, wanted):
    print(kept.label, file=sys.stderr)
    bench = Runs(kept, options)
    try:
        for name in ("alone", "engine", "masters", "times"):
            if name in wanted:
                getattr(bench, name)()
        if "instructions" in wanted:
            bench.instructions = count(kept, bench.script, bench.where, options.quick)
    finally:
        bench.close()
    return bench


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", default=BENCH.parent / "build", help="the build directory")
    parser.add_argument("--quick", action="store_true", help="very short: not for publication")
    parser.add_argument("--rounds", type=int, help="how often each is run: 5, with --quick 1")
    parser.add_argument("--seconds", type=float, help="how long each time: 1.5, with --quick 0.2")
    parser.add_argument("--only", choices=GROUPS, action="append")
    parser.add_argument("--each", action="store_true", help="a row for each script and its times")
    options = parser.parse_args()
    wanted = options.only or GROUPS

    before = os.getloadavg()[0]
    benches = [measure(kept, options, wanted) for kept in Kept.all_here()]
    print_section(benches, (before, os.getloadavg()[0]), wanted, options.each)


if __name__ == "__main__":
    main()

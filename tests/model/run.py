#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the engine and the model side by side on random commands and compares every reply.

    run.py --driver build/tests/model_driver [--seed N] [--commands N] [--stop-at N] [--verbose]
    run.py --driver build/tests/model_driver --flood
"""

import argparse
import gc
import os
import shlex
import sys
import time

from comparison import CHUNK, Comparison, Mismatch
from driver import Driver, DriverDied
from generate import FAMILIES, Generator
from generate_flood import FLOOD_COMMANDS, FloodGenerator
from model import Model

ENOUGH = 100_000  # random commands grant every command, and meet every code
AUDIT_EVERY = 1000
SNAPSHOT_EVERY = 5000


class Run(Comparison):
    """The core itself: its audit and its snapshots are looked at as well."""

    def __init__(self, options):
        make_generator = FloodGenerator if options.flood else Generator
        last = min(options.commands, options.stop_at or options.commands)
        model = Model()
        generator = make_generator(model, options.seed)
        super().__init__(Driver(options.driver), model, generator, last, options.seed)

    def check_state(self, done):
        if done % AUDIT_EVERY < CHUNK:
            self.audit(done)
        if done % SNAPSHOT_EVERY < CHUNK:
            self.round_trip(done)

    def ask(self, directive, done):
        try:
            return self.driver.ask(directive)
        except DriverDied as death:
            raise Mismatch(f"{directive} after command {done}: {death}", done) from None

    def audit(self, done):
        findings = self.ask("audit", done)
        if findings != []:
            raise Mismatch(f"audit after command {done} found: {findings}", done)

    def round_trip(self, done):
        before = self.ask("digest", done)
        answer = self.ask("snapshot", done)
        after = self.ask("digest", done)
        if answer != "ok" or before != after:
            figures = f"{answer}; digest {before} before, {after} after"
            raise Mismatch(f"snapshot after command {done}: {figures}", done)

    def check_end(self):
        self.audit(self.last)


def parse_options():
    parser = argparse.ArgumentParser(description="Compares the engine with the model.")
    parser.add_argument("--driver", required=True, help="the program that runs the engine")
    parser.add_argument("--seed", type=int, help="of the random commands; default: a new one")
    parser.add_argument("--commands", type=int, default=200_000)
    parser.add_argument("--stop-at", type=int, help="stop after this command of the sequence")
    parser.add_argument("--flood", action="store_true", help="one fixed sequence for large bounds")
    parser.add_argument("--verbose", action="store_true", help="count each command and code")
    options = parser.parse_args()
    if options.flood:
        options.commands = FLOOD_COMMANDS
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "big")
    return options


def replay_command(options, number):
    words = [
        "/usr/bin/python3", sys.argv[0], "--driver", options.driver, "--seed", str(options.seed),
        "--commands", str(options.commands),
    ]
    if options.flood:
        words += ["--flood"]
    return shlex.join([*words, "--stop-at", str(number)])


def main():
    options = parse_options()
    gc.set_threshold(50_000, 50, 50)  # nearly nothing here is garbage in cycles
    print(f"model test: seed {options.seed}", flush=True)
    started = time.monotonic()
    run = Run(options)
    try:
        run.run()
    except Mismatch as mismatch:
        print(mismatch)
        print("replay with:\n  " + replay_command(options, mismatch.command))
        return 1
    if options.verbose:
        print(run.outcomes.table())
    lacking = run.outcomes.lacking(run.model.commands)
    if lacking and run.last >= ENOUGH and not options.flood:
        print("model test: never granted, or never met: " + ", ".join(lacking))
        return 1
    seconds = time.monotonic() - started
    print(
        f"model test: {run.last} commands agree, granted/refused/malformed: "
        f"{run.outcomes.summary(FAMILIES)}; {seconds:.1f} s, seed {options.seed}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

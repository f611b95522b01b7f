#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Events come, are sold and leave: what the server keeps of them.

    bench/cycle.py [--build build] [--events 1000] [--bookings 10000]

Each event is opened, sold out by RESERVE and CONFIRM, and closed, in a data directory. Prints the
table for bench/RESULTS.md. The journal grows up to a bound of its own before a snapshot takes its
place, so the directory is measured once more with a snapshot made on demand; and its largest size
seen is told. Ends with an error if memory or the directory grew by more than a tenth.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

from peers import BENCH, resident_bytes, wait_until
from stall_probe import Stalled, memory_bytes, path_of, temporary_directory

GROWN = 1.1
JOURNAL_BOUND = 256 << 20  # a snapshot is made when the journal has grown by so much
SEGMENT = 64 << 20         # what is covered goes a segment at a time


class Cycle:
    def __init__(self, server, directory, bookings):
        self.server, self.directory, self.bookings = server, directory, bookings
        self.largest = 0

    def sell_and_close(self, event):
        server, count = self.server, self.bookings
        assert server.call("SEATS.OPEN", event, "floor", count)[0] == 1
        server.load(count, "SEATS.RESERVE", event, "floor", "booking-%i", "user-%i", "1", "4")
        server.load(count, "SEATS.CONFIRM", event, "booking-%i", "PAYMENT", "payment-of-%i")
        assert server.call("SEATS.CLOSE", event, "FORCE") == [1, count, 1]
        self.largest = max(self.largest, self.directory_bytes())

    def snapshots_made(self):
        return int(re.search(r"^holdfast_snapshots_total (\d+)", self.server.call("METRICS"),
                             re.M)[1])

    def directory_bytes(self):
        """As the disk has it: what is removed meanwhile does not count."""
        total = 0
        for path in self.directory.rglob("*"):
            try:
                total += path.stat().st_blocks * 512
            except FileNotFoundError:
                continue
        return total

    def memory_when_freed(self):
        """What is in use once it does not become less any more: the rest is freed in steps."""
        now = memory_bytes(self.server)
        while True:
            time.sleep(0.05)
            before, now = now, memory_bytes(self.server)
            if now >= before:
                return now

    def snapshot(self):
        """Makes one, and waits until what it covers is removed."""
        made = self.snapshots_made()
        wait_until(lambda: self.server.call("SNAPSHOT") == "OK", "a snapshot")
        wait_until(lambda: self.snapshots_made() > made, "the snapshot in place")
        size = self.directory_bytes()
        while True:
            time.sleep(0.2)
            before, size = size, self.directory_bytes()
            if size >= before:
                return size

    def row(self, number):
        memory, directory = self.memory_when_freed(), self.directory_bytes()
        resident = resident_bytes(self.server.pid)
        print(f"| {number:,} | {resident / 2 ** 20:,.2f} | {memory / 2 ** 20:,.3f} "
              f"| {directory / 2 ** 20:,.1f} |", flush=True)
        return resident, memory


def run(server, directory, events, bookings):
    """True if nothing has grown."""
    cycle, begun = Cycle(server, directory, bookings), time.monotonic()
    print(f"{events:,} events of {bookings:,} bookings, {os.cpu_count()} cores, "
          f"load average {os.getloadavg()[0]:.1f}\n")
    print("| events closed | resident, MiB | memory_bytes, MiB | directory, MiB |")
    print("| ---: | ---: | ---: | ---: |")
    cycle.sell_and_close("event-0")
    first = cycle.row(1)
    first_after = cycle.snapshot()
    for i in range(1, events):
        cycle.sell_and_close(f"event-{i}")
        if (i + 1) % max(1, events // 10) == 0 or i == events - 1:
            last = cycle.row(i + 1)
    last_after = cycle.snapshot()
    print(f"\nThe directory after a snapshot: {first_after:,} bytes with the first event, "
          f"{last_after:,} with the last; at most {cycle.largest / 2 ** 20:,.0f} MiB between them, "
          f"{cycle.snapshots_made()} snapshots. {time.monotonic() - begun:.0f} s.")
    grown = [name for name, before, after in (
        ("resident memory", first[0], last[0]), ("memory_bytes", first[1], last[1]),
        ("the directory after a snapshot", first_after, last_after)) if after > before * GROWN]
    if cycle.largest > JOURNAL_BOUND + 2 * SEGMENT:
        grown.append("the directory between snapshots")
    for name in grown:
        print(f"Grown by more than a tenth or past its bound: {name}", file=sys.stderr)
    return not grown


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", default=BENCH.parent / "build", help="the build directory")
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--bookings", type=int, default=10_000)
    options = parser.parse_args()
    build = Path(options.build).resolve()
    with temporary_directory(build) as directory:
        data = path_of(directory, "data")
        with Stalled(build, "--fsync", "everysec", directory=data) as server:
            return 0 if run(server, data, options.events, options.bookings) else 1


if __name__ == "__main__":
    sys.exit(main())

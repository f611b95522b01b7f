#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions the server spends on a command, counted by valgrind's callgrind.

    bench/instructions.py [--build build] [--against ../former/build] [--redis]
    bench/instructions.py [--build build] --check
    bench/instructions.py [--build build] --record

Times move by a third on a busy machine, these counts by nothing: --against tells whether a change
costs anything, and --check, which is one of the tests, fails when a command takes more than 3 %
above what bench/instructions.txt says. A change that is worth it writes that file anew, with
--record (`make instructions`). The counts leave out the kernel, and say nothing of caches.

They belong to one compiler, one libc and one way of building, which the file names: with others
--check does nothing, says why, and ends with 77.
"""

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from counted import BATCHES, PIPELINE, WINDOWS, Counted
from loads import bookings, encode
from peers import BENCH, Opened, Redis

RECORDED = BENCH / "instructions.txt"
GROWN, SHRUNK = 1.03, 0.90
SKIPPED = 77  # as automake has it, and Meson
ALL = WINDOWS * BATCHES * PIPELINE
SEATS = 10 ** 9

IDS = list(bookings(ALL))


def is_granted(reply):
    return reply[0] == 1


def is_refused(reply):
    return reply[:2] == [0, "INSUFFICIENT_STOCK"]


class Resp:
    """Commands over RESP, so many of them in one batch. `words(n, booking, user)` gives the nth, or
    a list of several; `first` are sent before anything is counted, each for itself; `before` gives
    what the nth command needs."""

    def __init__(self, name, words, right=is_granted, first=(), before=None):
        self.name, self.words, self.right, self.first, self.before = (
            name, words, right, first, before)

    def run(self, server):
        for words in self.first:
            assert is_granted(server.connection.call(*words)), words
        if self.before:
            for number in range(WINDOWS * BATCHES):
                self.send(server, self.before, is_granted, number)
        return server.measure(lambda number: self.send(server, self.words, self.right, number),
                              PIPELINE)

    @staticmethod
    def send(server, words, right, number):
        several = [words(n, *IDS[n]) for n in range(number * PIPELINE, (number + 1) * PIPELINE)]
        server.connection.socket.sendall("".join(map(encode, several)).encode())
        for command in several:
            reply = server.connection.read()
            assert right(reply), (command, reply)


class Http:
    """Requests over HTTP, one at a time."""

    def __init__(self, name, method, path, status, body=None):
        self.name, self.method, self.path, self.status, self.body = name, method, path, status, body

    def run(self, server):
        assert is_granted(server.connection.call(*opened("show")[0]))
        with Opened(server.http_port) as connection:
            return server.measure(lambda number: self.send(connection, number), 1)

    def send(self, connection, number):
        body = json.dumps(self.body(*IDS[number])) if self.body else ""
        fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        connection.socket.sendall(f"{self.method} {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  f"{fields}\r\n{body}".encode())
        status = connection.file.readline()
        assert status.startswith(f"HTTP/1.1 {self.status} ".encode()), status
        size = 0
        while (line := connection.file.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
        connection.file.read(size)


def reserve(event):
    return lambda n, booking, user: ["SEATS.RESERVE", event, "floor", booking, user, "1", "4"]


def opened(event, seats=SEATS):
    return [["SEATS.OPEN", event, "floor", seats]]


def in_turn(even, odd):
    """The even commands take what the odd ones, right behind them, give back."""
    return lambda n, *ids: (odd if n % 2 else even)(n - n % 2)


RESERVE = Resp("SEATS.RESERVE, granted", reserve("gala"), first=opened("gala"))

LOADS = [
    RESERVE,
    Resp("SEATS.RESERVE, refused", reserve("full"), is_refused, opened("full", 0)),
    Resp("SEATS.ZONE", lambda n, *ids: ["SEATS.ZONE", "gala", "floor"],
         lambda reply: reply[0] == "capacity"),
    Resp("SEATS.GET", lambda n, booking, user: ["SEATS.GET", "gala", booking],
         lambda reply: reply[0] == "booking_id"),
    Resp("SEATS.CONFIRM", lambda n, booking, user: ["SEATS.CONFIRM", "gala", booking]),
    Resp("SEATS.RELEASE", lambda n, booking, user: ["SEATS.RELEASE", "fair", booking],
         first=opened("fair"), before=reserve("fair")),
    Resp("STOCK.TAKE", lambda n, order, user: ["STOCK.TAKE", "shoe", order, user, "1"],
         first=[["STOCK.LOAD", "shoe", SEATS]]),
    Resp("QUOTA.RESERVE", lambda n, hold, user: ["QUOTA.RESERVE", "acme", "1", "HOLD", hold],
         first=[["QUOTA.LIMIT", "acme", SEATS]]),
    Resp("SEM.ACQUIRE and RELEASE",
         in_turn(lambda n: ["SEM.ACQUIRE", "door", IDS[n][0], "10"],
                 lambda n: ["SEM.RELEASE", "door", IDS[n][0]]),
         lambda reply: reply == 1 or is_granted(reply)),
    Resp("LOCK.TRY and UNLOCK",
         in_turn(lambda n: ["LOCK.TRY", "job", "30", "ID", IDS[n][0]],
                 lambda n: ["LOCK.UNLOCK", "job", IDS[n][0]]),
         lambda reply: reply not in (None, 0)),
    Http("HTTP reserve", "POST", "/v1/events/show/bookings", 201, lambda booking, user: {
        "zone_id": "floor", "user_id": user, "quantity": 1, "max_per_user": 10,
        "booking_id": booking}),
    Http("HTTP zone", "GET", "/v1/events/show/zones/floor", 200),
]


def count(build, loads, engine="embedded:"):
    """Instructions of each command, by the load's name."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as where, \
            contextlib.closing(Counted(build, where, engine)) as server:
        return {load.name: load.run(server) for load in loads}


def count_on_redis(build):
    with tempfile.TemporaryDirectory(prefix="holdfast-") as where, \
            contextlib.closing(Redis(where)) as redis:
        return {"SEATS.RESERVE, on Redis": count(
            build, [RESERVE], f"redis://127.0.0.1:{redis.port}")[RESERVE.name]}


# ---- what they were

# As `make build` has them.
OPTIONS = "buildtype=debugoptimized b_lto=True b_sanitize=none b_coverage=False c_args=[]"


def conditions(build):
    """All that the counts depend on besides the sources, as lines of the file."""
    build = Path(build)
    options = {option["name"]: option["value"] for option in json.loads(
        (build / "meson-info" / "intro-buildoptions.json").read_text())}
    names = [word.partition("=")[0] for word in OPTIONS.split()]
    compiler = re.search(rb"(?:GCC: |clang version )[ -~]+", (build / "src/holdfast").read_bytes())
    versions = [subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
                for words in (["pkg-config", "--modversion", "libuv"], ["valgrind", "--version"])]
    return {
        "machine": platform.machine(),
        "compiler": compiler[0].decode() if compiler else "unknown",
        "libc": os.confstr("CS_GNU_LIBC_VERSION"),
        "libuv": versions[0],
        "valgrind": versions[1],
        "options": " ".join(f"{name}={options[name]}" for name in names),
    }


def read_recorded():
    """The conditions, and instructions by name."""
    lines = [line.partition(": ") for line in RECORDED.read_text().splitlines()
             if line and line[0] != "#"]
    found = {name: value.strip() for name, _, value in lines}
    names = [load.name for load in LOADS]
    return ({name: value for name, value in found.items() if name not in names},
            {name: int(value) for name, value in found.items() if name in names})


def record(build, figures):
    """Of another build than the tests have, the test would compare nothing."""
    built = conditions(build)["options"]
    if built != OPTIONS:
        sys.exit(f"not recorded: built with {built}, and `make build` has {OPTIONS}")
    lines = ["# Instructions of the server for each command, written by `make instructions`. A test",
             "# counts them again under the same conditions, and fails when one has grown by more",
             "# than 3 %: docs/decisions/0094-instructions-are-counted.md.",
             *(f"{name}: {value}" for name, value in conditions(build).items()), "",
             *(f"{name}: {figure:.0f}" for name, figure in figures.items())]
    RECORDED.write_text("\n".join(lines) + "\n")


def check(build):
    """Compares with what was recorded. 0, 1 if something has grown, SKIPPED if it means nothing."""
    if shutil.which("valgrind") is None:
        print("not compared: valgrind is not installed, see tools/install-packages test")
        return SKIPPED
    before, recorded = read_recorded()
    now = conditions(build)
    other = [f"{name} is '{now[name]}', recorded '{before.get(name)}'"
             for name in now if now[name] != before.get(name)]
    if other:
        print("not compared: " + "; ".join(other))
        return SKIPPED
    figures = count(build, LOADS)
    print_table(figures, {"recorded": recorded})
    missing = [name for name in figures if name not in recorded]
    grown = [name for name in figures if name not in missing
             and figures[name] > GROWN * recorded[name]]
    for name, figure in figures.items():
        if name not in missing and figure < SHRUNK * recorded[name]:
            print(f"{name} takes {figure / recorded[name]:.1%} of what is recorded: well done; "
                  "`make instructions` records it, so that it stays so")
    for name in grown:
        print(f"{name} takes {figures[name]:,.0f} instructions, {recorded[name]:,} are recorded: "
              "find out why, or record it on purpose in the same commit, with `make instructions`")
    for name in missing:
        print(f"{name} is not recorded: `make instructions`")
    return 1 if grown or missing else 0


# ---- printing


def print_table(figures, others):
    """`others` are figures to compare with, by what they are called."""
    print("| command | instructions |" + "".join(f" {name} | x {name} |" for name in others))
    print("| --- | ---: |" + " ---: | ---: |" * len(others))
    for name, figure in figures.items():
        cells = "".join(f" {other[name]:,.0f} | {figure / other[name]:.3f} |" if name in other
                        else " | |" for other in others.values())
        print(f"| {name} | {figure:,.0f} |{cells}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default=BENCH.parent / "build", help="the build directory")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--against", help="another build directory, to compare with")
    what.add_argument("--check", action="store_true", help="fail if something has grown")
    what.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    parser.add_argument("--redis", action="store_true", help="the engine on Redis, which nobody "
                        "records: what arrives at once there is a matter of chance")
    options = parser.parse_args()
    if options.check:
        sys.exit(check(options.build))
    counted = count_on_redis if options.redis else lambda build: count(build, LOADS)
    figures = counted(options.build)
    print_table(figures, {"former": counted(options.against)} if options.against else {})
    if options.record:
        record(options.build, figures)


if __name__ == "__main__":
    main()

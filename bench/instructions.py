#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions the server spends on a reservation, counted by valgrind's callgrind.

    bench/instructions.py --build build [--against ../former/build]

Times move by a third on a busy machine, counts by less than a hundredth: with --against they tell
whether a change costs anything. They leave out the kernel, and say nothing of caches.
"""

import argparse
import contextlib
import http.client
import json
import re
import signal
import subprocess
import tempfile
from pathlib import Path

from loads import encode
from peers import Connection, Redis

BATCHES, PIPELINE = 250, 16
REQUESTS = 1000
READY = re.compile(r"ready resp=\S+:(\d+) http=\S+:(\d+)")


class Counted:
    """A server under callgrind; its total stands in `instructions` once it has stopped."""

    def __init__(self, build, where, engine):
        self.report = Path(where) / f"callgrind.{Path(build).resolve().parent.name}"
        self.process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.report}",
             Path(build) / "holdfast", "serve", "--engine", engine, "--resp-port", "0",
             "--http-port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            ready = READY.search(line)
            if ready:
                self.port, self.http_port = map(int, ready.groups())
                return
        raise RuntimeError("the server did not start:\n" + "".join(said))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()
        return int(re.search(r"^(?:summary|totals): (\d+)", self.report.read_text(), re.M).group(1))


def over_resp(server):
    connection = Connection(server.port)
    for batch in range(BATCHES):
        numbers = range(batch * PIPELINE, (batch + 1) * PIPELINE)
        connection.socket.sendall("".join(encode(
            ["SEATS.RESERVE", "gala", "floor", f"b{n}", f"u{n}", "1", "4"])
            for n in numbers).encode())
        for _ in numbers:
            assert connection.read()[0] == 1
    return BATCHES * PIPELINE


def over_http(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port)
    for n in range(REQUESTS):
        body = {"zone_id": "floor", "user_id": f"u{n}", "booking_id": f"b{n}", "quantity": 1,
                "max_per_user": 4}
        connection.request("POST", "/v1/events/gala/bookings", json.dumps(body),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        assert response.status == 201
    return REQUESTS


def count(build, where, engine, load):
    """Instructions a reservation; what starting and stopping takes is taken off."""
    totals = []
    for loaded in (False, True):
        server = Counted(build, where, engine)
        with Connection(server.port) as connection:
            assert connection.call("SEATS.OPEN", "gala", "floor", "1000000")[0] == 1
        commands = load(server) if loaded else 0
        totals.append(server.stop())
    return (totals[1] - totals[0]) / commands


def rows(builds, where):
    with contextlib.closing(Redis(where)) as redis:
        engine = f"redis://127.0.0.1:{redis.port}"
        for name, url, load in (("RESP, pipeline 16", "embedded:", over_resp),
                                ("HTTP", "embedded:", over_http),
                                ("RESP, pipeline 16, on Redis", engine, over_resp)):
            figures = []
            for build in builds:
                redis.call("FLUSHALL")
                figures.append(count(build, where, url, load))
            yield name, figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="the build directory")
    parser.add_argument("--against", help="another one, to compare with")
    options = parser.parse_args()
    builds = [options.build] + ([options.against] if options.against else [])
    print("| SEATS.RESERVE | instructions each |" + (" former | x former |" if options.against
                                                      else ""))
    print("| --- | ---: |" + (" ---: | ---: |" if options.against else ""))
    with tempfile.TemporaryDirectory(prefix="holdfast-") as where:
        for name, (ours, *former) in rows(builds, where):
            more = f" {former[0]:,.0f} | {ours / former[0]:.3f} |" if former else ""
            print(f"| {name} | {ours:,.0f} |{more}")


if __name__ == "__main__":
    main()

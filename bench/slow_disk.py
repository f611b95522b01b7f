#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a disk's sync costs a server with `fsync always`: durable reserves per second, by the number of
connections and the time that a sync takes.

    bench/slow_disk.py BUILD [SECONDS]

The data is in memory (/dev/shm) and bench/slow_disk_shim.c makes each sync take its time, so that the
figures say what the server makes of a disk, and not which disk this machine has. Each connection asks
again when it is answered (redis-benchmark).
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CONNECTIONS = (50, 500, 5000)
SYNCS_US = (200, 1000, 5000)
RESERVE = ("SEATS.RESERVE", "gala", "floor", "booking-__rand_int__", "user-__rand_int__", "1", "1000000")


def start(build, directory, sync_us):
    slow = Path(directory, "slow")
    slow.write_text(str(sync_us), encoding="ascii")
    environment = dict(os.environ, SLOW_DISK=str(slow),
                       LD_PRELOAD=str(Path(build, "bench", "libslow_disk_shim.so").resolve()))
    server = subprocess.Popen(
        [str(Path(build, "src", "holdfast")), "serve", "--dir", f"{directory}/data", "--resp-port", "0",
         "--http-port", "0", "--log-level", "error"],
        stdout=subprocess.PIPE, env=environment, text=True)
    ready = server.stdout.readline()
    return server, re.search(r"resp=127\.0\.0\.1:(\d+)", ready).group(1)


def processor_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def call(port, *words):
    subprocess.run(["redis-cli", "-p", port, *words], check=True, stdout=subprocess.DEVNULL)


def measure(build, connections, sync_us, seconds):
    """Reserves a second, and microseconds of the server's processor time for each."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        server, port = start(build, directory, sync_us)
        try:
            call(port, "SEATS.OPEN", "gala", "floor", "1000000000000")
            # A batch of all connections for each sync is the most that is to be expected.
            count = min(int(connections / (sync_us / 1e6 + connections * 10e-6) * seconds), 120000)
            count = max(count, connections * 4)
            before = processor_s(server.pid)
            out = subprocess.run(
                ["redis-benchmark", "-p", port, "-c", str(connections), "-n", str(count), "-r",
                 "100000000", "--csv", *RESERVE], check=True, capture_output=True, text=True).stdout
            took = processor_s(server.pid) - before
            rate = float(out.splitlines()[-1].split('","')[1].strip('"'))
            return rate, took / count * 1e6
        finally:
            server.terminate()
            server.wait()


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2
    print("| connections | a sync of | durable reserves | processor time each |")
    print("| ---: | ---: | ---: | ---: |")
    for sync_us in SYNCS_US:
        for connections in CONNECTIONS:
            rate, each_us = measure(build, connections, sync_us, seconds)
            print(f"| {connections:,} | {sync_us / 1000:g} ms | {rate:,.0f}/s | {each_us:.1f} µs |", flush=True)


if __name__ == "__main__":
    main()

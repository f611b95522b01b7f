# SPDX-License-Identifier: Apache-2.0
"""The load generators, the same ones for every server: redis-benchmark, wrk and redis-cli --pipe.
Each gives how fast it went and how busy both sides were."""

import csv
import itertools
import os
import random
import re
import subprocess
import uuid

from peers import BENCH, TTL_S, cpu_seconds

RANDOM_RANGE = 10 ** 9
# A UUID in which redis-benchmark replaces the last part by 12 random digits.
RANDOM_ID = "00000000-0000-4000-8000-__rand_int__"

OURS = ["SEATS.RESERVE", "gala", "floor", RANDOM_ID, RANDOM_ID, "1", "10"]
OUR_READ = ["SEATS.ZONE", "gala", "floor"]
# Of a cache: many keys with a value of the size of a booking, and one that is there.
SET = ["-t", "set", "-d", "128"]
GET = ["GET", "zone:floor"]
BEFORE_GET = ["SET", "zone:floor", "x" * 128]


def usual(sha, booking=RANDOM_ID, user=RANDOM_ID, call="EVALSHA"):
    """The call of the usual script for the same booking; ours takes it, too."""
    return [call, sha, "3", "zone:availability:floor", f"user:reservations:{user}:gala",
            f"reservation:{booking}", "1", "10", user, booking, "floor", "gala", "", "0",
            str(TTL_S)]


def ours_on_redis(sha, booking=RANDOM_ID, user=RANDOM_ID, call="EVALSHA"):
    """The call of our script for the same booking, as the engine makes it."""
    return [call, sha, "4", "zone:availability:{gala}:floor",
            f"user:reservations:{{gala}}:{user}", f"reservation:{{gala}}:{booking}",
            "seats:due:{gala}", "1", "10", user, booking, "floor", "gala", "", "0", str(TTL_S), "0"]


# redis-benchmark makes another number wherever it is to make one, but the ids in the keys are those
# in the arguments: a script that compares them begins with this, and so does its peer.
SAME_IDS = ("KEYS[2] = 'user:reservations:' .. ARGV[3] .. ':gala' "
            "KEYS[3] = 'reservation:' .. ARGV[4]\n")
SAME_IDS_TAGGED = ("KEYS[2] = 'user:reservations:{gala}:' .. ARGV[3] "
                   "KEYS[3] = 'reservation:{gala}:' .. ARGV[4]\n")


def with_numbers(words):
    """The words as redis-benchmark sends them."""
    numbers = itertools.count(10 ** 11)
    return [re.sub("__rand_int__", lambda _: str(next(numbers)), word) for word in words]


class Run:
    """What one run of a load generator found."""

    def __init__(self, rate, count, server_s, client_s):
        seconds = count / rate  # without the load generator's own start
        self.rate = rate
        self.server_us = server_s / count * 1e6  # processor time of the server for each command
        self.server_share = server_s / seconds
        self.client_share = client_s / seconds


def measured(pids, command, read):
    """Runs a load generator to its end. `pids` are those of the servers whose time counts; `read`
    gets what it printed, and gives rate and count."""
    before = sum(map(cpu_seconds, pids))
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    printed = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command[0]} failed:\n{printed}"
    rate, count = read(printed)
    return Run(rate, count, sum(map(cpu_seconds, pids)) - before,
               usage.ru_utime + usage.ru_stime)


def redis_benchmark(server, words, count, pipeline, connections=50, prefix=(), pids=None):
    """`words` is a command, or ["-t", "set", …] for one of its own; `prefix` runs it all. The time
    of the server counts, or that of `pids`."""
    def read(printed):
        # A server without CONFIG makes it warn first.
        rows = list(csv.reader(line for line in printed.splitlines() if line[:1] == '"'))
        assert len(rows) == 2 and rows[0][1] == "rps", printed
        return float(rows[1][1]), count

    return measured(pids or [server.pid], [
        *prefix, "redis-benchmark", "-h", "127.0.0.1", "-p", server.port, "-c", connections,
        "-P", pipeline, "-n", count, "-r", RANDOM_RANGE, "--csv", *words], read)


def wrk(server, seconds, connections=64):
    def read(printed):
        assert "Non-2xx" not in printed and "Socket errors" not in printed, printed
        rate = float(re.search(r"Requests/sec: +([\d.]+)", printed)[1])
        return rate, int(re.search(r"(\d+) requests in", printed)[1])

    # wrk knows whole seconds only.
    return measured([server.pid], ["wrk", "-t1", f"-c{connections}",
                                   f"-d{max(1, round(seconds))}s", "-s", BENCH / "reserve_http.lua",
                                   f"http://127.0.0.1:{server.http_port}"], read)


def encode(words):
    parts = [f"*{len(words)}\r\n"]
    parts += [f"${len(word)}\r\n{word}\r\n" for word in words]
    return "".join(parts)


def bookings(count):
    """Ids of bookings and of their users, the same ones every time."""
    source = random.Random(1)
    for _ in range(count):
        yield tuple(str(uuid.UUID(int=source.getrandbits(128), version=4)) for _ in range(2))


def pipe(server, commands):
    """Sends commands with redis-cli --pipe; all must be answered, and none by an error."""
    process = subprocess.Popen(["redis-cli", "-h", "127.0.0.1", "-p", str(server.port), "--pipe"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    count = 0
    for words in commands:
        process.stdin.write(encode(words).encode())
        count += 1
    printed = process.communicate()[0].decode()
    assert f"errors: 0, replies: {count}" in printed, printed

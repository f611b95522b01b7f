#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a checkout costs, with payments that succeed at once (payment-url test:), beside the same steps written
by hand in Python on Redis and PostgreSQL in the same run (bench/checkout_by_hand.py).

    bench/checkout.py --build build [--seconds 5] [--rounds 3] [--only postgres,sqlite]

Prints tables for bench/RESULTS.md: median of the rounds, lowest and highest; then the latencies of a rush of
10,000 users for 500 seats."""

import argparse
import selectors
import shutil
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

from peers import BENCH, TICKS, Server, cpu_seconds

sys.path.append(str(BENCH.parent / "tests" / "ledger"))

import checkout_by_hand as by_hand  # noqa: E402
from databases import Database, SqliteFiles  # noqa: E402
from postgres_server import PostgresServer  # noqa: E402
from servers import RedisServer  # noqa: E402

WORKERS = 16  # processes of the hand-written one
CONNECTIONS = 500
SEATS = 10_000_000
RUSH_USERS, RUSH_SEATS = 10_000, 500
PATIENCE_S = 120
PEER = f"by hand, {WORKERS} workers, PostgreSQL"


def answer_in(text):
    """The elements of the answer that the bytes begin with; None while some of it is missing."""
    lines = text.split(b"\r\n")[:-1]
    if not lines or lines[0][:1] == b"-":
        return lines or None
    elements, at = [], 1
    for _ in range(int(lines[0][1:])):
        width = 2 if at < len(lines) and lines[at][:1] == b"$" else 1
        if at + width > len(lines):
            return None
        elements.append(lines[at + width - 1])
        at += width
    return elements


class Crowd:
    """Many connections on which one checkout follows the other, driven by one thread."""

    def __init__(self, server, connections):
        self.selector, self.waiting = selectors.DefaultSelector(), {}
        self.sockets = [socket.create_connection(("127.0.0.1", server.resp_port)) for _ in range(connections)]
        for one in self.sockets:
            one.setblocking(False)
            self.selector.register(one, selectors.EVENT_READ)
        self.next, self.completed, self.latencies, self.ends = 0, 0, [], {}

    def send(self, one):
        name = self.next
        self.next += 1
        words = ("SEATS.CHECKOUT", "gala", "floor", f"u-{name}", "1", "4", "BOOKING", f"b-{name}", "SAGA", f"s-{name}",
                 "PRICE", "4500", "CURRENCY", "EUR", "WAIT", f"{PATIENCE_S}s")
        self.waiting[one] = (time.monotonic(), b"")
        one.send("".join([f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]).encode())

    def receive(self, one):
        """True once all of the answer is there."""
        began, text = self.waiting[one]
        text += one.recv(65536)
        elements = answer_in(text)
        if elements is None:
            self.waiting[one] = (began, text)
            return False
        end = next((word for word in elements if word.isupper()), elements[0]).decode()
        self.ends[end] = self.ends.get(end, 0) + 1
        self.completed += end == "COMPLETED"
        self.latencies.append(time.monotonic() - began)
        return True

    def run(self, seconds=0, total=0):
        """Until the time is over, or so many have been answered. Gives how long it took."""
        start = time.monotonic()
        for one in self.sockets[:total or None]:
            self.send(one)
        going = len(self.waiting)
        while going:
            for key, _ in self.selector.select(PATIENCE_S):
                one = key.fileobj
                if one in self.waiting and self.receive(one):
                    more = self.next < total if total else time.monotonic() < start + seconds
                    if more:
                        self.send(one)
                    else:
                        del self.waiting[one]
                        going -= 1
            assert time.monotonic() < start + seconds + 2 * PATIENCE_S, "the server does not answer"
        return time.monotonic() - start

    def close(self):
        for one in self.sockets:
            one.close()


class Figures:
    """Rates by name, and microseconds of processor time each, over the rounds."""

    def __init__(self):
        self.rates, self.costs = {}, {}

    def add(self, name, rate, service_us, database_us):
        self.rates.setdefault(name, []).append(rate)
        self.costs.setdefault(name, []).append((service_us, database_us))
        print(f"  {name:<50} {rate:>8,.0f}/s  {service_us:>6.0f} us + {database_us:.0f} us", file=sys.stderr)

    def table(self):
        print("| | checkouts/s, median (lowest–highest) | × by hand | processor time each: service | database and Redis |")
        print("| --- | ---: | ---: | ---: | ---: |")
        base = statistics.median(self.rates[PEER])
        for name, rates in self.rates.items():
            service, database = (statistics.median(column) for column in zip(*self.costs[name]))
            middle = statistics.median(rates)
            print(f"| {name} | {middle:,.0f} ({min(rates):,.0f}–{max(rates):,.0f}) | {middle / base:.1f} "
                  f"| {service:,.0f} us | {database:,.0f} us |")
        print()


def percentile(sorted_latencies, share):
    return sorted_latencies[min(len(sorted_latencies) - 1, int(len(sorted_latencies) * share))] * 1000


def serve(build, database, where, seats):
    server = Server("--ledger", database.url, "--payment-url", "test:",
                    directory=Path(tempfile.mkdtemp(dir=where)) / "data", program=build / "src" / "holdfast")
    assert server.call("SEATS.OPEN", "gala", "floor", seats)[0] == 1
    return server


def postgres_seconds(postgres):
    """Processor time of all its processes, also of those that have ended: the first one has theirs."""
    fields = Path(f"/proc/{postgres.pid}/stat").read_text().rpartition(")")[2].split()
    return cpu_seconds(postgres.pid) + (int(fields[13]) + int(fields[14])) / TICKS


def ours(figures, build, database, postgres, where, seconds, name):
    with serve(build, database, where, SEATS) as server:
        crowd = Crowd(server, CONNECTIONS)
        before = cpu_seconds(server.pid), postgres_seconds(postgres)
        took = crowd.run(seconds=seconds)
        after = cpu_seconds(server.pid), postgres_seconds(postgres)
        crowd.close()
        count = crowd.completed
        assert count and count == len(crowd.latencies), crowd.ends
        figures.add(name, count / took, (after[0] - before[0]) / count * 1e6, (after[1] - before[1]) / count * 1e6)


def hand_written(figures, database, postgres, redis_server, seconds):
    by_hand.prepare(database, redis_server.port, SEATS)
    redis_pid = redis_server.client().info()["process_id"]
    before = cpu_seconds(redis_pid) + postgres_seconds(postgres)
    took, count, _, own = by_hand.run(database.url, redis_server.port, WORKERS, seconds=seconds)
    rest = cpu_seconds(redis_pid) + postgres_seconds(postgres) - before
    figures.add(PEER, count / took, own / count * 1e6, rest / count * 1e6)


def rush(build, database, where, name):
    with serve(build, database, where, RUSH_SEATS) as server:
        crowd = Crowd(server, 2000)
        took = crowd.run(total=RUSH_USERS)
        crowd.close()
        latencies = sorted(crowd.latencies)
        assert (crowd.completed, len(latencies)) == (RUSH_SEATS, RUSH_USERS), crowd.ends
        assert server.call("SEATS.ZONE", "gala", "floor")[7] == RUSH_SEATS
        return name, took, latencies


def rush_by_hand(database, redis_server):
    by_hand.prepare(database, redis_server.port, RUSH_SEATS)
    took, completed, latencies, _ = by_hand.run(database.url, redis_server.port, WORKERS, total=RUSH_USERS)
    assert completed == RUSH_SEATS, completed
    return PEER, took, latencies


def rush_table(rows):
    print(f"| {RUSH_USERS:,} users for {RUSH_SEATS} seats | all answered after | p50 | p99 | longest |\n"
          "| --- | ---: | ---: | ---: | ---: |")
    for name, took, latencies in rows:
        print(f"| {name} | {took:.2f} s | {percentile(latencies, 0.5):,.0f} ms | {percentile(latencies, 0.99):,.0f} ms "
              f"| {latencies[-1] * 1000:,.0f} ms |")
    print()


def measure(arguments, build, where):
    figures, rows = Figures(), []
    files = SqliteFiles(where)
    with PostgresServer(max_connections="100", shared_buffers="128MB", autovacuum="on") as postgres, \
            RedisServer() as redis_server:
        for number in range(arguments.rounds):
            peer = Database("postgres", postgres, f"peer{number}")
            hand_written(figures, peer, postgres, redis_server, arguments.seconds)
            if "postgres" in arguments.only:
                ours(figures, build, Database("postgres", postgres, f"bench{number}"), postgres, where,
                     arguments.seconds, f"SEATS.CHECKOUT, {CONNECTIONS} clients, PostgreSQL")
            if "sqlite" in arguments.only:
                ours(figures, build, Database("sqlite", files, f"bench{number}"), postgres, where,
                     arguments.seconds, f"SEATS.CHECKOUT, {CONNECTIONS} clients, SQLite")
        rows.append(rush_by_hand(Database("postgres", postgres, "peerrush"), redis_server))
        if "postgres" in arguments.only:
            rows.append(rush(build, Database("postgres", postgres, "rush"), where, "SEATS.CHECKOUT, PostgreSQL"))
        if "sqlite" in arguments.only:
            rows.append(rush(build, Database("sqlite", files, "rush"), where, "SEATS.CHECKOUT, SQLite"))
    files.close()
    figures.table()
    rush_table(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="postgres,sqlite")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    where = Path(tempfile.mkdtemp(prefix="checkout-", dir=build))
    try:
        measure(arguments, build, where)
    finally:
        shutil.rmtree(where, ignore_errors=True)


if __name__ == "__main__":
    main()

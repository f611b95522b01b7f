#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long the server's loop works without looking at anybody else.

    bench/stall.py [--build build] [--scale 1] [--only WORD]...

In each scenario a probe sends PING after PING while the server has much to do; the figure is the
processor time of the loop's thread within one PING. Prints the table for bench/RESULTS.md. At
scale 1 it wants 12 GiB of memory and 10 GiB of disk under the build.
"""

import argparse
import contextlib
import os
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from peers import BENCH, SEATS, Connection, wait_until
from stall_probe import Probe, Stalled, Table, memory_bytes, path_of, temporary_directory

RESERVE = "SEATS.RESERVE", "gala", "floor", "booking-%i", "user-%i", "1", "10", "TTL"
BOUNDARY_MS = 64 ** 3    # the wheel's fourth level moves down
GRACE_MS = 60_000
BEFORE_MS = 300          # so long before the moment that matters the probe begins
CONNECTIONS = 2000
ATTEMPTS_A_SECOND = 100
ATTEMPTS_S = 10
PAGES, PAGES_S = 50, 10
FREED_BYTES = 16 << 20   # an empty server has less


class Stalls:
    def __init__(self, build, scale):
        self.build, self.scale, self.table = Path(build).resolve(), scale, Table()

    def number(self, full):
        return max(1000, int(full * self.scale))

    @contextlib.contextmanager
    def server(self, *flags, durable=False):
        """Ours, with a zone that is never full."""
        with temporary_directory(self.build) as directory:
            with Stalled(self.build, *flags, directory=path_of(directory, "data"),
                         memory=not durable) as server:
                yield server

    @contextlib.contextmanager
    def zone(self, *flags, durable=False):
        with self.server(*flags, durable=durable) as server:
            assert server.call("SEATS.OPEN", "gala", "floor", SEATS)[0] == 1
            yield server

    # ---- tables that grow

    def growth(self):
        count = self.number(8_000_000)
        for durable in (False, True):
            flags = ["--fsync", "everysec"] if durable else []
            with self.zone(*flags, durable=durable) as server:
                with Probe(server) as probe:
                    server.load(count, *RESERVE, "2h")
                self.add_forked(f"growth to {count:,} bookings, "
                                f"{'in a directory' if durable else 'in memory'}", probe, server)

    def add_forked(self, name, probe, server):
        """A row that tells the time of a fork() apart."""
        fork_ms = server.shim["fork_ns"] / 1e6
        self.table.add(name, probe, apart_ms=fork_ms, note=f"{server.shim['forks']} forks, the "
                       f"longest {fork_ms:,.2f} ms of it" if server.shim["forks"] else "")

    # ---- holds that end together

    def due(self):
        count = self.number(4_000_000)
        with self.zone() as server:
            server.shim.stop_clock()
            due_ms = server.shim.now_ms() + 600_000
            server.load(count, *RESERVE, "%t", due_ms=due_ms)
            near = self.deadlines(server, count)
            server.shim.run_clock(due_ms - BEFORE_MS)
            with Probe(server) as probe:
                wait_until(lambda: server.shim.now_ms() > due_ms)
                assert server.call("SEATS.ZONE", "gala", "floor")[5] == 0  # nothing is reserved
                probe.settle()
            self.table.add(f"{count:,} bookings due within {near} ms", probe)
            server.shim.run_clock(due_ms + GRACE_MS - BEFORE_MS)
            with Probe(server) as probe:
                wait_until(lambda: server.shim.now_ms() > due_ms + GRACE_MS + near)
                probe.settle()
            self.table.add("the end of their grace", probe)

    def deadlines(self, server, count):
        """In how many ms the bookings end, by a sample."""
        step = max(1, count // 500)
        with server.connect() as client:
            found = set()
            for i in range(0, count, step):
                booking = self.fields(client.call("SEATS.GET", "gala", f"booking-{i}"))
                found.add(int(booking["expires_at"]))
        return max(found) - min(found) + 1

    @staticmethod
    def fields(answer):
        """A reply of names and values."""
        return dict(zip(answer[::2], answer[1::2]))

    # ---- the wheel

    def wheel(self):
        for full in (1_000_000, 4_000_000):
            self.boundary(self.number(full))

    def boundary(self, count):
        with self.zone() as server:
            server.shim.stop_clock()
            boundary_ms = (server.shim.now_ms() // BOUNDARY_MS + 2) * BOUNDARY_MS
            server.load(count, *RESERVE, "%t", due_ms=boundary_ms, spread_ms=BOUNDARY_MS)
            # Moved in another order than they were made in, so that neighbours in the wheel are
            # far apart in memory.
            server.load(count, "SEATS.EXTEND", "gala", "booking-%p", "%t", due_ms=boundary_ms,
                        spread_ms=BOUNDARY_MS, seed=2)
            server.shim.run_clock(boundary_ms - BEFORE_MS)
            with Probe(server) as probe:
                # Past it, and past two boundaries of the level below.
                wait_until(lambda: server.shim.now_ms() > boundary_ms + 2 * 4096 + BEFORE_MS)
                probe.settle()
            self.table.add(f"the wheel's boundary at {BOUNDARY_MS:,} ms with {count:,} holds",
                           probe)

    # ---- audit and snapshot

    def audit(self):
        count = self.number(4_000_000)
        with self.zone() as server:
            server.load(count, *RESERVE, "2h")
            with Probe(server) as probe:
                assert server.call("AUDIT", timeout=600) == [1, 0]
                probe.settle()
            self.table.add(f"AUDIT of {count:,} bookings", probe)

    def snapshot(self):
        count = self.number(4_000_000)
        with self.zone("--fsync", "everysec", durable=True) as server:
            server.load(count, *RESERVE, "2h")
            with Probe(server) as probe:
                probe.settle()
            forks = server.shim["forks"]
            server.shim["fork_ns"] = 0
            with Probe(server) as probe:
                more = server.begin_load(count // 8, *RESERVE, "2h", first=count, pipeline=50)
                wait_until(lambda: server.call("SNAPSHOT") == "OK", "a snapshot", 120)
                assert more.wait() == 0
                more.stdout.close()
                probe.settle()
            assert server.shim["forks"] > forks
            self.add_forked(f"SNAPSHOT of {count:,} bookings under load", probe, server)

    # ---- lists

    def lists(self):
        """Walks over all zones: by the fullest pages, and by pages that show nothing."""
        count = self.number(1_000_000)
        with self.server() as server:
            server.load(count, "SEATS.OPEN", "gala", "z%i", "100")
            for words in (("COUNT", "1000"), ("MATCH", "nothing")):
                with Probe(server) as probe:
                    cursor, shown, calls = "", 0, 0
                    while calls == 0 or cursor:
                        cursor, *names = server.call("LIST", "zones", "AFTER", cursor, *words)
                        shown, calls = shown + len(names), calls + 1
                    probe.settle()
                assert shown == (count if words[0] == "COUNT" else 0)
                self.table.add(f"LIST of {count:,} zones, {' '.join(words)}", probe,
                               note=f"{calls:,} calls")

    # ---- leaving

    def closing(self):
        """A large event is closed, while what it leaves behind is freed, and after that."""
        count = self.number(2_000_000)
        with self.zone() as server:
            server.load(count, *RESERVE, "2h")
            server.load(count, "SEATS.CONFIRM", "gala", "booking-%i", "PAYMENT", "payment-%i")
            with Probe(server) as probe:
                assert server.call("SEATS.CLOSE", "gala", "FORCE") == [1, count, 1]
                wait_until(lambda: memory_bytes(server) < FREED_BYTES, "its memory", 600)
                probe.settle()
            self.table.add(f"closing an event of {count:,} bookings", probe)

    # ---- waiters

    def waiters(self):
        count = self.number(200_000)
        with self.server("--max-connections", "9000") as server:
            server.shim.stop_clock()
            due_ms = server.shim.now_ms() + 600_000
            assert server.call("SEM.ACQUIRE", "line", "holder", "1", "HEARTBEAT", "2h")[0] == 1
            server.load(count, "SEM.QUEUE", "line", "waiter-%i", "%t", "4h", due_ms=due_ms)
            server.shim.run_clock(due_ms - BEFORE_MS)
            with Probe(server) as probe:
                wait_until(lambda: server.shim.now_ms() > due_ms)
                probe.settle()
            self.table.add(f"{count:,} waiters whose heartbeats end together", probe)

            server.load(count, "SEM.QUEUE", "wide", "waiter-%i", "2h", "4h")
            with Probe(server) as probe:
                granted = server.call("SEM.WAKE", "wide", count, "2h", "4h", timeout=600)
                probe.settle()
            self.table.add(f"a SEM.WAKE that hands {granted:,} slots out", probe)
            self.connections_waiting(server)

    def connections_waiting(self, server):
        """The slots of as many holders end together, and go to clients that wait for them."""
        server.shim.stop_clock()
        due_ms = server.shim.now_ms() + 600_000
        server.load(CONNECTIONS, "SEM.ACQUIRE", "many", "holder-%i", CONNECTIONS, "HEARTBEAT",
                    "%t", due_ms=due_ms)
        with contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(server.connect(timeout=600))
                       for _ in range(CONNECTIONS)]
            for i, client in enumerate(waiting):
                client.send("SEM.ACQUIRE", "many", f"waiter-{i}", CONNECTIONS, "HEARTBEAT", "2h",
                            "WAIT", "7200000")
            wait_until(lambda: self.fields(server.call("SEM.STATS", "many"))["waiting"]
                       == CONNECTIONS, "the waiters")
            server.shim.run_clock(due_ms - BEFORE_MS)
            with Probe(server) as probe:
                assert all(client.read()[0] == 1 for client in waiting)
                probe.settle()
        self.table.add(f"{CONNECTIONS:,} slots that go to clients waiting for them", probe)

    # ---- many semaphores, read by all

    def semaphores(self):
        count, commands = self.number(500_000), self.number(8000)
        with self.server() as server:
            server.load(count, "SEM.ACQUIRE", "sem-%i", "holder", "10", "HEARTBEAT", "24h")
            for command in ("DBSIZE", "INFO"):
                with Probe(server) as probe:
                    server.load(commands, command, pipeline=commands)
                self.table.add(f"{commands:,} pipelined {command} with {count:,} semaphores", probe)
            with Probe(server) as probe:
                for _ in range(20):
                    urllib.request.urlopen(
                        f"http://127.0.0.1:{server.http_port}/metrics", timeout=600).read()
                probe.settle()
            self.table.add(f"/metrics with {count:,} semaphores", probe)

    # ---- dashboards

    def pages(self):
        """Each has its stream of figures, and asks for a page of a list every two seconds."""
        zones, bookings = self.number(100_000), self.number(1_000_000)
        with self.server() as server, contextlib.ExitStack() as stack:
            server.load(zones, "SEATS.OPEN", "gala", "z%i", "100")
            assert server.call("SEATS.OPEN", "gala", "floor", SEATS)[0] == 1
            server.load(bookings, *RESERVE, "2h")
            streams = [stack.enter_context(socket.create_connection(("127.0.0.1", server.http_port)))
                       for _ in range(PAGES)]
            for stream in streams:
                stream.sendall(b"GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            received = threading.Thread(target=self.drain, args=(streams, PAGES_S))
            with Probe(server) as probe:
                received.start()
                begun = time.monotonic()
                for i in range(PAGES_S * PAGES // 2):
                    time.sleep(max(0, begun + i * 2 / PAGES - time.monotonic()))
                    urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/v1/list/zones?count=100",
                                           timeout=600).read()
                received.join()
                probe.settle()
            self.table.add(f"{PAGES} dashboards, {zones:,} zones, {bookings:,} bookings", probe)

    @staticmethod
    def drain(streams, seconds):
        """Takes what the streams are sent, and sees to it that each is sent something."""
        end, silent = time.monotonic() + seconds, set(streams)
        while time.monotonic() < end:
            for stream in select.select(streams, [], [], 0.1)[0]:
                silent -= {stream} if stream.recv(1 << 16) else set()
        assert not silent

    # ---- strangers at the door

    def handshakes(self):
        with temporary_directory(self.build) as directory:
            certificate, key = path_of(directory, "cert"), path_of(directory, "key")
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                 "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj",
                 "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                check=True, capture_output=True)
            key.chmod(0o600)
            context = ssl.create_default_context(cafile=certificate)

            def shake(server):
                with socket.create_connection(("127.0.0.1", server.resp_port), 60) as plain:
                    context.wrap_socket(plain, server_hostname="localhost").close()

            with self.server("--tls-cert", certificate, "--tls-key", key) as server:
                self.attempts("TLS handshakes", server, shake, certificate=certificate)

    def passwords(self):
        with temporary_directory(self.build) as directory:
            program, users = self.build / "src" / "holdfast", path_of(directory, "users")
            line = subprocess.run([program, "auth", "ann", "write", "--password"], text=True,
                                  input="correct horse battery\n", capture_output=True, check=True)
            token = subprocess.run([program, "auth", "probe", "read"], text=True,
                                   capture_output=True, check=True)
            users.write_text(line.stdout + token.stdout)
            users.chmod(0o600)
            greeting = f"AUTH {token.stderr.split()[-1]}\r\n".encode()

            with contextlib.ExitStack() as stack, self.server("--auth-file", users) as server:
                def guess(server):
                    # Nobody who guesses waits for the answer, which the server delays.
                    client = stack.enter_context(Connection(server.resp_port))
                    client.send("AUTH", "ann", "wrong")

                self.attempts("wrong passwords", server, guess, greeting=greeting)

    def attempts(self, what, server, attempt, **probe_options):
        """So many a second, one after the other."""
        begun = time.monotonic()
        with Probe(server, **probe_options) as probe:
            count = int(ATTEMPTS_A_SECOND * ATTEMPTS_S * max(self.scale, 0.1))
            for i in range(count):
                time.sleep(max(0, begun + i / ATTEMPTS_A_SECOND - time.monotonic()))
                attempt(server)
            spent_s = time.monotonic() - begun
        self.table.add(f"{ATTEMPTS_A_SECOND} {what} a second", probe,
                       note=f"{count / spent_s:.0f} a second were made")


SCENARIOS = {
    "growth": Stalls.growth,
    "due": Stalls.due,
    "wheel": Stalls.wheel,
    "audit": Stalls.audit,
    "snapshot": Stalls.snapshot,
    "lists": Stalls.lists,
    "closing": Stalls.closing,
    "waiters": Stalls.waiters,
    "semaphores": Stalls.semaphores,
    "pages": Stalls.pages,
    "handshakes": Stalls.handshakes,
    "passwords": Stalls.passwords,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", default=BENCH.parent / "build", help="the build directory")
    parser.add_argument("--scale", type=float, default=1, help="0.1: a tenth of everything")
    parser.add_argument("--only", choices=SCENARIOS, action="append")
    options = parser.parse_args()
    stalls = Stalls(options.build, options.scale)
    for name in options.only or SCENARIOS:
        print(f"{name}:", file=sys.stderr)
        SCENARIOS[name](stalls)
    print(f"Scale {options.scale:g}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}\n")
    stalls.table.show()


if __name__ == "__main__":
    main()

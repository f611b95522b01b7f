#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A whole server under sequences of requests by chance, from a seed: valid and disturbed, over both
fronts, in transactions and pipelines, on many connections that are cut off, half closed or not read,
while its users are read again and its Redis or its ledger goes away and comes back.

    tests/fuzz/whole_server.py --build build-asan --seconds 150
    tests/fuzz/whole_server.py --build build-asan --seed 7

After each sequence the server must answer, its audit find nothing and its counts agree; it must end
in good order, and no sanitizer have anything to say. A sequence that fails is named with the command
that runs it again."""

import argparse
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
for folder in ("e2e", "redis"):
    sys.path.append(str(ROOT / "tests" / folder))

from harness import Build, run  # noqa: E402
from lying_redis import LyingRedis  # noqa: E402
from raw_client import Client, encode, fields  # noqa: E402
from server import Error, Server, wait_until  # noqa: E402
from servers import RedisServer  # noqa: E402
from whole_requests import Requests  # noqa: E402

STEPS = 800
CONNECTIONS = 12
PATIENCE_S = 90
ENGINES = ("embedded", "memory", "redis", "lies")
REPORTS = "sanitizer-reports"


# ---- what is around the server ---------------------------------------------------------------------

class Users:
    """The file of users, which changes, and the token of each role."""

    def __init__(self, where):
        self.path, self.tokens, self.lines = where / "users", {}, []
        for role in ("read", "write", "admin"):
            ended = run(Build().program, "auth", f"the-{role}", role)
            self.lines.append(ended.out)
            self.tokens[role] = ended.err.split()[-1]
        self.write(self.lines)

    def write(self, lines):
        new = self.path.with_suffix(".new")
        new.write_text("".join(lines))
        new.chmod(0o600)
        new.rename(self.path)


class World:
    """A server with all that it talks to."""

    def __init__(self, dice, where):
        self.dice, self.where = dice, where
        self.engine = dice.choice(ENGINES)
        self.users = Users(where) if dice.random() < 0.5 else None
        self.redis = self.lies = self.lock = None
        self.ledger = where / "ledger.db"
        if self.engine in ("redis", "lies"):
            self.redis = RedisServer(appendonly="yes", appendfsync="always")
        if self.engine == "lies":
            self.lies = LyingRedis(self.redis.port, dice.random(), share=0.1)
        self.server = Server(*self.flags(), directory=where / "data", memory=self.engine == "memory")

    def flags(self):
        flags = ["--payment-url", "test:", "--ledger", f"sqlite:{self.ledger}", "--drain-timeout", "2s",
                 "--ledger-timeout", "1s", "--reconcile-every", "500ms"]
        if self.engine != "embedded":
            flags += ["--threads", "3"]
        if self.users:
            flags += ["--auth-file", self.users.path]
        if self.redis:
            flags += ["--engine", f"{(self.lies or self.redis).url}?timeout=500"]
        return flags

    def token(self, role="admin"):
        return self.users.tokens[role] if self.users else None

    def lock_ledger(self):
        """Its database is busy, for as long as this lasts."""
        if self.lock is None:
            self.lock = sqlite3.connect(self.ledger, timeout=30, isolation_level=None)
            try:
                self.lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                self.unlock_ledger()

    def unlock_ledger(self):
        if self.lock is not None:
            self.lock.close()
            self.lock = None

    def disturb(self):
        """Something happens beside the requests."""
        dice = self.dice
        choices = [lambda: self.server.process.send_signal(signal.SIGHUP), self.lock_ledger,
                   self.unlock_ledger, lambda: self.server.process.send_signal(signal.SIGUSR1)]
        if self.users:
            choices.append(lambda: self.users.write(dice.choice((
                self.users.lines, self.users.lines[1:], self.users.lines[:1], ["nonsense\n"]))))
        if self.redis:
            choices += [self.end_redis, self.bring_redis, self.bring_redis,
                        lambda: self.redis.process and not self.redis.paused and self.redis.pause(),
                        lambda: self.redis.running and self.redis.client().script_flush()]
        dice.choice(choices)()

    def end_redis(self):
        if self.redis.process:
            self.redis.kill()

    def bring_redis(self):
        if self.redis.process is None:
            self.redis.start()
        elif self.redis.paused:
            self.redis.resume()

    def mend(self):
        """All is well again, and the server knows."""
        self.unlock_ledger()
        if self.lies:
            self.lies.lying = False
        if self.redis:
            self.bring_redis()
        if self.users:
            self.users.write(self.users.lines)
            self.server.process.send_signal(signal.SIGHUP)

    def close(self):
        try:
            self.unlock_ledger()
            code = self.server.stop()
            assert code == 0, f"exit code {code}\n{self.server.said()[-4000:]}"
        finally:
            self.server.close()
            if self.lies:
                self.lies.__exit__()
            if self.redis:
                self.redis.close()


# ---- clients ---------------------------------------------------------------------------------------

class Stranger:
    """A connection to one of the ports that need not be read, nor end well."""

    def __init__(self, world, requests):
        self.dice, self.requests = world.dice, requests
        self.role = self.dice.choice(("read", "write", "write", "admin", "admin", None))
        self.token = world.token(self.role) if self.role else None
        self.over_http = self.dice.random() < 0.5
        server = world.server
        self.socket = socket.create_connection(
            ("127.0.0.1", server.http_port if self.over_http else server.resp_port), PATIENCE_S)
        self.socket.setblocking(False)
        if self.token and not self.over_http:
            self.send(encode("AUTH", self.token))

    def one(self):
        if self.over_http:
            return self.requests.http([f"Authorization: Bearer {self.token}"] if self.token else [])
        return self.requests.transaction() if self.dice.random() < 0.15 else self.requests.resp()

    def send(self, data):
        """As much as goes at once; a client that is not read is not waited for."""
        try:
            self.socket.send(data)
            return True
        except BlockingIOError:
            return True
        except OSError:
            return False

    def read(self):
        try:
            return bool(self.socket.recv(1 << 16))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def act(self):
        """One thing; False when the connection is over."""
        dice, what = self.dice, self.dice.random()
        if what < 0.55:
            return self.send(self.one())
        if what < 0.65:
            return self.send(b"".join(self.one() for _ in range(dice.randrange(2, 30))))
        if what < 0.77:
            return self.send(self.requests.disturbed(self.one()))
        if what < 0.80:
            return self.send(self.one()[:dice.randrange(1, 30)])
        if what < 0.93:
            return self.read()
        self.leave()
        return False

    def leave(self):
        """In one of the ways in which clients do."""
        how = self.dice.randrange(3)
        try:
            if how == 0:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            elif how == 1:
                self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.socket.close()


# ---- afterwards ------------------------------------------------------------------------------------

def ask(world, *words):
    """As an administrator; the answer, or None if it is to be asked again."""
    with Client(world.server.resp_port, PATIENCE_S) as client:
        try:
            if world.users and client.call("AUTH", world.token()) != "OK":
                return None
            answer = client.call(*words)
        except ConnectionError:
            return None
    return None if isinstance(answer, Error) else answer


def names(world, kind):
    cursor, found = "", []
    while True:
        page = wait_until(lambda: ask(world, "LIST", kind, *(["AFTER", cursor] if cursor else [])),
                          f"a list of {kind}", PATIENCE_S)
        cursor, found = page[0], found + page[1:]
        if not cursor:
            return found


def assert_conserved(world):
    """No more is handed out than there is, and nothing is missing."""
    for product in names(world, "products"):
        now = fields(wait_until(lambda: ask(world, "STOCK.GET", product), "a product", PATIENCE_S))
        if 0 not in now:  # it may have been closed since
            assert now["loaded"] == now["available"] + now["taken"] + now["sold"], (product, now)
    for event in names(world, "events"):
        for zone in ("floor", "box"):
            now = wait_until(lambda: ask(world, "SEATS.ZONE", event, zone), "a zone", PATIENCE_S)
            if now[0] != 0:
                now = fields(now)
                assert now["capacity"] == now["available"] + now["reserved"] + now["confirmed"], now


def check(world):
    assert world.server.process.poll() is None, world.server.said()[-4000:]
    world.mend()
    wait_until(lambda: ask(world, "PING"), "it answers", PATIENCE_S)
    if world.lies is None:  # whom a Redis that lies has told what, nobody can tell
        wait_until(lambda: (ask(world, "AUDIT") or [None, 1])[1] == 0, "a clean audit", PATIENCE_S)
        assert_conserved(world)
    assert "internal check failed" not in world.server.said()


def play(seed, where, steps=STEPS):
    """One sequence. Raises if anything is wrong."""
    dice = random.Random(seed)
    world = World(dice, where)
    try:
        requests, strangers = Requests(dice), []
        if world.lies:
            world.lies.lying = True
        for _ in range(steps):
            if len(strangers) < CONNECTIONS and dice.random() < 0.3 or not strangers:
                strangers.append(Stranger(world, requests))
            if dice.random() < 0.02:
                world.disturb()
            stranger = dice.choice(strangers)
            if not stranger.act():
                stranger.socket.close()
                strangers.remove(stranger)
            assert world.server.process.poll() is None, world.server.said()[-4000:]
        for stranger in strangers:
            stranger.leave()
        check(world)
    finally:
        world.close()
    return world.engine


# ---- by hand ---------------------------------------------------------------------------------------

def sanitizer_options(build):
    """The settings of the sanitizers, with their reports in files of the build's own."""
    log = f"log_path={build / REPORTS}/whole"
    return {"ASAN_OPTIONS": f"halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=1:{log}",
            "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:{log}",
            "TSAN_OPTIONS": f"suppressions={ROOT / 'tests/threads.supp'}:second_deadlock_stack=1:{log}"}


def again(seed, build):
    return f"tests/fuzz/whole_server.py --build {build.name} --seed {seed}"


def play_in(seed, build):
    """True if all is well; otherwise it has said what is not."""
    reports = build / REPORTS
    before = set(reports.glob("whole*"))
    with tempfile.TemporaryDirectory(prefix="holdfast-fuzz-") as where:
        try:
            play(seed, Path(where))
        except (AssertionError, OSError, subprocess.SubprocessError):
            traceback.print_exc()
            print(f"seed {seed} failed; once more: {again(seed, build)}", flush=True)
            return False
        finally:
            for report in set(reports.glob("whole*")) - before:
                print(report.read_text(errors="replace"), flush=True)
    if set(reports.glob("whole*")) - before:
        print(f"seed {seed}: a sanitizer reports; once more: {again(seed, build)}", flush=True)
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=int, default=150)
    parser.add_argument("--seed", type=int, help="this sequence alone")
    asked = parser.parse_args()
    build = asked.build.resolve()
    os.environ["HOLDFAST_BUILD"] = str(build)
    (build / REPORTS).mkdir(exist_ok=True)
    for name, value in sanitizer_options(build).items():
        os.environ.setdefault(name, value)
    end, seed = time.monotonic() + asked.seconds, asked.seed
    if seed is not None:
        sys.exit(0 if play_in(seed, build) else 1)
    first = seed = random.SystemRandom().randrange(1 << 32)
    while time.monotonic() < end:
        if not play_in(seed, build):
            sys.exit(1)
        seed += 1
    print(f"{build.name}: {seed - first} sequences from seed {first} on, nothing found")


if __name__ == "__main__":
    main()

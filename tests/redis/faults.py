# SPDX-License-Identifier: Apache-2.0
"""What the tests of faults share: callers that ask again with the same id until they know what came
of it, and the count of what is there in the end."""

import itertools
import json
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness import Build, run
from raw_client import Http, fields
from server import Error, Server
from servers import wait_until

SLACK_S = 3.0  # an answer comes within its timeout and this, on a machine that is busy, too
PATIENT_MS = 20_000  # the timeout of commands where none may be over
PATIENCE_S = 30  # no fault here lasts that long
ZONE, CAPACITY, LIMIT = "floor", 1_000_000, 1_000_000
NOT_NOW = ("ENGINE_DOWN", "LOADING", "BUSY")  # certainly not done; another time it may be
ADDS_UP = "every total agrees with its records"


def serve(url, *flags, timeout_ms, more=""):
    """A server on Redis whose commands take so long at most."""
    return Server("--engine", f"{url}?timeout={timeout_ms}{more}", "--admission-every", "0", *flags,
                  memory=True)


def is_unknown(answer):
    return isinstance(answer, Error) and answer.code == "TIMEOUT"


def is_not_now(answer):
    return isinstance(answer, Error) and answer.code in NOT_NOW


def audit(url):
    """What `holdfast audit` finds."""
    ended = run(Build().program, "audit", url)
    assert ended.code in (0, 1), ended
    findings = [line.strip() for line in ended.lines if line.startswith("  ") and ": " in line]
    assert (ended.code == 0) == (ADDS_UP in ended.out) == (not findings), ended
    return findings


def reserve(server, event, booking, user="ann", quantity=1, timeout_s=PATIENCE_S):
    return server.call("SEATS.RESERVE", event, ZONE, booking, user, quantity, LIMIT,
                       timeout=timeout_s)


def open_zone(server, event):
    assert server.call("SEATS.OPEN", event, ZONE, CAPACITY) == [1, CAPACITY, CAPACITY]


def pipelined(server, commands, batch=200):
    """The answers to many commands, on one connection."""
    answers = []
    with server.connect(PATIENCE_S) as connection:
        for start in range(0, len(commands), batch):
            some = commands[start:start + batch]
            for command in some:
                connection.send(*command)
            answers += [connection.read() for _ in some]
    return answers


def until_known(ask, what):
    """Asks until the answer is definite. Gives it, and how often it was not."""
    end = time.monotonic() + PATIENCE_S
    for tries in itertools.count():
        answer = ask()
        if not is_unknown(answer) and not is_not_now(answer):
            return answer, tries
        assert time.monotonic() < end, f"{what}: still {answer}"


def told_again(answer, ask, tries=5):
    """The answer, or the first that is known: the time of a command that is refused again and again
    may be over between a request and its refusal, and nobody can tell then."""
    for _ in range(tries):
        answer = ask() if is_unknown(answer) else answer
    return answer


# ---- replicas


def wait_replicated(master, replicas=1, key="marker"):
    """Until all that the master has carried out is at its replicas, too."""
    client = master.client()
    client.set(key, 1)
    assert client.wait(replicas, PATIENCE_S * 1000) >= replicas


def cut_off(replica):
    """The replica hears nothing of its master any more, as if the network between them was gone:
    what is acknowledged from now on is at the master alone."""
    client = replica.client()
    client.config_set("masterauth", "not the password")
    client.execute_command("CLIENT", "KILL", "TYPE", "master")
    wait_until(lambda: client.info("replication")["master_link_status"] == "down", "cut off")


def let_in(replica):
    replica.client().config_set("masterauth", "")


# ---- those who wait for a slot


class Line:
    """Callers of SEM.ACQUIRE … WAIT, one behind the other, for the one slot that `first` has."""

    def __init__(self, server, name, wait_ms=20_000, callers=4, prefix="w"):
        self.server, self.name = server, name
        self.wait_ms = wait_ms
        self.ids = [f"{prefix}{number}" for number in range(callers)]
        self.pool = ThreadPoolExecutor(callers)
        self.answers = {}

    def __enter__(self):
        before = self.waiting()
        for place, who in enumerate(self.ids, before + 1):
            self.answers[who] = self.pool.submit(
                self.server.call, "SEM.ACQUIRE", self.name, who, 1, "WAIT", self.wait_ms)
            wait_until(lambda: self.waiting() == place, f"{who} stands in line")
        return self

    def __exit__(self, *_):
        self.pool.shutdown()

    def waiting(self):
        return fields(self.server.call("SEM.STATS", self.name))["waiting"]

    def release(self, who):
        until_known(lambda: self.server.call("SEM.RELEASE", self.name, who), f"release of {who}")

    def pass_on(self, first):
        """`first` gives up its slot, whoever gets it does so in turn. Gives the fences."""
        fences = []
        self.release(first)
        for who in self.ids:
            answer = self.answers[who].result(PATIENCE_S)
            assert not isinstance(answer, Error) and answer[:2] == [1, 1], f"{who}: {answer}"
            fences.append(answer[2])
            behind = self.ids[self.ids.index(who) + 1:]
            assert not any(self.answers[other].done() for other in behind), f"{who} was overtaken"
            self.release(who)
        return fences


# ---- two ways to ask


class RespCaller:
    """One connection that reserves seats."""

    def __init__(self, server):
        self.connection = server.connect(PATIENCE_S)

    def close(self):
        self.connection.close()

    def reserve(self, event, booking, user, quantity):
        return self.connection.call("SEATS.RESERVE", event, ZONE, booking, user, quantity, LIMIT)


class HttpCaller:
    """The same over HTTP, with answers in the form of RESP."""

    def __init__(self, server):
        self.connection = Http(server.http_port, PATIENCE_S)

    def close(self):
        self.connection.close()

    def reserve(self, event, booking, user, quantity):
        answer = self.connection.call("POST", f"/v1/events/{event}/bookings", {
            "zone_id": ZONE, "booking_id": booking, "user_id": user, "quantity": quantity,
            "max_per_user": LIMIT})
        if answer.status == 201:
            return [1, answer.json["remaining"], answer.json["user_reserved"]]
        return Error(f"{answer.code} {answer.json['error']['message']}")


class Conversation:
    """The program run with these words, asked one line after the other; it answers in JSON."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [Build().program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=PATIENCE_S)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


# ---- many callers


class Booking:
    """What its caller knows of it."""

    def __init__(self, event, name, user, quantity):
        self.event, self.name, self.user, self.quantity = event, name, user, quantity
        self.asked_s = None  # when the answer was asked for
        self.tries = []  # the codes that came before


class Crowd:
    """Callers that make one booking after the other, each as a user of its own, while the block
    lasts; every fourth over HTTP. An answer that takes longer than `timeout_ms` and SLACK_S is a
    failure, and so is any that is neither done, nor unknown, nor "not now"."""

    def __init__(self, server, events, timeout_ms, callers=12):
        self.server, self.events = server, events
        self.limit_s = timeout_ms / 1000 + SLACK_S
        self.callers = callers
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.bookings = []  # whose outcome is known: all are held
        for event in events:
            open_zone(server, event)

    def __enter__(self):
        self.pool = ThreadPoolExecutor(self.callers)
        self.running = [self.pool.submit(self._run, number) for number in range(self.callers)]
        return self

    def __exit__(self, kind, *_):
        self.stopped.set()
        self.pool.shutdown()
        for caller in self.running if kind is None else []:
            caller.result()

    def wait_more(self, count=200):
        """Until every caller goes on: so many more bookings, and some of each user."""
        with self.lock:
            before = len(self.bookings)

        def went_on():
            for caller in self.running:
                if caller.done():
                    caller.result()
            with self.lock:
                fresh = self.bookings[before:]
            return len(fresh) >= count and len({b.user for b in fresh}) == self.callers
        wait_until(went_on, f"{count} more bookings, some by every caller", PATIENCE_S)

    def _run(self, number):
        event = self.events[number % len(self.events)]
        caller = (HttpCaller if number % 4 == 3 else RespCaller)(self.server)
        try:
            for count in itertools.count():
                if self.stopped.is_set():
                    return
                booking = Booking(event, f"b{number}-{count}", f"u{number}", 1 + count % 3)
                self._reserve(caller, booking)
                with self.lock:
                    self.bookings.append(booking)
        finally:
            caller.close()

    def _reserve(self, caller, booking):
        end = time.monotonic() + PATIENCE_S
        while True:
            booking.asked_s = time.monotonic()
            answer = caller.reserve(booking.event, booking.name, booking.user, booking.quantity)
            now = time.monotonic()
            took = now - booking.asked_s
            assert took < self.limit_s, f"{booking.name}: {answer} after {took:.3f} s"
            if not isinstance(answer, Error):
                assert answer[0] == 1, f"{booking.name}: {answer}"
                return
            assert is_unknown(answer) or is_not_now(answer), f"{booking.name}: {answer}"
            booking.tries.append(answer.code)
            assert now < end, f"{booking.name}: still {answer}"

    # ---- what came of it

    @property
    def tries(self):
        """The codes of all answers that were no answers."""
        return [code for booking in self.bookings for code in booking.tries]

    def count(self, server=None):
        """Checks that nothing is held but what the callers know of, and once; gives the bookings
        that are gone although they were acknowledged."""
        server = server or self.server
        found = self._found(server)
        for event in self.events:
            here = [b for b in self.bookings if b.event == event and b.name in found]
            zone = fields(server.call("SEATS.ZONE", event, ZONE))
            held = sum(b.quantity for b in here)
            assert zone == {"capacity": CAPACITY, "available": CAPACITY - held, "reserved": held,
                            "confirmed": 0}, event
            for user in {b.user for b in self.bookings if b.event == event}:
                own = sum(b.quantity for b in here if b.user == user)
                assert server.call("SEATS.USER", event, user) == [own, 0], user
        return [b for b in self.bookings if b.name not in found]

    def _found(self, server):
        """The names of those that are there, each as it was asked for."""
        answers = pipelined(server, [("SEATS.GET", b.event, b.name) for b in self.bookings])
        found = set()
        for booking, answer in zip(self.bookings, answers):
            if answer[:2] != [0, "RESERVATION_NOT_FOUND"]:
                record = fields(answer)
                assert (record["user_id"], record["quantity"], record["status"]) == (
                    booking.user, booking.quantity, "reserved"), record
                found.add(booking.name)
        return found


def put_another_type(store, key):
    """The key is there and has another type than it had; one that was not there is a string."""
    kind = store.type(key)
    store.delete(key)
    if kind == b"string":
        store.rpush(key, "element")
    elif kind == b"zset":
        store.hset(key, "field", "value")
    else:
        store.set(key, "text")

# SPDX-License-Identifier: Apache-2.0
"""Waiting rooms on one Redis through two servers at once: the cap and the rate hold for both
together; and a gate that nothing passes without a pass, on either engine."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from curl import Curl
from harness import Build
from raw_client import Client, encode, transact
from server import Server
from servers import RedisServer

USERS = 600
RATE, INSIDE = 200, 25
LUA = Path(os.environ.get("HOLDFAST_BUILD", "build")) / "lua"

# How many passes are valid at this very moment, by the time of Redis.
VALID = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZCOUNT', KEYS[1], '(' .. string.format('%.0f', now), '+inf')
"""


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as one:
        yield one


@pytest.fixture(scope="module")
def servers(redis):
    flags = "--engine", redis.url, "--admission-every", "0"  # the tests themselves admit
    with Server(*flags) as one, Server(*flags) as other:
        yield one, other


class Crowd:
    """Threads with a connection each, half of them to each server, and what they found out."""

    def __init__(self, servers):
        self.servers = servers
        self.admitted, self.over = [], threading.Event()
        self.lock, self.errors = threading.Lock(), []

    def run(self, *workers):
        threads = [threading.Thread(target=self.work, args=(worker, self.servers[n % 2].resp_port))
                   for n, worker in enumerate(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.over.set()
        assert not self.errors and not any(thread.is_alive() for thread in threads)

    def work(self, worker, port):
        try:
            with Client(port) as client:
                worker(client)
        except Exception as error:  # of a thread: it has to be told by the test
            self.errors.append(error)
            self.over.set()

    def note(self, reply):
        with self.lock:
            self.admitted += zip(reply[::2], reply[1::2])
            if len(self.admitted) >= USERS:
                self.over.set()

    def joiner(self, event, users):
        return lambda client: [client.call("ROOM.JOIN", event, user) for user in users]

    def admitter(self, event, *command):
        def admit(client):
            while not self.over.is_set():
                self.note(client.call(command[0], event, *command[1:]))
        return admit

    def leaver(self, event, step):
        """Every `step`th of the admitted is done; the others' passes run out."""
        def leave(client):
            seen = 0
            while not self.over.is_set():
                for user, secret in self.admitted[seen:]:
                    seen += 1
                    client.call("ROOM.CHECK", event, user, secret)
                    if seen % step == 0:
                        client.call("ROOM.DONE", event, user)
                client.call("ROOM.STATS", event)
        return leave

    def watcher(self, redis, event, found):
        def watch(_):
            script = redis.client().register_script(VALID)
            while not self.over.is_set():
                found.append(script(keys=["queue:passes:{%s}" % event]))
        return watch


def seconds(redis):
    whole, micros = redis.client().time()
    return whole + micros / 1e6


def users(first, count):
    return [f"u{n}" for n in range(first, first + count)]


def test_cap_and_rate_hold_for_two_servers_together(redis, servers):
    crowd, found, begun = Crowd(servers), [], seconds(redis)
    with Client(servers[0].resp_port) as client:
        client.call("ROOM.OPEN", "rush", "RATE", RATE, "INSIDE", INSIDE, "PASS", "50ms")
    crowd.run(crowd.watcher(redis, "rush", found),
              *[crowd.joiner("rush", users(n * 150, 150)) for n in range(4)],
              *[crowd.admitter("rush", "ROOM.TICK") for _ in range(6)],
              crowd.leaver("rush", 2), crowd.leaver("rush", 3))
    elapsed = seconds(redis) - begun
    assert sorted(user for user, _ in crowd.admitted) == sorted(users(0, USERS)), "each once"
    assert len({secret for _, secret in crowd.admitted}) == USERS
    assert max(found) == INSIDE, "the cap was reached, and never exceeded"
    assert USERS <= RATE * (elapsed + 1)


def test_admission_by_hand_keeps_the_cap_too(redis, servers):
    crowd, found = Crowd(servers), []
    with Client(servers[0].resp_port) as client:
        client.call("ROOM.OPEN", "hand", "RATE", 1, "INSIDE", INSIDE)
    crowd.run(crowd.watcher(redis, "hand", found),
              *[crowd.joiner("hand", users(n * 150, 150)) for n in range(4)],
              *[crowd.admitter("hand", "ROOM.ADMIT", 60) for _ in range(4)],
              *[crowd.leaver("hand", 1) for _ in range(2)])
    assert sorted(user for user, _ in crowd.admitted) == sorted(users(0, USERS)), "each once"
    assert max(found) == INSIDE


def test_an_order_drawn_by_lot(redis, servers):
    with Client(servers[0].resp_port) as client, Client(servers[1].resp_port) as other:
        start = redis.client().time()[0] * 1000 + 10**9
        client.call("ROOM.OPEN", "lot", "START", start, "ORDER", "random")
        for n in range(200):
            assert (client, other)[n % 2].call("ROOM.JOIN", "lot", f"u{n}")[1] == 0
        assert client.call("ROOM.POSITION", "lot", "u7") == [0, 200]
        assert client.call("ROOM.ADMIT", "lot", 9) == []
        client.call("ROOM.OPEN", "lot", "ORDER", "random")
        other.call("ROOM.JOIN", "lot", "late")
        places = {f"u{n}": client.call("ROOM.POSITION", "lot", f"u{n}")[0] for n in range(200)}
        order = client.call("ROOM.ADMIT", "lot", 201)[::2]
        assert order[200] == "late" and sorted(order[:200]) == sorted(places)
        assert all(order[place - 1] == user for user, place in places.items())
        assert sum(place == int(user[1:]) + 1 for user, place in places.items()) < 20


def test_a_stream_on_the_other_server_tells_the_pass(servers):
    with Client(servers[0].resp_port) as client:
        token = client.call("ROOM.JOIN", "far", "ann")[3]
        with Curl(servers[1].http_port).stream(
                f"/v1/events/far/queue/ann/stream?token={token}") as stream:
            stream.read_until("position")
            given = client.call("ROOM.TICK", "far")
            assert stream.read_until("admitted") == {"pass": given[1]}


# ---- the gate ------------------------------------------------------------------------------------

@pytest.fixture(params=["embedded", "redis"])
def gated(request, redis, tmp_path):
    """A server with an event behind a gate, where only ann is admitted; its ports, and her pass."""
    flags = ["--engine", redis.url] if request.param == "redis" else []
    event = f"gated-{request.param}"
    with Server(*flags) as server, Client(server.resp_port) as client:
        client.call("SEATS.OPEN", event, "floor", 100)
        client.call("ROOM.OPEN", event, "GATE")
        client.call("ROOM.JOIN", event, "ann")
        yield server, client, event, client.call("ROOM.TICK", event)[1]


def is_shut(reply):
    return reply[:2] == [0, "NOT_ADMITTED"]


def test_no_front_and_no_batch_passes_the_gate(gated):
    server, client, event, ann = gated
    for words in ("b ann 1 9", f"b bob 1 9 PASS {ann}", f"b ann 1 9 PASS {ann[:-1]}",
                  f"b ann 1 9 PASS {'0' * 32}", "b ann 1 9 LIFETIME SHOW s PRICE 1 TTL 9"):
        line = f"SEATS.RESERVE {event} floor {words}"
        assert is_shut(client.call(*line.split()))
        assert is_shut(transact(client, "PING", line)[1])
        client.send_raw(encode("PING") + encode(*line.split()) * 3)
        assert client.read() == "PONG" and all(is_shut(client.read()) for _ in range(3))
        command = [Build().program, "call", "--url", f"holdfast://127.0.0.1:{server.resp_port}"]
        ended = subprocess.run([*command, *line.split()], capture_output=True, text=True)
        assert ended.returncode == 1 and "NOT_ADMITTED" in ended.stdout
    curl, path = Curl(server.http_port), f"/v1/events/{event}/bookings"
    seats = {"zone_id": "floor", "user_id": "ann", "quantity": 1, "max_per_user": 9}
    for body in (seats, {**seats, "pass": "x"}, {**seats, "user_id": "bob", "pass": ann}):
        refused = curl.post(path, body)
        assert (refused.status, refused.code) == (403, "NOT_ADMITTED")
    assert client.call("SEATS.ZONE", event, "floor")[3] == 100, "nothing was taken"
    # In one transaction: admitted, in; given up, out; a retry is answered again.
    opened = transact(client, f"SEATS.RESERVE {event} floor b-1 ann 1 9 PASS {ann}",
                      f"ROOM.DONE {event} ann", f"SEATS.RESERVE {event} floor b-2 ann 1 9 PASS {ann}",
                      f"SEATS.RESERVE {event} floor b-1 ann 1 9")
    assert opened[0][:2] == opened[3][:2] == [1, 99]
    assert opened[1] == 1 and is_shut(opened[2])


def test_a_checkout_does_not_pass_the_gate(redis, tmp_path):
    for n, engine in enumerate((["--engine", redis.url], [])):
        event = f"checkout-{n}"
        flags = "--ledger", f"sqlite:{tmp_path}/{n}.db", "--payment-url", "test:"
        with Server(*engine, *flags) as server:
            server.call("SEATS.OPEN", event, "floor", 9)
            server.call("ROOM.OPEN", event, "GATE")
            server.call("ROOM.JOIN", event, "ann")
            ann = server.call("ROOM.TICK", event)[1]
            words = "SEATS.CHECKOUT", event, "floor", "bob", 1, 4, "PRICE", 100, "WAIT", "60s"
            curl, body = Curl(server.http_port), {
                "zone_id": "floor", "user_id": "bob", "quantity": 1, "max_per_user": 4,
                "unit_price": 100, "wait_ms": 60_000}
            for own, more in (([], {}), (["PASS", "x"], {"pass": "x"}), (["PASS", ann], {"pass": ann})):
                assert is_shut(server.call(*words, *own))
                refused = curl.post(f"/v1/events/{event}/checkout", {**body, **more})
                assert (refused.status, refused.code) == (403, "NOT_ADMITTED")
            assert server.call("SEATS.USER", event, "bob") == [0, 0]
            words = "SEATS.CHECKOUT", event, "floor", "ann", 1, 4, "PRICE", 100, "WAIT", "60s"
            assert server.call(*words, "PASS", ann)[3] == "COMPLETED"


def test_the_library_on_its_own_engine_does_not_pass_the_gate(redis, tmp_path):
    for engine in (redis.url, f"embedded:{tmp_path}/data"):
        lines = ("SEATS.OPEN own floor 9\nROOM.OPEN own GATE\n"
                 "SEATS.RESERVE own floor b ann 1 9\nSEATS.RESERVE own floor b ann 1 9 PASS x\n")
        ended = subprocess.run([Build().program, "call", "--engine", engine], input=lines,
                               capture_output=True, text=True)
        assert ended.stdout.count("NOT_ADMITTED") == 2


def test_the_script_itself_does_not_pass_the_gate(redis, servers):
    """As other programs call it, with all keys or with those that they always gave."""
    with Client(servers[0].resp_port) as client:
        client.call("SEATS.OPEN", "raw", "floor", 9)
        client.call("ROOM.OPEN", "raw", "GATE")
        client.call("ROOM.JOIN", "raw", "ann")
        ann = client.call("ROOM.TICK", "raw")[1]
    reserve = redis.client().register_script((LUA / "reserve_seats.lua").read_text())
    keys = ["zone:availability:{raw}:floor", "user:reservations:{raw}:ann", "reservation:{raw}:b",
            "seats:due:{raw}", "user:confirmed:{raw}:ann", "seats:rules:{raw}",
            "seats:bookings:{raw}"]
    words = [1, 9, "ann", "b", "floor", "raw", "", 0, 600, 0]
    for given in (keys, keys[:5]):
        for more in ([], [""], ["x"]):
            assert reserve(keys=given, args=words + more)[:2] == [0, b"NOT_ADMITTED"]
        with redis.client().pipeline() as batch:
            for _ in range(2):
                reserve(keys=given, args=words, client=batch)
            assert [reply[:2] for reply in batch.execute()] == [[0, b"NOT_ADMITTED"]] * 2
    assert reserve(keys=keys[:5], args=words + [ann])[:2] == [1, 8]

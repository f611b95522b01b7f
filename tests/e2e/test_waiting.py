# SPDX-License-Identifier: Apache-2.0
"""Waiting for a slot over a connection: who is served meanwhile, in which order, and what becomes of
a place in line or a grant when the client goes away."""

import itertools
import os
import signal
import subprocess
import sys
import time

import pytest

from certificates import trusting
from raw_client import Client, Http, encode, fields, has_acknowledged, has_unread, reset
from server import Server, wait_until

LONG = 60000  # ms; no test waits for it to run out
numbers = itertools.count(1)


@pytest.fixture(scope="module", params=["memory", "durable"])
def server(request):
    with Server(memory=request.param == "memory") as one:
        yield one


@pytest.fixture
def client(server):
    with Client(server.resp_port) as one:
        yield one


class Line:
    """A semaphore of one slot, held by "holder", and those who wait for it."""

    def __init__(self, server, client):
        self.server, self.client, self.name = server, client, f"sem-{next(numbers)}"
        assert client.call("SEM.ACQUIRE", self.name, "holder", 1)[0] == 1

    def stats(self):
        return fields(self.client.call("SEM.STATS", self.name))

    def wait_for(self, waiting):
        wait_until(lambda: self.stats()["waiting"] == waiting, f"{waiting} in line")

    def join(self, who, wait_ms=LONG, *words):
        """A connection whose ACQUIRE waits, once it does."""
        before = self.stats()["waiting"]
        waiter = Client(self.server.resp_port)
        waiter.send("SEM.ACQUIRE", self.name, who, 1, "WAIT", wait_ms, *words)
        self.wait_for(before + 1)
        return waiter

    def release(self, who="holder"):
        return self.client.call("SEM.RELEASE", self.name, who)

    def release_and_leave(self, waiter):
        """The waiter is gone before the server learns that the slot is free: it grants to nobody."""
        self.server.pause()
        try:
            with Client(self.server.resp_port) as releasing:
                releasing.send("SEM.RELEASE", self.name, "holder")
                waiter.close()
                self.server.resume()
                assert releasing.read() == 1
        finally:
            self.server.resume()

    def holds(self, who):
        return self.client.call("SEM.PING", self.name, who, 60, 600) == [0, 1]


@pytest.fixture
def line(server, client):
    return Line(server, client)


# ---- while somebody waits ------------------------------------------------------------------------

def test_others_are_served_meanwhile(line, client):
    with line.join("waiter") as waiter:
        start = time.monotonic()
        for i in range(200):
            assert client.call("QUOTA.LIMIT", line.name, i) == [1, 0, i]
        assert time.monotonic() - start < 10
        assert " flags=b " in client.call("CLIENT", "LIST")
        line.release()
        assert waiter.read()[0] == 1


def test_what_the_waiter_sent_behind_it_is_answered_after_it(line):
    with line.join("waiter") as waiter:
        waiter.send("PING")
        waiter.send("SEM.CARD", line.name)
        line.release()
        assert waiter.read()[0] == 1
        assert (waiter.read(), waiter.read()) == ("PONG", 1)


def test_first_come_first_served(line):
    waiters = [line.join(f"waiter-{i}") for i in range(20)]
    fences = []
    line.release()
    for i, waiter in enumerate(waiters):
        one, in_use, fence = waiter.read()
        assert (one, in_use) == (1, 1)
        fences.append(fence)
        assert line.stats() == {"in_use": 1, "max": 1, "waiting": len(waiters) - i - 1}
        line.release(f"waiter-{i}")
        waiter.close()
    assert fences == sorted(set(fences))


def test_a_wait_that_runs_out_leaves_no_trace(line):
    with line.join("waiter", 50) as waiter:
        assert waiter.read()[:2] == [0, "TIMEOUT"]
        assert line.stats() == {"in_use": 1, "max": 1, "waiting": 0}
        line.release()
        assert line.stats()["in_use"] == 0


def test_a_slot_that_expires_goes_to_the_next(line, client):
    other = line.name + "-short"
    client.call("SEM.ACQUIRE", other, "holder", 1, "TTL", "50ms")
    with Client(line.server.resp_port) as waiter:
        assert waiter.call("SEM.ACQUIRE", other, "waiter", 1, "WAIT", LONG)[0] == 1


def test_released_by_somebody_else_while_waiting(line):
    with line.join("waiter") as waiter:
        assert line.release("waiter") == 1
        assert waiter.read()[:2] == [0, "TIMEOUT"]


def test_the_same_id_on_another_connection_takes_the_place_over(line):
    first = line.join("waiter")
    behind = line.join("behind")
    with Client(line.server.resp_port) as second:
        second.send("SEM.ACQUIRE", line.name, "waiter", 1, "WAIT", LONG)
        assert first.read()[:2] == [0, "TIMEOUT"]
        first.close()
        line.release()
        assert second.read()[0] == 1, "it keeps the place of the first"
        assert line.stats()["waiting"] == 1
    behind.close()


# ---- the waiter goes away ------------------------------------------------------------------------

@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_waiter_that_disconnects_leaves_the_line(line, how):
    first, second = line.join("first"), line.join("second")
    getattr(first, how)()
    line.wait_for(1)
    line.release()
    assert second.read()[0] == 1
    second.close()


def test_many_waiters_that_disconnect_at_once(line):
    waiters = [Client(line.server.resp_port) for _ in range(200)]
    for i, waiter in enumerate(waiters):
        waiter.send("SEM.ACQUIRE", line.name, f"waiter-{i}", 1, "WAIT", LONG)
    line.wait_for(200)
    for waiter in waiters:
        waiter.close()
    line.wait_for(0)
    assert line.stats() == {"in_use": 1, "max": 1, "waiting": 0}


def test_a_grant_that_was_never_read_is_given_back(line):
    """The client is gone, but the server could not know when it granted."""
    first, second = line.join("first"), line.join("second")
    line.release_and_leave(first)
    assert second.read()[0] == 1
    wait_until(lambda: not line.holds("first"), "first loses the slot")
    second.close()


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_grant_that_arrived_is_kept(line, how):
    """The answer is in the system's buffer of the client, who closes without looking. The server can
    tell that from a proxy's reset of a connection that was read long ago no better than anybody: the
    heartbeat decides."""
    first, second = line.join("first"), line.join("second")
    line.release()
    # On Redis the answer to the release may come first, and the server learns of the grant later.
    wait_until(lambda: has_unread(first) and has_acknowledged(first), "the grant has arrived")
    getattr(first, how)()
    wait_until(lambda: line.client.call("CLIENT", "LIST").count("\n") == 2, "first is gone")
    assert line.holds("first") and line.stats()["waiting"] == 1
    line.release("first")
    assert second.read()[0] == 1
    second.close()


KILLED = """
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(sys.argv[2].encode().decode("unicode_escape").encode())
print("sent", flush=True)
time.sleep(600)
"""


def test_a_client_killed_before_it_read_its_grant(line):
    data = encode("SEM.ACQUIRE", line.name, "first", 1, "WAIT", LONG, "HEARTBEAT", "1s").decode()
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(line.server.resp_port),
         data.replace("\r", "\\r").replace("\n", "\\n")], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"sent\n"
    line.wait_for(1)
    second = line.join("second")
    line.release()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert second.read()[0] == 1, "the slot passes on"
    second.close()


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_client_that_read_its_grant_keeps_its_slot(line, how):
    first, second = line.join("first"), line.join("second", 300)
    line.release()
    assert first.read()[0] == 1
    wait_until(lambda: has_acknowledged(first), "its system has said so")
    getattr(first, how)()
    assert second.read()[:2] == [0, "TIMEOUT"], "the slot is still the first one's"
    assert line.holds("first")
    second.close()


def test_a_grant_without_waiting_is_kept_too(server, client):
    name = f"sem-{next(numbers)}"
    with Client(server.resp_port) as one:
        assert one.call("SEM.ACQUIRE", name, "one", 1)[0] == 1
    wait_until(lambda: client.call("CLIENT", "LIST").count("\n") == 1, "the connection is gone")
    assert client.call("SEM.CARD", name) == 1


# ---- HTTP: long polling --------------------------------------------------------------------------

def acquire(line, who, wait_ms=LONG):
    connection = Http(line.server.http_port)
    connection.send("POST", f"/v1/semaphores/{line.name}/acquire",
                    {"id": who, "limit": 1, "wait_ms": wait_ms})
    return connection


def test_http_waits_too(line):
    with acquire(line, "waiter") as waiter:
        line.wait_for(1)
        line.release()
        answer = waiter.read()
        assert answer.status == 200 and answer.json["in_use"] == 1 and answer.json["fence"] > 0


def test_http_wait_that_runs_out(line):
    with acquire(line, "waiter", 50) as waiter:
        answer = waiter.read()
        assert (answer.status, answer.code) == (408, "TIMEOUT")
        assert line.stats()["waiting"] == 0
        assert waiter.call("GET", "/livez").status == 200, "the connection goes on"


def test_http_waiter_that_disconnects_leaves_the_line(line):
    with acquire(line, "first") as first:
        line.wait_for(1)
        second = line.join("second")
        first.close()
        line.wait_for(1)
    line.release()
    assert second.read()[0] == 1
    second.close()


def test_http_grant_that_never_arrived_is_given_back(line):
    first = acquire(line, "first")
    line.wait_for(1)
    second = line.join("second")
    line.release_and_leave(first)
    assert second.read()[0] == 1, "the slot passes on"
    second.close()


@pytest.mark.parametrize("waits", [False, True])
def test_http_reset_of_an_idle_connection_takes_nothing_away(line, waits):
    """The holder read its answer long ago and pings on other connections."""
    if not waits:
        line.release()
    first = acquire(line, "first")
    if waits:
        line.wait_for(1)
        line.release()
    assert first.read().status == 200
    wait_until(lambda: has_acknowledged(first), "its system has said so")
    reset(first)
    wait_until(lambda: line.client.call("CLIENT", "LIST").count("\n") == 1, "first is gone")
    assert line.holds("first")


@pytest.mark.parametrize("front", ["resp", "http"])
def test_tls_reset_of_an_idle_connection_takes_nothing_away(secure, certificate, front):
    context = trusting(certificate[0])
    if front == "http":
        one = Http(secure.http_port, context=context)
        assert one.call("POST", "/v1/semaphores/s/acquire", {"id": "a", "limit": 1}).status == 200
    else:
        one = Client(secure.resp_port, context=context)
        assert one.call("SEM.ACQUIRE", "s", "a", 1)[0] == 1
    wait_until(lambda: has_acknowledged(one), "its system has said so")
    reset(one)
    with Client(secure.resp_port, context=context) as client:
        wait_until(lambda: client.call("CLIENT", "LIST").count("\n") == 1, "it is gone")
        assert client.call("SEM.PING", "s", "a", 60, 600) == [0, 1]


def test_lines_are_shared_by_both_protocols(line):
    first = acquire(line, "first")
    line.wait_for(1)
    second = line.join("second")
    third = acquire(line, "third")
    line.wait_for(3)
    line.release()
    assert first.read().status == 200
    line.release("first")
    assert second.read()[0] == 1
    line.release("second")
    assert third.read().status == 200
    for one in (first, second, third):
        one.close()


# ---- the server goes away ------------------------------------------------------------------------

@pytest.mark.parametrize("memory", [True, False])
def test_a_server_that_stops_answers_those_who_wait(memory):
    with Server(memory=memory) as server, Client(server.resp_port) as client:
        line = Line(server, client)
        waiters = [line.join(f"waiter-{i}") for i in range(10)]
        assert server.stop() == 0
        for waiter in waiters:
            answer = waiter.read()
            assert answer.code == "BUSY" and "shutting down" in answer.message, answer
            assert waiter.read_nothing_more() == b""
            waiter.close()


def test_a_server_that_stops_answers_those_who_wait_over_http():
    with Server() as server, Client(server.resp_port) as client:
        line = Line(server, client)
        with acquire(line, "waiter") as waiter:
            line.wait_for(1)
            assert server.stop() == 0
            answer = waiter.read()
            assert (answer.status, answer.code) == (503, "BUSY"), answer
            assert "shutting down" in answer.json["error"]["message"]
        server.start()
        assert fields(server.call("SEM.STATS", line.name)) == {"in_use": 1, "max": 1, "waiting": 0}


def test_a_key_is_free_when_who_waits_under_it_has_left(server, line):
    """A request with an Idempotency-Key that will not be carried out does not stand in the way."""
    path, key = f"/v1/semaphores/{line.name}/acquire", ["Idempotency-Key: " + line.name]
    body = {"id": "waiter", "limit": 1, "wait_ms": LONG}
    with Http(server.http_port) as waiter:
        waiter.send("POST", path, body, key)
        line.wait_for(1)
    line.wait_for(0)
    line.release()
    with Http(server.http_port) as waiter:
        assert waiter.call("POST", path, body, key).status == 200

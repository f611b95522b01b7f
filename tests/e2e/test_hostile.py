# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm, or behave as if they did. Whatever they do, the server's memory grows by
less than 64 MB, and somebody else is answered within a second."""

import json
import os
import resource
import select
import socket
import time
from contextlib import contextmanager

import pytest

from raw_client import Client, Http, encode, http, request, resident_kb
from server import Server, wait_until

GROWTH_KB = 64 << 10
ANSWER_S = 1.0


def raise_file_limit(wanted):
    """So many connections of our own; the server raises its limit itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"only {hard} files may be open here, {wanted} are needed")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def assert_soon(ask, sanitized):
    """An answer does not keep its client waiting; `ask` tells how long it took, in seconds."""
    limit, took = ANSWER_S * (3 if sanitized else 1), ask()
    # The machine may have had something else to do, once.
    assert took < limit or (took < 4 * limit and ask() < limit), f"{took:.2f} s"


def ping(client):
    """How long that takes, in seconds."""
    start = time.monotonic()
    assert client.call("PING") == "PONG"
    return time.monotonic() - start


class Watch:
    """Looks at the server as others see it, before, during and after."""

    def __init__(self, server, sanitized):
        self.server, self.sanitized = server, sanitized
        self.client = Client(server.resp_port)
        self.client.call("SEATS.OPEN", "watch", "floor", 1 << 40)
        self.before_kb = resident_kb(server.pid)
        self.bookings = 0

    def reserve(self):
        """How long somebody else waits for an answer, in seconds."""
        start = time.monotonic()
        self.bookings += 1
        got = self.client.call(
            "SEATS.RESERVE", "watch", "floor", f"b{self.bookings}", "ann", 1, 1 << 40)
        assert got[0] == 1
        return time.monotonic() - start

    def look(self):
        assert_soon(self.reserve, self.sanitized)
        grown = resident_kb(self.server.pid) - self.before_kb
        # Under AddressSanitizer memory that was freed stays for a while.
        assert self.sanitized or grown < GROWTH_KB, f"memory grew by {grown} KB"

    def finish(self):
        self.look()
        assert self.client.call("AUDIT") == [1, 0]
        self.client.close()


@contextmanager
def besieged(build, *flags, memory=True):
    with Server(*flags, memory=memory) as server:
        watch = Watch(server, build.sanitized)
        yield server, watch
        watch.finish()
        assert server.stop() == 0


def connections(port, count):
    raise_file_limit(count + 200)
    opened = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", port), 30)
        one.setblocking(False)
        opened.append(one)
    return opened


def close_all(sockets):
    for one in sockets:
        one.close()


def send_what_goes(one, data):
    """Sends without waiting; how much the other side took, -1 if it hung up."""
    try:
        return one.send(data)
    except BlockingIOError:
        return 0
    except OSError:
        return -1


def hung_up(one):
    """Has the server closed this connection? Reads what it says."""
    try:
        while data := one.recv(1 << 16):
            del data
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


# ---- many, and slow -------------------------------------------------------------------------------

@pytest.mark.parametrize("protocol", ["resp", "http"])
def test_5000_slow_connections(build, protocol):
    count = 1000 if build.sanitized else 5000
    line = (encode("SEATS.OPEN", "slow", "floor", "1") if protocol == "resp"
            else request("GET", "/livez"))
    with besieged(build) as (server, watch):
        sockets = connections(server.resp_port if protocol == "resp" else server.http_port, count)
        for at in range(8):
            for one in sockets:
                send_what_goes(one, line[at:at + 1])
            watch.look()
        figures = watch.client.call("INFO", "clients")
        assert f"connected_clients:{count + 1}\r\n" in figures
        close_all(sockets)
        wait_until(lambda: "connected_clients:1\r\n" in watch.client.call("INFO", "clients"))


def test_requests_that_do_not_come_to_their_end(build):
    """A byte now and then does not keep a connection alive: the time runs from the first one."""
    with besieged(build, "--request-timeout", "500ms") as (server, watch):
        sockets = connections(server.resp_port, 50) + connections(server.http_port, 50)
        parts = [b"*1\r\n$4000\r\nPI"] * 50 + [b"GET /livez HTTP/1.1\r\nX: "] * 50
        for one, part in zip(sockets, parts):
            one.send(part)
        start = time.monotonic()
        while sockets and time.monotonic() - start < 20:
            for one in sockets:
                send_what_goes(one, b"x")
            watch.look()
            closed = [one for one in sockets if hung_up(one)]
            close_all(closed)
            sockets = [one for one in sockets if one not in closed]
        assert not sockets, f"{len(sockets)} are still there"
        assert time.monotonic() - start > 0.4
        assert "timed_out_connections:100\r\n" in watch.client.call("INFO", "stats")


def test_idle_clients_may_stay(build):
    with besieged(build, "--request-timeout", "100ms") as (server, watch):
        with Client(server.resp_port) as idle:
            assert idle.call("PING") == "PONG"
            with Client(server.resp_port) as slow:
                slow.send_raw(b"*1\r\n$4\r\nPI")
                assert slow.read().code == "ERR"
                assert slow.read_nothing_more() == b""
            assert idle.call("PING") == "PONG", "only what was begun must be finished"
            watch.look()


# ---- large ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("data", [
    b"*2147483647\r\n", b"*1025\r\n", b"*1\r\n$-2\r\n", b"*1\r\n$999999999\r\n", b"*-1000\r\n",
    b"*99999999999999999999\r\n", b"x" * (1 << 20), b"\"" * (1 << 20), b"\0" * (1 << 20),
    b"*1\r\n$" + b"1" * (1 << 20)], ids=lambda data: repr(data[:20]))
def test_numbers_and_lines_without_measure(build, data):
    with besieged(build) as (server, watch):
        sockets = connections(server.resp_port, 50)
        for one in sockets:
            send_what_goes(one, data)
        wait_until(lambda: all(hung_up(one) for one in sockets), "all are turned away")
        watch.look()
        close_all(sockets)


def test_2000_unfinished_requests_of_160_kb(build):
    count = 300 if build.sanitized else 2000
    with besieged(build) as (server, watch):
        sockets = connections(server.resp_port, count)
        data = b"*2\r\n$4\r\nECHO\r\n$1000000\r\n" + b"x" * (160 << 10)
        for i, one in enumerate(sockets):
            send_what_goes(one, data)
            if i % 100 == 0:
                watch.look()
        left = [data] * count
        for _ in range(5):
            for i, one in enumerate(sockets):
                if left[i]:
                    done = send_what_goes(one, left[i])
                    left[i] = left[i][done:] if done >= 0 else b""
            watch.look()
        close_all(sockets)
        watch.look()
        if not build.sanitized:
            assert "evicted_connections:0\r\n" not in watch.client.call("INFO", "stats")


def test_2000_unfinished_bodies_of_160_kb(build):
    count = 300 if build.sanitized else 2000
    with besieged(build) as (server, watch):
        sockets = connections(server.http_port, count)
        head = (b"POST /v1/quotas/acme/reserve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
                b"\r\nContent-Length: 1000000\r\n\r\n")
        for i, one in enumerate(sockets):
            send_what_goes(one, head + b" " * (160 << 10))
            if i % 100 == 0:
                watch.look()
        for _ in range(5):
            for one in sockets:
                send_what_goes(one, b" " * (64 << 10))
            watch.look()
        close_all(sockets)


@pytest.mark.parametrize("size", [100, 100_000, 1 << 20])
def test_endless_pipelines_that_nobody_reads(build, size):
    """Answers far larger than the questions, from 200 connections at once."""
    with besieged(build) as (server, watch):
        watch.client.call("IDEM.BEGIN", "big", "print")
        watch.client.call("IDEM.COMPLETE", "big", "x" * size)
        watch.before_kb = resident_kb(server.pid)
        sockets = connections(server.resp_port, 50 if build.sanitized else 200)
        questions = encode("IDEM.BEGIN", "big", "print") * 1000
        for _ in range(10):
            for one in sockets:
                send_what_goes(one, questions)
            watch.look()
        close_all(sockets)
        watch.look()


def test_waiting_with_much_to_say_afterwards(build):
    """What stands behind a command that waits is memory, too."""
    count = 300 if build.sanitized else 2000
    with besieged(build) as (server, watch):
        watch.client.call("SEM.ACQUIRE", "line", "holder", 1)
        sockets = connections(server.resp_port, count)
        for i, one in enumerate(sockets):
            send_what_goes(one, encode("SEM.ACQUIRE", "line", f"w{i}", 1, "WAIT", "1h") +
                           encode("PING") * 4000)
            if i % 100 == 0:
                watch.look()
        watch.look()
        close_all(sockets)
        wait_until(lambda: "connected_clients:1\r\n" in watch.client.call("INFO", "clients"))
        assert watch.client.call("SEM.STATS", "line") == ["in_use", 1, "max", 1, "waiting", 0]


def test_2000_long_polls_with_large_bodies(build):
    """What they asked for is kept, not how: and those who ask in two packets are none of them."""
    count = 300 if build.sanitized else 2000
    with besieged(build) as (server, watch):
        watch.client.call("SEM.ACQUIRE", "s", "holder", 1)
        polls = connections(server.http_port, count)
        for number, one in enumerate(polls):
            one.setblocking(True)
            body = {"id": f"w{number}", "limit": 1, "wait_ms": 3_600_000}
            padded = json.dumps(body).encode() + b" " * 60_000
            one.sendall(request("POST", "/v1/semaphores/s/acquire", padded,
                                ["Content-Type: application/json"]))
        watch.look()
        with Client(server.resp_port) as neighbour:
            neighbour.send_raw(b"PI")
            watch.look()
            neighbour.send_raw(b"NG\r\n")
            assert neighbour.read() == "PONG"
        close_all(polls)


def test_a_page_cannot_make_a_browser_speak_resp(build):
    with besieged(build) as (server, watch):
        with Client(server.resp_port) as browser:
            browser.send_raw(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 18\r\n\r\n"
                             b"SEATS.OPEN e z 5\r\n")
            assert browser.socket.recv(1000) == b""
        assert watch.client.call("SEATS.ZONE", "e", "z")[1] == "ZONE_NOT_FOUND"


@pytest.mark.parametrize("head", [
    b"GET / HTTP/1.1\r\n", b"PUT /v1/x HTTP/1.1\r\n", b"OPTIONS * HTTP/1.0\r\n", b"Host:x\r\n",
    b"host: x\r\n", b"HOST:127.0.0.1:4653\r\n", b"Accept: */*\r\n", b"User-Agent:x\r\n",
    b"Content-Length:18\r\n", b"post / http/1.1\r\n", b"POST\r\n", b"x-a:\r\n"], ids=repr)
def test_no_line_of_http_is_followed_by_a_command(head):
    """Whatever the method, the fields and their order: a browser is cut off before its body."""
    with Server(memory=True) as server:
        with Client(server.resp_port) as browser:
            browser.send_raw(head + b"\r\nSEATS.OPEN e z 5\r\n")
            assert browser.read_nothing_more() == b""
        with Client(server.resp_port) as client:
            assert client.call("SEATS.ZONE", "e", "z")[1] == "ZONE_NOT_FOUND"
            assert client.call("PING", "a:b") == "a:b"


def test_a_waiter_behind_more_grants_than_are_remembered_leaves_the_line(build):
    """Long names, so that what could be taken back is more than is kept."""
    with besieged(build) as (server, watch):
        watch.client.call("SEM.ACQUIRE", "s", "holder", 1)
        with Client(server.resp_port) as greedy:
            greedy.send_raw(b"".join(
                encode("SEM.ACQUIRE", "n" * 128, f"{number:0128}", 1 << 40)
                for number in range(300)) + encode("SEM.ACQUIRE", "s", "w", 1, "WAIT", "1h"))
            wait_until(lambda: watch.client.call("SEM.STATS", "s")[5] == 1, "it waits")
        wait_until(lambda: watch.client.call("SEM.STATS", "s")[5] == 0, "it has left")

def test_a_client_that_reads_slowly_gets_all_its_answers(build):
    """It is not evicted while there is room, and nothing is lost or in another order."""
    with besieged(build) as (server, watch):
        watch.client.call("IDEM.BEGIN", "big", "print")
        watch.client.call("IDEM.COMPLETE", "big", "x" * 100_000)
        many = 100
        with Client(server.resp_port) as slow:
            slow.send_raw(b"".join(encode("IDEM.BEGIN", "big", "print") + encode("ECHO", i)
                                   for i in range(many)))
            for i in range(many):
                assert len(slow.read()[2]) == 100_000
                assert slow.read() == str(i)
                if i % 10 == 0:
                    watch.look()


# ---- too many -------------------------------------------------------------------------------------

def test_connections_beyond_the_limit_are_turned_away(build):
    with Server("--max-connections", "10", memory=True) as server:
        taken = [Client(server.resp_port) for _ in range(9)]
        for one in taken:
            assert one.call("PING") == "PONG"
        with Http(server.http_port) as last:
            assert last.call("GET", "/livez").status == 200
            for _ in range(20):
                with Client(server.resp_port) as beyond:
                    assert "max number of clients" in str(beyond.read())
                    assert beyond.read_nothing_more() == b""
            beyond = socket.create_connection(("127.0.0.1", server.http_port), 30)
            with beyond, beyond.makefile("rb") as file:
                assert file.read().startswith(b"HTTP/1.1 503 ")
        assert taken[0].call("PING") == "PONG"
        assert "rejected_connections:21\r\n" in taken[0].call("INFO", "stats")
        taken.pop().close()
        wait_until(lambda: "connected_clients:8\r\n" in taken[0].call("INFO", "clients"))
        with Client(server.resp_port) as again:
            assert again.call("PING") == "PONG"
        for one in taken:
            one.close()


def test_at_the_limit_the_health_is_still_told():
    """A supervisor that gets no answer restarts a server that only has too many clients."""
    with Server("--max-connections", "5", memory=True) as server:
        taken = [Client(server.resp_port) for _ in range(5)]
        for one in taken:
            assert one.call("PING") == "PONG"
        for path in ("/livez", "/readyz"):
            with Http(server.http_port) as web:
                assert web.call("GET", path).status == 200
                assert web.file.read() == b"", "one answer, then somebody else's turn"
        with Http(server.http_port) as web:
            answer = web.call("GET", "/v1/info")
            assert answer.status == 503 and b"max-connections" in answer.body
            assert web.file.read() == b""
        with Client(server.resp_port) as beyond:
            assert "max number of clients" in str(beyond.read())
        assert "rejected_connections:2\r\n" in taken[0].call("INFO", "stats")
        wait_until(lambda: "max-connections is 5" in server.said(), "the log tells")
        assert server.said().count("max-connections") == 1, "… but not each time"
        for one in taken:
            one.close()


def test_a_server_that_runs_out_of_descriptors(build):
    """It turns away those who are too many, and goes on with the others."""
    with besieged(build) as (server, watch):
        used = len(os.listdir(f"/proc/{server.pid}/fd"))
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used + 20, used + 20))
        sockets = connections(server.resp_port, 200)
        wait_until(lambda: sum(hung_up(one) for one in sockets) >= 150, "most are turned away")
        watch.look()
        close_all(sockets)
        wait_until(lambda: "connected_clients:1\r\n" in watch.client.call("INFO", "clients"))
        with Client(server.resp_port) as again:
            assert again.call("PING") == "PONG"


def test_connections_that_come_and_go(build):
    with besieged(build) as (server, watch):
        for i in range(300 if build.sanitized else 3000):
            port = server.http_port if i % 2 else server.resp_port
            one = socket.create_connection(("127.0.0.1", port), 30)
            if i % 3 == 0:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            if i % 5 == 0:
                one.send(b"*1\r\n$4\r\nPI" if i % 2 == 0 else b"GET / HTTP")
            one.close()
            if i % 100 == 0:
                watch.look()
        wait_until(lambda: "connected_clients:1\r\n" in watch.client.call("INFO", "clients"))


# ---- HTTP -----------------------------------------------------------------------------------------

def raw_http(server, data):
    """Sends bytes and reads until the server hangs up, or has nothing more to say for a while."""
    with socket.create_connection(("127.0.0.1", server.http_port), 30) as one:
        try:
            one.sendall(data)
        except OSError:
            pass
        said = b""
        while select.select([one], [], [], 10)[0]:
            try:
                part = one.recv(1 << 16)
            except OSError:
                break
            if not part:
                break
            said += part
        return said


@pytest.mark.parametrize("data, status", [
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100_000 + b"\r\n", 431),
    (b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    (b"POST /v1/quotas/a/reserve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     b"Content-Length: 99999999999\r\n\r\n", 413),
    (b"POST /v1/quotas/a/reserve HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
    (b"POST /v1/quotas/a/reserve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
     b"Content-Length: 2\r\n\r\n", 400),
    (b"POST /v1/quotas/a/reserve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST /v1/quotas/a/reserve HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"FFFFFFFFFFFFFFFFF\r\n", 400),
    (b"\0\1\2\3\r\n\r\n", 400), (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", None),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None)], ids=lambda value: repr(value)[:40])
def test_requests_that_are_none(build, data, status):
    with besieged(build) as (server, watch):
        said = raw_http(server, data)
        got = int(said.split()[1])
        assert got == status if status else 400 <= got < 600, said[:200]
        assert b"\r\nconnection: close\r\n" in said.lower()
        watch.look()


def post(server, body, path="/v1/quotas/acme/reserve"):
    return http(server.http_port, "POST", path, body, ["Content-Type: application/json"])


@pytest.mark.parametrize("body", [
    b"[" * 500_000, b"{\"a\":" * 200_000, b"[" * 500_000 + b"]" * 500_000,
    b"{\"amount\":" + b"9" * 500_000 + b"}", b"{\"amount\":1e999999}", b"\"" * 500_000,
    b"{" + b",".join(b"\"k%d\":1" % i for i in range(50_000)) + b"}",
    b"{\"amount\":1,\"amount\":2}", b"{\"amount\":1}x", b"\xff\xfe", b"\"\\ud800\"", b"nul",
    b"{\"hold_id\":\"\\u0000\",\"amount\":1}"], ids=lambda body: repr(body[:20]))
def test_json_without_measure(build, body):
    with besieged(build) as (server, watch):
        answer = post(server, body)
        assert answer.status in (400, 413), answer
        assert answer.code
        watch.look()


def test_a_body_that_is_too_large(build):
    with besieged(build, "--max-body", "10k") as (server, watch):
        assert raw_http(server, request("POST", "/v1/quotas/a/reserve", b"x" * 20_000)).startswith(
            b"HTTP/1.1 413 ")
        chunked = (b"POST /v1/quotas/a/reserve HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                   b"\r\n" + (b"1000\r\n" + b"x" * 4096 + b"\r\n") * 5)
        assert raw_http(server, chunked).startswith(b"HTTP/1.1 413 ")
        watch.look()


# ---- strangers ------------------------------------------------------------------------------------

@pytest.fixture
def users(holdfast, tmp_path):
    """A file of users with one, and the token."""
    ended = holdfast("auth", "ann", "admin")
    path = tmp_path / "users"
    path.write_text(ended.out)
    path.chmod(0o600)
    return path, ended.err.split()[-1]


@pytest.mark.parametrize("data", [
    b"*11\r\n", b"*1\r\n$16385\r\n", encode(*["x"] * 11), encode("ECHO", "x" * 20_000)],
    ids=lambda data: repr(data[:20]))
def test_strangers_may_say_little(build, users, data):
    path, token = users
    with Server("--auth-file", path, memory=True) as server:
        with Client(server.resp_port) as stranger:
            stranger.send_raw(data)
            assert str(stranger.read()).startswith("ERR Protocol error")
            assert stranger.read_nothing_more() == b""
        with Client(server.resp_port) as known:
            assert known.call("AUTH", token) == "OK"
            assert known.call("ECHO", "x" * 100_000) == "x" * 100_000
            assert known.call("CONFIG", "GET", *["x"] * 20) == []


def test_strangers_who_fill_what_they_may(build, users):
    path, token = users
    count = 300 if build.sanitized else 2000
    with Server("--auth-file", path, memory=True) as server:
        with Client(server.resp_port) as known:
            known.call("AUTH", token)
            before = resident_kb(server.pid)
            sockets = connections(server.resp_port, count)
            data = b"*10\r\n" + (b"$16384\r\n" + b"x" * 16384 + b"\r\n") * 9 + b"$16384\r\n"
            for _ in range(3):
                for one in sockets:
                    send_what_goes(one, data)
                assert_soon(lambda: ping(known), build.sanitized)
            assert build.sanitized or resident_kb(server.pid) - before < GROWTH_KB
            close_all(sockets)


def test_strangers_may_not_stay(build, users):
    path, token = users
    with Server("--auth-file", path, "--request-timeout", "2s", memory=True) as server:
        with Client(server.resp_port) as known, Client(server.resp_port) as stranger:
            assert known.call("AUTH", token) == "OK"
            assert stranger.call("PING").code == "NOAUTH"
            assert stranger.read_nothing_more() == b""
            assert known.call("PING") == "PONG"


def test_a_flood_of_wrong_passwords(build, users, holdfast):
    """Each takes long to check, on purpose; others do not feel it."""
    path, token = users
    with path.open("a") as file:
        file.write(holdfast("auth", "ben", "write", "--password", stdin="secret\n").out)
    with Server("--auth-file", path, memory=True) as server:
        with Client(server.resp_port) as known:
            known.call("AUTH", token)
            attackers = [Client(server.resp_port) for _ in range(100)]
            for i, one in enumerate(attackers):
                one.send("AUTH", "ben", f"guess-{i}")
            for _ in range(20):
                assert_soon(lambda: ping(known), build.sanitized)
            assert [one.read().code for one in attackers[:3]] == ["WRONGPASS"] * 3
            for one in attackers:
                one.close()

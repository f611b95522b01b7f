# SPDX-License-Identifier: Apache-2.0
"""Those who have not signed in: how long they may stay, how many of them, and what they may hold.
Whatever they do, those who have signed in go on, and others can sign in. The whole network 127/8 is
this machine, so that tests can come from as many addresses as they like."""

import contextlib
import re
import signal
import socket
import threading
import time

import pytest

from certificates import certificate_in, trusting
from harness import TIMEOUT_S
from raw_client import Client, Http, encode, http
from server import Error, Server, wait_until

PASSWORD = "correct horse"
HERE, THERE, ELSEWHERE = "127.0.0.1", "127.0.0.2", "127.0.0.3"


class Users:
    """A file with ann, who has a password, and writer and chief with tokens."""

    def __init__(self, holdfast, path):
        self.path, self.lines, self.tokens = path, {}, {}
        self.lines["ann"] = holdfast("auth", "ann", "write", "--password",
                                     stdin=f"{PASSWORD}\n").out
        for name, role in (("writer", "write"), ("chief", "admin")):
            ended = holdfast("auth", name, role)
            self.lines[name], self.tokens[name] = ended.out, ended.err.split()[-1]
        self.write()

    def write(self):
        self.path.write_text("".join(self.lines.values()))
        self.path.chmod(0o600)

    def bearer(self, name="writer"):
        return [f"Authorization: Bearer {self.tokens[name]}"]


@pytest.fixture
def users(holdfast, tmp_path):
    return Users(holdfast, tmp_path / "users")


@pytest.fixture
def serve(users):
    """serve(flag, …): a server with these users."""
    with contextlib.ExitStack() as stack:
        yield lambda *flags: stack.enter_context(
            Server("--auth-file", users.path, *flags, memory=True))


def signed_in(server, users, name="writer", **how):
    client = Client(server.resp_port, **how)
    assert client.call("AUTH", users.tokens[name]) == "OK"
    return client


def refused(connection):
    """Did the server close it without taking it?"""
    with contextlib.suppress(ConnectionError):
        assert b"max number" in connection.file.readline()
        assert connection.file.read() == b""
    return True


def is_closed(ask):
    """Asks; has the server hung up?"""
    try:
        return ask() is None
    except (ConnectionError, AssertionError, IndexError, ValueError):
        return True


# ---- how long they may stay ----------------------------------------------------------------------

def test_no_question_renews_the_time_to_sign_in(serve, users):
    server = serve("--sign-in-timeout", "3s")
    with signed_in(server, users) as known, Http(server.http_port) as known_web, \
            Client(server.resp_port) as asks, Http(server.http_port) as asks_web, \
            Client(server.resp_port) as silent, Http(server.http_port) as silent_web:
        assert known_web.call("GET", "/v1/quotas/a", headers=users.bearer()).status == 200
        answers = []

        def ping():
            answers.append(asks.call("PING"))
            return None if "the time" in str(answers[-1]) else answers[-1]
        for ask in (ping, lambda: asks_web.call("GET", "/livez")):
            wait_until(lambda ask=ask: is_closed(ask), "it is hung up on")
        assert len(answers) > 1
        assert all(isinstance(answer, Error) and answer.code == "NOAUTH" for answer in answers)
        assert silent_web.file.read() == b""
        assert silent.read().code == "NOAUTH" and silent.read_nothing_more() == b""
        assert known.call("PING") == "PONG"
        assert known_web.call("GET", "/v1/quotas/a", headers=users.bearer()).status == 200


def test_who_was_known_and_is_not_any_more_has_to_sign_in_again(serve, users):
    server = serve("--sign-in-timeout", "3s")
    with signed_in(server, users) as client, Http(server.http_port) as web:
        assert web.call("GET", "/v1/quotas/a", headers=users.bearer()).status == 200
        assert client.call("RESET") == "RESET"
        assert web.call("GET", "/v1/quotas/a").status == 401
        assert client.read().code == "NOAUTH" and client.read_nothing_more() == b""
        assert web.file.read() == b""


def test_the_handshake_of_tls_is_part_of_it(tmp_path):
    """Without users, too: who has not finished it is a stranger everywhere."""
    cert, key = certificate_in(tmp_path)
    with Server("--tls-cert", cert, "--tls-key", key, "--sign-in-timeout", "3s",
                memory=True) as server:
        with Client(server.resp_port, context=trusting(cert)) as client:
            strangers = [socket.create_connection((HERE, server.resp_port), TIMEOUT_S)
                         for _ in range(2)]
            strangers[0].sendall(b"\x16\x03\x01\x02\x00\x01")
            for one in strangers:
                assert one.recv(100) == b""
                one.close()
            assert client.call("PING") == "PONG", "who has finished it stays"


def test_a_request_that_is_not_finished_is_answered(serve):
    server = serve("--sign-in-timeout", "3s")
    with Http(server.http_port) as web:
        web.socket.sendall(b"GET /v1/quotas/a HTTP/1.1\r\nHost: localhost\r\nX: y")
        assert web.read().status == 408
        assert web.file.read() == b""


# ---- how many ------------------------------------------------------------------------------------

def test_so_many_of_one_address(serve, users):
    server = serve("--max-strangers-per-address", "5", "--sign-in-timeout", "1h")
    known = [signed_in(server, users) for _ in range(8)]
    strangers = [Client(server.resp_port) for _ in range(5)]
    for one in strangers:
        assert one.call("PING").code == "NOAUTH"
    with Client(server.resp_port) as beyond:
        assert refused(beyond)
    assert http(server.http_port, "GET", "/livez").status == 200
    with Http(server.http_port) as web:
        assert web.call("GET", "/readyz").status == 200
        assert web.file.read() == b"", "one answer, then it is another's turn"
    assert http(server.http_port, "GET", "/v1/quotas/a", headers=users.bearer()).status == 503
    with signed_in(server, users, source=THERE) as other:
        assert other.call("PING") == "PONG"
    assert strangers[0].call("AUTH", users.tokens["writer"]) == "OK"
    with signed_in(server, users) as again:
        assert again.call("PING") == "PONG", "a place is free again"
    for one in known:
        assert one.call("PING") == "PONG"
    for one in known + strangers:
        one.close()


def test_a_share_of_all_connections(serve, users):
    """When it is full, the oldest leave of those who are most at one address."""
    server = serve("--max-strangers", "12", "--max-strangers-per-address", "8",
                   "--sign-in-timeout", "1h")
    known = [signed_in(server, users) for _ in range(3)]
    many = [Client(server.resp_port, source=THERE) for _ in range(8)]
    few = [Client(server.resp_port, source=ELSEWHERE) for _ in range(4)]
    for one in many + few:
        assert one.call("PING").code == "NOAUTH"
    with signed_in(server, users) as newcomer:
        assert newcomer.call("PING") == "PONG"
        assert many[0].read_nothing_more() == b""
        for one in few + many[1:]:
            assert one.call("PING").code == "NOAUTH"
    for one in known:
        assert one.call("PING") == "PONG"
    for one in known + many + few:
        one.close()


# ---- what they may hold --------------------------------------------------------------------------

def wait_in_line(server, users, number, front):
    """Waits for a slot that is taken; gives the connection."""
    if front == "resp":
        client = signed_in(server, users)
        client.send("SEM.ACQUIRE", "line", f"r{number}", 1, "WAIT", "1h")
        return client
    web = Http(server.http_port)
    web.send("POST", "/v1/semaphores/line/acquire",
             {"id": f"h{number}", "limit": 1, "wait_ms": 3_600_000},
             [*users.bearer(), "X-Trace: " + "t" * 500])
    return web


def still_open(connection):
    connection.socket.setblocking(False)
    try:
        return connection.socket.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def waits(server, users, count):
    with signed_in(server, users) as client:
        return client.call("SEM.STATS", "line")[5] == count


def test_strangers_push_no_waiter_out(serve, users):
    server = serve("--client-memory", "4m", "--sign-in-timeout", "1h")
    with signed_in(server, users) as holder:
        assert holder.call("SEM.ACQUIRE", "line", "holder", 1)[0] == 1
        waiters = [wait_in_line(server, users, number, front)
                   for number in range(25) for front in ("resp", "http")]
        wait_until(lambda: waits(server, users, 50), "all are in line")
        parts = [(server.http_port, b"POST /v1/quotas/acme/reserve HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Length: 16000\r\n\r\n" + b" " * 15_900),
                 (server.http_port, b"GET / HTTP/1.1\r\nX: " + b"y" * 6000),
                 (server.resp_port, b"*10\r\n$16384\r\n" + b"x" * 16_000)]
        strangers = []
        for number in range(900):
            port, said = parts[number % 3]
            source = (f"127.0.1.{number % 10 + 1}", 0)
            one = socket.create_connection((HERE, port), TIMEOUT_S, source)
            with contextlib.suppress(OSError):
                one.sendall(said)
            strangers.append(one)
        assert holder.call("PING") == "PONG"
        wait_until(lambda: "evicted_connections:0\r\n" not in holder.call("INFO", "stats"),
                   "some strangers had to go")
        assert all(still_open(one) for one in waiters)
        assert waits(server, users, 50)
        assert http(server.http_port, "GET", "/livez").status == 200
        for one in strangers + waiters:
            one.close()


def test_the_memory_of_half_open_handshakes_counts(tmp_path):
    """Each takes OpenSSL 47 KB: of 8 MB no more than half is theirs."""
    cert, key = certificate_in(tmp_path)
    with Server("--tls-cert", cert, "--tls-key", key, "--client-memory", "8m",
                "--sign-in-timeout", "1h", memory=True) as server:
        context = trusting(cert)
        with Client(server.resp_port, context=context) as known:
            assert known.call("PING") == "PONG"
            half = []
            for _ in range(200):
                plain = socket.create_connection((HERE, server.resp_port), TIMEOUT_S)
                one = context.wrap_socket(plain, server_hostname="localhost",
                                          do_handshake_on_connect=False)
                one.setblocking(False)
                with contextlib.suppress(OSError):
                    one.do_handshake()  # says hello, and does not hear the answer
                half.append(one)
            wait_until(lambda: "evicted_connections:0\r\n" not in known.call("INFO", "stats"),
                       "some had to go")
            with Client(server.resp_port, context=context) as other:
                assert other.call("PING") == "PONG"
            for one in half:
                one.close()


# ---- guessing passwords --------------------------------------------------------------------------

class Guessers:
    """Connections from one address that guess passwords, each again as soon as it is answered."""

    def __init__(self, server, count, source):
        self.server, self.source, self.stopped, self.guesses = server, source, False, 0
        self.sockets = [self.connect() for _ in range(count)]
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def connect(self):
        one = socket.create_connection((HERE, self.server.resp_port), TIMEOUT_S, (self.source, 0))
        one.setblocking(False)
        self.guess(one)
        return one

    def guess(self, one):
        self.guesses += 1
        with contextlib.suppress(OSError):
            one.send(encode("AUTH", "ann", f"guess {self.guesses}"))

    def run(self):
        while not self.stopped:
            for at, one in enumerate(self.sockets):
                try:
                    if one.recv(1000):
                        self.guess(one)
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                one.close()
                with contextlib.suppress(OSError):
                    self.sockets[at] = self.connect()
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stopped = True
        self.thread.join()
        for one in self.sockets:
            one.close()


def test_150_who_guess_keep_nobody_out(serve, users):
    server = serve()
    with Guessers(server, 150, THERE) as guessers:
        wait_until(lambda: guessers.guesses > 153, "they guess, and are answered")
        with Client(server.resp_port) as client:
            assert client.call("AUTH", "ann", PASSWORD) == "OK"
        with Client(server.resp_port, source=ELSEWHERE) as client:
            assert client.call("AUTH", "ann", "wrong").code == "WRONGPASS"
        with Client(server.resp_port, source=THERE) as client:
            assert client.call("AUTH", "ann", PASSWORD) == "OK", "known by now, whoever guesses"
    with Client(server.resp_port, source=THERE) as client:
        assert client.call("AUTH", "ann", "wrong").code == "WRONGPASS", "held, and answered"


def test_guessing_costs_more_and_more_time(serve):
    server = serve()
    with Client(server.resp_port) as client:
        def guess():
            begun = time.monotonic()
            assert client.call("AUTH", "ann", "wrong").code == "WRONGPASS"
            return time.monotonic() - begun
        assert any(guess() >= 2 for _ in range(20)), "held back for longer each time"


def test_who_leaves_while_a_password_waits(serve):
    server = serve()
    clients = [Client(server.resp_port, source=THERE) for _ in range(40)]
    for number, client in enumerate(clients):
        client.send("AUTH", "ann", f"guess {number}")
    for client in clients:
        client.close()
    with Client(server.resp_port) as client:
        assert client.call("AUTH", "ann", PASSWORD) == "OK"
        wait_until(lambda: "connected_clients:1\r\n" in client.call("INFO", "clients"))
    assert server.stop() == 0


# ---- the log -------------------------------------------------------------------------------------

def test_the_log_counts_what_it_leaves_out(serve):
    server = serve("--sign-in-timeout", "1h")
    for _ in range(20):
        with Client(server.resp_port) as client:
            for _ in range(10):
                assert client.call("AUTH", "wrong").code == "WRONGPASS"
            client.send_raw(b"POST / HTTP/1.1\r\n\r\n")
            assert client.read_nothing_more() == b""
    wait_until(lambda: "speaks HTTP" in server.said(), "another kind is not hidden")

    def counted():
        left_out = re.findall(r"(\d+) more wrong secrets", server.said())
        return server.said().count(": wrong secret") + sum(map(int, left_out))
    wait_until(lambda: counted() == 200, "all of them are counted")
    assert server.said().count(": wrong secret") < 100


# ---- users that change ---------------------------------------------------------------------------

def reload(server, users):
    users.write()
    before = server.said().count("read again")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.said().count("read again") > before, "the reload")


def ended(connection):
    """The server has closed it."""
    with contextlib.suppress(ConnectionError):
        return connection.file.read() == b""
    return True


def change(users, how, holdfast):
    if how == "gone":
        del users.lines["writer"]
    elif how == "secret":
        users.lines["writer"] = holdfast("auth", "writer", "write").out
    else:
        users.lines["writer"] = users.lines["writer"].replace(" write ", " read ")


@pytest.mark.parametrize("how", ["gone", "secret", "role"])
def test_who_is_no_user_any_more_waits_for_nothing(serve, users, holdfast, how):
    server = serve()
    with signed_in(server, users, "chief") as chief:
        assert chief.call("SEM.ACQUIRE", "line", "holder", 1)[0] == 1
        waiters = [wait_in_line(server, users, 1, front) for front in ("resp", "http")]
        chief_waits = signed_in(server, users, "chief")
        chief_waits.send("SEM.ACQUIRE", "line", "c", 1, "WAIT", "1h")
        wait_until(lambda: chief.call("SEM.STATS", "line")[5] == 3, "all are in line")
        change(users, how, holdfast)
        reload(server, users)
        assert all(ended(one) for one in waiters)
        wait_until(lambda: chief.call("SEM.STATS", "line")[5] == 1, "they have left it")
        assert chief.call("SEM.RELEASE", "line", "holder") == 1
        assert chief_waits.read()[0] == 1, "who may still wait has waited"
        for one in (*waiters, chief_waits):
            one.close()


def test_who_is_no_user_any_more_has_to_sign_in_again_in_time(serve, users):
    server = serve("--sign-in-timeout", "3s")
    with signed_in(server, users) as idle, signed_in(server, users, "chief") as chief:
        del users.lines["writer"]
        reload(server, users)
        assert idle.read().code == "NOAUTH" and idle.read_nothing_more() == b""
        assert chief.call("PING") == "PONG"


def test_a_stream_ends_with_the_right_to_watch_it(serve, users):
    server = serve()
    with Http(server.http_port) as stream, Http(server.http_port) as plain:
        stream.send("GET", "/v1/feed", headers=users.bearer("chief"))
        assert stream.read_head()[0] == 200
        assert plain.call("GET", "/v1/info", headers=users.bearer("chief")).status == 200
        users.lines["chief"] = users.lines["chief"].replace(" admin ", " write ")
        reload(server, users)
        with contextlib.suppress(ConnectionError):
            while stream.file.readline():
                pass
        assert plain.call("GET", "/v1/info", headers=users.bearer("chief")).status == 200
        assert http(server.http_port, "GET", "/v1/feed",
                    headers=users.bearer("chief")).status == 403


def test_a_reload_forgets_nobody_who_signed_in_rightly(serve, users):
    server = serve()
    with Client(server.resp_port) as ann, signed_in(server, users) as writer:
        assert ann.call("AUTH", "ann", PASSWORD) == "OK"
        assert ann.call("SEM.ACQUIRE", "line", "holder", 1)[0] == 1
        writer.send("SEM.ACQUIRE", "line", "w", 1, "WAIT", "1h")
        wait_until(lambda: ann.call("SEM.STATS", "line")[5] == 1, "it waits")
        with Guessers(server, 100, THERE):
            reload(server, users)
            assert ann.call("SEM.RELEASE", "line", "holder") == 1
            assert writer.read()[0] == 1
            with Client(server.resp_port) as again:
                assert again.call("AUTH", "ann", PASSWORD) == "OK"

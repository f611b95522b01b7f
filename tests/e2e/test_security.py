# SPDX-License-Identifier: Apache-2.0
"""Who may do what, over both protocols; TLS on both ports; and users and certificates that change
under a running server."""

import base64
import contextlib
import signal
import socket
import ssl
import time

import pytest

from certificates import make_certificate, trusting
from harness import run
from raw_client import Client, Http, http
from server import Error, Server, wait_until

ROLES = ("read", "write", "admin")
PASSWORD = "correct horse: battery"


class Users:
    """A file of users and what they say to be let in."""

    def __init__(self, holdfast, path):
        self.holdfast, self.path, self.tokens, self.lines = holdfast, path, {}, {}

    def add(self, name, role, password=None):
        ended = self.holdfast("auth", name, role, *(["--password"] if password else []),
                              stdin=f"{password}\n" if password else "")
        assert ended.code == 0, ended
        self.lines[name] = ended.out
        if not password:
            self.tokens[name] = ended.err.split()[-1]

    def write(self):
        new = self.path.with_suffix(".new")
        new.write_text("# users\n\n" + "".join(self.lines.values()))
        new.chmod(0o600)
        new.rename(self.path)


@pytest.fixture
def users(holdfast, tmp_path):
    """reader, writer and chief with tokens, and ann (write) with a password."""
    one = Users(holdfast, tmp_path / "users")
    for role in ROLES:
        one.add({"read": "reader", "write": "writer", "admin": "chief"}[role], role)
    one.add("ann", "write", PASSWORD)
    one.write()
    return one


@pytest.fixture
def server(users):
    with Server("--auth-file", users.path, memory=True) as one:
        yield one


@pytest.fixture
def as_user(server, users):
    """as_user(name): a connection that has said who it is."""
    opened = []

    def connect(name):
        client = Client(server.resp_port)
        opened.append(client)
        assert client.call("AUTH", users.tokens[name]) == "OK"
        return client
    yield connect
    for client in opened:
        client.close()


def bearer(token):
    return [f"Authorization: Bearer {token}"]


def basic(user, password):
    return ["Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()]


# ---- RESP ----------------------------------------------------------------------------------------

READS = ("SEATS.ZONE", "gala", "floor")
WRITES = ("SEATS.OPEN", "gala", "floor", "5")
ADMINS = ("CLIENT", "KILL", "ID", "999999")


def test_a_stranger_may_do_nothing(server):
    with Client(server.resp_port) as client:
        for words in (READS, WRITES, ADMINS, ("PING",), ("INFO",), ("COMMAND",), ("AUDIT",),
                      ("NO.SUCH",), ("SEATS.OPEN",), ("CONFIG", "GET", "*"), ("HELLO", "3")):
            assert client.call(*words).code == "NOAUTH", words
        assert client.call("QUIT") == "OK"


@pytest.mark.parametrize("name, read, write, admin", [
    ("reader", True, False, False), ("writer", True, True, False), ("chief", True, True, True)])
def test_each_role_may_do_what_those_before_it_may(as_user, name, read, write, admin):
    client = as_user(name)
    for words, allowed in ((READS, read), (WRITES, write), (ADMINS, admin), (("AUDIT",), admin),
                           (("SLOWLOG", "LEN"), admin), (("PING",), read)):
        got = client.call(*words)
        if allowed:
            assert not isinstance(got, Error), got
        else:
            assert got.code == "NOPERM" and name in got.message
    assert isinstance(client.call("SEATS.ZONE", "gala", "floor"), list)


def test_user_and_password(server, users):
    with Client(server.resp_port) as client:
        assert client.call("AUTH", "ann", PASSWORD) == "OK"
        assert client.call(*WRITES)[0] == 1
        assert client.call("AUTH", "ann", PASSWORD) == "OK", "and again"
    with Client(server.resp_port) as client:
        assert client.call("AUTH", "writer", users.tokens["writer"]) == "OK", "a token, too"


@pytest.mark.parametrize("words", [
    ("wrong",), ("ann", "wrong"), ("nobody", PASSWORD), (PASSWORD,), ("", ""), ("ann", ""),
    ("x" * 10_000, "y" * 10_000), ("reader", PASSWORD), ("\0", "\xff")])
def test_wrong_secrets(server, words):
    with Client(server.resp_port) as client:
        assert client.call("AUTH", *words).code == "WRONGPASS"
        assert client.call("PING").code == "NOAUTH"


def test_a_wrong_secret_does_not_take_away_what_one_had(as_user):
    client = as_user("reader")
    assert client.call("AUTH", "wrong").code == "WRONGPASS"
    assert client.call("PING") == "PONG"
    assert client.call("RESET") == "RESET"
    assert client.call("PING").code == "NOAUTH"


def test_hello_with_a_secret(server, users):
    with Client(server.resp_port) as client:
        assert client.hello(3, "AUTH", "ann", "wrong").code == "WRONGPASS"
        got = client.hello(3, "AUTH", "ann", PASSWORD, "SETNAME", "me")
        assert got["proto"] == 3
        assert client.call("CLIENT", "GETNAME") == "me"
        assert client.hello(2, "AUTH", "reader", users.tokens["reader"])
        assert client.call(*WRITES).code == "NOPERM"


def test_what_follows_a_slow_check_in_a_pipeline_waits_for_it(server):
    with Client(server.resp_port) as client:
        client.send("AUTH", "ann", PASSWORD)
        client.send("PING")
        client.send("AUTH", "ann", "wrong")
        client.send("PING")
        assert client.read() == "OK"
        assert client.read() == "PONG"
        assert client.read().code == "WRONGPASS"
        assert client.read() == "PONG"


def test_a_client_that_leaves_during_a_slow_check(server):
    for i in range(20):
        with Client(server.resp_port) as client:
            client.send("AUTH", "ann", f"guess {i}")
    with Client(server.resp_port) as client:
        assert client.call("AUTH", "ann", PASSWORD) == "OK"


def test_library_and_redis_cli(server, users):
    redis = pytest.importorskip("redis")
    with redis.Redis(port=server.resp_port, username="ann", password=PASSWORD) as library:
        assert library.ping()
    with redis.Redis(port=server.resp_port, password=users.tokens["reader"]) as library:
        assert library.ping()
        with pytest.raises(redis.exceptions.NoPermissionError):
            library.execute_command(*WRITES)
    with redis.Redis(port=server.resp_port) as library:
        with pytest.raises(redis.exceptions.AuthenticationError):
            library.ping()
    ended = run("redis-cli", "-p", server.resp_port, "PING",
                env={"REDISCLI_AUTH": users.tokens["reader"]})
    assert ended.out == "PONG\n"


# ---- HTTP ----------------------------------------------------------------------------------------

def test_http_roles(server, users):
    port = server.http_port
    zone = "/v1/events/gala/zones/floor"
    for headers in ([], bearer("wrong"), basic("ann", "wrong"), ["Authorization: Nonsense x"]):
        for method, body in (("GET", None), ("PUT", {"capacity": 5})):
            answer = http(port, method, zone, body, headers)
            assert (answer.status, answer.code) == (401, "UNAUTHORIZED"), headers
            assert "www-authenticate" in answer.headers
    assert http(port, "PUT", zone, {"capacity": 5}, bearer(users.tokens["reader"])).status == 403
    assert http(port, "PUT", zone, {"capacity": 5}, bearer(users.tokens["writer"])).status == 200
    assert http(port, "PUT", zone, {"capacity": 6}, basic("ann", PASSWORD)).status == 200
    assert http(port, "GET", zone, None, bearer(users.tokens["reader"])).json["capacity"] == 6


def test_http_health_is_open_to_everybody(server):
    assert http(server.http_port, "GET", "/livez").status == 200
    assert http(server.http_port, "GET", "/readyz").status == 200


def test_http_figures_need_a_role(server, users):
    assert http(server.http_port, "GET", "/metrics").status == 401
    got = http(server.http_port, "GET", "/metrics", headers=bearer(users.tokens["reader"]))
    assert got.status == 200


def test_http_each_request_counts_by_itself(server, users):
    """A connection that was let in once asks for nothing without its secret."""
    with Http(server.http_port) as connection:
        path = "/v1/quotas/acme"
        headers = bearer(users.tokens["reader"])
        assert connection.call("GET", path, headers=headers).status == 200
        assert connection.call("GET", path, headers=headers).status == 200
        assert connection.call("GET", path).status == 401
        assert connection.call("GET", path, headers=bearer("wrong")).status == 401
        assert connection.call("GET", path, headers=headers).status == 200


# ---- where it listens ----------------------------------------------------------------------------

@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1"])
def test_beyond_this_machine_only_with_users(holdfast, address):
    ended = holdfast("serve", "--memory", "--bind", address, "--resp-port", "0", "--http-port", "0")
    assert ended.code == 2
    assert "auth-file" in ended.err and address in ended.err


def test_beyond_this_machine_with_users(users):
    with Server("--auth-file", users.path, "--bind", "0.0.0.0", memory=True) as server:
        with Client(server.resp_port) as client:
            assert client.call("PING").code == "NOAUTH"


def test_the_file_of_users_is_ours_alone(holdfast, users):
    users.path.chmod(0o622)
    ended = holdfast("serve", "--memory", "--auth-file", users.path, "--check-config")
    assert ended.code == 2 and str(users.path) in ended.err


def test_secrets_are_not_in_the_file_or_the_log(server, users):
    with Client(server.resp_port) as client:
        client.call("AUTH", users.tokens["chief"])
        client.call("AUTH", "ann", PASSWORD)
        assert users.tokens["chief"] not in str(client.call("SLOWLOG", "GET", "-1"))
    text = users.path.read_text() + server.said()
    assert PASSWORD not in text
    assert not any(token in text for token in users.tokens.values())


# ---- users that change ----------------------------------------------------------------------------

def reload(server):
    before = server.said().count("read again")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.said().count("read again") > before, "the reload")


def test_users_that_change_under_open_connections(server, users, as_user):
    reader, writer, chief = (as_user(name) for name in ("reader", "writer", "chief"))
    web = Http(server.http_port)
    old = bearer(users.tokens["writer"])
    assert web.call("GET", "/v1/quotas/a", headers=old).status == 200

    del users.lines["writer"]                    # gone
    users.lines["reader"] = users.lines["reader"].replace(" read ", " write ")  # promoted
    users.lines["chief"] = users.lines["chief"].replace(" admin ", " read ")    # demoted
    users.add("new", "read")
    users.write()
    reload(server)

    assert writer.call("PING").code == "NOAUTH"
    assert writer.call("AUTH", users.tokens["writer"]).code == "WRONGPASS"
    assert web.call("GET", "/v1/quotas/a", headers=old).status == 401
    assert reader.call(*WRITES)[0] == 1
    assert chief.call(*WRITES).code == "NOPERM"
    assert as_user("new").call("PING") == "PONG"
    web.close()


def test_a_changed_secret_ends_what_the_old_one_opened(server, users, as_user):
    writer = as_user("writer")
    users.add("writer", "write")
    users.write()
    reload(server)
    assert writer.call("PING").code == "NOAUTH"
    assert as_user("writer").call("PING") == "PONG"


def test_a_changed_password(server, users):
    with Client(server.resp_port) as client:
        assert client.call("AUTH", "ann", PASSWORD) == "OK"
        users.add("ann", "write", "another one")
        users.write()
        reload(server)
        assert client.call("PING").code == "NOAUTH"
        assert client.call("AUTH", "ann", PASSWORD).code == "WRONGPASS"
        assert client.call("AUTH", "ann", "another one") == "OK"


def test_a_file_that_is_not_in_order_changes_nothing(server, users, as_user):
    writer = as_user("writer")
    users.path.write_text("nonsense\n")
    before = server.said().count("stay as they were")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.said().count("stay as they were") > before, "the reload")
    assert writer.call("PING") == "PONG"
    assert as_user("reader").call("PING") == "PONG"


# ---- TLS -----------------------------------------------------------------------------------------

def test_tls_redis_cli_and_curl(secure, certificate):
    cert, _ = certificate
    for flags in ((), ("-3",)):
        ended = run("redis-cli", "-h", "localhost", "-p", secure.resp_port, "--tls", "--cacert",
                    cert, *flags, "SEATS.OPEN", "gala", "floor", "5")
        assert (ended.code, ended.lines) == (0, ["1", "5", "5"]), ended
    url = f"https://localhost:{secure.http_port}/v1/events/gala/zones/floor"
    ended = run("curl", "--silent", "--show-error", "--cacert", cert, url)
    assert '"capacity":5' in ended.out, ended
    assert run("curl", "--silent", url).code == 60, "a certificate that nobody vouches for"


def test_tls_library(secure, certificate):
    redis = pytest.importorskip("redis")
    with redis.Redis(host="localhost", port=secure.resp_port, ssl=True,
                     ssl_ca_certs=str(certificate[0])) as library:
        assert library.ping()
        pipeline = library.pipeline(transaction=False)
        for i in range(2000):
            pipeline.execute_command("ECHO", "x" * 1000 + str(i))
        assert [int(answer[1000:]) for answer in pipeline.execute()] == list(range(2000))


def test_tls_large_answers_both_ways(secure, certificate):
    with Http(secure.http_port, context=trusting(certificate[0])) as web:
        assert web.call("GET", "/metrics").status == 200
        response = "x" * 1_000_000
        redis = pytest.importorskip("redis")
        with redis.Redis(host="localhost", port=secure.resp_port, ssl=True, decode_responses=True,
                         ssl_ca_certs=str(certificate[0])) as library:
            library.execute_command("IDEM.BEGIN", "k", "f")
            assert library.execute_command("IDEM.COMPLETE", "k", response) == 1
            assert library.execute_command("IDEM.BEGIN", "k", "f")[2] == response


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_is_1_2_at_least(secure, certificate):
    context = trusting(certificate[0])
    with Http(secure.http_port, context=context) as web:
        assert web.socket.version() in ("TLSv1.2", "TLSv1.3")
    context = trusting(certificate[0])
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Http(secure.http_port, context=context)


def test_tls_plain_text_and_nonsense_get_nowhere(secure):
    for port in (secure.resp_port, secure.http_port):
        for data in (b"PING\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff",
                     b"\0" * 1000, b""):
            with socket.create_connection(("127.0.0.1", port), 30) as one:
                said = b""
                try:
                    one.sendall(data)
                    one.shutdown(socket.SHUT_WR)
                    while part := one.recv(4096):
                        said += part
                except OSError:
                    pass  # it hung up before all was said
                assert b"PONG" not in said and b"HTTP/1.1 200" not in said


def everything(port, data):
    """What the server says to these bytes until it hangs up."""
    with socket.create_connection(("127.0.0.1", port), 30) as one, one.makefile("rb") as file:
        one.sendall(data)
        return file.read()


def test_tls_a_plain_client_is_told_what_is_spoken(secure):
    assert everything(secure.resp_port, b"*1\r\n$4\r\nPING\r\n").startswith(
        b"-ERR this port speaks TLS")
    said = everything(secure.http_port, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 400 ") and b"https://" in said
    assert int(said.split(b"Content-Length: ")[1].split()[0]) == len(said.split(b"\r\n\r\n")[1])
    wait_until(lambda: secure.said().count("does not speak TLS") == 2, "the log tells")


@pytest.mark.parametrize("front", ["resp", "http"])
def test_a_tls_client_at_a_plain_port_is_told_and_logged(front):
    with Server(memory=True) as server:
        port = server.resp_port if front == "resp" else server.http_port
        with pytest.raises(ssl.SSLError):
            Http(port, context=ssl.create_default_context())
        wait_until(lambda: f"speaks TLS, which is not spoken here, on the {front} port" in
                   server.said(), "the log tells")


def test_tls_many_handshakes_at_once_all_succeed(secure, certificate):
    """They take turns, and nobody is forgotten."""
    context = trusting(certificate[0])
    sockets = [socket.create_connection(("127.0.0.1", secure.resp_port), 30) for _ in range(100)]
    sessions = [context.wrap_socket(one, server_hostname="localhost", do_handshake_on_connect=False)
                for one in sockets]
    for one in sessions:
        one.setblocking(False)
        with contextlib.suppress(ssl.SSLWantReadError):
            one.do_handshake()  # most of them have said hello before they are answered
    for one in sessions:
        one.setblocking(True)
        one.do_handshake()
        one.sendall(b"PING\r\n")
    for one in sessions:
        assert one.recv(100) == b"+PONG\r\n"
        one.close()


def test_tls_handshakes_that_nobody_finishes(certificate):
    cert, key = certificate
    with Server("--tls-cert", cert, "--tls-key", key, "--request-timeout", "300ms",
                memory=True) as server:
        sockets = [socket.create_connection(("127.0.0.1", server.resp_port), 30)
                   for _ in range(20)]
        for one in sockets[::2]:
            one.sendall(b"\x16\x03\x01")
        start = time.monotonic()
        for one in sockets:
            assert one.recv(100) == b"", "closed for being slow"
            one.close()
        assert time.monotonic() - start < 20


def test_tls_and_users_together(certificate, users):
    cert, key = certificate
    with Server("--tls-cert", cert, "--tls-key", key, "--auth-file", users.path,
                memory=True) as server:
        ended = run("redis-cli", "-h", "localhost", "-p", server.resp_port, "--tls", "--cacert",
                    cert, "--no-auth-warning", "--user", "ann", "--pass", PASSWORD, "PING")
        assert ended.out == "PONG\n", ended


def test_a_new_certificate_without_a_restart(secure, certificate, tmp_path):
    cert, key = certificate
    with Http(secure.http_port, context=trusting(cert)) as old:
        other_cert, other_key = make_certificate(tmp_path, "second")
        (tmp_path / "old.crt").write_bytes(cert.read_bytes())
        cert.write_bytes(other_cert.read_bytes())
        key.write_bytes(other_key.read_bytes())
        reload(secure)
        assert old.call("GET", "/livez").status == 200, "what is open goes on"
        with Http(secure.http_port, context=trusting(other_cert)) as new:
            assert new.call("GET", "/livez").status == 200
        with pytest.raises(ssl.SSLError):
            Http(secure.http_port, context=trusting(tmp_path / "old.crt"))


def test_a_certificate_that_is_none_changes_nothing(secure, certificate):
    cert, _ = certificate
    kept = cert.read_bytes()
    cert.write_text("nonsense")
    secure.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "stays as it was" in secure.said(), "the reload")
    cert.write_bytes(kept)
    with Http(secure.http_port, context=trusting(cert)) as web:
        assert web.call("GET", "/livez").status == 200


@pytest.mark.parametrize("flags", [
    ("--tls-cert", "/nowhere"), ("--tls-key", "/nowhere"),
    ("--tls-cert", "/dev/null", "--tls-key", "/dev/null"), ("--auth-file", "/nowhere")])
def test_what_cannot_be_read_keeps_it_from_starting(holdfast, flags):
    ended = holdfast("serve", "--memory", "--resp-port", "0", "--http-port", "0", *flags)
    assert ended.code == 2
    assert any(word in ended.err for word in ("tls-cert", "tls-key", "/nowhere", "/dev/null"))

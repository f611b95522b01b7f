# SPDX-License-Identifier: Apache-2.0
"""The audit log: every change has its line, no secret is in any, and neither a full disk nor a rotation
stops a command or tears a line."""

import json
import os
import re
import resource
import signal
import subprocess
import threading

import pytest

import prometheus
from every_request import every_request, prepare, rows
from harness import Build, run
from raw_client import Client, Http, encode, http
from server import Error, Server, wait_until

EXIT_USAGE = 2
TRACE = "0af7651916cd43dd8448eb211c80319c"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def lines_of(path):
    """Every line of the file as an object; none may be anything else."""
    text = path.read_bytes()
    assert text == b"" or text.endswith(b"\n")
    return [json.loads(line) for line in text.decode("utf-8").split("\n")[:-1]]


def of_clients(path):
    return [line for line in lines_of(path) if line.get("front") in ("resp", "http")]


def wait_line(path, **fields):
    """The first line that has all of these."""
    def found():
        return next((line for line in lines_of(path) if fields.items() <= line.items()), None)
    return wait_until(found, f"a line with {fields}", not_yet=(AssertionError, FileNotFoundError))


@pytest.fixture(scope="module")
def users(holdfast, tmp_path_factory):
    """The file of users, and the token of each role; `pass` signs in by a password."""
    path, tokens, lines = tmp_path_factory.mktemp("users") / "users", {}, []
    for role in ("read", "write", "admin"):
        ended = holdfast("auth", f"the-{role}", role)
        lines.append(ended.out)
        tokens[role] = ended.err.split()[-1]
    lines.append(holdfast("auth", "ann", "write", "--password", stdin=b"canary-password\n").out)
    path.write_text("".join(lines))
    path.chmod(0o600)
    return path, tokens


@pytest.fixture
def audited(users, tmp_path):
    """audited(*flags): a server with users and an audit log, and the file."""
    servers = []

    def serve(*flags, **more):
        path = tmp_path / "audit.log"
        servers.append(Server("--auth-file", users[0], "--audit-log", path, "--payment-url", "test:",
                              "--admission-every", "0", *flags, **more))
        return servers[-1], path
    yield serve
    for server in servers:
        server.close()


def signed_in(server, token):
    client = Client(server.resp_port)
    assert client.call("AUTH", token) == "OK"
    return client


# ---- what is in it -------------------------------------------------------------------------------

CHANGES = {row["name"] for row in rows() if row["role"] != "read"}


def assert_changes(lines, front):
    found = {line["command"] for line in lines}
    assert found == CHANGES, f"missing {CHANGES - found}, too many {found - CHANGES}"
    for line in lines:
        assert re.fullmatch(TIME, line["time"])
        assert (line["user"], line["role"], line["front"]) == ("the-admin", "admin", front)
        assert re.fullmatch(r"127\.0\.0\.1:\d+", line["address"])
        assert re.fullmatch("[0-9a-f]{32}", line["trace"]) and line["outcome"]


def test_every_row_that_changes_something_has_its_line_over_resp(audited, users):
    server, path = audited()
    with signed_in(server, users[1]["admin"]) as client:
        number = client.call("CLIENT", "ID")
        for request in every_request():
            client.call(*request.words)
    server.stop()
    lines = of_clients(path)
    assert_changes(lines, "resp")
    requests = [line["request"] for line in lines]
    assert len(set(requests)) == len(requests)
    assert all(re.fullmatch(rf"c{number}-\d+", request) for request in requests)


def test_every_row_that_changes_something_has_its_line_over_http(audited, users):
    server, path = audited()
    named = {}
    with Http(server.http_port) as web:
        for i, request in enumerate(request for request in every_request() if request.path):
            key = [f"Idempotency-Key: k-{i}"] if request.keyable else []
            web.call(request.method, request.path, request.body,
                     [f"Authorization: Bearer {users[1]['admin']}", f"X-Request-Id: r-{i}",
                      f"traceparent: 00-{TRACE}-b7ad6b7169203331-01", *key])
            named[f"r-{i}"] = request.name
    server.stop()
    lines = of_clients(path)
    assert_changes(lines, "http")
    assert {line["trace"] for line in lines} == {TRACE}
    assert [named[line["request"]] for line in lines] == [line["command"] for line in lines]
    assert len(lines) == len({line["request"] for line in lines}), "one each, keys or not"


def test_arguments_and_outcomes(audited, users):
    server, path = audited()
    with signed_in(server, users[1]["write"]) as client:
        client.call("SEATS.OPEN", "gala", "floor", 5)
        client.call("SEATS.RESERVE", "gala", "floor", "b-1", "ann", 7, 9, "TTL", "5m")
        client.call("MULTI")
        client.call("QUOTA.LIMIT", "acme", 5)
        client.call("QUOTA.RESERVE", "acme", 9)
        client.call("EXEC")
        client.call("SEATS.GET", "gala", "b-1")
    server.stop()
    opened, reserved, limit, quota = of_clients(path)
    assert opened["arguments"] == {"event": "gala", "zone": "floor", "capacity": 5}
    assert (opened["user"], opened["role"], opened["outcome"]) == ("the-write", "write", "OK")
    assert reserved["outcome"] == "INSUFFICIENT_STOCK" and reserved["arguments"]["ttl_seconds"] == 300
    assert limit["request"] == quota["request"] and quota["outcome"] == "QUOTA_EXCEEDED"


def test_acts_refusals_and_wrong_secrets(audited, users):
    server, path = audited()
    with signed_in(server, users[1]["admin"]) as client:
        for words in (["SNAPSHOT"], ["AUDIT"], ["SLOWLOG", "RESET"], ["CLIENT", "KILL", "ID", 4711]):
            assert not isinstance(client.call(*words), Error), words
    with signed_in(server, users[1]["read"]) as client:
        for words in (["QUOTA.LIMIT", "t", 5], ["SNAPSHOT"], ["CLIENT", "KILL", "ID", 1]):
            assert client.call(*words).code == "NOPERM"
    with Client(server.resp_port) as client:
        assert client.call("QUOTA.LIMIT", "t", 5).code == "NOAUTH"
        assert client.call("AUTH", "ann", "wrong").code == "WRONGPASS"
        assert client.call("AUTH", "nobody-of-that-name", "wrong").code == "WRONGPASS"
    reader = [f"Authorization: Bearer {users[1]['read']}"]
    assert http(server.http_port, "PUT", "/v1/quotas/t", {"limit": 5}, reader).status == 403
    assert http(server.http_port, "POST", "/v1/snapshot", {}, reader).status == 403
    assert http(server.http_port, "GET", "/metrics").status == 401
    assert http(server.http_port, "GET", "/metrics", None, ["Authorization: Bearer x"]).status == 401
    assert http(server.http_port, "GET", "/metrics", None, ["Authorization: Other x"]).status == 401
    server.process.send_signal(signal.SIGHUP)
    wait_line(path, command="RELOAD", outcome="OK")
    server.stop()
    lines = lines_of(path)
    assert [line["command"] for line in lines if line["front"] == "server"] == ["START", "RELOAD", "STOP"]
    told = [(line["front"], line["user"], line["role"], line["command"], line["outcome"])
            for line in lines if line["front"] != "server"]
    assert told == [
        ("resp", "the-admin", "admin", "SNAPSHOT", "OK"), ("resp", "the-admin", "admin", "AUDIT", "OK"),
        ("resp", "the-admin", "admin", "SLOWLOG RESET", "OK"),
        ("resp", "the-admin", "admin", "CLIENT KILL", "OK"),
        ("resp", "the-read", "read", "QUOTA.LIMIT", "FORBIDDEN"),
        ("resp", "the-read", "read", "SNAPSHOT", "FORBIDDEN"),
        ("resp", "the-read", "read", "CLIENT", "FORBIDDEN"),
        ("resp", None, "none", "QUOTA.LIMIT", "UNAUTHORIZED"),
        ("resp", None, "none", "AUTH", "UNAUTHORIZED"), ("resp", None, "none", "AUTH", "UNAUTHORIZED"),
        ("http", "the-read", "read", "QUOTA.LIMIT", "FORBIDDEN"),
        ("http", "the-read", "read", "/v1/snapshot", "FORBIDDEN"),
        ("http", None, "none", "/metrics", "UNAUTHORIZED"),
        ("http", None, "none", "AUTH", "UNAUTHORIZED"),
        ("http", None, "none", "/metrics", "UNAUTHORIZED")]
    assert [line["tried"] for line in lines if line.get("command") == "AUTH"] == ["ann", None, None]
    assert next(line["detail"] for line in lines if line.get("detail")) == "ID 4711"


def test_a_kill_is_noted_as_it_was_understood(audited, users):
    """What stands before the filter that counts does not push it out of the line."""
    server, path = audited()
    with signed_in(server, users[1]["admin"]) as client:
        words = ["USER", "x" * 200, "ADDR", "y" * 200, "USER", "ann", "ADDR", "1.2.3.4:5"]
        assert client.call("CLIENT", "KILL", *words) == 0
        assert isinstance(client.call("CLIENT", "KILL", "ID", "none"), Error)
        assert isinstance(client.call("CLIENT", "KILL", "1.2.3.4:5"), Error)
    server.stop()
    told = [(line["outcome"], line.get("detail")) for line in of_clients(path)]
    assert told == [("OK", "ADDR 1.2.3.4:5 USER ann"), ("INVALID_ARGUMENT", None),
                    ("NOT_FOUND", "ADDR 1.2.3.4:5 SKIPME no")]


def test_an_audit_whose_client_has_left_is_noted(audited, users):
    server, path = audited()
    with signed_in(server, users[1]["admin"]) as client:
        client.send_raw(encode("AUDIT"))
    wait_line(path, command="AUDIT", outcome="OK", user="the-admin")


def test_strangers_do_not_fill_the_disk(audited):
    server, path = audited()
    with Client(server.resp_port) as client:
        client.send_raw(encode("QUOTA.LIMIT", "t", "5") * 1000)
        for _ in range(1000):
            assert client.read().code == "NOAUTH"
    server.stop()
    lines = lines_of(path)
    refused = [line for line in lines if line.get("outcome") == "UNAUTHORIZED"]
    written, left_out = [line for line in refused if "left_out" not in line], refused[-1]["left_out"]
    assert len(written) >= 100 and len(written) + sum(
        line.get("left_out", 0) for line in refused) == 1000
    assert left_out > 0 and len(refused) < 500


def test_a_user_who_may_not_does_not_fill_the_disk(audited, users):
    """Nor leave no room for the lines of others; those of its requests that are carried out are there."""
    server, path = audited()
    with signed_in(server, users[1]["write"]) as client, signed_in(server, users[1]["read"]) as other:
        client.send_raw(encode("SAGA.REFUND", "s") * 5000 + encode("QUOTA.LIMIT", "t", "5"))
        for _ in range(5000):
            assert client.read().code == "NOPERM"
        assert client.read() == [1, 0, 5]
        assert other.call("QUOTA.LIMIT", "t", 6).code == "NOPERM"
    server.stop()
    lines = lines_of(path)
    refused = [line for line in lines if line.get("user") == "the-write" and line["outcome"] != "OK"]
    left_out = sum(line.get("left_out", 0) for line in refused)
    written = sum("left_out" not in line for line in refused)
    assert written >= 1000 and left_out > 0 and written + left_out == 5000
    assert [line["command"] for line in lines if line.get("user") == "the-write"].count("QUOTA.LIMIT") == 1
    assert [line["command"] for line in lines if line.get("user") == "the-read"] == ["QUOTA.LIMIT"]


# ---- what is not ---------------------------------------------------------------------------------

# Fields that may be shown, by hand: a field of a new row that is in neither list fails.
SHOWN = set("""
    admission_id after booking_id currency event fingerprint hold_id id key match message_id name order
    order_id payment_id product reason resource saga saga_id show_id tenant type user user_id zone zone_id
""".split())
SECRET = {"lock_id", "pass", "payment_token", "response", "token"}
TEXTS = ("id", "text", "blob")


def planted(row):
    """The row's example with a canary of its own in each argument that is secret."""
    words, made = list(row["example_words"]), []
    for at, arg in enumerate(row["args"]):
        if arg["type"] in TEXTS and arg["field"] in SECRET:
            made.append(f"canary-{row['name'].lower()}-{arg['field']}")
            if arg["keyword"] is None:
                words[at] = made[-1]
            elif arg["keyword"] in words:
                words[words.index(arg["keyword"]) + 1] = made[-1]
            else:
                words += [arg["keyword"], made[-1]]
    return words, made


def test_nothing_secret_is_in_it_or_in_the_log(audited, users):
    fields = {arg["field"] for row in rows() for arg in row["args"] if arg["type"] in TEXTS}
    assert fields == SHOWN | SECRET
    server, path = audited("--log-level", "debug")
    words_of = {request.name: request.words[1:] for request in every_request()}
    count, answers = 0, []
    with signed_in(server, users[1]["admin"]) as client:
        prepare(client)
        for row in rows():
            words, made = planted({**row, "example_words": words_of[row["name"]]})
            count += len(made)
            if made:
                answers.append(client.call(row["name"], *words))
        answers.append(client.call("LOCK.TRY", "another", "10s"))  # a lock id that the server makes
        answers.append(client.call("ROOM.JOIN", "gala", "zoe"))
        answers.append(client.call("ROOM.ADMIT", "gala", 5))
        assert client.call("AUTH", "ann", "canary-password") == "OK"
        assert client.call("AUTH", "ann", "canary-wrong-password").code == "WRONGPASS"
        assert client.call("AUTH", "canary-as-a-user", "x").code == "WRONGPASS"
    assert count >= 8
    basic = "Authorization: Basic YW5uOmNhbmFyeS1iYXNpYw=="  # ann:canary-basic
    assert http(server.http_port, "GET", "/metrics", None, [basic]).status == 401
    http(server.http_port, "POST", "/v1/locks/r/unlock?canary-query=1", {"lock_id": "canary-json"},
         [f"Authorization: Bearer {users[1]['write']}"])
    server.stop()
    said = path.read_text() + server.said()
    assert "LOCK.UNLOCK" in said and "canary" not in said
    assert "YW5uOmNhbmFyeS1iYXNpYw" not in said and users[1]["write"] not in said
    lock_id, fence = answers[-3]
    secrets = [lock_id, str(fence), answers[-2][3], *answers[-1][1::2]]
    assert all(len(str(secret)) > 8 and str(secret) not in said for secret in secrets), secrets


HOSTILE = ['"', "\\", '","outcome":"OK', "\\u0000", "é\u202e", "<script>", "\U0001f3ab", "\x7f'"]


def test_whatever_is_sent_a_line_is_one_object(audited, users):
    server, path = audited("--log-format", "json", "--log-level", "debug")
    with signed_in(server, users[1]["admin"]) as client:
        client.call("STOCK.LOAD", "p", 1000)
        for text in HOSTILE:
            client.call("QUOTA.LIMIT", text, 5)
            client.call("STOCK.ADJUST", "p", 1, f"a reason\n{text}\r\n\x00\x01")
            client.call("CLIENT", "KILL", "USER", f"{text}\n")
        client.send_raw(b"*4\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n$4\r\nADDR\r\n$4\r\n\xff\xfe\n\x00\r\n")
        client.read()
        client.send_raw(b"*3\r\n$11\r\nQUOTA.LIMIT\r\n$2\r\n\xc3\x28\r\n$1\r\n5\r\n")
        client.read()
        client.send_raw(b"*1\r\n$3\r\n\xff\n{\r\n")
        client.read()
    for given in ['a"b\\c', "{}", "a b", "", "x" * 129, "é", "a\tb"]:
        answer = http(server.http_port, "PUT", "/v1/quotas/t", {"limit": 5},
                      [f"Authorization: Bearer {users[1]['admin']}", f"X-Request-Id: {given}",
                       'User-Agent: "\\\x01'[:-1]])
        assert answer.status == 200
        named = wait_line(path, request=answer.headers["x-request-id"])
        assert named["command"] == "QUOTA.LIMIT"
        assert (answer.headers["x-request-id"] == given) == (given in ('a"b\\c', "{}"))
    server.stop()
    lines = of_clients(path)
    assert {line["arguments"]["tenant"] for line in lines if line["command"] == "QUOTA.LIMIT"} >= {
        text for text in HOSTILE if "\x7f" not in text}
    reasons = [line["arguments"]["reason"] for line in lines if line["command"] == "STOCK.ADJUST"]
    assert len(reasons) in (0, len(HOSTILE)), "a text with control characters is taken or refused"
    for line in server.said().splitlines():
        assert json.loads(line)["message"]


# ---- the file ------------------------------------------------------------------------------------

def write_many(client, count, prefix="t"):
    """That many changes in one go, each with an id of its own."""
    client.send_raw(b"".join(encode("QUOTA.LIMIT", f"{prefix}{i}", "5") for i in range(count)))
    for _ in range(count):
        assert client.read() == [1, 0, 5]


def figures(server):
    names = ("lines_total", "lost_total", "failing")
    read = prometheus.parse(http(server.http_port, "GET", "/metrics").body.decode())
    return [read[f"holdfast_audit_log_{name}"].samples[f"holdfast_audit_log_{name}", ()]
            for name in names]


def test_a_full_disk_stops_no_command_and_what_is_lost_is_counted(tmp_path):
    path = tmp_path / "audit.log"
    with Server("--audit-log", path, memory=True) as server, Client(server.resp_port) as client:
        write_many(client, 300)
        wait_until(lambda: len(lines_of(path)) == 301, "they are written", not_yet=(AssertionError,))
        _, most = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (path.stat().st_size + 100, most))
        write_many(client, 10, "u")
        wait_until(lambda: figures(server)[2] == 1, "it fails")
        wait_until(lambda: "cannot be written: File too large" in server.said(), "the log says so")
        for i in range(40):
            write_many(client, 1000, "x" * 100)
        assert figures(server)[1] > 0
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, most))
        wait_until(lambda: figures(server)[2] == 0, "it is written again")
        wait_until(lambda: b'"lost":' in path.read_bytes(), "the file says so")
        write_many(client, 1, "v")
        wait_until(lambda: b'"tenant":"v0"' in path.read_bytes(), "it goes on")
        made, lost, _ = figures(server)
        server.stop()
        assert "is written again" in server.said()
        assert f"{int(lost)} lines were lost" in server.said()
    lines = lines_of(path)
    gaps = [i for i, line in enumerate(lines) if "lost" in line]
    assert sum(lines[i]["lost"] for i in gaps) == lost
    assert len(lines) - len(gaps) == made - lost + 1, "and the line of the stop"
    assert lines[gaps[0]]["message"].startswith(f"{lines[gaps[0]]['lost']} lines lost")
    tenants = [line["arguments"]["tenant"] for line in lines if "arguments" in line]
    assert tenants[300:310] == [f"u{i}" for i in range(10)], "what was torn is whole again"


def test_a_rotation_loses_nothing(tmp_path):
    path, done = tmp_path / "audit.log", threading.Event()
    sent = 0
    with Server("--audit-log", path, memory=True) as server, Client(server.resp_port) as client:
        def rotate():
            for i in range(5):
                os.rename(path, tmp_path / f"audit.log.{i}")
                server.process.send_signal(signal.SIGHUP)
                wait_until(path.exists, "a new file")
            done.set()
        thread = threading.Thread(target=rotate)
        thread.start()
        while not done.is_set() or sent < 2000:
            write_many(client, 100, f"n{sent}-")
            sent += 100
        thread.join()
        server.stop()
    files = [*(tmp_path / f"audit.log.{i}" for i in range(5)), path]
    tenants = [line["arguments"]["tenant"] for file in files for line in lines_of(file)
               if "arguments" in line]
    assert tenants == [f"n{first}-{i}" for first in range(0, sent, 100) for i in range(100)]
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert lines_of(path)[-1]["command"] == "STOP"


def test_a_rotation_that_fails_goes_on_in_the_old_file(tmp_path):
    inside = tmp_path / "logs"
    inside.mkdir()
    path = inside / "audit.log"
    with Server("--audit-log", path, memory=True) as server:
        os.rename(path, tmp_path / "old")
        path.mkdir()
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the audit log stays as it was: " in server.said(), "the log says so")
        server.call("QUOTA.LIMIT", "t", 5)
        wait_line(tmp_path / "old", command="QUOTA.LIMIT")


def refusal(*words):
    """What `holdfast serve` says that does not start."""
    return run(Build().program, "serve", "--memory", "--resp-port", "0", "--http-port", "0", *words)


@pytest.mark.parametrize("kind, why", [
    ("link", "a symbolic link, which is not followed"), ("directory", "a directory"),
    ("pipe", "a named pipe"), ("device", "not a regular file"), ("nowhere", "No such file or directory")])
def test_what_is_no_regular_file_is_refused(tmp_path, kind, why):
    path = tmp_path / "audit.log"
    if kind == "link":
        (tmp_path / "elsewhere").touch()
        path.symlink_to("elsewhere")
    elif kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = {"device": "/dev/full", "nowhere": tmp_path / "no" / "audit.log"}[kind]
    for more in ([], ["--check-config"]):
        ended = refusal("--audit-log", path, *more)
        assert ended.code == EXIT_USAGE and f'audit-log "{path}": ' in ended.err and why in ended.err


def test_check_config_makes_no_file(tmp_path):
    path = tmp_path / "audit.log"
    assert refusal("--audit-log", path, "--check-config").code == 0
    assert not path.exists()


def test_it_is_appended_to_and_a_torn_line_ended(tmp_path):
    path = tmp_path / "audit.log"
    path.write_text('{"time":"before"}\n{"time":"to')
    path.chmod(0o644)
    with Server("--audit-log", path, memory=True) as server:
        server.call("QUOTA.LIMIT", "t", 5)
        wait_until(lambda: path.read_text().count("\n") == 4, "it is written")
        wait_until(lambda: "others than its owner can read who did what" in server.said(), "a warning")
    text = path.read_text().split("\n")
    assert text[:2] == ['{"time":"before"}', '{"time":"to'] and json.loads(text[3])["command"] == "QUOTA.LIMIT"


def test_without_it_there_is_nothing(tmp_path):
    with Server(memory=True) as server:
        server.call("QUOTA.LIMIT", "t", 5)
        assert "audit_log" not in http(server.http_port, "GET", "/metrics").body.decode()
    assert subprocess.run(["ls", tmp_path], capture_output=True, check=True).stdout == b""

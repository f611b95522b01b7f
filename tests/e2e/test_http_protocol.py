# SPDX-License-Identifier: Apache-2.0
"""The ways in which HTTP lets one ask, with the real curl: HEAD and OPTIONS, connections used again,
pipelines, chunks, 100 Continue, HTTP/1.0, and waiting."""

import json
import re

import pytest

from curl import header
from harness import run
from http_parts import curl, done, name, reserve, room, server
from raw_client import Http, request
from server import wait_until

LONG = 60000  # ms; no test waits for it to run out


# ---- HEAD and OPTIONS ----------------------------------------------------------------------------

def test_head_is_get_without_the_body(curl, name, room):
    for path, body in ((f"/v1/events/{name}/zones/floor", {"capacity": 3}),
                       (f"/v1/quotas/{name}", {"limit": 3}), (f"/v1/products/{name}", {
                           "quantity": 3})):
        assert curl.put(path, body).status == 200
    for path in ("/", "/livez", "/readyz", "/v1/openapi.json", f"/v1/events/{name}/zones/floor",
                 f"/v1/quotas/{name}", f"/v1/products/{name}", f"/v1/semaphores/{name}",
                 room + "/ann", f"/v1/locks/{name}", "/no/such/path"):
        got, head = curl.get(path), curl.call("HEAD", path)
        assert head.status == got.status and head.body == b""
        for field in ("content-type", "content-length"):
            assert head.headers[field] == got.headers[field], path
        assert int(got.headers["content-length"]) == len(got.body) > 0
    for path in ("/v1/feed", room + "/ann/stream"):
        head = curl.call("HEAD", path)
        assert head.status == 200 and head.body == b""
        assert head.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("path, methods", [
    ("/v1/events/gala/zones/floor", "GET HEAD PUT OPTIONS"), ("/livez", "GET HEAD OPTIONS"),
    ("/v1/events/gala/bookings", "GET HEAD POST OPTIONS"), ("/v1/feed", "GET HEAD OPTIONS"),
    ("/v1/events/gala/queue/ann", "GET HEAD DELETE OPTIONS")])
def test_options_names_the_methods_of_a_path(curl, path, methods):
    answer = curl.call("OPTIONS", path)
    assert (answer.status, answer.body) == (204, b"")
    assert set(answer.headers["allow"].split(", ")) == set(methods.split())
    assert "content-length" not in answer.headers


def test_options_of_the_server(curl):
    answer = curl.call("OPTIONS", "/", None, "--request-target", "*")
    assert answer.status == 204
    assert set(answer.headers["allow"].split(", ")) == {
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"}


# ---- connections ---------------------------------------------------------------------------------

def test_a_connection_is_used_again(curl, name):
    """A read, a command, its refusal and a read, all on the connection of the first."""
    told = ["--write-out", "%{num_connects} %{http_code}\n", "--output", "/dev/null"]
    path = f"/v1/quotas/{name}"
    body = ["-X", "POST", *header("Content-Type", "application/json"), "-d", '{"amount":1}']
    command = ["curl", "--disable", "--silent", "--noproxy", "*", *told, curl.url(path)]
    for more in ("/reserve", "/reserve", ""):
        command += ["--next", "--silent", *told, *(body if more else []), curl.url(path + more)]
    curl.put(path, {"limit": 1})
    assert run(*command).lines == ["1 200", "0 200", "0 429", "0 200"]


def test_a_connection_that_is_to_be_closed(curl):
    answer = curl.get("/livez", *header("Connection", "close"))
    assert answer.headers["connection"] == "close"


def test_a_pipeline_is_answered_in_order(curl, server, name):
    path = f"/v1/quotas/{name}"
    curl.put(path, {"limit": 1000})
    with Http(server.http_port) as connection:
        methods = ["GET", "POST", "HEAD", "POST"] * 25
        sent = [request(method, path + ("/reserve" if method == "POST" else ""),
                        {"amount": 1} if method == "POST" else None, [f"X-Request-Id: r-{i}"])
                for i, method in enumerate(methods)]
        connection.socket.sendall(b"".join(sent))
        for i, method in enumerate(methods):
            answer = connection.read(method)
            assert (answer.status, answer.headers["x-request-id"]) == (200, f"r-{i}")
            assert method == "HEAD" or answer.json["used"] == (i + 1) // 2


def test_what_stands_behind_one_that_waits_in_a_pipeline(curl, server, name):
    path = f"/v1/semaphores/{name}"
    curl.post(path + "/acquire", {"id": "holder", "limit": 1})
    with Http(server.http_port) as connection:
        connection.socket.sendall(
            request("POST", path + "/acquire", {"id": "waiter", "limit": 1, "wait_ms": LONG})
            + request("GET", path) + request("GET", "/livez"))
        wait_until(lambda: curl.get(path).json["waiting"] == 1, "one in line")
        curl.post(path + "/release", {"id": "holder"})
        assert connection.read().json["id"] == "waiter"
        assert connection.read().json == {"in_use": 1, "max": 1, "waiting": 0}
        assert connection.read().body == b"alive\n"


# ---- bodies --------------------------------------------------------------------------------------

def test_a_body_in_chunks(curl, name):
    chunked = header("Transfer-Encoding", "chunked")
    path = f"/v1/quotas/{name}"
    assert curl.put(path, {"limit": 9}, *chunked).json == {"used": 0, "limit": 9}
    padded = json.dumps({"amount": 2}).encode() + b" " * 200_000
    answer = curl.post(path + "/reserve", padded, *chunked,
                       *header("Content-Type", "application/json"))
    assert (answer.status, answer.json) == (200, {"used": 2, "limit": 9})


def test_a_large_body_waits_to_be_called(curl, name):
    path = f"/v1/quotas/{name}"
    curl.put(path, {"limit": 9})
    padded = json.dumps({"amount": 2}).encode() + b" " * 900_000
    answer = curl.post(path + "/reserve", padded, *header("Expect", "100-continue"),
                       *header("Content-Type", "application/json"))
    assert answer.interim == [100]
    assert (answer.status, answer.json) == (200, {"used": 2, "limit": 9})
    answer = curl.post(path + "/reserve", padded, *header("Expect", ""),
                       *header("Content-Type", "application/json"))
    assert answer.interim == [] and answer.json["used"] == 4


def test_no_body_is_an_empty_object(curl, name):
    """Where a command needs nothing more than its path."""
    curl.put(f"/v1/events/{name}/zones/floor", {"capacity": 10})
    for i, body in enumerate((b"", {})):
        path = f"/v1/events/{name}/bookings/b-{i}"
        reserve(curl, name, booking_id=f"b-{i}")
        assert curl.post(path + "/confirm", body).json["status"] == "CONFIRMED"


def test_a_body_as_another_program_would_write_it(curl, name):
    """Numbers as texts, a charset, white space, escapes."""
    json_type = header("Content-Type", "Application/JSON; charset=utf-8")
    path = f"/v1/quotas/{name}"
    assert curl.put(path, b'\r\n{ "limit" :\t"100" }\n', *json_type).json["limit"] == 100
    body = b'{"amount":"3","hold_id":"h\\u00e9\\u002f1","ttl_seconds":"1500ms"}'
    assert curl.post(path + "/reserve", body, *json_type).json["used"] == 3
    assert curl.post(path + "/commit", {"hold_id": "h\u00e9/1"}).json["used"] == 3


@pytest.mark.parametrize("given, meant", [
    ("caf%C3%A9", "caf\u00e9"), ("a%2Fb", "a/b"), ("100%25", "100%"), ("a+b", "a+b"),
    ("x" * 128, "x" * 128), ("..", "..")], ids=lambda value: value[:8])
def test_ids_in_the_path(curl, server, given, meant):
    assert curl.put(f"/v1/quotas/{given}", {"limit": 7}).status == 200
    assert server.call("QUOTA.GET", meant) == [0, 7, 0]


# ---- answers -------------------------------------------------------------------------------------

def test_http_1_0(curl, name):
    old = curl.having("--http1.0")
    answer = old.put(f"/v1/quotas/{name}", {"limit": 9})
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert old.get(f"/v1/quotas/{name}").json == {"used": 0, "limit": 9, "held": 0}
    kept = old.get("/livez", *header("Connection", "keep-alive"))
    assert kept.headers["connection"] == "keep-alive"


def test_http_1_0_without_a_host_is_closed_after_the_answer(server):
    with Http(server.http_port) as connection:
        connection.socket.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        assert connection.read().status == 200
        assert connection.file.read() == b""


def test_answers_come_as_they_are(curl):
    """Compressed answers are not offered, whoever asks for them."""
    plain, asked = curl.get("/"), curl.get("/", "--compressed")
    assert asked.body == plain.body
    assert "content-encoding" not in asked.headers
    for field in ("date", "content-type", "content-length", "x-request-id"):
        assert field in asked.headers
    assert asked.headers["cache-control"] == "no-store"


def test_the_id_of_a_request_is_told_again(curl):
    for path in ("/livez", "/v1/quotas/acme", "/v1/locks/nobody-has-it", "/no/such/path"):
        for given in ("r", "order-17/retry:2", "x" * 128):
            assert curl.get(path, *header("X-Request-Id", given)).headers["x-request-id"] == given


def test_an_id_is_made_for_a_request_that_has_none(curl, server):
    made = [curl.get("/livez", *words).headers["x-request-id"] for words in (
        (), (), header("X-Request-Id", "x" * 129), header("X-Request-Id", "two words"),
        header("X-Request-Id", "caf\u00e9"), ("-H", "X-Request-Id;"))]
    with Http(server.http_port) as connection:
        made += [connection.call("GET", "/livez").headers["x-request-id"] for _ in range(3)]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[!-~]{1,128}", one) for one in made)


# ---- waiting -------------------------------------------------------------------------------------

class Line:
    """A semaphore of one slot that "holder" has."""

    def __init__(self, curl, name):
        self.curl, self.path = curl, f"/v1/semaphores/{name}"
        assert self.curl.post(self.path + "/acquire", {"id": "holder", "limit": 1}).status == 200

    def join(self, who):
        """A curl that waits, once it does."""
        before = self.waiting()
        under = self.curl.start("POST", self.path + "/acquire", {
            "id": who, "limit": 1, "wait_ms": LONG})
        self.wait_for(before + 1)
        return under

    def waiting(self):
        return self.curl.get(self.path).json["waiting"]

    def wait_for(self, count):
        wait_until(lambda: self.waiting() == count, f"{count} in line")

    def release(self, who):
        assert self.curl.post(self.path + "/release", {"id": who}).json == {"released": 1}


@pytest.fixture
def line(curl, name):
    return Line(curl, name)


def test_acquire_waits_until_a_slot_is_free(line):
    with line.join("first") as first, line.join("second") as second:
        line.release("holder")
        one = done(first.read(), 200, "id", "in_use", "fence")
        assert (one["id"], one["in_use"]) == ("first", 1) and second.running
        line.release("first")
        two = done(second.read(), 200, "id", "in_use", "fence")
        assert two["id"] == "second" and two["fence"] > one["fence"]


def test_a_client_that_hangs_up_leaves_the_line(line):
    with line.join("first") as first, line.join("second") as second:
        first.hang_up()
        line.wait_for(1)
        line.release("holder")
        assert second.read().json["id"] == "second"


def test_others_are_answered_meanwhile(line, curl, name):
    with line.join("waiter") as waiter:
        for i in range(5):
            assert curl.put(f"/v1/quotas/{name}", {"limit": i}).json["limit"] == i
        assert waiter.running
        line.release("waiter")
        assert waiter.read().code == "TIMEOUT", "taken out of the line by somebody else"

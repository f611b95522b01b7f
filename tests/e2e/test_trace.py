# SPDX-License-Identifier: Apache-2.0
"""Which request a line of the log belongs to, and which trace that is part of."""

import json
import re

import pytest

from raw_client import Client, Http, http
from server import Server, wait_until

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GOOD = f"00-{TRACE}-{PARENT}-01"
BAD = ["", "0", f"00-{TRACE}-{PARENT}", f"00-{TRACE}-{PARENT}-01-", f"00-{TRACE}-{PARENT}-01-x",
       f"00-{TRACE.upper()}-{PARENT}-01", f"00-{TRACE}-{PARENT.upper()}-01", f"00-{'0' * 32}-{PARENT}-01",
       f"00-{TRACE}-{'0' * 16}-01", f"ff-{TRACE}-{PARENT}-01", f"00-{TRACE[:-1]}-{PARENT}-01",
       f"00-{TRACE}0-{PARENT}-01", f"cc-{TRACE}-{PARENT}-01x", "x" * 3000]
FUTURE = [f"cc-{TRACE}-{PARENT}-01", f"01-{TRACE}-{PARENT}-01-what-comes-next"]


@pytest.fixture(scope="module")
def server():
    with Server("--log-level", "debug", "--log-format", "json", memory=True) as one:
        yield one


def wait_entry(server, request):
    """The line of the log about the command of a request."""
    def found():
        for line in server.said().splitlines():
            if line.endswith("}"):  # the last may be on its way
                entry = json.loads(line)
                if entry.get("request") == request:
                    return entry
        return None
    return wait_until(found, f"a line of {request}")


def put(server, *headers):
    """One change over HTTP; gives its answer, and its line."""
    answer = http(server.http_port, "PUT", "/v1/quotas/t", {"limit": 5}, headers)
    assert answer.status == 200
    return answer, wait_entry(server, answer.headers["x-request-id"])


def test_a_request_over_http_is_named_as_the_client_names_it(server):
    answer, entry = put(server, "X-Request-Id: shop-1", f"traceparent: {GOOD}", "tracestate: a=1")
    assert answer.headers["x-request-id"] == "shop-1"
    assert (entry["level"], entry["trace"]) == ("debug", TRACE)
    assert re.fullmatch(r"127\.0\.0\.1:\d+: QUOTA.LIMIT OK", entry["message"])


@pytest.mark.parametrize("given", FUTURE)
def test_of_a_later_version_the_known_fields_count(server, given):
    assert put(server, f"traceparent: {given}")[1]["trace"] == TRACE


@pytest.mark.parametrize("given", BAD)
def test_a_bad_trace_is_ignored_and_another_begun(server, given):
    answer, entry = put(server, f"traceparent: {given}")
    assert re.fullmatch("[0-9a-f]{32}", entry["trace"]) and entry["trace"] != TRACE
    assert set(entry["trace"]) != {"0"} and "traceparent" not in answer.headers
    if len(given) > 50:
        assert given not in server.said()


def test_of_two_traces_neither_counts(server):
    _, entry = put(server, f"traceparent: {GOOD}", f"traceparent: {GOOD}")
    assert entry["trace"] != TRACE


def test_every_request_without_a_trace_is_one_of_its_own(server):
    with Http(server.http_port) as web:
        answers = [web.call("PUT", "/v1/quotas/t", {"limit": 5}) for _ in range(3)]
    entries = [wait_entry(server, answer.headers["x-request-id"]) for answer in answers]
    assert len({entry["trace"] for entry in entries}) == len({entry["request"] for entry in entries}) == 3


@pytest.mark.parametrize("method, path, body, status", [
    ("GET", "/livez", None, 200), ("GET", "/nowhere", None, 404), ("POST", "/v1/quotas/t", {}, 405),
    ("PUT", "/v1/quotas/t", {"limit": -1}, 400), ("PUT", "/v1/quotas/t", b"{", 415),
    ("GET", "/v1/feed?after=x", None, 200)])
def test_every_answer_has_the_id_of_its_request(server, method, path, body, status):
    for given in ("mine", "not mine"):
        with Http(server.http_port) as web:
            web.send(method, path, body, [f"X-Request-Id: {given}"])
            answered, headers = web.read_head()
        assert answered == status or path.startswith("/v1/feed")
        assert (headers["x-request-id"] == given) == (given == "mine")
        assert re.fullmatch(r"[!-~]{1,128}", headers["x-request-id"])


def test_a_request_over_resp_is_named_by_connection_and_number(server):
    with Client(server.resp_port) as client:
        number = client.call("CLIENT", "ID")  # the first request
        client.call("QUOTA.LIMIT", "t", 5)
        client.call("PING")
        client.call("QUOTA.GET", "t")
    assert wait_entry(server, f"c{number}-2")["message"].endswith("QUOTA.LIMIT OK")
    assert wait_entry(server, f"c{number}-4")["message"].endswith("QUOTA.GET OK")


def test_a_trace_over_resp_is_the_connections_until_it_is_changed(server):
    with Client(server.resp_port) as client:
        number = client.call("CLIENT", "ID")
        assert client.call("CLIENT", "TRACEPARENT", GOOD) == "OK"
        for bad in BAD[1:]:
            assert "TRACEPARENT takes" in client.call("CLIENT", "TRACEPARENT", bad).message
        first = 2 + len(BAD)
        client.call("QUOTA.LIMIT", "t", 5)
        assert client.call("CLIENT", "TRACEPARENT", "") == "OK"
        client.call("QUOTA.LIMIT", "t", 5)
        assert client.call("CLIENT", "TRACEPARENT", FUTURE[1]) == "OK"
        client.call("QUOTA.LIMIT", "t", 5)
        assert client.call("RESET") == "RESET"
        client.call("QUOTA.LIMIT", "t", 5)
    traces = [wait_entry(server, f"c{number}-{first + more}")["trace"] for more in (0, 2, 4, 6)]
    assert [trace == TRACE for trace in traces] == [True, False, True, False], traces


def test_a_warning_names_its_request(tmp_path, holdfast):
    users = tmp_path / "users"
    users.write_text(holdfast("auth", "ann", "read").out)
    users.chmod(0o600)
    with Server("--auth-file", users, memory=True) as server:
        http(server.http_port, "GET", "/metrics", None,
             ["Authorization: Bearer x", "X-Request-Id: intruder", f"traceparent: {GOOD}"])
        wait_until(lambda: f"wrong secret request=intruder trace={TRACE}\n" in server.said(), "a line")

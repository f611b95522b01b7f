# SPDX-License-Identifier: Apache-2.0
"""What the dashboard is served by: its files, who is asking, and the stream of figures. What it shows in a
browser is in tests/browser/test_dashboard.py."""

import gzip
import re
import socket

import pytest

from curl import Curl, header
from http_parts import PASSWORD, curl, guarded, server, unauthorized, users
from server import Server, wait_until

HTML = header("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
GZIP = header("Accept-Encoding", "gzip, deflate, br")
MOST_BYTES = 100 * 1024
MOST_STREAMS = 256
UNLIMITED = {"scopes": None, "families": None, "rate": None, "burst": None}


@pytest.fixture(scope="module")
def page(curl):
    answer = curl.get("/", *HTML)
    if b"<html" not in answer.body:
        pytest.skip("built without the dashboard")
    return answer


@pytest.fixture(scope="module")
def names(page):
    return re.findall(r'"(/assets/[^"]+)"', page.body.decode())


def test_the_page_is_for_browsers_and_the_list_for_all_others(curl, page):
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for accept in ([], header("Accept", "*/*"), header("Accept", "text/plain"),
                   header("Accept", "text/html;q=0, */*")):
        answer = curl.get("/", *accept)
        assert answer.headers["content-type"].startswith("text/plain"), accept
        assert b"GET    /livez" in answer.body


def test_the_policy_lets_nothing_in_from_elsewhere(page):
    policy = dict(part.split(" ", 1) for part in
                  page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    text = page.body.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", text), "nothing inline"
    assert "//" not in text.replace("<!doctype", ""), "nothing of another server"


def test_files_may_be_kept_forever_and_the_page_is_asked_for_again(curl, page, names):
    assert page.headers["cache-control"] == "no-cache"
    assert len(names) == 3
    for name in names:
        answer = curl.get(name)
        assert answer.status == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
    for name, known in (("/", page), (names[0], curl.get(names[0]))):
        tag = header("If-None-Match", f'"other", {known.headers["etag"]}')
        again = curl.get(name, *HTML, *tag)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == known.headers["etag"]
        assert curl.get(name, *HTML, *header("If-None-Match", '"other"')).status == 200


def test_files_come_compressed_to_who_can_read_that(curl, page, names):
    total = 0
    for name in ["/", *names]:
        plain, packed = curl.get(name, *HTML), curl.get(name, *HTML, *GZIP)
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert "Accept-Encoding" in packed.headers["vary"]
        assert gzip.decompress(packed.body) == plain.body
        assert curl.get(name, *HTML, *header("Accept-Encoding", "gzip;q=0")).body == plain.body
        total += len(packed.body)
    assert total <= MOST_BYTES


def test_other_names_are_refused(curl):
    for name in ("nothing.js", "", "%00", "..%2f..%2fetc%2fpasswd"):
        answer = curl.get(f"/assets/{name}")
        assert (answer.status, answer.code) == (404, "NOT_FOUND"), name
    assert curl.post("/assets/nothing.js").status == 405


def test_head_has_no_body(curl, page, names):
    for name in ["/", *names]:
        answer = curl.call("HEAD", name, None, *HTML)
        assert (answer.status, answer.body) == (200, b"")
        assert int(answer.headers["content-length"]) > 0
    assert curl.call("HEAD", "/v1/live").headers["content-type"].startswith("text/event-stream")


def test_figures_come_again_and_again(curl, server):
    with curl.stream("/v1/live") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        first = stream.read_until("figures")
        server.call("SEATS.OPEN", "shown", "floor", 10)
        server.call("SEATS.RESERVE", "shown", "floor", "b-1", "ann", 2, 4)
        server.call("SEATS.RESERVE", "shown", "floor", "b-2", "bob", 20, 40)
        while (then := stream.read_until("figures"))["holds"] == first["holds"]:
            pass
        assert then["time_ms"] > first["time_ms"]
        assert then["commands"]["SEATS.RESERVE"]["INSUFFICIENT_STOCK"] >= 1
        assert sum(then["latency"]) > sum(first["latency"])
        assert len(then["latency"]) == len(then["latency_bounds_s"]) + 1
        info = curl.get("/v1/info").json
        assert (then["holds"], then["engine"]) == (info["holds"], info["engine"])
        assert then["figures"]["journal_bytes"] > 0
    refused = curl.get("/v1/live?every=2")
    assert (refused.status, refused.code) == (400, "INVALID_ARGUMENT")


def test_all_that_watch_are_sent_the_same(curl):
    with curl.stream("/v1/live") as one, curl.stream("/v1/live") as other:
        mine, theirs = one.read_until("figures"), other.read_until("figures")
        while mine["time_ms"] != theirs["time_ms"]:
            if mine["time_ms"] < theirs["time_ms"]:
                mine = one.read_until("figures")
            else:
                theirs = other.read_until("figures")
        assert mine == theirs


def test_no_more_may_watch_than_the_server_bears():
    with Server(memory=True) as server:
        curl = Curl(server.http_port)
        streams = []
        for _ in range(MOST_STREAMS):
            streams.append(socket.create_connection(("127.0.0.1", server.http_port)))
            streams[-1].sendall(b"GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert streams[-1].recv(15) == b"HTTP/1.1 200 OK"
        answer = curl.get("/v1/live")
        assert (answer.status, answer.code) == (503, "BUSY")
        streams.pop().close()
        wait_until(lambda: curl.call("HEAD", "/v1/live").status == 200, "there is room again")
        for stream in streams:
            stream.close()


def test_a_stream_ends_with_the_server():
    with Server(memory=True) as server:
        with Curl(server.http_port).stream("/v1/live") as stream:
            stream.read_until("figures")
            assert server.stop() == 0
            while stream.read_event() is not None:
                pass


def test_without_users_everybody_may_do_everything(curl):
    assert curl.get("/v1/me").json == {"name": None, "role": "admin", "sign_in": False, **UNLIMITED}


@pytest.mark.parametrize("who, role", [("reader", "read"), ("writer", "write"), ("chief", "admin")])
def test_who_is_asking(guarded, who, role):
    assert guarded(who).get("/v1/me").json == {
        "name": who, "role": role, "sign_in": True, **UNLIMITED}


def test_by_a_password(guarded):
    by_password = guarded(None).having("--user", f"ann:{PASSWORD}")
    assert by_password.get("/v1/me").json == {
        "name": "ann", "role": "write", "sign_in": True, **UNLIMITED}


def test_strangers_see_the_page_and_no_figures(guarded):
    assert guarded(None).get("/", *HTML).status == 200
    unauthorized(guarded(None).get("/v1/me"))
    unauthorized(guarded(None).get("/v1/live"))
    with guarded("reader").stream("/v1/live") as stream:
        assert stream.read_until("figures")["state"] == "ready"

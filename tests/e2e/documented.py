# SPDX-License-Identifier: Apache-2.0
"""Asking for everything at once, and whether each answer is one that the documentation has."""

import json
import re

from harness import ROOT, TIMEOUT_S
from raw_client import Client, Error, Http

PAGE = (ROOT / "docs/commands.md").read_text()
STATUS = {code: int(status) for code, status in
          re.findall(r"(?m)^\| `([A-Z_]+)` \| (\d{3}) \| ", PAGE[PAGE.index("\n## Errors"):])}
# What clients of Redis know instead of UNAUTHORIZED and FORBIDDEN, and of transactions.
RESP_ONLY = {"NOAUTH", "NOPERM", "EXECABORT", "WRONGPASS"}
AT_ONCE = 100  # connections


def assert_documented(answer, what):
    """Of RESP: an error with a known code, a refusal with a known code, or a value."""
    if isinstance(answer, Error):
        assert answer.code in STATUS or answer.code in RESP_ONLY, (what, answer)
    elif isinstance(answer, list) and len(answer) == 3 and answer[0] == 0 and \
            isinstance(answer[1], str):
        assert answer[1] in STATUS, (what, answer)


def assert_documented_http(answer, what):
    assert 200 <= answer.status < 600, (what, answer)
    if answer.status >= 400:
        error = json.loads(answer.body)["error"]
        assert STATUS.get(error["code"]) == answer.status and error["message"], (what, answer)


def ask_resp(server, requests, check, sent=lambda: None):
    """`sent` is called when all are on their way, and none is read."""
    clients = []
    try:
        for request in requests:
            clients.append(Client(server.resp_port))
            clients[-1].send(*request.words)
        sent()
        for request, client in zip(requests, clients):
            check(client.read(), request)
    finally:
        for client in clients:
            client.close()


def ask_http(server, asked, check):
    """`asked`: (request, headers)."""
    connections = []
    try:
        for request, headers in asked:
            connections.append(Http(server.http_port))
            connections[-1].send(request.method, request.path, request.body, headers)
        for (request, _), web in zip(asked, connections):
            check(web.read(request.method), request)
    finally:
        for web in connections:
            web.close()


def ask_all(server, requests, http=True, key="k"):
    """Sends all of them side by side, over RESP and over HTTP, with a key and without."""
    for start in range(0, len(requests), AT_ONCE):
        ask_resp(server, requests[start:start + AT_ONCE], assert_documented)
    asked = [(request, []) for request in requests if http and request.route]
    asked += [(request, [f"Idempotency-Key: {key}-{request.name}"]) for request in requests
              if http and request.route and request.keyable]
    for start in range(0, len(asked), AT_ONCE):
        ask_http(server, asked[start:start + AT_ONCE], assert_documented_http)


def assert_alive(server):
    with Http(server.http_port, TIMEOUT_S) as web:
        assert web.call("GET", "/livez").status == 200
    assert server.process.poll() is None, server.said()
    assert "internal check failed" not in server.said(), server.said()

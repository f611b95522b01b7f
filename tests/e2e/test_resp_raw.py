# SPDX-License-Identifier: Apache-2.0
"""Raw bytes at the RESP port: each case is a rule, bytes, their answer to the byte, and whether the
connection goes on; and nothing has changed after it. The cases are data, in resp_cases*.py."""

import re
import socket

import pytest

from harness import TIMEOUT_S
from resp_cases import CLOSED, NOAUTH, PING, RULES, bounds
from resp_cases_commands import COMMANDS, HTTP, STRANGERS
from resp_cases_framing import FRAMING
from server import Server

CASES = [*FRAMING, *COMMANDS, *bounds()]


def rules_of(cases):
    return sorted({rule for rule, *_ in cases})


def inputs(cases, rule):
    return [(one, answer, closed) for name, closed, answer, sent in cases for one in sent
            if name == rule]


def ask(port, data):
    """All that the server says to this, and to the end of it."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as one:
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        while part := one.recv(1 << 16):
            said += part
    said = re.sub(rb"version\r\n\$\d+\r\n[^\r]*", b"version\r\nVERSION", said)
    return re.sub(rb"id\r\n:\d+\r\n", b"id\r\nID\r\n", said)


def state(server, token=None):
    """Figures that any change of the state would change, and the proof that it is sound."""
    with server.connect() as client:
        if token:
            assert client.call("AUTH", token) == "OK"
        assert client.call("AUDIT") == [1, 0]
        return [line for line in client.call("INFO", "state").splitlines() if ":" in line]


@pytest.fixture(scope="module")
def server():
    with Server(memory=True) as one:
        yield one


@pytest.fixture(scope="module")
def guarded(holdfast, tmp_path_factory):
    """A server with a user, whose token is one.token."""
    ended = holdfast("auth", "ann", "admin")
    path = tmp_path_factory.mktemp("users") / "users"
    path.write_text(ended.out)
    path.chmod(0o600)
    with Server("--auth-file", path, memory=True) as one:
        one.token = ended.err.split()[-1]
        yield one


def differences(cases, port, pongs, fill=lambda data: data):
    """What was answered otherwise. A PING behind each case tells whether the connection goes on;
    one behind a request that is not whole would be taken for its rest."""
    found = []
    for data, answer, closed in cases:
        behind = b"" if closed and answer == b"" else PING
        said = ask(port, fill(data) + behind)
        wanted = [answer] if closed else [answer + pong for pong in pongs]
        if said not in wanted:
            found.append((data[:200], said[:400], wanted[0][:400]))
    return found


@pytest.mark.parametrize("rule", rules_of(CASES))
def test_what_is_answered_to_the_byte(server, rule):
    before = state(server)
    assert differences(inputs(CASES, rule), server.resp_port, [b"+PONG\r\n"]) == [], RULES[rule]
    assert state(server) == before, "nothing has changed"


@pytest.mark.parametrize("rule", rules_of(STRANGERS))
def test_what_strangers_are_answered(guarded, rule):
    token = guarded.token.encode()

    def fill(data):
        data = data.replace(b"$5\r\nTOKEN", b"$%d\r\n%s" % (len(token), token))
        return data.replace(b"TOKEN", token)
    before = state(guarded, guarded.token)
    assert differences(inputs(STRANGERS, rule), guarded.resp_port, [NOAUTH, b"+PONG\r\n"],
                       fill) == [], RULES[rule]
    assert state(guarded, guarded.token) == before, "nothing has changed"


@pytest.mark.parametrize("data", HTTP)
def test_who_speaks_http_is_hung_up_on(server, data):
    before = state(server)
    said = ask(server.resp_port, data + PING)
    assert said == b"" or re.fullmatch(rb"-[^\r\n]*\r\n", said), RULES["http"]
    assert state(server) == before, "nothing has changed"


def test_there_are_many_cases_and_each_has_its_rule():
    cases = CASES + STRANGERS
    assert sum(len(sent) for *_, sent in cases) + len(HTTP) >= 350
    assert set(rules_of(cases)) | {"http"} == set(RULES)
    assert all(closed in (CLOSED, not CLOSED) for _, closed, _, _ in cases)

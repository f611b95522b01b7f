# SPDX-License-Identifier: Apache-2.0
"""What the tables of raw HTTP requests are written with, and how a case of theirs is tried: bytes are
sent, and what comes back is compared with what the rule says. A case is of one connection.

    Case("RFC 9112 6.1", put(fields="Content-Length: 1\\r\\n…"), 400)

says that the request is refused, the connection closed, and nothing changed. KEPT: the connection
goes on. CHANGED: it was carried out, and the connection goes on. ENDED: carried out, then closed."""

import socket
from dataclasses import dataclass

from harness import TIMEOUT_S

CLOSED, KEPT, CHANGED, ENDED = "closed", "kept", "changed", "ended"
HOST = "Host: localhost\r\n"
JSON = "Content-Type: application/json\r\n"
PATH = "/v1/quotas/raw"
LIMIT = 7
BODY = b'{"limit":7}'
PROBE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass
class Case:
    rule: str
    data: bytes
    status: object  # of the one answer, or a list of them; None: it is closed without a word
    then: str = CLOSED

    @property
    def statuses(self):
        return self.status if isinstance(self.status, list) else (
            [] if self.status is None else [self.status])


def raw(*parts):
    return b"".join(part if isinstance(part, bytes) else part.encode("latin-1") for part in parts)


def head(line, fields="", host=HOST):
    """A request without a body."""
    return raw(line, "\r\n", host, fields, "\r\n")


def get(target="/livez", fields="", host=HOST, method="GET", version="HTTP/1.1"):
    return head(f"{method} {target} {version}", fields, host)


def put(fields=None, body=BODY, host=HOST, kind=JSON, target=PATH, method="PUT", version="HTTP/1.1"):
    """The request that sets a limit; `fields` instead of its Content-Length."""
    length = f"Content-Length: {len(body)}\r\n" if fields is None else fields
    return raw(head(f"{method} {target} {version}", kind + length, host), body)


def put_with(fields, body=BODY, **more):
    """The same with its length, and more fields."""
    return put(f"Content-Length: {len(body)}\r\n" + fields, body, **more)


def chunked(chunks, fields=""):
    return put("Transfer-Encoding: chunked\r\n" + fields, raw(chunks))


def post(path, body, fields=""):
    return put_with(fields, raw(body), target=path, method="POST")


def cases(rule, then, status, *requests):
    """Several requests with one outcome, by one rule."""
    return [Case(rule, request, status, then) for request in requests]


class Answers:
    """Reads the answers of a connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def next(self, silent=False):
        """Status and fields of the next answer; None at the end."""
        line = self.file.readline()
        if not line:
            return None
        assert line.startswith(b"HTTP/1.1 ") and line.endswith(b"\r\n"), line
        fields = {}
        while (field := self.file.readline()) != b"\r\n":
            assert field.endswith(b"\r\n"), field
            name, _, value = field.decode("ascii").partition(":")
            assert name.lower() not in fields, f"twice: {name}"
            fields[name.lower()] = value.strip()
        status = int(line[9:12])
        size = 0 if silent or status in (100, 204) else int(fields.get("content-length", 0))
        assert len(self.file.read(size)) == size
        return status, fields


def send(connection, data):
    try:
        connection.socket.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it was refused before it was all there


def next_or_end(connection, silent=False):
    try:
        return connection.next(silent)
    except ConnectionResetError:
        return None


def try_case(case, port):
    """Sends the case; a sentence for what is not as it says, or None."""
    connection = Answers(port)
    try:
        send(connection, case.data)
        if not case.statuses:
            connection.socket.shutdown(socket.SHUT_WR)
        last = {}
        for i, expected in enumerate(case.statuses):
            answer = next_or_end(connection, case.data.startswith(b"HEAD "))
            if answer is None or answer[0] != expected:
                return f"answer {i + 1}: {answer and answer[0]}, not {expected}"
            last = answer[1]
        if case.then in (KEPT, CHANGED):
            send(connection, PROBE)
            answer = next_or_end(connection)
            return None if answer is not None and answer[0] == 200 and "connection" not in last \
                else f"not kept: {last.get('connection')}, {answer}"
        if case.statuses and last.get("connection") != "close":
            return "it is not said that the connection is closed"
        answer = next_or_end(connection)
        return None if answer is None else f"not closed, but {answer[0]}"
    finally:
        connection.close()

# SPDX-License-Identifier: Apache-2.0
"""Talking to a server byte by byte: RESP in both versions, HTTP in its simplest form."""

import json
import socket
from pathlib import Path

from harness import TIMEOUT_S
from server import Connection, Error, Opened


def encode(*words):
    """A request as clients send it, an array of bulk strings."""
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)


class Client(Connection):
    """A Connection that reads RESP3 as well, and can send whatever one likes."""

    def send_raw(self, data):
        self.socket.sendall(data)

    def hello(self, version, *words):
        return self.call("HELLO", version, *words)

    def read(self):
        kind = self.file.peek(1)[:1]
        if kind not in (b"%", b"_"):
            return super().read()
        line = self.file.readline()
        if kind == b"_":
            return None
        return {self.read(): self.read() for _ in range(int(line[1:]))}

    def read_nothing_more(self):
        """The server has said all and closes: what is left to read, which should be nothing."""
        return self.file.read()

    def reset(self):
        reset(self)


def reset(opened):
    """Closes so that the server gets an RST, as it does from a client that is killed, or from a proxy
    that has forgotten the connection."""
    opened.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    opened.close()


def has_unread(opened):
    """Has the client's system received something that the client did not look at yet?"""
    try:
        return opened.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return False


def has_acknowledged(opened):
    """Has the client's side acknowledged all that the server sent on this connection? It has, too,
    as long as nothing was sent."""
    here = f"{opened.socket.getsockname()[1]:04X}"
    there = f"{opened.socket.getpeername()[1]:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues = line.split()[:5]
        if local.endswith(":" + there) and remote.endswith(":" + here):
            return queues.startswith("00000000:")
    raise AssertionError("no such connection")


class Answer:
    """Of HTTP: status, headers in small letters, body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:500]!r}"

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]


def request(method, path, body=None, headers=()):
    """A request as bytes. A body that is no bytes is sent as JSON."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    if body is not None:
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            lines.append("Content-Type: application/json")
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


class Http(Opened):
    """One connection, kept open."""

    def send(self, method, path, body=None, headers=()):
        self.socket.sendall(request(method, path, body, headers))

    def call(self, method, path, body=None, headers=()):
        self.send(method, path, body, headers)
        return self.read(method)

    def read_head(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the server closed the connection")
        version, status, _ = line.decode().split(" ", 2)
        assert version == "HTTP/1.1", line
        headers = {}
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            headers[name.strip().lower()] = value.strip()
        return int(status), headers

    def read(self, method="GET"):
        status, headers = self.read_head()
        size = 0 if method == "HEAD" or status in (204, 304) else int(
            headers.get("content-length", 0))
        return Answer(status, headers, self.file.read(size))


def http(port, method, path, body=None, headers=()):
    """One request on a connection of its own."""
    with Http(port) as connection:
        return connection.call(method, path, body, headers)


def transact(client, *lines):
    """A transaction sent in one go, as clients do; gives the answer to EXEC."""
    client.send_raw(encode("MULTI") + b"".join(encode(*line.split()) for line in lines) +
                    encode("EXEC"))
    assert client.read() == "OK"
    assert [client.read() for _ in lines] == ["QUEUED"] * len(lines)
    return client.read()


def resident_kb(pid):
    """The memory of a process that is in use, VmRSS."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"no VmRSS of {pid}")


def fields(flat):
    """A list of names and values as a dictionary; a map of RESP3 as it is."""
    return flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2]))


__all__ = ["Answer", "Client", "Error", "Http", "encode", "fields", "http", "request",
           "has_acknowledged", "has_unread", "reset", "resident_kb", "transact"]

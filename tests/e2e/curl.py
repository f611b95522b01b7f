# SPDX-License-Identifier: Apache-2.0
"""Asking a server over HTTP with the real curl: one request to its end, one that takes a while, and
a stream of events."""

import json
import re
import subprocess

from harness import TIMEOUT_S
from raw_client import Answer

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def read_head(lines):
    """The head of an answer, from an iterator of lines: status, headers in small letters."""
    first = next(lines, b"")
    assert first.startswith(b"HTTP/"), first
    headers = {}
    for line in lines:
        if line in (b"\r\n", b""):
            break
        name, _, value = line.decode().partition(":")
        assert name.lower() not in headers, f"twice: {name}"
        headers[name.lower()] = value.strip()
    return int(first.split()[1]), headers


def read_answer(data):
    """What `curl -i` printed: the last answer, with those before it (100 Continue) as .interim."""
    interim = []
    while True:
        head, _, rest = data.partition(b"\r\n\r\n")
        status, headers = read_head(iter((head + b"\r\n\r\n").splitlines(keepends=True)))
        if status >= 200:
            answer = Answer(status, headers, rest)
            answer.interim = interim
            return answer
        interim.append(status)
        data = rest


class Document:
    """GET /v1/openapi.json, and which of its routes a request was for."""

    def __init__(self, content):
        self.content = content
        self.routes = {(method.upper(), path): operation
                       for path, operations in content["paths"].items()
                       for method, operation in operations.items() if method in METHODS}
        self.patterns = {route: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route[1])))
                         for route in self.routes}

    def find(self, method, path):
        """The route with the fewest places that anything fits in."""
        fitting = [route for route in self.routes
                   if route[0] == method and self.patterns[route].fullmatch(path.partition("?")[0])]
        return min(fitting, key=lambda route: route[1].count("{"), default=None)


class Under:
    """A curl that runs, ended by its pid if it has not ended by itself."""

    def __init__(self, command, body=b""):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.process.stdin.write(body)
        self.process.stdin.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.hang_up()

    @property
    def running(self):
        return self.process.poll() is None

    def hang_up(self):
        if self.running:
            self.process.kill()
        self.process.wait(TIMEOUT_S)
        self.process.stdout.close()
        self.process.stderr.close()

    def read(self):
        """Waits for the answer."""
        data = self.process.stdout.read()
        assert self.process.wait(TIMEOUT_S) == 0, self.process.stderr.read()
        return read_answer(data)


class Stream(Under):
    """Server-sent events."""

    def __init__(self, command):
        super().__init__(command)
        self.lines = iter(self.process.stdout.readline, b"")
        self.status, self.headers = read_head(self.lines)

    def read_event(self):
        """The next one as {"event": …, "data": …, …}; None when the server has ended it."""
        event = {}
        for line in self.lines:
            if line == b"\n":
                if event:
                    return event
                continue
            name, _, value = line.decode().rstrip("\n").partition(":")
            if name:  # a line that begins with a colon is a comment
                event[name] = value.strip()
        assert not event, f"the last one has no end: {event}"
        return None

    def read_until(self, name):
        """The data of the next event of that name."""
        while (event := self.read_event()) is not None:
            if event.get("event") == name:
                return json.loads(event["data"])
        raise AssertionError(f"it ended without {name}")


class Curl:
    """curl as a user calls it. `words` go with every call: curl's options, as they are."""

    def __init__(self, port, *words):
        self.port, self.words = port, words
        self.succeeded = []  # method and path of what was answered with 2xx

    def having(self, *words):
        """The same with more options."""
        other = Curl(self.port, *self.words, *words)
        other.succeeded = self.succeeded
        return other

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def command(self, method, path, words=(), body=None):
        how = {"HEAD": ["--head"], "GET": []}.get(method, ["-X", method])
        if body is not None:
            how += ["--data-binary", "@-"]
            how += [] if isinstance(body, bytes) else ["-H", "Content-Type: application/json"]
        return ["curl", "--disable", "--silent", "--show-error", "--noproxy", "*", "--path-as-is",
                "--max-time", str(TIMEOUT_S), "--include", *how, *self.words, *words,
                self.url(path)]

    def note(self, method, path, status):
        if 200 <= status < 300:
            self.succeeded.append((method, path))

    def call(self, method, path, body=None, *words):
        """One request to its end. A body that is no bytes is sent as JSON."""
        with self.start(method, path, body, *words) as under:
            answer = under.read()
        self.note(method, path, answer.status)
        return answer

    def start(self, method, path, body=None, *words):
        """The same, without waiting for the answer."""
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(
            body).encode()
        return Under(self.command(method, path, words, body), sent)

    def stream(self, path, *words):
        """Listens; `with` it, so that it is ended."""
        stream = Stream(self.command("GET", path, ("--no-buffer", *words)))
        self.note("GET", path, stream.status)
        return stream

    def get(self, path, *words):
        return self.call("GET", path, None, *words)

    def put(self, path, body, *words):
        return self.call("PUT", path, body, *words)

    def post(self, path, body=b"", *words):
        return self.call("POST", path, body, *words)

    def delete(self, path, *words):
        return self.call("DELETE", path, None, *words)


def header(name, value):
    """Without a value: not sent, also if curl would have."""
    return "-H", f"{name}: {value}" if value else f"{name}:"


def keyed(key):
    return header("Idempotency-Key", key)

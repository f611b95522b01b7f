# SPDX-License-Identifier: Apache-2.0
"""Requests by chance, for a whole server: valid ones of every command in the table, over RESP and
over HTTP, what the server itself is asked, and the same bytes disturbed."""

import json

from every_request import as_http, rows
from raw_client import encode, request

IDS = {"event": ("gala", "ball"), "zone": ("floor", "box"), "tenant": ("acme", "umbrella"),
       "product": ("sneaker", "boot"), "resource": ("seat-1", "seat-2"), "name": ("render", "press"),
       "booking": tuple(f"b-{i}" for i in range(12)), "order": tuple(f"o-{i}" for i in range(12)),
       "user": ("ann", "bob", "cleo", "dan"), "saga": tuple(f"s-{i}" for i in range(6)),
       "hold": ("h-1", "h-2", "h-3"), "key": ("k-1", "k-2"), "id": ("w-1", "w-2", "w-3")}
OTHER_IDS = ("x", "y", "z")
ODD_TEXTS = ("", " ", "a b", "{x}", "é", "\0", "x" * 128, "x" * 129, "-1", "nil", "../..", "%00", "'", "*",
             "\r\n", "http:the-write:k-1", "0x10", "1e5", "18446744073709551616")
ODD_NUMBERS = (0, -1, 2**31, 2**53 - 1, 2**53, 2**63 - 1, -2**63, 2**64)
DURATIONS = ("10ms", "1500ms", "1", "30s", "10m", "2h")
OWN = (("PING",), ("ECHO", "x"), ("INFO",), ("AUDIT",), ("SNAPSHOT",), ("METRICS",), ("DBSIZE",),
       ("COMMAND", "DOCS"), ("CLIENT", "LIST"), ("CLIENT", "ID"), ("CONFIG", "GET", "*"), ("RESET",),
       ("SLOWLOG", "GET", "-1"), ("SLOWLOG", "RESET"), ("QUIT",), ("HELLO", "3"), ("HELLO", "2"),
       ("WATCH", "x"), ("UNWATCH",), ("SELECT", "0"), ("MULTI",), ("EXEC",), ("DISCARD",),
       ("AUTH", "nobody's"), ("CLIENT", "KILL", "ID", "3"), ("CLIENT", "SETNAME", "me"))
OWN_ROUTES = (("GET", "/"), ("GET", "/livez"), ("GET", "/readyz"), ("GET", "/metrics"),
              ("GET", "/v1/info"), ("GET", "/v1/openapi.json"), ("POST", "/v1/audit"),
              ("POST", "/v1/snapshot"), ("GET", "/v1/feed"), ("POST", "/v1/payments/callback"),
              ("GET", "/v1/events/gala/queue/ann/stream"), ("GET", "/v1/feed?scope=gala"),
              ("GET", "/v1/events/gala/queue/bob/stream?token=x"), ("OPTIONS", "*"), ("HEAD", "/v1/feed"))
ODD_HEADERS = ("Expect: 100-continue", "Connection: close", "Prefer: wait=1", "Prefer: wait=-1",
               "Accept: application/problem+json", "Origin: http://elsewhere.example",
               "Transfer-Encoding: chunked", "Content-Length: 5", "Host: a", "X-Request-Id: \x7f",
               "Idempotency-Key: \"", "webhook-id: x", "webhook-timestamp: 9999999999999999999",
               "webhook-signature: v1,AAAA", "Last-Event-ID: 18446744073709551615", "Upgrade: h2c")


class Requests:
    """By a seed's dice."""

    def __init__(self, dice):
        self.dice = dice
        self.rows = rows()

    def odd(self):
        return self.dice.random() < 0.04

    def word(self, arg):
        dice = self.dice
        if self.odd():
            return dice.choice(ODD_TEXTS)
        if arg["type"] in ("count", "amount"):
            return str(dice.choice(ODD_NUMBERS) if self.odd() else dice.choice((1, 1, 2, 3, 5, 20, 100)))
        if arg["type"] == "ms":
            return str(dice.randrange(30)) if arg["keyword"] == "WAIT" else dice.choice(DURATIONS)
        if arg["type"] == "choice":
            return dice.choice(arg["choices"].split("|"))
        if arg["type"] == "blob":
            return "x" * dice.choice((0, 1, 100, 5000))
        return dice.choice(IDS.get(arg["name"], OTHER_IDS))

    def command(self):
        """A row and the words behind its name."""
        row = self.dice.choice(self.rows)
        words = [self.word(arg) for arg in row["args"] if arg["keyword"] is None]
        for arg in row["args"]:
            if arg["keyword"] and self.dice.random() < 0.3:
                words += [arg["keyword"]] + ([] if arg["type"] == "flag" else [self.word(arg)])
        return row, words

    def resp(self):
        """The bytes of one request."""
        if self.dice.random() < 0.1:
            return encode(*self.dice.choice(OWN))
        row, words = self.command()
        return encode(row["name"], *words)

    def transaction(self):
        queued = b"".join(self.resp() for _ in range(self.dice.randrange(6)))
        end = self.dice.choice((encode("EXEC"), encode("EXEC"), encode("DISCARD"), b""))
        return encode("MULTI") + queued + end

    def http(self, headers=()):
        dice = self.dice
        headers = [*headers, *(dice.choice(ODD_HEADERS) for _ in range(2) if dice.random() < 0.1)]
        if dice.random() < 0.15:
            method, path = dice.choice(OWN_ROUTES)
            return request(method, path, b"{}" if method == "POST" else None, headers)
        row, words = self.command()
        path, body = as_http(row, words)
        if dice.random() < 0.4:
            headers.append(f"Idempotency-Key: key-{dice.randrange(5)}")
        if body is not None and dice.random() < 0.05:
            body = dice.choice((b"", b"[]", b"{", b'{"a":' * 40, json.dumps(body).encode() + b"x"))
        return request(row["method"], path, body, headers)

    def disturbed(self, data):
        """With a few bytes changed, taken out, put in or sent twice."""
        dice, data = self.dice, bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            at, size = dice.randrange(len(data) + 1), dice.choice((1, 1, 2, 8, 40))
            kind = dice.randrange(5)
            if kind == 0 and at < len(data):
                data[at] = dice.randrange(256)
            elif kind == 1:
                del data[at:at + size]
            elif kind == 2:
                data[at:at] = bytes(dice.randrange(256) for _ in range(size))
            elif kind == 3:
                data[at:at] = data[at:at + size]
            else:
                data[at:at] = dice.choice((b"\r\n", b"\r\n\r\n", b"\0", b"*-1\r\n", b"$-1\r\n", b"*999\r\n",
                                           b"$9999999999\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\n"))
        return bytes(data)

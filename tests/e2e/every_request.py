# SPDX-License-Identifier: Apache-2.0
"""A request for each command of the table and each route of the server, as the build itself lists
them: what is added later is asked for without a word here."""

import json
import re
import shlex
import subprocess
from urllib.parse import quote, urlencode

from harness import Build
from raw_client import Error, http

WAITS = {"WAIT"}
SHORT_WAIT = "20"  # milliseconds: no request here is to wait for long


class Request:
    """One command: `words` for RESP; method, path and body for HTTP, if it has a route."""

    def __init__(self, row, words):
        self.name, self.role, self.service = row["name"], row["role"], row["service"]
        self.words = [self.name, *words]
        self.method, self.route, self.alias = row["method"], row["route"], row["alias"]
        self.path = self.body = None
        if self.route:
            self.path, self.body = as_http(row, words)

    def __repr__(self):
        return " ".join(self.words)

    @property
    def keyable(self):
        """May the request have an Idempotency-Key?"""
        return self.method == "POST"


def rows():
    """What the command table says of each command."""
    program = Build().path / "tests" / "conformance" / "conformance_rows"
    listed = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in listed.splitlines()]


def example_words(row):
    """The words of the row's example behind its name, none of which waits for long."""
    words = shlex.split(re.sub(r"<\w+>", "unknown", row["example"]))[1:]
    return [SHORT_WAIT if before in WAITS else word for before, word in zip([None, *words], words)]


def as_fields(row, words):
    """Field -> value, as JSON has it."""
    positional = [arg for arg in row["args"] if arg["keyword"] is None]
    keywords = {arg["keyword"]: arg for arg in row["args"] if arg["keyword"]}
    fields = {arg["field"]: word for arg, word in zip(positional, words)}
    rest = words[len(positional):]
    while rest:
        arg = keywords[rest.pop(0)]
        fields[arg["field"]] = True if arg["type"] == "flag" else rest.pop(0)
    return fields


def as_http(row, words):
    """The path, with its query, and the body."""
    fields = as_fields(row, list(words))
    path = re.sub(r"{(\w+)}", lambda found: quote(fields.pop(found[1]), safe=""), row["route"])
    if row["method"] in ("GET", "DELETE"):
        query = urlencode({name: "true" if value is True else value
                           for name, value in fields.items()})
        return path + ("?" + query if query else ""), None
    return path, fields


def every_request():
    """One for each command, in the order of the table."""
    return [Request(row, example_words(row)) for row in rows()]


def every_route(port):
    """(method, path with {places}) of all that the server says it answers."""
    listed = http(port, "GET", "/").body.decode()
    return re.findall(r"(?m)^(GET|POST|PUT|DELETE) +(/\S*)", listed)


def own_routes(port):
    """Those that are no command's."""
    commands = {(row["method"], path) for row in rows() for path in (row["route"], row["alias"])}
    return [route for route in every_route(port) if route not in commands]


MADE_ID = "P0CKAN24T02FZJ758YGZBG87M7.gala"  # as the server makes them: it carries its event


def filled(path):
    """A path with something in each of its places."""
    return re.sub(r"{\w+}", MADE_ID if path.startswith("/v1/bookings/") else "gala", path)


def prepare(server):
    """Makes something of each kind, of the names that the requests have."""
    for line in ("SEATS.OPEN gala floor 500 MAX 400", "SEATS.RESERVE gala floor b-1 ann 2 40",
                 "SEATS.RESERVE gala floor b-2 bob 2 40", "SEATS.CONFIRM gala b-2",
                 "QUOTA.LIMIT acme 1000", "QUOTA.RESERVE acme 10 HOLD h-1",
                 "SEM.ACQUIRE render worker-1 1", "SEM.QUEUE render worker-2 30s 1h",
                 "LOCK.TRY seat-12 30s ID cart-7", "STOCK.LOAD sneaker 100",
                 "STOCK.TAKE sneaker o-1 ann 1", "ROOM.OPEN gala RATE 50 INSIDE 400",
                 "ROOM.JOIN gala ann", "ROOM.JOIN gala bob", "ROOM.ADMIT gala 1",
                 "IDEM.BEGIN pay-81 sha-5f2e"):
        answer = server.call(*line.split())
        assert not isinstance(answer, Error), (line, answer)

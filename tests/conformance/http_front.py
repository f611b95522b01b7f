# SPDX-License-Identifier: Apache-2.0
"""A server in place of the driver: over HTTP what has a route and can be said in JSON, the rest
over RESP beside it.

Not to be said in JSON: bytes that are no UTF-8 (but for a blob, in base 64), and requests that are
wrong in their form (a keyword twice, one word too many), which JSON has other forms of. When more
than one argument is at fault, HTTP may name another one first; those go over RESP as well.
"""

import base64
import re
from urllib.parse import quote, urlencode

from front import RespFront
from model import MALFORMED
from model_arguments import FLAG, Malformed, Refused
from raw_client import Http
from raw_client import request as encode_request


BASE64 = "_base64"  # behind the name of a field with bytes that JSON cannot carry


class HttpFront(RespFront):
    def __init__(self, server, rows):
        super().__init__(server, rows)
        self.http = Http(server.http_port)
        self.spare_http = []
        self.requests = 0  # that went over HTTP
        self.asked = set()  # (command, was it granted) of those that did not wait

    def close(self):
        for connection in (self.http, *self.spare_http):
            connection.close()
        return super().close()

    def once(self, argv, expected):
        request = self.request(argv)
        if request is None:
            return super().once(argv, expected)
        self.requests += 1
        row, answer = self.rows[argv[0].upper()], self.http.call(*request)
        self.asked.add((row.name, answer.status < 300))
        if expected is not MALFORMED:  # which is a bad argument in JSON
            self.note("http", row, answer.status >= 300 and answer.code)
        return form(row, answer, expected)

    # ---- calls that wait

    def begin(self, argv):
        request = self.request(argv)
        if request is None:
            return super().begin(argv)
        self.requests += 1
        connection = self.spare_http.pop() if self.spare_http else Http(self.server.http_port)
        return self.waits(argv, connection, encode_request(*request))

    def read_answer(self, waiting):
        if not isinstance(waiting.connection, Http):
            return super().read_answer(waiting)
        self.spare_http.append(waiting.connection)
        answer = waiting.connection.read("POST")
        self.note("http", waiting.row, answer.status >= 300 and answer.code)
        return form(waiting.row, answer, None)

    # ---- requests

    def request(self, argv):
        """(method, path, body), or None if HTTP is not the way."""
        row = self.rows.get(argv[0].upper())
        if row is None or row.method is None:
            return None
        fields = self.fields(row, argv)
        if fields is None:
            return None
        in_path = re.findall(r"{(\w+)}", row.route)
        if not all(fields[name] for name in in_path):
            return None
        path = re.sub(r"{(\w+)}", lambda found: quote(fields.pop(found[1]), safe=""), row.route)
        if row.method in ("GET", "DELETE"):
            query = urlencode({name: "true" if value is True else value
                               for name, value in fields.items()})
            return row.method, path + ("?" + query if query else "")
        return row.method, path, fields

    def fields(self, row, argv):
        """Field -> text (or true) of every argument; None if it cannot be said so."""
        command = self.commands[row.name.encode()]
        if not command.fewest <= len(argv) <= command.most:
            return None
        pairs = list(zip(row.positional, argv[1:], command.positional))
        words = argv[command.fewest:]
        while words:
            keyword = words.pop(0).upper()
            name, kind = command.options.get(keyword, (None, None))
            if name is None or kind is not FLAG and not words:
                return None
            pairs.append((row.arguments[name], True if kind is FLAG else words.pop(0), kind))
        return as_fields(pairs)


def as_fields(pairs):
    fields, faults = {}, 0
    for argument, raw, kind in pairs:
        if argument.field in fields:
            return None
        name = argument.field
        if raw is not True:
            faults += is_faulty(kind, raw)
            plain = as_text(raw)
            if plain is None and argument.type != "blob":
                return None
            if plain is None:
                name, plain = name + BASE64, base64.b64encode(raw).decode()
            raw = plain
        fields[name] = raw
    return fields if faults < 2 else None


def as_text(raw):
    """What a JSON text can carry as it is, or None."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def is_faulty(kind, raw):
    try:
        kind[raw]
    except (Malformed, Refused):
        return True
    return False


# ---- answers


def form(row, answer, expected):
    """An answer in the form of the model's replies."""
    if answer.status >= 300:
        return refusal(row, answer.code, expected)
    body = answer.json
    if row.shape == "page":
        return text(body["cursor"]), [page_item(row, item) for item in body["items"]]
    if row.shape == "pairs":
        return [text(pair[name]) for pair in body for name, _ in row.fields]
    values = [value_of(body, name) for name, _ in row.fields + row.late_fields if holds(body, name)]
    if row.shape == "number":
        return values[0]
    if row.shape == "fields":
        names = [name for name, _ in row.fields if holds(body, name)]
        return [word for pair in zip(names, values) for word in pair]
    if row.shape != "lead":
        return values
    return [2 if values[0] == "COMPLETED" else 1, *values]


def holds(body, name):
    return name in body or name + BASE64 in body


def value_of(body, name):
    if name in body:
        return -1 if body[name] is None else text(body[name])  # a number that is not known
    return base64.b64decode(body[name + BASE64]).decode("latin-1")


def page_item(row, item):
    """As RESP has it: the bare name, or all fields that are shown."""
    if len(row.fields) == 1:
        return text(item[row.fields[0][0]])
    return [word for name, _ in row.fields if name in item for word in (name, text(item[name]))]


def refusal(row, code, expected):
    """HTTP tells neither the figures of a refusal nor a malformed request from a bad argument."""
    if code == row.nil:
        return None
    if code == row.figures and isinstance(expected, list):
        return expected
    if code == "INVALID_ARGUMENT" and expected is MALFORMED:
        return MALFORMED
    return [0, code]


def text(value):
    """Texts of the model have a character for each byte."""
    return value.encode().decode("latin-1") if isinstance(value, str) else value

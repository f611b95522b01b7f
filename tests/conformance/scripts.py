# SPDX-License-Identifier: Apache-2.0
"""The scripts of lua/ called by EVALSHA alone, the way a program in another language would.

ScriptEngine takes commands as the driver of the model test does, and answers the same way, so that
the two can be compared. The scripts are put together with the clock of tests/conformance/parts:
the time of a command goes to its script as the last argument.
"""

import os
import re
import secrets
import subprocess
import sys
import uuid
from pathlib import Path

from redis_connection import RedisError

from model import MALFORMED, Model
from model_arguments import Malformed, Refused

ROOT = Path(__file__).resolve().parent.parent.parent


def limit(name):
    """One of the limits that the scripts have from src/base/limits.h."""
    text = (ROOT / "src/base/limits.h").read_text()
    return int(re.search(rf"^#define {name} (\d+)\b", text, re.MULTILINE).group(1))


ADMIT_MAX = limit("ROOM_ADMIT_MAX")  # users of one ROOM.ADMIT or ROOM.TICK
ADMIT_CHUNK = limit("ROOM_ADMITTED_AT_ONCE")  # of one call of their scripts
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LEASE_S = b"2592000"  # the time of tests makes leaps; who waits here does not die of them
CHANNEL = b"conformance"


def assemble(folder):
    """Puts the scripts together for tests; name -> text."""
    subprocess.run(
        [sys.executable, "tools/assemble-lua",
         "--header", "include/holdfast/common.h", "--header", "include/holdfast/error.h",
         "--header", "src/base/limits.h",
         "--parts", "tests/conformance/parts", "--parts", "lua/parts",
         "--to", folder, "--c", Path(folder) / "scripts.c", "lua"],
        cwd=ROOT, check=True)
    return {path.stem: path.read_bytes() for path in Path(folder).glob("*.lua")}


def load(connection, texts):
    """Name -> SHA-1, as Redis gives it."""
    return {name: connection.call(b"SCRIPT", b"LOAD", text) for name, text in texts.items()}


MADE = {
    "code": lambda values: "".join(secrets.choice(CROCKFORD) for _ in range(10)).encode(),
    "token": lambda values: os.urandom(16).hex().encode(),
    "lock_id": lambda values: (values["id"] or str(uuid.uuid4())).encode("latin-1"),
    "fence": lambda values: b"1",
}


# What is listed: the keys that show it, and whether it is there for sure.
LISTED = {
    "events": (rb"seats:zones:\{(.+)\}", lambda engine, name: True),
    "zones": (rb"zone:totals:\{(.+)\}:(.+)", lambda engine, name: True),
    "tenants": (rb"quota:tenant:([^{}]+):(?:used|limit)",
                lambda engine, name: any(engine.ask_command(b"QUOTA.GET", *name))),
    "semaphores": (rb"adv-sem:semaphore_(?:main|waiting):([^{}]+)",
                   lambda engine, name: any(engine.ask_command(b"SEM.STATS", *name)[i]
                                            for i in (1, 5))),
    "locks": (rb"seat:locked:([^{}]+)",
              lambda engine, name: engine.ask_command(b"LOCK.GET", *name) is not None),
    "products": (rb"stock:totals:\{(.+)_main\}", lambda engine, name: True),
    "rooms": (rb"queue:(?:room|due|passes):\{(.+)\}", lambda engine, name: engine.has_room(*name)),
    "keys": (rb"idemp:([^{}]+)", lambda engine, name: engine.has_key(*name)),
}


class Waiting:
    """A SEM.ACQUIRE that stands in line."""

    def __init__(self, number, keys, values, end_ms):
        self.number = number  # of the command
        self.keys = keys
        self.id = values["id"].encode("latin-1")
        self.token = b"%d" % number
        self.end_ms = end_ms


class Line:
    """The calls of ours that wait for one semaphore."""

    def __init__(self):
        self.calls = {}  # token -> Waiting, in the order of the commands
        self.look_at_ms = 0  # when a slot falls free by time

    def one_to_ask(self, now_ms):
        """A call for which something fell due, or None. The answer to one of them makes the
        scripts tell the others."""
        late = next((call for call in self.calls.values() if call.end_ms <= now_ms), None)
        if late is None and self.look_at_ms <= now_ms:
            return next(iter(self.calls.values()))
        return late


class ScriptEngine:
    """On one connection to one server; in place of the model test's Driver."""

    def __init__(self, connection, shas, rows):
        self.connection = connection
        self.shas = shas
        self.rows = rows
        self.commands = Model().commands  # for their arguments alone
        self.now = 0
        self.number = 0
        self.again = 0  # times a script said that more was due
        self.lines = {}  # key of a semaphore's slots -> Line
        self.answers = []
        connection.subscribe(CHANNEL)

    # ---- as a driver

    def line(self, now_ms, argv):
        return now_ms, argv

    def send(self, lines):
        for now_ms, argv in lines:
            self.answers.append(self.apply(now_ms, argv))

    def receive(self, count):
        answers, self.answers = self.answers[:count], self.answers[count:]
        return answers

    def close(self):
        self.connection.close()
        return 0

    def apply(self, now_ms, argv):
        """[reply, wakes] of one command."""
        self.now = max(self.now, now_ms)  # Redis' clock in a test stands still rather than go back
        self.number += 1
        reply = walk(self.reply, argv)
        return [reply, self.look()]

    # ---- commands

    def reply(self, argv):
        name = argv[0].upper()
        if name not in self.rows:
            return MALFORMED
        row = self.rows[name]
        try:
            positional, options = self.commands[name].parse(argv)
        except Malformed:
            return MALFORMED
        except Refused as refusal:
            return [0, refusal.code]
        for option in options:
            if (row.arguments[option].needs or option) not in options:
                return [0, "INVALID_ARGUMENT"]
        values = row.values(positional, options)
        special = {"SEM.ACQUIRE": self.acquire, "ROOM.ADMIT": self.admit,
                   "ROOM.TICK": self.tick, "LIST": self.list}.get(row.name)
        if special:
            return special(row, values)
        arguments = row.script_arguments(values, MADE)
        return shaped(row, self.run(row.script, row.keys(values), arguments))

    def run(self, script, keys, arguments):
        """One call, again as long as more is due than one call gives back."""
        for key in keys:
            if key in self.lines:  # whatever it does, it may change what is due next
                self.lines[key].look_at_ms = 0
        words = (b"EVALSHA", self.shas[script], b"%d" % len(keys), *keys, *arguments,
                 b"%d" % self.now)
        while True:
            try:
                return self.connection.call(*words)
            except RedisError as error:
                if not str(error).startswith("AGAIN"):
                    raise
                self.again += 1

    def admit(self, row, values):
        admitted = []
        left = min(values["count"], ADMIT_MAX)
        if values["id"]:
            return self.admit_by_id(row, {**values, "count": left})
        while left > 0:
            call = {**values, "count": left}
            got = self.run(row.script, row.keys(call), row.script_arguments(call, MADE))
            admitted += got
            left -= len(got) // 2
            if len(got) // 2 < ADMIT_CHUNK:
                break
        return shaped(row, admitted)

    def tick(self, row, values):
        admitted, more = [], True
        while more and len(admitted) // 2 < ADMIT_MAX:
            got = self.run(row.script, row.keys(values), row.script_arguments(values, MADE))
            admitted += got
            more = len(got) // 2 == ADMIT_CHUNK
        return shaped(row, admitted)

    def admit_by_id(self, row, values):
        """The script says where the next call begins."""
        admitted, place = [], b"0"
        while place:
            arguments = row.script_arguments(values, MADE) + [place]
            got = self.run(row.script, row.keys(values), arguments)
            if is_refusal(got):
                return shaped(row, got)
            place, *more = got
            admitted += more
        return shaped(row, admitted)

    # ---- lists, for which there is no script: the keys tell what there is

    def list(self, row, values):
        if values["after"]:
            return [0, "INVALID_ARGUMENT"]
        form, question = LISTED[values["kind"]]
        names = {match.groups() for key in self.connection.call(b"KEYS", b"*")
                 if (match := re.fullmatch(form, key, re.DOTALL))}
        found = [b" ".join(name).decode("latin-1") for name in names if question(self, name)]
        return "", [name for name in found if name.startswith(values["match"])]

    def ask_command(self, *argv):
        return self.reply(list(argv))

    def has_room(self, event):
        return self.connection.call(b"EXISTS", b"queue:room:{%s}" % event) or any(
            self.connection.call(b"ZCOUNT", users % event, b"(%d" % self.now, b"+inf")
            for users in (b"queue:due:{%s}", b"queue:passes:{%s}"))

    def has_key(self, key):
        known = self.connection.call(b"HMGET", b"idemp:" + key, b"state", b"deadline")
        return known[0] is not None and int(known[1]) > self.now

    # ---- waiting

    def acquire(self, row, values):
        keys = row.keys(values)
        call = Waiting(self.number, keys, values, self.now + values["wait"])
        arguments = row.script_arguments(values, MADE) + [call.token, CHANNEL, LEASE_S]
        arguments.append(b"%d" % values["slots"])
        reply = self.run(row.script, keys, arguments)
        if reply[0] != 2:
            return shaped(row, reply)
        self.lines.setdefault(keys[0], Line()).calls[call.token] = call
        return "WAIT"

    def look(self):
        """The answers to calls that waited, by command: told by messages, or by asking when
        something fell due."""
        wakes = []
        self.read_messages(wakes)
        for key, line in list(self.lines.items()):
            while line.calls and (call := line.one_to_ask(self.now)):
                self.ask(line, call, wakes)
                self.read_messages(wakes)
            if not line.calls:
                del self.lines[key]
        return sorted(wakes, key=lambda wake: wake[0])

    def ask(self, line, call, wakes):
        reply = self.run("await_slot", call.keys, [call.id, call.token, LEASE_S, b"0"])
        if reply[0] == 2:
            assert reply[2] > 0, f"{call.token} is to ask again at once"
            line.look_at_ms = self.now + reply[2]
        else:
            del line.calls[call.token]
            wakes.append([call.number, shaped(self.rows[b"SEM.ACQUIRE"], reply)])

    def read_messages(self, wakes):
        """<key> <id> <token> 1 <in_use> <fence>, or 0 <why> or 2 <slots> <limit> in the end."""
        messages, self.connection.messages = self.connection.messages, []
        for _, payload in messages:
            key, _, token, granted, rest = payload.split(b" ", 4)
            call = key in self.lines and self.lines[key].calls.pop(token, None)
            if call:
                answer = {b"1": lambda: [1, *map(int, rest.split())], b"0": lambda: [0, "TIMEOUT"],
                          b"2": lambda: [0, "INVALID_QUANTITY"]}[granted]()
                wakes.append([call.number, answer])


# ---- replies


def shaped(row, reply):
    """A script's reply in the form of the model's."""
    if is_refusal(reply):
        return [0, reply[1].decode()]
    if row.shape == "lead":
        return [reply[0], *values_of(row, reply[1:])]
    if row.shape == "fields":
        if isinstance(reply, dict):
            reply = [word for pair in reply.items() for word in pair]
        names = [name.decode() for name in reply[::2]]
        return [word for pair in zip(names, values_of(row, reply[1::2])) for word in pair]
    if row.shape == "list" and reply is not None:
        return values_of(row, reply)
    if row.shape == "page":
        return reply[0].decode("latin-1"), [page_item(row, item) for item in reply[1:]]
    if row.shape == "pairs":
        return [text.decode("latin-1") for text in reply]
    return reply


def page_item(row, item):
    """The bare name, or the shown fields of an item, each with its value."""
    if isinstance(item, dict):
        item = [word for pair in item.items() for word in pair]
    if not isinstance(item, list):
        return item.decode("latin-1")
    kinds = dict(row.fields)
    pairs = [(name.decode(), value) for name, value in zip(item[::2], item[1::2])]
    words = [word for name, value in pairs if name in kinds
             for word in (name, value.decode("latin-1") if kinds[name] else int(value))]
    return words[1] if len(row.fields) == 1 else words


def walk(call, argv):
    """The reply to a command; of a list, all items from the first page to the last."""
    reply = call(argv)
    if not isinstance(reply, tuple):
        return reply
    cursor, items = reply
    at = next((i for i, word in enumerate(argv) if word.upper() == b"AFTER"), None)
    words = argv if at is None else argv[:at] + argv[at + 2:]
    while cursor:
        reply = call([*words, b"AFTER", cursor.encode("latin-1")])
        if not isinstance(reply, tuple):
            return reply
        cursor = reply[0]
        items += reply[1]
    return {"items": items}


def is_refusal(reply):
    return (isinstance(reply, list) and len(reply) == 3 and reply[0] == 0
            and isinstance(reply[1], bytes) and isinstance(reply[2], bytes))


def values_of(row, values):
    """The fields that are shown, numbers as numbers; those at the end may be missing."""
    shown = [value.decode("latin-1") if is_text else int(value)
             for (_, is_text), value in zip(row.fields, values)]
    if row.late_fields and isinstance(values[-1], bytes):
        shown.append(values[-1].decode("latin-1"))
    return shown

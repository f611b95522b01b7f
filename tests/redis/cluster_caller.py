# SPDX-License-Identifier: Apache-2.0
"""A program outside that calls the scripts on a cluster by EVALSHA. It takes commands as a server of
ours does, makes of them the KEYS and ARGV that the table says, and follows MOVED, ASK, TRYAGAIN,
NOSCRIPT and AGAIN, as docs/lua.md asks of whoever calls."""

import random
import re
import secrets
import sys
import time
import uuid
from pathlib import Path

from harness import Build
from server import Connection, Error
from slot_moves import key_slot

sys.path.append(str(Path(__file__).resolve().parent.parent / "conformance"))

from rows import CLUSTER, load_rows  # noqa: E402

PATIENCE_S = 30
UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
NOT_YET = ("TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN")
MADE = {"code": lambda values: secrets.token_hex(5).upper().encode(),
        "token": lambda values: secrets.token_hex(16).encode(),
        "lock_id": lambda values: (values["id"] or str(uuid.uuid4())).encode(),
        "fence": lambda values: b"1"}  # the answer is to have it


def to_value(argument, word):
    """A word of a command as the rows take it: durations in ms."""
    if argument.type == "ms":
        number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)?", str(word)).groups()
        return int(number) * UNITS_MS[unit or "s"]
    return word if argument.type in ("id", "text", "blob", "choice") else int(word)


class Table:
    """The rows and the scripts of the build."""

    def __init__(self):
        self.rows = load_rows(Build().path / "tests" / "conformance" / "conformance_rows")
        self.texts = {path.stem: path.read_bytes() for path in (Build().path / "lua").glob("*.lua")}

    def script_call(self, words):
        """Script, KEYS and ARGV of a command."""
        row, rest = self.rows[words[0].encode()], [str(word) for word in words[1:]]
        count = len(row.positional)
        values = row.values([to_value(argument, word) for argument, word
                             in zip(row.positional, rest)], {})
        keywords = {argument.keyword: argument for argument in row.arguments.values()}
        for keyword, word in zip(rest[count::2], rest[count + 1::2]):
            values[keywords[keyword].name] = to_value(keywords[keyword], word)
        arguments = row.script_arguments(values, MADE)
        if row.name == "SEM.ACQUIRE":  # nobody here waits: the call's name, channel, lease, slots
            arguments += [b"%d" % secrets.randbits(52), b"nobody", b"10", b"%d" % values["slots"]]
        return row.script, row.keys(values, CLUSTER), arguments


class ClusterCaller:
    """For one thread."""

    def __init__(self, cluster, table):
        self.cluster, self.table = cluster, table
        self.connections = {}  # by port
        self.owners = {}  # port by slot, as learned from MOVED
        self.shas = {}
        self.seen = {}  # how often each error came

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def call(self, *words):
        """The reply, or the Error, of a command; a broken connection is a TIMEOUT, as it is for a
        server of ours: the call may have been carried out."""
        script, keys, arguments = self.table.script_call(words)
        slot, end = key_slot(keys[0]), time.monotonic() + PATIENCE_S
        port, asking = None, False
        while True:
            port = port or self.owners.get(slot) or self._any_port()
            try:
                reply = self._send(port, asking, script, keys, arguments)
            except OSError:
                self.connections.pop(port, None)
                self.owners.clear()
                return Error("TIMEOUT outcome unknown: the connection broke")
            if not isinstance(reply, Error):
                return reply
            assert time.monotonic() < end, f"{words}: still {reply}"
            self.seen[reply.code] = self.seen.get(reply.code, 0) + 1
            port, asking = self._follow(reply, slot, port, asking, script)
            if port == 0:
                return reply

    def _any_port(self):
        return random.choice([node.port for node in self.cluster.members if node.running])

    def _send(self, port, asking, script, keys, arguments):
        if port not in self.connections:
            self.connections[port] = Connection(port, PATIENCE_S)
        connection = self.connections[port]
        if asking:
            connection.send("ASKING")
        connection.send("EVALSHA", self.shas.get(script, "0" * 40), len(keys), *keys, *arguments)
        if asking:
            assert connection.read() == "OK"
        return connection.read()

    def _follow(self, error, slot, port, asking, script):
        """Where the call goes next, and whether with ASKING; port 0: nowhere."""
        if error.code == "MOVED":
            self.owners[slot] = int(error.message.rpartition(":")[2])
            return None, False
        if error.code == "ASK":
            return int(error.message.rpartition(":")[2]), True
        if error.code == "NOSCRIPT":
            text = self.table.texts[script]
            self.shas[script] = self.connections[port].call("SCRIPT", "LOAD", text)
            return port, asking
        if error.code in NOT_YET:
            time.sleep(random.uniform(0.002, 0.01))
            self.owners.pop(slot, None)
            return None, False
        return (port, asking) if error.code == "AGAIN" else (0, False)

# SPDX-License-Identifier: Apache-2.0
"""One call of every script of the build, as the engine makes it: overheard with MONITOR while a
server on a cluster carries out commands that need each of them."""

import re
import threading

from commands_page import EXAMPLES, fill_in
from harness import Build
from server import Connection, Error
from servers import wait_until

WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"')
ESCAPED = re.compile(rb'\\(x[0-9a-f]{2}|.)')
ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}

# What the scripts are for that no command names: steps of products in shards, of waiting, of lists.
# Each line is a command; the last word of a line in brackets says that it may be refused.
BEYOND_THE_PAGE = """
SEM.ACQUIRE line first 1
SEM.ACQUIRE line second 1 WAIT 300 ?
LIST events
LIST semaphores
STOCK.LOAD split 40 SHARDS 4 WATERMARK 8
STOCK.TAKE split o-1 ann 1
STOCK.EXTEND split o-1 5m
STOCK.TAKE split o-2 ann 15
STOCK.SETTLE split o-2
STOCK.LIST split
STOCK.SHARDS split
STOCK.ADJUST split -1 damaged
STOCK.GET split
STOCK.GIVE split o-1
STOCK.TAKE split o-3 ann 19
STOCK.GIVE split o-3
STOCK.LOAD few 40 SHARDS 4 POLICY steal
STOCK.TAKE few o-1 ann 1 MAX 5
STOCK.SETTLE few o-9 ?
STOCK.GIVE few o-1 USER ann
STOCK.CLOSE few
"""

# What the release worker gives back, in scopes that nobody asks for again.
FALLS_DUE = """
SEATS.OPEN due floor 10
SEATS.RESERVE due floor b-1 ann 1 4 TTL 50ms
QUOTA.LIMIT due 10
QUOTA.RESERVE due 1 HOLD h-1 TTL 50ms
STOCK.LOAD due 10
STOCK.TAKE due o-1 ann 1 TTL 50ms
ROOM.JOIN due ann TTL 50ms
"""


class ScriptCall:
    """KEYS and ARGV that a script was called with."""

    def __init__(self, sha, keys, arguments):
        self.sha, self.keys, self.arguments = sha, keys, arguments

    @property
    def words(self):
        return [b"EVALSHA", self.sha, b"%d" % len(self.keys), *self.keys, *self.arguments]


class Monitor:
    """The first call of each script that one node is sent, by SHA-1."""

    def __init__(self, node):
        self.calls = {}
        self.connection = Connection(node.port)
        assert self.connection.call("MONITOR") == "OK"
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self):
        for line in self.connection.file:
            words = [ESCAPED.sub(unescape, word) for word in WORD.findall(line)]
            if words and words[0] == b"EVALSHA":
                count = int(words[2])
                self.calls.setdefault(words[1], ScriptCall(
                    words[1], words[3:3 + count], words[3 + count:]))

    def close(self):
        self.connection.socket.shutdown(2)
        self.thread.join()
        self.connection.close()


def unescape(found):
    what = found[1]
    return bytes.fromhex(what[1:].decode()) if len(what) == 3 else ESCAPES.get(what, what)


def is_granted(reply):
    """Neither an error nor {0, CODE, message}."""
    return not isinstance(reply, Error) and not (
        isinstance(reply, list) and reply[:1] == [0] and isinstance(reply[1], str))


def named(command, reply):
    """A reply's values, by their names on the page of commands."""
    names = next(example for example in EXAMPLES if example.name == command).names
    return dict(zip(names, reply[-len(names):])) if isinstance(reply, list) else {}


def carry_out(server, lines):
    """Commands that are granted, but for those with a question mark behind them."""
    for line in lines.split("\n"):
        words = line.split()
        if words:
            reply = server.call(*(word for word in words if word != "?"))
            assert is_granted(reply) or words[-1] == "?", f"{line}: {reply}"


def carry_out_example(server, example, scope):
    given = None
    for words in [*example.before, example.line]:
        words = fill_in(words if example.name == "LIST" else [words[0], scope, *words[2:]], given)
        reply = server.call(*words)
        assert is_granted(reply), f"{words}: {reply}"
        given = named(words[0], reply)


def overheard(cluster, server):
    """Script -> ScriptCall; the server runs a release worker."""
    texts = {path.stem: path.read_bytes() for path in (Build().path / "lua").glob("*.lua")}
    client = cluster.masters[0].client()
    names = {client.script_load(text).encode(): name for name, text in texts.items()}
    monitors = [Monitor(node) for node in cluster.masters]
    try:
        for number, example in enumerate(EXAMPLES):
            if not example.needs_ledger:
                carry_out_example(server, example, f"{example.line[1]}-o{number}")
        carry_out(server, FALLS_DUE)
        carry_out(server, BEYOND_THE_PAGE)

        def heard():
            return {names[sha]: call for monitor in monitors
                    for sha, call in list(monitor.calls.items()) if sha in names}
        try:
            wait_until(lambda: heard().keys() == texts.keys(), "every script was called", 10)
        except AssertionError:
            missing = sorted(texts.keys() - heard().keys())
            raise AssertionError(f"no command here calls {missing}") from None
        return heard()
    finally:
        for monitor in monitors:
            monitor.close()

# SPDX-License-Identifier: Apache-2.0
"""A `holdfast serve` of a test's own: free ports, a temporary directory, ended by its pid."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from harness import ROOT, TIMEOUT_S, Build
from own_server import BUSY, OwnServer, free_port, free_ports, wait_until  # noqa: F401

READY = re.compile(r"holdfast: ready resp=(\S+):(\d+) http=(\S+):(\d+) engine=(\S+)")


class Server(OwnServer):
    """Starts on the way in, stops on the way out; usable with `with`, too.

        with Server() as server:                  # in a temporary directory that goes with it
            redis.Redis(port=server.resp_port).execute_command("PING")

    `flags` go to `holdfast serve` as they are. directory=None: a temporary one; memory=True: none.
    """

    def __init__(self, *flags, directory=None, memory=False, env=None, program=None, start=True):
        self.program = program or Build().program
        self.flags = [str(flag) for flag in flags]
        self.env = env or {}
        self.memory = memory
        self.temporary = Path(tempfile.mkdtemp(prefix="holdfast-")) if directory is None else None
        self.directory = Path(directory) if directory else self.temporary / "data"
        self.resp_port = self.http_port = 0  # chosen at the first start, kept over a restart()
        self.engine = None
        if start:
            self.start()

    # ---- its life

    def command(self):
        where = ["--memory"] if self.memory else ["--dir", str(self.directory)]
        where = [] if "--engine" in self.flags else where  # the engine's URL says where
        return [str(self.program), "serve", *where, "--resp-port", str(self.resp_port),
                "--http-port", str(self.http_port), *self.flags]

    def start(self):
        """Starts it and waits for the line that says it is ready. Its ports are those that nobody's
        outgoing connection is given: somebody else could have one while it is down."""
        assert self.process is None, "it is running"
        if self.engine is not None:  # a restart
            return self._start_once()
        for tries_left in (2, 1, 0):
            self.resp_port, self.http_port = free_ports(2)
            try:
                return self._start_once()
            except AssertionError as error:
                if BUSY not in str(error) or not tries_left:
                    raise
        return None

    def _start_once(self):
        where = self.temporary or self.directory.parent
        self.log = open(where / "server.log", "ab")
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
            cwd=ROOT, env={**os.environ, **self.env}, text=True)
        line = self.process.stdout.readline()
        ready = READY.match(line)
        if not ready:
            code = self.kill()
            raise AssertionError(f"not ready: {line!r}, exit code {code}\n{self.said()}")
        self.resp_port, self.http_port = int(ready[2]), int(ready[4])
        self.engine = ready[5]
        return self

    def _ended(self, process):
        process.stdout.close()
        self.log.close()

    def close(self):
        """Ends it, if it still runs, and takes the temporary directory away."""
        try:
            self.stop()
        finally:
            if self.temporary:
                shutil.rmtree(self.temporary, ignore_errors=True)

    # ---- talking to it

    @property
    def url(self):
        return f"holdfast://127.0.0.1:{self.resp_port}"

    def said(self):
        """What it wrote on standard error, over all its starts."""
        return Path(self.log.name).read_text(errors="replace")

    def call(self, *words, timeout=TIMEOUT_S):
        """One command on a connection of its own; numbers, strings, None, lists, or Error."""
        with Connection(self.resp_port, timeout) as connection:
            return connection.call(*words)

    def connect(self, timeout=TIMEOUT_S):
        return Connection(self.resp_port, timeout)


class Error(Exception):
    """An error reply: -CODE message."""

    def __init__(self, line):
        super().__init__(line)
        self.code, _, self.message = line.partition(" ")

    def __eq__(self, other):
        return isinstance(other, Error) and str(self) == str(other)


class Opened:
    """A socket with its file for reading, closed with the block that uses it."""

    def __init__(self, port, timeout=TIMEOUT_S, context=None, source=None):
        self.socket = socket.create_connection(
            ("127.0.0.1", port), timeout, source and (source, 0))
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()


class Connection(Opened):
    """RESP2 in its simplest form, for tests that look at the bytes' meaning and no more."""

    def send(self, *words):
        """A command, without waiting for its answer."""
        encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))

    def call(self, *words):
        self.send(*words)
        return self.read()

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Error(rest.decode(errors="backslashreplace"))
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode(
                errors="backslashreplace")
        if kind == b"*":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        raise ValueError(f"not RESP2: {line!r}")

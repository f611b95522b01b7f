# SPDX-License-Identifier: Apache-2.0
"""The driver: a child process that runs the engine, one line per command.

In: the time and the percent-encoded arguments, separated by tabs. Out: one line of JSON each. A
line that begins with an exclamation mark is a directive.
"""

import json
import os
import select
import subprocess

PLAIN_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-")
REMEMBERED_ARGUMENTS = 100_000
READ_BYTES = 1 << 20
PATIENCE_S = 60


class DriverDied(Exception):
    """The driver ended, or hangs, in the middle of its work."""

    def __init__(self, reason, answers):
        super().__init__(reason)
        self.answers = answers  # what it still answered


class Encoded(dict):
    """Raw argument -> its percent-encoded form. Most arguments come again and again."""

    def __missing__(self, raw):
        if PLAIN_BYTES.issuperset(raw):
            text = raw.decode("ascii")
        else:
            text = "".join([chr(b) if b in PLAIN_BYTES else "%%%02X" % b for b in raw])
        if len(raw) <= 256:
            if len(self) >= REMEMBERED_ARGUMENTS:
                self.clear()
            self[raw] = text
        return text


class Driver:
    def __init__(self, *command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self.to_driver = self.process.stdin.fileno()
        self.from_driver = self.process.stdout.fileno()
        os.set_blocking(self.to_driver, False)
        self.encoded = Encoded()
        self.received = []  # pieces not yet handed out
        self.lines_received = 0

    def line(self, now_ms, argv):
        encoded = self.encoded
        return "\t".join([str(now_ms), *[encoded[raw] for raw in argv]])

    def send(self, lines):
        """Writes the lines, and reads meanwhile: a full pipe must not stop the two of us."""
        rest = memoryview(("\n".join(lines) + "\n").encode("ascii"))
        while rest:
            readable, writable = self.ready([self.to_driver])
            if readable:
                self.read()
            if writable:
                try:
                    rest = rest[os.write(self.to_driver, rest) :]
                except BrokenPipeError:
                    self.read_to_the_end()

    def receive(self, count):
        """The answers to the next count lines, decoded. They have to be the only ones under way."""
        while self.lines_received < count:
            self.ready([])
            self.read()
        text = b"".join(self.received).decode("ascii")
        self.received.clear()
        self.lines_received = 0
        return json.loads("[" + text[:-1].replace("\n", ",") + "]")

    def ask(self, directive):
        self.send(["!" + directive])
        return self.receive(1)[0]

    def close(self):
        """Ends the input; the driver's exit code."""
        os.close(self.to_driver)
        self.process.stdin = None
        return self.process.wait()

    def ready(self, writers):
        """Waits until something can be read or written; which of the two."""
        readable, writable, _ = select.select([self.from_driver], writers, [], PATIENCE_S)
        if not readable and not writable:
            self.process.kill()
            self.process.wait()
            raise DriverDied(f"no answer for {PATIENCE_S} s", self.complete_answers())
        return readable, writable

    def read(self):
        piece = os.read(self.from_driver, READ_BYTES)
        if not piece:
            returncode = self.process.wait()
            raise DriverDied(f"the driver ended with code {returncode}", self.complete_answers())
        self.received.append(piece)
        self.lines_received += piece.count(b"\n")

    def read_to_the_end(self):
        while True:
            self.read()

    def complete_answers(self):
        lines = b"".join(self.received).decode("ascii", "replace").split("\n")
        return [json.loads(line) for line in lines[:-1]]

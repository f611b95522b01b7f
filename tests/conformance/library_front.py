# SPDX-License-Identifier: Apache-2.0
"""The library in place of the driver: `holdfast call`, a program on holdfast.h alone, as a client
of the server whose clock the test sets. What a line cannot say (a NUL, a call that waits) goes over
RESP beside it."""

import json
import subprocess

from front import RespFront
from harness import Build
from http_front import form
from model import MALFORMED


class Answer:
    """A reply of the library in the form of an HTTP answer, which has the same JSON."""

    def __init__(self, line):
        self.json = json.loads(line)
        error = self.json.get("error") if isinstance(self.json, dict) else None
        self.code = error and error["code"]
        self.status = 400 if error else 200


class LibraryFront(RespFront):
    def __init__(self, server, rows):
        super().__init__(server, rows)
        self.process = subprocess.Popen(
            [Build().program, "call", "--json", "--url", server.url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        return super().close()

    def once(self, argv, expected):
        row = self.rows.get(argv[0].upper())
        if row is None or b"\0" in b"".join(argv) or b"\n" in b"".join(argv):
            return super().once(argv, expected)
        self.process.stdin.write(b" ".join(map(quoted, argv)) + b"\n")
        self.process.stdin.flush()
        answer = Answer(self.process.stdout.readline())
        if answer.code == "INVALID_ARGUMENT" and expected is MALFORMED:
            return MALFORMED
        self.note("library", row, answer.code)
        return form(row, answer, expected)


def quoted(word):
    return b'"' + word.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'

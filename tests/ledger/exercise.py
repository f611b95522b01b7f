# SPDX-License-Identifier: Apache-2.0
"""Drives the drivers of databases through the program sql_exercise, whose lines its head describes.

    with Exercise(build) as exercise:
        exercise.connect(url)
        ended = exercise.run(Step("UPDATE t SET n = n + 1 WHERE id = ?", [["a"]], expected=1))
        assert ended.result == "DONE"
"""

import re
import subprocess
from typing import Any, NamedTuple

ANY = None  # of Step.expected
DEADLINE_MS = 20_000


class Step(NamedTuple):
    """A statement and rows of values for it; types are found in them if not given."""
    text: str
    rows: list = [[]]
    expected: Any = ANY
    types: str = ""


class Ended(NamedTuple):
    result: str
    ms: int
    step: int
    row: int
    message: str
    rows: list  # (row of values it answers to, column, column, …), texts as bytes


def written(value):
    if value is None:
        return "n"
    if isinstance(value, int):
        return f"i{value}"
    return "t" + (value if isinstance(value, bytes) else value.encode()).hex()


def read(word):
    kind, rest = word[0], word[1:]
    return {"n": lambda: None, "i": lambda: int(rest), "t": lambda: bytes.fromhex(rest)}[kind]()


class Exercise:
    def __init__(self, build):
        self.process = subprocess.Popen([build.path / "tests" / "sql_exercise"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.numbers = {}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.stdin.close()
        try:
            code = self.process.wait(60)
        finally:
            self.process.kill()
            self.process.stdout.close()
        assert code == 0 or exception[0], f"sql_exercise ended with {code}"

    # ---- lines

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self):
        """The lines of an answer; the last is its end."""
        lines = []
        while not lines or lines[-1].startswith("row "):
            line = self.process.stdout.readline().decode()
            assert line, f"sql_exercise ended with {self.process.wait(60)} after {lines[-1:]}"
            lines.append(line.rstrip("\n"))
        return lines

    def ask(self, line):
        self.send(line)
        return self.answer()[-1]

    # ---- what they say

    def check(self, url):
        return self.ask(f"check {url}")

    def show(self, url):
        return self.ask(f"show {url}").removeprefix("shown ")

    def connect(self, url, name=0, deadline_ms=DEADLINE_MS):
        """None if it is connected, else why not."""
        said = self.ask(f"connect {name} {deadline_ms} {url}")
        return None if said == "connected" else said.removeprefix("away ")

    def close(self, name=0):
        assert self.ask(f"close {name}") == "ok"

    def _number(self, text, types):
        if (text, types) not in self.numbers:
            number = self.numbers[text, types] = len(self.numbers)
            assert self.ask(f"statement {number} {types or '-'} {text.encode().hex()}") == "ok"
        return self.numbers[text, types]

    def begin(self, *steps, name=0, commit=True, deadline_ms=DEADLINE_MS):
        """Starts a run, for finish() to wait for."""
        for text, rows, expected, types in steps:
            types = types or "".join("i" if isinstance(value, int) else "t" for value in rows[0])
            values = " ".join(written(value) for row in rows for value in row)
            number = self._number(text, types)
            wanted = "-" if expected is ANY else expected
            assert self.ask(f"step {number} {len(rows)} {wanted} {values}") == "ok"
        self.send(f"run {name} {deadline_ms} {'commit' if commit else 'keep'}")

    def finish(self):
        *rows, end = self.answer()
        result, ms, step, row, message = re.fullmatch(r"(\w+) (\d+) (\d+) (\d+) ?(.*)", end).groups()
        values = [(int(row.split()[2]), *(read(word) for word in row.split()[3:])) for row in rows]
        return Ended(result, int(ms), int(step), int(row), message, values)

    def run(self, *steps, **options):
        self.begin(*steps, **options)
        return self.finish()

    def script(self, text, name=0, deadline_ms=DEADLINE_MS):
        self.send(f"script {name} {deadline_ms} {text.encode().hex()}")
        return self.finish()

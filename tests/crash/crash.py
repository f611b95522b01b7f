# SPDX-License-Identifier: Apache-2.0
"""Running crash_worker under strace, which kills it before the nth call of a kind, and looking at
what is left.

strace counts the calls of every process and thread by itself. Without -f it follows the first one
alone. With -f the others are told apart by the names of their files (-P): the child that writes a
snapshot, and the thread that removes what it replaces, a file of another name each time.

The signal comes before the call is made: what is on disk is what all calls before it have left
there, so that one point before each call that changes something covers them all.
"""

import os
import re
import shutil
import struct
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

TIMEOUT_S = 120
BATCH = 6          # the most commands in flight in `run`
BATCH_RUSHED = 64  # in `rush`
CRASHED = -9       # strace ends the way its program does

# Every call by which a directory could be changed, whichever of them are used.
FAMILIES = {
    "write": ["pwrite64", "write", "pwritev", "pwritev2", "copy_file_range", "sendfile"],
    "sync": ["fdatasync", "fsync", "sync_file_range", "syncfs", "msync"],
    "rename": ["renameat", "rename", "renameat2", "link", "linkat"],
    "unlink": ["unlinkat", "unlink"],
    "open": ["openat", "open", "openat2", "creat", "mkdir", "mkdirat", "flock"],
    "resize": ["fallocate", "ftruncate", "truncate"],
    "acknowledge": ["writev"],  # on disk, but nobody was told
}
CALLS = [call for family in FAMILIES.values() for call in family]


class Lost(AssertionError):
    """Something is not as it must be after a crash."""


class Worker:
    """crash_worker, with directories of its own to work in."""

    def __init__(self, program, base, sanitized):
        self.program = str(program)
        self.base = Path(base)
        # LeakSanitizer cannot work under ptrace.
        options = os.environ.get("ASAN_OPTIONS", "")
        self.env = dict(os.environ, ASAN_OPTIONS=f"{options}:detect_leaks=0".lstrip(":"))
        self.sanitized = sanitized

    def run(self, *words, strace=(), out=subprocess.PIPE):
        """Runs it to its end, and its children too if `out` is a pipe."""
        command = ["strace", *strace, "--"] if strace else []
        return subprocess.run(
            [*command, self.program, *map(str, words)], stdout=out, stderr=subprocess.PIPE,
            env=self.env, text=True, timeout=TIMEOUT_S)

    def start(self, *words, out, strace=()):
        command = ["strace", *strace, "--"] if strace else []
        return subprocess.Popen([*command, self.program, *map(str, words)], stdout=out,
                                stderr=subprocess.DEVNULL, env=self.env)

    def check(self, directory, seed, acked, in_flight=BATCH):
        """Recovers a directory; gives the number of the next command, or says what is lost."""
        ended = self.run("check", directory, seed, acked, in_flight)
        if ended.returncode != 0:
            raise Lost(f"after {acked} answers: {ended.stderr.strip() or ended.returncode}")
        return int(ended.stdout.split()[1])


def last_answered(text, first=1):
    """The last command answered; all before it must have been, too."""
    numbers = [int(number) for number in re.findall(r"(?m)^(\d+) \w+$", text)]
    last = max(numbers, default=first - 1)
    if sorted(numbers) != list(range(first, last + 1)):
        raise Lost(f"not every command up to {last} was answered once")
    return last


# ---- strace ------------------------------------------------------------------------------------

def tracing(calls=CALLS, log=os.devnull, inject=(), paths=(), follow=False):
    """The options of strace. `inject` has "call:what"."""
    options = ["-qq", "-o", str(log), "-e", "trace=" + ",".join(f"?{call}" for call in calls)]
    options += ["-f"] if follow else []
    for path in paths:
        options += ["-P", str(path)]
    for what in inject:
        options += ["-e", f"inject={what}"]
    return options


class Point(NamedTuple):
    """Before the nth call of this kind: of the first thread, or of any on this file."""
    call: str
    n: int
    path: str = ""

    def __str__(self):
        return f"{self.call}-{self.path or self.n}"


def kill_at(point):
    return tracing([point.call], inject=[f"{point.call}:signal=KILL:when={point.n}"],
                   paths=[point.path] if point.path else [], follow=bool(point.path))


class Call(NamedTuple):
    """A line of a log."""
    first: bool  # of the first thread in it
    name: str
    n: int  # how many of this name its thread has made
    line: str


def read_log(log):
    counts, first = Counter(), None
    for line in Path(log).read_text(errors="replace").splitlines():
        found = re.match(r"(\d+ +|)(\w+)\(", line)
        if found:
            thread, name = found.groups()
            first = thread if first is None else first
            counts[thread, name] += 1
            yield Call(thread == first, name, counts[thread, name], line)


def crash_points(worker, directory, *words):
    """Every point of `crash_worker WORDS` at which it can be killed: every call of its first
    thread, and every file that another one removes."""
    log = worker.base / f"{directory.name}.log"
    ended = worker.run(*words, strace=tracing(log=log, follow=True))
    assert ended.returncode == 0, ended.stderr
    calls = list(read_log(log))
    begin = next(i for i, call in enumerate(calls) if directory.name in call.line)
    for call in calls[begin:]:
        if call.first:
            yield Point(call.name, call.n)
        elif call.name in FAMILIES["unlink"]:
            yield Point(call.name, 1, re.search(r'"(.*)"', call.line)[1])


def of_family(points, family):
    return [point for point in points if point.call in FAMILIES[family]]


# ---- directories -------------------------------------------------------------------------------

def tear_tail(directory):
    """Puts what looks like half a record behind the last one of the newest segment. One whose header
    was not written yet, in the cut before a snapshot, can have nothing behind it."""
    segment = max(directory.glob("journal-*"))
    data = bytearray(segment.read_bytes())
    if not any(data[:32]):
        return
    offset = 32
    while offset + 8 <= len(data) and (length := struct.unpack_from("<I", data, offset)[0]) > 0:
        offset += 8 + length
    data[offset:offset + 100] = b"\x55" * 100
    segment.write_bytes(data)


def remove(directory):
    shutil.rmtree(directory, ignore_errors=True)


# ---- many at once ------------------------------------------------------------------------------

def each(function, points):
    """Calls it for every point, as many at once as there are processors. It gives whether the crash
    happened; all that goes wrong is shown together. Gives the number of crashes."""
    def one(point):
        try:
            return function(point), None
        except Lost as lost:
            return True, f"{point}: {lost}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(one, points))
    wrong = [what for _, what in results if what]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(results)} crashes:", *wrong[:10]])
    return sum(crashed for crashed, _ in results)

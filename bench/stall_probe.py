# SPDX-License-Identifier: Apache-2.0
"""How long another client's PING waits for the loop: a server whose clock can be moved, and a probe
that sends it PING after PING and reads, around each, how much processor time the loop has used.

Processor time and not the wall clock, so that a machine with other work on it does not spoil the
figures. The kernel counts the time of a running thread (schedstat) up to its last tick only, which
is 4 ms apart on many; the clock of the whole process is exact, but counts its other threads too.
The smaller of the two, with a tick added to the first, is given: never too little, and at most a
tick too much where other threads of the server work."""

import contextlib
import mmap
import multiprocessing
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers import Server

AIM_MS = 5
TICK_NS = 4_000_000
SETTLED_S = 1         # so long must the loop have had nothing to do but answer the probe
SETTLE_LIMIT_S = 180
LOOK_S = 0.1          # how often the probe's figures are looked at for that
QUIET_NS = 200_000    # a PING of a loop with nothing else to do costs less
SHIM_WORDS = "ahead_ms", "stopped_ms", "forks", "fork_ns"


class Shim:
    """The shared memory of bench/stall_shim.c."""

    def __init__(self, build):
        self.file = tempfile.NamedTemporaryFile(prefix="holdfast-stall-")
        self.file.truncate(mmap.PAGESIZE)
        self.memory = mmap.mmap(self.file.fileno(), mmap.PAGESIZE)
        self.env = {"LD_PRELOAD": str(build / "bench" / "libstall_shim.so"),
                    "STALL_SHIM": self.file.name}

    def __getitem__(self, name):
        return struct.unpack_from("=q", self.memory, 8 * SHIM_WORDS.index(name))[0]

    def __setitem__(self, name, value):
        struct.pack_into("=q", self.memory, 8 * SHIM_WORDS.index(name), value)

    def now_ms(self):
        return self["stopped_ms"] or time.time_ns() // 1_000_000 + self["ahead_ms"]

    def stop_clock(self):
        self["stopped_ms"] = self.now_ms()

    def run_clock(self, from_ms):
        """Lets the clocks run, from a moment that has not been yet."""
        self["ahead_ms"] = max(self["ahead_ms"], from_ms - time.time_ns() // 1_000_000)
        self["stopped_ms"] = 0


class Stalled(Server):
    """A server under the shim, with what fills it."""

    def __init__(self, build, *flags, **options):
        self.build, self.shim = build, Shim(build)
        super().__init__(*flags, env=self.shim.env, program=build / "src" / "holdfast", **options)

    def load(self, count, *words, first=0, pipeline=250, due_ms=0, spread_ms=0, seed=1):
        """Sends a command `count` times and waits for the end; none may be refused."""
        process = self.begin_load(count, *words, first=first, pipeline=pipeline, due_ms=due_ms,
                                  spread_ms=spread_ms, seed=seed)
        out, _ = process.communicate()
        assert process.returncode == 0 and out.split() == [str(count), "0"], (words, out)

    def begin_load(self, count, *words, first=0, pipeline=250, due_ms=0, spread_ms=0, seed=1):
        return subprocess.Popen(
            [str(word) for word in (self.build / "bench" / "stall_load", self.resp_port, first,
                                    count, pipeline, due_ms, spread_ms, seed, *words)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **self.shim.env})


def memory_bytes(server):
    """What the state takes, as the server counts it."""
    return int(re.search(r"^memory_bytes:(\d+)", server.call("INFO"), re.M)[1])


class LoopTime:
    """Processor time of a process' first thread, which runs the loop, in ns."""

    def __init__(self, pid):
        self.file = os.open(f"/proc/{pid}/task/{pid}/schedstat", os.O_RDONLY)
        self.clock = ~pid << 3 | 2  # as clock_getcpuclockid() makes it

    def read(self):
        thread = int(os.pread(self.file, 64, 0).split()[0])
        return thread, time.clock_gettime_ns(self.clock)

    @staticmethod
    def between(before, after):
        return min(after[0] - before[0] + TICK_NS, after[1] - before[1])


def be_prompt():
    """The loop goes on with what it has to do while the probe waits for a processor, and that would
    count as a stall: so the probe gets one at once, where it may."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def probe_until_told(pipe, spent, port, pid, greeting, certificate):
    """The probe's own process: PINGs until something arrives, and answers with what it saw. The
    number of PINGs and what they cost together is in `spent` all the time."""
    opened = socket.create_connection(("127.0.0.1", port), 600)
    if certificate:
        opened = ssl.create_default_context(cafile=certificate).wrap_socket(
            opened, server_hostname="localhost")
    if greeting:
        opened.sendall(greeting)
        assert opened.recv(100) == b"+OK\r\n"
    loop, cpu, wall = LoopTime(pid), [], []
    be_prompt()
    pipe.send("ready")
    before = loop.read()
    while not pipe.poll():
        begun = time.perf_counter_ns()
        opened.sendall(b"PING\r\n")
        answer = opened.recv(100)
        after = loop.read()
        assert answer == b"+PONG\r\n", answer
        cpu.append(loop.between(before, after))
        wall.append(time.perf_counter_ns() - begun)
        before = after
        spent[1] += cpu[-1]
        spent[0] += 1
    pipe.send((cpu, wall))


class Probe:
    """Probes for as long as the block runs; then has the figures."""

    def __init__(self, server, greeting=b"", certificate=None):
        self.pipe, theirs = multiprocessing.Pipe()
        self.spent = multiprocessing.Array("q", 2, lock=False)
        self.process = multiprocessing.Process(
            target=probe_until_told,
            args=(theirs, self.spent, server.resp_port, server.pid, greeting, certificate), daemon=True)
        self.process.start()
        theirs.close()
        assert self.pipe.recv() == "ready"
        self.cpu, self.wall = [], []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.pipe.send("enough")
        self.cpu, self.wall = self.pipe.recv()
        self.process.join()
        self.pipe.close()

    def settle(self):
        """Waits until the loop has done nothing but answer the probe for a while."""
        begun, quiet_since = time.monotonic(), None
        count, cost = self.spent
        while time.monotonic() - begun < SETTLE_LIMIT_S:
            time.sleep(LOOK_S)
            pings, spent = self.spent[0] - count, self.spent[1] - cost
            count, cost = count + pings, cost + spent
            if spent > pings * QUIET_NS or not pings:
                quiet_since = None
            elif quiet_since is None:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since >= SETTLED_S:
                return
        print(f"  not settled in {SETTLE_LIMIT_S} s", file=sys.stderr)


class Table:
    """Rows of figures, one for each scenario."""

    def __init__(self):
        self.rows = []
        self.over = 0

    def add(self, name, probe, apart_ms=0, note=""):
        """`apart_ms` of the worst PING is told beside it, and not part of the verdict."""
        cpu = sorted(each / 1e6 for each in probe.cpu)
        worst, high = cpu[-1], cpu[int(0.999 * (len(cpu) - 1))]
        met = worst - apart_ms <= AIM_MS
        self.over += not met
        row = (f"| {name} | {worst:,.2f} | {high:,.2f} | {max(probe.wall) / 1e6:,.1f} "
               f"| {len(cpu):,} | {'ok' if met else 'over'} | {note} |")
        self.rows.append(row)
        print(row, file=sys.stderr, flush=True)

    def show(self):
        print("| within one PING of another client | worst, ms | 99.9 %, ms | worst, wall clock, ms "
              f"| PINGs | ≤ {AIM_MS} ms | |")
        print("| --- | ---: | ---: | ---: | ---: | --- | --- |")
        print("\n".join(self.rows))


def temporary_directory(build):
    return tempfile.TemporaryDirectory(prefix="bench-stall-", dir=build)


def path_of(directory, name):
    return Path(directory) / name

# SPDX-License-Identifier: Apache-2.0
"""Processes whose clock is not ours, off by some time that a test may change as they run; on another
boot of the system, as far as they can tell; and whose syncs are counted."""

import mmap
import os
import struct
import tempfile
import uuid

from harness import Build


def preload(*names):
    """The environment that loads these libraries in front of a program's own."""
    asan = os.environ.get("ASAN_OPTIONS", "")
    return {"LD_PRELOAD": " ".join(str(Build().path / "tests" / f"lib{name}.so") for name in names),
            "ASAN_OPTIONS": f"{asan}:verify_asan_link_order=0".lstrip(":")}


class Shared:
    """A page that a test shares with the processes it starts."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="holdfast-shared-")
        self.file.truncate(mmap.PAGESIZE)
        self.memory = mmap.mmap(self.file.fileno(), mmap.PAGESIZE)


class ShiftedClock(Shared):
    """Shared by the processes that are started with its environment.

        clock = ShiftedClock()
        with RedisServer(env=clock.env) as redis:
            clock.shift(minutes=1)            # from now on Redis' clock is a minute ahead
    """

    def __init__(self):
        super().__init__()
        self.ms = 0
        self.boot_file = None

    @property
    def env(self):
        boot = {"SHIFTED_BOOT": self.boot_file.name} if self.boot_file else {}
        return {**preload("shifted_clock"), "SHIFTED_CLOCK": self.file.name, **boot}

    def shift(self, **how_much):
        """Ahead by so many years, hours, minutes, seconds or ms; back if it is less than 0."""
        units = {"years": 365 * 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000,
                 "ms": 1}
        self.ms += sum(int(number * units[unit]) for unit, number in how_much.items())
        self.memory[:8] = struct.pack("=q", self.ms)

    def boot(self):
        """Processes that are started from now on are on another boot."""
        self.boot_file = tempfile.NamedTemporaryFile("w", prefix="holdfast-boot-")
        self.boot_file.write(f"{uuid.uuid4()}\n")
        self.boot_file.flush()


class CountedSyncs(Shared):
    """How often the processes that are started with its environment called fdatasync(2)."""

    @property
    def env(self):
        return {**preload("counted_syncs"), "COUNTED_SYNCS": self.file.name}

    @property
    def count(self):
        return struct.unpack("=Q", self.memory[:8])[0]


def both(clock, syncs):
    """The environment of a process with both."""
    return {**clock.env, **syncs.env, **preload("shifted_clock", "counted_syncs")}

# SPDX-License-Identifier: Apache-2.0
"""Processes whose clock is not ours: off by some time, which a test may change as they run."""

import mmap
import os
import struct
import tempfile

from harness import Build


class ShiftedClock:
    """Shared by the processes that are started with its environment.

        clock = ShiftedClock()
        with RedisServer(env=clock.env) as redis:
            clock.shift(minutes=1)            # from now on Redis' clock is a minute ahead
    """

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="holdfast-shift-")
        self.file.truncate(mmap.PAGESIZE)
        self.memory = mmap.mmap(self.file.fileno(), mmap.PAGESIZE)
        self.ms = 0

    @property
    def env(self):
        library = Build().path / "tests" / "redis" / "libshifted_clock.so"
        asan = os.environ.get("ASAN_OPTIONS", "")
        return {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": self.file.name,
                "ASAN_OPTIONS": f"{asan}:verify_asan_link_order=0".lstrip(":")}

    def shift(self, **how_much):
        """Ahead by so many hours, minutes, seconds or ms; back if it is less than 0."""
        units = {"hours": 3_600_000, "minutes": 60_000, "seconds": 1000, "ms": 1}
        self.ms += sum(int(number * units[unit]) for unit, number in how_much.items())
        self.memory[:8] = struct.pack("=q", self.ms)


def redis_ms(server):
    """What a Redis server's clock says, in ms."""
    seconds, micros = server.client().time()
    return seconds * 1000 + micros // 1000

# SPDX-License-Identifier: Apache-2.0
"""A server under valgrind's callgrind, whose loop does the same in each run: see
bench/instructions_shim.c. What it spends between two markers is one dump of callgrind's."""

import re
import statistics
import subprocess
from pathlib import Path

from peers import Connection

WINDOWS = 7    # of each load; what is once in a while, as the growth of a table, is in few of them
BATCHES = 8    # in a window
PIPELINE = 16  # commands in a batch
READY = re.compile(r"ready resp=\S+:(\d+) http=\S+:(\d+)")
# INFO is the marker: nothing else that the loop does asks for the number of its process.
MARKER = "getpid"
# The functions of libc that every processor has, not those that are best on this one.
TUNABLES = "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in (
    "AVX512F", "AVX512VL", "AVX512BW", "AVX2", "AVX", "AVX_Fast_Unaligned_Load", "BMI1", "BMI2",
    "ERMS", "FSRM", "LZCNT", "MOVBE", "RTM", "SSE4_1", "SSE4_2", "SSSE3"))


class Counted:
    """Its environment is the same wherever it runs, since the size of that moves the stack."""

    def __init__(self, build, where, engine="embedded:"):
        build = Path(build).resolve()
        self.dumps = Path(where) / "callgrind"
        self.process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.dumps}",
             "--separate-threads=yes", f"--dump-before={MARKER}",
             build / "src" / "holdfast", "serve", "--engine", engine, "--resp-port", "0",
             "--http-port", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=where, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "LD_BIND_NOW": "1",
                            "LD_PRELOAD": str(build / "bench" / "libinstructions_shim.so"),
                            "GLIBC_TUNABLES": TUNABLES})
        self.connection = None
        try:
            self.port, self.http_port = self.wait()
            self.connection = Connection(self.port)
            self.marked = 0
            self.mark()
            self.marked = statistics.median(self.mark() for _ in range(WINDOWS))
        except BaseException:
            self.close()
            raise

    def wait(self):
        said = []
        for line in self.process.stdout:
            said.append(line)
            ready = READY.search(line)
            if ready:
                return map(int, ready.groups())
        raise RuntimeError("the server did not start:\n" + "".join(said))

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.process.kill()  # its clocks stand still, so that it would not see its own deadline
        self.process.communicate()

    def mark(self):
        """Instructions of the loop's thread since the marker before, without the marker's own."""
        answer = self.connection.call("INFO", "server")
        assert "process_id:" in answer, answer
        dumps = list(self.dumps.parent.glob(f"{self.dumps.name}.*-01"))  # the loop is thread 1
        assert dumps, f"callgrind wrote nothing: does INFO still call {MARKER}()?"
        total = 0
        for dump in dumps:
            total += int(re.search(r"^(?:summary|totals): (\d+)", dump.read_text(), re.M)[1])
            dump.unlink()
        return total - self.marked

    def measure(self, batch, commands):
        """Instructions of each command; `batch(number)` sends so many and reads their answers."""
        figures = []
        self.mark()
        for window in range(WINDOWS):
            for number in range(window * BATCHES, (window + 1) * BATCHES):
                batch(number)
            figures.append(self.mark() / (BATCHES * commands))
        return statistics.median(figures)

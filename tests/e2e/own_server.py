# SPDX-License-Identifier: Apache-2.0
"""The life of a server of a test's own, whichever it is: a temporary directory, a free port, a log,
and an end by its pid. Server, RedisServer, MariaDBServer and PostgresServer add what they differ in.
"""

import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PATIENCE_S = 120  # nothing here takes that long; a server that does hangs
FIRST_PORT, LAST_PORT = 12_000, 22_000  # with BUS_OFFSET, below what outgoing connections are given
BUS_OFFSET = 10_000  # where the nodes of a Redis cluster talk to each other
BUSY = "Address already in use"


def wait_until(condition, what="the condition", timeout=PATIENCE_S, not_yet=()):
    """Asks again and again until the answer is true, and gives it; fails when that never comes.

    An exception of `not_yet` counts as no.
    """
    end, why = time.monotonic() + timeout, ""
    while True:
        try:
            answer = condition()
        except not_yet as error:
            answer, why = None, f" ({error})"
        if answer:
            return answer
        assert time.monotonic() < end, f"{what}: not within {timeout} s{why}"
        time.sleep(0.01)


def free_port():
    """A port that nobody uses now, nor the one where a cluster's node would talk to the others."""
    while True:
        port = random.SystemRandom().randrange(FIRST_PORT, LAST_PORT)
        try:
            for number in (port, port + BUS_OFFSET):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
        except OSError:
            continue
        return port


def free_ports(count):
    """So many different ones."""
    ports = set()
    while len(ports) < count:
        ports.add(free_port())
    return ports


def state_of(pid):
    """The letter of /proc; "" if there is no such process any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


class OwnServer:
    """A process that is started, stopped, killed, paused and started again; `with` ends it."""

    process = None
    paused = False
    STOP = signal.SIGTERM

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        """Started, not ended, and not paused."""
        return self.process is not None and self.process.poll() is None and not self.paused

    def stop(self):
        """It goes in good order. Gives the exit code."""
        return self._end(self.STOP)

    def kill(self):
        """SIGKILL: as a crash. Gives the exit code."""
        return self._end(signal.SIGKILL)

    def restart(self, how="stop"):
        """Down and up again, on the same ports and directory."""
        getattr(self, how)()
        return self.start()

    def pause(self):
        """SIGSTOP: it is there and does not answer."""
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True
        wait_until(lambda: state_of(self.pid) == "T", f"{self} stops")

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.paused = False

    def _end(self, number):
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
            if self.paused:  # only then: a sanitizer looking for leaks at the end is upset by it
                self.resume()
        self.paused = False
        process, self.process = self.process, None
        try:
            return process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            self._ended(process)

    def _ended(self, process):
        """What is to be closed when the process is gone."""


class PortServer(OwnServer):
    """One that is told its port, and of which a log file in its directory tells when it was taken.

    What it is comes from command(), is_ready() and, where they are needed, started_as().
    """

    def __init__(self, directory, port=None):
        self.directory = Path(directory)
        self.fixed_port = port is not None
        self.port = port or free_port()

    def started_as(self):
        """More arguments of subprocess.Popen."""
        return {}

    def launch(self):
        """Starts the process, without waiting until it answers."""
        assert self.process is None, f"{self} is running"
        with open(self.directory / "log", "ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                [str(word) for word in self.command()], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, cwd=self.directory, **self.started_as())

    def wait_ready(self):
        """Waits until it answers, on another port if somebody was faster to take this one."""
        while wait_until(self._ready_or_ended, f"{self} answers") == "ended":
            said = self.said(self.log_start)
            code = self._end(signal.SIGKILL)
            assert BUSY in said and not self.fixed_port, f"{self} ended with {code}:\n{said}"
            self.port = free_port()
            self.launch()
        self.fixed_port = True  # a restart() keeps it
        return self

    def _ready_or_ended(self):
        if self.process.poll() is not None:
            return "ended"
        return self.is_ready() and "ready"

    def start(self):
        """Starts it and waits until it answers."""
        self.launch()
        try:
            return self.wait_ready()
        except BaseException:
            self.close()
            raise

    def close(self):
        """Ends it, if it still runs, and takes its directory away."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def said(self, start=0):
        """Its log, from a position on."""
        with open(self.directory / "log", "rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")

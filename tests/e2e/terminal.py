# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own: what it shows there, and keys that are pressed."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from harness import TIMEOUT_S


class Terminal:
    """A program whose standard input and output are a terminal. Not for its standard error."""

    def __init__(self, *command, rows=40, columns=120):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen([str(word) for word in command], stdin=theirs,
                                        stdout=theirs, start_new_session=True)
        self.theirs = theirs
        self.seen = ""
        self.code = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
        self.code = self.process.wait(TIMEOUT_S)
        os.close(self.theirs)
        os.close(self.ours)

    def _read(self, timeout):
        """Adds what is shown to `seen`; false if nothing came."""
        if not select.select([self.ours], [], [], timeout)[0]:
            return False
        self.seen += os.read(self.ours, 65536).decode()
        return True

    def read_until(self, text):
        """Waits until this is shown; gives all that was up to now, and begins anew."""
        end = time.monotonic() + TIMEOUT_S
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
            assert self._read(0.1) or self.process.poll() is None, f"ended: {self.seen!r}"
        seen, self.seen = self.seen, ""
        return seen

    def read_to_end(self):
        """All that is shown until the program ends."""
        end = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None:
            assert time.monotonic() < end, f"no end: {self.seen!r}"
            self._read(0.05)
        while self._read(0):
            pass
        self.code = self.process.returncode
        return self.seen

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def send_signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def is_as_before(self):
        """Are its settings those that the program found?"""
        return termios.tcgetattr(self.theirs) == self.before

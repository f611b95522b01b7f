# SPDX-License-Identifier: Apache-2.0
"""Lines of a page of the documentation, pasted into a shell, and the replies that the page shows."""

import os
import pty
import re
import subprocess

from harness import TIMEOUT_S, Build
from servers import command_line_client


def steps(page):
    """(lines, reply) of each block of lines on a page; each has its reply behind it."""
    found = re.findall(r"^```sh\n(.*?)^```\n\n```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(found) == page.count("```sh\n"), "a line without its reply"
    return found


def pattern(reply):
    """A reply as the page shows it: … is what differs from run to run."""
    return re.escape(reply).replace("…", r"[0-9a-f]+")


class Shell:
    """bash, beside the build under test, where redis-cli means the test's own server."""

    def __init__(self, server):
        self.folder = server.directory / "shell"
        self.folder.mkdir()
        (self.folder / "build").symlink_to(Build().path)
        client = self.folder / "redis-cli"
        client.write_text(f'#!/bin/sh\nPATH="$OLD_PATH" exec {command_line_client()} '
                          f'-p {server.port} "$@"\n')
        client.chmod(0o755)
        old_path = os.environ["PATH"]
        self.env = {**os.environ, "OLD_PATH": old_path, "PATH": f"{self.folder}:{old_path}"}

    def paste(self, lines):
        """What a terminal shows: redis-cli writes replies in another way to anything else."""
        screen, terminal = pty.openpty()
        try:
            process = subprocess.Popen(
                ["bash", "-c", lines], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                stdout=terminal, stderr=terminal)
        finally:
            os.close(terminal)
        shown = b""
        with open(screen, "rb", buffering=0) as output:
            try:
                while part := output.read(65536):
                    shown += part
            except OSError:
                pass  # nobody has the terminal open any more
        process.wait(TIMEOUT_S)
        return shown.decode().replace("\r\n", "\n")

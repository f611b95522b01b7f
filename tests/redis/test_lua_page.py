# SPDX-License-Identifier: Apache-2.0
"""docs/lua.md keeps its word: its lines, pasted from the top to the bottom on an empty Redis, get
the replies it shows, and no script is missing."""

import os
import pty
import re
import subprocess

import pytest

from harness import ROOT, TIMEOUT_S, Build
from servers import RedisServer

PAGE = (ROOT / "docs/lua.md").read_text()
STEPS = re.findall(r"^```sh\n(.*?)^```\n\n```\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SCRIPTS = sorted(path.name for path in (ROOT / "lua").glob("**/*.lua")
                 if path.parent.name != "parts")


class Shell:
    """bash, beside the build under test, where redis-cli means the test's own server."""

    def __init__(self, server):
        self.folder = server.directory / "shell"
        self.folder.mkdir()
        (self.folder / "build").symlink_to(Build().path)
        client = self.folder / "redis-cli"
        client.write_text(f'#!/bin/sh\nPATH="$OLD_PATH" exec redis-cli -p {server.port} "$@"\n')
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


@pytest.fixture
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def shell(server):
    return Shell(server)


def pattern(reply):
    """A reply as the page shows it: … is what differs from run to run."""
    return re.escape(reply).replace("…", r"[0-9a-f]+")


def test_every_line_gets_the_reply_it_shows(shell):
    assert len(STEPS) == PAGE.count("```sh\n"), "a line without its reply"
    for lines, reply in STEPS:
        shown = shell.paste(lines)
        assert re.fullmatch(pattern(reply), shown), f"{lines}\n{shown}\nnot\n{reply}"


def test_the_example_in_python_works(server, shell, monkeypatch):
    [example] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    shell.paste(STEPS[0][0])  # the zone it reserves in
    monkeypatch.chdir(shell.folder)
    names = {"client": server.client()}
    exec(example, names)
    assert names["reply"][:3] == [1, 38, 2] and names["reply"][4] == b"reserved"


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_on_the_page_with_a_line(name):
    assert re.search(rf"(?m)^(###|\|) .*\b{re.escape(name)}\b", PAGE), "no place of its own"
    assert any(f"build/lua/{name} " in lines for lines, _ in STEPS), "no line to paste"


def test_every_script_on_the_page_exists():
    assert set(re.findall(r"\b(\w+\.lua)\b", PAGE)) - {"shard.lua"} == set(SCRIPTS)
    assert sorted(path.name for path in (Build().path / "lua").glob("*.lua")) == SCRIPTS

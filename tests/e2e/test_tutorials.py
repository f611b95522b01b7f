# SPDX-License-Identifier: Apache-2.0
"""The pages that lead in. docs/tutorial.md and docs/flash-sale.md: every line runs as it stands, in order, on one server, and answers what the page
shows. A block of commands is marked sh; an indented block behind it is what its last line answers, where <number> and <text> stand
for what varies."""

import os
import re
import shlex
import subprocess

import pytest

from harness import ROOT, TIMEOUT_S, Build
from server import Server

SERVERS = {"tutorial.md": ["--payment-url", "test:"], "flash-sale.md": []}
KILLED = "<!-- the test kills the server here, and starts it again -->"
BLOCK = re.compile(rf"({KILLED}\n\n)?```sh\n((?:[^`].*\n)*?)```(?:\n\n((?:    .*\n)+))?")
VARIES = {"<number>": r"\d+", "<text>": r'"(?:[^"\\\n]|\\.)*"'}


class Shell:
    """Runs the lines of a page as a reader would type them."""

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        (folder / "holdfast").symlink_to(Build().program)

    def env(self):
        return {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "HOLDFAST_URL": self.server.url}

    def type(self, line):
        """Runs a line; gives what it printed. One that is to fail says so behind a #."""
        command, _, remark = line.partition(" # ")
        # The page has the usual ports; redis-cli's and curl's are set to ours.
        command = command.replace("redis-cli -p 4653", f"redis-cli -p {self.server.resp_port}").replace(
            "localhost:4654", f"localhost:{self.server.http_port}")
        ended = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env(), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        wanted = int(remark.removeprefix("exits with ")) if remark else 0
        assert ended.returncode == wanted, (line, ended)
        return ended.stdout


def pattern_of(shown):
    """A regular expression for what a page shows; white space between words counts once."""
    words = [re.escape(word) for word in shown.split()]
    text = r"\s+".join(words)
    for mark, varies in VARIES.items():
        text = text.replace(re.escape(mark), varies)
    return text


@pytest.mark.parametrize("page", SERVERS)
def test_every_line_of_the_page(page, tmp_path):
    blocks = BLOCK.findall((ROOT / "docs" / page).read_text())
    assert len(blocks) > 5 and any(killed for killed, *_ in blocks) == (page == "tutorial.md")
    flags = [*SERVERS[page], *(["--ledger", f"sqlite:{tmp_path}/shop.db"] if page == "flash-sale.md" else [])]
    said = {}
    with Server(*flags) as server:
        shell = Shell(server, tmp_path)
        for killed, lines, shown in blocks:
            if killed:
                server.restart("kill")
            for line in lines.splitlines():
                said[line] = shell.type(line)
            if shown:
                assert re.fullmatch(pattern_of(shown), said[line].strip()), (line, shown, said[line])
    if page == "flash-sale.md":
        # 100 pairs: one went to ann and came back, one to bob.
        assert said["grep -c SOLD_OUT answers"] == "21\n"


@pytest.mark.parametrize("page", SERVERS)
def test_the_server_of_the_page_takes_its_flags(page, tmp_path):
    (line,) = re.findall(r"(?m)^    holdfast (serve .*)$", (ROOT / "docs" / page).read_text())
    ended = subprocess.run([Build().program, *shlex.split(line), "--check-config"], cwd=tmp_path,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ended.returncode == 0, ended.stdout


def test_the_diagram_of_a_checkout_is_the_table_of_its_states():
    source = (ROOT / "src/service/saga_states.c").read_text()
    # [SAGA_PAID] = {"PAID", BIT(…) | BIT(…), …: the first bits are the states that may follow.
    rows = re.findall(r'\[SAGA_\w+\] = \{"([A-Z_]+)",\s*(0|BIT\(\w+\)(?:\s*\|\s*BIT\(\w+\))*),', source)
    table = {(name, after) for name, bits in rows for after in re.findall(r"SAGA_(\w+)", bits)}
    assert len(rows) == 8
    page = (ROOT / "docs/states.md").read_text().partition("## A checkout")[2]
    drawn = set(re.findall(r"(?m)^    ([A-Z_]+) --> ([A-Z_]+):", page))
    assert drawn == {(before, after) for before, after in table if before != after}

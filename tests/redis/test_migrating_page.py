# SPDX-License-Identifier: Apache-2.0
"""docs/migrating.md keeps its word: its lines, pasted from the top to the bottom on an empty Redis, get
the replies it shows, and its calls are those of the contract, with nothing more."""

import re
import shlex
import signal
import subprocess

import pytest

from harness import ROOT, TIMEOUT_S, Build
from pasted_lines import Shell, pattern, steps
from servers import RedisServer

PAGE = (ROOT / "docs/migrating.md").read_text()
STEPS = steps(PAGE)
PROGRAM = "build/holdfast "  # make build puts a link there
ANY_PORTS = " --resp-port 0 --http-port 0"

# Keys and arguments of the usual calls.
CALLS = {"reserve_seats": (3, 9), "release_seats": (3, 2), "confirm_booking": (2, 4),
         "reserve_quota": (2, 1), "refund_quota": (1, 1), "queue": (2, 4), "wake_up_nexts": (4, 5),
         "acquire": (3, 5), "release": (4, 1), "ping": (3, 4), "card": (2, 1), "try_lock": (1, 2),
         "unlock": (1, 1)}


@pytest.fixture
def server():
    with RedisServer() as server:
        yield server


def serve(shell, line):
    """The line of a server that is ready; then it is ended."""
    process = subprocess.Popen(shlex.split(line + ANY_PORTS), cwd=shell.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        return process.stdout.readline()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
        process.stdout.close()


def test_every_line_gets_the_reply_it_shows(server):
    shell = Shell(server)
    for lines, reply in STEPS:
        lines, reply = (text.replace(":6379", f":{server.port}") for text in (lines, reply))
        lines = lines.replace(PROGRAM, f"{Build().program} ")
        if lines.startswith(f"{Build().program} serve"):
            shown, reply = serve(shell, lines), re.sub(r":465[34]\b", ":…", reply)
        else:
            shown = shell.paste(lines)
        assert re.fullmatch(pattern(reply), shown), f"{lines}\n{shown}\nnot\n{reply}"


def test_its_calls_are_the_usual_ones():
    """With no key and no argument more than the scripts of the field have."""
    seen = {}
    for lines, _ in STEPS:
        for line in lines.replace("\\\n", " ").splitlines():
            if line.startswith("redis-cli --eval scripts/"):
                words = shlex.split(subprocess.run(
                    ["bash", "-c", f"printf '%q ' {line}"], stdout=subprocess.PIPE, text=True,
                    env={"now": "1"}, check=True).stdout)
                comma = words.index(",")
                script = words[2].removeprefix("scripts/").removesuffix(".lua")
                seen[script] = (comma - 3, len(words) - comma - 1)
    assert seen == CALLS

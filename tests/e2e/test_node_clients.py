# SPDX-License-Identifier: Apache-2.0
"""The clients that programs in Node use, as npm has them, against the server."""

import os
import shutil
from pathlib import Path

import pytest

from harness import run
from server import Server

HERE = Path(__file__).resolve().parent / "node"


def registry_answers():
    return run("npm", "ping").code == 0


@pytest.fixture(scope="module")
def scripts(build):
    """The scripts next to their clients, which are installed once in a build directory."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"there is no {program}")
    place = build.path / "node-clients"
    place.mkdir(exist_ok=True)
    wanted = (HERE / "package.json").read_text()
    if not (place / "installed").exists() or (place / "installed").read_text() != wanted:
        shutil.copy(HERE / "package.json", place)
        ended = run("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts",
                    cwd=place)
        if ended.code != 0 and not registry_answers():
            pytest.skip("npm cannot reach its registry")
        assert ended.code == 0, ended
        (place / "installed").write_text(wanted)
    for script in HERE.glob("*.js"):
        shutil.copy(script, place)
    return place


@pytest.fixture(scope="module")
def server():
    with Server(memory=True) as one:
        yield one


@pytest.mark.parametrize("script", ["redis.js", "redis.js redis5", "ioredis.js"])
def test_a_client_of_node(scripts, server, script):
    script, *module = script.split()
    # Sanitizers are for our own program.
    env = {name: "" for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    ended = run("node", scripts / script, server.resp_port, *module, env=env)
    assert (ended.code, ended.out) == (0, "well\n"), ended

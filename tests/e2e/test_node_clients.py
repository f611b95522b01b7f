# SPDX-License-Identifier: Apache-2.0
"""The clients that programs in Node use, as npm has them, against the server."""

import os
from pathlib import Path

import pytest

from harness import run
from languages import node_folder
from server import Server

HERE = Path(__file__).resolve().parent / "node"


@pytest.fixture(scope="module")
def scripts(build):
    return node_folder(build, HERE.glob("*.js"))


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

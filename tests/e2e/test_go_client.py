# SPDX-License-Identifier: Apache-2.0
"""go-redis, as Debian has it, against the server."""

import os
from pathlib import Path

import pytest

from harness import run
from languages import go_program
from server import Server

SOURCE = Path(__file__).resolve().parent / "go/goredis.go"


@pytest.fixture(scope="module")
def program(build, tmp_path_factory):
    return go_program(build, SOURCE, tmp_path_factory.mktemp("go") / "goredis")


def test_go_redis(program):
    # Sanitizers are for our own program.
    env = {name: "" for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    with Server(memory=True) as server:
        ended = run(program, server.resp_port, env=env)
        assert (ended.code, ended.out) == (0, "well\n"), ended

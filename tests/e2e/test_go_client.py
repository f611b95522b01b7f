# SPDX-License-Identifier: Apache-2.0
"""go-redis, as Debian has it, against the server."""

import os
import shutil
from pathlib import Path

import pytest

from harness import run
from server import Server

SOURCE = Path(__file__).resolve().parent / "go/goredis.go"
PACKAGES = Path("/usr/share/gocode")  # where Debian puts the sources of libraries


@pytest.fixture(scope="module")
def program(build, tmp_path_factory):
    if not shutil.which("go") or not (PACKAGES / "src/gopkg.in/redis.v5").is_dir():
        pytest.skip("there is no Go with go-redis")
    made = tmp_path_factory.mktemp("go") / "goredis"
    ended = run("go", "build", "-o", made, SOURCE, env={
        "GO111MODULE": "off", "GOPATH": str(PACKAGES), "GOFLAGS": "", "CGO_ENABLED": "0",
        "GOCACHE": str(build.path / "go-cache")})
    assert ended.code == 0, ended
    return made


def test_go_redis(program):
    # Sanitizers are for our own program.
    env = {name: "" for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    with Server(memory=True) as server:
        ended = run(program, server.resp_port, env=env)
        assert (ended.code, ended.out) == (0, "well\n"), ended

# SPDX-License-Identifier: Apache-2.0
"""The client for Go against a server: its own tests and its example are run."""

import re
import shutil
import socket

import pytest

from harness import ROOT, run

FOLDER = ROOT / "clients/go"


@pytest.fixture
def go(build):
    """go(word, …): runs Go in the client's folder, without a network."""
    if not shutil.which("go"):
        pytest.skip("there is no Go")

    def call(*words, **env):
        return run("go", *words, cwd=FOLDER, env={
            "GO111MODULE": "on", "GOFLAGS": "", "GOPROXY": "off", "CGO_ENABLED": "0",
            "GOCACHE": str(build.path / "go-cache"), "ASAN_OPTIONS": "", "UBSAN_OPTIONS": "", **env})
    return call


def test_its_own_tests(go, server, dropping):
    with socket.socket() as deaf:  # it has the port, and nobody listens
        deaf.bind(("127.0.0.1", 0))
        ended = go("test", "-count=1", "-v", ".", HOLDFAST_URL=server.url,
                   HOLDFAST_DROPPING=dropping.url,
                   HOLDFAST_NOBODY=f"holdfast://127.0.0.1:{deaf.getsockname()[1]}")
    assert ended.code == 0, ended.out + ended.err
    assert "SKIP" not in ended.out and "--- PASS: Example" in ended.out
    assert dropping.dropped == ["SEATS.RESERVE", "QUOTA.REFUND"]


def test_its_page_shows_lines_of_the_example():
    (shown,) = re.findall(r"```go\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    assert shown in (FOLDER / "example_test.go").read_text()

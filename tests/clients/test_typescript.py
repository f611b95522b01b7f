# SPDX-License-Identifier: Apache-2.0
"""The client for TypeScript against a server: it is compiled, and its own tests are run."""

import fcntl
import re
import shutil
import socket

import pytest

from harness import ROOT, run
from languages import registry_answers

FOLDER = ROOT / "clients/typescript"
LOCAL = ("node_modules", "dist", "dist-test")


@pytest.fixture(scope="module")
def package(build):
    """A copy of the client in the build directory, with what it uses installed by its lock file."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"there is no {program}")
    place = build.path / "typescript-client"
    place.mkdir(exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for part in ("src", "test"):
            shutil.rmtree(place / part, ignore_errors=True)
        shutil.copytree(FOLDER, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LOCAL))
        install(place)
        (place / "test/page.ts").write_text(page())
        ended = run("node", "node_modules/typescript/bin/tsc", "-p", "test", cwd=place)
        assert ended.code == 0, ended.out
        yield place


def page():
    """The example of its page, on the server that the environment names."""
    (block,) = re.findall(r"```ts\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    return block.replace('"holdfast://127.0.0.1:4653"', "").replace(
        '"holdfast-client"', '"../src/index.js"')


def install(place):
    wanted = (FOLDER / "package-lock.json").read_text()
    done = place / "installed"
    if done.exists() and done.read_text() == wanted:
        return
    ended = run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", cwd=place)
    if ended.code != 0 and not registry_answers():
        pytest.skip("npm cannot reach its registry")
    assert ended.code == 0, ended
    done.write_text(wanted)


def test_its_own_tests(package, server, dropping):
    with socket.socket() as deaf:  # it has the port, and nobody listens
        deaf.bind(("127.0.0.1", 0))
        ended = run("node", "--test", "dist-test/test/client.test.js", cwd=package, env={
            "HOLDFAST_URL": server.url, "HOLDFAST_DROPPING": dropping.url,
            "HOLDFAST_NOBODY": f"holdfast://127.0.0.1:{deaf.getsockname()[1]}",
            "ASAN_OPTIONS": "", "UBSAN_OPTIONS": ""})
    assert ended.code == 0, ended.out
    assert dropping.dropped == ["SEATS.RESERVE", "QUOTA.REFUND"]


def test_the_examples_of_its_page_run(package, server):
    ended = run("node", "dist-test/test/page.js", cwd=package,
                env={"HOLDFAST_URL": server.url})
    assert ended.code == 0 and "498 seats available, 1000 requested" in ended.out, ended


def test_the_lock_file_names_no_registry():
    assert '"resolved"' not in (FOLDER / "package-lock.json").read_text()

# SPDX-License-Identifier: Apache-2.0
"""Programs in other languages, beside the clients that they use: Go's as Debian has them, Node's as
npm has them. A test that needs what is not there is skipped."""

import fcntl
import filecmp
import shutil
from pathlib import Path

import pytest

from harness import ROOT, run

PACKAGES = Path("/usr/share/gocode")  # where Debian puts the sources of libraries
WANTED = ROOT / "tests/e2e/node/package.json"


def go_program(build, source, made):
    """Compiles one file to `made`, and gives that."""
    if not shutil.which("go") or not (PACKAGES / "src/gopkg.in/redis.v5").is_dir():
        pytest.skip("there is no Go with go-redis")
    ended = run("go", "build", "-o", made, source, env={
        "GO111MODULE": "off", "GOPATH": str(PACKAGES), "GOFLAGS": "", "CGO_ENABLED": "0",
        "GOCACHE": str(build.path / "go-cache")})
    assert ended.code == 0, ended
    return made


def registry_answers():
    return run("npm", "ping").code == 0


def node_folder(build, scripts):
    """A folder with these scripts next to their clients, which are installed once in a build
    directory."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"there is no {program}")
    place = build.path / "node-clients"
    place.mkdir(exist_ok=True)
    with open(place / "lock", "w") as lock:  # tests of another process want it, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        install_clients(place)
        for script in scripts:
            bring(Path(script), place)
    return place


def bring(script, place):
    """Copies it, in one step: another process may be running the one that is there."""
    if not (place / script.name).exists() or not filecmp.cmp(script, place / script.name, False):
        shutil.copy(script, place / "fresh")
        (place / "fresh").rename(place / script.name)


def install_clients(place):
    wanted = WANTED.read_text()
    if not (place / "installed").exists() or (place / "installed").read_text() != wanted:
        shutil.copy(WANTED, place)
        ended = run("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts",
                    cwd=place)
        if ended.code != 0 and not registry_answers():
            pytest.skip("npm cannot reach its registry")
        assert ended.code == 0, ended
        (place / "installed").write_text(wanted)

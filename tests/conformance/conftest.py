# SPDX-License-Identifier: Apache-2.0
"""What the conformance suite shares: the build under test, and the folders it borrows from."""

import sys
from pathlib import Path

import pytest

for folder in ("model", "redis", "e2e"):
    sys.path.append(str(Path(__file__).resolve().parent.parent / folder))

from conformance import Deployment  # noqa: E402
from harness import Build  # noqa: E402
from rows import load_rows  # noqa: E402


@pytest.fixture(scope="session")
def sanitized():
    return Build().sanitized


@pytest.fixture(scope="session")
def program():
    """program(name): the path of a program of this suite."""
    return lambda name: Build().path / "tests" / "conformance" / name


@pytest.fixture(scope="session")
def rows(program):
    """The command table, name -> Row."""
    return load_rows(program("conformance_rows"))


@pytest.fixture(scope="session")
def deployment(program, rows):
    """deployment(engine): it is started once and stays until the end."""
    started = {}

    def get(engine):
        if engine not in started:
            started[engine] = Deployment(engine, program, rows)
        return started[engine]
    yield get
    for one in started.values():
        one.close()

# SPDX-License-Identifier: Apache-2.0
"""What the tests of the clients share: a server, and a way to it on which answers get lost."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "e2e"), str(TESTS.parent / "clients/python")]

from dropping import Dropping  # noqa: E402
from harness import Build  # noqa: E402
from server import Server  # noqa: E402


@pytest.fixture(scope="session")
def build():
    return Build()


@pytest.fixture(scope="module")
def server():
    with Server(memory=True) as one:
        yield one


@pytest.fixture
def dropping(server):
    """A proxy to the server that loses the first answer to each of two commands: one that has an id
    and one that has none."""
    with Dropping(server.resp_port, ["SEATS.RESERVE", "QUOTA.REFUND"]) as proxy:
        yield proxy

# SPDX-License-Identifier: Apache-2.0
"""What tests over RESP share: a server in memory, and two clients of the server that a test has."""

import pytest

from raw_client import Client
from server import Server


@pytest.fixture(scope="module")
def server():
    with Server(memory=True) as one:
        yield one


@pytest.fixture
def client(server):
    with Client(server.resp_port) as one:
        yield one


@pytest.fixture
def other(server):
    with Client(server.resp_port) as one:
        yield one

# SPDX-License-Identifier: Apache-2.0
"""What the tests on real Redis servers share: with those of the program, and among themselves a
Redis alone and a server of ours on it, or a cluster and two."""

import sys
from pathlib import Path

import pytest
import redis

sys.path.append(str(Path(__file__).resolve().parent.parent / "e2e"))

from redis_cluster import RedisCluster  # noqa: E402
from server import Server  # noqa: E402
from servers import RedisServer  # noqa: E402


@pytest.fixture(scope="module")
def standalone():
    with RedisServer() as server:
        yield server


@pytest.fixture
def store(standalone):
    """A client of that Redis, which is empty."""
    standalone.client().flushall()
    return standalone.client()


@pytest.fixture
def server(standalone, store):
    """One that leaves what is due to the commands."""
    with Server("--engine", standalone.url + "?worker=no", memory=True) as running:
        yield running


@pytest.fixture
def do(server):
    """Carries out commands through that server."""
    client = redis.Redis(port=server.resp_port)
    return lambda line: client.execute_command(*line.split())


@pytest.fixture(scope="module")
def cluster():
    with RedisCluster(masters=3, replicas=0) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def servers(cluster):
    with Server("--engine", cluster.url, memory=True) as one:
        with Server("--engine", cluster.url, memory=True) as other:
            yield [one, other]


@pytest.fixture
def product(request):
    return "p-" + "".join(c if c.isalnum() else "-" for c in request.node.name)

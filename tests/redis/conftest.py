# SPDX-License-Identifier: Apache-2.0
"""What the tests on real Redis servers share: with those of the program, and among themselves a
Redis alone and a server of ours on it, or a cluster and two."""

import sys
from pathlib import Path

import pytest
import redis

sys.path.append(str(Path(__file__).resolve().parent.parent / "e2e"))

from certificates import Authority  # noqa: E402
from redis_cluster import RedisCluster  # noqa: E402
from server import Server  # noqa: E402
from servers import RedisServer, Tls  # noqa: E402


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


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def tls(authority):
    """What servers have; skips where the server program knows no TLS."""
    tls = Tls(authority.cert, *authority.issue("redis"))
    probe = RedisServer(tls=tls, start=False)
    try:
        probe.start()
    except AssertionError as error:
        if "tls" not in str(error).lower():
            raise
        pytest.skip(f"{probe.program} is built without TLS")
    finally:
        probe.close()
    return tls

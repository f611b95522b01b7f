# SPDX-License-Identifier: Apache-2.0
"""What the tests of the ledger share: one server of each kind for the whole run, and a database of
its own for each test."""

import os
import shutil
import contextlib
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "e2e"), str(TESTS / "redis")]

from certificates import Authority  # noqa: E402
from databases import SqliteFiles, database_of  # noqa: E402
from harness import Build  # noqa: E402
from mariadb_server import MariaDBServer  # noqa: E402
from postgres_server import PostgresServer  # noqa: E402
from servers import RedisServer  # noqa: E402
from shop import Shop, engine_of  # noqa: E402

SERVERS = {"postgres": PostgresServer, "mariadb": MariaDBServer}
# Settings of a server that speaks TLS with a certificate and a key.
TLS_SETTINGS = {
    "postgres": lambda cert, key: {"ssl": "on", "ssl_cert_file": cert, "ssl_key_file": key},
    "mariadb": lambda cert, key: {"ssl_cert": cert, "ssl_key": key},
}


@pytest.fixture(scope="session")
def build():
    return Build()


@pytest.fixture(scope="session")
def started():
    """started(kind): the server of that kind that all tests share, made at its first use."""
    running = {}

    def find(kind):
        if kind not in running:
            running[kind] = SERVERS.get(kind, SqliteFiles)()
        return running[kind]

    yield find
    for server in running.values():
        server.close()


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database(request, started):
    return database_of(request.param, started)


@pytest.fixture(params=sorted(SERVERS))
def served(request, started):
    """Only on those that are servers: which can be frozen, killed, or be far away."""
    database = database_of(request.param, started)
    yield database
    if database.server.process is None:
        database.server.start()
    database.server.resume()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture
def tls_server(request):
    """tls_server(kind, certificate, key): a server of that kind, which speaks TLS, too."""
    def make(kind, *files):
        server = SERVERS[kind](start=False)
        request.addfinalizer(server.close)
        account = server.directory.stat()
        own = [shutil.copy(path, server.directory) for path in files]  # the key must be its own
        for path in own:
            os.chown(path, account.st_uid, account.st_gid)
            os.chmod(path, 0o600)
        server.options.update(TLS_SETTINGS[kind](*own))
        server.start()
        return server
    return make


# ---- shops: a database, an engine and the servers between them

ENGINES = ["embedded", "redis"]


@pytest.fixture(scope="session")
def one_redis():
    with RedisServer() as server:
        yield server


@pytest.fixture(params=ENGINES)
def shop(request, database, tmp_path):
    """On every database and every engine."""
    with Shop(database, engine_of(request.param, request, tmp_path)) as shop:
        yield shop


@pytest.fixture
def redis_shop(request, database, tmp_path):
    """On every database, with an engine that many servers share and that can be away."""
    with Shop(database, engine_of("redis", request, tmp_path)) as shop:
        yield shop


@pytest.fixture
def redis_shop_on(request, started, tmp_path):
    """redis_shop_on(kind): the same on one kind of database."""
    with contextlib.ExitStack() as shops:
        yield lambda kind: shops.enter_context(
            Shop(database_of(kind, started), engine_of("redis", request, tmp_path)))


@pytest.fixture(params=ENGINES)
def served_shop(request, served, tmp_path):
    """On databases that can be frozen and killed, and every engine."""
    with Shop(served, engine_of(request.param, request, tmp_path)) as shop:
        yield shop

# SPDX-License-Identifier: Apache-2.0
"""Servers with users, on each engine: reader, writer and other, who both may write, and chief."""

import subprocess

import pytest

from harness import Build
from raw_client import Client
from server import Server
from servers import RedisServer


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    """The file of users, and the token of each."""
    path, tokens, lines = tmp_path_factory.mktemp("users") / "users", {}, ""
    for who, role in (("reader", "read"), ("writer", "write"), ("other", "write"),
                      ("chief", "admin")):
        made = subprocess.run([Build().program, "auth", who, role], capture_output=True, text=True,
                              check=True)
        lines += made.stdout
        tokens[who] = made.stderr.split()[-1]
    path.write_text(lines)
    path.chmod(0o600)
    return path, tokens


@pytest.fixture(scope="module")
def on_redis(users):
    """A server whose state is in Redis, the tokens of its users, and that Redis."""
    path, tokens = users
    with RedisServer() as redis, Server("--auth-file", path, "--engine", redis.url) as server:
        yield server, tokens, redis


@pytest.fixture(scope="module", params=["embedded", "redis"])
def place(request, users):
    """A server with users on each engine, and their tokens."""
    path, tokens = users
    if request.param == "redis":
        yield request.getfixturevalue("on_redis")[:2]
        return
    with Server("--auth-file", path) as server:
        yield server, tokens


def as_user(server, token):
    client = Client(server.resp_port)
    assert client.call("AUTH", token) == "OK"
    return client

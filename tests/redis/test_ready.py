# SPDX-License-Identifier: Apache-2.0
"""A server whose Redis is away says so to whoever asks whether it is ready."""

import urllib.error
import urllib.request

from server import Server
from servers import RedisServer, wait_until


def readiness(server):
    """Status and text of /readyz."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/readyz") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def test_it_is_not_ready_while_redis_is_away():
    with RedisServer() as redis, Server("--engine", redis.url) as server:
        assert readiness(server) == (200, "ready\n")
        redis.kill()
        wait_until(lambda: readiness(server)[0] == 503, "the server notices")
        assert readiness(server) == (503, "ready: the engine cannot be reached\n")
        redis.start()
        wait_until(lambda: readiness(server) == (200, "ready\n"), "the server is back")

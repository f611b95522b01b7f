# SPDX-License-Identifier: Apache-2.0
"""Requests with an Idempotency-Key while Redis is away: whatever the route, the server refuses and
goes on."""

from curl import Curl, keyed
from server import Server
from servers import RedisServer


def test_keyed_requests_of_every_kind_while_redis_is_away():
    with RedisServer() as redis, Server("--engine", redis.url) as server:
        curl = Curl(server.http_port)
        assert curl.post("/v1/audit", b"", *keyed("before")).status == 200
        redis.kill()
        for n in range(3):
            for path, body in (("/v1/audit", b""), ("/v1/snapshot", b""),
                               ("/v1/quotas/t/reserve", {"amount": 1}),
                               ("/v1/semaphores/s/acquire", {"limit": 1, "wait_ms": 10})):
                answer = curl.post(path, body, *keyed(f"away-{n}"))
                assert answer.status in (408, 409, 503), (path, answer)
                assert "idempotency-replayed" not in answer.headers
        assert curl.get("/livez").status == 200
        assert server.process.poll() is None, server.said()

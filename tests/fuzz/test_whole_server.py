# SPDX-License-Identifier: Apache-2.0
"""A few sequences of whole_server.py, always the same ones; `make fuzz` goes on with others. And what
a Redis can say that lies: whatever it is, the server answers, and lives."""

import pytest

from documented import ask_all, assert_alive
from every_request import every_request, prepare
from harness import Build
from lying_redis import LyingRedis
from server import Server
from servers import RedisServer
from whole_server import again, play

SEEDS = (2, 4, 7, 12)  # one for each kind of engine


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sequence(tmp_path, seed):
    print(f"once more: {again(seed, Build().path)}")
    play(seed, tmp_path)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_redis_that_lies(tmp_path, seed):
    with RedisServer() as redis, LyingRedis(redis.port, seed) as liar:
        with Server("--engine", liar.url + "?timeout=300", "--ledger", f"sqlite:{tmp_path / 'ledger.db'}",
                    "--payment-url", "test:", memory=True) as server:
            prepare(server)
            liar.lying = True
            ask_all(server, every_request())
            liar.lying = False
            assert liar.told > 10
            assert_alive(server)

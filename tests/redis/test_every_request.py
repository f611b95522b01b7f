# SPDX-License-Identifier: Apache-2.0
"""Every command and every route, with an Idempotency-Key and without, all side by side, while Redis
is up, has lost its scripts, is away, hangs, loads, takes no writes or has no memory, and while the
server itself stops: each gets an answer that is documented, and the server lives."""

import contextlib
import signal

import pytest
from redis.exceptions import BusyLoadingError

from documented import ask_all, ask_http, ask_resp, assert_alive, assert_documented, \
    assert_documented_http
from every_request import every_request, filled, own_routes, prepare
from raw_client import Http
from server import Error, Server
from servers import RedisServer, wait_until

REQUESTS = every_request()
STREAMS = ("/v1/feed",)  # answers that have no end
FLAGS = ("--payment-url", "test:")


@contextlib.contextmanager
def serve(redis_server, tmp_path, timeout_ms=5000):
    """With a ledger, so that all that spans the two is carried out as well."""
    with Server("--engine", f"{redis_server.url}?timeout={timeout_ms}", "--ledger",
                f"sqlite:{tmp_path / 'ledger.db'}", *FLAGS, memory=True) as server:
        yield server


def ask_everything(server, key):
    """Commands over both fronts, and the server's own routes."""
    ask_all(server, REQUESTS, key=key)
    asked = [(method, path, headers) for method, path in own_routes(server.http_port)
             for headers in ([], [f"Idempotency-Key: {key}"]) if path not in STREAMS]
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(Http(server.http_port)) for _ in asked]
        for web, (method, path, headers) in zip(opened, asked):
            web.send(method, filled(path), None if method == "GET" else b"", headers)
        for web, what in zip(opened, asked):
            status, _ = web.read_head()
            assert 200 <= status < 600, (what, status)
    assert_alive(server)


def has(server, *codes):
    answer = server.call("SEATS.OPEN", "gala", "floor", 500)
    return isinstance(answer, Error) and answer.code in codes


def is_loading(redis_server):
    try:
        redis_server.client().ping()
    except BusyLoadingError:
        return True
    return False


def test_while_redis_is_up_and_when_it_has_lost_its_scripts(tmp_path):
    with RedisServer() as redis, serve(redis, tmp_path) as server:
        prepare(server)
        ask_everything(server, "up")
        redis.client().script_flush()
        ask_everything(server, "flushed")
        assert not isinstance(server.call("SEATS.OPEN", "gala", "floor", 500), Error)


def test_while_redis_is_away(tmp_path):
    with RedisServer() as redis, serve(redis, tmp_path, timeout_ms=300) as server:
        prepare(server)
        redis.kill()
        ask_everything(server, "first")  # some are in flight when it is found out
        wait_until(lambda: has(server, "ENGINE_DOWN"), "the server knows")
        ask_everything(server, "away")
        redis.start()
        wait_until(lambda: not has(server, "ENGINE_DOWN", "TIMEOUT", "LOADING", "BUSY"), "it is back")
        assert_alive(server)


def test_while_redis_hangs(tmp_path):
    with RedisServer() as redis, serve(redis, tmp_path, timeout_ms=300) as server:
        prepare(server)
        redis.pause()
        ask_everything(server, "hangs")
        redis.resume()
        wait_until(lambda: not has(server, "ENGINE_DOWN", "TIMEOUT", "LOADING", "BUSY"), "it is back")
        assert_alive(server)


def test_while_redis_loads(tmp_path):
    """Slowly enough that it is still at it when the last answer is there."""
    with RedisServer() as redis, serve(redis, tmp_path, timeout_ms=300) as server:
        prepare(server)
        with redis.client().pipeline() as pipeline:
            for i in range(20_000):
                pipeline.set(f"other:{i}", i)
            pipeline.execute()
        redis.client().save()
        redis.kill()
        redis.options.update(key_load_delay=2_000,  # microseconds, and looks up every 1 KiB
                             loading_process_events_interval_bytes=1024)
        redis.launch()
        wait_until(lambda: is_loading(redis), "Redis loads")
        ask_everything(server, "loads")
        assert is_loading(redis), "it still does"


@pytest.mark.parametrize("setting", [("maxmemory", "1"), ("min-replicas-to-write", "1")])
def test_while_redis_takes_no_writes(tmp_path, setting):
    with RedisServer() as redis, serve(redis, tmp_path) as server:
        prepare(server)
        redis.client().config_set(*setting)
        ask_everything(server, setting[0])
        redis.client().config_set(setting[0], "0")
        assert not isinstance(server.call("SEATS.OPEN", "gala", "floor", 500), Error)


def test_while_redis_is_a_replica(tmp_path):
    with RedisServer() as redis, RedisServer() as other, \
            serve(redis, tmp_path, timeout_ms=300) as server:
        prepare(server)
        redis.client().replicaof("127.0.0.1", other.port)
        ask_everything(server, "replica")
        redis.client().replicaof("no", "one")
        wait_until(lambda: not has(server, "READONLY", "ENGINE_DOWN", "TIMEOUT", "BUSY", "LOADING"),
                   "it is a master again")
        ask_everything(server, "master")


@pytest.mark.parametrize("engine", ["embedded", "up", "away", "hangs"])
def test_while_the_server_stops(tmp_path, engine):
    """A request gets a documented answer or a closed connection; the server ends in good order."""
    with contextlib.ExitStack() as stack:
        if engine == "embedded":
            server = stack.enter_context(Server(*FLAGS, "--drain-timeout", "2s"))
        else:
            redis = stack.enter_context(RedisServer())
            server = stack.enter_context(Server(
                "--engine", redis.url + "?timeout=300", "--ledger", f"sqlite:{tmp_path / 'ledger.db'}",
                "--drain-timeout", "2s", *FLAGS, memory=True))
        prepare(server)
        for action in {"away": ["kill"], "hangs": ["pause"]}.get(engine, []):
            getattr(redis, action)()
        process = server.process
        keyed = [(request, [f"Idempotency-Key: {request.name}"]) for request in REQUESTS
                 if request.route and request.keyable]
        with contextlib.suppress(ConnectionError):
            ask_resp(server, REQUESTS, assert_documented,
                     sent=lambda: process.send_signal(signal.SIGTERM))
        with contextlib.suppress(ConnectionError):
            ask_http(server, keyed, assert_documented_http)
        assert process.wait(60) == 0, server.said()
        assert "internal check failed" not in server.said()

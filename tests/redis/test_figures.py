# SPDX-License-Identifier: Apache-2.0
"""What a server on Redis says of itself: what it does not know it says so, and nowhere as 0."""

import json

import pytest

from harness import Build, run
from raw_client import Client, Http
from server import Error, Server
from servers import RedisServer

USAGE = 2
UNKNOWN = "the state is in Redis"
CARRIED = ("memory_bytes", "holds", "waiting", "expired", "memory_limit_bytes", "bookings_confirmed")


@pytest.fixture(scope="module")
def server():
    with RedisServer() as redis, Server("--engine", redis.url) as one:
        one.call("SEATS.OPEN", "gala", "floor", 5)
        one.call("SEATS.RESERVE", "gala", "floor", "b-1", "ann", 2, 4)
        yield one


def test_what_the_engine_carries_is_null_over_http(server):
    with Http(server.http_port) as client:
        info = client.call("GET", "/v1/info").json
    assert [info[name] for name in CARRIED] == [None] * len(CARRIED)
    assert UNKNOWN in info["unknown_because"]
    assert info["engine"].startswith("redis://") and info["connections"] >= 1


def test_info_leaves_out_what_it_does_not_know(server):
    lines = dict(line.split(":", 1) for line in server.call("INFO").splitlines() if ":" in line)
    assert not {*CARRIED, "fsync", "durable"} & set(lines)
    assert UNKNOWN in lines["unknown_because"]


def test_dbsize_and_metrics_have_no_number_for_it(server):
    with Client(server.resp_port) as client:
        answer = client.call("DBSIZE")
        assert isinstance(answer, Error) and UNKNOWN in str(answer)
        metrics = client.call("METRICS")
    assert "holdfast_redis_connects_total" in metrics
    assert "holdfast_holds" not in metrics and "holdfast_expired_total" not in metrics


def test_the_programs_show_a_dash_or_nothing(server):
    lines = run(Build().program, "top", "--once", "--url", server.url).lines
    assert "fsync" not in lines[0]
    assert lines[1].startswith("  holds -   in line -   expired -   connections 1")
    assert lines[2].startswith("  state -   process ")
    audit = run(Build().program, "audit", server.url)
    assert (audit.code, "live holds" in audit.out) == (0, False)
    assert "0 holds" not in server.said()


def test_the_feed_begins_with_what_it_does_not_tell(server):
    with Http(server.http_port) as client:
        client.socket.sendall(b"GET /v1/feed HTTP/1.1\r\nHost: localhost\r\n\r\n")
        lines = iter(client.file.readline, b"")
        assert next(line for line in lines if line.startswith(b"event")) == b"event: limits\n"
        limits = json.loads(next(lines).partition(b"data: ")[2])
        assert (limits["expiries"], limits["commands"]) == (False, "of this server")
        server.call("SEATS.RESERVE", "gala", "floor", "b-2", "bob", 1, 4)
        assert next(line for line in lines if line.startswith(b"event")) == b"event: SEATS.RESERVE\n"


def refused(*flags, **variables):
    ended = run(Build().program, "serve", "--resp-port", 0, "--http-port", 0, *flags, env=variables)
    assert ended.code == USAGE and len(ended.err.splitlines()) == 1, ended
    return ended.err


@pytest.mark.parametrize("name, value", [("dir", "data"), ("fsync", "everysec"), ("memory", "yes")])
def test_settings_of_the_other_engine_are_refused_wherever_they_come_from(name, value, tmp_path):
    said = f"{name} is for the engine of this process"
    url = "redis://:s3cr3t@127.0.0.1:1"
    (tmp_path / "conf").write_text(f"{name} = {value}\n")
    told = [refused("--engine", url, f"--{name}={value}"),
            refused("--engine", url, **{f"HOLDFAST_{name.upper()}": value}),
            refused(f"--{name}={value}", HOLDFAST_ENGINE=url),
            refused("--engine", "redis+cluster://h", "--config", tmp_path / "conf")]
    assert all(said in text and "s3cr3t" not in text for text in told), told

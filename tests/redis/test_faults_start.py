# SPDX-License-Identifier: Apache-2.0
"""A Redis that cannot be used when the server starts: said in words on standard error, without the
password, with the exit code of what is not available; a URL that is none is wrong usage."""

import pytest

from harness import Build, run
from server import Server
from servers import RedisServer, free_port

PASSWORD, WRONG = "s3cr3t-of-redis", "s3cr3t-of-nobody"
UNAVAILABLE, USAGE = 69, 2


@pytest.fixture(scope="module")
def redis():
    with RedisServer(requirepass=PASSWORD) as server:
        yield server


@pytest.fixture(scope="module")
def nobody():
    """An address where nobody listens."""
    return f"127.0.0.1:{free_port()}"


def start(url):
    return run(Build().program, "serve", "--resp-port", 0, "--http-port", 0, "--engine",
               url)


def call(url):
    return run(Build().program, "call", "--engine", url, "SEATS.OPEN", "gala", "floor", 5)


def audit(url):
    return run(Build().program, "audit", url)


# What stands behind the scheme, and what is said of it.
UNUSABLE = {
    "a wrong password": (f"redis://:{WRONG}@{{redis}}", "WRONGPASS"),
    "a password that is missing": ("redis://{redis}", "NOAUTH"),
    "a user nobody knows": (f"redis://bob:{PASSWORD}@{{redis}}", "WRONGPASS"),
    "a database that is not there": (f"redis://:{PASSWORD}@{{redis}}/99", "DB index"),
    "nobody there": (f"redis://:{PASSWORD}@{{nobody}}?connect_timeout=300", "connection refused"),
    "a host without address": (f"redis://:{PASSWORD}@nowhere.invalid?connect_timeout=300",
                               "nowhere.invalid"),
    "no sentinel": (f"redis+sentinel://:{PASSWORD}@{{redis}}/mymaster?connect_timeout=300",
                    "no master mymaster"),
    "no cluster": (f"redis+cluster://:{PASSWORD}@{{redis}}", "cluster support disabled"),
    "no sentinel there": ("redis+sentinel://{nobody}/mymaster?connect_timeout=300",
                          "no master mymaster"),
    "no node there": ("redis+cluster://{nobody}?connect_timeout=300", "{nobody}"),
    "too few of three": (f"redlock://:{PASSWORD}@{{redis}},{{nobody}},127.0.0.2:1"
                         "?connect_timeout=300", "fewer than 2 of 3"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_the_server_does_not_start_and_says_why(redis, nobody, what):
    url, why = (text.format(redis=redis.address, nobody=nobody) for text in UNUSABLE[what])
    ended = start(url)
    assert ended.code == UNAVAILABLE, ended
    assert why.lower() in ended.err.lower() and "error: " in ended.err
    assert PASSWORD not in ended.err and WRONG not in ended.err


@pytest.mark.parametrize("program", [call, audit])
def test_the_other_programs_say_so_too(redis, nobody, program):
    for what in ("a wrong password", "a database that is not there", "nobody there"):
        url, why = (text.format(redis=redis.address, nobody=nobody) for text in UNUSABLE[what])
        ended = program(url)
        assert ended.code == UNAVAILABLE, ended
        assert why.lower() in ended.err.lower()
        assert PASSWORD not in ended.err and WRONG not in ended.err


@pytest.mark.parametrize("scheme, path, why", [
    ("redis", "", "that is a Holdfast server; use holdfast://{address}"),
    ("redlock", "", "that is a Holdfast server; use holdfast://{address}"),
    ("redis+cluster", "", "this is Holdfast, not Redis"),
    ("redis+sentinel", "/mymaster", "this is Holdfast, not Redis")])
def test_a_server_of_ours_is_recognised(scheme, path, why):
    with Server(memory=True) as server:
        address = f"127.0.0.1:{server.resp_port}"
        ended = call(f"{scheme}://{address}{path}?connect_timeout=300")
        assert ended.code == UNAVAILABLE and why.format(address=address) in ended.err


@pytest.mark.parametrize("url", [
    "redis://", "redis://a,b", "redis://:s3cr3t@", "redis://host/x", "redis://host/-1",
    "redis://:s3cr3t@host:99999", "redis://s3cr3t@host", "redis://:@host", "redis://host?s3cr3t=1",
    "redis://host?timeout=0", "redis://host?queue=0", "redis://host?worker=maybe",
    "redis://host?namespace={a}", "redis://:%zz@host", "redis+sentinel://host",
    "redis+cluster://host/3", "redlock://a,a", "redis+tls://:s3cr3t@host", "memcached://host",
    "redis://host?tls_ca=/ca.pem", "rediss://:s3cr3t@host?tls_verify=no",
    "redis+sentinel://host/m?sentinel_user=s3cr3t", "redis://host?sentinel_password=s3cr3t",
    "redis+sentinel://host:1/m?sentinel_password=x@s3cr3t"])
def test_a_url_that_is_none_is_wrong_usage(url):
    ended = run(Build().program, "serve", "--check-config", "--engine", url)
    assert ended.code == USAGE, ended
    assert ended.err.startswith("holdfast: ") and len(ended.err.splitlines()) == 1
    assert "s3cr3t" not in ended.err


@pytest.mark.parametrize("url", [
    "redis://host", "redis://[::1]:7000/3", "redis://bob:s3cr3t@host?timeout=500&namespace=shop",
    "redis+sentinel://a,b:1,c/mymaster/2", "redis+cluster://a,b,c", "redlock://a,b,c/1",
    "rediss://:s3cr3t@host", "rediss+cluster://a,b?tls_server_name=redis.example",
    "rediss+sentinel://a/mymaster?sentinel_password=s3cr3t", "redlocks://a,b,c"])
def test_a_good_url_is_checked_without_anybody_there(url):
    ended = run(Build().program, "serve", "--check-config", "--engine", url)
    assert ended.code == 0, ended
    assert "s3cr3t" not in ended.out + ended.err

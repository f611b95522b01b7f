# SPDX-License-Identifier: Apache-2.0
"""Redis over TLS: a server alone, and locks on several. Who a server is gets verified always; what
is wrong, with its certificate, with ours or with a file, is said in words, at the start and later."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from certificates import Authority
from faults import audit, is_not_now, pipelined
from harness import Build, run
from server import Error, Server
from servers import RedisServer, Tls, free_port, wait_until

PASSWORD = "s3cr3t-of-redis"
UNAVAILABLE, USAGE = 69, 2
LARGE = 256 << 10


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """Another authority, which nobody trusts."""
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


@pytest.fixture(scope="module")
def redis(tls):
    with RedisServer(tls=tls, requirepass=PASSWORD) as server:
        yield server


def call(url, *words):
    return run(Build().program, "call", "--engine", url, *words)


def serve(url, *flags):
    return run(Build().program, "serve", "--resp-port", 0, "--http-port", 0, "--engine", url,
               *flags)


# ---- what works


def test_every_program_speaks_it(redis, authority):
    url = f"{redis.url}?tls_ca={authority.cert}"
    assert call(url, "SEATS.OPEN", "gala", "floor", 5).code == 0
    with Server("--engine", url) as server:
        assert server.engine == f"rediss://{redis.address}/0"
        assert server.call("SEATS.RESERVE", "gala", "floor", "b", "ann", 2, 5)[0] == 1
        assert PASSWORD not in server.said() and str(authority.cert) not in server.said()
    assert "s3cr3t" not in run(Build().program, "audit", url).out
    assert audit(url) == []


def test_a_name_other_than_the_hosts_can_be_verified(tls, authority):
    named = Tls(authority.cert, *authority.issue("named", names="DNS:redis.example"))
    with RedisServer(tls=named) as server:
        url = f"{server.url}?tls_ca={authority.cert}"
        assert "not for 127.0.0.1" in call(url, "SEM.CARD", "a").err
        assert call(f"{url}&tls_server_name=redis.example", "SEM.CARD", "a").code == 0


def test_trusted_certificates_may_be_in_a_folder(redis, authority, stranger, tmp_path):
    for made in (stranger, authority):
        (tmp_path / made.cert.name).write_bytes(made.cert.read_bytes())
    url = f"{redis.url}?tls_ca={tmp_path}"
    assert "openssl rehash" in call(url, "SEM.CARD", "a").err
    assert run("openssl", "rehash", tmp_path).code == 0
    assert call(url, "SEM.CARD", "a").code == 0


def test_our_own_certificate_is_shown_to_servers_that_want_one(tls, authority, stranger):
    with RedisServer(tls=tls, tls_auth_clients="yes") as server:
        url = f"{server.url}?tls_ca={authority.cert}"
        ours, theirs = authority.issue("ours"), stranger.issue("theirs")
        assert call(f"{url}&tls_cert={ours[0]}&tls_key={ours[1]}", "SEM.CARD", "a").code == 0
        for more, why in (("", "it wants a certificate of ours"),
                          (f"&tls_cert={theirs[0]}&tls_key={theirs[1]}",
                           "it refuses our certificate")):
            ended = call(url + more, "SEM.CARD", "a")
            assert ended.code == UNAVAILABLE and why in ended.err, ended


def test_locks_on_several_servers(tls, authority):
    with RedisServer(tls=tls) as one, RedisServer(tls=tls) as other:
        url = (f"redlocks://{one.address},{other.address},127.0.0.1:{free_port()}"
               f"?tls_ca={authority.cert}")
        with Server("--engine", url) as server:
            assert server.call("LOCK.TRY", "r", 60, "ID", "mine")[0] == "mine"
        assert one.client().exists("seat:locked:r") and other.client().exists("seat:locked:r")


def test_much_in_flight_arrives_whole_and_in_order(redis, authority):
    """Requests and answers of many megabytes, each far larger than a record of TLS or a socket's
    buffer, on the one connection that the server has to Redis."""
    with Server("--engine", f"{redis.url}?tls_ca={authority.cert}&timeout=20s") as server:
        bodies = [str(number % 10) * (LARGE + number) for number in range(48)]
        begins = [("IDEM.BEGIN", f"k{n}", "print") for n in range(48)]
        pipelined(server, begins)
        pipelined(server, [("IDEM.COMPLETE", f"k{n}", body) for n, body in enumerate(bodies)])
        assert [answer[-1] for answer in pipelined(server, begins)] == bodies
        assert server.call("SEATS.OPEN", "fair", "floor", 5000)[0] == 1
        held = pipelined(server, [("SEATS.RESERVE", "fair", "floor", f"b{n}", "ann", 1, 5000)
                                  for n in range(5000)], batch=5000)
        assert [answer[1] for answer in held] == list(range(4999, -1, -1))


# ---- what does not


@pytest.fixture(scope="module")
def plain():
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def unproven(tls, authority, stranger):
    """A server for each certificate that proves nothing."""
    pairs = {"expired": authority.issue("expired", days=-1), "stranger": stranger.issue("redis"),
             "other": authority.issue("other", names="DNS:other.example")}
    servers = {what: RedisServer(tls=Tls(authority.cert, *pair), start=False, save="")
               for what, pair in pairs.items()}
    try:
        for server in servers.values():
            server.launch()
        yield {what: server.address for what, server in servers.items()}
    finally:
        for server in servers.values():
            server.close()


UNUSABLE = {
    "expired": "certificate has expired",
    "stranger": "its certificate is not trusted",
    "other": "its certificate is not for 127.0.0.1",
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_server_that_is_not_proven_is_not_used(unproven, authority, what):
    """At once: another attempt would end the same way."""
    ended = serve(f"rediss://:{PASSWORD}@{unproven[what]}?tls_ca={authority.cert}"
                  "&connect_timeout=1h")
    assert ended.code == UNAVAILABLE, ended
    assert UNUSABLE[what] in ended.err and PASSWORD not in ended.err


def test_the_queries_for_masters_say_why_too(unproven, plain, authority):
    """Several at a time, each with an attempt that lasts until the connect timeout is over."""
    hosts = {unproven["stranger"]: "its certificate is not trusted",
             plain.address: "does it speak TLS on this port?"}
    forms = ["rediss+sentinel://:{}@{}/mymaster", "rediss+cluster://:{}@{}", "rediss://:{}@{}"]
    cases = [(form.format(PASSWORD, host), why) for form in forms for host, why in hosts.items()]
    with ThreadPoolExecutor(len(cases)) as pool:
        options = f"?tls_ca={authority.cert}&connect_timeout=2s"
        for (url, why), ended in zip(cases, pool.map(lambda c: serve(c[0] + options), cases)):
            assert ended.code == UNAVAILABLE, ended
            assert why in ended.err and PASSWORD not in ended.err, (url, ended)


def test_without_tls_where_it_is_spoken_the_scheme_is_told(redis):
    ended = call(f"redis://{redis.address}?connect_timeout=1000", "SEM.CARD", "a")
    assert ended.code == UNAVAILABLE and "rediss://" in ended.err


@pytest.mark.parametrize("flags", [(), ("--check-config",)], ids=["start", "check"])
@pytest.mark.parametrize("options, why", [
    ("tls_ca=/nowhere/ca.pem", '"/nowhere/ca.pem": No such file'),
    ("tls_ca={key}", "no trusted certificates"),
    ("tls_cert=/nowhere/c.pem&tls_key={key}", 'tls_cert "/nowhere/c.pem"'),
    ("tls_cert={cert}&tls_key=/nowhere/k.pem", 'tls_key "/nowhere/k.pem"'),
    ("tls_cert={cert}&tls_key={other}", "is not the key of the certificate"),
    ("tls_cert={cert}", "need each other"),
    ("tls_verify=no", "always verified"),
])
def test_files_that_cannot_be_used_are_named_before_anybody_is_asked(
        authority, stranger, flags, options, why):
    cert, key = authority.issue("mine")
    options = options.format(cert=cert, key=key, other=stranger.key)
    ended = serve(f"rediss://:{PASSWORD}@127.0.0.1:1?{options}", *flags)
    assert ended.code == USAGE, ended
    assert why in ended.err and PASSWORD not in ended.err


def test_a_server_that_comes_back_with_another_certificate_is_refused_until_it_is_right(
        tls, authority, stranger):
    wrong = Tls(tls.ca, *stranger.issue("again"))
    with RedisServer(tls=tls) as redis:
        with Server("--engine", f"{redis.url}?tls_ca={authority.cert}&timeout=500") as server:
            assert server.call("SEATS.OPEN", "gala", "floor", 5)[0] == 1
            redis.stop()
            redis.tls = wrong
            redis.launch()

            def refused():
                answer = server.call("SEATS.OPEN", "gala", "floor", 5)
                assert is_not_now(answer), answer
                return "its certificate is not trusted" in str(answer)
            wait_until(refused, "the reason")
            wait_until(lambda: "its certificate is not trusted" in server.said(), "in the log")
            redis.kill()
            redis.tls = tls
            redis.start()
            wait_until(lambda: not isinstance(server.call("SEM.CARD", "a"), Error), "it is back")

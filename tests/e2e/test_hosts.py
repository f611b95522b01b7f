# SPDX-License-Identifier: Apache-2.0
"""By which names a server is asked over HTTP: what a page can reach whose name leads to this machine."""

import pytest

from http_parts import users
from raw_client import Http
from server import Server

EVIL = ["evil.example", "evil.example:4654", "localhost.evil.example", "127.0.0.1.evil.example",
        "evil.example.", "10.1.2.3", "[fd00::7]:80", "127.1", "2130706433", "0.0.0.0"]
OURS = ["localhost", "LOCALHOST:4654", "localhost.", "app.localhost:80", "127.0.0.1:4654",
        "127.8.9.1", "[::1]", "[::1]:4654", "[::ffff:127.0.0.1]"]


def ask(server, host, method="GET", path="/v1/quotas/t", more="", version="1.1"):
    with Http(server.http_port) as http:
        named = "" if host is None else f"Host: {host}\r\n"
        http.socket.sendall(f"{method} {path} HTTP/{version}\r\n{named}{more}\r\n".encode())
        return http.read(method)


def refused(answer):
    assert answer.status == 421, answer
    assert answer.code == "FORBIDDEN" and "allowed-hosts" in answer.json["error"]["message"]
    return True


@pytest.fixture(scope="module")
def server():
    with Server(memory=True) as one:
        yield one


@pytest.mark.parametrize("host", OURS)
def test_loopback_names_are_answered(server, host):
    assert ask(server, host).status == 200
    assert ask(server, "evil.example", path=f"http://{host}/v1/quotas/t").status == 200


@pytest.mark.parametrize("host", EVIL)
def test_other_names_are_not(server, host):
    refused(ask(server, host))
    refused(ask(server, "localhost", path=f"http://{host}/v1/quotas/t"))
    for path in ("/", "/livez", "/metrics", "/v1/info", "/v1/feed", "/nothing", "/v1/openapi.json",
                 "/v1/events/e/queue/u/stream"):
        refused(ask(server, host, path=path))


def test_a_page_under_our_own_address_changes_nothing(server):
    """Host and Origin agree, as they do for a page whose name leads here."""
    body = '{"limit":5}'
    refused(ask(server, "evil.example:4654", "PUT", more=(
        "Origin: http://evil.example:4654\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}")))
    refused(ask(server, "evil.example", "OPTIONS"))
    assert ask(server, "localhost").json["limit"] == 0


def test_who_names_no_host_is_no_browser(server):
    assert ask(server, None, version="1.0").status == 200


def test_names_can_be_allowed():
    with Server("--allowed-hosts", "shop.example, [fd00::7]", memory=True) as server:
        for host in ("Shop.Example.:80", "[fd00::7]", "localhost"):
            assert ask(server, host).status == 200
        for host in ("b.shop.example", "[fd00::8]", "evil.example"):
            refused(ask(server, host))
    with Server("--allowed-hosts", "*", memory=True) as server:
        assert ask(server, "evil.example").status == 200


def test_with_users_only_where_names_are_given(users):
    path, tokens = users
    token = f"Authorization: Bearer {tokens['reader']}\r\n"
    with Server("--auth-file", path, memory=True) as server:
        assert ask(server, "any.example", more=token).status == 200
        assert ask(server, "any.example").status == 401
    with Server("--auth-file", path, "--allowed-hosts", "shop.example", "--bind", "0.0.0.0",
                memory=True) as server:
        for host in ("shop.example", "127.0.0.1", "10.1.2.3", "[fd00::7]"):
            assert ask(server, host, more=token).status == 200
        refused(ask(server, "any.example", more=token))


@pytest.mark.parametrize("hosts", ["a.example:80", "http://a", "a,,b", "a b", "u@a", "[::1"])
def test_a_list_that_is_none_keeps_it_from_starting(holdfast, hosts):
    ended = holdfast("serve", "--memory", "--allowed-hosts", hosts, "--check-config")
    assert ended.code == 2 and "allowed-hosts" in ended.err

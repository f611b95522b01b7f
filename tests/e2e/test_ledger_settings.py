# SPDX-License-Identifier: Apache-2.0
"""The settings of the ledger: from a flag, the environment and a file, checked before anything is
started; and the password in its URL, which is shown nowhere."""

import json

import pytest

from raw_client import Error, http
from server import Server

SECRET = "s3cret-of-ann"
USAGE = 2


def urls():
    """Nobody listens there."""
    return [f"{scheme}://ann:{SECRET}@127.0.0.1:1/shop" for scheme in ("postgres", "mysql")]


@pytest.mark.parametrize("url", urls(), ids=["postgres", "mysql"])
@pytest.mark.parametrize("source", ["flag", "environment", "file"])
def test_a_ledger_that_is_away(url, source, tmp_path):
    """The server starts, says what it lacks, refuses what needs it, and never shows the secret."""
    flags, env = [], {}
    if source == "flag":
        flags = ["--ledger", url]
    elif source == "environment":
        env = {"HOLDFAST_LEDGER": url}
    else:
        (tmp_path / "holdfast.conf").write_text(f"ledger = {url}\n")
        flags = ["--config", tmp_path / "holdfast.conf"]
    with Server(*flags, memory=True, env=env) as server:
        refused = server.call("STOCK.BUY", "sneaker", "o-1", "ann", 1)
        assert isinstance(refused, Error) and refused.code == "LEDGER_DOWN"
        over_http = http(server.http_port, "POST", "/v1/products/sneaker/orders",
                         {"user_id": "ann", "quantity": 1})
        assert over_http.status == 503 and over_http.headers["retry-after"]
        ready = http(server.http_port, "GET", "/readyz")
        assert ready.status == 503 and b"127.0.0.1:1" in ready.body
        info = http(server.http_port, "GET", "/v1/info").json
        assert "127.0.0.1:1" in info["ledger"]
        figures = http(server.http_port, "GET", "/metrics").body.decode()
        shown = [str(refused), str(over_http.json), ready.body.decode(), json.dumps(info), figures]
        assert server.stop() == 0
        assert SECRET not in "".join(shown) + server.said()


@pytest.mark.parametrize("flags", [
    ["--ledger", "oracle://ann:s3cret-of-ann@host/shop"], ["--ledger", "s3cret-of-ann"],
    ["--ledger", "postgres://ann:s3cret-of-ann@host:99999/shop"],
    ["--ledger", "mysql://ann:s3cret-of-ann@host:99999/shop"],
    ["--ledger", "sqlite:"], ["--ledger-inventory", "a(b)"], ["--ledger-inventory", "a(b, c); --"],
    ["--ledger-connections", "0"], ["--ledger-timeout", "1m"], ["--servers", "0"],
    ["--breaker-failures", "101"], ["--breaker-window", "1ms"], ["--fallback-rate", "x"],
    ["--reconcile-every", "2d"]], ids=" ".join)
def test_what_cannot_be_is_refused(holdfast, tmp_path, flags):
    ended = holdfast("serve", "--dir", tmp_path / "data", *flags, "--check-config")
    assert (ended.code, ended.out) == (USAGE, "") and len(ended.err.splitlines()) == 1
    assert SECRET not in ended.err
    assert not (tmp_path / "data").exists()


def test_what_can_be_is_good(holdfast, tmp_path):
    flags = ["--ledger", f"sqlite:{tmp_path}/a.db", "--ledger-inventory", "shop.items(sku, on_hand)",
             "--ledger-connections", "4", "--ledger-timeout", "500ms", "--servers", "3",
             "--fallback-rate", "0", "--breaker-window", "1s", "--breaker-failures", "100",
             "--breaker-open-for", "100ms", "--reconcile-every", "0"]
    ended = holdfast("serve", "--memory", *flags, "--check-config")
    assert (ended.code, ended.err) == (0, "") and not (tmp_path / "a.db").exists()

# SPDX-License-Identifier: Apache-2.0
"""A directory that takes long to read: the server can be reached and stopped meanwhile, and a snapshot
of it holds no connection open."""

import re
import subprocess
import threading
import time

import pytest

from harness import ROOT, TIMEOUT_S
from own_server import free_ports
from raw_client import Client, encode, fields, http
from server import READY, Error, Server


def fill(server, count):
    """Many bookings, as fast as it goes."""
    with Client(server.resp_port) as client:
        client.call("SEATS.OPEN", "full", "floor", count)
        data = b"".join(encode("SEATS.RESERVE", "full", "floor", f"b{i}", f"u{i}", 1, 1, "TTL", "2h")
                        for i in range(count))
        sender = threading.Thread(target=client.send_raw, args=(data,))
        sender.start()
        for _ in range(count):
            assert client.read()[0] == 1
        sender.join()


@pytest.fixture(scope="module")
def large(build, tmp_path_factory):
    """A directory with many bookings in its journal."""
    directory = tmp_path_factory.mktemp("large") / "data"
    count = 60_000 if build.sanitized else 300_000
    with Server("--fsync", "no", directory=directory) as server:
        fill(server, count)
        server.kill()
    return directory, count


@pytest.fixture
def loading(build, large):
    """A server that reads the large directory, as soon as it can be reached."""
    directory, count = large
    resp, web = free_ports(2)
    process = subprocess.Popen(
        [build.program, "serve", "--dir", directory, "--resp-port", str(resp), "--http-port",
         str(web)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)

    def reached():
        try:
            return Client(resp)
        except ConnectionRefusedError:
            return None
    end = time.monotonic() + TIMEOUT_S
    while (client := reached()) is None:
        assert time.monotonic() < end
    yield process, client, web, count
    client.close()
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stdout.close()


def test_while_it_loads(loading):
    process, client, web, count = loading
    got = client.call("SEATS.ZONE", "full", "floor")
    if not isinstance(got, Error):
        pytest.skip("it was read before anybody could ask")
    assert got.code == "LOADING" and re.search(r"\d+ of \d+ bytes", got.message)
    assert client.call("PING") == "PONG"
    assert http(web, "GET", "/livez").status == 200
    ready = http(web, "GET", "/readyz")
    if client.call("SEATS.ZONE", "full", "floor") == got or ready.status != 200:
        assert ready.status == 503 and b"loading" in ready.body
    assert READY.match(process.stdout.readline())
    assert http(web, "GET", "/readyz").status == 200
    assert fields(client.call("SEATS.ZONE", "full", "floor"))["reserved"] == count
    process.terminate()
    assert process.wait(TIMEOUT_S) == 0


def test_stopped_while_it_loads(loading):
    process, client, _, _ = loading
    got = client.call("SEATS.ZONE", "full", "floor")
    process.terminate()
    assert process.wait(TIMEOUT_S) == 0, got


def test_a_snapshot_does_not_keep_connections_open(large):
    """The process that writes it has all that the server had open, but must not hold on to it."""
    directory, _ = large
    with Server("--fsync", "no", directory=directory) as server, Client(server.resp_port) as client:
        with Client(server.resp_port) as other:
            assert client.call("SNAPSHOT") == "OK"
            other.socket.settimeout(5)
            other.send_raw(b"*x\r\n")
            assert other.read().code == "ERR"
            assert other.read_nothing_more() == b""

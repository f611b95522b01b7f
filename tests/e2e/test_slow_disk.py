# SPDX-License-Identifier: Apache-2.0
"""A disk whose sync hangs: the server says that it lives and goes on reading, and no answer, event or
waiter learns of anything before it is on disk."""

import os
import select

import pytest

from harness import TIMEOUT_S, Build
from raw_client import Client, Http, encode, fields, http
from server import Error, Server, wait_until

EXIT_DISK = 3


class SlowDisk:
    """A server's disk, whose syncs a test can hold up; the file is replaced, never half written."""

    def __init__(self, directory):
        self.path = directory / "disk"
        self.become("0")

    def become(self, what):
        fresh = self.path.with_suffix(".new")
        fresh.write_text(what)
        os.replace(fresh, self.path)

    @property
    def env(self):
        asan = os.environ.get("ASAN_OPTIONS", "")
        return {"LD_PRELOAD": str(Build().path / "bench" / "libslow_disk_shim.so"),
                "SLOW_DISK": str(self.path),
                "ASAN_OPTIONS": f"{asan}:verify_asan_link_order=0".lstrip(":")}


@pytest.fixture
def disk(tmp_path):
    return SlowDisk(tmp_path)


@pytest.fixture
def server(disk, tmp_path):
    with Server(directory=tmp_path / "data", env=disk.env) as server:
        with Client(server.resp_port) as client:
            assert client.call("SEATS.OPEN", "gala", "floor", 1000)[0] == 1
        yield server
        disk.become("0")  # or it could not stop


def reserve(client, booking):
    client.send_raw(encode("SEATS.RESERVE", "gala", "floor", booking, "ann", 1, 1000))


def is_silent(opened):
    """Nothing has come. Anything that is sent in spite of the disk would be here by now or soon."""
    return not select.select([opened.socket], [], [], 0.2)[0]


def told(feed):
    """What a stream has sent since it was last asked."""
    return feed.socket.recv(1 << 16) if select.select([feed.socket], [], [], 0.2)[0] else b""


def hang_with(server, disk, client, booking):
    """One reserve is in flight, on a disk that does not come back."""
    disk.become("hang")
    reserve(client, booking)
    assert http(server.http_port, "GET", "/livez").status == 200


def test_a_server_on_a_disk_that_hangs_says_that_it_lives(server, disk):
    with Client(server.resp_port) as first, Client(server.resp_port) as second:
        hang_with(server, disk, first, "b1")
        reserve(second, "b2")
        for _ in range(3):
            assert http(server.http_port, "GET", "/livez").status == 200
            assert http(server.http_port, "GET", "/readyz").status == 200
        assert is_silent(first) and is_silent(second)
        disk.become("0")
        assert [first.read()[:2], second.read()[:2]] == [[1, 999], [1, 998]]


def test_no_read_shows_what_is_not_on_disk(server, disk):
    with Client(server.resp_port) as writer, Client(server.resp_port) as reader:
        hang_with(server, disk, writer, "b1")
        reader.send_raw(encode("SEATS.ZONE", "gala", "floor"))
        with Http(server.http_port) as web:
            web.send("GET", "/v1/events/gala/zones/floor")
            assert is_silent(reader) and is_silent(web) and is_silent(writer)
            disk.become("0")
            assert web.read().json["available"] == 999
        assert fields(reader.read())["available"] == 999
        assert writer.read()[0] == 1


def test_no_event_and_no_waiter_learns_of_it_before(server, disk):
    with Client(server.resp_port) as holder, Client(server.resp_port) as waiter, \
            Http(server.http_port) as feed:
        assert holder.call("SEM.ACQUIRE", "gate", "a", 1)[0] == 1
        waiter.send_raw(encode("SEM.ACQUIRE", "gate", "b", 1, "WAIT", 60000))
        wait_until(lambda: fields(holder.call("SEM.STATS", "gate"))["waiting"] == 1)
        feed.send("GET", "/v1/feed")
        assert feed.read_head()[0] == 200
        disk.become("hang")
        holder.send_raw(encode("SEM.RELEASE", "gate", "a"))
        assert http(server.http_port, "GET", "/livez").status == 200
        assert is_silent(waiter) and is_silent(holder)
        assert b"SEM.RELEASE" not in told(feed)
        disk.become("0")
        assert holder.read() == 1
        assert waiter.read()[0] == 1
        wait_until(lambda: b"SEM.RELEASE" in told(feed))


def test_a_pipeline_is_answered_in_order_over_several_syncs(server, disk):
    with Client(server.resp_port) as client:
        hang_with(server, disk, client, "b0")
        for i in range(1, 200):
            reserve(client, f"b{i}")
        assert is_silent(client)
        disk.become("2000")
        assert [client.read()[1] for _ in range(200)] == [999 - i for i in range(200)]
        disk.become("0")


def test_a_sync_that_fails_at_last_fails_all_that_waited(server, disk, tmp_path):
    with Client(server.resp_port) as first, Client(server.resp_port) as second:
        hang_with(server, disk, first, "b1")
        reserve(second, "b2")
        assert is_silent(first) and is_silent(second)
        disk.become("fail")
        for client in (first, second):
            answer = client.read()
            assert isinstance(answer, Error) and answer.code == "IOERR"
        assert server.process.wait(TIMEOUT_S) == EXIT_DISK
    disk.become("0")
    with Server(directory=tmp_path / "data") as after, Client(after.resp_port) as client:
        assert client.call("AUDIT") == [1, 0]


def test_what_was_not_on_disk_was_never_answered_when_the_server_is_killed(server, disk, tmp_path):
    with Client(server.resp_port) as first, Client(server.resp_port) as second:
        reserve(first, "b0")
        assert first.read()[0] == 1
        hang_with(server, disk, first, "b1")
        reserve(second, "b2")
        assert is_silent(first) and is_silent(second)
        server.kill()
        assert first.read_nothing_more() == b"" and second.read_nothing_more() == b""
    disk.become("0")
    with Server(directory=tmp_path / "data") as after, Client(after.resp_port) as client:
        assert fields(client.call("SEATS.GET", "gala", "b0"))["status"] == "reserved"
        # The first batch was written, and may be there; the second one was not even that.
        assert client.call("SEATS.GET", "gala", "b2")[:2] == [0, "RESERVATION_NOT_FOUND"]
        assert client.call("AUDIT") == [1, 0]


def test_a_stop_waits_for_what_is_in_flight(server, disk):
    with Client(server.resp_port) as client:
        hang_with(server, disk, client, "b1")
        server.process.terminate()
        assert is_silent(client)
        disk.become("0")
        assert client.read()[0] == 1
        assert server.process.wait(TIMEOUT_S) == 0

# SPDX-License-Identifier: Apache-2.0
"""A system that gives a server no threads, or fewer than it would like: without those that it needs
it says so and stops; whatever else there is no thread for, the loop does itself, and all that was
answered is on disk as ever."""

import subprocess

import pytest
from raw_client import Client, encode, http
from server import Server, wait_until
from shifted_clock import preload

NEEDED = 2  # the server's own for slow work
EXIT_UNAVAILABLE = 69
MANY = 60_000  # bookings, which are replayed and indexed by threads if there are any
AT_ONCE = 2000


def scarce(threads):
    return {**preload("scarce_threads"), "SCARCE_THREADS": str(threads)}


def reserve_many(port, begin, count):
    """Answered one and all."""
    with Client(port) as client:
        for first in range(begin, begin + count, AT_ONCE):
            client.send_raw(b"".join(
                encode("SEATS.RESERVE", "gala", "floor", f"b{i}", f"u{i}", 1, 10)
                for i in range(first, first + AT_ONCE)))
            assert [client.read()[0] for _ in range(AT_ONCE)] == [1] * AT_ONCE


def works(server, bookings):
    """Front, engine, disk, audit on another thread and several clients at a time."""
    assert http(server.http_port, "GET", "/readyz").status == 200
    clients = [Client(server.resp_port) for _ in range(8)]
    for _ in range(3):
        for number, client in enumerate(clients):
            client.send_raw(encode("SEATS.RESERVE", "gala", "floor", f"c{number}", "c", 1, 100))
        assert [client.read()[0] for client in clients] == [1] * len(clients)
    for client in clients:
        client.close()
    assert server.call("AUDIT") == [1, 0]
    reserved = server.call("SEATS.ZONE", "gala", "floor")
    assert reserved[reserved.index("reserved") + 1] == bookings + len(clients)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Directories with the same bookings: in the journal alone, and in a snapshot."""
    where = tmp_path_factory.mktemp("scarce")
    with Server("--fsync", "no", directory=where / "journal") as server:
        server.call("SEATS.OPEN", "gala", "floor", 10 * MANY)
        reserve_many(server.resp_port, 0, MANY)
    subprocess.run(["cp", "-r", where / "journal", where / "snapshot"], check=True)
    with Server(directory=where / "snapshot") as server:
        assert server.call("SNAPSHOT") == "OK"
        wait_until(lambda: list(server.directory.glob("snapshot-*")), "the snapshot")
        assert server.stop() == 0
    return where


@pytest.mark.parametrize("threads", range(NEEDED))
def test_without_the_threads_it_needs_a_server_says_so(tmp_path, threads):
    with Server(directory=tmp_path / "data", env=scarce(threads), start=False) as server:
        with pytest.raises(AssertionError, match=f"exit code {EXIT_UNAVAILABLE}") as error:
            server.start()
        assert "the system gives no threads" in str(error.value)


@pytest.mark.parametrize("threads", [NEEDED, NEEDED + 1, NEEDED + 3])
@pytest.mark.parametrize("kept", ["journal", "snapshot"])
def test_with_few_threads_it_recovers_and_serves_and_keeps_all(tmp_path, filled, threads, kept):
    data = tmp_path / "data"
    subprocess.run(["cp", "-r", filled / kept, data], check=True)
    with Server("--threads", 4, directory=data, env=scarce(threads)) as server:
        if threads < NEEDED + 3:
            assert f"only {1 + threads - NEEDED} threads of 4" in server.said()
        works(server, MANY)
        server.kill()
        server.start()  # whatever was answered is there
        works(server, MANY)
        assert server.stop() == 0
    assert "stopped, exit code 0" in server.said()


def test_what_writes_the_audit_log_is_needed_where_one_is_wanted(tmp_path):
    flags = ("--threads", 1, "--audit-log", tmp_path / "audit.log")
    with Server(*flags, directory=tmp_path / "data", env=scarce(NEEDED), start=False) as server:
        with pytest.raises(AssertionError, match="no memory or no thread for it"):
            server.start()
        server.env = scarce(NEEDED + 2)
        server.start()
        assert server.call("QUOTA.LIMIT", "t", 7) is not None
        assert server.stop() == 0
    assert "QUOTA.LIMIT" in (tmp_path / "audit.log").read_text()

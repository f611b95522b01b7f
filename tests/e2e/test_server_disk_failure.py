# SPDX-License-Identifier: Apache-2.0
"""A disk that fails under a server: every client sees it, and no answer overtakes it."""

import itertools
import resource
import shutil

import pytest

from harness import TIMEOUT_S
from raw_client import Client, encode, fields, http
from server import Error, Server, wait_until

EXIT_DISK = 3


class Failing:
    """Books seats until the disk fails, and remembers what was acknowledged."""

    def __init__(self, server):
        self.server, self.acknowledged, self.client = server, [], Client(server.resp_port)
        assert self.client.call("SEATS.OPEN", "gala", "floor", 1 << 40)[0] == 1

    def book(self, until):
        """Ten at a time. True if the disk is still well after so many."""
        for start in range(len(self.acknowledged), until, 10):
            names = [f"b{i}" for i in range(start, start + 10)]
            self.client.send_raw(b"".join(encode(
                "SEATS.RESERVE", "gala", "floor", name, "ann" * 20, 1, 1 << 40) for name in names))
            got = [self.client.read() for _ in names]
            self.acknowledged += [name for name, one in zip(names, got) if not isinstance(one, Error)]
            errors = [one for one in got if isinstance(one, Error)]
            if errors:
                assert {one.code for one in errors} == {"IOERR"}
                assert len(errors) == 10, "one turn, one sync: all or none"
                return False
        return True

    def check_failed(self):
        """What everybody sees from then on."""
        assert self.client.call("SEATS.ZONE", "gala", "floor").code == "IOERR"
        web = self.server.http_port
        assert http(web, "GET", "/readyz").status == 503
        assert http(web, "GET", "/livez").status == 200
        answer = http(web, "PUT", "/v1/quotas/a", {"limit": 1})
        assert (answer.status, answer.code) == (503, "IOERR")
        assert self.server.process.wait(TIMEOUT_S) == EXIT_DISK
        self.client.close()

    def check_kept(self, directory):
        """All that was acknowledged is there when the directory is read elsewhere."""
        with Server(directory=directory) as after, Client(after.resp_port) as client:
            client.send_raw(b"".join(
                encode("SEATS.GET", "gala", name) for name in self.acknowledged))
            for name in self.acknowledged:
                assert fields(client.read())["booking_id"] == name
            reserved = fields(client.call("SEATS.ZONE", "gala", "floor"))["reserved"]
            assert len(self.acknowledged) <= reserved <= len(self.acknowledged) + 10
            assert client.call("AUDIT") == [1, 0]


@pytest.fixture
def careless(build, tmp_path):
    """The program, where a file that grows too large is an error and not a signal."""
    script = tmp_path / "holdfast"
    script.write_text(f'#!/bin/sh\ntrap "" XFSZ\nexec {build.program} "$@"\n')
    script.chmod(0o755)
    return script


def test_a_file_that_may_not_grow(careless, tmp_path):
    with Server(directory=tmp_path / "data", program=careless) as server:
        failing = Failing(server)
        assert failing.book(500)
        limit = 128 << 10
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (limit, limit))
        assert not failing.book(100_000)
        assert len(failing.acknowledged) >= 500
        failing.check_failed()
        assert "the data directory failed" in server.said()
        shutil.copytree(tmp_path / "data", tmp_path / "elsewhere")
        failing.check_kept(tmp_path / "elsewhere")


def test_those_who_wait_are_told_when_the_disk_fails(careless, tmp_path):
    with Server(directory=tmp_path / "data", program=careless) as server:
        failing = Failing(server)
        failing.client.call("SEM.ACQUIRE", "sem", "holder", 1)
        waiters = [Client(server.resp_port) for _ in range(5)]
        for i, waiter in enumerate(waiters):
            waiter.send("SEM.ACQUIRE", "sem", f"w{i}", 1, "WAIT", 60000)
        wait_until(lambda: fields(failing.client.call("SEM.STATS", "sem"))["waiting"] == 5)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))
        assert not failing.book(100_000)
        for waiter in waiters:
            got = waiter.read()
            assert isinstance(got, Error) and got.code == "IOERR"
            waiter.close()
        assert server.process.wait(TIMEOUT_S) == EXIT_DISK


def test_one_error_takes_the_place_of_all_that_exec_answered(careless, tmp_path):
    with Server(directory=tmp_path / "data", program=careless) as server:
        client = Failing(server).client
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))
        for number in itertools.count():
            client.send_raw(encode("MULTI") + b"".join(
                encode("SEATS.RESERVE", "gala", "floor", f"b-{number}-{i}", "ann", 1, 1 << 50)
                for i in range(100)))
            assert [client.read() for _ in range(101)] == ["OK"] + ["QUEUED"] * 100
            client.send("EXEC")
            answer = client.read()
            if isinstance(answer, Error):
                break
        assert answer.code == "IOERR"
        assert client.call("ECHO", "next") == "next", "one answer for one request"
        assert client.read_nothing_more() == b""
        assert server.process.wait(TIMEOUT_S) == EXIT_DISK


def wait_behind_unsent_answers(holder, reader):
    """Has the reader, who reads nothing, wait for a slot with something left to be sent to it. Gives
    how many answers of either kind it will get."""
    rounds = 0
    while True:
        rounds += 1
        reader.send_raw(encode("IDEM.BEGIN", "big", "print") +
                        encode("SEM.ACQUIRE", "sem", "reader", 1, "WAIT", 60000))
        wait_until(lambda: fields(holder.call("SEM.STATS", "sem"))["waiting"] == 1)
        clients = holder.call("CLIENT", "LIST").splitlines()
        if any(" flags=b " in line and " omem=0 " not in line for line in clients):
            return rounds
        assert holder.call("SEM.RELEASE", "sem", "reader") == 1  # the system took it all: once more


def test_no_answer_overtakes_the_disk(careless, tmp_path):
    """A slow reader waits for a slot. In one and the same turn the slot is released, and the reader
    takes what was sent before: the grant must not go out with that, because it is not on disk."""
    with Server(directory=tmp_path / "data", program=careless) as server:
        holder, reader = Client(server.resp_port), Client(server.resp_port)
        holder.call("IDEM.BEGIN", "big", "print")
        holder.call("IDEM.COMPLETE", "big", "x" * 100_000)
        holder.call("SEM.ACQUIRE", "sem", "holder", 1)
        rounds = wait_behind_unsent_answers(holder, reader)

        server.pause()
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, 1))
        holder.send("SEM.RELEASE", "sem", "holder")
        for _ in range(rounds - 2):  # makes room, so that the server can send the rest
            assert reader.read()[1] == "COMPLETED"
            assert reader.read()[1] == "TIMEOUT"
        server.resume()
        assert holder.read().code == "IOERR"
        assert reader.read()[1] == "COMPLETED"
        assert reader.read()[1] == "TIMEOUT"
        assert reader.read()[1] == "COMPLETED"
        assert str(reader.read()).startswith("IOERR")
        reader.close()
        holder.close()
        assert server.process.wait(TIMEOUT_S) == EXIT_DISK

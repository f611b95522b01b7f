# SPDX-License-Identifier: Apache-2.0
"""The process that writes a snapshot: one that hangs, is killed, or whose end nobody is told of."""

import os
import signal
import stat
import sys
from pathlib import Path

import prometheus
import pytest

from harness import Build
from raw_client import Client, encode, http
from server import Server, wait_until

LIMITS = 50000


def figure(server, name):
    families = prometheus.parse(http(server.http_port, "GET", "/metrics").body.decode())
    return families[f"holdfast_{name}"].samples[f"holdfast_{name}", ()]


@pytest.fixture
def server():
    """With enough in it that a snapshot takes a while."""
    with Server("--fsync", "no") as one:
        with Client(one.resp_port) as client:
            client.send_raw(b"".join(encode("QUOTA.LIMIT", f"t{n}", n) for n in range(LIMITS)))
            for _ in range(LIMITS):
                client.read()
        yield one


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


def stop_child(server):
    """Begins a snapshot and stops the process that writes it; gives its pid. One that was quicker is
    let go, and the next one tried."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")

    def stopped():
        if server.call("SNAPSHOT") != "OK":  # the one before is still being put in place
            return None
        pid = next(iter(children.read_text().split()), None)
        if pid is None:
            return None
        os.kill(int(pid), signal.SIGSTOP)
        wait_until(lambda: state_of(pid) in ("T", "Z", None), "the signal")
        return int(pid) if state_of(pid) == "T" else None

    return wait_until(stopped, "a child that is slow enough")


def test_one_that_hangs_does_not_keep_the_server_from_stopping(server):
    pid = stop_child(server)
    assert server.stop() == 0
    assert state_of(pid) is None
    assert "a snapshot was not finished before the end" in server.said()
    server.start()
    assert server.call("QUOTA.GET", f"t{LIMITS - 1}")[1] == LIMITS - 1


def test_one_that_is_killed_is_followed_by_another(server):
    made = figure(server, "snapshots_total")
    pid = stop_child(server)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: figure(server, "snapshot_failures_total") == 1, "the failure")
    wait_until(lambda: "its process was killed by signal 9; failure 1 in a row" in server.said())
    wait_until(lambda: figure(server, "snapshots_total") > made, "the next one")


def test_a_parent_that_ignores_its_children_makes_snapshots(tmp_path):
    """SIGCHLD is ignored by whoever starts the server, and so by the server."""
    program = tmp_path / "holdfast"
    program.write_text(f"#!{sys.executable}\n"
                       "import os, signal, sys\n"
                       "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                       f"os.execv({str(Build().program)!r}, sys.argv)\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with Server(program=program) as server:
        server.call("QUOTA.LIMIT", "t", 7)
        assert server.call("SNAPSHOT") == "OK"
        wait_until(lambda: figure(server, "snapshots_total") == 1, "the snapshot")
        assert figure(server, "snapshot_failures_total") == 0
        assert len(list(server.directory.glob("snapshot-*"))) == 1
        server.restart()
        assert server.call("QUOTA.GET", "t") == [0, 7, 0]

# SPDX-License-Identifier: Apache-2.0
"""Disks that are small or full: the server uses them to their end, tells of it before that comes, and
says how many bytes were needed and how many were free when it has come."""

import re
import subprocess

import prometheus
import pytest

from harness import Build, run
from raw_client import Client, Error, encode, http
from server import Server, wait_until

EXIT_DISK = 3
MIB = 1 << 20
NEEDS = r"No space left on device: needs (\d+) bytes, (\d+) free"


class Disk:
    """A file system of its own, in memory, that can be filled."""

    def __init__(self, path, size):
        self.path = path
        self.path.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            path.rmdir()
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        self.filler = path / "filler"

    def fill(self, leave=0):
        """Takes all room but so many bytes."""
        with self.filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)) == 4096:
                    pass
            except OSError:
                pass
            file.truncate(max(0, file.tell() - leave))

    def empty(self):
        self.filler.unlink()

    def close(self):
        subprocess.run(["umount", self.path], check=True)


@pytest.fixture
def disks(tmp_path):
    """disks(size): a new one."""
    made = []

    def disk(size):
        made.append(Disk(tmp_path / f"disk{len(made)}", size))
        return made[-1]

    yield disk
    for one in made:
        one.close()


def write(client, first, count):
    """Sets so many limits; gives how many were acknowledged before the first refusal."""
    client.send_raw(b"".join(encode("QUOTA.LIMIT", f"tenant-{n:040}", n)
                             for n in range(first, first + count)))
    answers = [client.read() for _ in range(count)]
    good = [not isinstance(answer, Error) for answer in answers]
    return good.index(False) if False in good else count


def limit_of(server, n):
    return server.call("QUOTA.GET", f"tenant-{n:040}")[1]


def figure(server, name):
    """None: there is none."""
    families = prometheus.parse(http(server.http_port, "GET", "/metrics").body.decode())
    family = families.get(f"holdfast_{name}")
    return family and family.samples[f"holdfast_{name}", ()]


# ---- small disks ---------------------------------------------------------------------------------

def test_a_disk_of_a_few_megabytes_is_enough(disks):
    disk = disks(6 * MIB)
    with Server(directory=disk.path) as server:
        with Client(server.resp_port) as client:
            assert write(client, 0, 10000) == 10000
        assert http(server.http_port, "GET", "/readyz").status == 200
        server.restart("kill")
        assert limit_of(server, 9999) == 9999


def test_a_disk_is_used_to_its_end(disks):
    """Most of it holds records when the first write fails, and none that was acknowledged is lost."""
    disk, batch, acknowledged = disks(6 * MIB), 2000, 0
    with Server(directory=disk.path) as server:
        with Client(server.resp_port) as client:
            while (done := write(client, acknowledged, batch)) == batch:
                acknowledged += batch
        acknowledged += done
        assert server.process.wait(30) == EXIT_DISK
        needed, free = re.search("the journal cannot be written: " + NEEDS, server.said()).groups()
        assert int(needed) > int(free)
        used = sum(file.stat().st_size for file in disk.path.glob("journal-*"))
        assert used > 5 * MIB
        server.stop()

        # Without room nothing is written, but all is there to be read.
        ended = run(Build().program, "journal", "verify", disk.path)
        assert ended.code == 0, ended.err
        ended = run(Build().program, "backup", disk.path, disk.path.parent / "saved")
        assert ended.code == 0, ended.err
    with Server(directory=disk.path.parent / "saved") as server:
        assert limit_of(server, acknowledged - 1) == acknowledged - 1


# ---- full disks ----------------------------------------------------------------------------------

def test_a_disk_without_room_for_a_journal(disks):
    disk = disks(MIB)
    disk.fill()
    ended = run(Build().program, "serve", "--dir", disk.path, "--resp-port", "0", "--http-port", "0")
    assert ended.code == EXIT_DISK and ended.out == ""
    assert "No space left on device: needs 32 bytes, 0 free" in ended.err


def test_a_nearly_full_disk_is_told_before_anything_fails(disks):
    disk = disks(32 * MIB)
    with Server("--min-free-disk", "4m", directory=disk.path) as server:
        def ready():
            return http(server.http_port, "GET", "/readyz")

        assert ready().status == 200
        disk.fill(leave=2 * MIB)
        wait_until(lambda: ready().status == 503, "the disk to be looked at")
        assert re.match(rb"not ready: \d+ bytes are left on the file system of the data directory, "
                        rb"fewer than 4194304; make room\n$", ready().body)
        assert figure(server, "disk_free_bytes") <= 2 * MIB
        with Client(server.resp_port) as client:
            assert write(client, 0, 1000) == 1000, "it goes on serving"
        assert http(server.http_port, "GET", "/livez").status == 200
        disk.empty()
        wait_until(lambda: ready().status == 200, "the disk to be looked at again")
        wait_until(lambda: server.said().count("bytes are left") == 2, "once for each crossing")
        disk.fill(leave=2 * MIB)
        wait_until(lambda: ready().status == 503, "the disk to be looked at")
        wait_until(lambda: server.said().count("fewer than") == 2)


def test_a_snapshot_is_made_when_there_is_room_again(disks):
    disk = disks(8 * MIB)
    with Server(directory=disk.path) as server:
        with Client(server.resp_port) as client:
            write(client, 0, 1000)
        assert figure(server, "snapshot_age_seconds") is None
        disk.fill()
        assert server.call("SNAPSHOT") == "OK"
        wait_until(lambda: figure(server, "snapshot_failures_total") > 0, "the failure")
        needed, free = re.search("no snapshot could be made: " + NEEDS, server.said()).groups()
        assert int(needed) > int(free)
        assert not (disk.path / "snapshot.tmp").exists()
        disk.empty()
        wait_until(lambda: figure(server, "snapshots_total") == 1, "the snapshot")
        (made,) = disk.path.glob("snapshot-*")
        assert figure(server, "snapshot_bytes") == made.stat().st_size
        assert 0 <= figure(server, "snapshot_age_seconds") < 600
        assert figure(server, "journal_bytes") == sum(
            file.stat().st_size for file in disk.path.glob("journal-*"))
        wait_until(lambda: "snapshots can be made again" in server.said())
        server.restart()
        assert limit_of(server, 999) == 999
        assert figure(server, "snapshot_bytes") == made.stat().st_size


def test_a_copy_onto_a_full_disk_says_what_it_needs(disks, tmp_path):
    disk = disks(4 * MIB)
    with Server(directory=tmp_path / "data") as server:
        with Client(server.resp_port) as client:
            write(client, 0, 10000)
    disk.fill(leave=64 * 1024)
    for word in ("backup", "restore"):
        ended = run(Build().program, word, tmp_path / "data", disk.path / "copy")
        assert ended.code == 1
        needed, free = re.search(NEEDS + "; make room there", ended.err).groups()
        assert int(needed) > int(free) > 0
        assert [file.name for file in disk.path.iterdir()] == ["filler"]
    disk.empty()
    ended = run(Build().program, "backup", tmp_path / "data", disk.path / "copy")
    assert ended.code == 0, ended.err

# SPDX-License-Identifier: Apache-2.0
"""A server with a limit of memory: at it nothing new is taken, what exists goes on, and it can be
stopped, started and saved with no more than it has."""

import re
import resource
import subprocess
from pathlib import Path

import pytest

from harness import Build, run
from raw_client import Client, Http, encode
from server import Error, Server, wait_until

BATCH = 1000
HOLDS = 200_000
MIB = 1 << 20
ANSWER = 256 << 10


@pytest.fixture
def plain(build):
    if build.sanitized:
        pytest.skip("AddressSanitizer has memory of its own, and much of it")


def reserve(client, first, count):
    """Reserves so many seats in one go; gives the answers."""
    client.send_raw(b"".join(
        encode("SEATS.RESERVE", "gala", "floor", f"{i:08x}-0000-4000-8000-{i:012x}", f"user-{i // 8}",
               1, 9, "TTL", "1h") for i in range(first, first + count)))
    return [client.read() for _ in range(count)]


def fill(client, most):
    """Reserves until one is refused, or so many; gives how many were granted, and the refusal."""
    client.call("SEATS.OPEN", "gala", "floor", 10_000_000)
    for first in range(0, most, BATCH):
        answers = reserve(client, first, BATCH)
        refused = [answer for answer in answers if isinstance(answer, Error)]
        if refused:
            granted = [answer for answer in answers if not isinstance(answer, Error)]
            return first + len(granted), str(refused[0])
    return most, None


def booking(i):
    return f"{i:08x}-0000-4000-8000-{i:012x}"


def is_there(client, i):
    return client.call("SEATS.GET", "gala", booking(i))[1] == booking(i)


def metric(server, name):
    with Client(server.resp_port) as client:
        found = re.search(rf"(?m)^holdfast_{name} (\S+)$", client.call("METRICS"))
    return float(found[1])


def status(pid, name):
    """A line of /proc/PID/status, in bytes."""
    return int(re.search(rf"(?m)^{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) << 10


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def private_bytes(pid):
    """What a process has of its own, shared with no other; None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return None
    found = re.search(r"(?m)^Private_Dirty:\s+(\d+) kB", text)
    return int(found[1]) << 10 if found else None


# ---- the limit

@pytest.fixture(scope="module")
def full():
    """A server that takes nothing new any more, and how many bookings it has."""
    with Server("--max-memory", "8mb") as one, Client(one.resp_port) as client:
        one.granted, one.refusal = fill(client, HOLDS)
        yield one


def test_at_the_limit_nothing_new_is_taken_and_the_refusal_says_why(full):
    assert 10_000 < full.granted < HOLDS
    assert full.refusal.startswith("BUSY ") and f"of {8 * MIB} bytes" in full.refusal
    assert "max-memory" in full.refusal
    with Http(full.http_port) as http:
        answer = http.call("PUT", "/v1/events/new/zones/a", {"capacity": 5})
    assert answer.status == 503 and "max-memory" in answer.body.decode()


def test_what_exists_goes_on_and_what_gives_back_is_let_through(full):
    with Client(full.resp_port) as client:
        assert client.call("SEATS.CONFIRM", "gala", booking(1), "PAYMENT", "p-1")[0] == 1
        assert client.call("SEATS.RELEASE", "gala", booking(2))[0] == 1
    with Http(full.http_port) as http:
        answer = http.call("POST", f"/v1/events/gala/bookings/{booking(3)}/cancel", {},
                           ["Idempotency-Key: give-back"])
    assert answer.status == 200, answer.body


def test_the_figures_tell_of_it(full):
    assert metric(full, "memory_limit_bytes") == 8 * MIB
    assert metric(full, "memory_refused_total") >= 1
    assert metric(full, "state_memory_bytes") < 11 * MIB
    assert metric(full, "memory_promised_bytes") > full.granted * 40
    before = metric(full, "bookings_confirmed")
    full.call("SEATS.CONFIRM", "gala", booking(4))
    assert metric(full, "bookings_confirmed") == before + 1
    parts = sum(metric(full, f"memory_{part}_bytes")
                for part in ("records", "indexes", "answers", "rest"))
    assert parts == metric(full, "state_memory_bytes")
    lines = dict(line.split(":", 1) for line in full.call("INFO").splitlines() if ":" in line)
    assert int(lines["memory_limit_bytes"]) == 8 * MIB
    assert full.call("CONFIG", "GET", "maxmemory") == ["maxmemory", str(8 * MIB)]
    with Http(full.http_port) as http:
        info = http.call("GET", "/v1/info").json
    assert info["memory_limit_bytes"] == 8 * MIB and info["bookings_confirmed"] >= 1


def test_it_starts_again_with_the_same_limit_and_with_a_smaller_one(full):
    with Client(full.resp_port) as client:
        client.call("SEATS.CONFIRM", "gala", booking(5))
    full.restart("kill")
    with Client(full.resp_port) as client:
        assert is_there(client, 5)
        assert client.call("SEATS.RELEASE", "gala", booking(6))[0] == 1
    full.flags[1] = "1m"
    full.restart()
    said = "max-memory is 1048576: nothing new is taken until some is given back"
    wait_until(lambda: said in full.said(), "the log says so")
    with Client(full.resp_port) as client:
        assert is_there(client, 5)
        assert client.call("SEATS.CONFIRM", "gala", booking(7))[0] == 1
        assert "max-memory" in str(reserve(client, HOLDS, 1)[0])


@pytest.mark.parametrize("how", ["flag", "environment", "file"])
def test_on_redis_the_limit_is_refused(build, tmp_path, how):
    settings = tmp_path / "holdfast.conf"
    settings.write_text("max-memory = 1g\n")
    flags = {"flag": ["--max-memory", "1g"], "environment": [],
             "file": ["--config", settings]}[how]
    ended = run(build.program, "serve", "--check-config", "--engine", "redis://127.0.0.1:1", *flags,
                env={"HOLDFAST_MAX_MEMORY": "1g"} if how == "environment" else None)
    assert ended.code == 2 and "set maxmemory there" in ended.err, ended


# ---- a large state

@pytest.fixture(scope="module")
def large(build):
    """A server with a state that can be told from everything else that a process has."""
    if build.sanitized:
        pytest.skip("AddressSanitizer has memory of its own, and much of it")
    with Server() as one, Client(one.resp_port) as client:
        assert fill(client, HOLDS) == (HOLDS, None)
        yield one


def test_the_process_that_writes_a_snapshot_has_no_state_of_its_own(large):
    state = metric(large, "state_memory_bytes")
    seen = []

    def watched():
        """Has a child been seen at work, from its beginning to its end?"""
        with Http(large.http_port) as http:
            http.call("POST", "/v1/snapshot", b"")  # refused while one is being made
        while (now := children(large.pid)):
            seen.extend(filter(None, map(private_bytes, now)))
        return len(seen) > 5

    wait_until(watched, "a snapshot is being made")
    assert max(seen) < state / 4, (max(seen), state)


def test_a_start_takes_no_more_than_what_it_reads_becomes(large):
    large.restart()
    snapshot = max(large.directory.glob("snapshot-*"))
    above = status(large.pid, "VmHWM") - status(large.pid, "VmRSS")
    assert above < snapshot.stat().st_size / 2, above
    assert is_there(large, HOLDS - 1)


# ---- no memory at all

def limit_data(size):
    """Not the address space: threads reserve much of that, more or less as it comes."""
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def keep_answers(port):
    """Lets the server keep large answers until it has no memory, or is gone; gives how many it has
    acknowledged, and the refusal if there was one."""
    kept = 0
    with Client(port) as client:
        try:
            for kept in range(2000):
                for words in (("IDEM.BEGIN", f"key-{kept}", "f", "TTL", "1h"),
                              ("IDEM.COMPLETE", f"key-{kept}", "x" * ANSWER, "TTL", "1h")):
                    if isinstance(answer := client.call(*words), Error):
                        return kept, str(answer)
        except OSError:
            return kept, None
    return kept, "nothing was refused"


def test_where_the_system_has_no_more_nothing_is_lost(plain, tmp_path):
    """The server refuses or ends: what was acknowledged is there, and the audit agrees."""
    with Server("--max-memory", "100g", directory=tmp_path / "data") as server:
        size = status(server.pid, "VmData") + 64 * MIB
        server.stop()
        with open(tmp_path / "log", "wb") as log:
            process = subprocess.Popen(server.command(), stdout=subprocess.PIPE, stderr=log,
                                       text=True, preexec_fn=limit_data(size))
            try:
                assert "ready" in process.stdout.readline()
                kept, refusal = keep_answers(server.resp_port)
            finally:
                process.terminate()
                process.wait(60)
                process.stdout.close()
        assert 20 < kept < 2000
        assert refusal is None or refusal.startswith("BUSY "), refusal
        assert process.returncode in (0, 69), (tmp_path / "log").read_text()[-2000:]
        server.start()
        for i in range(kept):
            assert server.call("IDEM.BEGIN", f"key-{i}", "f")[1] == "COMPLETED"
        server.stop()
        audit = run(Build().program, "audit", tmp_path / "data")
        assert audit.code == 0, audit


def test_recovery_without_enough_memory_says_so_and_advises_nothing_else(large):
    """Here by a reader, which has no threads that take memory as well."""
    assert metric(large, "state_memory_bytes") > 20 * MIB
    large.stop()
    command = [str(Build().program), "audit", str(large.directory)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60,
                           preexec_fn=limit_data(16 * MIB))
    assert ended.returncode != 0, ended
    assert "memory ran out" in ended.stderr and "start again with more memory" in ended.stderr
    assert "away" not in ended.stderr and "backup" not in ended.stderr
    large.start()
    assert is_there(large, HOLDS - 1)

# SPDX-License-Identifier: Apache-2.0
"""Events come, are sold and leave: the server needs no more memory and no more of the disk after
the last than after the first."""

from pathlib import Path

import redis
from raw_client import http
from harness import Build
from server import Server, wait_until

EVENTS = 20
BOOKINGS = 2000


def sell_and_close(client, event):
    with client.pipeline(transaction=False) as lines:
        lines.execute_command("SEATS.OPEN", event, "floor", BOOKINGS)
        for i in range(BOOKINGS):
            lines.execute_command("SEATS.RESERVE", event, "floor", f"b{i}", f"u{i}", 1, 9)
            lines.execute_command("SEATS.CONFIRM", event, f"b{i}", "PAYMENT", f"payment-of-{i}")
        lines.execute()
    assert client.execute_command("SEATS.CLOSE", event, "FORCE") == [1, BOOKINGS, 1]


def memory_when_freed(client):
    """What is in use once it does not become less any more: the rest is freed between turns."""
    last = None
    while True:
        now = int(client.info()["memory_bytes"])
        if last is not None and now >= last:
            return now
        last = now


def resident_bytes(server):
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmRSS:")).split()[1])


def directory_bytes(server):
    """As the disk has it, once a snapshot has taken the place of what was written."""
    assert http(server.http_port, "POST", "/v1/snapshot", b"").status == 202
    wait_until(lambda: not (server.directory / "snapshot.tmp").exists()
               and len(list(server.directory.glob("journal-*"))) == 1
               and len(list(server.directory.glob("snapshot-*"))) == 1, "what is replaced is gone")
    return sum(path.stat().st_blocks * 512 for path in server.directory.iterdir())


def test_memory_and_disk_after_the_last_event_are_as_after_the_first():
    with Server("--fsync", "no") as server:
        client = redis.Redis(port=server.resp_port)
        sell_and_close(client, "event-0")
        first = memory_when_freed(client), resident_bytes(server), directory_bytes(server)
        for i in range(1, EVENTS):
            sell_and_close(client, f"event-{i}")
        last = memory_when_freed(client), resident_bytes(server), directory_bytes(server)
        assert last[0] <= first[0] * 1.1, "memory_bytes"
        if not Build().sanitized:  # a sanitizer keeps what was freed for a while
            assert last[1] <= first[1] * 1.1 + (1 << 20), "resident memory"
        assert last[2] <= first[2] * 1.1, "directory"

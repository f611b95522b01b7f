# SPDX-License-Identifier: Apache-2.0
"""Events come, are sold and leave: the server needs no more memory after the last than after the
first."""

import redis
from server import Server

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


def test_memory_after_the_last_event_is_as_after_the_first():
    with Server(memory=True) as server:
        client = redis.Redis(port=server.resp_port)
        sell_and_close(client, "event-0")
        first = memory_when_freed(client)
        for i in range(1, EVENTS):
            sell_and_close(client, f"event-{i}")
        assert memory_when_freed(client) <= first * 1.1

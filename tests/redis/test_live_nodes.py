# SPDX-License-Identifier: Apache-2.0
"""GET /v1/live tells of each server of Redis whether it is up, what it was sent and how long it takes to reply."""

import json
import urllib.request

import pytest

from server import Server, wait_until
from servers import RedisServer

PATIENCE_S = 60


@pytest.fixture
def store():
    with RedisServer() as server:
        yield server


@pytest.fixture
def server(store):
    with Server("--engine", f"{store.url}?timeout=2000", memory=True) as server:
        yield server


def nodes(server):
    """What the next figures say of them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/v1/live", timeout=PATIENCE_S) as stream:
        line = next(line for line in stream if line.startswith(b"data: "))
    return json.loads(line[len("data: "):])["nodes"]


def states(server):
    return [node["state"] for node in nodes(server)]


def test_a_node_while_it_works_and_while_it_is_away(server, store):
    def works():
        server.call("SEATS.OPEN", "gala", "floor", 50)
        return next((node for node in nodes(server) if node["reply_us"] is not None), None)
    node = wait_until(works, "a reply is timed", PATIENCE_S)
    assert (node["name"], node["role"], node["state"], node["problem"]) == (store.address, "master", "up", None)
    assert node["commands"] > 0 and node["reply_us"] > 0 and node["up_ms"] >= 0

    store.kill()
    wait_until(lambda: states(server) in (["down"], ["connecting"]), "it is away", PATIENCE_S)
    gone = wait_until(lambda: next((one for one in nodes(server) if one["problem"]), None), "why it is", PATIENCE_S)
    assert gone["name"] == store.address and store.address in gone["problem"]
    assert gone["reply_us"] is None and gone["up_ms"] is None
    store.start()
    back = wait_until(lambda: next((one for one in nodes(server) if one["state"] == "up"), None), "it is back",
                      PATIENCE_S)
    assert back["problem"] is None and back["commands"] >= node["commands"]


def test_a_node_that_is_silent(server, store):
    wait_until(lambda: states(server) == ["up"], "it is up", PATIENCE_S)
    store.pause()
    try:
        server.call("SEATS.ZONE", "gala", "floor")  # nobody answers: the command is in flight, and then is not
        wait_until(lambda: states(server) != ["up"], "it is not taken for well", PATIENCE_S)
    finally:
        store.resume()
    wait_until(lambda: states(server) == ["up"], "it is up again", PATIENCE_S)


def test_an_engine_in_this_process_has_none():
    with Server(memory=True) as server:
        assert nodes(server) is None

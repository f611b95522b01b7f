# SPDX-License-Identifier: Apache-2.0
"""No script begins anything while its slot moves: neither on the node that gives the slot away nor
on the one that gets it, with all keys of the call there (so that Redis itself lets the script run)
and those missing that the script would make or read besides."""

import re

import pytest
import redis

from harness import Build
from redis_cluster import RedisCluster

SCOPE = "1"
KEY = re.compile(r"(?m)^-- KEYS\[\d+\] (\S+)")
ARGUMENT = re.compile(r"(?m)^-- ARGV\[\d+\] \+?(\w+)")


def scripts():
    return sorted((Build().path / "lua").glob("*.lua"))


def declared_keys(contract):
    """The keys of the contract, all of one scope, which stands in braces. Every id in them is that of
    the arguments: scripts refuse keys that do not fit before they look at any."""
    keys = []
    for form in KEY.findall(contract):
        tagged = form if "{" in form else re.sub(r"\$\w+", "{$scope}", form, count=1)
        keys.append(re.sub(r"\$\w+", "1", re.sub(r"\{[^}]*\}", f"{{{SCOPE}}}", tagged, count=1)))
    return keys


class Moving:
    """A slot between two nodes: the owner, and the other one that is to get it."""

    def __init__(self, cluster):
        self.owner = cluster.master_of(f"{{{SCOPE}}}")
        self.other = next(node for node in cluster.members if node is not self.owner)
        self.slot = self.owner.client().execute_command("CLUSTER", "KEYSLOT", f"{{{SCOPE}}}")
        self.set_state(self.other, "IMPORTING", self.owner)

    def set_state(self, node, *words):
        words = [word if isinstance(word, str) else word.client().execute_command("CLUSTER", "MYID")
                 for word in words]
        node.client().execute_command("CLUSTER", "SETSLOT", self.slot, *words)

    def put(self, node, keys):
        """Makes these all the keys that a node has; the owner takes them before the move begins."""
        if node is self.owner:
            self.set_state(node, "STABLE")
        node.client().flushall()
        for key in keys:
            assert asking(node, "SET", key, "1") == b"OK"
        if node is self.owner:
            self.set_state(node, "MIGRATING", self.other)


@pytest.fixture(scope="module")
def moving():
    with RedisCluster(masters=2, replicas=0) as cluster:
        yield Moving(cluster)


def asking(node, *words):
    """One command on a connection that says ASKING before it, which a node needs for a slot that it
    is being given and which others ignore."""
    connection = node.client().connection_pool.get_connection("ASKING")
    try:
        answers = []
        for command in (("ASKING",), words):
            connection.send_command(*command)
            try:
                answers.append(connection.read_response())
            except redis.ResponseError as error:
                answers.append(error)
        return answers[1]
    finally:
        node.client().connection_pool.release(connection)


@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.stem)
def test_nothing_begins_while_the_slot_moves(moving, script):
    text = script.read_text()
    contract = text.partition("\n\n")[0]
    keys = declared_keys(contract)
    assert keys and all(f"{{{SCOPE}}}" in key for key in keys)
    # 1 ms after the epoch is too long ago, which is refused before anything is read.
    arguments = ["0" if name == "since" else "1" for name in ARGUMENT.findall(contract)]
    for node in (moving.owner, moving.other):
        moving.put(node, keys)
        reply = asking(node, "EVAL", text, len(keys), *keys, *arguments)
        assert isinstance(reply, redis.ResponseError), reply
        assert "the slot of these keys is moving; nothing was changed" in str(reply)
        assert {key: asking(node, "GET", key) for key in keys} == dict.fromkeys(keys, b"1")
        assert node.client().dbsize() == len(set(keys))


def test_the_folder_of_scripts_is_not_empty():
    assert len(scripts()) > 70

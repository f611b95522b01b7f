# SPDX-License-Identifier: Apache-2.0
"""A user of Redis that may not run one of the commands that scripts call. Redis would end a script at
that command, with half of it done: so nothing is sent as that user, and the command is named."""

import re

import pytest

from harness import ROOT, Build, run
from redis_cluster import RedisCluster
from server import Error, Server
from servers import RedisServer, wait_until

UNAVAILABLE = 69
CALLED = re.compile(r"call\(\s*'([A-Z]+)'")
NOT_NEEDED = {"COPY", "INFO"}  # scripts do without
COMMANDS = sorted({command for path in (ROOT / "lua").glob("**/*.lua")
                   for command in CALLED.findall(path.read_text())} - NOT_NEEDED)
RESERVE = ("SEATS.RESERVE", "gala", "floor", "b-1", "ann", 1, 4)


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as server:
        yield server


@pytest.fixture
def store(redis):
    client = redis.client()
    client.flushall()
    client.execute_command("ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all")
    return client


def rule(client, *rules):
    client.execute_command("ACL", "SETUSER", "app", *rules)


def url_of(redis):
    return redis.url.replace("://", "://app:pw@")


def call(url, *words):
    return run(Build().program, "call", "--engine", url, *words)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_missing_is_named_before_anything_is_done(redis, store, command):
    rule(store, f"-{command.lower()}")
    ended = call(url_of(redis), "SEATS.OPEN", "gala", "floor", 5)
    assert ended.code == UNAVAILABLE, ended
    assert re.search(rf"NOPERM .*: {command.lower()}$", ended.err, re.MULTILINE), ended.err
    assert store.keys() == []


def test_all_that_are_missing_are_named(redis, store):
    rule(store, "-zadd", "-get", "-persist")
    assert "call: get, persist, zadd\n" in call(url_of(redis), "SEATS.OPEN", "gala", "f", 5).err


def test_what_scripts_can_do_without_may_be_missing(redis, store):
    rule(store, *(f"-{command.lower()}" for command in NOT_NEEDED))
    assert call(url_of(redis), "SEATS.OPEN", "gala", "floor", 5).code == 0


def test_keys_of_one_namespace_are_enough(redis, store):
    rule(store, "resetkeys", "~shop:*", "resetchannels", "&holdfast:*")
    ended = call(url_of(redis) + "?namespace=shop", "SEATS.OPEN", "gala", "floor", 5)
    assert ended.code == 0, ended
    assert all(key.startswith(b"shop:") for key in store.keys())


def test_the_question_leaves_nothing_behind(redis, store):
    assert call(url_of(redis), "SEATS.ZONE", "gala", "floor").code != UNAVAILABLE
    assert store.keys() == []


def test_once_it_is_revoked_nothing_more_is_sent(redis, store):
    """The command that meets it first is ended in the middle, which nobody can help."""
    with Server("--engine", url_of(redis) + "?timeout=5000&worker=no", memory=True) as server:
        assert server.call("SEATS.OPEN", "gala", "floor", 5)[0] == 1
        rule(store, "-zadd")
        assert server.call(*RESERVE).code == "INTERNAL"
        found = {key: store.dump(key) for key in store.keys()}

        def is_refused():
            reply = server.call(*RESERVE)
            return isinstance(reply, Error) and "NOPERM" in str(reply)
        wait_until(is_refused, "the server notices")
        assert {key: store.dump(key) for key in store.keys()} == found
        rule(store, "+zadd")
        wait_until(lambda: not isinstance(server.call("SEATS.ZONE", "gala", "floor"), Error),
                   "the server comes back")


def test_a_redis_that_would_delete_keys_is_warned_of(redis, store):
    warning = "maxmemory-policy volatile-lru: when its memory is full it deletes holds"
    store.config_set("maxmemory-policy", "volatile-lru")
    try:
        with Server("--engine", url_of(redis), memory=True) as server:
            assert warning not in server.said()
        store.config_set("maxmemory", "1gb")
        with Server("--engine", url_of(redis), memory=True) as server:
            wait_until(lambda: warning in server.said(), "the log warns")
    finally:
        store.config_set("maxmemory", "0")
        store.config_set("maxmemory-policy", "noeviction")


def test_on_a_cluster_every_master_is_asked():
    with RedisCluster(masters=3, replicas=0) as cluster:
        for node in cluster.masters:
            node.client().execute_command("ACL", "SETUSER", "default", "-persist")
        ended = call(cluster.url, "SEATS.OPEN", "gala", "floor", 5)
        assert ended.code == UNAVAILABLE and "call: persist" in ended.err, ended
        for node in cluster.masters:
            node.client().execute_command("ACL", "SETUSER", "default", "+persist")
        assert call(cluster.url, "SEATS.OPEN", "gala", "floor", 5).code == 0

# SPDX-License-Identifier: Apache-2.0
"""What stands in Redis is not what the scripts wrote: keys of another type, scores, numbers and
fields that nobody of ours writes. Whatever it is, every request gets an answer that is documented,
and the server lives."""

import itertools

import pytest

from documented import ask_all, assert_alive
from every_request import every_request, prepare
from faults import put_another_type
from server import Server
from servers import RedisServer, wait_until

REQUESTS = every_request()
SCORES = ("1e15", "9007199254740992", "281474976710656", "1e300", "inf", "-inf", "-1", "0.5")
TEXTS = (b"", b"nan", b"-1", b"9223372036854775808", b"1e400", b"\xff\x00\r\n", b"x" * 5000)


@pytest.fixture(scope="module")
def redis_server():
    with RedisServer() as one:
        yield one


@pytest.fixture
def deployed(redis_server):
    """A server whose state in Redis has something of each kind, and a client of that Redis."""
    store = redis_server.client()
    store.flushall()
    with Server("--engine", redis_server.url + "?timeout=5000", memory=True) as server:
        prepare(server)
        yield server, store


def test_keys_of_another_type(deployed):
    """All of them at once: each script meets the first key that it looks at."""
    server, store = deployed
    for key in sorted(store.keys()):
        put_another_type(store, key)
    ask_all(server, REQUESTS)
    assert_alive(server)


def test_one_key_of_another_type_at_a_time(deployed):
    """So that each script gets as far as it can before."""
    server, store = deployed
    keys = {key: store.dump(key) for key in store.keys()}
    for key in sorted(keys):
        put_another_type(store, key)
        family = key.decode().partition(":")[0].removesuffix("s")
        ask_all(server, [request for request in REQUESTS if is_of(request, family)], http=False)
        for each, dumped in keys.items():
            store.restore(each, 0, dumped, replace=True)
    assert_alive(server)


def is_of(request, family):
    families = {"zone": "SEATS", "user": "SEATS", "reservation": "SEATS", "seat": "SEATS LOCK",
                "adv-sem": "SEM", "idemp": "IDEM", "queue": "ROOM"}
    return request.name.partition(".")[0] in families.get(family, family.upper()).split()


@pytest.mark.parametrize("score", SCORES)
def test_scores_that_are_no_time_of_ours(redis_server, score):
    """The worker visits what stands there for when it is due; so does a server that starts."""
    store = redis_server.client()
    store.flushall()
    url = redis_server.url + "?timeout=5000"
    with Server("--engine", url, memory=True) as server:
        prepare(server)
    for key in store.keys():
        if store.type(key) == b"zset":
            for member in store.zrange(key, 0, -1):
                store.execute_command("ZADD", key, score, member)
    with Server("--engine", url, memory=True) as server:
        wait_until(lambda: visits(server) > 0, "the worker has visited")
        ask_all(server, REQUESTS, http=False)
        assert_alive(server)


def visits(server):
    figures = server.call("METRICS").splitlines()
    return sum(float(line.split()[-1]) for line in figures
               if not line.startswith("#") and "worker_visits_total" in line)


@pytest.mark.parametrize("text", TEXTS, ids=[repr(text[:20]) for text in TEXTS])
def test_values_that_are_none_of_ours(deployed, text):
    server, store = deployed
    for key in store.keys():
        if store.type(key) == b"string":
            store.set(key, text)
        elif store.type(key) == b"hash":
            store.hset(key, mapping=dict.fromkeys(store.hkeys(key), text))
        elif store.type(key) == b"zset":
            score = itertools.count()
            members = store.zrange(key, 0, -1)
            store.delete(key)
            store.zadd(key, {member + text: next(score) for member in members})
    ask_all(server, REQUESTS)
    assert_alive(server)

# SPDX-License-Identifier: Apache-2.0
"""Commands that travel together leave in Redis what they would have left alone."""

import re
import socket

from server import Server
from servers import RedisServer

PATIENCE_S = 20
IDS = 40


def say(port, *lines):
    """Sends all lines at once; the answers, each as one text."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as peer:
        with peer.makefile("rwb") as stream:
            stream.write("".join(f"{line}\r\n" for line in lines).encode())
            stream.flush()
            return [read(stream) for _ in lines]


def read(stream):
    line = stream.readline().decode().rstrip("\r\n")
    if line[0] == "*":
        return [read(stream) for _ in range(int(line[1:]))]
    if line[0] == "$":
        return stream.read(int(line[1:]) + 2).decode()[:-2] if line != "$-1" else None
    return int(line[1:]) if line[0] == ":" else line


def figure(server, name):
    found = re.search(rf"^holdfast_redis_{name} (\d+)$", server.call("METRICS"), re.M)
    return int(found[1])


def state(redis):
    """All keys with what is in them, and whether they have a time to live; times count for little."""
    client = redis.client()
    found = {}
    for key in sorted(key for key in client.keys("*") if not key.startswith(b"seats:blank:")):
        kind = client.type(key)
        value = {b"string": client.get, b"hash": client.hgetall,
                 b"zset": lambda name: sorted(client.zrange(name, 0, -1, withscores=True))}[kind](key)
        if key.endswith(b":commits"):  # pairs "at amount", of which those of one moment are one
            value = sum(map(int, value.split()[1::2]))
        found[key] = (kind, without_times(value), client.pttl(key) > 0)
    return found


def without_times(value):
    """Milliseconds since the epoch, and codes that are made at random, replaced by X."""
    return re.sub(r"1[0-9]{12,15}(\.0)?|[0-9A-Z]{8,}", "X", repr(value))


def commands():
    """Pairs of lines to begin with, and lines that may travel together."""
    before = ["SEATS.OPEN gala floor 30", "SEATS.OPEN gala stalls 100 MAX 2", "QUOTA.LIMIT acme 50",
              "STOCK.LOAD shoes 30"]
    yield before
    yield [f"SEATS.RESERVE gala floor b{n} u{n} 1 4" for n in range(IDS)]
    yield [f"SEATS.RESERVE gala stalls s{n} u{n % 7} {1 + n % 3} 4 PRICE 5" for n in range(IDS)]
    yield [f"SEATS.CONFIRM gala b{n} PAYMENT p{n}" for n in range(0, IDS, 3)]
    yield [f"SEATS.RELEASE gala b{n}" for n in range(1, IDS, 3)]
    yield [f"SEATS.RESERVE gala floor c{n} u{n} 1 4" for n in range(IDS)]
    yield [f"QUOTA.RESERVE acme 2 HOLD h{n}" for n in range(IDS)]
    yield [line for n in range(20) for line in (f"QUOTA.COMMIT acme h{n} AMOUNT 1",
                                                "QUOTA.REFUND acme 1")]
    yield [f"STOCK.TAKE shoes o{n} u{n % 5} 1" for n in range(IDS)]
    yield [line for n in range(5) for line in (  # of which some have no argument at all
        "STOCK.GET shoes", f"STOCK.TAKE shoes o{n} u{n} 1", "QUOTA.GET acme", "SEATS.ZONE gala floor",
        f"SEATS.USER gala u{n}", f"SEATS.GET gala s{n}", "STOCK.GET shoes", "QUOTA.GET acme")]
    yield [line for n in range(20) for line in (f"STOCK.SETTLE shoes o{n}",
                                                f"STOCK.GIVE shoes o{n + 20}")]


def carried_out(together):
    """The answers and the state after all commands, submitted at once or one after the other."""
    answers = []
    with RedisServer() as redis, Server("--engine", redis.url + "?worker=no") as server:
        for lines in commands():
            if together:
                answers += say(server.resp_port, *lines)
            else:
                for line in lines:
                    answers += say(server.resp_port, line)
        return answers, state(redis), figure(server, "batched_total")


def test_the_same_is_left_in_redis():
    answers, kept, batched = carried_out(together=True)
    alone_answers, alone_kept, alone_batched = carried_out(together=False)
    assert without_times(answers) == without_times(alone_answers)
    assert kept == alone_kept
    assert batched > 200 and alone_batched == 0


def test_a_full_redis_refuses_what_adds_and_lets_through_what_gives_back():
    with RedisServer() as redis, Server("--engine", redis.url + "?worker=no") as server:
        say(server.resp_port, "SEATS.OPEN gala floor 1000")
        say(server.resp_port, *[f"SEATS.RESERVE gala floor a{n} u{n} 1 4" for n in range(IDS)])
        redis.client().config_set("maxmemory", "1")
        before = state(redis)
        refused = say(server.resp_port,
                      *[f"SEATS.RESERVE gala floor b{n} u{n} 1 4" for n in range(IDS)])
        assert [answer for answer in refused if "BUSY" not in str(answer)] == []
        assert state(redis) == before
        given = say(server.resp_port, *[f"SEATS.RELEASE gala a{n}" for n in range(IDS)])
        assert [answer[:2] for answer in given] == [[1, "SUCCESS"]] * IDS
        redis.client().config_set("maxmemory", "0")
        assert say(server.resp_port, "SEATS.ZONE gala floor")[0][3] == 1000
        assert figure(server, "batched_total") >= IDS


def test_a_batch_has_at_most_so_many():
    with RedisServer() as redis, Server("--engine", redis.url + "?worker=no") as server:
        say(server.resp_port, "SEATS.OPEN gala floor 100000")
        answers = say(server.resp_port,
                      *[f"SEATS.RESERVE gala floor b{n} u{n} 1 99" for n in range(3000)])
        assert [answer[:3] for answer in answers] == [[1, 99_999 - n, 1] for n in range(3000)]
        assert figure(server, "batches_total") * 16 >= figure(server, "batched_total") > 2000

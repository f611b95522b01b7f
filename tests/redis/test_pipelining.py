# SPDX-License-Identifier: Apache-2.0
"""Requests sent without waiting are answered in their order, also by an engine that answers later."""

import socket
from contextlib import contextmanager

from server import Server
from servers import RedisServer

PATIENCE_S = 20


@contextmanager
def conversation():
    """A file to write requests to and read answers from."""
    with RedisServer() as redis, Server("--engine", redis.url) as server:
        address = ("127.0.0.1", server.resp_port)
        with socket.create_connection(address, timeout=PATIENCE_S) as peer:
            with peer.makefile("rwb", buffering=0) as stream:
                yield stream, peer


def say(stream, *lines):
    stream.write("".join(f"{line}\r\n" for line in lines).encode())


def read(stream):
    """One answer: a number, a text, a list, or an error as it was said."""
    line = stream.readline().decode().rstrip("\r\n")
    kind, rest = line[0], line[1:]
    if kind == "*":
        return [read(stream) for _ in range(int(rest))]
    if kind == "$":
        return stream.read(int(rest) + 2).decode()[:-2]
    return int(rest) if kind == ":" else line


def test_answers_come_in_the_order_of_the_requests():
    with conversation() as (stream, _):
        say(stream, "SEATS.OPEN gala floor 1000",
            *[f"SEATS.RESERVE gala floor b{n} u{n} 1 1" for n in range(300)])
        assert read(stream) == [1, 1000, 1000]
        assert [read(stream)[:3] for _ in range(300)] == [[1, 999 - n, 1] for n in range(300)]


def test_what_is_answered_at_once_waits_for_what_is_not():
    with conversation() as (stream, _):
        say(stream, "SEATS.OPEN gala floor 5", "PING", "SEATS.RESERVE gala floor b1 ann 0 4",
            "SEATS.RESERVE gala floor b1 ann 2 4", "NONSENSE", "SEATS.ZONE gala", "ECHO here",
            "SEATS.USER gala ann")
        assert read(stream) == [1, 5, 5]
        assert read(stream) == "+PONG"
        assert read(stream)[:2] == [0, "INVALID_QUANTITY"]
        assert read(stream)[:3] == [1, 3, 2]
        assert read(stream).startswith("-ERR unknown command")
        assert read(stream).startswith("-ERR")
        assert read(stream) == "here"
        assert read(stream) == [2, 0]


def test_a_call_that_waits_holds_up_what_comes_behind_it():
    with conversation() as (stream, _):
        say(stream, "LOCK.TRY a 10 ID x", "SEM.ACQUIRE s one 1", "SEM.ACQUIRE s two 1 WAIT 150",
            "LOCK.UNLOCK a x", "SEM.CARD s")
        assert read(stream)[0] == "x"
        assert read(stream)[:2] == [1, 1]
        assert read(stream)[:2] == [0, "TIMEOUT"]
        assert read(stream) == 1
        assert read(stream) == 1


def test_who_sends_no_more_is_still_answered():
    with conversation() as (stream, peer):
        say(stream, "STOCK.LOAD p 9", *[f"STOCK.TAKE p o{n} ann 1" for n in range(9)])
        peer.shutdown(socket.SHUT_WR)
        assert [read(stream)[1] for _ in range(10)] == [9, *range(8, -1, -1)]
        assert stream.read(1) == b""

# SPDX-License-Identifier: Apache-2.0
"""A server with several threads that is killed or told to stop in the middle of a rush: every
reservation that was answered is there afterwards, whether the thread that syncs, those that read or
those that write were at it; one that stops in good order has answered for all that it did."""

import os
import random
import selectors
import socket
import ssl

import pytest
from certificates import certificate_in
from raw_client import Client, encode
from server import Server

CLIENTS = 16
SENT = 1000  # reservations of a client, most of which stay unanswered
PATIENCE_S = 60
ROUNDS = 12 if os.environ.get("HOLDFAST_CRASH") == "long" else 1
GRANTED = b"*4\r\n:1\r\n"


class Buyer:
    """A client that sends all it has at once and counts the grants that come back."""

    def __init__(self, port, name, tls):
        self.name = name
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        if tls:
            context = ssl.create_default_context(cafile=tls[0])
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.setblocking(False)
        self.unsent = b"".join(encode("SEATS.RESERVE", "gala", "floor", f"{name}-{i}", name, 1, SENT)
                               for i in range(SENT))
        self.received = b""
        self.has_all = False  # that was sent to it: the server hung up and did not reset

    @property
    def answered(self):
        """Whole answers: the last one may have come in part."""
        parts = self.received.split(GRANTED)[1:]
        return len(parts) - (bool(parts) and parts[-1].count(b"\r\n") < 3)

    def step(self):
        """Sends and receives what goes; false when the server has hung up."""
        try:
            if self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent[:1 << 14]):]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            self.unsent = b""  # what has arrived is still to be read
        try:
            data = self.socket.recv(1 << 16)
            self.received += data
            self.has_all = data == b""
            return not self.has_all
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except OSError:
            return False


def rush(buyers, until, then):
    """Lets all buy; calls `then` when so many are answered, and goes on until the server is gone."""
    with selectors.DefaultSelector() as selector:
        for buyer in buyers:
            selector.register(buyer.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, buyer)
        while selector.get_map():
            assert (ready := selector.select(PATIENCE_S)), "nothing came"
            for key, _ in ready:
                if not key.data.step():
                    selector.unregister(key.data.socket)
                elif not key.data.unsent:
                    selector.modify(key.data.socket, selectors.EVENT_READ, key.data)
            if then and sum(buyer.received.count(GRANTED) for buyer in buyers) >= until:
                then = then()


def kept(client, name):
    """Which of a buyer's reservations the server has."""
    client.send_raw(b"".join(encode("SEATS.GET", "gala", f"{name}-{i}") for i in range(SENT)))
    return [answer[0] != 0 for answer in (client.read() for _ in range(SENT))]


@pytest.mark.parametrize("how", ["kill", "terminate"])
@pytest.mark.parametrize("threads, with_tls", [(1, False), (2, False), (4, False), (2, True)],
                         ids=["1", "2", "4", "2-tls"])
def test_whatever_was_answered_is_there(tmp_path, threads, with_tls, how):
    tls = certificate_in(tmp_path) if with_tls else None
    flags = ["--tls-cert", tls[0], "--tls-key", tls[1]] if tls else []
    dice = random.Random(threads)
    data = tmp_path / "data"
    for turn in range(ROUNDS):
        with Server("--threads", threads, *flags, directory=data) as server:
            with Client(server.resp_port,
                        context=tls and ssl.create_default_context(cafile=tls[0])) as opener:
                opener.call("SEATS.OPEN", "gala", "floor", 10 ** 9)
            buyers = [Buyer(server.resp_port, f"t{turn}n{n}", tls) for n in range(CLIENTS)]
            rush(buyers, dice.randrange(1, CLIENTS * SENT // 2), getattr(server.process, how))
            assert server.process.wait(PATIENCE_S) == (0 if how == "terminate" else -9)
            for buyer in buyers:
                buyer.socket.close()
        with Server(directory=data) as server, Client(server.resp_port) as client:
            for buyer in buyers:
                there = kept(client, buyer.name)
                count = sum(there)
                assert there == [True] * count + [False] * (SENT - count), buyer.name
                assert count >= buyer.answered, buyer.name
                if how == "terminate" and buyer.has_all:
                    assert count == buyer.answered, buyer.name
            assert client.call("AUDIT") == [1, 0]

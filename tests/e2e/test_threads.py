# SPDX-License-Identifier: Apache-2.0
"""A server that reads and writes on several threads decides on one, as ever: answers come to each
client in the order of its requests, nothing is given out twice, and nothing is lost of requests
that arrive in pieces, in bulk, or from clients that do not read or that leave."""

import random
import selectors
import socket
import ssl

import pytest
from certificates import certificate_in
from raw_client import Client, encode
from server import Server

CLIENTS = 48
REQUESTS = 120
SEATS = 2000
PATIENCE_S = 60


class Talker:
    """A client with all its requests written down, which it sends in pieces of any size."""

    def __init__(self, opened, number, dice):
        self.socket, self.dice = opened, dice
        self.unsent = b"".join(
            encode("SEATS.RESERVE", "show", "hall", f"b{number}-{i}", f"u{number}-{i}", "1", "5")
            + encode("ECHO", f"{number}:{i}") for i in range(REQUESTS))
        self.received = b""
        self.at_most = dice.choice((7, 100, 3000, 1 << 16))

    def done(self):
        return self.received.count(b"\n$") >= REQUESTS and self.echoes()[-1:] == [REQUESTS - 1]

    def echoes(self):
        lines = self.received.split(b"\r\n")
        return [int(line.split(b":")[1]) for line in lines[:-1] if line[:1].isdigit() and b":" in line]

    def send(self):
        try:
            size = self.socket.send(self.unsent[:self.dice.randrange(1, self.at_most + 1)])
            self.unsent = self.unsent[size:]
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass

    def receive(self):
        try:
            while data := self.socket.recv(1 << 14):
                self.received += data
            raise AssertionError("the server hung up")
        except (BlockingIOError, ssl.SSLWantReadError):
            pass


def talk(talkers):
    """Lets all of them send and receive as their sockets are ready, until each has its answers."""
    with selectors.DefaultSelector() as selector:
        for talker in talkers:
            selector.register(talker.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, talker)
        while selector.get_map():
            ready = selector.select(PATIENCE_S)
            assert ready, "nothing came"
            for key, events in ready:
                talker = key.data
                if events & selectors.EVENT_READ:
                    talker.receive()
                if talker.unsent:
                    talker.send()
                elif talker.done():
                    selector.unregister(talker.socket)
                else:
                    selector.modify(talker.socket, selectors.EVENT_READ, talker)


def opened(server, tls):
    plain = socket.create_connection(("127.0.0.1", server.resp_port), PATIENCE_S)
    if tls:
        context = ssl.create_default_context(cafile=tls[0])
        plain = context.wrap_socket(plain, server_hostname="localhost")
    plain.setblocking(False)
    return plain


@pytest.mark.parametrize("with_tls", [False, True], ids=["plain", "tls"])
def test_a_crowd_is_answered_in_order(tmp_path, with_tls):
    tls = certificate_in(tmp_path) if with_tls else None
    flags = ["--tls-cert", tls[0], "--tls-key", tls[1]] if tls else []
    with Server("--threads", "4", *flags) as server:
        dice = random.Random(5)
        opener = opened(server, tls)
        opener.setblocking(True)
        opener.sendall(encode("SEATS.OPEN", "show", "hall", str(SEATS)))
        assert opener.recv(100)
        talkers = [Talker(opened(server, tls), number, dice) for number in range(CLIENTS)]
        talk(talkers)
        granted = sum(talker.received.count(b"*4\r\n:1\r\n") for talker in talkers)
        for talker in talkers:
            assert talker.echoes() == list(range(REQUESTS))
        refused = sum(talker.received.count(b"INSUFFICIENT_STOCK") for talker in talkers)
        assert (granted, granted + refused) == (SEATS, CLIENTS * REQUESTS)
        opener.sendall(encode("SEATS.ZONE", "show", "hall"))
        zone = opener.recv(1000).split(b"\r\n")
        assert zone[zone.index(b"reserved") + 1].endswith(str(SEATS).encode())
        for talker in talkers:
            talker.socket.close()
        opener.close()


def test_clients_that_do_not_read_or_leave_harm_nobody():
    """While 20 clients ask, others ask for more than they read, or are gone before the answer."""
    with Server("--threads", "3", memory=True) as server:
        server.call("SEATS.OPEN", "show", "hall", SEATS)
        deaf = [socket.create_connection(("127.0.0.1", server.resp_port)) for _ in range(10)]
        big = encode("ECHO", "x" * 20000)
        for client in deaf:
            client.setblocking(False)
        asking = [Client(server.resp_port) for _ in range(20)]
        for turn in range(60):
            for client in deaf:
                try:
                    client.send(big)
                except BlockingIOError:
                    pass
            for number, client in enumerate(asking):
                client.send_raw(encode("ECHO", f"{turn}-{number}"))
            leaving = socket.create_connection(("127.0.0.1", server.resp_port))
            leaving.sendall(encode("PING") * 50)
            leaving.close()
            for number, client in enumerate(asking):
                assert client.read() == f"{turn}-{number}"
        for client in asking + deaf:
            client.close()
        assert server.stop() == 0


def test_what_is_no_number_of_threads_is_refused():
    for wrong in ("0", "65", "two"):
        with pytest.raises(AssertionError, match="threads"):
            Server("--threads", wrong, memory=True).close()

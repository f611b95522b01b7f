# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy on loopback that can cut, stall, or let pass, for tests of bad connections."""

import contextlib
import socket
import struct
import threading

CHUNK = 1 << 16
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends an RST


class Link:
    """Both ends of one connection, and how many of its two pumps still run."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.pumps = 2
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def drop(self):
        """Ends the connection; a pump that sleeps on it wakes. close() then resets it."""
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        """Only when no pump is left: a closed descriptor may be another connection's by then."""
        self.client.close()
        self.server.close()


class Proxy:
    """In front of one port; clients connect to `proxy.port`. Passes through until told otherwise.

        with Proxy(server.port) as proxy:
            proxy.cut_reply_after(3)          # three more bytes reach the client, then a reset
            ...
            proxy.stall()                     # connected, and nothing comes through either way
            proxy.resume()
    """

    def __init__(self, target_port):
        self.target = ("127.0.0.1", target_port)
        self.lock = threading.Lock()
        self.flows = threading.Event()
        self.flows.set()
        self.was_cut = threading.Event()
        self.bytes_left = None  # towards clients until the cut; None: no cut
        self.refusing = False
        self.accepted = 0
        self.links = []
        self.closed = False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"redis://{self.address}"

    # ---- what it does to the connections

    def cut_reply_after(self, count):
        """Lets `count` more bytes through to clients, all connections together, and resets the
        connection that the next byte would go to. 0: the request arrives, no byte of its reply."""
        with self.lock:
            self.was_cut.clear()
            self.bytes_left = count

    def wait_cut(self, timeout_s=30):
        """Until the cut that was asked for has happened."""
        assert self.was_cut.wait(timeout_s), f"nothing was cut within {timeout_s} s"

    def stall(self):
        """Connections stay, and new ones are accepted; no byte passes."""
        self.flows.clear()

    def resume(self):
        self.flows.set()

    def cut_all(self):
        """Resets every connection there is now."""
        with self.lock:
            links, self.links = self.links, []
        for link in links:
            link.drop()

    def refuse(self, refusing=True):
        """New connections are reset at once, until refuse(False)."""
        self.refusing = refusing

    def close(self):
        self.closed = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.flows.set()
        self.cut_all()
        self.acceptor.join()

    # ---- its threads

    def _accept(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            try:
                if self.refusing or self.closed:
                    raise ConnectionRefusedError
                server = socket.create_connection(self.target)
            except OSError:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                client.close()
                continue
            link = Link(client, server)
            with self.lock:
                self.links.append(link)
            for source, sink in ((client, server), (server, client)):
                pump = threading.Thread(target=self._pump, args=(link, source, sink), daemon=True)
                pump.start()

    def _pump(self, link, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self.flows.wait()
                passing, cut = self._allowed(data) if sink is link.client else (data, False)
                if passing:
                    sink.sendall(passing)
                if cut:
                    break
        with self.lock:
            if link in self.links:
                self.links.remove(link)
            link.pumps -= 1
            last = link.pumps == 0
        link.drop()
        if last:
            link.close()

    def _allowed(self, data):
        """The part of a reply that may pass, and whether the connection is cut behind it."""
        with self.lock:
            if self.bytes_left is None:
                return data, False
            passing, self.bytes_left = data[: self.bytes_left], self.bytes_left - len(data)
            if self.bytes_left >= 0:
                return passing, False
            self.bytes_left = None
            self.was_cut.set()
            return passing, True

# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy on loopback that can cut, stall, or let pass, for tests of bad connections."""

import collections
import contextlib
import socket
import struct
import threading

CHUNK = 1 << 16
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends an RST
SCRIPT = b"EVALSHA"  # in each request that carries out a command


class Messages:
    """Where requests or replies of RESP2 end, in a stream that comes in pieces of any size."""

    def __init__(self):
        self.line = b""  # the beginning of a length, a number or a status
        self.text = 0  # bytes of a string still to come
        self.values = 1  # of the message still to come

    def parts(self, data):
        """The pieces of `data` that belong to one message each, and whether it ends with them."""
        start = at = 0
        while at < len(data):
            at = self._skip(data, at)
            if self.values == 0 and self.text == 0:
                yield data[start:at], True
                start, self.values = at, 1
        if start < at:
            yield data[start:at], False

    def _skip(self, data, at):
        """Takes in one line or string, or what there is of it; gives where it ends."""
        if self.text > 0:
            step = min(self.text, len(data) - at)
            self.text -= step
            return at + step
        end = data.find(b"\n", at) + 1 or len(data)
        self.line += data[at:end]
        if self.line.endswith(b"\n"):
            kind, rest, self.line = self.line[:1], self.line[1:], b""
            self.values -= 1
            if kind == b"$" and int(rest) >= 0:
                self.text = int(rest) + 2
            elif kind == b"*":
                self.values += max(int(rest), 0)
        return end


class Link:
    """Both ends of one connection, how many of its two pumps still run, and what was asked on it."""

    def __init__(self, client, server, of_redis):
        self.client, self.server, self.of_redis = client, server, of_redis
        self.pumps = 2
        self.requests, self.replies = Messages(), Messages()
        self.request = b""  # as far as it has come
        self.scripts = collections.deque()  # of each request without a reply: is it of a script?
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def note_requests(self, data):
        if not self.of_redis:
            return
        for part, ends in self.requests.parts(data):
            self.request += part
            if ends:
                self.scripts.append(SCRIPT in self.request[:64])
                self.request = b""

    def reply_parts(self, data):
        """The pieces of replies in `data`, and whether each belongs to the reply of a script. Of
        another protocol than Redis', all of it counts."""
        if not self.of_redis:
            yield data, True
            return
        for part, ends in self.replies.parts(data):
            # A message of a channel answers no request.
            yield part, bool(self.scripts) and self.scripts[0]
            if ends and self.scripts:
                self.scripts.popleft()

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
            proxy.cut_reply_after(3)          # three bytes of the next reply arrive, then a reset
            ...
            proxy.stall()                     # connected, and nothing comes through either way
            proxy.resume()
    """

    def __init__(self, target_port, of_redis=True):
        self.of_redis = of_redis
        self.target = ("127.0.0.1", target_port)
        self.lock = threading.Lock()
        self.flows = threading.Event()
        self.flows.set()
        self.was_cut = threading.Event()
        self.bytes_left = None  # of replies until the cut; None: no cut
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
        """Lets `count` more bytes of replies to scripts through, all connections together, and resets
        the connection that the next one would go to. 0: the request arrives, no byte of its reply.
        What else a server is answered is not counted: it subscribes, connects again and sends pings
        when it likes. Where the server is no Redis, every byte counts."""
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
            link = Link(client, server, self.of_redis)
            with self.lock:
                self.links.append(link)
            for source, sink in ((client, server), (server, client)):
                pump = threading.Thread(target=self._pump, args=(link, source, sink), daemon=True)
                pump.start()

    def _pump(self, link, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self.flows.wait()
                passing, cut = data, False
                if sink is link.client:
                    passing, cut = self._allowed(link, data)
                else:
                    link.note_requests(data)
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

    def _allowed(self, link, data):
        """The part of the replies that may pass, and whether the connection is cut behind it."""
        passing = 0
        with self.lock:
            for part, counts in link.reply_parts(data):
                if counts and self.bytes_left is not None:
                    if len(part) > self.bytes_left:
                        passing += self.bytes_left
                        self.bytes_left = None
                        self.was_cut.set()
                        return data[:passing], True
                    self.bytes_left -= len(part)
                passing += len(part)
        return data, False

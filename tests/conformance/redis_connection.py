# SPDX-License-Identifier: Apache-2.0
"""One connection to a Redis server in RESP3, as quick as Python goes.

In this version messages of channels come on the connection that runs the commands. Redis 7.0 sends
them in front of the reply to the command that published them, later ones and Valkey behind it: once
a channel is subscribed to, a PING goes with each command, in front of whose answer they are in either
case. So after each call all that was published before it is known.
"""

import socket

PATIENCE_S = 60


class RedisError(Exception):
    """An error reply."""


class RedisConnection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 1 << 16)
        self.messages = []  # (channel, payload), as they came
        self.subscribed = False
        self.call(b"HELLO", b"3")

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *words, more=b""):
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]) + more)

    def call(self, *words):
        """The reply; raises the error that came instead."""
        self.send(*words, more=b"*1\r\n$4\r\nPING\r\n" if self.subscribed else b"")
        reply = self.read()
        if self.subscribed:
            self.read()
        if isinstance(reply, RedisError):
            raise reply
        return reply

    def subscribe(self, channel):
        """The confirmation is a message itself, there is no reply."""
        self.send(b"SUBSCRIBE", channel)
        self.read_value()
        self.subscribed = True

    def read(self):
        """The next reply, after the messages in front of it."""
        while True:
            reply = self.read_value()
            if not isinstance(reply, Push):
                return reply
            if reply[0] == b"message":
                self.messages.append((reply[1], reply[2]))

    def read_value(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read_value() for _ in range(int(rest))]
        if kind == b">":
            return Push([self.read_value() for _ in range(int(rest))])
        if kind == b"%":
            return {self.read_value(): self.read_value() for _ in range(int(rest))}
        if kind == b"_":
            return None
        if kind == b"+":
            return rest
        if kind == b"-":
            return RedisError(rest.decode(errors="replace"))
        raise ValueError(f"not RESP3: {line!r}")


class Push(list):
    """What came without being asked for."""

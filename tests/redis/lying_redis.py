# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of a real Redis that tells lies: some of the replies that pass through it are
exchanged for others, by a seed. What it makes up is RESP, or nearly so."""

import random
import socket
import threading

ERRORS = (b"LOADING Redis is loading the dataset in memory", b"READONLY You can't write", b"ERR x",
          b"NOSCRIPT No matching script", b"MOVED 1 127.0.0.1:1", b"ASK 1 127.0.0.1:1", b"OOM x",
          b"MASTERDOWN x", b"TRYAGAIN x", b"CLUSTERDOWN x", b"NOAUTH x", b"WRONGTYPE x", b"BUSY x",
          b"", b"E" * 3000, b"UNKILLABLE", b"NOREPLICAS x", b"\xff\xfe", b"MOVED", b"ASK x", b"-1")
TEXTS = (b"", b"0", b"-1", b"1e400", b"9223372036854775807", b"-9223372036854775808", b"nan",
         b"OK", b"\x00\xff\r\n", b"x" * 300, b"x" * 70_000, b"INTERNAL", b"SOLD_OUT", b"HF_OK",
         b"281474976710656", b"inf", b"COMPLETED", b"999 x", b"18446744073709551616")
NUMBERS = (0, 1, -1, 2, 3, 255, 2**31, 2**53, 2**63 - 1, -2**63, -2**31, 10_000)
BROKEN = (b"$-2\r\n", b"*1000000000\r\n", b"$999999999999\r\n", b"!", b":x\r\n", b"*-5\r\n", b"\r\n",
          b"$5\r\nab\r\n", b">2\r\n$1\r\nx\r\n:1\r\n", b"%1\r\n+a\r\n+b\r\n", b"_\r\n", b"#t\r\n", b",1.5\r\n")


def value(dice, depth=0):
    """Some reply."""
    kind = dice.randrange(10)
    if kind < 2:
        return b":%d\r\n" % dice.choice(NUMBERS)
    if kind < 4:
        text = dice.choice(TEXTS)
        return b"$%d\r\n%s\r\n" % (len(text), text)
    if kind == 4:
        return b"$-1\r\n"
    if kind == 5:
        return b"-%s\r\n" % dice.choice(ERRORS)
    if kind == 6:
        return b"+%s\r\n" % dice.choice((b"OK", b"QUEUED", b"PONG", b"", b"x" * 200))
    if kind == 7 and depth == 0:
        return b"*-1\r\n"
    size = dice.choice((0, 1, 2, 3, 3, 4, 5, 8, 20)) if depth < 4 else 0
    return b"*%d\r\n" % size + b"".join(value(dice, depth + 1) for _ in range(size))


def refusal(dice):
    """As scripts refuse, and sometimes not quite."""
    parts = [b":%d\r\n" % dice.choice((0, 0, 0, 1, -1, 2)),
             *(b"$%d\r\n%s\r\n" % (len(text), text) for text in (
                 dice.choice((b"SOLD_OUT", b"INVALID_STATE", b"NOT_FOUND", b"OK", b"INTERNAL")),
                 dice.choice(TEXTS)))]
    return b"*3\r\n" + b"".join(parts)


def disturb(dice, reply):
    """The reply with one thing in it changed."""
    lines = reply.split(b"\r\n")
    at = dice.randrange(len(lines))
    line = lines[at]
    if line[:1] == b":":
        lines[at] = b":%d" % dice.choice(NUMBERS)
    elif line[:1] == b"*" and line[1:].isdigit():
        size = int(line[1:])
        # One element fewer or more, and the reply is still whole.
        if dice.random() < 0.5:
            lines[at] = b"*%d" % (size + 1)
            lines.insert(at + 1, b":%d" % dice.choice(NUMBERS))
        elif at == 0:
            return b"*0\r\n"
    elif line[:1] == b"$" and line[1:].isdigit() and at + 1 < len(lines) and \
            len(lines[at + 1]) == int(line[1:]):
        text = dice.choice(TEXTS)
        lines[at:at + 2] = [b"$%d" % len(text), text]
    return b"\r\n".join(lines)


def lie(dice, reply):
    kind = dice.random()
    if kind < 0.45:
        return disturb(dice, reply)
    if kind < 0.60:
        return value(dice)
    if kind < 0.70:
        return refusal(dice)
    if kind < 0.85:
        return b"-%s\r\n" % dice.choice(ERRORS)
    if kind < 0.92:
        return dice.choice(BROKEN)
    return reply + reply if kind < 0.97 else b""


def whole_reply(data, at=0):
    """Where the reply that begins there ends; None if it is not all there."""
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, rest, end = data[at:at + 1], data[at + 1:end], end + 2
    if kind == b"$" and int(rest) >= 0:
        end += int(rest) + 2
        return end if end <= len(data) else None
    if kind == b"*":
        for _ in range(max(int(rest), 0)):
            if (end := whole_reply(data, end)) is None:
                return None
    return end


class LyingRedis:
    """`share` of the replies are lies while `lying`; clients connect to `port`."""

    def __init__(self, target_port, seed, share=0.2):
        self.target, self.seed, self.share = target_port, seed, share
        self.lying = False
        self.told = 0
        self.closed = False
        self.numbers = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.closed = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.acceptor.join()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def _accept(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self.closed:
                    return
                client.close()
                continue
            self.numbers += 1
            dice = random.Random(f"{self.seed}/{self.numbers}")
            for pump, ends in ((self._ask, (client, server)), (self._answer, (server, client, dice))):
                threading.Thread(target=pump, args=ends, daemon=True).start()

    def _ask(self, client, server):
        self._pass(client, server, lambda data: (data, b""))

    def _answer(self, server, client, dice):
        def replies(data):
            out = b""
            while data and (end := whole_reply(data)) is not None:
                reply, data = data[:end], data[end:]
                if self.lying and dice.random() < self.share:
                    self.told += 1
                    reply = lie(dice, reply)
                out += reply
            return out, data
        self._pass(server, client, replies)

    def _pass(self, source, sink, through):
        rest = b""
        try:
            while data := source.recv(1 << 16):
                passing, rest = through(rest + data)
                sink.sendall(passing)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        sink.close()

# SPDX-License-Identifier: Apache-2.0
"""A server in place of the driver: commands over RESP, at times that the test sets.

A call that waits keeps its connection. Nothing on the outside tells that a call has begun to wait,
so this is led by what the model expects: it does not go on before the server has read the request,
and reads the answers of those who should be answered. Whoever is answered without being expected is
found out when the commands of a chunk are done.
"""

import mmap
import select
import struct
import tempfile

from model import MALFORMED, Model
from raw_client import encode
from redis_connection import RedisConnection, RedisError
from scripts import shaped, walk
from server import Server, wait_until


class Clock:
    """A file with the time, which a conformance_server looks at whenever it needs it."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="holdfast-clock-")
        self.file.truncate(mmap.PAGESIZE)
        self.memory = mmap.mmap(self.file.fileno(), mmap.PAGESIZE)
        self.now = 0

    def set(self, now_ms):
        """It stands still rather than go back, as the clock of an engine on Redis should."""
        self.now = max(self.now, now_ms)
        self.memory[:8] = struct.pack("=q", self.now)


class ClockedServer(Server):
    """`holdfast serve` by a test's clock."""

    def __init__(self, program, *flags):
        self.clock = Clock()
        super().__init__(*flags, memory=True, program=program)

    def command(self):
        words = super().command()
        words[1] = self.clock.file.name  # in place of "serve"
        return words


class Waiting:
    """A call that waits: the semaphore's name, and the connection its answer comes on."""

    def __init__(self, name, connection, row):
        self.name, self.connection, self.row = name, connection, row


class RespFront:
    """In place of the model test's Driver; its lines come with what the model expects."""

    def __init__(self, server, rows):
        self.server = server
        self.rows = rows
        self.commands = Model().commands  # for their arguments alone
        self.main = RedisConnection(server.resp_port)
        self.spare = []  # connections nobody waits on
        self.waiting = {}  # number of the command -> Waiting
        self.number = 0
        self.answers = []
        self.questions = 0  # bytes
        self.reached = {}  # way -> (command, code) of every refusal that came on it

    def line(self, now_ms, argv):
        return now_ms, argv

    def send(self, lines):
        for (now_ms, argv), (reply, wakes) in lines:
            self.number += 1
            self.server.clock.set(now_ms)
            answer = self.begin(argv) if reply == "WAIT" else self.call(argv, reply)
            self.answers.append([answer, self.read_wakes(wakes)])
        self.answers[-1][1] += self.unexpected()

    def receive(self, count):
        answers, self.answers = self.answers[:count], self.answers[count:]
        return answers

    def close(self):
        for waiting in self.waiting.values():
            waiting.connection.close()
        for connection in (self.main, *self.spare):
            connection.close()
        return self.server.stop()

    # ---- commands

    def call(self, argv, expected):
        """The reply to a command that should not have to wait; a list is walked to its end."""
        return walk(lambda words: self.once(words, expected), argv)

    def once(self, argv, expected):
        self.main.send(*argv)
        return self.reply(self.rows.get(argv[0].upper()), self.main)

    def reply(self, row, connection):
        reply = connection.read()
        if isinstance(reply, RedisError):
            code = str(reply).split(" ")[0]
            return MALFORMED if code == "ERR" else {"error": str(reply)}
        answer = shaped(row, reply)
        self.note("resp", row, code_of(row, answer))
        return answer

    def note(self, way, row, code):
        if code:
            self.reached.setdefault(way, set()).add((row.name, code))

    # ---- calls that wait

    def begin(self, argv):
        """Sends a call that should wait, and sees to it that it does."""
        connection = self.spare.pop() if self.spare else RedisConnection(self.server.resp_port)
        return self.waits(argv, connection, encode(*argv))

    def waits(self, argv, connection, request):
        expected = self.received() + len(request)
        connection.socket.sendall(request)
        wait_until(lambda: self.received() == expected, f"{argv} is read", 10)
        self.waiting[self.number] = Waiting(argv[1], connection, self.rows[b"SEM.ACQUIRE"])
        self.look_at(argv[1])  # behind it at the engine: the clock may move on
        return "WAIT"

    def received(self):
        """How many bytes the server has read so far, but for these questions."""
        question = encode(b"INFO", b"stats")
        self.questions += len(question)
        text = self.main.call(b"INFO", b"stats").decode()
        return int(text.split("total_net_input_bytes:")[1].split("\r\n")[0]) - self.questions

    def look_at(self, name):
        """What fell due at a semaphore happens at the latest when somebody looks."""
        self.main.call(b"SEM.CARD", name)

    def read_wakes(self, expected):
        wakes = []
        for number, _ in expected:
            waiting = self.waiting.pop(number)
            self.look_at(waiting.name)
            wakes.append([number, self.read_answer(waiting)])
        return wakes

    def read_answer(self, waiting):
        self.spare.append(waiting.connection)
        return self.reply(waiting.row, waiting.connection)

    def unexpected(self):
        """Answers that came to calls which should still wait."""
        sockets = {waiting.connection.socket: number for number, waiting in self.waiting.items()}
        ready, _, _ = select.select(list(sockets), [], [], 0)
        return [[sockets[one], self.read_answer(self.waiting.pop(sockets[one]))] for one in ready]


def code_of(row, answer):
    """The code of a refusal in the form of RESP, or None."""
    if answer is None:
        return row.nil
    if not isinstance(answer, list) or not answer or answer[0] not in (0, -1):
        return None
    if answer[0] == -1 or answer[1] == "PROCESSING":
        return row.figures
    return answer[1] if isinstance(answer[1], str) else None

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Data directories of former versions, kept as text with the answers that the former version gave.

    HOLDFAST_BUILD=build tests/e2e/former_version.py PROGRAM >tests/e2e/former_version_N.json

writes the directory of the given program: every command before a snapshot, and all of them once
more behind it, on scopes of other names.
"""

import base64
import json
import sys
import tempfile
import textwrap
import time
import zlib
from pathlib import Path

from server import Server, wait_until
from shifted_clock import ShiftedClock

START_MS = 1_790_000_000_000
LINE = 96

# One command a line, $ is the name of the round. `wait` sends a command whose answer does not come,
# `until` repeats one until it is refused.
COMMANDS = """
SEATS.OPEN gala-$ floor 100
SEATS.OPEN gala-$ balcony 10
SEATS.OPEN gala-$ floor 90
SEATS.RESERVE gala-$ floor held ann 2 9 SHOW late PRICE 30 TTL 20h
SEATS.RESERVE gala-$ floor extended ann 1 9 TTL 1h
SEATS.RESERVE gala-$ floor paid bob 3 9 LIFETIME PRICE 30
SEATS.RESERVE gala-$ floor dropped bob 1 9
SEATS.RESERVE gala-$ balcony lapsed cy 4 9 TTL 10ms
SEATS.RESERVE gala-$ balcony 0190a1b2-c3d4-7e5f-8a6b-123456789abc cy 1 9 TTL 720h
SEATS.EXTEND gala-$ extended 10h
SEATS.CONFIRM gala-$ paid USER bob PAYMENT p-1
SEATS.RELEASE gala-$ dropped USER bob
QUOTA.LIMIT acme-$ 1000
QUOTA.RESERVE acme-$ 100
QUOTA.RESERVE acme-$ 10 HOLD open TTL 20h
QUOTA.RESERVE acme-$ 20 HOLD extended TTL 1h
QUOTA.RESERVE acme-$ 30 HOLD committed
QUOTA.RESERVE acme-$ 40 HOLD cancelled
QUOTA.EXTEND acme-$ extended 10h
QUOTA.COMMIT acme-$ committed
QUOTA.CANCEL acme-$ cancelled
QUOTA.REFUND acme-$ 5
QUOTA.SYNC acme-$ 77
SEM.ACQUIRE db-$ a 2 HEARTBEAT 20h TTL 30h
SEM.ACQUIRE db-$ gone 2 HEARTBEAT 20h
SEM.QUEUE db-$ b 20h 30h
SEM.QUEUE db-$ c 20h 30h
SEM.RELEASE db-$ gone
SEM.PING db-$ a 10h 30h
SEM.CONFIRM db-$ b 2 15h 30h
SEM.WAKE db-$ 2 15h 30h
wait SEM.ACQUIRE db-$ d 2 HEARTBEAT 20h WAIT 10h
LOCK.TRY seat-$ 20h ID mine
LOCK.TRY seat-$-2 1h ID mine
LOCK.EXTEND seat-$-2 mine 10h
LOCK.TRY seat-$-3 1h ID mine
LOCK.UNLOCK seat-$-3 mine
STOCK.LOAD shoes-$ 50 SHARDS 4 WATERMARK 3
STOCK.TAKE shoes-$ taken ann 2 TTL 20h
STOCK.TAKE shoes-$ settled bob 3
STOCK.TAKE shoes-$ given cy 4
STOCK.SETTLE shoes-$ settled
STOCK.GIVE shoes-$ given
STOCK.ADJUST shoes-$ -5 recount
ROOM.JOIN gala-$ ann TTL 20h
ROOM.JOIN gala-$ bob TTL 20h
ROOM.JOIN gala-$ cy TTL 20h
ROOM.JOIN gala-$ dee MAX 9 TTL 20h
ROOM.LEAVE gala-$ cy
ROOM.ADMIT gala-$ 1 PASS 20h
IDEM.BEGIN begun-$ print TTL 20h
IDEM.BEGIN done-$ print
IDEM.COMPLETE done-$ answer TTL 20h
IDEM.BEGIN aborted-$ print
IDEM.ABORT aborted-$
until SEATS.GET gala-$ lapsed
"""

# What is asked of the directory: reads, and commands repeated, which are answered as before.
QUESTIONS = """
SEATS.ZONE gala-$ floor
SEATS.ZONE gala-$ balcony
SEATS.USER gala-$ ann
SEATS.USER gala-$ bob
SEATS.USER gala-$ cy
SEATS.GET gala-$ held
SEATS.GET gala-$ extended
SEATS.GET gala-$ paid
SEATS.GET gala-$ dropped
SEATS.GET gala-$ lapsed
SEATS.GET gala-$ 0190a1b2-c3d4-7e5f-8a6b-123456789abc
SEATS.RELEASE gala-$ dropped
SEATS.CONFIRM gala-$ paid PAYMENT p-1
SEATS.RESERVE gala-$ floor paid bob 3 9 LIFETIME PRICE 30
SEATS.RESERVE gala-$ floor new bob 7 9
QUOTA.GET acme-$
QUOTA.COMMIT acme-$ committed
QUOTA.CANCEL acme-$ cancelled
QUOTA.CANCEL acme-$ committed
QUOTA.RESERVE acme-$ 10 HOLD open TTL 20h
QUOTA.RESERVE acme-$ 9999
SEM.STATS db-$
SEM.CARD db-$
SEM.ACQUIRE db-$ a 2 HEARTBEAT 20h TTL 30h
SEM.QUEUE db-$ d 20h 30h
LOCK.TRY seat-$ 20h ID mine
LOCK.TRY seat-$ 20h ID yours
LOCK.TRY seat-$-2 1h ID mine
LOCK.GET seat-$-3
STOCK.GET shoes-$
STOCK.SETTLE shoes-$ settled
STOCK.GIVE shoes-$ given
STOCK.GIVE shoes-$ settled
STOCK.TAKE shoes-$ taken ann 2 TTL 20h
ROOM.POSITION gala-$ ann
ROOM.POSITION gala-$ bob
ROOM.POSITION gala-$ dee
ROOM.CHECK gala-$ ann @pass
ROOM.CHECK gala-$ bob @pass
IDEM.BEGIN begun-$ print
IDEM.BEGIN begun-$ other
IDEM.BEGIN done-$ print
IDEM.COMPLETE done-$ answer
AUDIT
"""


def lines(text, name, passes=None):
    """The commands of a text, as lists of words, for the round of this name."""
    for line in text.strip().splitlines():
        words = line.replace("$", name).split(" ")
        yield [passes[name] if word == "@pass" else word for word in words]


class FormerClock(ShiftedClock):
    """The time of day when the directory was written, on a boot of its own."""

    def __init__(self, now_ms):
        super().__init__()
        self.shift(ms=now_ms - int(time.time() * 1000))
        self.boot()


class Kept:
    """A directory as it stands in its file."""

    def __init__(self, version):
        path = Path(__file__).with_name(f"former_version_{version}.json")
        self.content = json.loads(path.read_text())
        self.ended_ms, self.answers = self.content["ended_ms"], self.content["answers"]

    def write(self, directory, with_snapshot):
        directory.mkdir()
        for name, text in self.content["files"].items():
            if name.startswith("journal") or with_snapshot:
                data = zlib.decompress(base64.b85decode("".join(text)))
                (directory / name).write_bytes(data)


def without_message(answer):
    refused = isinstance(answer, list) and answer[0] == 0 and isinstance(answer[1], str)
    return answer[:2] if refused else answer


def answers_to_questions(server, passes):
    return [[question, without_message(server.call(*question))] for name in passes
            for question in lines(QUESTIONS, name, passes)]


class Writer:
    def __init__(self, program):
        self.clock = FormerClock(START_MS)
        self.program = program
        self.passes, self.waiting = {}, []

    def round(self, server, name):
        for words in lines(COMMANDS, name):
            if words[0] == "until":
                wait_until(lambda: server.call(*words[1:])[0] == 0, words)
            elif words[0] == "wait":
                self.wait(server, words[1:])
            else:
                answer = server.call(*words)
                assert not isinstance(answer, Exception), (words, answer)
                if words[0] == "ROOM.ADMIT":
                    self.passes[name] = answer[1]

    def wait(self, server, words):
        self.waiting.append(server.connect())
        self.waiting[-1].send(*words)
        wait_until(lambda: server.call("SEM.STATS", words[1])[5] == 2, "in line")

    def write(self, directory):
        with Server(directory=directory, program=self.program, env=self.clock.env) as server:
            self.round(server, "one")
            assert server.call("SNAPSHOT") == "OK"
            self.round(server, "two")
            server.kill()
        for connection in self.waiting:
            connection.close()
        ended_ms = int(time.time() * 1000) + self.clock.ms
        files = {path.name: kept(path) for path in sorted(directory.iterdir())
                 if path.name.startswith(("journal", "snapshot"))}
        with Server(directory=directory, program=self.program, env=self.clock.env) as server:
            answers = answers_to_questions(server, self.passes)
        return {"ended_ms": ended_ms, "files": files, "answers": answers}


def as_text(content):
    """JSON with a line for each answer and each piece of a file."""
    files = ",\n".join(f'{json.dumps(name)}: [\n' + ",\n".join(map(json.dumps, text)) + "]"
                       for name, text in content["files"].items())
    answers = ",\n".join(map(json.dumps, content["answers"]))
    return (f'{{"ended_ms": {content["ended_ms"]},\n"files": {{\n{files}}},\n'
            f'"answers": [\n{answers}]}}')


def kept(path):
    text = base64.b85encode(zlib.compress(path.read_bytes(), 9)).decode()
    return textwrap.wrap(text, LINE, break_on_hyphens=False)


def main():
    with tempfile.TemporaryDirectory() as directory:
        content = Writer(sys.argv[1]).write(Path(directory) / "data")
    print(as_text(content))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""An engine and the model side by side on random commands, every reply compared.

Commands go to the engine in chunks. While it works on one, the model is already asked about the
next; so values that only the engine knows turn up in commands one or two chunks after the reply.
"""

import collections

from driver import DriverDied
from model_values import item_name, matches
from outcomes import Outcomes

CHUNK = 100
REMEMBERED_CHUNKS = 200
SHOWN_COMMANDS = 20


class Mismatch(Exception):
    """What disagrees, and the number of the last command sent before it showed."""

    def __init__(self, text, command):
        super().__init__(text)
        self.command = command


class Chunk:
    """Commands that go to the driver together, with what the model expects."""

    def __init__(self, first_number):
        self.first_number = first_number
        self.commands = []  # (now, argv)
        self.lines = []
        self.expected = []

    def numbered(self):
        """(number, now, argv, expected reply) of each command."""
        for index, ((now, argv), expected) in enumerate(zip(self.commands, self.expected)):
            yield self.first_number + index, now, argv, expected


class Comparison:
    """Runs the first `last` commands of a generator.

    The driver is whatever carries commands out: Driver, or something with its methods line(),
    send(), receive() and close().
    """

    def __init__(self, driver, model, generator, last, seed, chunk=CHUNK):
        self.driver = driver
        self.generator = generator
        self.model = model
        self.seed = seed
        self.outcomes = Outcomes()
        self.last = last
        self.chunk = chunk
        self.history = collections.deque(maxlen=REMEMBERED_CHUNKS)

    def run(self):
        generated = 0
        under_way = None
        while generated < self.last or under_way:
            chunk = None
            if generated < self.last:
                chunk = self.generate(generated + 1, min(self.chunk, self.last - generated))
                generated += len(chunk.lines)
            if under_way:
                self.compare(under_way)
                self.check_state(under_way.first_number + len(under_way.lines) - 1)
            if chunk:
                self.send(chunk)
            under_way = chunk
        self.check_end()
        if self.driver.close() != 0:
            raise Mismatch("the driver did not end with 0", self.last)

    def check_state(self, done):
        """After a chunk, up to command `done`: for more than replies to compare."""

    def check_end(self):
        """After the last command."""

    def generate(self, first_number, count):
        chunk = Chunk(first_number)
        next_command, apply, line = self.generator.next, self.model.apply, self.driver.line
        for _ in range(count):
            now, argv = next_command()
            chunk.commands.append((now, argv))
            chunk.lines.append(line(now, argv))
            chunk.expected.append(apply(now, argv))
        return chunk

    def send(self, chunk):
        try:
            self.driver.send(chunk.lines)
        except DriverDied as death:
            self.compare_last(chunk, death)

    def compare(self, chunk):
        try:
            answers = self.driver.receive(len(chunk.lines))
        except DriverDied as death:
            self.compare_last(chunk, death)
        self.compare_answers(chunk, answers)
        self.history.append(chunk)

    def compare_last(self, chunk, death):
        answers = death.answers[: len(chunk.lines) - 1]
        self.compare_answers(chunk, answers)
        last = chunk.first_number + len(chunk.lines) - 1  # answers it had not written are lost
        self.fail(chunk, len(answers), f"{death}, here or up to command {last}", last)

    def compare_answers(self, chunk, answers):
        for index, (expected, got) in enumerate(zip(chunk.expected, answers)):
            if expected != got and not matches(expected, in_order(got)):
                self.fail(chunk, index, got)
            self.outcomes.count(chunk.commands[index][1][0], expected)

    # What to say when it went wrong

    def fail(self, chunk, index, got, stop_at=None):
        number = chunk.first_number + index
        now, argv = chunk.commands[index]
        before = [e for c in (*self.history, chunk) for e in c.numbered() if e[0] < number]
        lines = [
            f"mismatch at command {number} of seed {self.seed}",
            f"  now       {now} (the engine's: {max([now] + [entry[1] for entry in before])})",
            f"  argv      {show(argv)}",
            f"  expected  {chunk.expected[index]}",
            f"  got       {got}",
            "  before it on the same scope, and on those of the calls that woke:",
        ]
        woken = [wake[0] for wake in chunk.expected[index][1] + wakes_of(got)]
        concerned = [argv] + [entry[2] for entry in before if entry[0] in woken]
        related = [e for e in before if any([same_scope(e[2], other) for other in concerned])]
        for entry in related[-SHOWN_COMMANDS:]:
            lines.append(f"  {entry[0]:9} {entry[1]} {show(entry[2])} -> {entry[3]}")
        raise Mismatch("\n".join(lines), stop_at or number)


def wakes_of(answer):
    well_formed = isinstance(answer, list) and len(answer) == 2 and isinstance(answer[1], list)
    return answer[1] if well_formed else []


def in_order(answer):
    """The driver's answer with its wakes by command number, and the items of a list by their first
    field: their order means nothing."""
    wakes_of(answer).sort(key=lambda wake: wake[0])
    if isinstance(answer, list) and isinstance(answer[0], dict) and "items" in answer[0]:
        answer[0]["items"].sort(key=item_name)
    return answer


def show(argv):
    return " ".join([repr(raw)[1:] if len(raw) < 200 else f"<{len(raw)} bytes>" for raw in argv])


def same_scope(argv, other):
    family = argv[0].upper().split(b".")[0]
    return family == other[0].upper().split(b".")[0] and argv[1:2] == other[1:2]

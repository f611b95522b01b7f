# SPDX-License-Identifier: Apache-2.0
"""Random command sequences from a seed: which scope, what time, retries, and bad input.

The same seed gives the same commands as long as the engine's random values come back in the same
places: nothing here depends on what such a value is, only on whether it is known yet.
"""

import random

import generate_ids as ids
import model_arguments as arguments
from generate_commands import (
    Dice, IdempotencyWorkload, LockWorkload, QuotaWorkload, SeatsWorkload, StockWorkload,
)
from generate_room import RoomWorkload
from generate_semaphore import SemaphoreWorkload

START_MS = 1_700_000_000_000
NEAR_MS, FAR_MS = 20_000, 600_000  # a jump to a deadline seldom goes further than these

FAMILIES = {
    # name: workload, scopes at a time, share of the commands
    "SEATS": (SeatsWorkload, 4, 26),
    "QUOTA": (QuotaWorkload, 4, 13),
    "SEM": (SemaphoreWorkload, 6, 24),
    "LOCK": (LockWorkload, 5, 8),
    "STOCK": (StockWorkload, 3, 14),
    "ROOM": (RoomWorkload, 3, 10),
    "IDEM": (IdempotencyWorkload, 5, 5),
}
LISTED = (b"events", b"zones", b"tenants", b"semaphores", b"locks", b"products", b"rooms", b"keys",
          b"others")
RECENT = 24
UNKNOWN_COMMANDS = [
    b"", b"SEATS", b"SEATS.", b"SEATS.OPENS", b"SEM ACQUIRE", b"\xff", b"LOCK.TRY\x00"
]
UNKNOWN_KEYWORDS = [b"", b"TTLS", b"TT", b"TTL\x00", b"FOREVER", b"\xff", b"NX"]


class Generator:
    def __init__(self, model, seed):
        self.model = model
        self.random = random.Random(seed)
        self.dice = Dice(self.random)
        self.ids = ids.Ids(self.random)
        self.clock = START_MS
        self.names = [self.ids.fresh() for _ in range(4)]  # families may share a name
        self.workloads = {
            family: [self.workload(family) for _ in range(scopes)]
            for family, (_, scopes, _) in FAMILIES.items()
        }
        self.shares = [family for family, (_, _, share) in FAMILIES.items() for _ in range(share)]
        self.current = self.workloads["SEATS"][0]
        self.family = "SEATS"
        self.mirror = None  # a semaphore that gets the commands of the current one as well
        self.copy = None  # what is still to be sent to it
        self.after_deadline = None  # (id, time) when the last command came just before it
        self.recent = []

    def workload(self, family):
        name = self.dice.pick(self.names) if self.dice.chance(0.2) else self.ids.fresh()
        return FAMILIES[family][0](self.dice, self.ids, self.model, name)

    def next(self):
        """The next command: (what the clock reads, argument vector)."""
        if self.copy:
            command, self.copy = self.copy, None
            return command
        roll = self.dice.roll()
        if self.recent:
            if roll < 0.05:
                return self.step_a_little(), self.dice.pick(self.recent)
            if roll < 0.09:
                return self.step_a_little(), self.changed_retry()
            if roll < 0.15:
                return self.step_a_little(), self.bad_input()
            if roll < 0.153:
                return self.step_a_little(), self.list()
        self.choose_scope()
        target = self.advance_clock()
        argv = self.current.next(target)
        if len(self.recent) < RECENT:
            self.recent.append(argv)
        else:
            self.recent[int(roll * 1e6) % RECENT] = argv
        if 0.5 < roll < 0.53:
            argv = self.respelled(argv)
        now = self.clock
        if roll > 0.995:
            now -= self.dice.between(1, 100_000)  # a glitch: only this once
        if self.mirror:
            self.copy = (now, [argv[0], self.mirror, *argv[2:]])
        return now, argv

    def list(self):
        """All of a kind, or what begins as the current scope does; pages of any size."""
        dice = self.dice
        argv = [b"LIST", dice.pick(LISTED)]
        if dice.chance(0.5):
            argv += [b"MATCH", self.current.name[: dice.between(0, 4)]]
        if dice.chance(0.5):
            argv += [b"COUNT", b"%d" % dice.pick((1, 3, 10, 1000, 0, 1001))]
        elif dice.chance(0.1):
            argv += [b"AFTER", dice.pick((b"", b"!", b"0", b".", b"-1.5", b"x" * 192, b"\xff"))]
        return argv

    # Scopes: stay with one for a while, so that its commands meet; replace it when it is worn out.

    def choose_scope(self):
        dice = self.dice
        if self.after_deadline or dice.chance(0.98 if self.current.crowded else 0.92):
            return
        self.family = dice.pick(self.shares)
        scopes = self.workloads[self.family]
        at = int(dice.roll() * len(scopes))
        if dice.chance(0.03):
            scopes[at] = self.workload(self.family)
        self.current = scopes[at]
        # Two semaphores with the same history: all that falls due does so in the same millisecond.
        mirrored = self.family == "SEM" and dice.chance(0.1)
        self.mirror = self.ids.fresh() if mirrored else None

    # Time

    def advance_clock(self):
        """Moves the clock. Returns the id whose deadline it was moved to, if any."""
        dice = self.dice
        if self.after_deadline:
            (target, due), self.after_deadline = self.after_deadline, None
            self.clock = due
            return target
        roll = dice.roll()
        if roll < 0.45:
            pass
        elif roll < 0.80:
            self.clock += dice.between(1, 20)
        elif roll < 0.90:
            self.clock += dice.between(20, 500)
        elif roll < 0.94:
            return self.go_to_deadline()
        else:
            self.rare_step(roll)
        return None

    def step_a_little(self):
        if self.dice.chance(0.3):
            self.clock += self.dice.between(1, 20)
        return self.clock

    def rare_step(self, roll):
        dice = self.dice
        if roll < 0.975:
            self.clock += dice.between(500, 3000)
        elif roll < 0.982:
            self.clock += dice.between(3000, 60_000)
        elif roll < 0.9828:
            self.clock += dice.between(60_000, 600_000)
        elif roll < 0.9829:
            self.clock += dice.between(3_600_000, 5 * 3_600_000)
        elif roll < 0.98293:
            self.clock += dice.between(86_400_000, 40 * 86_400_000)
        elif roll < 0.987:
            self.clock -= dice.pick((1, 10, 1000, 60_000, 3_600_000))
        else:
            self.clock = max(self.clock, self.model.now)  # catch up after a step back

    def go_to_deadline(self):
        """At a deadline of this scope, or one millisecond before or after it."""
        dice, now = self.dice, self.model.now
        due = self.model.families[self.family].deadlines(now, self.current.key)
        if not due:
            return None
        due_at, target = min(due, key=lambda entry: entry[0])
        if dice.chance(0.4):
            due_at, target = dice.pick(due)
        ahead = due_at - now
        if (ahead > NEAR_MS and dice.chance(0.8)) or (ahead > FAR_MS and dice.chance(0.9)):
            return None
        target = target if isinstance(target, str) else None
        self.clock = max(now, due_at + dice.pick((-1, 0, 0, 1)))
        if self.clock < due_at and dice.chance(0.8):
            self.after_deadline = (target, due_at)
        return target

    # Retries

    def changed_retry(self):
        """A recent command with one argument of another one of the same name."""
        dice = self.dice
        argv = list(dice.pick(self.recent))
        command = self.model.commands[argv[0]]
        if dice.chance(0.3):
            return self.same_duration_otherwise(argv, command)
        others = [other for other in self.recent if other[0] == argv[0]]
        other = dice.pick(others)
        shared = min(len(argv), len(other))
        if dice.chance(0.3):
            return argv[: len(command.positional) + 1]  # without its options
        if shared > 2:
            at = dice.between(2, shared - 1)
            argv[at] = other[at]
        return argv

    def same_duration_otherwise(self, argv, command):
        """The same command with its durations written in milliseconds."""
        at = len(command.positional) + 1
        while at + 1 < len(argv):
            _, kind = command.options[argv[at]]
            if isinstance(kind, arguments.Duration):
                argv[at + 1] = b"%dms" % kind[argv[at + 1]]
            at += 1 if kind is arguments.FLAG else 2
        return argv

    def respelled(self, argv):
        """The command and its keywords in other letters."""
        command = self.model.commands[argv[0]]
        words = list(argv)
        words[0] = self.other_case(words[0])
        for at in range(len(command.positional) + 1, len(words)):
            if words[at] in command.options and words[at - 1] not in command.options:
                words[at] = self.other_case(words[at])
        return words

    def other_case(self, word):
        return word.lower() if self.dice.chance(0.6) else word.title()

    # Bad input

    def bad_input(self):
        argv = list(self.dice.pick(self.recent))
        self.spoil(argv)
        if self.dice.chance(0.15):
            self.spoil(argv)  # which of the two is reported first?
        return argv

    def spoil(self, argv):
        dice = self.dice
        command = self.model.commands.get(argv[0])
        roll = dice.roll()
        if command is None or roll < 0.02:
            argv[0] = dice.pick(UNKNOWN_COMMANDS)
        elif roll < 0.07 and len(argv) > 1:
            argv.pop()
        elif roll < 0.10:
            count = max(1, command.most - len(argv) + dice.pick((0, 1)))
            argv += [dice.pick(UNKNOWN_KEYWORDS)] * count
        elif roll < 0.22 and command.options:
            self.spoil_options(argv, command)
        else:
            at = dice.between(1, max(1, min(len(argv) - 1, len(command.positional))))
            if at < len(argv):
                argv[at] = self.bad_value(command.positional[at - 1])

    def spoil_options(self, argv, command):
        dice = self.dice
        keyword = dice.pick(list(command.options))
        _, kind = command.options[keyword]
        roll = dice.roll()
        if roll < 0.1 or kind is arguments.FLAG:
            argv.append(keyword)  # without a value, or a second time
        elif roll < 0.2:
            argv += [dice.pick(UNKNOWN_KEYWORDS), b"1"]
        elif roll < 0.3:
            argv += [keyword, self.bad_value(kind), keyword]
        else:
            argv += [keyword, self.bad_value(kind)]

    def bad_value(self, kind):
        """A value at the border of what this kind of argument may be, mostly beyond it."""
        dice = self.dice
        if isinstance(kind, arguments.Id):
            return dice.pick(ids.BAD_IDS if dice.chance(0.8) else ids.EDGE_IDS)
        if isinstance(kind, arguments.Number):
            if kind is arguments.SHARDS and dice.chance(0.4):
                return dice.pick((b"1024", b"1025", b"0"))
            if kind is arguments.SLOTS and dice.chance(0.4):
                return dice.pick((b"128", b"129", b"0"))
            values = (ids.BAD_NUMBERS, ids.OUT_OF_BOUNDS, ids.SMALLEST, ids.LARGEST)
            return dice.pick(dice.pick(values))
        if isinstance(kind, arguments.Duration):
            values = (ids.BAD_DURATIONS, ids.OUT_OF_RANGE_DURATIONS)
            return dice.pick(dice.pick(values))
        if isinstance(kind, arguments.Choice):
            return dice.pick((b"", b"merges", b"split", b"MERGE", b"Steal"))
        if isinstance(kind, arguments.Reason):
            return dice.pick((b"", b"x" * 257, b"x" * 256, "é".encode() * 128, b"\xff", b"a\nb"))
        return b"r" * 1000

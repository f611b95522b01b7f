# SPDX-License-Identifier: Apache-2.0
"""Counts what became of the commands, to show that a run was not all refusals."""

import collections

from model import MALFORMED

# Commands for which the bare reply 0 means that nothing was done.
ZERO_IS_REFUSAL = {
    b"SEM.RELEASE", b"LOCK.UNLOCK", b"LOCK.EXTEND", b"ROOM.LEAVE", b"ROOM.CHECK",
    b"ROOM.DONE",
    b"IDEM.COMPLETE", b"IDEM.ABORT",
}
# The codes these commands can answer with. A long run has to meet them all.
CODES = (
    "INVALID_QUANTITY", "INVALID_AMOUNT", "INVALID_TTL", "INVALID_ID", "INVALID_ARGUMENT",
    "USER_LIMIT_EXCEEDED", "ZONE_NOT_FOUND", "RESERVATION_NOT_FOUND", "HOLD_NOT_FOUND",
    "PRODUCT_NOT_FOUND", "NOT_IN_QUEUE", "NOT_FOUND", "TIMEOUT", "PAYLOAD_TOO_LARGE",
    "INSUFFICIENT_STOCK", "SOLD_OUT", "INVALID_STATE", "BOOKING_EXISTS", "CAPACITY_IN_USE",
    "QUOTA_EXCEEDED", "ALREADY_IN_QUEUE", "NOT_OWNER", "KEY_REUSED", "QUEUE_FULL", "NO_SLOT",
    "PROCESSING", "NOT_ADMITTED",
)
CLASSES = ("granted", "refused", "malformed")


class Outcomes:
    def __init__(self):
        self.counts = collections.Counter()  # (command, class) -> times
        self.codes = collections.Counter()
        self.refusals = collections.Counter()  # (command, code; None for nil, -1 for figures)

    def add(self, other):
        self.counts += other.counts
        self.codes += other.codes
        self.refusals += other.refusals

    def refused_with(self, rows):
        """(command, code) of all refusals; the rows say what nil and figures stand for."""
        met = set()
        for name, code in self.refusals:
            row = rows.get(name)
            if row is not None:
                codes = {None: row.nil, -1: row.figures, "PROCESSING": row.figures}
                met.add((row.name, codes.get(code, code)))
        return met

    def count(self, name, expected):
        reply, wakes = expected
        if reply != "WAIT":  # counted when it is answered
            name = name.upper()
            self.counts[name, self.classify(name, reply)] += 1
        for _, answer in wakes:
            self.counts[b"SEM.ACQUIRE", self.classify(b"SEM.ACQUIRE", answer)] += 1

    def classify(self, name, reply):
        if reply is MALFORMED:
            return "malformed"
        if type(reply) is list:
            if len(reply) == 2 and reply[0] == 0 and type(reply[1]) is str:
                self.codes[reply[1]] += 1
                self.refusals[name, reply[1]] += 1
                return "refused"
            if reply and reply[0] == -1:
                self.refusals[name, -1] += 1
                return "refused"
            if reply == [0, 0] and name == b"SEM.PING":
                return "refused"
            if reply and reply[0] == 0 and name == b"SEM.CONFIRM":
                return "refused"
            return "granted"
        if reply is None:
            self.refusals[name, None] += 1
            return "refused"
        if reply == 0 and name in ZERO_IS_REFUSAL:
            return "refused"
        return "granted"

    def summary(self, families):
        """family granted/refused/malformed, for each family; what is in none counts as other."""
        totals = {family: dict.fromkeys(CLASSES, 0) for family in (*families, "other")}
        for (name, outcome), times in self.counts.items():
            family = name.split(b".")[0].decode("latin-1")
            totals[family if family in families else "other"][outcome] += times
        return ", ".join(
            f"{family.lower()} " + "/".join([str(total[outcome]) for outcome in CLASSES])
            for family, total in totals.items()
        )

    def lacking(self, commands):
        """Commands that were never granted, and codes that were never met."""
        granted = {name for name, outcome in self.counts if outcome == "granted"}
        names = [name.decode("latin-1") for name in sorted(set(commands) - granted)]
        return names + [code for code in CODES if code not in self.codes]

    def table(self):
        commands = collections.defaultdict(dict)
        for (name, outcome), times in self.counts.items():
            commands[ascii(name.decode("latin-1"))[1:-1]][outcome] = times
        lines = [f"{'command':16} {'granted':>9} {'refused':>9} {'malformed':>9}"]
        for name, totals in sorted(commands.items()):
            figures = " ".join([f"{totals.get(outcome, 0):9}" for outcome in CLASSES])
            lines.append(f"{name:16} {figures}")
        lines += [f"{code:24} {times:9}" for code, times in self.codes.most_common()]
        missing = [code for code in CODES if code not in self.codes]
        lines.append("codes never met: " + (", ".join(missing) or "none"))
        return "\n".join(lines)

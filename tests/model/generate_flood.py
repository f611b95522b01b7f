# SPDX-License-Identifier: Apache-2.0
"""One long sequence for the bounds that random commands do not reach.

Closes very many holds within the retry window, in each family that remembers them, and tries the
closing command again at both ends of the window. Then admits more users than one call may.
"""

from generate import START_MS
from model_closed import RETRY_WINDOW_MS
from model_room import MAX_ADMITTED

CLOSED = 66_000


class FloodGenerator:
    """The same for every seed: next() gives the commands one by one, then does no more harm."""

    def __init__(self, model, seed):
        self.start = START_MS
        self.commands = self.sequence()

    def next(self):
        return next(self.commands)

    def sequence(self):
        for family in (self.seats, self.quota, self.stock, self.room):
            for at_ms, line in family():
                yield self.start + at_ms, line.encode().split(b" ")
            self.start += RETRY_WINDOW_MS
        while True:
            yield self.start, [b"SEM.CARD", b"idle"]

    def closed_holds(self, opening, closings):
        """Opens and closes ids one by one, then closes some of them once more."""
        for number in range(CLOSED):
            yield 0, opening.format(id=number)
            yield 0, closings[number % len(closings)].format(id=number)
        around = range(497, 503)
        for at_ms in (RETRY_WINDOW_MS - 1, RETRY_WINDOW_MS):
            for number in (0, 1, *around, CLOSED - 2, CLOSED - 1):
                yield at_ms, closings[number % len(closings)].format(id=number)

    def seats(self):
        yield 0, "SEATS.OPEN flood zone 10"
        yield from self.closed_holds(
            "SEATS.RESERVE flood zone b-{id} user 1 10", ["SEATS.RELEASE flood b-{id}"]
        )

    def quota(self):
        yield 0, "QUOTA.LIMIT flood 9007199254740991"
        yield from self.closed_holds(
            "QUOTA.RESERVE flood 3 HOLD h-{id}",
            ["QUOTA.COMMIT flood h-{id}", "QUOTA.CANCEL flood h-{id}"],
        )

    def stock(self):
        yield 0, "STOCK.LOAD flood 1000000"
        yield from self.closed_holds(
            "STOCK.TAKE flood o-{id} user 2",
            ["STOCK.SETTLE flood o-{id}", "STOCK.GIVE flood o-{id}"],
        )

    def room(self):
        for number in range(MAX_ADMITTED + 5):
            yield 0, f"ROOM.JOIN flood user-{number}"
        yield 0, "ROOM.ADMIT flood 9007199254740991"
        yield 0, f"ROOM.POSITION flood user-{MAX_ADMITTED}"
        yield 0, "ROOM.ADMIT flood 9007199254740991"
        yield 0, "ROOM.ADMIT flood 1"


FLOOD_COMMANDS = 3 * (1 + 2 * CLOSED + 2 * 10) + MAX_ADMITTED + 5 + 4

# SPDX-License-Identifier: Apache-2.0
"""Sales in which many do the same thing at the same time, which is when their commands travel
together: reserves that differ in little but their ids, and now and then something else between."""

import random

START_MS = 1_700_000_000_000
TTL = (b"TTL", b"2000ms")


class Rush:
    """Generates commands for Comparison."""

    def __init__(self, model, seed):
        del model
        self.random = random.Random(seed)
        self.clock = START_MS
        self.events = self.bookings = 0
        self.queue = []

    def next(self):
        while not self.queue:
            self.sale()
        return self.queue.pop(0)

    def say(self, *words):
        self.queue.append((self.clock, [word if isinstance(word, bytes) else b"%d" % word
                                        for word in words]))

    def sale(self):
        """One event, from its opening to beyond the deadlines of its bookings."""
        chance = self.random.random
        self.events += 1
        event = b"gala%d" % self.events
        options = (b"MAX", 3) if chance() < 0.2 else ()
        capacity = self.random.choice((3, 20, 60, 1000))
        self.say(b"SEATS.OPEN", event, b"floor", capacity, *options)
        self.say(b"SEATS.OPEN", event, b"stalls", 1000)
        users = self.random.choice((4, 500))
        before = self.bookings
        for _ in range(self.random.randrange(1, 6)):
            for _ in range(self.random.randrange(2, 50)):
                self.command(event, users, before)
            self.clock += self.random.choice((0, 1, 1000, 2000, 60_000))

    def command(self, event, users, before):
        chance, between = self.random.random(), self.random.randrange
        if chance < 0.9 or self.bookings == before:
            repeated = chance < 0.03 and self.bookings > before
            self.bookings += not repeated
            zone = b"stalls" if 0.03 < chance < 0.05 else b"floor"
            quantity = between(0, 4) if 0.05 < chance < 0.3 else 1
            lifetime = (b"LIFETIME",) if 0.3 < chance < 0.32 else ()
            self.say(b"SEATS.RESERVE", event, zone, b"b%d" % self.bookings, b"u%d" % between(users),
                     quantity, 4, *TTL, *lifetime)
            return
        booking = b"b%d" % between(before + 1, self.bookings + 1)
        if chance < 0.94:
            self.say(b"SEATS.CONFIRM", event, booking)
        elif chance < 0.97:
            self.say(b"SEATS.RELEASE", event, booking)
        else:
            self.say(b"SEATS.ZONE", event, b"floor")

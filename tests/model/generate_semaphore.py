# SPDX-License-Identifier: Apache-2.0
"""Commands for one semaphore."""

from generate_commands import Workload

INTERVALS = (b"500ms", b"2s", b"30", b"180", b"180s", b"3m", b"1h", b"20ms", b"24h", b"86400")
WAITS = (b"1", b"5ms", b"10", b"50", b"200ms", b"1000", b"3s", b"30s", b"5m", b"2592000000")


class SemaphoreWorkload(Workload):
    ADD = "acquire"
    MIX = {
        "acquire": 38, "queue": 12, "wake": 7, "confirm": 8, "release": 15, "ping": 11, "card": 3,
        "stats": 6, "list": 6,
    }

    def __init__(self, *scope):
        super().__init__(*scope)
        self.clients = self.pool(9 * self.scale)
        self.usual_limit = self.dice.between(1, 10 if self.crowded else 5)

    def semaphore(self):
        return self.model.semaphores.semaphores.get(self.key)

    def limit(self):
        if self.dice.chance(0.9 if self.crowded else 0.7):
            return b"%d" % self.usual_limit
        return b"%d" % self.dice.between(1, 7)

    def interval(self):
        return self.dice.pick(INTERVALS)

    def holder(self, target, probability):
        semaphore = self.semaphore()
        holders = semaphore and [slot.id for slot in semaphore.slots]
        return self.aim(target, holders, self.clients, probability)

    def member(self, target):
        semaphore = self.semaphore()
        members = semaphore and [member.id for member in semaphore.slots + semaphore.line]
        return self.aim(target, members, self.clients, 0.75)

    def acquire(self, target):
        dice = self.dice
        client = target.encode("latin-1") if target else dice.pick(self.clients)
        limit = self.limit()
        if dice.chance(0.02):
            self.clients[int(dice.roll() * len(self.clients))] = self.ids.fresh()
        return [
            b"SEM.ACQUIRE", self.name, client, limit,
            *self.options(
                [b"HEARTBEAT", self.interval()] if dice.chance(0.4) else None,
                [b"TTL", self.interval()] if dice.chance(0.3) else None,
                self.wait(),
                self.slots(client, int(limit)),
            ),
        ]

    def slots(self, client, limit):
        """One most of the time, as before for who asks again, and now and then too many."""
        dice = self.dice
        semaphore = self.semaphore()
        name = client.decode("latin-1")
        known = semaphore and (semaphore.slot_of(name) or semaphore.waiter_of(name))
        if known and dice.chance(0.8):
            return [b"SLOTS", b"%d" % known.slots] if known.slots > 1 or dice.chance(0.1) else None
        if dice.chance(0.6):
            return None
        return [b"SLOTS", b"%d" % dice.between(1, limit + (1 if dice.chance(0.1) else 0))]

    def wait(self):
        roll = self.dice.roll()
        if roll < 0.35:
            return None
        return [b"WAIT", self.dice.pick(WAITS) if roll < 0.9 else b"0"]

    def queue(self, target):
        client = target.encode("latin-1") if target else self.dice.pick(self.clients)
        return [b"SEM.QUEUE", self.name, client, self.interval(), self.interval()]

    def wake(self, target):
        return [b"SEM.WAKE", self.name, self.limit(), self.interval(), self.interval()]

    def confirm(self, target):
        holder = self.holder(target, 0.85)
        ttl = self.interval()
        semaphore = self.semaphore()
        slot = semaphore and semaphore.slot_of(holder.decode("latin-1"))
        if slot and self.dice.chance(0.2):  # a TTL that has just passed, or nearly
            age_ms = self.model.now - slot.granted_at
            ttl = b"%dms" % max(10, age_ms + self.dice.pick((-1, 0, 0, 1)))
        return [b"SEM.CONFIRM", self.name, holder, self.limit(), self.interval(), ttl]

    def release(self, target):
        client = self.holder(target, 0.6) if self.dice.chance(0.6) else self.member(target)
        return [b"SEM.RELEASE", self.name, client]

    def ping(self, target):
        return [b"SEM.PING", self.name, self.member(target), self.interval(), self.interval()]

    def card(self, target):
        return [b"SEM.CARD", self.name]

    def stats(self, target):
        return [b"SEM.STATS", self.name]

    def list(self, target):
        return [b"SEM.LIST", self.name, *self.page()]

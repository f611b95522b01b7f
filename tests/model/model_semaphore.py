# SPDX-License-Identifier: Apache-2.0
"""Semaphores: slots, a strict line, heartbeats, and calls that wait for their slot.

This is the one family where something happens to a caller while nobody sends a command: a slot
falls free and passes to the next in line, a wait runs out. So expiry looks at all semaphores
together, one due millisecond after the other, and the answers to waiting calls are collected as
wakes: [number of the waiting command, reply].
"""

from model_arguments import CURSOR, ID, PAGE_COUNT, POSITIVE_COUNT, SLOTS, TTL, WAIT, Command
from model_values import UnknownFence, listed

DEFAULT_HEARTBEAT_MS = 180_000
DEFAULT_TTL_MS = 24 * 3600 * 1000
NEVER = 1 << 62


class Slot:
    """What a holder has: one slot or several."""

    def __init__(self, waiter, now, fence):
        self.id = waiter.id
        self.slots = waiter.slots
        self.heartbeat = waiter.heartbeat
        self.ttl = waiter.ttl
        self.fence = fence
        self.granted_at = now
        self.dead_at = now + waiter.heartbeat
        self.ends_at = now + waiter.ttl

    def due(self):
        return min(self.dead_at, self.ends_at)


class Waiter:
    """Somebody in line: by QUEUE, kept alive by pings, or by an ACQUIRE that waits."""

    def __init__(self, client, now, slots, heartbeat, ttl):
        self.id = client
        self.joined_at = now
        self.slots = slots
        self.heartbeat = heartbeat
        self.ttl = ttl
        self.call = None  # the number of the ACQUIRE that waits
        self.due_at = NEVER  # end of the wait, or of the heartbeat when no call waits

    def due(self):
        return self.due_at


class Semaphore:
    def __init__(self, name):
        self.name = name
        self.limit = 0
        self.slots = []  # in the order of the grants
        self.line = []
        self.next_due = NEVER

    def in_use(self):
        return sum(slot.slots for slot in self.slots)

    def slot_of(self, client):
        return next((slot for slot in self.slots if slot.id == client), None)

    def waiter_of(self, client):
        return next((waiter for waiter in self.line if waiter.id == client), None)


class Semaphores:
    def __init__(self, fences):
        self.fences = fences
        self.semaphores = {}
        self.wakes = []
        self.command = 0  # the number of the command that runs
        self.next_due = NEVER

    # Time

    def commands(self):
        return {
            b"SEM.ACQUIRE": Command(
                self.acquire, (ID, ID, POSITIVE_COUNT), heartbeat=TTL, ttl=TTL, wait=WAIT,
                slots=SLOTS,
            ),
            b"SEM.QUEUE": Command(self.queue, (ID, ID, TTL, TTL)),
            b"SEM.WAKE": Command(self.wake, (ID, POSITIVE_COUNT, TTL, TTL)),
            b"SEM.CONFIRM": Command(self.confirm, (ID, ID, POSITIVE_COUNT, TTL, TTL)),
            b"SEM.RELEASE": Command(self.release, (ID, ID)),
            b"SEM.PING": Command(self.ping, (ID, ID, TTL, TTL)),
            b"SEM.CARD": Command(self.card, (ID,)),
            b"SEM.STATS": Command(self.stats, (ID,)),
            b"SEM.LIST": Command(self.list, (ID,), after=CURSOR, count=PAGE_COUNT),
        }

    def expire(self, now):
        """All that is due up to now, each thing at its own time."""
        while self.next_due <= now:
            due = self.next_due
            semaphores = [s for s in self.semaphores.values() if s.next_due <= due]
            freed = [s for s in semaphores if self.drop_due(s, due)]
            self.hand_on(freed, due)
            for semaphore in semaphores:
                self.settle(semaphore)

    def drop_due(self, semaphore, due):
        """Removes who is dead or late. True if others can have slots since."""
        slots = len(semaphore.slots)
        semaphore.slots = [slot for slot in semaphore.slots if slot.due() > due]
        late = [waiter for waiter in semaphore.line if waiter.due() <= due]
        for waiter in late:
            semaphore.line.remove(waiter)
            self.answer_timeout(waiter)
        return len(semaphore.slots) < slots or any(waiter.slots > 1 for waiter in late)

    def hand_on(self, semaphores, due):
        """Hands the freed slots on. The order among several semaphores is the engine's choice."""
        first = self.fences.last + 1
        granted = [(s, slot) for s in semaphores for slot in self.hand_out(s, due)]
        several = len({semaphore.name for semaphore, _ in granted}) > 1
        if not several or not self.fences.one_counter:
            return
        numbers = range(first, self.fences.last + 1)
        batch = []
        for semaphore, slot in granted:
            fence = UnknownFence(batch, semaphore.name, numbers)
            batch.append(fence)
            for wake in self.wakes:
                if wake[1][0] == 1 and wake[1][2] == slot.fence:
                    wake[1][2] = fence
            slot.fence = fence

    def settle(self, semaphore):
        """After a change: a semaphore nobody holds or waits for is gone, with its limit."""
        if semaphore.slots or semaphore.line:
            self.semaphores[semaphore.name] = semaphore
            due = [member.due() for member in semaphore.slots + semaphore.line]
            semaphore.next_due = min(due)
        else:
            self.semaphores.pop(semaphore.name, None)
        self.next_due = min([s.next_due for s in self.semaphores.values()], default=NEVER)

    # Steps the commands are made of

    def semaphore(self, name):
        """The semaphore, or a new one that exists from the first time somebody is in it."""
        return self.semaphores.get(name) or Semaphore(name)

    def answer_timeout(self, waiter):
        if waiter.call is not None:
            self.wakes.append([waiter.call, [0, "TIMEOUT"]])
            waiter.call = None

    def grant(self, semaphore, waiter, now):
        """Turns a waiter into a holder, and answers its call if one waits."""
        if waiter in semaphore.line:
            semaphore.line.remove(waiter)
        slot = Slot(waiter, now, self.fences.take(("SEM", semaphore.name)))
        semaphore.slots.append(slot)
        if waiter.call is not None:
            self.wakes.append([waiter.call, [1, semaphore.in_use(), slot.fence]])
        return slot

    def hand_out(self, semaphore, now):
        """To the first in line, as long as there are enough: nobody gets slots before it."""
        granted = []
        while semaphore.line and semaphore.in_use() < semaphore.limit:
            first = semaphore.line[0]
            if first.slots > semaphore.limit:  # it was within the limit when it came
                semaphore.line.remove(first)
                self.wakes.append([first.call, [0, "INVALID_QUANTITY"]])
                continue
            if semaphore.in_use() + first.slots > semaphore.limit:
                break
            granted.append(self.grant(semaphore, first, now))
        return granted

    # Commands

    def acquire(
        self, now, name, client, limit,
        heartbeat=DEFAULT_HEARTBEAT_MS, ttl=DEFAULT_TTL_MS, wait=0, slots=1,
    ):
        if slots > limit:
            return [0, "INVALID_QUANTITY"]
        semaphore = self.semaphore(name)
        slot = semaphore.slot_of(client)
        if slot:
            if (slot.heartbeat, slot.ttl, slot.slots) != (heartbeat, ttl, slots):
                return [0, "INVALID_STATE"]
            return [1, semaphore.in_use(), slot.fence]

        waiter = semaphore.waiter_of(client)
        if waiter and waiter.slots != slots:
            return [0, "INVALID_STATE"]
        ahead = semaphore.line[:semaphore.line.index(waiter)] if waiter else semaphore.line
        fits = semaphore.in_use() + sum(other.slots for other in ahead) + slots <= limit
        if not fits and wait == 0:
            return [0, "NO_SLOT"]

        if waiter is None:
            waiter = Waiter(client, now, slots, heartbeat, ttl)
            semaphore.line.append(waiter)
        self.answer_timeout(waiter)
        waiter.heartbeat = heartbeat
        waiter.ttl = ttl
        semaphore.limit = limit
        self.hand_out(semaphore, now)
        slot = semaphore.slot_of(client)  # also if it did not fit, but one ahead was refused
        if slot is None:
            waiter.call = self.command
            waiter.due_at = now + wait
        self.settle(semaphore)
        return [1, semaphore.in_use(), slot.fence] if slot else "WAIT"

    def queue(self, now, name, client, heartbeat, ttl):
        semaphore = self.semaphore(name)
        if semaphore.slot_of(client):
            return [1, 0]
        waiter = semaphore.waiter_of(client)
        if waiter is None:
            waiter = Waiter(client, now, 1, heartbeat, ttl)
            semaphore.line.append(waiter)
        if waiter.call is None:
            waiter.heartbeat = heartbeat
            waiter.ttl = ttl
            waiter.due_at = now + heartbeat
        self.settle(semaphore)
        return [1, semaphore.line.index(waiter) + 1]

    # The heartbeat and TTL of WAKE are for clients that recorded none: here all have.
    def wake(self, now, name, limit, heartbeat, ttl):
        semaphore = self.semaphore(name)
        semaphore.limit = limit
        granted = self.hand_out(semaphore, now)
        self.settle(semaphore)
        return len(granted)

    def confirm(self, now, name, client, limit, heartbeat, ttl):
        semaphore = self.semaphore(name)
        slot = semaphore.slot_of(client)
        if slot is None:
            return [0, semaphore.in_use()]
        if slot.granted_at + ttl <= now:
            changed = 0
            semaphore.slots.remove(slot)
        else:
            changed = 1
            slot.heartbeat = heartbeat
            slot.ttl = ttl
            slot.dead_at = now + heartbeat
            slot.ends_at = slot.granted_at + ttl
            semaphore.limit = limit
        self.hand_out(semaphore, now)
        self.settle(semaphore)
        return [changed, semaphore.in_use()]

    def release(self, now, name, client):
        semaphore = self.semaphore(name)
        slot = semaphore.slot_of(client)
        waiter = semaphore.waiter_of(client)
        if slot:
            semaphore.slots.remove(slot)
            self.hand_out(semaphore, now)
        elif waiter:
            semaphore.line.remove(waiter)
            self.answer_timeout(waiter)
            if waiter.slots > 1:  # those behind it may fit
                self.hand_out(semaphore, now)
        self.settle(semaphore)
        return 1 if slot or waiter else 0

    def ping(self, now, name, client, heartbeat, ttl):
        semaphore = self.semaphore(name)
        slot = semaphore.slot_of(client)
        waiter = semaphore.waiter_of(client)
        if slot:
            slot.dead_at = now + heartbeat
        elif waiter and waiter.call is None:
            waiter.due_at = now + heartbeat
        self.settle(semaphore)
        return [1 if waiter else 0, 1 if slot else 0]

    def card(self, now, name):
        return self.semaphore(name).in_use()

    def stats(self, now, name):
        semaphore = self.semaphore(name)
        return [
            "in_use", semaphore.in_use(),
            "max", semaphore.limit,
            "waiting", len(semaphore.line),
        ]

    def list(self, now, name, after=None, count=None):
        if after not in (None, ""):
            return [0, "INVALID_ARGUMENT"]
        semaphore = self.semaphore(name)
        holders = [
            ["id", slot.id, "state", "holding", "slots", slot.slots, "fence", slot.fence,
             "age_ms", now - slot.granted_at, "expires_in_ms", slot.due() - now]
            for slot in semaphore.slots]
        return listed(holders + [
            ["id", waiter.id, "state", "waiting", "slots", waiter.slots, "position", position,
             "age_ms", now - waiter.joined_at, "expires_in_ms", waiter.due() - now]
            for position, waiter in enumerate(semaphore.line, 1)])

    def deadlines(self, now, name):
        semaphore = self.semaphore(name)
        return [(member.due(), member.id) for member in semaphore.slots + semaphore.line]

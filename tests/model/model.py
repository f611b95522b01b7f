# SPDX-License-Identifier: Apache-2.0
"""A naive model of what the engine does: the documents turned into dictionaries and lists.

It is read off the contract and docs/semantics.md, never off the implementation, and prefers the
obvious to the fast: figures are counted anew each time, deadlines are found by looking at all.
"""

from model_arguments import (
    AMOUNT, COUNT, DELTA, FLAG, ID, POLICY, POSITIVE_AMOUNT, POSITIVE_COUNT, REASON, RESPONSE,
    SHARDS, TTL, WAIT, Command, Malformed, Refused,
)
from model_idempotency import Idempotency
from model_lock import Locks
from model_quota import Quota
from model_room import Rooms
from model_seats import Seats
from model_semaphore import Semaphores
from model_stock import Stock
from model_values import Fences, Secrets

MALFORMED = {"error": "ERR"}


class Model:
    """Applies commands one by one and says what the engine has to answer.

    Engines may differ in two ways: with OrderedFences, fences only have to grow in each scope; and
    there may be another way to keep stock.
    """

    def __init__(self, fences=None, stock=None):
        fences = fences or Fences()
        secrets = Secrets()
        self.now = 0
        self.seats = Seats(secrets)
        self.quota = Quota()
        self.semaphores = Semaphores(fences)
        self.locks = Locks(fences, secrets)
        self.stock = stock or Stock()
        self.rooms = Rooms(secrets)
        self.idempotency = Idempotency()
        self.families = {
            "SEATS": self.seats,
            "QUOTA": self.quota,
            "SEM": self.semaphores,
            "LOCK": self.locks,
            "STOCK": self.stock,
            "ROOM": self.rooms,
            "IDEM": self.idempotency,
        }
        self.commands = self.command_table()

    def apply(self, now_ms, argv):
        """The driver's answer to one command line: [reply, wakes], wakes by command number."""
        self.now = max(self.now, now_ms)  # a clock that steps back stands still
        semaphores = self.semaphores
        semaphores.command += 1
        semaphores.expire(self.now)
        reply = self.reply(argv)
        if not semaphores.wakes:
            return [reply, []]
        wakes, semaphores.wakes = semaphores.wakes, []
        return [reply, sorted(wakes, key=lambda wake: wake[0])]

    def reply(self, argv):
        command = self.commands.get(argv[0]) or self.commands.get(argv[0].upper())
        if command is None:
            return MALFORMED
        try:
            values, options = command.parse(argv)
        except Malformed:
            return MALFORMED
        except Refused as refusal:
            return [0, refusal.code]
        return command.handler(self.now, *values, **options)

    def command_table(self):
        seats, quota, semaphores = self.seats, self.quota, self.semaphores
        locks, stock, rooms, idem = self.locks, self.stock, self.rooms, self.idempotency
        return {
            b"SEATS.OPEN": Command(seats.open, (ID, ID, COUNT)),
            b"SEATS.RESERVE": Command(
                seats.reserve, (ID, ID, ID, ID, POSITIVE_COUNT, COUNT),
                show=ID, price=AMOUNT, ttl=TTL, lifetime=FLAG,
            ),
            b"SEATS.CONFIRM": Command(seats.confirm, (ID, ID), user=ID, payment=ID),
            b"SEATS.RELEASE": Command(seats.release, (ID, ID), user=ID),
            b"SEATS.EXTEND": Command(seats.extend, (ID, ID, TTL)),
            b"SEATS.GET": Command(seats.get, (ID, ID)),
            b"SEATS.ZONE": Command(seats.zone, (ID, ID)),
            b"SEATS.USER": Command(seats.user, (ID, ID)),
            b"QUOTA.LIMIT": Command(quota.limit, (ID, AMOUNT)),
            b"QUOTA.RESERVE": Command(quota.reserve, (ID, POSITIVE_AMOUNT), hold=ID, ttl=TTL),
            b"QUOTA.REFUND": Command(quota.refund, (ID, POSITIVE_AMOUNT)),
            b"QUOTA.COMMIT": Command(quota.commit, (ID, ID)),
            b"QUOTA.CANCEL": Command(quota.cancel, (ID, ID)),
            b"QUOTA.SYNC": Command(quota.sync, (ID, AMOUNT)),
            b"QUOTA.GET": Command(quota.get, (ID,)),
            b"SEM.ACQUIRE": Command(
                semaphores.acquire, (ID, ID, POSITIVE_COUNT), heartbeat=TTL, ttl=TTL, wait=WAIT
            ),
            b"SEM.QUEUE": Command(semaphores.queue, (ID, ID, TTL, TTL)),
            b"SEM.WAKE": Command(semaphores.wake, (ID, POSITIVE_COUNT, TTL, TTL)),
            b"SEM.CONFIRM": Command(semaphores.confirm, (ID, ID, POSITIVE_COUNT, TTL, TTL)),
            b"SEM.RELEASE": Command(semaphores.release, (ID, ID)),
            b"SEM.PING": Command(semaphores.ping, (ID, ID, TTL, TTL)),
            b"SEM.CARD": Command(semaphores.card, (ID,)),
            b"SEM.STATS": Command(semaphores.stats, (ID,)),
            b"LOCK.TRY": Command(locks.try_lock, (ID, TTL), id=ID),
            b"LOCK.UNLOCK": Command(locks.unlock, (ID, ID)),
            b"LOCK.EXTEND": Command(locks.extend, (ID, ID, TTL)),
            b"LOCK.GET": Command(locks.get, (ID,)),
            b"STOCK.LOAD": Command(
                stock.load, (ID, COUNT), shards=SHARDS, watermark=COUNT, policy=POLICY
            ),
            b"STOCK.TAKE": Command(stock.take, (ID, ID, ID, POSITIVE_COUNT), ttl=TTL),
            b"STOCK.SETTLE": Command(stock.settle, (ID, ID)),
            b"STOCK.GIVE": Command(stock.give, (ID, ID)),
            b"STOCK.GET": Command(stock.get, (ID,)),
            b"STOCK.ADJUST": Command(stock.adjust, (ID, DELTA, REASON)),
            b"ROOM.JOIN": Command(rooms.join, (ID, ID), max=POSITIVE_COUNT, ttl=TTL),
            b"ROOM.POSITION": Command(rooms.position, (ID, ID)),
            b"ROOM.LEAVE": Command(rooms.leave, (ID, ID)),
            b"ROOM.ADMIT": Command(rooms.admit, (ID, POSITIVE_COUNT), **{"pass": TTL}),
            b"ROOM.CHECK": Command(rooms.check, (ID, ID, ID)),
            b"IDEM.BEGIN": Command(idem.begin, (ID, ID), ttl=TTL),
            b"IDEM.COMPLETE": Command(idem.complete, (ID, RESPONSE), ttl=TTL),
            b"IDEM.ABORT": Command(idem.abort, (ID,)),
        }

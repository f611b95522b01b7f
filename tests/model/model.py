# SPDX-License-Identifier: Apache-2.0
"""A naive model of what the engine does: the documents turned into dictionaries and lists.

It is read off the contract and docs/semantics.md, never off the implementation, and prefers the
obvious to the fast: figures are counted anew each time, deadlines are found by looking at all.
"""

from model_arguments import Malformed, Refused
from model_idempotency import Idempotency
from model_list import Lists
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
        self.rooms = Rooms(secrets)
        self.seats = Seats(secrets, self.rooms)
        self.quota = Quota()
        self.semaphores = Semaphores(fences)
        self.locks = Locks(fences, secrets)
        self.stock = stock or Stock()
        self.idempotency = Idempotency()
        self.families = {
            "SEATS": self.seats,
            "QUOTA": self.quota,
            "SEM": self.semaphores,
            "LOCK": self.locks,
            "STOCK": self.stock,
            "ROOM": self.rooms,
            "IDEM": self.idempotency,
            "LIST": Lists(self),
        }
        self.commands = {
            name: command
            for family in self.families.values() for name, command in family.commands().items()
        }

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

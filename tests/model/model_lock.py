# SPDX-License-Identifier: Apache-2.0
"""Lock: one holder at a time, known by its lock id."""

from model_arguments import ID, TTL, Command
from model_values import known


class Held:
    def __init__(self, lock_id, fence, expires_at):
        self.lock_id = lock_id
        self.fence = fence
        self.expires_at = expires_at


class Locks:
    def __init__(self, fences, secrets):
        self.fences = fences
        self.secrets = secrets
        self.resources = {}  # resource -> Held

    def commands(self):
        return {
            b"LOCK.TRY": Command(self.try_lock, (ID, TTL), id=ID),
            b"LOCK.UNLOCK": Command(self.unlock, (ID, ID)),
            b"LOCK.EXTEND": Command(self.extend, (ID, ID, TTL)),
            b"LOCK.GET": Command(self.get, (ID,)),
        }

    def held(self, resource, now):
        held = self.resources.get(resource)
        if held and held.expires_at <= now:
            del self.resources[resource]
            return None
        return held

    def held_by(self, resource, lock_id, now):
        held = self.held(resource, now)
        return held if held and known(held.lock_id) == lock_id else None

    def try_lock(self, now, resource, ttl, id=None):
        held = self.held(resource, now)
        if held:
            if id is None or id != known(held.lock_id):
                return None
            return [held.lock_id, held.fence]
        lock_id = self.secrets.lock_id() if id is None else id
        self.resources[resource] = Held(lock_id, self.fences.take(("LOCK", resource)), now + ttl)
        return [lock_id, self.resources[resource].fence]

    def unlock(self, now, resource, lock_id):
        if not self.held_by(resource, lock_id, now):
            return 0
        del self.resources[resource]
        return 1

    def extend(self, now, resource, lock_id, ttl):
        held = self.held_by(resource, lock_id, now)
        if not held:
            return 0
        held.expires_at = now + ttl
        return 1

    def get(self, now, resource):
        held = self.held(resource, now)
        return [held.lock_id, held.fence, held.expires_at - now] if held else None

    def deadlines(self, now, resource):
        held = self.held(resource, now)
        return [(held.expires_at, held.lock_id)] if held else []

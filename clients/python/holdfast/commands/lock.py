# SPDX-License-Identifier: Apache-2.0
"""Locks: one holder, unlocked only with its own id.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Duration, Family, Words, duration, option


class LockTryReply(NamedTuple):
    """The answer to LOCK.TRY. Fence grows with every grant. TRY does not wait: a lock to wait for
    is a semaphore of 1 slot, SEM.ACQUIRE name id 1 WAIT ms.
    """

    lock_id: str
    fence: int


class LockGetReply(NamedTuple):
    """The answer to LOCK.GET. Lock_id is empty, and left out by HTTP, for a user with the role
    read: it is the key that unlocks.
    """

    lock_id: str
    fence: int
    ttl_ms: int


_TRY: Command[LockTryReply] = Command("LOCK.TRY", "list", LockTryReply, nil="LOCKED")
_UNLOCK: Command[int] = Command("LOCK.UNLOCK", "number", int)
_EXTEND: Command[int] = Command("LOCK.EXTEND", "number", int)
_GET: Command[LockGetReply] = Command("LOCK.GET", "list", LockGetReply, nil="NOT_FOUND")


class Lock(Family):
    """Locks: one holder, unlocked only with its own id."""

    def try_(self, resource: str, ttl: Duration, *, id: Optional[str] = None) -> LockTryReply:
        """Take a lock; nil while somebody else holds it.

        resource: what is locked
        ttl: how long the lock is held unless unlocked or extended
        id: the key to unlock it with, the same again for a retry; not given: a random UUID is
            made
        Raises: Locked, InvalidTtl, InvalidId
        """
        words: Words = [resource, duration(ttl)]
        words += option("ID", id)
        return self._execute(_TRY, words, again=id is not None)

    def unlock(self, resource: str, lock_id: str) -> int:
        """Unlock; 0 if that lock id does not hold it.

        resource: what is locked
        lock_id: the id it was locked with
        Raises: InvalidId
        """
        words: Words = [resource, lock_id]
        return self._execute(_UNLOCK, words, again=True)

    def extend(self, resource: str, lock_id: str, ttl: Duration) -> int:
        """Set a lock's deadline to now + ttl; 0 if that lock id does not hold it.

        resource: what is locked
        lock_id: the id it was locked with
        ttl: how long it is held from now on
        Raises: InvalidTtl, InvalidId
        """
        words: Words = [resource, lock_id, duration(ttl)]
        return self._execute(_EXTEND, words, again=True)

    def get(self, resource: str) -> LockGetReply:
        """Who holds a lock, with its fence and the milliseconds left; nil if nobody.

        resource: what is locked
        Raises: NotFound, InvalidId
        """
        words: Words = [resource]
        return self._execute(_GET, words, again=True)

# SPDX-License-Identifier: Apache-2.0
"""Semaphores: N slots at a time, first come first served.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Duration, Family, Page, Words, duration, option


class SemAcquireReply(NamedTuple):
    """The answer to SEM.ACQUIRE. Fence grows with every grant: hand it to what the slot protects,
    which refuses a lower one.
    """

    in_use: int
    fence: int


class SemQueueReply(NamedTuple):
    """The answer to SEM.QUEUE. Position counts from 1; 0: the caller holds a slot already."""

    position: int


class SemConfirmReply(NamedTuple):
    """The answer to SEM.CONFIRM. Integers without a leading 1; changed is 0 if the caller holds no
    slot.
    """

    changed: int
    in_use: int


class SemPingReply(NamedTuple):
    """The answer to SEM.PING. Integers without a leading 1; [0, 0]: the caller has neither a slot
    nor a place in line any more.
    """

    changed_waiting: int
    changed_slot: int


class SemStatsReply(NamedTuple):
    """The answer to SEM.STATS. Max is the limit last given; all 0 for a semaphore nobody uses."""

    in_use: int = 0
    max: int = 0
    waiting: int = 0


class SemListItem(NamedTuple):
    """An item of the answer to SEM.LIST. An empty cursor says that this was the end. A waiter has
    its position in line, from 1, a holder its fence; in no order: the positions say who is next.
    """

    id: str = ""
    state: str = ""
    slots: int = 0
    position: int = 0
    fence: int = 0
    age_ms: int = 0
    expires_in_ms: int = 0


_ACQUIRE: Command[SemAcquireReply] = Command("SEM.ACQUIRE", "lead", SemAcquireReply)
_QUEUE: Command[SemQueueReply] = Command("SEM.QUEUE", "lead", SemQueueReply)
_WAKE: Command[int] = Command("SEM.WAKE", "number", int)
_CONFIRM: Command[SemConfirmReply] = Command("SEM.CONFIRM", "list", SemConfirmReply)
_RELEASE: Command[int] = Command("SEM.RELEASE", "number", int)
_PING: Command[SemPingReply] = Command("SEM.PING", "list", SemPingReply)
_CARD: Command[int] = Command("SEM.CARD", "number", int)
_STATS: Command[SemStatsReply] = Command("SEM.STATS", "fields", SemStatsReply)
_LIST: Command[Page[SemListItem]] = Command("SEM.LIST", "page", SemListItem)


class Sem(Family):
    """Semaphores: N slots at a time, first come first served."""

    def acquire(
            self, name: str, id: str, limit: int, *, heartbeat: Optional[Duration] = None,
            ttl: Optional[Duration] = None, wait: Optional[Duration] = None,
            slots: Optional[int] = None) -> SemAcquireReply:
        """Take one slot or several, waiting in line for them if asked to.

        name: the semaphore; there while somebody holds or waits
        id: who asks: an id of your choice, the same again for a retry
        limit: how many slots there are
        heartbeat: the caller is taken for dead when it has not pinged for so long
        ttl: how long the slot is kept at most, however alive the caller is
        wait: how long to stand in line for a slot; 0: do not wait
        slots: how many slots to take at once; nobody behind overtakes who waits for many
        Raises: NoSlot, Timeout, InvalidQuantity, InvalidState, InvalidTtl, InvalidId
        """
        words: Words = [name, id, limit]
        words += option("HEARTBEAT", duration(heartbeat))
        words += option("TTL", duration(ttl))
        words += option("SLOTS", slots)
        return self._execute(_ACQUIRE, words, again=True, wait=wait)

    def queue(self, name: str, id: str, heartbeat: Duration, ttl: Duration) -> SemQueueReply:
        """Stand in line without waiting for the answer.

        name: the semaphore; there while somebody holds or waits
        id: who asks: an id of your choice, the same again for a retry
        heartbeat: the caller is taken for dead when it has not pinged for so long
        ttl: how long the slot is kept at most once it is granted
        Raises: InvalidTtl, InvalidId
        """
        words: Words = [name, id, duration(heartbeat), duration(ttl)]
        return self._execute(_QUEUE, words, again=True)

    def wake(self, name: str, limit: int, heartbeat: Duration, ttl: Duration) -> int:
        """Hand free slots to the first in line.

        name: the semaphore; there while somebody holds or waits
        limit: how many slots there are
        heartbeat: for waiters that gave none: as in QUEUE
        ttl: for waiters that gave none: as in QUEUE
        Raises: InvalidQuantity, InvalidTtl, InvalidId
        """
        words: Words = [name, limit, duration(heartbeat), duration(ttl)]
        return self._execute(_WAKE, words, again=False)

    def confirm(
            self, name: str, id: str, limit: int, heartbeat: Duration,
            ttl: Duration) -> SemConfirmReply:
        """Take a slot that was handed over into use; changed 0: the grant is stale.

        name: the semaphore; there while somebody holds or waits
        id: who was granted the slot
        limit: how many slots there are
        heartbeat: the caller is taken for dead when it has not pinged for so long
        ttl: how long the slot is kept at most, counted from the grant
        Raises: InvalidQuantity, InvalidTtl, InvalidId
        """
        words: Words = [name, id, limit, duration(heartbeat), duration(ttl)]
        return self._execute(_CONFIRM, words, again=True)

    def release(self, name: str, id: str) -> int:
        """Leave the slot or the line; the slot goes to the next in line in the same step.

        name: the semaphore; there while somebody holds or waits
        id: who leaves
        Raises: InvalidId
        """
        words: Words = [name, id]
        return self._execute(_RELEASE, words, again=True)

    def ping(self, name: str, id: str, heartbeat: Duration, ttl: Duration) -> SemPingReply:
        """Still alive; [0, 0]: the caller was taken for dead.

        name: the semaphore; there while somebody holds or waits
        id: who is alive
        heartbeat: until when the next ping has to come
        ttl: accepted and not used: a ping does not move the TTL
        Raises: InvalidTtl, InvalidId
        """
        words: Words = [name, id, duration(heartbeat), duration(ttl)]
        return self._execute(_PING, words, again=True)

    def card(self, name: str) -> int:
        """Slots in use.

        name: the semaphore; there while somebody holds or waits
        Raises: InvalidId
        """
        words: Words = [name]
        return self._execute(_CARD, words, again=True)

    def stats(self, name: str) -> SemStatsReply:
        """Slots in use, the limit last given, and how many wait.

        name: the semaphore; there while somebody holds or waits
        Raises: InvalidId
        """
        words: Words = [name]
        return self._execute(_STATS, words, again=True)

    def list(
            self, name: str, *, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[SemListItem]:
        """The holders and the waiters of a semaphore, page by page.

        name: the semaphore; there while somebody holds or waits
        after: the cursor that the page before ended with; not given: from the beginning
        count: how many clients at most
        Raises: InvalidArgument, InvalidQuantity, InvalidId, PayloadTooLarge
        """
        words: Words = [name]
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_LIST, words, again=True)

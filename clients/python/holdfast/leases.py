# SPDX-License-Identifier: Apache-2.0
"""Leases: what is held for the length of a `with`, kept alive in the background, and known to be
lost no later than somebody else can have it.
"""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple, TypeVar

from .errors import HoldfastError, LeaseLost, Refused
from .values import Duration, seconds

if TYPE_CHECKING:
    from .client import Client
    from .commands import QuotaCommitReply, SeatsConfirmReply, StockSettleReply

SIGNS_OF_LIFE = 5  # in an interval
RETRY_S = 0.1  # after one that did not get through
OnLost = Callable[["Lease"], None]
L = TypeVar("L", bound="Lease")


def new_id() -> str:
    return str(uuid.uuid4())


class Lease:
    """Something that is held until its time is up, and renewed before.

    `lost` says whether it may be somebody else's by now, `check()` raises LeaseLost then. `on_lost`
    is called once, in a thread of its own, when it is lost while it should be held.
    """

    def __init__(self, client: Client, length: Duration, on_lost: Optional[OnLost],
                 renewed: bool = True) -> None:
        self.client = client
        self.length_s = seconds(length)
        self._on_lost, self._renewed = on_lost, renewed
        self._until = 0.0
        self._base: Optional[Tuple[int, float]] = None
        self._ended = threading.Event()
        self._gone = threading.Event()
        self._thread: Optional[threading.Thread] = None

    # What each kind of lease has of its own.

    def _take(self) -> None:
        raise NotImplementedError

    def _renew(self, timeout: float) -> Optional[int]:
        """Moves the deadline. None: it is not ours any more; 0: it is for its whole length from
        now; else the server's time, in milliseconds, until which it is.
        """
        raise NotImplementedError

    def _give_back(self) -> None:
        raise NotImplementedError

    # ---- its life

    def __enter__(self: L) -> L:
        start = time.monotonic()
        self._take()
        self._until = self._until or start + self.sure(self.length_s)
        self._thread = threading.Thread(target=self._keep, name="holdfast-lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        try:
            self.release()
        except HoldfastError:  # then it ends at its deadline; an error of the body counts for more
            if kind is None:
                raise

    def release(self) -> None:
        """Gives it back, if it is still ours; a second time does nothing."""
        if not self._ended.is_set():
            self._stop()
            if not self._gone.is_set():
                self._give_back()

    def _stop(self) -> None:
        """From here on it is neither renewed nor reported as lost."""
        self._ended.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def lost(self) -> bool:
        return self._gone.is_set() or time.monotonic() >= self._until

    def wait_lost(self, timeout: Optional[float] = None) -> bool:
        """Waits until it is lost, at most so many seconds."""
        return self._gone.wait(timeout)

    def check(self) -> None:
        if self.lost:
            raise LeaseLost(f"{self} is no longer held")

    # ---- keeping it

    @staticmethod
    def sure(length_s: float) -> float:
        """For how long it is surely ours, counted from when the request was sent: the server counts
        whole milliseconds, by a clock of its own.
        """
        return length_s * 0.999 - 0.002

    def _keep(self) -> None:
        pause = self.length_s / SIGNS_OF_LIFE
        while not self._ended.wait(max(0.0, min(pause, self._until - time.monotonic()))):
            left = self._until - time.monotonic()
            if left <= 0:
                return self._lose()
            if not self._renewed:
                continue
            start = time.monotonic()
            try:
                end_ms = self._renew(min(left, self.client.timeout))
                if end_ms is None:
                    return self._lose()
                self._until = self._deadline(start, end_ms)
                pause = self.length_s / SIGNS_OF_LIFE
            except Refused:
                return self._lose()
            except HoldfastError:  # it is tried again for as long as it may still be ours
                pause = min(RETRY_S, self.length_s / SIGNS_OF_LIFE)
        return None

    def _deadline(self, start: float, end_ms: int) -> float:
        """An extension may be shorter than what was asked for: the first one tells how the server's
        clock and ours go together, later ones are counted from there.
        """
        whole = start + self.sure(self.length_s)
        if not end_ms:
            return whole
        if self._base is None:
            self._base = (end_ms, whole)
        return self._base[1] + self.sure((end_ms - self._base[0]) / 1000)

    def _lose(self) -> None:
        if not self._ended.is_set():
            self._gone.set()
            if self._on_lost is not None:
                self._on_lost(self)


class Slot(Lease):
    """A slot of a semaphore, or several. `fence` goes to what it protects, which refuses a lower
    one.
    """

    def __init__(self, client: Client, name: str, limit: int, *, id: Optional[str] = None,
                 heartbeat: Duration = 30, ttl: Optional[Duration] = None,
                 wait: Optional[Duration] = None, slots: Optional[int] = None,
                 on_lost: Optional[OnLost] = None) -> None:
        super().__init__(client, heartbeat, on_lost)
        self.name, self.limit, self.id = name, limit, id or new_id()
        self.fence = 0
        self._options = {"ttl": ttl, "wait": wait, "slots": slots}
        self._beat, self._ttl = heartbeat, ttl if ttl is not None else "24h"

    def __str__(self) -> str:
        return f"the slot of {self.id} in {self.name}"

    def _take(self) -> None:
        options: Any = self._options
        self.fence = self.client.sem.acquire(
            self.name, self.id, self.limit, heartbeat=self._beat, **options).fence
        # When a wait was granted is not known here: the first sign of life is sent at once.
        start = time.monotonic()
        if self._renew(self.client.timeout) is None:
            raise LeaseLost(f"{self} was lost before it could be used")
        self._until = start + self.sure(self.length_s)

    def _renew(self, timeout: float) -> Optional[int]:
        pinged = self.client.within(timeout).sem.ping(self.name, self.id, self._beat, self._ttl)
        return 0 if pinged.changed_slot else None

    def _give_back(self) -> None:
        self.client.sem.release(self.name, self.id)


class HeldLock(Lease):
    """A lock. `fence` goes to what it protects, which refuses a lower one."""

    def __init__(self, client: Client, resource: str, ttl: Duration = 30, *,
                 id: Optional[str] = None, on_lost: Optional[OnLost] = None) -> None:
        super().__init__(client, ttl, on_lost)
        self.resource, self.ttl, self.lock_id = resource, ttl, id or new_id()
        self.fence = 0

    def __str__(self) -> str:
        return f"the lock of {self.resource}"

    def _take(self) -> None:
        self.fence = self.client.lock.try_(self.resource, self.ttl, id=self.lock_id).fence

    def _renew(self, timeout: float) -> Optional[int]:
        extended = self.client.within(timeout).lock.extend(self.resource, self.lock_id, self.ttl)
        return 0 if extended else None

    def _give_back(self) -> None:
        self.client.lock.unlock(self.resource, self.lock_id)


class Hold(Lease):
    """A hold with a deadline, given back at the end of the `with` unless it was made final before.
    It is extended until it is 12 times as old as its first length; from then on it can be lost.
    """


class SeatHold(Hold):
    """Seats of a zone. `confirm()` makes them the user's."""

    def __init__(self, client: Client, event: str, zone: str, user: str, quantity: int,
                 max_per_user: int, *, booking: Optional[str] = None, ttl: Duration = 600,
                 on_lost: Optional[OnLost] = None, renewed: bool = True, **options: Any) -> None:
        super().__init__(client, ttl, on_lost, renewed)
        self.event, self.booking, self.ttl = event, booking or new_id(), ttl
        self._ask = (event, zone, self.booking, user, quantity, max_per_user)
        self._options = options

    def __str__(self) -> str:
        return f"booking {self.booking} of {self.event}"

    def _take(self) -> None:
        self.client.seats.reserve(*self._ask, ttl=self.ttl, **self._options)

    def _renew(self, timeout: float) -> Optional[int]:
        return self.client.within(timeout).seats.extend(
            self.event, self.booking, self.ttl).expires_at_ms

    def _give_back(self) -> None:
        self.client.seats.release(self.event, self.booking)

    def confirm(self, payment: Optional[str] = None) -> SeatsConfirmReply:
        reply = self.client.seats.confirm(self.event, self.booking, payment=payment)
        self._stop()
        return reply


class StockHold(Hold):
    """Some of a product. `settle()` makes it sold."""

    def __init__(self, client: Client, product: str, user: str, quantity: int, *,
                 order: Optional[str] = None, ttl: Duration = 900, max: Optional[int] = None,
                 on_lost: Optional[OnLost] = None, renewed: bool = True) -> None:
        super().__init__(client, ttl, on_lost, renewed)
        self.product, self.order, self.ttl = product, order or new_id(), ttl
        self._ask, self._max = (product, self.order, user, quantity), max

    def __str__(self) -> str:
        return f"order {self.order} of {self.product}"

    def _take(self) -> None:
        self.client.stock.take(*self._ask, ttl=self.ttl, max=self._max)

    def _renew(self, timeout: float) -> Optional[int]:
        return self.client.within(timeout).stock.extend(
            self.product, self.order, self.ttl).expires_at_ms

    def _give_back(self) -> None:
        self.client.stock.give(self.product, self.order)

    def settle(self) -> StockSettleReply:
        reply = self.client.stock.settle(self.product, self.order)
        self._stop()
        return reply


class QuotaHold(Hold):
    """An amount of a quota. `commit()` makes it usage, or as much of it as was really used."""

    def __init__(self, client: Client, tenant: str, amount: int, *, hold: Optional[str] = None,
                 ttl: Duration = 900, on_lost: Optional[OnLost] = None,
                 renewed: bool = True) -> None:
        super().__init__(client, ttl, on_lost, renewed)
        self.tenant, self.amount, self.ttl, self.hold = tenant, amount, ttl, hold or new_id()

    def __str__(self) -> str:
        return f"hold {self.hold} of {self.tenant}"

    def _take(self) -> None:
        self.client.quota.reserve(self.tenant, self.amount, hold=self.hold, ttl=self.ttl)

    def _renew(self, timeout: float) -> Optional[int]:
        return self.client.within(timeout).quota.extend(
            self.tenant, self.hold, self.ttl).expires_at_ms

    def _give_back(self) -> None:
        self.client.quota.cancel(self.tenant, self.hold)

    def commit(self, amount: Optional[int] = None) -> QuotaCommitReply:
        reply = self.client.quota.commit(self.tenant, self.hold, amount=amount)
        self._stop()
        return reply

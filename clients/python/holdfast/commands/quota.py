# SPDX-License-Identifier: Apache-2.0
"""Quota: usage under a limit, reserved before it is known.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Duration, Family, Page, Words, duration, flag, option


class QuotaLimitReply(NamedTuple):
    """The answer to QUOTA.LIMIT."""

    used: int
    limit: int


class QuotaReserveReply(NamedTuple):
    """The answer to QUOTA.RESERVE. Over the limit the reply is [-1, used, limit], not [0, CODE,
    message]; HTTP answers 429.
    """

    used: int
    limit: int


class QuotaCommitReply(NamedTuple):
    """The answer to QUOTA.COMMIT."""

    used: int
    limit: int


class QuotaCancelReply(NamedTuple):
    """The answer to QUOTA.CANCEL."""

    used: int
    limit: int


class QuotaExtendReply(NamedTuple):
    """The answer to QUOTA.EXTEND."""

    expires_at_ms: int


class QuotaListItem(NamedTuple):
    """An item of the answer to QUOTA.LIST. An empty cursor says that this was the end. Times are in
    milliseconds since 1970.
    """

    hold_id: str = ""
    amount: int = 0
    created_at: int = 0
    expires_at: int = 0


class QuotaCloseReply(NamedTuple):
    """The answer to QUOTA.CLOSE. What was used, and the limit; a tenant nobody knows is closed
    already: [1, 0, 0].
    """

    used: int
    limit: int


class QuotaSyncReply(NamedTuple):
    """The answer to QUOTA.SYNC."""

    used: int
    limit: int


class QuotaMarkReply(NamedTuple):
    """The answer to QUOTA.MARK. Milliseconds since 1970, by the clock of the engine that keeps the
    tenant.
    """

    now_ms: int


class QuotaSyncallReply(NamedTuple):
    """The answer to QUOTA.SYNCALL. The number of the run, 1 once it is done, how many tenants were
    read, set and changed, by how much in all, how many tenants of the engine were not in the
    answer, and how many could not be set. A sync that is going on is joined.
    """

    run: int
    done: int
    tenants: int
    applied: int
    changed: int
    drift: int
    missing: int
    skipped: int


class QuotaSyncedItem(NamedTuple):
    """An item of the answer to QUOTA.SYNCED. The outcome is changed, missing or skipped. Of this
    server, at most 10,000 tenants. An empty cursor says that this was the end.
    """

    tenant: str = ""
    outcome: str = ""
    before: int = 0
    after: int = 0
    why: str = ""


class QuotaGetReply(NamedTuple):
    """The answer to QUOTA.GET. [0, 0, 0] for a tenant nobody has set up."""

    used: int
    limit: int
    held: int


_LIMIT: Command[QuotaLimitReply] = Command("QUOTA.LIMIT", "lead", QuotaLimitReply)
_RESERVE: Command[QuotaReserveReply] = Command(
    "QUOTA.RESERVE", "lead", QuotaReserveReply, figures="QUOTA_EXCEEDED")
_REFUND: Command[int] = Command("QUOTA.REFUND", "number", int)
_COMMIT: Command[QuotaCommitReply] = Command("QUOTA.COMMIT", "lead", QuotaCommitReply)
_CANCEL: Command[QuotaCancelReply] = Command("QUOTA.CANCEL", "lead", QuotaCancelReply)
_EXTEND: Command[QuotaExtendReply] = Command("QUOTA.EXTEND", "lead", QuotaExtendReply)
_LIST: Command[Page[QuotaListItem]] = Command("QUOTA.LIST", "page", QuotaListItem)
_CLOSE: Command[QuotaCloseReply] = Command("QUOTA.CLOSE", "lead", QuotaCloseReply)
_SYNC: Command[QuotaSyncReply] = Command("QUOTA.SYNC", "lead", QuotaSyncReply)
_MARK: Command[QuotaMarkReply] = Command("QUOTA.MARK", "lead", QuotaMarkReply)
_SYNCALL: Command[QuotaSyncallReply] = Command("QUOTA.SYNCALL", "lead", QuotaSyncallReply)
_SYNCED: Command[Page[QuotaSyncedItem]] = Command("QUOTA.SYNCED", "page", QuotaSyncedItem)
_GET: Command[QuotaGetReply] = Command("QUOTA.GET", "list", QuotaGetReply)


class Quota(Family):
    """Quota: usage under a limit, reserved before it is known."""

    def limit(self, tenant: str, limit: int) -> QuotaLimitReply:
        """Set a tenant's limit.

        tenant: the tenant
        limit: how much the tenant may use; may be below what is used
        Raises: InvalidAmount, InvalidId
        """
        words: Words = [tenant, limit]
        return self._execute(_LIMIT, words, again=False)

    def reserve(
            self, tenant: str, amount: int, *, hold: Optional[str] = None,
            ttl: Optional[Duration] = None) -> QuotaReserveReply:
        """Count an amount as used; with HOLD it returns at the TTL unless committed.

        tenant: the tenant
        amount: how much to count as used
        hold: makes it a hold: an id of your choice, the same again for a retry
        ttl: how long the hold lasts unless committed
        Raises: QuotaExceeded, InvalidState, InvalidAmount, InvalidTtl, InvalidId,
            InvalidArgument
        """
        words: Words = [tenant, amount]
        words += option("HOLD", hold)
        words += option("TTL", duration(ttl))
        return self._execute(_RESERVE, words, again=hold is not None)

    def refund(self, tenant: str, amount: int) -> int:
        """Give committed usage back, never below 0.

        tenant: the tenant
        amount: how much to give back
        Raises: InvalidAmount, InvalidId
        """
        words: Words = [tenant, amount]
        return self._execute(_REFUND, words, again=False)

    def commit(self, tenant: str, hold: str, *, amount: Optional[int] = None) -> QuotaCommitReply:
        """A hold becomes usage, or as much of it as was really used.

        tenant: the tenant
        hold: the hold that becomes usage
        amount: what was really used, and the rest of the hold goes back; not given: all of it
        Raises: HoldNotFound, QuotaExceeded, InvalidState, InvalidAmount, InvalidId
        """
        words: Words = [tenant, hold]
        words += option("AMOUNT", amount)
        return self._execute(_COMMIT, words, again=True)

    def cancel(self, tenant: str, hold: str) -> QuotaCancelReply:
        """A hold is given back.

        tenant: the tenant
        hold: the hold to give back
        Raises: HoldNotFound, InvalidState, InvalidId
        """
        words: Words = [tenant, hold]
        return self._execute(_CANCEL, words, again=True)

    def extend(self, tenant: str, hold: str, ttl: Duration) -> QuotaExtendReply:
        """Move a hold's deadline to now + ttl, at most 12 first TTLs after its start.

        tenant: the tenant
        hold: the hold to keep for longer
        ttl: how long it lasts from now on
        Raises: HoldNotFound, InvalidState, InvalidTtl, InvalidId
        """
        words: Words = [tenant, hold, duration(ttl)]
        return self._execute(_EXTEND, words, again=True)

    def list(
            self, tenant: str, *, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[QuotaListItem]:
        """The open holds of a tenant, page by page.

        tenant: the tenant
        after: the cursor that the page before ended with; not given: from the beginning
        count: how many holds at most
        Raises: InvalidArgument, InvalidQuantity, InvalidId, PayloadTooLarge
        """
        words: Words = [tenant]
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_LIST, words, again=True)

    def close(self, tenant: str) -> QuotaCloseReply:
        """The tenant is gone: remove its limit and its usage.

        tenant: the tenant that is gone
        Raises: InvalidState, InvalidId
        """
        words: Words = [tenant]
        return self._execute(_CLOSE, words, again=True)

    def sync(self, tenant: str, actual: int, *, since: Optional[int] = None) -> QuotaSyncReply:
        """What the database says is used; open holds are added on top.

        tenant: the tenant
        actual: what is really used, without the open holds
        since: the time of QUOTA.MARK before the reading began: what was committed since is
            added on top, too; not given: nothing is
        Raises: InvalidAmount, InvalidArgument, InvalidQuantity, InvalidId
        """
        words: Words = [tenant, actual]
        words += option("SINCE", since)
        return self._execute(_SYNC, words, again=False)

    def mark(self, tenant: str) -> QuotaMarkReply:
        """The engine's time, before usage is read from the database: for SINCE of QUOTA.SYNC.

        tenant: the tenant
        Raises: InvalidId
        """
        words: Words = [tenant]
        return self._execute(_MARK, words, again=True)

    def syncall(
            self, *, tenant: Optional[str] = None, dry: bool = False, run: Optional[int] = None,
            wait: Optional[Duration] = None) -> QuotaSyncallReply:
        """Read what tenants use from the database, and apply QUOTA.SYNC to each.

        tenant: the tenant; not given: all that the query answers
        dry: set nothing, only tell
        run: the number of a run: begin none, and tell how far this one is
        wait: how long to wait for the end; not given: until it is there
        Raises: InvalidState, LedgerDown, InvalidArgument, Busy, InvalidQuantity, InvalidTtl,
            InvalidId
        """
        words: Words = []
        words += option("TENANT", tenant)
        words += flag("DRY", dry)
        words += option("RUN", run)
        return self._execute(_SYNCALL, words, again=False, wait=wait)

    def synced(
            self, *, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[QuotaSyncedItem]:
        """What the last QUOTA.SYNCALL changed, did not find or could not set, page by page.

        after: the cursor that the page before ended with; not given: from the beginning
        count: how many tenants at most
        Raises: InvalidArgument, InvalidQuantity, PayloadTooLarge
        """
        words: Words = []
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_SYNCED, words, again=True)

    def get(self, tenant: str) -> QuotaGetReply:
        """A tenant's totals; used includes held.

        tenant: the tenant
        Raises: InvalidId
        """
        words: Words = [tenant]
        return self._execute(_GET, words, again=True)

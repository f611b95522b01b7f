# SPDX-License-Identifier: Apache-2.0
"""Commands that belong to no family.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Family, Page, Words, flag, option


class ReconcileReply(NamedTuple):
    """The answer to RECONCILE. How many products were compared, how many differed, and by how much
    in all.
    """

    products: int
    corrected: int
    drift: int


_RECONCILE: Command[ReconcileReply] = Command("RECONCILE", "lead", ReconcileReply)
_LIST: Command[Page[str]] = Command("LIST", "page", str)


class General(Family):
    """Commands that belong to no family."""

    def reconcile(self, *, product: Optional[str] = None, dry: bool = False) -> ReconcileReply:
        """Compare the engine with the ledger, and correct the engine by what is certain.

        product: the product; not given: all that the ledger and the engine have
        dry: correct nothing, only tell
        Raises: ProductNotFound, Busy, LedgerDown, Timeout, InvalidId
        """
        words: Words = []
        words += option("PRODUCT", product)
        words += flag("DRY", dry)
        return self._execute(_RECONCILE, words, again=False)

    def list(
            self, kind: str, *, match: Optional[str] = None, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[str]:
        """The names of all there is of a kind, page by page; over HTTP with its totals.

        kind: what to list (events, zones, tenants, semaphores, locks, products, rooms, keys)
        match: what the names begin with; not given: all names
        after: the cursor that the page before ended with; not given: from the beginning
        count: how many names at most
        Raises: InvalidArgument, InvalidQuantity, PayloadTooLarge
        """
        words: Words = [kind]
        words += option("MATCH", match)
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_LIST, words, again=True)

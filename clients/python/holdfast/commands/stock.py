# SPDX-License-Identifier: Apache-2.0
"""Stock: a flash sale, and purchases that the ledger guards.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Duration, Family, Page, Words, duration, option


class StockLoadReply(NamedTuple):
    """The answer to STOCK.LOAD."""

    available: int


class StockTakeReply(NamedTuple):
    """The answer to STOCK.TAKE."""

    remaining: int


class StockExtendReply(NamedTuple):
    """The answer to STOCK.EXTEND."""

    expires_at_ms: int


class StockSettleReply(NamedTuple):
    """The answer to STOCK.SETTLE."""

    remaining: int


class StockGiveReply(NamedTuple):
    """The answer to STOCK.GIVE."""

    remaining: int


class StockListItem(NamedTuple):
    """An item of the answer to STOCK.LIST."""

    order_id: str = ""
    user_id: str = ""
    quantity: int = 0
    created_at: int = 0
    expires_at: int = 0
    status: str = ""


class StockShardsItem(NamedTuple):
    """An item of the answer to STOCK.SHARDS. The main counter first. One that is not in shards on a
    Redis cluster has that alone, and its node is empty. Figures of a shard that does not answer
    are -1 (null in JSON). They are read one after the other: what is on its way between two
    shards may be in neither.
    """

    shard: str = ""
    available: int = 0
    taken: int = 0
    sold: int = 0
    node: str = ""


class StockCloseReply(NamedTuple):
    """The answer to STOCK.CLOSE. What was sold, and what was left; a product nobody knows is closed
    already: [1, 0, 0].
    """

    sold: int
    available: int


class StockGetReply(NamedTuple):
    """The answer to STOCK.GET."""

    available: int = 0
    taken: int = 0
    sold: int = 0
    loaded: int = 0
    shards: int = 0
    mode: str = ""


class StockAdjustReply(NamedTuple):
    """The answer to STOCK.ADJUST."""

    available: int


class StockOpenReply(NamedTuple):
    """The answer to STOCK.OPEN. A product that is open already is compared with the ledger, and
    corrected.
    """

    available: int


class StockBuyReply(NamedTuple):
    """The answer to STOCK.BUY. The same order again is answered as the first time, and sold once.
    """

    remaining: int
    status: str


class StockReturnReply(NamedTuple):
    """The answer to STOCK.RETURN."""

    status: str
    available: int


class StockOrderReply(NamedTuple):
    """The answer to STOCK.ORDER. Times are the database's; returned_at is 0 unless the order was
    returned.
    """

    order_id: str = ""
    product_id: str = ""
    user_id: str = ""
    quantity: int = 0
    unit_price: int = 0
    status: str = ""
    sold_at: int = 0
    returned_at: int = 0


_LOAD: Command[StockLoadReply] = Command("STOCK.LOAD", "lead", StockLoadReply)
_TAKE: Command[StockTakeReply] = Command("STOCK.TAKE", "lead", StockTakeReply)
_EXTEND: Command[StockExtendReply] = Command("STOCK.EXTEND", "lead", StockExtendReply)
_SETTLE: Command[StockSettleReply] = Command("STOCK.SETTLE", "lead", StockSettleReply)
_GIVE: Command[StockGiveReply] = Command("STOCK.GIVE", "lead", StockGiveReply)
_LIST: Command[Page[StockListItem]] = Command("STOCK.LIST", "page", StockListItem)
_SHARDS: Command[Page[StockShardsItem]] = Command("STOCK.SHARDS", "page", StockShardsItem)
_CLOSE: Command[StockCloseReply] = Command("STOCK.CLOSE", "lead", StockCloseReply)
_GET: Command[StockGetReply] = Command("STOCK.GET", "fields", StockGetReply)
_ADJUST: Command[StockAdjustReply] = Command("STOCK.ADJUST", "lead", StockAdjustReply)
_OPEN: Command[StockOpenReply] = Command("STOCK.OPEN", "lead", StockOpenReply)
_BUY: Command[StockBuyReply] = Command("STOCK.BUY", "lead", StockBuyReply)
_RETURN: Command[StockReturnReply] = Command("STOCK.RETURN", "lead", StockReturnReply)
_ORDER: Command[StockOrderReply] = Command("STOCK.ORDER", "fields", StockOrderReply)


class Stock(Family):
    """Stock: a flash sale, and purchases that the ledger guards."""

    def load(
            self, product: str, quantity: int, *, shards: Optional[int] = None,
            watermark: Optional[int] = None, policy: Optional[str] = None) -> StockLoadReply:
        """Set how much of a product there is to sell.

        product: the product
        quantity: how much of it there is to sell in all, sold or not
        shards: into how many counters it is split, on a cluster of Redis
        watermark: with POLICY merge: how much is left when the counters become one
        policy: for an empty counter: merge all into one at the watermark, or steal from another
            (merge, steal)
        Raises: CapacityInUse, InvalidQuantity, InvalidId, InvalidArgument
        """
        words: Words = [product, quantity]
        words += option("SHARDS", shards)
        words += option("WATERMARK", watermark)
        words += option("POLICY", policy)
        return self._execute(_LOAD, words, again=False)

    def take(
            self, product: str, order: str, user: str, quantity: int, *,
            ttl: Optional[Duration] = None, max: Optional[int] = None) -> StockTakeReply:
        """Hold some of a product for an order until it is settled, given back, or due.

        product: the product
        order: the order: an id of your choice, the same again for a retry
        user: who buys
        quantity: how many
        ttl: how long they are held unless settled
        max: how many of the product the user may have, taken and bought together
        Raises: ProductNotFound, SoldOut, UserLimitExceeded, InvalidState, InvalidQuantity,
            InvalidTtl, InvalidId
        """
        words: Words = [product, order, user, quantity]
        words += option("TTL", duration(ttl))
        words += option("MAX", max)
        return self._execute(_TAKE, words, again=True)

    def extend(
            self, product: str, order: str, ttl: Duration, *,
            user: Optional[str] = None) -> StockExtendReply:
        """Move an order's deadline to now + ttl, at most 12 first TTLs after its start.

        product: the product
        order: the order to hold for longer
        ttl: how long it is held from now on
        user: the user whose order it has to be; not given: anybody's
        Raises: ProductNotFound, NotFound, NotOwner, InvalidState, InvalidTtl, InvalidId
        """
        words: Words = [product, order, duration(ttl)]
        words += option("USER", user)
        return self._execute(_EXTEND, words, again=True)

    def settle(self, product: str, order: str, *, user: Optional[str] = None) -> StockSettleReply:
        """An order is sold for good.

        product: the product
        order: the order that is paid for
        user: the user whose order it has to be; not given: anybody's
        Raises: ProductNotFound, NotFound, NotOwner, InvalidId
        """
        words: Words = [product, order]
        words += option("USER", user)
        return self._execute(_SETTLE, words, again=True)

    def give(self, product: str, order: str, *, user: Optional[str] = None) -> StockGiveReply:
        """An order is taken back.

        product: the product
        order: the order to give back
        user: the user whose order it has to be; not given: anybody's
        Raises: ProductNotFound, NotFound, NotOwner, InvalidState, InvalidId
        """
        words: Words = [product, order]
        words += option("USER", user)
        return self._execute(_GIVE, words, again=True)

    def list(
            self, product: str, *, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[StockListItem]:
        """The orders of a product that are taken, a page at a time.

        product: the product
        after: the cursor that the page before ended with; from the beginning if left out
        count: how many orders at most
        Raises: ProductNotFound, InvalidArgument, InvalidQuantity, InvalidId, PayloadTooLarge
        """
        words: Words = [product]
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_LIST, words, again=True)

    def shards(
            self, product: str, *, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[StockShardsItem]:
        """A product's shards one by one, each with what it has and the node it is on.

        product: the product
        after: the cursor that the page before ended with; not given: from the beginning
        count: how many shards at most
        Raises: ProductNotFound, InvalidArgument, InvalidQuantity, InvalidId, PayloadTooLarge
        """
        words: Words = [product]
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_SHARDS, words, again=True)

    def close(self, product: str) -> StockCloseReply:
        """The product is no longer sold: remove it, its orders and its users.

        product: the product that is no longer sold
        Raises: InvalidState, InvalidId
        """
        words: Words = [product]
        return self._execute(_CLOSE, words, again=True)

    def get(self, product: str) -> StockGetReply:
        """A product's totals: loaded = available + taken + sold.

        product: the product
        Raises: ProductNotFound, InvalidId
        """
        words: Words = [product]
        return self._execute(_GET, words, again=True)

    def adjust(self, product: str, delta: int, reason: str) -> StockAdjustReply:
        """Move what is available by a difference.

        product: the product
        delta: how many more, or with a minus fewer
        reason: why, for the journal
        Raises: ProductNotFound, CapacityInUse, InvalidQuantity, InvalidId, InvalidArgument,
            PayloadTooLarge
        """
        words: Words = [product, delta, reason]
        return self._execute(_ADJUST, words, again=False)

    def open(
            self, product: str, *, shards: Optional[int] = None, watermark: Optional[int] = None,
            policy: Optional[str] = None) -> StockOpenReply:
        """Open a product that the ledger has, with the stock that is left there.

        product: the product
        shards: into how many counters it is split, on a cluster of Redis
        watermark: with POLICY merge: how much is left when the counters become one
        policy: for an empty counter: merge all into one at the watermark, or steal from another
            (merge, steal)
        Raises: ProductNotFound, LedgerDown, Timeout, Busy, Loading, InvalidQuantity, InvalidId,
            InvalidArgument
        """
        words: Words = [product]
        words += option("SHARDS", shards)
        words += option("WATERMARK", watermark)
        words += option("POLICY", policy)
        return self._execute(_OPEN, words, again=False)

    def buy(
            self, product: str, order: str, user: str, quantity: int, *, max: Optional[int] = None,
            price: Optional[int] = None) -> StockBuyReply:
        """Buy: taken in the engine, sold in the ledger, settled in the engine.

        product: the product
        order: the order: an id of your choice, the same again for a retry
        user: who buys
        quantity: how many
        max: how many of the product the user may have, taken and bought together
        price: the price of one, for the order's row in the ledger
        Raises: ProductNotFound, SoldOut, UserLimitExceeded, InvalidState, LedgerDown, Timeout,
            Busy, Loading, InvalidQuantity, InvalidAmount, InvalidId
        """
        words: Words = [product, order, user, quantity]
        words += option("MAX", max)
        words += option("PRICE", price)
        return self._execute(_BUY, words, again=True)

    def return_(self, product: str, order: str) -> StockReturnReply:
        """A sold order comes back, to the ledger and to the engine, once.

        product: the product
        order: the order that comes back
        Raises: ProductNotFound, NotFound, InvalidState, LedgerDown, Timeout, Loading, InvalidId
        """
        words: Words = [product, order]
        return self._execute(_RETURN, words, again=True)

    def order(self, product: str, order: str) -> StockOrderReply:
        """An order as the ledger has it.

        product: the product
        order: the order
        Raises: NotFound, LedgerDown, Timeout, InvalidId
        """
        words: Words = [product, order]
        return self._execute(_ORDER, words, again=True)

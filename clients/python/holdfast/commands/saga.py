# SPDX-License-Identifier: Apache-2.0
"""Checkouts that are in flight or have ended.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Duration, Family, Page, Words, option


class SagaGetReply(NamedTuple):
    """The answer to SAGA.GET. Status is STARTED, RESERVED, PAYING, PAID, COMPLETED, COMPENSATING,
    COMPENSATED or NEEDS_ATTENTION; payment is what is known of the charge: none, sent,
    succeeded, declined or refunded; error_code is empty unless something stands in the way or
    led to the compensation. Times are the database's.
    """

    saga_id: str = ""
    status: str = ""
    event_id: str = ""
    booking_id: str = ""
    zone_id: str = ""
    user_id: str = ""
    quantity: int = 0
    unit_price: int = 0
    amount: int = 0
    currency: str = ""
    payment_id: str = ""
    payment: str = ""
    provider: str = ""
    error_code: str = ""
    error_message: str = ""
    attempts: int = 0
    created_at: int = 0
    updated_at: int = 0


class SagaListItem(NamedTuple):
    """An item of the answer to SAGA.LIST. In the order of their ids; each as SAGA.GET shows it. An
    empty cursor says that this was the end; a page of one state may be short or empty and have
    one.
    """

    saga_id: str = ""
    status: str = ""
    event_id: str = ""
    booking_id: str = ""
    zone_id: str = ""
    user_id: str = ""
    quantity: int = 0
    unit_price: int = 0
    amount: int = 0
    currency: str = ""
    payment_id: str = ""
    payment: str = ""
    provider: str = ""
    error_code: str = ""
    error_message: str = ""
    attempts: int = 0
    created_at: int = 0
    updated_at: int = 0


class SagaResumeReply(NamedTuple):
    """The answer to SAGA.RESUME. Any other saga is left alone; status says where it is."""

    saga_id: str
    status: str


class SagaRefundReply(NamedTuple):
    """The answer to SAGA.REFUND. SAGA.GET tells when it is COMPENSATED."""

    saga_id: str
    status: str


class SagaWakeReply(NamedTuple):
    """The answer to SAGA.WAKE. What POST /v1/payments/callback does with a signed message. A saga
    that has ended is left alone.
    """

    saga_id: str
    status: str


_GET: Command[SagaGetReply] = Command("SAGA.GET", "fields", SagaGetReply)
_LIST: Command[Page[SagaListItem]] = Command("SAGA.LIST", "page", SagaListItem)
_RESUME: Command[SagaResumeReply] = Command("SAGA.RESUME", "lead", SagaResumeReply)
_REFUND: Command[SagaRefundReply] = Command("SAGA.REFUND", "lead", SagaRefundReply)
_WAKE: Command[SagaWakeReply] = Command("SAGA.WAKE", "lead", SagaWakeReply)


class Saga(Family):
    """Checkouts that are in flight or have ended."""

    def get(self, saga: str, *, wait: Optional[Duration] = None) -> SagaGetReply:
        """How far a checkout is.

        saga: the saga
        wait: how long to wait for its end
        Raises: NotFound, LedgerDown, Timeout, InvalidTtl, InvalidId
        """
        words: Words = [saga]
        return self._execute(_GET, words, again=True, wait=wait)

    def list(
            self, *, status: Optional[str] = None, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[SagaListItem]:
        """The checkouts of the ledger, all or those in one state, page by page.

        status: only those in this state (any, STARTED, RESERVED, PAYING, PAID, COMPLETED,
            COMPENSATING, COMPENSATED, NEEDS_ATTENTION)
        after: the cursor that the page before ended with; not given: from the beginning
        count: how many checkouts at most
        Raises: InvalidArgument, LedgerDown, Timeout, InvalidQuantity, PayloadTooLarge
        """
        words: Words = []
        words += option("STATUS", status)
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_LIST, words, again=True)

    def resume(self, saga: str) -> SagaResumeReply:
        """Drive a saga on that needs attention, from where it was.

        saga: the saga
        Raises: NotFound, Busy, LedgerDown, Timeout, InvalidId
        """
        words: Words = [saga]
        return self._execute(_RESUME, words, again=True)

    def refund(self, saga: str) -> SagaRefundReply:
        """Take a checkout back that is completed or needs attention: seats and payment.

        saga: the saga
        Raises: NotFound, InvalidState, Busy, LedgerDown, Timeout, InvalidId
        """
        words: Words = [saga]
        return self._execute(_REFUND, words, again=True)

    def wake(
            self, payment: str, *, message: Optional[str] = None,
            sent: Optional[int] = None) -> SagaWakeReply:
        """The payment peer has news: the saga of the payment asks for it now.

        payment: the payment, as SAGA.GET shows it
        message: the id of the message: with the same one again it is refused
        sent: when the message was sent, in seconds since 1970; messages are kept for an hour
        Raises: NotFound, KeyReused, LedgerDown, Timeout, InvalidQuantity, InvalidId
        """
        words: Words = [payment]
        words += option("MESSAGE", message)
        words += option("SENT", sent)
        return self._execute(_WAKE, words, again=False)

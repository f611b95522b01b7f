# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, a class for each code of the server.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import Dict, Type


class HoldfastError(Exception):
    """Anything that is not the answer that was hoped for."""

    code = ""
    # Seconds after which the same may succeed; 0: trying later does not help.
    retry_after: float = 0.0
    # The server was busy and did nothing: any command may be repeated.
    nothing_changed = False

    def __init__(self, message: str, **figures: object) -> None:
        super().__init__(message)
        self.message = message
        self.figures = figures  # what a refusal told besides: used and limit of a quota

    @property
    def retryable(self) -> bool:
        return self.retry_after > 0


class Refused(HoldfastError):
    """The command was understood and refused; nothing has changed."""


class ServerError(HoldfastError):
    """The request or the state of the server is at fault, not the state of what was asked for."""


class Unavailable(ServerError):
    """No server was reached: the command was not sent, and nothing has changed."""

    code = "UNAVAILABLE"
    retry_after = 1.0
    nothing_changed = True


class OutcomeUnknown(ServerError):
    """The command was sent and its answer is not known: it may have happened. The same with the
    same id again finds out; the client has tried that already where it is safe.
    """

    code = "OUTCOME_UNKNOWN"
    retry_after = 1.0


class LeaseLost(HoldfastError):
    """A slot, a lock or a hold is, or may be, no longer ours."""

    code = "LEASE_LOST"


class InvalidQuantity(Refused):
    """The quantity is out of bounds."""

    code = "INVALID_QUANTITY"


class InvalidAmount(Refused):
    """The amount is out of bounds."""

    code = "INVALID_AMOUNT"


class InvalidTtl(Refused):
    """The duration is out of bounds: 10 ms to 30 days."""

    code = "INVALID_TTL"


class InvalidId(Refused):
    """Not an id: 1-128 bytes of UTF-8, no spaces, control characters, { or }."""

    code = "INVALID_ID"


class InvalidArgument(Refused):
    """The argument is not one of those allowed."""

    code = "INVALID_ARGUMENT"


class UserLimitExceeded(Refused):
    """The user would hold more than allowed."""

    code = "USER_LIMIT_EXCEEDED"


class ZoneNotFound(Refused):
    """No such zone."""

    code = "ZONE_NOT_FOUND"


class ReservationNotFound(Refused):
    """No such booking: never made, released, refunded, expired."""

    code = "RESERVATION_NOT_FOUND"


class HoldNotFound(Refused):
    """No such hold: never made, cancelled or expired."""

    code = "HOLD_NOT_FOUND"


class ProductNotFound(Refused):
    """No such product: load it first."""

    code = "PRODUCT_NOT_FOUND"


class NotInQueue(Refused):
    """The user is not in the queue."""

    code = "NOT_IN_QUEUE"


class NotFound(Refused):
    """Not found."""

    code = "NOT_FOUND"


class Timeout(Refused):
    """Waited and got nothing."""

    code = "TIMEOUT"
    retry_after = 1.0


class InsufficientStock(Refused):
    """Not enough seats left."""

    code = "INSUFFICIENT_STOCK"


class SoldOut(Refused):
    """Sold out."""

    code = "SOLD_OUT"


class InvalidState(Refused):
    """Not possible in the state it is in."""

    code = "INVALID_STATE"


class BookingExists(Refused):
    """The booking id is in use with other arguments."""

    code = "BOOKING_EXISTS"


class CapacityInUse(Refused):
    """More than that is held or sold."""

    code = "CAPACITY_IN_USE"


class AlreadyInQueue(Refused):
    """The user is in the queue already."""

    code = "ALREADY_IN_QUEUE"


class InProgress(Refused):
    """Being processed."""

    code = "IN_PROGRESS"
    retry_after = 1.0


class Locked(Refused):
    """Somebody else holds the lock."""

    code = "LOCKED"
    retry_after = 1.0


class NotOwner(Refused):
    """Belongs to another user."""

    code = "NOT_OWNER"


class PayloadTooLarge(Refused):
    """Too large."""

    code = "PAYLOAD_TOO_LARGE"


class KeyReused(Refused):
    """The key was used for another request."""

    code = "KEY_REUSED"


class QuotaExceeded(Refused):
    """Over the quota."""

    code = "QUOTA_EXCEEDED"
    retry_after = 5.0


class QueueFull(Refused):
    """The queue is full."""

    code = "QUEUE_FULL"
    retry_after = 5.0


class NoSlot(Refused):
    """No slot free."""

    code = "NO_SLOT"
    retry_after = 1.0


class RateLimited(Refused):
    """Too many requests."""

    code = "RATE_LIMITED"
    retry_after = 1.0
    nothing_changed = True


class Err(ServerError):
    """Malformed request."""

    code = "ERR"


class Unauthorized(ServerError):
    """Authentication needed."""

    code = "UNAUTHORIZED"


class Forbidden(ServerError):
    """Not allowed for this user."""

    code = "FORBIDDEN"


class Internal(ServerError):
    """Internal error."""

    code = "INTERNAL"


class Ioerr(ServerError):
    """The data directory failed; the server stops."""

    code = "IOERR"
    retry_after = 5.0


class Readonly(ServerError):
    """This server does not take writes."""

    code = "READONLY"
    retry_after = 5.0


class Loading(ServerError):
    """Still loading the data directory."""

    code = "LOADING"
    retry_after = 1.0
    nothing_changed = True


class Busy(ServerError):
    """Out of memory or too much to do; nothing was changed, try again later."""

    code = "BUSY"
    retry_after = 1.0
    nothing_changed = True


class EngineDown(ServerError):
    """The engine does not answer."""

    code = "ENGINE_DOWN"
    retry_after = 2.0


class LedgerDown(ServerError):
    """The ledger does not answer."""

    code = "LEDGER_DOWN"
    retry_after = 2.0


class NotAdmitted(Refused):
    """The event is entered through its waiting room: a pass is needed."""

    code = "NOT_ADMITTED"


class PaymentDeclined(Refused):
    """The payment was declined."""

    code = "PAYMENT_DECLINED"


BY_CODE: Dict[str, Type[HoldfastError]] = {
    "INVALID_QUANTITY": InvalidQuantity,
    "INVALID_AMOUNT": InvalidAmount,
    "INVALID_TTL": InvalidTtl,
    "INVALID_ID": InvalidId,
    "INVALID_ARGUMENT": InvalidArgument,
    "USER_LIMIT_EXCEEDED": UserLimitExceeded,
    "ZONE_NOT_FOUND": ZoneNotFound,
    "RESERVATION_NOT_FOUND": ReservationNotFound,
    "HOLD_NOT_FOUND": HoldNotFound,
    "PRODUCT_NOT_FOUND": ProductNotFound,
    "NOT_IN_QUEUE": NotInQueue,
    "NOT_FOUND": NotFound,
    "TIMEOUT": Timeout,
    "INSUFFICIENT_STOCK": InsufficientStock,
    "SOLD_OUT": SoldOut,
    "INVALID_STATE": InvalidState,
    "BOOKING_EXISTS": BookingExists,
    "CAPACITY_IN_USE": CapacityInUse,
    "ALREADY_IN_QUEUE": AlreadyInQueue,
    "IN_PROGRESS": InProgress,
    "LOCKED": Locked,
    "NOT_OWNER": NotOwner,
    "PAYLOAD_TOO_LARGE": PayloadTooLarge,
    "KEY_REUSED": KeyReused,
    "QUOTA_EXCEEDED": QuotaExceeded,
    "QUEUE_FULL": QueueFull,
    "NO_SLOT": NoSlot,
    "RATE_LIMITED": RateLimited,
    "ERR": Err,
    "UNAUTHORIZED": Unauthorized,
    "FORBIDDEN": Forbidden,
    "INTERNAL": Internal,
    "IOERR": Ioerr,
    "READONLY": Readonly,
    "LOADING": Loading,
    "BUSY": Busy,
    "ENGINE_DOWN": EngineDown,
    "LEDGER_DOWN": LedgerDown,
    "NOT_ADMITTED": NotAdmitted,
    "PAYMENT_DECLINED": PaymentDeclined,
}

// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong, a class for each code of the server.
// Made from the command table by `make clients`; do not edit.

/** Anything that is not the answer that was hoped for. */
export class HoldfastError extends Error {
    /** The server's code. */
    readonly code: string = "";
    /** Milliseconds after which the same may succeed; 0: trying later does not help. */
    readonly retryAfter: number = 0;
    /** The server was busy and did nothing: any command may be repeated. */
    readonly nothingChanged: boolean = false;

    /** The figures are what a refusal told besides: used and limit of a quota. */
    constructor(
        message: string,
        readonly figures: Record<string, unknown> = {},
    ) {
        super(message);
        this.name = new.target.name;
    }

    get retryable(): boolean {
        return this.retryAfter > 0;
    }
}

/** The command was understood and refused; nothing has changed. */
export class Refused extends HoldfastError {}

/** The request or the state of the server is at fault, not the state of what was asked for. */
export class ServerError extends HoldfastError {}

/** No server was reached: the command was not sent, and nothing has changed. */
export class Unavailable extends ServerError {
    override readonly code = "UNAVAILABLE";
    override readonly retryAfter = 1000;
    override readonly nothingChanged = true;
}

/**
 * The command was sent and its answer is not known: it may have happened. The same with the same id
 * again finds out; the client has tried that already where it is safe.
 */
export class OutcomeUnknown extends ServerError {
    override readonly code = "OUTCOME_UNKNOWN";
    override readonly retryAfter = 1000;
}

/** A slot, a lock or a hold is, or may be, no longer ours. */
export class LeaseLost extends HoldfastError {
    override readonly code = "LEASE_LOST";
}

/** The quantity is out of bounds. */
export class InvalidQuantity extends Refused {
    override readonly code = "INVALID_QUANTITY";
}

/** The amount is out of bounds. */
export class InvalidAmount extends Refused {
    override readonly code = "INVALID_AMOUNT";
}

/** The duration is out of bounds: 10 ms to 30 days. */
export class InvalidTtl extends Refused {
    override readonly code = "INVALID_TTL";
}

/** Not an id: 1-128 bytes of UTF-8, no spaces, control characters, { or }. */
export class InvalidId extends Refused {
    override readonly code = "INVALID_ID";
}

/** The argument is not one of those allowed. */
export class InvalidArgument extends Refused {
    override readonly code = "INVALID_ARGUMENT";
}

/** The user would hold more than allowed. */
export class UserLimitExceeded extends Refused {
    override readonly code = "USER_LIMIT_EXCEEDED";
}

/** No such zone. */
export class ZoneNotFound extends Refused {
    override readonly code = "ZONE_NOT_FOUND";
}

/** No such booking: never made, released, refunded, expired. */
export class ReservationNotFound extends Refused {
    override readonly code = "RESERVATION_NOT_FOUND";
}

/** No such hold: never made, cancelled or expired. */
export class HoldNotFound extends Refused {
    override readonly code = "HOLD_NOT_FOUND";
}

/** No such product: load it first. */
export class ProductNotFound extends Refused {
    override readonly code = "PRODUCT_NOT_FOUND";
}

/** The user is not in the queue. */
export class NotInQueue extends Refused {
    override readonly code = "NOT_IN_QUEUE";
}

/** Not found. */
export class NotFound extends Refused {
    override readonly code = "NOT_FOUND";
}

/** Waited and got nothing. */
export class Timeout extends Refused {
    override readonly code = "TIMEOUT";
    override readonly retryAfter = 1000;
}

/** Not enough seats left. */
export class InsufficientStock extends Refused {
    override readonly code = "INSUFFICIENT_STOCK";
}

/** Sold out. */
export class SoldOut extends Refused {
    override readonly code = "SOLD_OUT";
}

/** Not possible in the state it is in. */
export class InvalidState extends Refused {
    override readonly code = "INVALID_STATE";
}

/** The booking id is in use with other arguments. */
export class BookingExists extends Refused {
    override readonly code = "BOOKING_EXISTS";
}

/** More than that is held or sold. */
export class CapacityInUse extends Refused {
    override readonly code = "CAPACITY_IN_USE";
}

/** The user is in the queue already. */
export class AlreadyInQueue extends Refused {
    override readonly code = "ALREADY_IN_QUEUE";
}

/** Being processed. */
export class InProgress extends Refused {
    override readonly code = "IN_PROGRESS";
    override readonly retryAfter = 1000;
}

/** Somebody else holds the lock. */
export class Locked extends Refused {
    override readonly code = "LOCKED";
    override readonly retryAfter = 1000;
}

/** Belongs to another user. */
export class NotOwner extends Refused {
    override readonly code = "NOT_OWNER";
}

/** Too large. */
export class PayloadTooLarge extends Refused {
    override readonly code = "PAYLOAD_TOO_LARGE";
}

/** The key was used for another request. */
export class KeyReused extends Refused {
    override readonly code = "KEY_REUSED";
}

/** Over the quota. */
export class QuotaExceeded extends Refused {
    override readonly code = "QUOTA_EXCEEDED";
    override readonly retryAfter = 5000;
}

/** The queue is full. */
export class QueueFull extends Refused {
    override readonly code = "QUEUE_FULL";
    override readonly retryAfter = 5000;
}

/** No slot free. */
export class NoSlot extends Refused {
    override readonly code = "NO_SLOT";
    override readonly retryAfter = 1000;
}

/** Too many requests. */
export class RateLimited extends Refused {
    override readonly code = "RATE_LIMITED";
    override readonly retryAfter = 1000;
    override readonly nothingChanged = true;
}

/** Malformed request. */
export class Err extends ServerError {
    override readonly code = "ERR";
}

/** Authentication needed. */
export class Unauthorized extends ServerError {
    override readonly code = "UNAUTHORIZED";
}

/** Not allowed for this user. */
export class Forbidden extends ServerError {
    override readonly code = "FORBIDDEN";
}

/** Internal error. */
export class Internal extends ServerError {
    override readonly code = "INTERNAL";
}

/** The data directory failed; the server stops. */
export class Ioerr extends ServerError {
    override readonly code = "IOERR";
    override readonly retryAfter = 5000;
}

/** This server does not take writes. */
export class Readonly extends ServerError {
    override readonly code = "READONLY";
    override readonly retryAfter = 5000;
}

/** Still loading the data directory. */
export class Loading extends ServerError {
    override readonly code = "LOADING";
    override readonly retryAfter = 1000;
    override readonly nothingChanged = true;
}

/** Out of memory or too much to do; nothing was changed, try again later. */
export class Busy extends ServerError {
    override readonly code = "BUSY";
    override readonly retryAfter = 1000;
    override readonly nothingChanged = true;
}

/** The engine does not answer. */
export class EngineDown extends ServerError {
    override readonly code = "ENGINE_DOWN";
    override readonly retryAfter = 2000;
}

/** The ledger does not answer. */
export class LedgerDown extends ServerError {
    override readonly code = "LEDGER_DOWN";
    override readonly retryAfter = 2000;
}

/** The event is entered through its waiting room: a pass is needed. */
export class NotAdmitted extends Refused {
    override readonly code = "NOT_ADMITTED";
}

/** The payment was declined. */
export class PaymentDeclined extends Refused {
    override readonly code = "PAYMENT_DECLINED";
}

type ErrorClass = new (message: string, figures?: Record<string, unknown>) => HoldfastError;

/** The class of each code. */
export const byCode: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
    ["INVALID_QUANTITY", InvalidQuantity],
    ["INVALID_AMOUNT", InvalidAmount],
    ["INVALID_TTL", InvalidTtl],
    ["INVALID_ID", InvalidId],
    ["INVALID_ARGUMENT", InvalidArgument],
    ["USER_LIMIT_EXCEEDED", UserLimitExceeded],
    ["ZONE_NOT_FOUND", ZoneNotFound],
    ["RESERVATION_NOT_FOUND", ReservationNotFound],
    ["HOLD_NOT_FOUND", HoldNotFound],
    ["PRODUCT_NOT_FOUND", ProductNotFound],
    ["NOT_IN_QUEUE", NotInQueue],
    ["NOT_FOUND", NotFound],
    ["TIMEOUT", Timeout],
    ["INSUFFICIENT_STOCK", InsufficientStock],
    ["SOLD_OUT", SoldOut],
    ["INVALID_STATE", InvalidState],
    ["BOOKING_EXISTS", BookingExists],
    ["CAPACITY_IN_USE", CapacityInUse],
    ["ALREADY_IN_QUEUE", AlreadyInQueue],
    ["IN_PROGRESS", InProgress],
    ["LOCKED", Locked],
    ["NOT_OWNER", NotOwner],
    ["PAYLOAD_TOO_LARGE", PayloadTooLarge],
    ["KEY_REUSED", KeyReused],
    ["QUOTA_EXCEEDED", QuotaExceeded],
    ["QUEUE_FULL", QueueFull],
    ["NO_SLOT", NoSlot],
    ["RATE_LIMITED", RateLimited],
    ["ERR", Err],
    ["UNAUTHORIZED", Unauthorized],
    ["FORBIDDEN", Forbidden],
    ["INTERNAL", Internal],
    ["IOERR", Ioerr],
    ["READONLY", Readonly],
    ["LOADING", Loading],
    ["BUSY", Busy],
    ["ENGINE_DOWN", EngineDown],
    ["LEDGER_DOWN", LedgerDown],
    ["NOT_ADMITTED", NotAdmitted],
    ["PAYMENT_DECLINED", PaymentDeclined],
]);

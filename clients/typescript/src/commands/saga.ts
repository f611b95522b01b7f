// SPDX-License-Identifier: Apache-2.0
//
// Checkouts that are in flight or have ended.
// Made from the command table by `make clients`; do not edit.
import { Command, type Duration, Family, type Page, type Words, option } from "../values.js";

/** What SAGA.GET is asked for. */
export interface SagaGetArgs {
    /** The saga. */
    saga: string;
    /** How long to wait for its end. */
    wait?: Duration;
}

/**
 * The answer to SAGA.GET. Status is STARTED, RESERVED, PAYING, PAID, COMPLETED, COMPENSATING,
 * COMPENSATED or NEEDS_ATTENTION; payment is what is known of the charge: none, sent, succeeded,
 * declined or refunded; error_code is empty unless something stands in the way or led to the
 * compensation. Times are the database's.
 */
export interface SagaGetReply {
    sagaId: string;
    status: string;
    eventId: string;
    bookingId: string;
    zoneId: string;
    userId: string;
    quantity: number;
    unitPrice: number;
    amount: number;
    currency: string;
    paymentId: string;
    payment: string;
    provider: string;
    errorCode: string;
    errorMessage: string;
    attempts: number;
    createdAt: number;
    updatedAt: number;
}

const SAGA_GET = new Command<SagaGetReply>(
    "SAGA.GET", "fields",
    {
        saga_id: "text", status: "text", event_id: "text", booking_id: "text", zone_id: "text",
        user_id: "text", quantity: "number", unit_price: "number", amount: "number",
        currency: "text", payment_id: "text", payment: "text", provider: "text", error_code: "text",
        error_message: "text", attempts: "number", created_at: "number", updated_at: "number",
    },
);

/** What SAGA.LIST is asked for. */
export interface SagaListArgs {
    /** Only those in this state. */
    status?: "any" | "STARTED" | "RESERVED" | "PAYING" | "PAID" | "COMPLETED" | "COMPENSATING" | "COMPENSATED" | "NEEDS_ATTENTION";
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many checkouts at most. */
    count?: number;
}

/**
 * An item of the answer to SAGA.LIST. In the order of their ids; each as SAGA.GET shows it. An
 * empty cursor says that this was the end; a page of one state may be short or empty and have one.
 */
export interface SagaListItem {
    sagaId: string;
    status: string;
    eventId: string;
    bookingId: string;
    zoneId: string;
    userId: string;
    quantity: number;
    unitPrice: number;
    amount: number;
    currency: string;
    paymentId: string;
    payment: string;
    provider: string;
    errorCode: string;
    errorMessage: string;
    attempts: number;
    createdAt: number;
    updatedAt: number;
}

const SAGA_LIST = new Command<Page<SagaListItem>>(
    "SAGA.LIST", "page",
    {
        saga_id: "text", status: "text", event_id: "text", booking_id: "text", zone_id: "text",
        user_id: "text", quantity: "number", unit_price: "number", amount: "number",
        currency: "text", payment_id: "text", payment: "text", provider: "text", error_code: "text",
        error_message: "text", attempts: "number", created_at: "number", updated_at: "number",
    },
);

/** What SAGA.RESUME is asked for. */
export interface SagaResumeArgs {
    /** The saga. */
    saga: string;
}

/** The answer to SAGA.RESUME. Any other saga is left alone; status says where it is. */
export interface SagaResumeReply {
    sagaId: string;
    status: string;
}

const SAGA_RESUME = new Command<SagaResumeReply>(
    "SAGA.RESUME", "lead",
    { saga_id: "text", status: "text" },
);

/** What SAGA.REFUND is asked for. */
export interface SagaRefundArgs {
    /** The saga. */
    saga: string;
}

/** The answer to SAGA.REFUND. SAGA.GET tells when it is COMPENSATED. */
export interface SagaRefundReply {
    sagaId: string;
    status: string;
}

const SAGA_REFUND = new Command<SagaRefundReply>(
    "SAGA.REFUND", "lead",
    { saga_id: "text", status: "text" },
);

/** What SAGA.WAKE is asked for. */
export interface SagaWakeArgs {
    /** The payment, as SAGA.GET shows it. */
    payment: string;
    /** The id of the message: with the same one again it is refused. */
    message?: string;
    /** When the message was sent, in seconds since 1970; messages are kept for an hour. */
    sent?: number;
}

/**
 * The answer to SAGA.WAKE. What POST /v1/payments/callback does with a signed message. A saga that
 * has ended is left alone.
 */
export interface SagaWakeReply {
    sagaId: string;
    status: string;
}

const SAGA_WAKE = new Command<SagaWakeReply>(
    "SAGA.WAKE", "lead",
    { saga_id: "text", status: "text" },
);

/** Checkouts that are in flight or have ended. */
export class Saga extends Family {
    /** How far a checkout is. Throws: NotFound, LedgerDown, Timeout, InvalidTtl, InvalidId. */
    get(args: SagaGetArgs): Promise<SagaGetReply> {
        const words: Words = [args.saga];
        return this.execute(SAGA_GET, words, true, args.wait);
    }

    /**
     * The checkouts of the ledger, all or those in one state, page by page. Throws:
     * InvalidArgument, LedgerDown, Timeout, InvalidQuantity, PayloadTooLarge.
     */
    list(args: SagaListArgs = {}): Promise<Page<SagaListItem>> {
        const words: Words = [];
        words.push(...option("STATUS", args.status));
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(SAGA_LIST, words, true);
    }

    /**
     * Drive a saga on that needs attention, from where it was. Throws: NotFound, Busy, LedgerDown,
     * Timeout, InvalidId.
     */
    resume(args: SagaResumeArgs): Promise<SagaResumeReply> {
        const words: Words = [args.saga];
        return this.execute(SAGA_RESUME, words, true);
    }

    /**
     * Take a checkout back that is completed or needs attention: seats and payment. Throws:
     * NotFound, InvalidState, Busy, LedgerDown, Timeout, InvalidId.
     */
    refund(args: SagaRefundArgs): Promise<SagaRefundReply> {
        const words: Words = [args.saga];
        return this.execute(SAGA_REFUND, words, true);
    }

    /**
     * The payment peer has news: the saga of the payment asks for it now. Throws: NotFound,
     * KeyReused, LedgerDown, Timeout, InvalidQuantity, InvalidId.
     */
    wake(args: SagaWakeArgs): Promise<SagaWakeReply> {
        const words: Words = [args.payment];
        words.push(...option("MESSAGE", args.message));
        words.push(...option("SENT", args.sent));
        return this.execute(SAGA_WAKE, words, false);
    }
}

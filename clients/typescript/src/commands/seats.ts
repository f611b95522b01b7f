// SPDX-License-Identifier: Apache-2.0
//
// Seats: holds with a deadline, in zones of an event.
// Made from the command table by `make clients`; do not edit.
import {
    Command, type Duration, Family, type Page, type Words, duration, flag, option,
} from "../values.js";

/** What SEATS.OPEN is asked for. */
export interface SeatsOpenArgs {
    /** The event; made by its first zone. */
    event: string;
    /** The zone of the event. */
    zone: string;
    /** How many seats the zone has in all. */
    capacity: number;
    /** How many seats of the event a user may have, beside the reserve's own limit. */
    max?: number;
    /** With MAX: confirmed seats count against it in every reserve. */
    lifetime?: boolean;
}

/** The answer to SEATS.OPEN. */
export interface SeatsOpenReply {
    available: number;
    capacity: number;
}

const SEATS_OPEN = new Command<SeatsOpenReply>(
    "SEATS.OPEN", "lead",
    { available: "number", capacity: "number" },
);

/** What SEATS.RESERVE is asked for. */
export interface SeatsReserveArgs {
    /** The event. */
    event: string;
    /** The zone in which the seats are. */
    zone: string;
    /** The booking: an id of your choice, the same again for a retry. */
    booking: string;
    /** Who the seats are for. */
    user: string;
    /** How many seats. */
    quantity: number;
    /** How many seats the user may hold in the event, these included. */
    maxPerUser: number;
    /** The performance, for your own records. */
    show?: string;
    /** The price of a seat, for your own records, in the smallest unit of the currency. */
    price?: number;
    /** How long the seats are held unless confirmed. */
    ttl?: Duration;
    /** The seats go on counting for the user's limit once they are confirmed. */
    lifetime?: boolean;
    /** The pass of the user, where ROOM.OPEN has set GATE. */
    pass?: string;
}

/**
 * The answer to SEATS.RESERVE. User_reserved is what counts against max_per_user; expires_at is 0
 * if a retry finds the booking confirmed.
 */
export interface SeatsReserveReply {
    remaining: number;
    userReserved: number;
    expiresAt: number;
}

const SEATS_RESERVE = new Command<SeatsReserveReply>(
    "SEATS.RESERVE", "lead",
    { remaining: "number", user_reserved: "number", expires_at: "number" },
);

/** What SEATS.CONFIRM is asked for. */
export interface SeatsConfirmArgs {
    /** The event. */
    event: string;
    /** The booking that is paid for. */
    booking: string;
    /** The user whose booking it has to be; not given: anybody's. */
    user?: string;
    /** The payment; a retry has to name the same. */
    payment?: string;
}

/** The answer to SEATS.CONFIRM. */
export interface SeatsConfirmReply {
    status: string;
    confirmationCode: string;
}

const SEATS_CONFIRM = new Command<SeatsConfirmReply>(
    "SEATS.CONFIRM", "lead",
    { status: "text", confirmation_code: "text" },
);

/** What SEATS.RELEASE is asked for. */
export interface SeatsReleaseArgs {
    /** The event. */
    event: string;
    /** The booking to give back. */
    booking: string;
    /** The user whose booking it has to be; not given: anybody's. */
    user?: string;
}

/** The answer to SEATS.RELEASE. */
export interface SeatsReleaseReply {
    status: string;
    available: number;
    userReserved: number;
}

const SEATS_RELEASE = new Command<SeatsReleaseReply>(
    "SEATS.RELEASE", "lead",
    { status: "text", available: "number", user_reserved: "number" },
);

/** What SEATS.REFUND is asked for. */
export interface SeatsRefundArgs {
    /** The event. */
    event: string;
    /** The booking to give back. */
    booking: string;
    /** The user whose booking it has to be; not given: anybody's. */
    user?: string;
}

/** The answer to SEATS.REFUND. */
export interface SeatsRefundReply {
    status: string;
    available: number;
}

const SEATS_REFUND = new Command<SeatsRefundReply>(
    "SEATS.REFUND", "lead",
    { status: "text", available: "number" },
);

/** What SEATS.EXTEND is asked for. */
export interface SeatsExtendArgs {
    /** The event. */
    event: string;
    /** The booking to hold for longer. */
    booking: string;
    /** How long it is held from now on. */
    ttl: Duration;
}

/** The answer to SEATS.EXTEND. */
export interface SeatsExtendReply {
    expiresAtMs: number;
}

const SEATS_EXTEND = new Command<SeatsExtendReply>(
    "SEATS.EXTEND", "lead",
    { expires_at_ms: "number" },
);

/** What SEATS.GET is asked for. */
export interface SeatsGetArgs {
    /** The event. */
    event: string;
    /** The booking. */
    booking: string;
}

/**
 * The answer to SEATS.GET. Times are in milliseconds since 1970. The last three fields are there
 * once it is confirmed.
 */
export interface SeatsGetReply {
    bookingId: string;
    userId: string;
    zoneId: string;
    eventId: string;
    showId: string;
    quantity: number;
    unitPrice: number;
    status: string;
    createdAt: number;
    expiresAt: number;
    confirmedAt: number;
    paymentId: string;
    confirmationCode: string;
}

const SEATS_GET = new Command<SeatsGetReply>(
    "SEATS.GET", "fields",
    {
        booking_id: "text", user_id: "text", zone_id: "text", event_id: "text", show_id: "text",
        quantity: "number", unit_price: "number", status: "text", created_at: "number",
        expires_at: "number", confirmed_at: "number", payment_id: "text", confirmation_code: "text",
    },
);

/** What SEATS.LIST is asked for. */
export interface SeatsListArgs {
    /** The event. */
    event: string;
    /** Only bookings in this zone; not given: in all. */
    zone?: string;
    /** Only bookings of this user; not given: of all. */
    user?: string;
    /** Only reserved, or only confirmed ones. */
    status?: "any" | "reserved" | "confirmed";
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many bookings at most. */
    count?: number;
}

/** An item of the answer to SEATS.LIST. An empty cursor says that this was the end. */
export interface SeatsListItem {
    bookingId: string;
    userId: string;
    zoneId: string;
    eventId: string;
    showId: string;
    quantity: number;
    unitPrice: number;
    status: string;
    createdAt: number;
    expiresAt: number;
    confirmedAt: number;
    paymentId: string;
    confirmationCode: string;
}

const SEATS_LIST = new Command<Page<SeatsListItem>>(
    "SEATS.LIST", "page",
    {
        booking_id: "text", user_id: "text", zone_id: "text", event_id: "text", show_id: "text",
        quantity: "number", unit_price: "number", status: "text", created_at: "number",
        expires_at: "number", confirmed_at: "number", payment_id: "text", confirmation_code: "text",
    },
);

/** What SEATS.ZONE is asked for. */
export interface SeatsZoneArgs {
    /** The event. */
    event: string;
    /** The zone of the event. */
    zone: string;
}

/** The answer to SEATS.ZONE. */
export interface SeatsZoneReply {
    capacity: number;
    available: number;
    reserved: number;
    confirmed: number;
}

const SEATS_ZONE = new Command<SeatsZoneReply>(
    "SEATS.ZONE", "fields",
    { capacity: "number", available: "number", reserved: "number", confirmed: "number" },
);

/** What SEATS.USER is asked for. */
export interface SeatsUserArgs {
    /** The event. */
    event: string;
    /** The user. */
    user: string;
}

/**
 * The answer to SEATS.USER. Held includes what expired less than 60 s ago; [0, 0] for a user or an
 * event nobody knows.
 */
export interface SeatsUserReply {
    held: number;
    confirmed: number;
}

const SEATS_USER = new Command<SeatsUserReply>(
    "SEATS.USER", "list",
    { held: "number", confirmed: "number" },
);

/** What SEATS.CLOSE is asked for. */
export interface SeatsCloseArgs {
    /** The event that is over. */
    event: string;
    /** Confirmed bookings are removed, too. */
    force?: boolean;
}

/**
 * The answer to SEATS.CLOSE. How many bookings and zones were removed; an event nobody knows is
 * closed already: [1, 0, 0]. The waiting room of the event stays.
 */
export interface SeatsCloseReply {
    bookings: number;
    zones: number;
}

const SEATS_CLOSE = new Command<SeatsCloseReply>(
    "SEATS.CLOSE", "lead",
    { bookings: "number", zones: "number" },
);

/** What SEATS.BOOKINGS is asked for. */
export interface SeatsBookingsArgs {
    /** The user. */
    user: string;
    /** Only bookings of this event; not given: of all. */
    event?: string;
    /** Only bookings in zones of this name; not given: in all. */
    zone?: string;
    /** Only bookings in this state. */
    status?: "any" | "reserved" | "confirmed" | "cancelled" | "expired" | "refunded";
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many bookings at most. */
    count?: number;
}

/**
 * An item of the answer to SEATS.BOOKINGS. An empty cursor says that this was the end; a page that
 * a filter leaves empty has one. Times are in milliseconds since 1970, and left out where there is
 * none.
 */
export interface SeatsBookingsItem {
    bookingId: string;
    userId: string;
    zoneId: string;
    eventId: string;
    showId: string;
    quantity: number;
    unitPrice: number;
    status: string;
    createdAt: number;
    expiresAt: number;
    confirmedAt: number;
    endedAt: number;
    paymentId: string;
    confirmationCode: string;
}

const SEATS_BOOKINGS = new Command<Page<SeatsBookingsItem>>(
    "SEATS.BOOKINGS", "page",
    {
        booking_id: "text", user_id: "text", zone_id: "text", event_id: "text", show_id: "text",
        quantity: "number", unit_price: "number", status: "text", created_at: "number",
        expires_at: "number", confirmed_at: "number", ended_at: "number", payment_id: "text",
        confirmation_code: "text",
    },
);

/** What SEATS.HISTORY is asked for. */
export interface SeatsHistoryArgs {
    /** The event. */
    event: string;
    /** Only bookings in this zone; not given: in all. */
    zone?: string;
    /** Only bookings of this user; not given: of all. */
    user?: string;
    /** Only bookings in this state. */
    status?: "any" | "reserved" | "confirmed" | "cancelled" | "expired" | "refunded";
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many bookings at most. */
    count?: number;
}

/**
 * An item of the answer to SEATS.HISTORY. An empty cursor says that this was the end; a page that a
 * filter leaves empty has one. Times are in milliseconds since 1970, and left out where there is
 * none.
 */
export interface SeatsHistoryItem {
    bookingId: string;
    userId: string;
    zoneId: string;
    eventId: string;
    showId: string;
    quantity: number;
    unitPrice: number;
    status: string;
    createdAt: number;
    expiresAt: number;
    confirmedAt: number;
    endedAt: number;
    paymentId: string;
    confirmationCode: string;
}

const SEATS_HISTORY = new Command<Page<SeatsHistoryItem>>(
    "SEATS.HISTORY", "page",
    {
        booking_id: "text", user_id: "text", zone_id: "text", event_id: "text", show_id: "text",
        quantity: "number", unit_price: "number", status: "text", created_at: "number",
        expires_at: "number", confirmed_at: "number", ended_at: "number", payment_id: "text",
        confirmation_code: "text",
    },
);

/** What SEATS.SUMMARY is asked for. */
export interface SeatsSummaryArgs {
    /** The event. */
    event: string;
    /** The user. */
    user: string;
    /** The zone whose MAX is the limit; not given: it is unknown. */
    zone?: string;
}

/**
 * The answer to SEATS.SUMMARY. Held includes what expired less than 60 s ago. limited is yes or no,
 * as the zone has a MAX, or unknown without ZONE; limit and left are there with yes.
 */
export interface SeatsSummaryReply {
    held: number;
    confirmed: number;
    limited: string;
    limit: number;
    left: number;
}

const SEATS_SUMMARY = new Command<SeatsSummaryReply>(
    "SEATS.SUMMARY", "fields",
    {
        held: "number", confirmed: "number", limited: "text", limit: "number", left: "number",
    },
);

/** What SEATS.CHECKOUT is asked for. */
export interface SeatsCheckoutArgs {
    /** The event. */
    event: string;
    /** The zone. */
    zone: string;
    /** Who buys. */
    user: string;
    /** How many seats. */
    quantity: number;
    /** How many the user may hold of the event. */
    maxPerUser: number;
    /** The booking: an id of your choice, the same again for a retry; or one is made. */
    booking?: string;
    /** The saga: an id of your choice; not given: one is made. */
    saga?: string;
    /** The price of a seat in whole minor units of the currency, such as cents. */
    price?: number;
    /** Three letters, such as EUR; not given: that of the settings. */
    currency?: string;
    /** The pass of the waiting room, if the event has a gate. */
    pass?: string;
    /** What the payment peer is to charge, as it was told by the peer to the client. */
    token?: string;
    /** How long to wait for the end. */
    wait?: Duration;
}

/**
 * The answer to SEATS.CHECKOUT. Status is STARTED, RESERVED, PAYING, PAID, COMPLETED, COMPENSATING,
 * COMPENSATED or NEEDS_ATTENTION. Without WAIT it is answered as soon as the ledger has it; what a
 * checkout was compensated for is a refusal once that is known. The same booking again is answered
 * with the same saga.
 */
export interface SeatsCheckoutReply {
    sagaId: string;
    bookingId: string;
    status: string;
}

const SEATS_CHECKOUT = new Command<SeatsCheckoutReply>(
    "SEATS.CHECKOUT", "lead",
    { saga_id: "text", booking_id: "text", status: "text" },
);

/** Seats: holds with a deadline, in zones of an event. */
export class Seats extends Family {
    /**
     * Make a zone, or change its capacity and its limit per user. Throws: CapacityInUse,
     * InvalidQuantity, InvalidId, InvalidArgument.
     */
    open(args: SeatsOpenArgs): Promise<SeatsOpenReply> {
        const words: Words = [args.event, args.zone, args.capacity];
        words.push(...option("MAX", args.max));
        words.push(...flag("LIFETIME", args.lifetime));
        return this.execute(SEATS_OPEN, words, false);
    }

    /**
     * Hold seats in a zone for a user until a deadline. Throws: ZoneNotFound, InsufficientStock,
     * UserLimitExceeded, BookingExists, NotAdmitted, InvalidQuantity, InvalidAmount, InvalidTtl,
     * InvalidId.
     */
    reserve(args: SeatsReserveArgs): Promise<SeatsReserveReply> {
        const words: Words = [
            args.event, args.zone, args.booking, args.user, args.quantity, args.maxPerUser,
        ];
        words.push(...option("SHOW", args.show));
        words.push(...option("PRICE", args.price));
        words.push(...option("TTL", duration(args.ttl)));
        words.push(...flag("LIFETIME", args.lifetime));
        words.push(...option("PASS", args.pass));
        return this.execute(SEATS_RESERVE, words, true);
    }

    /**
     * Paid for: the booking loses its deadline and gets a confirmation code. Throws:
     * ReservationNotFound, NotOwner, InvalidState, InvalidId.
     */
    confirm(args: SeatsConfirmArgs): Promise<SeatsConfirmReply> {
        const words: Words = [args.event, args.booking];
        words.push(...option("USER", args.user));
        words.push(...option("PAYMENT", args.payment));
        return this.execute(SEATS_CONFIRM, words, true);
    }

    /**
     * Give the seats of a booking back. Throws: ReservationNotFound, NotOwner, InvalidState,
     * InvalidId.
     */
    release(args: SeatsReleaseArgs): Promise<SeatsReleaseReply> {
        const words: Words = [args.event, args.booking];
        words.push(...option("USER", args.user));
        return this.execute(SEATS_RELEASE, words, true);
    }

    /**
     * Give a confirmed booking back: its seats are free again, its code is no longer valid. Throws:
     * ReservationNotFound, NotOwner, InvalidState, InvalidId.
     */
    refund(args: SeatsRefundArgs): Promise<SeatsRefundReply> {
        const words: Words = [args.event, args.booking];
        words.push(...option("USER", args.user));
        return this.execute(SEATS_REFUND, words, true);
    }

    /**
     * Move a booking's deadline to now + ttl, at most 12 first TTLs after its start. Throws:
     * ReservationNotFound, InvalidState, InvalidTtl, InvalidId.
     */
    extend(args: SeatsExtendArgs): Promise<SeatsExtendReply> {
        const words: Words = [args.event, args.booking, duration(args.ttl)];
        return this.execute(SEATS_EXTEND, words, true);
    }

    /** One booking. Throws: ReservationNotFound, InvalidId. */
    get(args: SeatsGetArgs): Promise<SeatsGetReply> {
        const words: Words = [args.event, args.booking];
        return this.execute(SEATS_GET, words, true);
    }

    /**
     * The bookings of an event that are reserved or confirmed, page by page. Throws:
     * InvalidArgument, InvalidQuantity, InvalidId, PayloadTooLarge.
     */
    list(args: SeatsListArgs): Promise<Page<SeatsListItem>> {
        const words: Words = [args.event];
        words.push(...option("ZONE", args.zone));
        words.push(...option("USER", args.user));
        words.push(...option("STATUS", args.status));
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(SEATS_LIST, words, true);
    }

    /**
     * A zone's totals: capacity = available + reserved + confirmed. Throws: ZoneNotFound,
     * InvalidId.
     */
    zone(args: SeatsZoneArgs): Promise<SeatsZoneReply> {
        const words: Words = [args.event, args.zone];
        return this.execute(SEATS_ZONE, words, true);
    }

    /** How many seats a user holds and has confirmed in an event. Throws: InvalidId. */
    user(args: SeatsUserArgs): Promise<SeatsUserReply> {
        const words: Words = [args.event, args.user];
        return this.execute(SEATS_USER, words, true);
    }

    /**
     * The event is over: remove its zones, bookings and users. Throws: InvalidState, InvalidId.
     */
    close(args: SeatsCloseArgs): Promise<SeatsCloseReply> {
        const words: Words = [args.event];
        words.push(...flag("FORCE", args.force));
        return this.execute(SEATS_CLOSE, words, true);
    }

    /**
     * The bookings of a user as the ledger has them, in every state, page by page. Throws:
     * InvalidArgument, LedgerDown, Timeout, InvalidQuantity, InvalidId, PayloadTooLarge.
     */
    bookings(args: SeatsBookingsArgs): Promise<Page<SeatsBookingsItem>> {
        const words: Words = [args.user];
        words.push(...option("EVENT", args.event));
        words.push(...option("ZONE", args.zone));
        words.push(...option("STATUS", args.status));
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(SEATS_BOOKINGS, words, true);
    }

    /**
     * The bookings of an event as the ledger has them, in every state, page by page. Throws:
     * InvalidArgument, LedgerDown, Timeout, InvalidQuantity, InvalidId, PayloadTooLarge.
     */
    history(args: SeatsHistoryArgs): Promise<Page<SeatsHistoryItem>> {
        const words: Words = [args.event];
        words.push(...option("ZONE", args.zone));
        words.push(...option("USER", args.user));
        words.push(...option("STATUS", args.status));
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(SEATS_HISTORY, words, true);
    }

    /**
     * What a user has in an event, and may still have in a zone of it. Throws: ZoneNotFound,
     * InvalidId.
     */
    summary(args: SeatsSummaryArgs): Promise<SeatsSummaryReply> {
        const words: Words = [args.event, args.user];
        words.push(...option("ZONE", args.zone));
        return this.execute(SEATS_SUMMARY, words, true);
    }

    /**
     * Check out: seats held, payment taken, booking confirmed; or all of it taken back. Throws:
     * InvalidState, InvalidAmount, PaymentDeclined, InsufficientStock, ZoneNotFound,
     * UserLimitExceeded, NotAdmitted, ReservationNotFound, Busy, LedgerDown, Timeout,
     * InvalidQuantity, InvalidTtl, InvalidId, InvalidArgument, PayloadTooLarge.
     */
    checkout(args: SeatsCheckoutArgs): Promise<SeatsCheckoutReply> {
        const words: Words = [args.event, args.zone, args.user, args.quantity, args.maxPerUser];
        words.push(...option("BOOKING", args.booking));
        words.push(...option("SAGA", args.saga));
        words.push(...option("PRICE", args.price));
        words.push(...option("CURRENCY", args.currency));
        words.push(...option("PASS", args.pass));
        words.push(...option("TOKEN", args.token));
        return this.execute(SEATS_CHECKOUT, words, args.booking !== undefined, args.wait);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/seats.h: SEATS.*, holds with a deadline. Their scope is the event. */
#ifndef HOLDFAST_SEATS_H
#define HOLDFAST_SEATS_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SEATS.OPEN: make a zone, or change its capacity and its limit per user. CAPACITY_IN_USE below
 * what is held or sold. */
struct hf_seats_open_args {
    struct hf_bytes event, zone;
    int64_t capacity;
    int64_t max;   /* how many seats of the event a user of this zone may have; 0: no such limit */
    bool lifetime; /* confirmed seats count against max in every reserve; needs max */
};
struct hf_seats_open_reply {
    int64_t available, capacity;
};
HF_API enum hf_error hf_seats_open(hf_handle *handle, const struct hf_seats_open_args *args,
                                   struct hf_seats_open_reply *reply);

/* SEATS.RESERVE: hold seats for a user until the deadline. ZONE_NOT_FOUND, INSUFFICIENT_STOCK,
 * USER_LIMIT_EXCEEDED, BOOKING_EXISTS. Again with the same arguments: the same success. */
struct hf_seats_reserve_args {
    struct hf_bytes event, zone, booking, user;
    int64_t quantity, max_per_user;
    struct hf_bytes show; /* optional */
    int64_t unit_price;   /* optional */
    int64_t ttl_ms;       /* 0: 600 s */
    bool lifetime;        /* confirmed seats go on counting against max_per_user */
    struct hf_bytes pass; /* the user's, where ROOM.OPEN has set GATE: NOT_ADMITTED */
};
struct hf_seats_reserve_reply {
    int64_t remaining, user_reserved;
    /* "reserved"; "confirmed" on a retry after it was. Empty where the engine is a server reached
     * by RESP, which does not send it. */
    char status[HF_WORD_SIZE];
    int64_t expires_at; /* ms since the epoch; 0 once confirmed */
};
HF_API enum hf_error hf_seats_reserve(hf_handle *handle, const struct hf_seats_reserve_args *args,
                                      struct hf_seats_reserve_reply *reply);

/* SEATS.CONFIRM: paid for; the deadline goes. RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE. */
struct hf_seats_confirm_args {
    struct hf_bytes event, booking;
    struct hf_bytes user;    /* optional: must be the owner */
    struct hf_bytes payment; /* optional */
};
struct hf_seats_confirm_reply {
    char status[HF_WORD_SIZE]; /* "CONFIRMED" */
    char confirmation_code[HF_CODE_SIZE];
};
HF_API enum hf_error hf_seats_confirm(hf_handle *handle, const struct hf_seats_confirm_args *args,
                                      struct hf_seats_confirm_reply *reply);

/* SEATS.RELEASE: give the seats back now. RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE. */
struct hf_seats_release_args {
    struct hf_bytes event, booking;
    struct hf_bytes user; /* optional: must be the owner */
};
struct hf_seats_release_reply {
    char status[HF_WORD_SIZE]; /* "SUCCESS" */
    int64_t available, user_reserved;
};
HF_API enum hf_error hf_seats_release(hf_handle *handle, const struct hf_seats_release_args *args,
                                      struct hf_seats_release_reply *reply);

/* SEATS.REFUND: a confirmed booking is given back; its seats are free again and its code is no
 * longer valid. RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE while it is only reserved. */
struct hf_seats_refund_args {
    struct hf_bytes event, booking;
    struct hf_bytes user; /* optional: must be the owner */
};
struct hf_seats_refund_reply {
    char status[HF_WORD_SIZE]; /* "REFUNDED" */
    int64_t available;
};
HF_API enum hf_error hf_seats_refund(hf_handle *handle, const struct hf_seats_refund_args *args,
                                     struct hf_seats_refund_reply *reply);

/* SEATS.EXTEND: move the deadline to now + ttl, at most 12 first TTLs after the start. */
struct hf_seats_extend_args {
    struct hf_bytes event, booking;
    int64_t ttl_ms;
};
struct hf_seats_extend_reply {
    int64_t expires_at_ms;
};
HF_API enum hf_error hf_seats_extend(hf_handle *handle, const struct hf_seats_extend_args *args,
                                     struct hf_seats_extend_reply *reply);

/* SEATS.GET: one booking. RESERVATION_NOT_FOUND. The last three members are 0 or empty until
 * the booking is confirmed. */
struct hf_seats_get_args {
    struct hf_bytes event, booking;
};
struct hf_seats_get_reply {
    char booking_id[HF_ID_SIZE], user_id[HF_ID_SIZE], zone_id[HF_ID_SIZE], event_id[HF_ID_SIZE],
        show_id[HF_ID_SIZE];
    int64_t quantity, unit_price;
    char status[HF_WORD_SIZE]; /* "reserved" or "confirmed" */
    int64_t created_at, expires_at, confirmed_at;
    char payment_id[HF_ID_SIZE];
    char confirmation_code[HF_CODE_SIZE];
};
HF_API enum hf_error hf_seats_get(hf_handle *handle, const struct hf_seats_get_args *args,
                                  struct hf_seats_get_reply *reply);

/* SEATS.LIST: the bookings of an event that are reserved or confirmed, a page at a time. */
struct hf_seats_list_args {
    struct hf_bytes event;
    struct hf_bytes zone, user; /* optional: only those of this zone, of this user */
    struct hf_bytes status;     /* optional: only "reserved" or only "confirmed" ones */
    struct hf_bytes after;      /* optional: the cursor of the page before */
    int64_t count;              /* 0: 100 */
};
struct hf_seats_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_seats_get_reply *items; /* free with hf_free() */
};
HF_API enum hf_error hf_seats_list(hf_handle *handle, const struct hf_seats_list_args *args,
                                   struct hf_seats_list_reply *reply);

/* SEATS.ZONE: the zone's totals; capacity = available + reserved + confirmed. ZONE_NOT_FOUND. */
struct hf_seats_zone_args {
    struct hf_bytes event, zone;
};
struct hf_seats_zone_reply {
    int64_t capacity, available, reserved, confirmed;
    /* As SEATS.OPEN set them; 0 where the engine is a server reached by RESP, which does not send
     * them. */
    int64_t max;      /* 0: no limit */
    int64_t lifetime; /* 1 or 0 */
};
HF_API enum hf_error hf_seats_zone(hf_handle *handle, const struct hf_seats_zone_args *args,
                                   struct hf_seats_zone_reply *reply);

/* SEATS.USER: what a user holds and has confirmed in an event. */
struct hf_seats_user_args {
    struct hf_bytes event, user;
};
struct hf_seats_user_reply {
    int64_t held, confirmed;
};
HF_API enum hf_error hf_seats_user(hf_handle *handle, const struct hf_seats_user_args *args,
                                   struct hf_seats_user_reply *reply);

/* SEATS.CLOSE: the event is over, and all that is known of it removed. INVALID_STATE while seats
 * are reserved, or confirmed unless `force` says that those go as well. */
struct hf_seats_close_args {
    struct hf_bytes event;
    bool force;
};
struct hf_seats_close_reply {
    int64_t bookings, zones; /* that were removed */
};
HF_API enum hf_error hf_seats_close(hf_handle *handle, const struct hf_seats_close_args *args,
                                    struct hf_seats_close_reply *reply);

/* SEATS.BOOKINGS and SEATS.HISTORY: a booking as the ledger has it, in whatever state. A time is 0
 * where there is none. */
struct hf_booking {
    char booking_id[HF_ID_SIZE], user_id[HF_ID_SIZE], zone_id[HF_ID_SIZE], event_id[HF_ID_SIZE],
        show_id[HF_ID_SIZE];
    int64_t quantity, unit_price;
    char status[HF_WORD_SIZE]; /* reserved, confirmed, cancelled, expired or refunded */
    int64_t created_at, expires_at, confirmed_at, ended_at;
    char payment_id[HF_ID_SIZE];
    char confirmation_code[HF_CODE_SIZE];
};

/* SEATS.BOOKINGS: the bookings of a user in all events, a page at a time. INVALID_ARGUMENT,
 * LEDGER_DOWN, TIMEOUT. */
struct hf_seats_bookings_args {
    struct hf_bytes user;
    struct hf_bytes event, zone; /* optional: only those of this event, of this zone */
    struct hf_bytes status;      /* optional: only those in this state */
    struct hf_bytes after;       /* optional: the cursor of the page before */
    int64_t count;               /* 0: 100 */
};
struct hf_seats_bookings_reply {
    char cursor[HF_PAIR_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_booking *items; /* free with hf_free() */
};
HF_API enum hf_error hf_seats_bookings(hf_handle *handle, const struct hf_seats_bookings_args *args,
                                       struct hf_seats_bookings_reply *reply);

/* SEATS.HISTORY: the bookings of an event, those that have ended as well, a page at a time.
 * INVALID_ARGUMENT, LEDGER_DOWN, TIMEOUT. */
struct hf_seats_history_args {
    struct hf_bytes event;
    struct hf_bytes zone, user; /* optional: only those of this zone, of this user */
    struct hf_bytes status;     /* optional: only those in this state */
    struct hf_bytes after;      /* optional: the cursor of the page before */
    int64_t count;              /* 0: 100 */
};
struct hf_seats_history_reply {
    char cursor[HF_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_booking *items; /* free with hf_free() */
};
HF_API enum hf_error hf_seats_history(hf_handle *handle, const struct hf_seats_history_args *args,
                                      struct hf_seats_history_reply *reply);

/* SEATS.SUMMARY: what a user has in an event, and may still have in a zone. ZONE_NOT_FOUND. */
struct hf_seats_summary_args {
    struct hf_bytes event, user;
    struct hf_bytes zone; /* optional: the zone whose limit is asked for */
};
struct hf_seats_summary_reply {
    int64_t held, confirmed;
    char limited[HF_WORD_SIZE]; /* "yes", "no", or "unknown" where no zone is given */
    int64_t limit, left;        /* 0 unless limited is "yes" */
};
HF_API enum hf_error hf_seats_summary(hf_handle *handle, const struct hf_seats_summary_args *args,
                                      struct hf_seats_summary_reply *reply);

/* SEATS.CHECKOUT: begins one. PAYMENT_DECLINED, INSUFFICIENT_STOCK and whatever else it was
 * compensated for, once that is known; INVALID_STATE if the booking was checked out with other
 * arguments, or no payment_url was given. */
struct hf_seats_checkout_args {
    struct hf_bytes event, zone, user;
    int64_t quantity, max_per_user;
    struct hf_bytes booking;       /* empty: one is made */
    struct hf_bytes saga;          /* empty: one is made */
    int64_t unit_price;            /* in whole minor units of the currency; 0: nothing to pay */
    struct hf_bytes currency;      /* three letters; empty: the option `currency` */
    struct hf_bytes pass;          /* of the waiting room, if the event has a gate */
    struct hf_bytes payment_token; /* what the payment peer is to charge */
    int64_t wait_ms;               /* for the end; 0: until the ledger has it */
};
struct hf_seats_checkout_reply {
    char saga_id[HF_ID_SIZE], booking_id[HF_ID_SIZE];
    char status[HF_WORD_SIZE];   /* "STARTED", "RESERVED", "PAYING", "PAID", "COMPLETED",
                                * "COMPENSATING", "COMPENSATED" or "NEEDS_ATTENTION" */
    char provider[HF_WORD_SIZE]; /* "test": no money is moved; or "http" */
};
HF_API enum hf_error hf_seats_checkout(hf_handle *handle, const struct hf_seats_checkout_args *args,
                                       struct hf_seats_checkout_reply *reply);

#ifdef __cplusplus
}
#endif

#endif

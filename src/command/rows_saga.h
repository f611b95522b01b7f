/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of checkout, for the table in table.c. The service carries them out: by commands of the
 * engine, transactions of the ledger and requests to the payment peer. */
/* clang-format off */

#define LEDGER_AWAY_REFUSAL                                                                        \
    {HF_LEDGER_DOWN, "there is no ledger, or it does not answer; nothing was changed"}
#define OUTCOME_UNKNOWN_REFUSAL                                                                    \
    {HF_TIMEOUT, "the ledger did not answer in time; it may have happened: the same again tells"}
#define NO_SAGA_REFUSAL {HF_NOT_FOUND, "the ledger has no such saga"}
#define STATES "STARTED, RESERVED, PAYING, PAID, COMPLETED, COMPENSATING, COMPENSATED or "         \
               "NEEDS_ATTENTION"

[SEATS_CHECKOUT] = {.name = "SEATS.CHECKOUT", .number = 70, .flags = WRITES | WAITS | SERVICE,
    .help = "Check out: seats held, payment taken, booking confirmed; or all of it taken back",
    EXAMPLE("SEATS.CHECKOUT gala floor ann 2 4 BOOKING b-1 PRICE 4500 CURRENCY EUR WAIT 10s"),
    BEFORE("SEATS.OPEN gala floor 500"),
    REFUSALS({HF_INVALID_STATE, "the booking was checked out with other arguments, the saga's id "
                                "is another's, or the server has no payment-url"},
             {HF_INVALID_AMOUNT, "quantity times PRICE is more than 2^53-1"},
             {HF_PAYMENT_DECLINED, "the payment was declined; the seats are free again"},
             {HF_INSUFFICIENT_STOCK, "there are not enough seats"},
             {HF_ZONE_NOT_FOUND, "nobody has opened the zone"},
             {HF_USER_LIMIT_EXCEEDED, "the user would have more than max_per_user"},
             {HF_NOT_ADMITTED, "the event's waiting room has a gate, and PASS is not a valid pass "
                               "of the user"},
             {HF_RESERVATION_NOT_FOUND, "it was paid too late, and has been refunded"},
             {HF_BUSY, "the server drives as many checkouts as it can, or the payment peer does "
                       "not answer"},
             LEDGER_AWAY_REFUSAL, OUTCOME_UNKNOWN_REFUSAL),
    .reply_note = "status is " STATES ". Without WAIT it is answered as soon as the ledger has it; "
                  "what a checkout was compensated for is a refusal once that is known. The same "
                  "booking again is answered with the same saga",
    MEANINGS("the event",
             "the zone",
             "who buys",
             "how many seats",
             "how many the user may hold of the event",
             "the booking: an id of your choice, the same again for a retry; or one is made",
             "the saga: an id of your choice; not given: one is made",
             "the price of a seat in whole minor units of the currency, such as cents",
             "three letters, such as EUR; not given: that of the settings",
             "the pass of the waiting room, if the event has a gate",
             "what the payment peer is to charge, as it was told by the peer to the client",
             "how long to wait for the end"),
    ARGS(seats_checkout, 5, ID(seats_checkout, event, "event"),
         ID(seats_checkout, zone, "zone_id"), ID(seats_checkout, user, "user_id"),
         COUNT(seats_checkout, quantity, 1, HF_INTEGER_MAX),
         COUNT(seats_checkout, max_per_user, 1, HF_INTEGER_MAX),
         OPTIONAL_ID(seats_checkout, booking, "BOOKING", "id", "booking_id"),
         OPTIONAL_ID(seats_checkout, saga, "SAGA", "id", "saga_id"),
         OPTIONAL_AMOUNT(seats_checkout, unit_price, "PRICE"),
         OPTIONAL_TEXT(seats_checkout, currency, "CURRENCY", "c", 3),
         OPTIONAL_BEARER(seats_checkout, pass, "PASS", "p", "pass"),
         OPTIONAL_SECRET(seats_checkout, payment_token, "TOKEN", "t", 512),
         OPTIONAL_WAIT(seats_checkout, wait_ms, "WAIT")),
    ANSWER(REPLY_LEAD, seats_checkout_reply, WORD(seats_checkout_reply, saga_id),
           WORD(seats_checkout_reply, booking_id), WORD(seats_checkout_reply, status),
           QUIET_WORD(seats_checkout_reply, provider)),
    HTTP("POST", "/v1/events/{event}/checkout"), .accepted = true, .made = 6, .carries = true,
    .script_args = ""},

#define SAGA_SHOWN                                                                                 \
    WORD(saga_get_reply, saga_id), WORD(saga_get_reply, status),                                   \
    WORD(saga_get_reply, event_id), WORD(saga_get_reply, booking_id),                              \
    WORD(saga_get_reply, zone_id), WORD(saga_get_reply, user_id),                                  \
    NUMBER(saga_get_reply, quantity), NUMBER(saga_get_reply, unit_price),                          \
    NUMBER(saga_get_reply, amount), WORD(saga_get_reply, currency),                                \
    WORD(saga_get_reply, payment_id), WORD(saga_get_reply, payment),                               \
    WORD(saga_get_reply, provider), WORD(saga_get_reply, error_code),                              \
    WORD(saga_get_reply, error_message), NUMBER(saga_get_reply, attempts),                         \
    NUMBER(saga_get_reply, created_at), NUMBER(saga_get_reply, updated_at)

[SAGA_GET] = {.name = "SAGA.GET", .number = 71, .flags = READS | WAITS | SERVICE,
    .help = "How far a checkout is",
    EXAMPLE("SAGA.GET s-1 WAIT 10s"),
    BEFORE("SEATS.OPEN gala floor 500",
           "SEATS.CHECKOUT gala floor ann 2 4 BOOKING b-1 SAGA s-1 PRICE 4500"),
    REFUSALS(NO_SAGA_REFUSAL, LEDGER_AWAY_REFUSAL,
             {HF_TIMEOUT, "the ledger did not answer in time"}),
    .reply_note = "status is " STATES "; payment is what is known of the charge: none, sent, "
                  "succeeded, declined or refunded; error_code is empty unless something stands "
                  "in the way or led to the compensation. Times are the database's",
    MEANINGS("the saga", "how long to wait for its end"),
    ARGS(saga_get, 1, ID(saga_get, saga, "saga"), OPTIONAL_WAIT(saga_get, wait_ms, "WAIT")),
    .scope_arg = SCOPE_NOWHERE, .scope_field = "event_id",
    ANSWER(REPLY_FIELDS, saga_get_reply, SAGA_SHOWN),
    HTTP("GET", "/v1/sagas/{saga}"), .script_args = ""},

[SAGA_LIST] = {.name = "SAGA.LIST", .number = 91, .flags = READS | SERVICE,
    .help = "The checkouts of the ledger, all or those in one state, page by page",
    EXAMPLE("SAGA.LIST STATUS COMPLETED COUNT 50"),
    BEFORE("SEATS.OPEN gala floor 500",
           "SEATS.CHECKOUT gala floor ann 2 4 BOOKING b-1 SAGA s-1 PRICE 4500 WAIT 10s"),
    REFUSALS({HF_INVALID_ARGUMENT, "AFTER is no cursor of this list"}, LEDGER_AWAY_REFUSAL,
             {HF_TIMEOUT, "the ledger did not answer in time"}),
    .reply_note = "In the order of their ids; each as SAGA.GET shows it. An empty cursor says that "
                  "this was the end; a page of one state may be short or empty and have one",
    MEANINGS("only those in this state",
             "the cursor that the page before ended with; not given: from the beginning",
             "how many checkouts at most"),
    ARGS(saga_list, 0,
         OPTIONAL_CHOICE(saga_list, status, "STATUS",
                         "any|STARTED|RESERVED|PAYING|PAID|COMPLETED|COMPENSATING|COMPENSATED|"
                         "NEEDS_ATTENTION"),
         PAGE(saga_list)),
    .scope_arg = SCOPE_NOWHERE, .scope_field = "event_id",
    ANSWER(REPLY_PAGE, saga_get_reply, SAGA_SHOWN),
    HTTP("GET", "/v1/sagas"), .script_args = ""},

[SAGA_RESUME] = {.name = "SAGA.RESUME", .number = 72, .flags = WRITES | ADMIN | SERVICE,
    .help = "Drive a saga on that needs attention, from where it was",
    EXAMPLE("SAGA.RESUME s-1"),
    BEFORE("SEATS.OPEN gala floor 500",
           "SEATS.CHECKOUT gala floor ann 2 4 BOOKING b-1 SAGA s-1 PRICE 4500"),
    REFUSALS(NO_SAGA_REFUSAL,
             {HF_BUSY, "another server changes it at this moment"},
             LEDGER_AWAY_REFUSAL, OUTCOME_UNKNOWN_REFUSAL),
    .reply_note = "Any other saga is left alone; status says where it is",
    MEANINGS("the saga"),
    ARGS(saga_resume, 1, ID(saga_resume, saga, "saga")),
    .scope_arg = SCOPE_NOWHERE,
    ANSWER(REPLY_LEAD, saga_change_reply, WORD(saga_change_reply, saga_id),
           WORD(saga_change_reply, status)),
    HTTP("POST", "/v1/sagas/{saga}/resume"), .script_args = ""},

[SAGA_REFUND] = {.name = "SAGA.REFUND", .number = 73, .flags = WRITES | ADMIN | SERVICE,
    .help = "Take a checkout back that is completed or needs attention: seats and payment",
    EXAMPLE("SAGA.REFUND s-1"),
    BEFORE("SEATS.OPEN gala floor 500",
           "SEATS.CHECKOUT gala floor ann 2 4 BOOKING b-1 SAGA s-1 PRICE 4500 WAIT 10s"),
    REFUSALS(NO_SAGA_REFUSAL, {HF_INVALID_STATE, "the saga is being driven"},
             {HF_BUSY, "another server changes it at this moment"},
             LEDGER_AWAY_REFUSAL, OUTCOME_UNKNOWN_REFUSAL),
    .reply_note = "SAGA.GET tells when it is COMPENSATED",
    MEANINGS("the saga"),
    ARGS(saga_refund, 1, ID(saga_refund, saga, "saga")),
    .scope_arg = SCOPE_NOWHERE,
    ANSWER(REPLY_LEAD, saga_change_reply, WORD(saga_change_reply, saga_id),
           WORD(saga_change_reply, status)),
    HTTP("POST", "/v1/sagas/{saga}/refund"), .script_args = ""},

[SAGA_WAKE] = {.name = "SAGA.WAKE", .number = 74, .flags = WRITES | ADMIN | SERVICE,
    .help = "The payment peer has news: the saga of the payment asks for it now",
    EXAMPLE("SAGA.WAKE <payment_id>"),
    BEFORE("SEATS.OPEN gala floor 500",
           "SEATS.CHECKOUT gala floor ann 2 4 BOOKING b-1 SAGA s-1 PRICE 4500", "SAGA.GET s-1"),
    REFUSALS({HF_NOT_FOUND, "no saga has this payment"},
             {HF_KEY_REUSED, "the message has come before"},
             LEDGER_AWAY_REFUSAL, OUTCOME_UNKNOWN_REFUSAL),
    .reply_note = "What POST /v1/payments/callback does with a signed message. A saga that has "
                  "ended is left alone",
    MEANINGS("the payment, as SAGA.GET shows it",
             "the id of the message: with the same one again it is refused",
             "when the message was sent, in seconds since 1970; messages are kept for an hour"),
    ARGS(saga_wake, 1, ID(saga_wake, payment, "payment_id"),
         OPTIONAL_ID(saga_wake, message, "MESSAGE", "id", "message_id"),
         OPTIONAL_COUNT(saga_wake, sent_s, "SENT", 0, HF_INTEGER_MAX, 0)),
    .scope_arg = SCOPE_NOWHERE,
    ANSWER(REPLY_LEAD, saga_change_reply, WORD(saga_change_reply, saga_id),
           WORD(saga_change_reply, status)),
    HTTP("POST", "/v1/payments/wake"), .script_args = ""},

#undef LEDGER_AWAY_REFUSAL
#undef OUTCOME_UNKNOWN_REFUSAL
#undef NO_SAGA_REFUSAL
#undef SAGA_SHOWN
#undef STATES

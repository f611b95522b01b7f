/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/error.h: what a call answers, and what it says of a refusal. */
#ifndef HOLDFAST_ERROR_H
#define HOLDFAST_ERROR_H

#include <holdfast/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of errors: X(code, HTTP status, default text). Every front reads it. Most refuse a
 * well-formed command; those from ERR to LEDGER_DOWN are about the request or the server. A new
 * code goes to the end, so that programs built before go on to know the others. */
#define HF_ERROR_MAP(X)                                                                            \
    X(INVALID_QUANTITY, 400, "the quantity is out of bounds")                                      \
    X(INVALID_AMOUNT, 400, "the amount is out of bounds")                                          \
    X(INVALID_TTL, 400, "the duration is out of bounds: 10 ms to 30 days")                         \
    X(INVALID_ID, 400, "not an id: 1-128 bytes of UTF-8, no spaces, control characters, { or }")   \
    X(INVALID_ARGUMENT, 400, "the argument is not one of those allowed")                           \
    X(USER_LIMIT_EXCEEDED, 400, "the user would hold more than allowed")                           \
    X(ZONE_NOT_FOUND, 404, "no such zone")                                                         \
    X(RESERVATION_NOT_FOUND, 404, "no such booking: never made, released, refunded, expired")      \
    X(HOLD_NOT_FOUND, 404, "no such hold: never made, cancelled or expired")                       \
    X(PRODUCT_NOT_FOUND, 404, "no such product: load it first")                                    \
    X(NOT_IN_QUEUE, 404, "the user is not in the queue")                                           \
    X(NOT_FOUND, 404, "not found")                                                                 \
    X(TIMEOUT, 408, "waited and got nothing")                                                      \
    X(INSUFFICIENT_STOCK, 409, "not enough seats left")                                            \
    X(SOLD_OUT, 409, "sold out")                                                                   \
    X(INVALID_STATE, 409, "not possible in the state it is in")                                    \
    X(BOOKING_EXISTS, 409, "the booking id is in use with other arguments")                        \
    X(CAPACITY_IN_USE, 409, "more than that is held or sold")                                      \
    X(ALREADY_IN_QUEUE, 409, "the user is in the queue already")                                   \
    X(IN_PROGRESS, 409, "being processed")                                                         \
    X(LOCKED, 409, "somebody else holds the lock")                                                 \
    X(NOT_OWNER, 409, "belongs to another user")                                                   \
    X(PAYLOAD_TOO_LARGE, 413, "too large")                                                         \
    X(KEY_REUSED, 422, "the key was used for another request")                                     \
    X(QUOTA_EXCEEDED, 429, "over the quota")                                                       \
    X(QUEUE_FULL, 429, "the queue is full")                                                        \
    X(NO_SLOT, 429, "no slot free")                                                                \
    X(RATE_LIMITED, 429, "too many requests")                                                      \
    X(ERR, 400, "malformed request")                                                               \
    X(UNAUTHORIZED, 401, "authentication needed")                                                  \
    X(FORBIDDEN, 403, "not allowed for this user")                                                 \
    X(INTERNAL, 500, "internal error")                                                             \
    X(IOERR, 503, "the data directory failed; the server stops")                                   \
    X(READONLY, 503, "this server does not take writes")                                           \
    X(LOADING, 503, "still loading the data directory")                                            \
    X(BUSY, 503, "out of memory or too much to do; nothing was changed, try again later")          \
    X(ENGINE_DOWN, 503, "the engine does not answer")                                              \
    X(LEDGER_DOWN, 503, "the ledger does not answer")                                              \
    X(NOT_ADMITTED, 403, "the event is entered through its waiting room: a pass is needed")        \
    X(PAYMENT_DECLINED, 402, "the payment was declined")

/* HF_OK, or an error of the list as HF_INVALID_QUANTITY and so on, numbered from 1. */
enum hf_error {
    HF_OK = 0,
#define HF_ERROR_ENUM(code, http, text) HF_##code,
    HF_ERROR_MAP(HF_ERROR_ENUM)
#undef HF_ERROR_ENUM
        HF_ERROR_COUNT
};

/* "INSUFFICIENT_STOCK" for HF_INSUFFICIENT_STOCK, "OK" for HF_OK. Static; never NULL. */
HF_API const char *hf_error_name(enum hf_error code);

/* The HTTP status that goes with a code; 200 for HF_OK. */
HF_API int hf_error_status(enum hf_error code);

/* What the last call that failed on this thread had to say: what was wrong, with what value. Valid
 * until the next call on this thread; never NULL. */
HF_API const char *hf_last_message(void);

#ifdef __cplusplus
}
#endif

#endif

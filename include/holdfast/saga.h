/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/saga.h: SAGA.*, checkouts. Their scope is the saga. */
#ifndef HOLDFAST_SAGA_H
#define HOLDFAST_SAGA_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A checkout (SEATS.CHECKOUT) is a saga: seats are held, a payment is taken, the booking
 * confirmed; or all of it is taken back. It goes on by itself in the process of the engine, and in
 * any other that shares the ledger if that one ends. The calls of this section need a ledger, as
 * those of a sale do. */

/* SAGA.GET: how far it is. NOT_FOUND. */
struct hf_saga_get_args {
    struct hf_bytes saga;
    int64_t wait_ms; /* for the end */
};
#define HF_SAGA_ERROR_SIZE 256
struct hf_saga_get_reply {
    char saga_id[HF_ID_SIZE], status[HF_WORD_SIZE];
    char event_id[HF_ID_SIZE], booking_id[HF_ID_SIZE], zone_id[HF_ID_SIZE], user_id[HF_ID_SIZE];
    int64_t quantity, unit_price, amount;
    char currency[8];
    char payment_id[HF_ID_SIZE];
    char payment[HF_WORD_SIZE]; /* "none", "sent", "succeeded", "declined" or "refunded" */
    char provider[HF_WORD_SIZE];
    char error_code[32], error_message[HF_SAGA_ERROR_SIZE];
    int64_t attempts;               /* of the step that it is at */
    int64_t created_at, updated_at; /* ms since the epoch, by the database's clock */
};
HF_API enum hf_error hf_saga_get(hf_handle *handle, const struct hf_saga_get_args *args,
                                 struct hf_saga_get_reply *reply);

/* SAGA.LIST: the sagas of the ledger in the order of their ids, a page at a time. A page of one
 * status may be short, or empty, and still have a cursor. INVALID_ARGUMENT, LEDGER_DOWN, TIMEOUT.
 */
struct hf_saga_list_args {
    struct hf_bytes status; /* optional: only those in this state, such as "NEEDS_ATTENTION" */
    struct hf_bytes after;  /* optional: the cursor of the page before */
    int64_t count;          /* 0: 100 */
};
struct hf_saga_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_saga_get_reply *items; /* free with hf_free() */
};
HF_API enum hf_error hf_saga_list(hf_handle *handle, const struct hf_saga_list_args *args,
                                  struct hf_saga_list_reply *reply);

/* SAGA.RESUME: an administrator has one that needs attention driven on from where it was.
 * NOT_FOUND, BUSY. */
struct hf_saga_resume_args {
    struct hf_bytes saga;
};
struct hf_saga_change_reply {
    char saga_id[HF_ID_SIZE], status[HF_WORD_SIZE];
};
HF_API enum hf_error hf_saga_resume(hf_handle *handle, const struct hf_saga_resume_args *args,
                                    struct hf_saga_change_reply *reply);

/* SAGA.REFUND: an administrator has one taken back that needs attention or is completed: seats and
 * payment. NOT_FOUND, INVALID_STATE, BUSY. */
struct hf_saga_refund_args {
    struct hf_bytes saga;
};
HF_API enum hf_error hf_saga_refund(hf_handle *handle, const struct hf_saga_refund_args *args,
                                    struct hf_saga_change_reply *reply);

/* SAGA.WAKE: the payment peer has news of a payment, which its saga asks for now. NOT_FOUND;
 * KEY_REUSED for a message that has come before. */
struct hf_saga_wake_args {
    struct hf_bytes payment;
    struct hf_bytes message; /* its id; empty: none */
    int64_t sent_s;          /* when it was sent, in s since the epoch */
};
HF_API enum hf_error hf_saga_wake(hf_handle *handle, const struct hf_saga_wake_args *args,
                                  struct hf_saga_change_reply *reply);

#ifdef __cplusplus
}
#endif

#endif

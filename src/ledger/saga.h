/* SPDX-License-Identifier: Apache-2.0
 *
 * Sagas in the ledger: the row of a checkout, and the moves from one of its states to the next.
 * Moves of many sagas travel in one transaction. What the states mean is the service's matter;
 * here they are texts. */
#ifndef LEDGER_SAGA_H
#define LEDGER_SAGA_H

#include "base/list.h"
#include "base/problem.h"

#define LEDGER_SAGA_TOKEN_MAX 512
#define LEDGER_SAGA_ERROR_SIZE 256
/* Of a lease that ends at no time: the saga has ended. */
#define LEDGER_SAGA_NEVER (-1)
/* Of a lease that stays as it is. */
#define LEDGER_SAGA_KEEPS 0

/* A row of `sagas`. Times are the database's, in ms since 1970. */
struct ledger_saga {
    char saga[HF_ID_SIZE], event[HF_ID_SIZE], booking[HF_ID_SIZE], zone[HF_ID_SIZE];
    char user[HF_ID_SIZE], pass[HF_ID_SIZE], payment_id[HF_ID_SIZE], owner[HF_ID_SIZE];
    char token[LEDGER_SAGA_TOKEN_MAX + 1];
    char currency[8];
    char state[20], came_from[20];
    char payment[16];
    char error_code[32], error[LEDGER_SAGA_ERROR_SIZE];
    int64_t quantity, max_per_user, unit_price, attempts;
    int64_t created_at_ms, updated_at_ms, due_at_ms;
    int64_t fence;
};

/* A list by state reads so many rows in one call, whatever it finds: there is no index of states,
 * which every move would have to change. */
#define LEDGER_SAGA_STRETCH 10000

/* Who drives a saga is told in `barriers` that its payment peer has called back: scope
 * LEDGER_WAKE_SCOPE and the owner, the saga's id, step LEDGER_WAKE_STEP. */
#define LEDGER_WAKE_SCOPE "wake:"
#define LEDGER_WAKE_STEP "wake"

/* A change of one row, or a new one. Owned by the caller, who keeps it and its saga as they are
 * until the job that carries it is answered. */
struct ledger_move {
    struct list node; /* the caller's */
    /* The row as it is to be. A new row has all of it; of another one state, came_from, payment,
     * error, attempts, owner, fence and token are written. */
    const struct ledger_saga *saga;
    bool is_new;
    const char *from;  /* the state that it must have now */
    int64_t old_fence; /* and the fence */
    int64_t lease_ms;  /* from now; or LEDGER_SAGA_NEVER, LEDGER_SAGA_KEEPS */
    int64_t due_ms;    /* from now: when the next step is due */
    /* The type of the notice that goes with the move, a constant, and its data; NULL: none. Its
     * subject is the booking. */
    const char *notice;
    struct hf_bytes noticed;
    /* The confirmation code of a booking that was confirmed past the ledger, and gets its row with
     * the move; NULL: none does. */
    const char *booked;
    size_t together; /* the caller's */
};

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the calls of clients about checkouts share: the row of a saga, and waiting for its end. */
#ifndef SERVICE_CHECKOUT_H
#define SERVICE_CHECKOUT_H

#include "service/saga.h"

/* What a client's call has in its state. */
struct checkout_work {
    struct ledger_saga row, looked;
    struct problem problem;
    int64_t wait_until_ms, poll_ms;
    service_run *answers; /* with the row */
    bool timeless;        /* the answer has no times: the row as this process knows it will do */
};

static inline struct checkout_work *checkout_work_of(struct service_call *call)
{
    return call->state;
}

/* False if there is no memory: then the call is refused and has ended. `answers` runs when the saga
 * has come to an end, or the time is over. */
bool checkout_work_begin(struct service_call *call, int64_t wait_ms, service_run *answers);
void checkout_finish(struct service_call *call);
/* Reads the row of the saga in work->row, and waits for its end. */
void checkout_find(struct service_call *call);
/* Waits for the end of the saga whose row was read. */
void checkout_wait(struct service_call *call);
/* Answers as the ledger did, which did not do it, and ends the call. */
void checkout_refuse_ledger(struct service_call *call);
const char *checkout_provider(const struct service_call *call);
/* The values of a saga, as SAGA.GET and SAGA.LIST show it. */
void saga_write(struct reply *reply, const struct ledger_saga *row, const char *provider);

#endif

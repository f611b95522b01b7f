/* SPDX-License-Identifier: Apache-2.0
 *
 * The row of a saga for a client that asks, and its wait for the end: by watching a saga that is
 * driven here, by asking the ledger about one that is not. */
#include "service/checkout.h"

#include <stdlib.h>

/* How often the ledger is asked about a saga that another server drives. */
#define POLL_FIRST_MS 50
#define POLL_MAX_MS 500

static void release(void *state)
{
    struct checkout_work *work = state;

    explicit_bzero(work->row.token, sizeof work->row.token);
    explicit_bzero(work->looked.token, sizeof work->looked.token);
    free(work);
}

void checkout_finish(struct service_call *call)
{
    call_drop_state(call);
    call_end(call);
}

bool checkout_work_begin(struct service_call *call, int64_t wait_ms, service_run *answers)
{
    struct checkout_work *work = call_add_state(call, sizeof *work, release);

    if (work == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
        return false;
    }
    work->wait_until_ms = service_now(call->service) + wait_ms;
    work->poll_ms = POLL_FIRST_MS;
    work->answers = answers;
    return true;
}

void checkout_refuse_ledger(struct service_call *call)
{
    call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
    checkout_finish(call);
}

/* ---- the row, and waiting for its end -------------------------------------------------------- */

static void row_found(struct service_call *call);

void checkout_find(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_FIND);

    job->id = hf_text(checkout_work_of(call)->row.saga);
    job->sagas = &checkout_work_of(call)->looked;
    call_submit(call, row_found);
}

/* Watches a saga that is driven here, and asks the ledger about one that is not. */
void checkout_wait(struct service_call *call)
{
    struct checkout_work *work = checkout_work_of(call);
    int64_t left_ms = work->wait_until_ms - service_now(call->service);
    struct saga *saga = saga_find(call->service, hf_text(work->row.saga));

    if (saga_state_is_final(saga_state_read(work->row.state)) || left_ms <= 0) {
        work->answers(call);
    } else if (saga != NULL) {
        saga_watch(saga, call, left_ms, checkout_find);
    } else {
        call_later(call, checkout_find, left_ms < work->poll_ms ? left_ms : work->poll_ms);
        work->poll_ms = work->poll_ms < POLL_MAX_MS ? 2 * work->poll_ms : POLL_MAX_MS;
    }
}

static void row_found(struct service_call *call)
{
    struct checkout_work *work = checkout_work_of(call);

    if (call->job.answer == LEDGER_DONE) {
        work->row = work->looked;
        checkout_wait(call);
    } else if (call->job.answer == LEDGER_NOT_FOUND) {
        call_refuse(call, HF_NOT_FOUND, "the ledger has no such saga: \"%s\"", work->row.saga);
        checkout_finish(call);
    } else {
        checkout_refuse_ledger(call);
    }
}

const char *checkout_provider(const struct service_call *call)
{
    const char *provider = payments_provider(call->service);

    return provider != NULL ? provider : "";
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * SAGA.LIST: the ledger's sagas in the order of their ids, all of them or those in one state. The
 * cursor is the last id that was read. Sagas never go and keep their ids: each that is there, and
 * in the state asked for, from the beginning to the end is listed once. A page of one state ends
 * where the ledger has read enough (LEDGER_SAGA_STRETCH): it may be short, or empty, and still have
 * a cursor. */
#include "base/text.h"
#include "service/checkout.h"

#include <stdio.h>
#include <stdlib.h>

struct saga_list_work {
    bool failed;          /* there was no memory */
    const char *provider; /* of payments */
    struct memory memory;
    struct reply reply; /* the page, with its cursor to be set */
};

static void release(void *state)
{
    struct saga_list_work *work = state;

    reply_free(&work->reply);
    free(work);
}

static void finish(struct service_call *call)
{
    call_drop_state(call);
    call_end(call);
}

static void begin_page(struct saga_list_work *work)
{
    reply_clear(&work->reply);
    work->failed = !reply_reserve(&work->reply, 1, 0);
    if (!work->failed) {
        reply_word(&work->reply, "");
    }
}

/* On a thread of the ledger, while the job is its own. */
static void collect(void *context, const struct ledger_saga *row)
{
    struct service_call *call = context;
    struct saga_list_work *work = call->state;

    if (row == NULL) {
        begin_page(work);
        return;
    }
    work->failed = work->failed || !reply_reserve(&work->reply, call->command.spec->field_count,
                                                  sizeof(struct hf_saga_get_reply));
    if (!work->failed) {
        saga_write(&work->reply, row, work->provider);
    }
}

static void listed(struct service_call *call)
{
    struct saga_list_work *work = call->state;

    if (call->job.answer != LEDGER_DONE) {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
    } else if (work->failed ||
               (call->job.more && !reply_set_cursor(&work->reply, hf_text(call->job.after)))) {
        call_refuse(call, HF_BUSY, "out of memory");
    } else {
        call_answer(call, &work->reply);
    }
    finish(call);
}

void saga_list(struct service_call *call)
{
    const struct hf_saga_list_args *args = &call->command.args.saga_list;
    struct saga_list_work *work = call_add_state(call, sizeof *work, release);

    if (work != NULL) {
        memory_init(&work->memory);
    }
    if (work == NULL || !reply_init(&work->reply, &work->memory)) {
        call_refuse(call, HF_BUSY, "out of memory");
        finish(call);
        return;
    }
    if (args->after.size > 0 && !text_is_id(args->after)) {
        call_refuse(call, HF_INVALID_ARGUMENT, "AFTER is no cursor of this list: \"%.*s\"",
                    (int)args->after.size, args->after.data);
        finish(call);
        return;
    }
    work->provider = checkout_provider(call);
    struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_LIST);
    job->id = text_equal(args->status, hf_text("any")) ? (struct hf_bytes){"", 0} : args->status;
    snprintf(job->after, sizeof job->after, "%.*s", (int)args->after.size,
             args->after.size > 0 ? args->after.data : "");
    job->delta = args->count;
    job->saga = collect;
    call_submit(call, listed);
}

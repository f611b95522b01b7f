/* SPDX-License-Identifier: Apache-2.0
 *
 * What the payment peer sends by itself. Its signature says who it is; of what it says only the
 * payment's id is used: the saga then asks the peer what became of it. SAGA.WAKE is that, and
 * refuses a message that has come before. */
#include "base/text.h"
#include "service/payments_http.h"
#include "service/saga.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HOUR_S 3600

/* ---- the message ----------------------------------------------------------------------------- */

static enum hf_error read_payment(struct hf_bytes body, char payment[HF_ID_SIZE],
                                  struct problem *problem)
{
    json_t *root = json_loadb(body.data, body.size, 0, NULL);
    const char *id = json_string_value(json_object_get(root, "payment_id"));
    bool valid = id != NULL && text_is_id(hf_text(id));

    if (valid) {
        snprintf(payment, HF_ID_SIZE, "%s", id);
    } else {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "the body must be a JSON object with payment_id and status");
    }
    json_decref(root);
    return valid ? HF_OK : HF_INVALID_ARGUMENT;
}

enum hf_error service_check_callback(struct engine *engine, const struct service_callback *callback,
                                     char payment[HF_ID_SIZE], struct problem *problem)
{
    struct webhook_keys keys = {.key = {{.size = 0}}};

    if (service_is(engine)) {
        payments_read_keys(&service_self(engine)->settings, &keys, problem);
    }
    enum webhook_verdict verdict =
        webhook_verify(&keys, callback->id, callback->timestamp, callback->signature,
                       callback->body, (int64_t)time(NULL));
    explicit_bzero(&keys, sizeof keys);
    if (verdict != WEBHOOK_VALID) {
        return problem_set(problem, HF_UNAUTHORIZED, "the callback is refused: %s",
                           webhook_verdict_text(verdict));
    }
    return read_payment(callback->body, payment, problem);
}

/* ---- SAGA.WAKE ------------------------------------------------------------------------------- */

/* What the call has in its state. */
struct wake_work {
    struct ledger_saga row;
    char scope[32], forgotten[32];
};

static void finish(struct service_call *call)
{
    call_drop_state(call);
    call_end(call);
}

static void woken(struct service_call *call)
{
    const struct wake_work *work = call->state;
    struct saga *saga;

    switch (call->job.answer) {
    case LEDGER_DONE:
        saga = saga_find(call->service, hf_text(work->row.saga));
        if (saga != NULL) {
            saga_wake(saga);
        } else {
            sagas_claim_soon(call->service);
        }
        reply_word(call_reply(call), work->row.saga);
        reply_word(&call->service->reply, work->row.state);
        call_answer(call, &call->service->reply);
        break;
    case LEDGER_DONE_BEFORE:
        call_refuse(call, HF_KEY_REUSED, "the message has come before; nothing is done again");
        break;
    case LEDGER_NOT_FOUND:
        call_refuse(call, HF_NOT_FOUND, "no saga has this payment: \"%.*s\"",
                    (int)call->command.args.saga_wake.payment.size,
                    call->command.args.saga_wake.payment.data);
        break;
    default:
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        break;
    }
    finish(call);
}

/* Messages are kept by the hour of their time, which their signature covers: an hour that is too
 * old to be accepted is forgotten as a whole. */
void saga_wake_command(struct service_call *call)
{
    const struct hf_saga_wake_args *args = &call->command.args.saga_wake;
    struct wake_work *work = call_add_state(call, sizeof *work, free);

    if (work == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
        return;
    }
    long long hour = args->sent_s / HOUR_S;
    struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_WAKE);
    snprintf(work->scope, sizeof work->scope, "callback:%lld", hour);
    snprintf(work->forgotten, sizeof work->forgotten, "callback:%lld", hour - 2);
    job->scope = hf_text(work->scope);
    job->zone = hf_text(work->forgotten);
    job->user = args->message;
    job->id = args->payment;
    job->sagas = &work->row;
    call_submit(call, woken);
}

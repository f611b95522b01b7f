/* SPDX-License-Identifier: Apache-2.0
 *
 * WEBHOOKS.REPLAY: makes notices that have ended pending again, a page at a time, and has them
 * sent. Also what webhooks tell of themselves. */
#include "service/webhooks.h"

#include <stdlib.h>

/* A ledger that cannot write that down cannot replay, either. */
#define NOTE_WAIT_MS 20
#define NOTE_WAITS 100

static void replay_page(struct service_call *call);

static void finish(struct service_call *call)
{
    call_drop_state(call);
    call_end(call);
}

static void replayed(struct service_call *call)
{
    struct ledger_outbox *outbox = call->state;

    if (call->job.answer != LEDGER_DONE) {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        finish(call);
        return;
    }
    call->total += outbox->changed;
    if (outbox->more) {
        outbox->after = outbox->next;
        replay_page(call);
        return;
    }
    struct webhooks *webhooks = call->service->webhooks;
    if (webhooks != NULL) { /* also where a receiver has said that it wants nothing more */
        webhooks->ended = webhooks->ended_noted = false;
        webhooks->failures = 0;
        webhooks_kick(call->service);
    }
    struct reply *reply = call_reply(call);
    reply_number(reply, call->total);
    call_answer(call, reply);
    finish(call);
}

static void replay_page(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_REPLAY);

    job->outbox = call->state;
    call_submit(call, replayed);
}

/* What the receiver said is written down first: written behind the replay it would count again. */
static void replay_when_noted(struct service_call *call)
{
    const struct webhooks *webhooks = call->service->webhooks;
    bool noted = webhooks == NULL || !webhooks->ended || webhooks->ended_noted;

    if (noted || call->awaited == NOTE_WAITS) {
        call->awaited = 0;
        replay_page(call);
    } else {
        call->awaited++;
        call_later(call, replay_when_noted, NOTE_WAIT_MS);
    }
}

void webhooks_replay(struct service_call *call)
{
    const struct hf_webhooks_replay_args *args = &call->command.args.webhooks_replay;
    struct ledger_outbox *outbox = call_add_state(call, sizeof *outbox, free);

    if (outbox == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
        return;
    }
    outbox->since_ms = args->since_ms;
    outbox->type = args->type;
    outbox->subject = args->key;
    outbox->delivered = args->since_ms > 0 || args->key.size > 0;
    if (call->service->webhooks != NULL) {
        outbox->receiver = hf_text(call->service->webhooks->receiver);
    }
    replay_when_noted(call);
}

/* ---- figures --------------------------------------------------------------------------------- */

void webhooks_figures(const struct service *service, engine_figure *each, void *context)
{
    const struct webhooks *webhooks = service->webhooks;
    size_t in_flight = 0;

    if (webhooks == NULL) {
        return;
    }
    for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
        in_flight += webhooks->deliveries[i].state != DELIVERY_FREE;
    }
    each(context, "webhooks_delivered_total", "Webhooks that were delivered.", true,
         (double)webhooks->delivered);
    each(context, "webhooks_failed_total", "Attempts to deliver one that came to nothing.", true,
         (double)webhooks->failed);
    each(context, "webhooks_given_up_total", "Webhooks that were given up after 3 days.", true,
         (double)webhooks->given_up);
    each(context, "webhooks_in_flight", "Webhooks that are being delivered.", false,
         (double)in_flight);
    each(context, "webhooks_ended", "The receiver has answered 410 and gets nothing more.", false,
         webhooks->ended);
    if (webhooks->pending >= 0) { /* the server that delivers knows */
        each(context, "webhooks_pending", "Webhooks that wait to be delivered.", false,
             (double)webhooks->pending);
        each(context, "webhooks_oldest_seconds", "How old the oldest of them is.", false,
             (double)webhooks->oldest_ms / 1000);
    }
}

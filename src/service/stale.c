/* SPDX-License-Identifier: Apache-2.0
 *
 * What a dead server left in flight: orders that are in the ledger and of which the engine was not
 * told, as far as the ledger knows. Each is settled in the engine, which does no harm where it was
 * settled before; when all of a writer are, the writer is forgotten, and a transaction of it that
 * is still on its way somewhere fails.
 *
 *     STALE (a page) ─> for each: SETTLE ─ not found ─> TAKE ─> SETTLE ─> … ─> BURY
 *
 * What the engine refuses is left to reconciliation: with the writer forgotten nothing hides it. A
 * return is not repeated, since it cannot be seen whether the engine was told; the refund of a
 * booking is. */
#include "base/fault.h"
#include "base/text.h"
#include "service/seats_booking.h"
#include "service/stale.h"

#include <stdio.h>
#include <stdlib.h>

struct stale_item {
    char scope[HF_ID_SIZE], id[HF_ID_SIZE], user[HF_ID_SIZE];
    char payment[HF_ID_SIZE], code[HF_CODE_SIZE]; /* of a booking */
    int64_t quantity;
    bool ended;
};

struct stale_work {
    struct call_part part;
    struct stale_item *items;
    size_t count, capacity, at;
    bool failed; /* an engine or a ledger that does not answer: nobody is forgotten */
    bool more;
    enum ledger_kind kind;
    char after[HF_ID_SIZE];
};

static void clear(struct call_part *part)
{
    free(((struct stale_work *)part)->items);
}

static void read_page(struct service_call *call);
static void settle_next(struct service_call *call);

/* ---- collecting ------------------------------------------------------------------------------ */

static void keep_text(char out[HF_ID_SIZE], struct hf_bytes text)
{
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
}

/* On a thread of the ledger, while the job is its own. A row may come twice: its transaction may
 * have been repeated. */
static void collect(void *context, const struct ledger_item *row)
{
    struct stale_work *work = ((struct service_call *)context)->state;

    if (!text_is_id(row->scope) || !text_is_id(row->id) || !text_is_id(row->user)) {
        return; /* no engine could have it */
    }
    if (work->count == work->capacity) {
        size_t wanted = work->capacity == 0 ? 64 : 2 * work->capacity;
        struct stale_item *more = realloc(work->items, wanted * sizeof *more);
        if (more == NULL) {
            work->failed = true;
            return;
        }
        work->items = more;
        work->capacity = wanted;
    }
    struct stale_item *item = &work->items[work->count++];
    keep_text(item->scope, row->scope);
    keep_text(item->id, row->id);
    keep_text(item->user, row->user);
    snprintf(item->payment, sizeof item->payment, "%.*s", (int)row->payment.size,
             row->payment.size > 0 ? row->payment.data : "");
    snprintf(item->code, sizeof item->code, "%.*s", (int)row->code.size,
             row->code.size > 0 ? row->code.data : "");
    item->quantity = row->quantity;
    item->ended = row->ended;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void finish(struct service_call *call)
{
    FAULT_POINT(stale_buried);
    call_part_end(call);
}

static void page_done(struct service_call *call)
{
    struct stale_work *work = call->state;

    if (!work->failed && (work->more || work->kind == LEDGER_ORDER)) {
        if (!work->more) {
            work->kind = LEDGER_BOOKING;
            work->after[0] = '\0';
        }
        read_page(call);
    } else if (work->failed) {
        finish(call);
    } else {
        call_job(call, LEDGER_TASK_BURY);
        call_submit(call, finish);
    }
}

/* ---- settling -------------------------------------------------------------------------------- */

static void item_done(struct service_call *call)
{
    struct stale_work *work = call->state;

    FAULT_POINT(stale_settled);
    if (code_is_failure(call->engine.code, call->engine.unknown) || call->engine.code == HF_BUSY) {
        work->failed = true;
    }
    work->at++;
    settle_next(call);
}

static void settle_item(struct service_call *call, const struct stale_item *item)
{
    struct hf_stock_take_args order = {.product = hf_text(item->scope),
                                       .order = hf_text(item->id),
                                       .user = hf_text(item->user),
                                       .quantity = item->quantity};

    settle_order(call, &order, item_done);
}

static void confirm_item(struct service_call *call, const struct stale_item *item)
{
    struct command confirm = {.spec = &command_table[SEATS_CONFIRM]};

    confirm.args.seats_confirm = (struct hf_seats_confirm_args){.event = hf_text(item->scope),
                                                                .booking = hf_text(item->id),
                                                                .payment = hf_text(item->payment)};
    seats_seed(&confirm, hf_text(item->code));
    call_engine(call, &confirm, item_done);
}

/* A booking is known by its id to the engine, which refunds it once. */
static void refund_item(struct service_call *call, const struct stale_item *item)
{
    struct command refund = {.spec = &command_table[SEATS_REFUND]};

    refund.args.seats_refund =
        (struct hf_seats_refund_args){.event = hf_text(item->scope), .booking = hf_text(item->id)};
    call_engine(call, &refund, item_done);
}

static void settle_next(struct service_call *call)
{
    struct stale_work *work = call->state;

    while (work->at < work->count && work->kind == LEDGER_ORDER && work->items[work->at].ended) {
        work->at++;
    }
    if (work->at == work->count || work->failed) {
        page_done(call);
    } else if (work->kind == LEDGER_BOOKING && work->items[work->at].ended) {
        refund_item(call, &work->items[work->at]);
    } else if (work->kind == LEDGER_BOOKING) {
        confirm_item(call, &work->items[work->at]);
    } else {
        settle_item(call, &work->items[work->at]);
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void page_read(struct service_call *call)
{
    struct stale_work *work = call->state;

    if (call->job.answer != LEDGER_DONE) {
        work->failed = true;
    }
    work->more = call->job.more;
    memcpy(work->after, call->job.after, sizeof work->after);
    settle_next(call);
}

static void read_page(struct service_call *call)
{
    struct stale_work *work = call->state;
    struct ledger_job *job = call_job(call, LEDGER_TASK_STALE);

    work->count = work->at = 0;
    job->kind = work->kind;
    job->each = collect;
    memcpy(job->after, work->after, sizeof job->after);
    call_submit(call, page_read);
}

void stale_begin(struct service_call *call, service_run *next)
{
    struct stale_work *work = call_part_begin(call, sizeof *work, next);

    if (work != NULL) {
        work->part.clear = clear;
        work->kind = LEDGER_ORDER;
        read_page(call);
    }
}

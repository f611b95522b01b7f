/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of holds past their deadline become `expired`. The engine has the hold, so it is asked: one
 * that was extended or made again, of which the row does not know yet, is not marked.
 *
 *     LAPSED (a page) ─> GET … ─> HOLDS: expired, or what the engine has ─> LAPSED … ─> next
 *
 * Readings of the ledger show such a row as expired before it is marked. */
#include "service/lapse.h"

#include "base/check.h"
#include "base/text.h"
#include "service/seats_booking.h"

/* Pages of one pass; what is left waits for the next one. */
#define PAGES_MAX 40

/* The texts of an item, in its own memory. */
enum lapse_text { LAPSE_EVENT, LAPSE_BOOKING, LAPSE_ZONE, LAPSE_USER, LAPSE_SHOW, LAPSE_TEXTS };

struct lapse_item {
    struct service_call *call;
    char texts[LAPSE_TEXTS][HF_ID_SIZE];
    bool writes; /* the row is to be written, as it is here */
    struct ledger_booking row;
};

struct lapse_work {
    struct call_part part;
    unsigned pages;
    bool failed; /* the engine does not answer */
    size_t count;
    struct lapse_item items[LEDGER_HOLDS_MAX];
    struct ledger_booking rows[LEDGER_HOLDS_MAX];
};

static void read_page(struct service_call *call);

/* ---- marking --------------------------------------------------------------------------------- */

/* A page of which nothing could be marked would come again. */
static void marked(struct service_call *call)
{
    struct lapse_work *work = call->state;

    if (call->job.answer == LEDGER_DONE && work->count == LEDGER_HOLDS_MAX &&
        ++work->pages < PAGES_MAX) {
        read_page(call);
    } else {
        call_part_end(call);
    }
}

static void mark(struct service_call *call)
{
    struct lapse_work *work = call->state;
    struct ledger_job *job = call_job(call, LEDGER_TASK_HOLDS);

    for (size_t i = 0; i < work->count; i++) {
        if (work->items[i].writes) {
            work->rows[job->count++] = work->items[i].row;
        }
    }
    if (job->count == 0 || work->failed) {
        call_part_end(call);
        return;
    }
    job->holds = work->rows;
    job->notice.type = webhooks_type(call->service, "booking");
    call_submit(call, marked);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static struct hf_bytes keep_text(struct lapse_item *item, enum lapse_text at, struct hf_bytes text)
{
    struct hf_bytes kept = {item->texts[at], text.size < HF_ID_SIZE ? text.size : HF_ID_MAX};

    if (kept.size > 0) {
        memcpy(item->texts[at], text.data, kept.size);
    }
    return kept;
}

/* What the engine has in place of the row: a hold with another deadline is written down; one that
 * is confirmed, and not by way of this ledger, has no row in it. */
static void decide(struct lapse_item *item, const struct seats_seen *seen)
{
    struct ledger_booking *row = &item->row;

    if (!seen->reserved) {
        item->writes = true;
        row->status = (struct hf_bytes){"", 0};
    } else if (seen->expires_ms > row->expires_ms) {
        item->writes = true;
        row->status = hf_text("reserved");
        row->zone = keep_text(item, LAPSE_ZONE, hf_text(seen->zone));
        row->user = keep_text(item, LAPSE_USER, hf_text(seen->user));
        row->show = keep_text(item, LAPSE_SHOW, hf_text(seen->show));
        row->quantity = seen->quantity;
        row->unit_price = seen->unit_price;
        row->created_ms = seen->created_ms;
        row->expires_ms = seen->expires_ms;
    }
}

/* Called by the engine. */
static void answered(void *context, const struct reply *reply)
{
    struct lapse_item *item = context;
    struct service_call *call = item->call;
    struct lapse_work *work = call->state;

    if (reply->code == HF_OK) {
        struct seats_seen seen;
        seats_see(&seen, reply, 0);
        decide(item, &seen);
    } else if (reply->code == HF_RESERVATION_NOT_FOUND) {
        item->writes = true;
        item->row.status = hf_text("expired");
        item->row.ended_ms = item->row.expires_ms;
    } else {
        call_note(call, reply);
        work->failed = true;
    }
    CHECK(call->awaited > 0);
    if (--call->awaited == 0) {
        call_ready(call, mark);
    }
}

static void ask(struct service_call *call)
{
    struct lapse_work *work = call->state;
    struct command get = {.spec = &command_table[SEATS_GET]};
    size_t count = work->count;

    if (call->job.answer != LEDGER_DONE || count == 0) {
        call_part_end(call);
        return;
    }
    call->awaited = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        struct lapse_item *item = &work->items[i];
        item->call = call;
        get.args.seats_get =
            (struct hf_seats_get_args){.event = item->row.event, .booking = item->row.booking};
        engine_submit(call->service->inner, &get, answered, item);
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* On a thread of the ledger, while the job is its own. What is no id, no engine could have. */
static void collect(void *context, const struct ledger_booking *row)
{
    struct lapse_work *work = ((struct service_call *)context)->state;

    if (row == NULL) {
        work->count = 0;
        return;
    }
    if (work->count == LEDGER_HOLDS_MAX || !text_is_id(row->event) || !text_is_id(row->booking)) {
        return;
    }
    struct lapse_item *item = &work->items[work->count++];
    item->writes = false;
    item->row = (struct ledger_booking){
        .event = keep_text(item, LAPSE_EVENT, row->event),
        .booking = keep_text(item, LAPSE_BOOKING, row->booking),
        .zone = keep_text(item, LAPSE_ZONE, row->zone),
        .user = keep_text(item, LAPSE_USER, row->user),
        .show = keep_text(item, LAPSE_SHOW, row->show),
        .quantity = row->quantity,
        .unit_price = row->unit_price,
        .created_ms = row->created_ms,
        .expires_ms = row->expires_ms,
    };
}

static void read_page(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_LAPSED);

    job->booking = collect;
    call_submit(call, ask);
}

void lapse_begin(struct service_call *call, service_run *next)
{
    if (!call->service->guards || call->command.args.reconcile.dry) {
        next(call);
        return;
    }
    if (call_part_begin(call, sizeof(struct lapse_work), next) != NULL) {
        read_page(call);
    }
}

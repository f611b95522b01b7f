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

#include <stdio.h>
#include <stdlib.h>

/* Pages of one pass; what is left waits for the next one. */
#define PAGES_MAX 40

struct lapse_item {
    struct service_call *call;
    char event[HF_ID_SIZE], booking[HF_ID_SIZE], zone[HF_ID_SIZE], user[HF_ID_SIZE],
        show[HF_ID_SIZE];
    int64_t quantity, unit_price, created_ms, expires_ms, ended_ms;
    const char *status; /* what is to be written; NULL: nothing */
};

struct lapse_work {
    service_run *next;
    void *outer; /* the state of whoever began, and what frees it */
    void (*release_outer)(void *state);
    unsigned pages;
    bool failed; /* the engine does not answer */
    size_t count;
    struct lapse_item items[LEDGER_HOLDS_MAX];
    struct ledger_booking rows[LEDGER_HOLDS_MAX];
};

/* With all that it stands on, when the service is closed in the middle of it. */
static void release(void *state)
{
    struct lapse_work *work = state;

    if (work->outer != NULL) {
        work->release_outer(work->outer);
    }
    free(work);
}

static void finish(struct service_call *call)
{
    struct lapse_work *work = call->state;
    service_run *next = work->next;

    call->state = work->outer;
    call->release = work->release_outer;
    free(work);
    next(call);
}

static void read_page(struct service_call *call);

/* ---- marking ---------------------------------------------------------------------------------
 * */

/* A page of which nothing could be marked would come again. */
static void marked(struct service_call *call)
{
    struct lapse_work *work = call->state;

    if (call->job.answer == LEDGER_DONE && work->count == LEDGER_HOLDS_MAX &&
        ++work->pages < PAGES_MAX) {
        read_page(call);
    } else {
        finish(call);
    }
}

static void mark(struct service_call *call)
{
    struct lapse_work *work = call->state;
    struct ledger_job *job = call_job(call, LEDGER_TASK_HOLDS);

    for (size_t i = 0; i < work->count; i++) {
        const struct lapse_item *item = &work->items[i];
        if (item->status != NULL) {
            work->rows[job->count++] = (struct ledger_booking){.event = hf_text(item->event),
                                                               .booking = hf_text(item->booking),
                                                               .zone = hf_text(item->zone),
                                                               .user = hf_text(item->user),
                                                               .show = hf_text(item->show),
                                                               .status = hf_text(item->status),
                                                               .quantity = item->quantity,
                                                               .unit_price = item->unit_price,
                                                               .created_ms = item->created_ms,
                                                               .expires_ms = item->expires_ms,
                                                               .ended_ms = item->ended_ms};
        }
    }
    if (job->count == 0 || work->failed) {
        finish(call);
        return;
    }
    job->holds = work->rows;
    call_submit(call, marked);
}

/* ---- asking ----------------------------------------------------------------------------------
 * */

/* What the engine has in place of the row: a hold with another deadline is written down; one that
 * is confirmed, and not by way of this ledger, has no row in it. */
static void decide(struct lapse_item *item, const struct seats_seen *seen)
{
    if (!seen->reserved) {
        item->status = "";
    } else if (seen->expires_ms > item->expires_ms) {
        item->status = "reserved";
        snprintf(item->zone, sizeof item->zone, "%s", seen->zone);
        snprintf(item->user, sizeof item->user, "%s", seen->user);
        snprintf(item->show, sizeof item->show, "%s", seen->show);
        item->quantity = seen->quantity;
        item->unit_price = seen->unit_price;
        item->created_ms = seen->created_ms;
        item->expires_ms = seen->expires_ms;
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
        seats_see(&seen, reply);
        decide(item, &seen);
    } else if (reply->code == HF_RESERVATION_NOT_FOUND) {
        item->status = "expired";
        item->ended_ms = item->expires_ms;
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
        finish(call);
        return;
    }
    call->awaited = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        struct lapse_item *item = &work->items[i];
        item->call = call;
        get.args.seats_get = (struct hf_seats_get_args){.event = hf_text(item->event),
                                                        .booking = hf_text(item->booking)};
        engine_submit(call->service->inner, &get, answered, item);
    }
}

/* ---- pages -----------------------------------------------------------------------------------
 * */

static void keep_text(char out[HF_ID_SIZE], struct hf_bytes text)
{
    snprintf(out, HF_ID_SIZE, "%.*s", (int)text.size, text.size > 0 ? text.data : "");
}

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
    keep_text(item->event, row->event);
    keep_text(item->booking, row->booking);
    keep_text(item->zone, row->zone);
    keep_text(item->user, row->user);
    keep_text(item->show, row->show);
    item->quantity = row->quantity;
    item->unit_price = row->unit_price;
    item->created_ms = row->created_ms;
    item->expires_ms = row->expires_ms;
    item->ended_ms = 0;
    item->status = NULL;
}

static void read_page(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_LAPSED);

    job->booking = collect;
    call_submit(call, ask);
}

void lapse_begin(struct service_call *call, service_run *next)
{
    void *outer = call->state;
    void (*release_outer)(void *state) = call->release;

    if (!call->service->guards || call->command.args.reconcile.dry) {
        next(call);
        return;
    }
    struct lapse_work *work = call_add_state(call, sizeof *work, release);
    if (work == NULL) {
        call->state = outer;
        call->release = release_outer;
        next(call);
        return;
    }
    work->next = next;
    work->outer = outer;
    work->release_outer = release_outer;
    read_page(call);
}

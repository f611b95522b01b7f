/* SPDX-License-Identifier: Apache-2.0
 *
 * The zones of a reconciliation: a page of them at a time with the totals that the engine lists,
 * all of them in the ledger at once; only those that are suspicious are looked at one by one
 * (zone_look.c).
 *
 *     LIST ─> READ ─> look … ─> LIST … ─> next */
#include "service/zone_look.h"

#include <stdio.h>

#define ZONES_PAGE 100

/* Where the totals of a zone are among the fields of LIST. */
enum {
    LISTED_NAME = 0,
    LISTED_AVAILABLE = 6,
    LISTED_RESERVED = 7,
};

struct zones_work {
    struct call_part part;
    struct zone_totals *totals; /* in `outer` */
    char cursor[HF_CURSOR_SIZE];
    size_t count, at;
    char names[ZONES_PAGE][ZONE_NAME_SIZE];
    int64_t unsold[ZONES_PAGE]; /* in the engine */
    struct hf_bytes events[ZONES_PAGE], zones[ZONES_PAGE];
    struct ledger_counter counters[ZONES_PAGE];
};

static void fail(struct service_call *call, const struct problem *problem)
{
    struct zones_work *work = call->state;

    work->totals->problem = *problem;
    work->totals->problem.code = problem->code != HF_OK ? problem->code : HF_LEDGER_DOWN;
    call_part_end(call);
}

static void list_page(struct service_call *call);
static void look_next(struct service_call *call);

/* ---- looks ----------------------------------------------------------------------------------- */

static void looked(struct service_call *look)
{
    struct service_call *call = look->look.owner;
    struct zones_work *work = call->state;
    struct service_look found = look->look;

    call_drop_state(look);
    call_end(look);
    if (found.result == LOOK_ENGINE || found.result == LOOK_LEDGER) {
        fail(call, &found.problem);
        return;
    }
    work->totals->corrected +=
        found.result == LOOK_CORRECTED || (found.result == LOOK_DIFFERS && found.dry);
    work->totals->drift += found.difference;
    work->at++;
    call_ready(call, look_next);
}

static bool is_suspicious(const struct zones_work *work, size_t i)
{
    const struct ledger_counter *counter = &work->counters[i];
    struct interval_reading reading = {.engine_before = work->unsold[i],
                                       .stock = counter->left,
                                       .selling = counter->selling,
                                       .ending = counter->ending};

    return counter->found && interval_is_suspicious(&reading);
}

static void look_next(struct service_call *call)
{
    struct zones_work *work = call->state;

    while (work->at < work->count && !is_suspicious(work, work->at)) {
        work->at++;
    }
    if (work->at == work->count) {
        if (work->cursor[0] == '\0') {
            call_part_end(call);
        } else {
            list_page(call);
        }
        return;
    }
    struct service_call *look =
        zone_look_new(call->service, work->events[work->at], work->zones[work->at]);
    if (look == NULL) {
        fail(call, &(struct problem){HF_BUSY, "out of memory"});
        return;
    }
    look->look.dry = work->totals->dry;
    look->look.ended = looked;
    look->look.owner = call;
    zone_look_begin(look);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void ledger_read(struct service_call *call)
{
    if (call->job.answer != LEDGER_DONE) {
        fail(call, &call->job.problem);
        return;
    }
    look_next(call);
}

static void read_ledger(struct service_call *call)
{
    struct zones_work *work = call->state;

    work->at = 0;
    if (work->count == 0) {
        look_next(call);
        return;
    }
    struct ledger_job *job = call_job(call, LEDGER_TASK_READ);
    job->kind = LEDGER_BOOKING;
    job->scopes = work->events;
    job->zones = work->zones;
    job->counters = work->counters;
    job->count = work->count;
    call_submit(call, ledger_read);
}

static void engine_failed(struct service_call *call)
{
    fail(call, &call->engine.problem);
}

/* Keeps a zone of the page; one without its totals is left for the next pass. */
static void keep(struct zones_work *work, const struct reply *reply, size_t first)
{
    struct hf_bytes name = reply_bytes(reply, first + LISTED_NAME);
    const struct value *available = &reply->values[first + LISTED_AVAILABLE];
    const struct value *reserved = &reply->values[first + LISTED_RESERVED];
    char *own = work->names[work->count];

    if (available->kind != VALUE_NUMBER || reserved->kind != VALUE_NUMBER ||
        name.size >= ZONE_NAME_SIZE) {
        return;
    }
    memcpy(own, name.data, name.size);
    const char *space = memchr(own, ' ', name.size);
    if (space != NULL) {
        size_t size = (size_t)(space - own);
        work->events[work->count] = (struct hf_bytes){own, size};
        work->zones[work->count] = (struct hf_bytes){space + 1, name.size - size - 1};
        work->unsold[work->count++] = available->number + reserved->number;
    }
}

/* Called by the engine. */
static void listed(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    struct zones_work *work = call->state;
    const struct command_spec *spec = &command_table[LIST];

    if (!call_listed(call, reply, work->cursor, engine_failed)) {
        return;
    }
    work->count = 0;
    for (size_t i = 0; i < reply_items(reply, spec) && i < ZONES_PAGE; i++) {
        keep(work, reply, reply_item(spec, i));
    }
    call_ready(call, read_ledger);
}

static void list_page(struct service_call *call)
{
    const struct zones_work *work = call->state;

    call_list(call, "zones", work->cursor, ZONES_PAGE, listed);
}

void zones_compare(struct service_call *call, struct zone_totals *totals, service_run *next)
{
    struct zones_work *work = call_part_begin(call, sizeof *work, next);

    if (work != NULL) {
        work->totals = totals;
        list_page(call);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of holds that were never written: a server that was killed had them in its queue (holds.c).
 * The first reconciliation of a process writes down every hold that the engine has. A row that is
 * there is only moved on, so that nothing changes where nothing is missing.
 *
 *     LIST events ─> for each: SEATS.LIST reserved ─> HOLDS ─> … next page ─> … ─> next
 *
 * If the engine or the ledger does not answer, the next reconciliation begins anew. */
#include "service/holds.h"
#include "service/seats_booking.h"

#include <stdio.h>

#define EVENTS_PAGE 100
#define BOOKINGS_PAGE 200
_Static_assert(BOOKINGS_PAGE <= LEDGER_HOLDS_MAX, "a page is one job");

struct rebuild_item {
    char booking[HF_ID_SIZE];
    struct seats_seen seen;
};

struct rebuild_work {
    struct call_part part;
    char events_cursor[HF_CURSOR_SIZE], bookings_cursor[HF_CURSOR_SIZE];
    char events[EVENTS_PAGE][HF_ID_SIZE];
    size_t event_count, at; /* events of the page, and which one it is at */
    size_t count;
    struct rebuild_item items[BOOKINGS_PAGE];
    struct ledger_booking rows[BOOKINGS_PAGE];
};

static void list_events(struct service_call *call);
static void list_bookings(struct service_call *call);

static void keep_cursor(char out[HF_CURSOR_SIZE], const struct reply *reply)
{
    struct hf_bytes cursor = reply_bytes(reply, 0);

    snprintf(out, HF_CURSOR_SIZE, "%.*s", (int)cursor.size, cursor.data);
}

/* ---- the holds of an event ------------------------------------------------------------------- */

/* The event that it is at, or the next page. */
static void go_on(struct service_call *call)
{
    const struct rebuild_work *work = call->state;

    if (work->at < work->event_count) {
        list_bookings(call);
    } else if (work->events_cursor[0] != '\0') {
        list_events(call);
    } else {
        call->service->holds_rebuilt = true;
        call_part_end(call);
    }
}

static void written(struct service_call *call)
{
    struct rebuild_work *work = call->state;

    if (call->job.answer != LEDGER_DONE) {
        call_part_end(call);
        return;
    }
    work->at += work->bookings_cursor[0] == '\0'; /* that was the event's last page */
    go_on(call);
}

static struct ledger_booking row_of(const struct rebuild_item *item, struct hf_bytes event)
{
    const struct seats_seen *seen = &item->seen;

    return (struct ledger_booking){.event = event,
                                   .booking = hf_text(item->booking),
                                   .zone = hf_text(seen->zone),
                                   .user = hf_text(seen->user),
                                   .show = hf_text(seen->show),
                                   .status = hf_text("reserved"),
                                   .quantity = seen->quantity,
                                   .unit_price = seen->unit_price,
                                   .created_ms = seen->created_ms,
                                   .expires_ms = seen->expires_ms};
}

static void write_page(struct service_call *call)
{
    struct rebuild_work *work = call->state;
    struct hf_bytes event = hf_text(work->events[work->at]);

    for (size_t i = 0; i < work->count; i++) {
        work->rows[i] = row_of(&work->items[i], event);
    }
    struct ledger_job *job = call_job(call, LEDGER_TASK_HOLDS);
    if (work->count == 0) {
        job->answer = LEDGER_DONE;
        written(call);
        return;
    }
    job->holds = work->rows;
    job->count = work->count;
    job->notice.type = webhooks_type(call->service, "booking");
    call_submit(call, written);
}

/* Called by the engine. */
static void bookings_listed(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    struct rebuild_work *work = call->state;
    const struct command_spec *spec = &command_table[SEATS_LIST];

    if (reply->code != HF_OK) {
        call_note(call, reply);
        call_ready(call, call_part_end);
        return;
    }
    keep_cursor(work->bookings_cursor, reply);
    work->count = 0;
    for (size_t i = 0; i < reply_items(reply, spec) && i < BOOKINGS_PAGE; i++) {
        struct rebuild_item *item = &work->items[work->count++];
        struct hf_bytes booking = reply_bytes(reply, reply_item(spec, i));
        snprintf(item->booking, HF_ID_SIZE, "%.*s", (int)booking.size, booking.data);
        seats_see(&item->seen, reply, reply_item(spec, i));
    }
    call_ready(call, write_page);
}

static void list_bookings(struct service_call *call)
{
    struct rebuild_work *work = call->state;
    struct command list = {.spec = &command_table[SEATS_LIST]};

    list.args.seats_list = (struct hf_seats_list_args){.event = hf_text(work->events[work->at]),
                                                       .zone = hf_text(""),
                                                       .user = hf_text(""),
                                                       .status = hf_text("reserved"),
                                                       .after = hf_text(work->bookings_cursor),
                                                       .count = BOOKINGS_PAGE};
    engine_submit(call->service->inner, &list, bookings_listed, call);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Called by the engine. */
static void events_listed(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    struct rebuild_work *work = call->state;
    const struct command_spec *spec = &command_table[LIST];

    if (reply->code != HF_OK) {
        call_note(call, reply);
        call_ready(call, call_part_end);
        return;
    }
    keep_cursor(work->events_cursor, reply);
    work->event_count = work->at = 0;
    for (size_t i = 0; i < reply_items(reply, spec) && i < EVENTS_PAGE; i++) {
        struct hf_bytes name = reply_bytes(reply, reply_item(spec, i));
        snprintf(work->events[work->event_count++], HF_ID_SIZE, "%.*s", (int)name.size, name.data);
    }
    call_ready(call, go_on);
}

static void list_events(struct service_call *call)
{
    struct rebuild_work *work = call->state;
    struct command list = {.spec = &command_table[LIST]};

    list.args.list = (struct hf_list_args){.kind = hf_text("events"),
                                           .match = hf_text(""),
                                           .after = hf_text(work->events_cursor),
                                           .count = EVENTS_PAGE};
    engine_submit(call->service->inner, &list, events_listed, call);
}

void holds_rebuild(struct service_call *call, service_run *next)
{
    if (!call->service->guards || call->service->holds_rebuilt ||
        call->command.args.reconcile.dry) {
        next(call);
        return;
    }
    if (call_part_begin(call, sizeof(struct rebuild_work), next) != NULL) {
        list_events(call);
    }
}

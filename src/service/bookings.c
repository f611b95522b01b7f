/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.BOOKINGS and SEATS.HISTORY: lists of the ledger's bookings. A page is read in the order of
 * the primary key, or of a user's index, from the id that the cursor names on; what a filter leaves
 * out is read and not shown. So a call's work is bounded, whatever the filter; a page may have less
 * than was asked for, or nothing, and still a cursor.
 *
 * A cursor is the id of the last booking that was read; of a user's list its event, a space, and
 * its id. Rows are never moved and never go, so every booking that is there from the beginning to
 * the end is listed once. */
#include "base/text.h"
#include "service/service_state.h"

#include <stdio.h>
#include <stdlib.h>

/* Rows that one call reads where there is a filter. */
#define SCAN_MAX 1000

/* The page, and which bookings are wanted; an empty text: all. */
struct bookings_work {
    struct hf_bytes event, zone, user, status;
    size_t count;
    size_t read, most; /* rows so far; rows to be read at most */
    bool ended;        /* what was read last is beyond the list */
    bool failed;       /* there was no memory */
    char event_read[HF_ID_SIZE], booking_read[HF_ID_SIZE]; /* the last one */
    struct memory memory;
    struct reply reply; /* the page, with its cursor to be set */
};

static void release(void *state)
{
    struct bookings_work *work = state;

    reply_free(&work->reply);
    free(work);
}

static void finish(struct service_call *call)
{
    call_drop_state(call);
    call_end(call);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_one(struct hf_bytes wanted, struct hf_bytes text)
{
    return wanted.size == 0 || text_equal(wanted, text);
}

static void add_time(struct reply *reply, int64_t ms)
{
    if (ms != 0) {
        reply_number(reply, ms);
    } else {
        reply_absent(reply);
    }
}

static void add_text(struct reply *reply, struct hf_bytes text)
{
    if (text.size > 0) {
        reply_text(reply, text.data, text.size);
    } else {
        reply_absent(reply);
    }
}

static void show(struct reply *reply, const struct ledger_booking *row)
{
    reply_text(reply, row->booking.data, row->booking.size);
    reply_text(reply, row->user.data, row->user.size);
    reply_text(reply, row->zone.data, row->zone.size);
    reply_text(reply, row->event.data, row->event.size);
    add_text(reply, row->show);
    reply_number(reply, row->quantity);
    reply_number(reply, row->unit_price);
    reply_text(reply, row->status.data, row->status.size);
    reply_number(reply, row->created_ms);
    add_time(reply, row->expires_ms);
    add_time(reply, row->confirmed_ms);
    add_time(reply, row->ended_ms);
    add_text(reply, row->payment);
    add_text(reply, row->code);
}

static size_t texts_of(const struct ledger_booking *row)
{
    return row->booking.size + row->user.size + row->zone.size + row->event.size + row->show.size +
           row->status.size + row->payment.size + row->code.size;
}

/* Only what another program has written there can be longer. */
static bool is_ours(const struct ledger_booking *row)
{
    return text_is_id(row->event) && text_is_id(row->booking) && row->zone.size <= HF_ID_MAX &&
           row->user.size <= HF_ID_MAX && row->show.size <= HF_ID_MAX &&
           row->payment.size <= HF_ID_MAX && row->code.size < HF_CODE_SIZE &&
           row->status.size < HF_WORD_SIZE;
}

static void begin_page(struct bookings_work *work)
{
    reply_clear(&work->reply);
    work->count = work->read = 0;
    work->ended = work->failed = false;
    work->failed = !reply_reserve(&work->reply, 1, 0);
    if (!work->failed) {
        reply_word(&work->reply, "");
    }
}

/* On a thread of the ledger, while the job is its own. */
static void collect(void *context, const struct ledger_booking *row)
{
    struct service_call *call = context;
    struct bookings_work *work = call->state;

    if (row == NULL) {
        begin_page(work);
        return;
    }
    if (work->failed || work->ended || work->count == (size_t)call->total) {
        return;
    }
    if (!is_one(work->event, row->event)) {
        work->ended = true; /* a user's list of one event is in the order of events */
        return;
    }
    work->read++;
    snprintf(work->event_read, HF_ID_SIZE, "%.*s", (int)row->event.size, row->event.data);
    snprintf(work->booking_read, HF_ID_SIZE, "%.*s", (int)row->booking.size, row->booking.data);
    if (!is_ours(row) || !is_one(work->zone, row->zone) || !is_one(work->user, row->user) ||
        !is_one(work->status, row->status)) {
        return;
    }
    if (!reply_reserve(&work->reply, call->command.spec->field_count, texts_of(row))) {
        work->failed = true;
        return;
    }
    show(&work->reply, row);
    work->count++;
}

/* ---- the page -------------------------------------------------------------------------------- */

static bool set_cursor(struct service_call *call)
{
    struct bookings_work *work = call->state;
    bool of_user = command_id(call->command.spec) == SEATS_BOOKINGS;
    char cursor[HF_PAIR_CURSOR_SIZE];
    bool full = work->count == (size_t)call->total || work->read == work->most;

    if (!full || work->ended) {
        return true;
    }
    int size = snprintf(cursor, sizeof cursor, "%s%s%s", of_user ? work->event_read : "",
                        of_user ? " " : "", work->booking_read);
    return reply_set_cursor(&work->reply, (struct hf_bytes){cursor, (size_t)size});
}

static void listed(struct service_call *call)
{
    struct bookings_work *work = call->state;

    if (call->job.answer != LEDGER_DONE) {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
    } else if (work->failed || !set_cursor(call)) {
        call_refuse(call, HF_BUSY, "out of memory");
    } else {
        call_answer(call, &work->reply);
    }
    finish(call);
}

static bool begin(struct service_call *call, int64_t count)
{
    struct bookings_work *work = call_add_state(call, sizeof *work, release);

    if (work != NULL) {
        memory_init(&work->memory);
        if (reply_init(&work->reply, &work->memory)) {
            call->total = count;
            return true;
        }
    }
    call_refuse(call, HF_BUSY, "out of memory");
    finish(call);
    return false;
}

static void refuse_cursor(struct service_call *call, struct hf_bytes after)
{
    call_refuse(call, HF_INVALID_ARGUMENT, "AFTER is no cursor of this list: \"%.*s\"",
                (int)after.size, after.data);
    finish(call);
}

/* Where nothing is left out, no more rows are read than are shown. */
static void submit(struct service_call *call, struct ledger_job *job)
{
    struct bookings_work *work = call->state;
    bool filtered = work->zone.size > 0 || work->user.size > 0 || work->status.size > 0;

    if (text_equal(work->status, hf_text("any"))) {
        work->status = (struct hf_bytes){"", 0};
        filtered = work->zone.size > 0 || work->user.size > 0;
    }
    work->most = filtered && call->total < SCAN_MAX ? SCAN_MAX : (size_t)call->total;
    job->delta = (int64_t)work->most;
    job->booking = collect;
    call_submit(call, listed);
}

/* ---- the commands ---------------------------------------------------------------------------- */

void bookings_of_event(struct service_call *call)
{
    const struct hf_seats_history_args *args = &call->command.args.seats_history;

    if (!begin(call, args->count)) {
        return;
    }
    if (args->after.size > 0 && !text_is_id(args->after)) {
        refuse_cursor(call, args->after);
        return;
    }
    struct bookings_work *work = call->state;
    work->zone = args->zone;
    work->user = args->user;
    work->status = args->status;
    struct ledger_job *job = call_job(call, LEDGER_TASK_LIST);
    job->scope = args->event;
    snprintf(job->after, sizeof job->after, "%.*s", (int)args->after.size,
             args->after.size > 0 ? args->after.data : "");
    submit(call, job);
}

/* Takes a cursor apart; false if it is none. */
static bool split(struct hf_bytes cursor, struct hf_bytes *event, struct hf_bytes *booking)
{
    const char *space = memchr(cursor.data, ' ', cursor.size);

    if (space == NULL) {
        return false;
    }
    size_t size = (size_t)(space - cursor.data);
    *event = (struct hf_bytes){cursor.data, size};
    *booking = (struct hf_bytes){space + 1, cursor.size - size - 1};
    return text_is_id(*event) && text_is_id(*booking);
}

void bookings_of_user(struct service_call *call)
{
    const struct hf_seats_bookings_args *args = &call->command.args.seats_bookings;
    struct hf_bytes event = args->event, booking = {"", 0};

    if (!begin(call, args->count)) {
        return;
    }
    if (args->after.size > 0 &&
        (!split(args->after, &event, &booking) || !is_one(args->event, event))) {
        refuse_cursor(call, args->after);
        return;
    }
    struct bookings_work *work = call->state;
    work->event = args->event;
    work->zone = args->zone;
    work->status = args->status;
    struct ledger_job *job = call_job(call, LEDGER_TASK_LIST);
    job->user = args->user;
    snprintf(job->after_event, sizeof job->after_event, "%.*s", (int)event.size,
             event.size > 0 ? event.data : "");
    snprintf(job->after, sizeof job->after, "%.*s", (int)booking.size, booking.data);
    submit(call, job);
}

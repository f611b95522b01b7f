/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs about the outbox: writing a notice, reading those that are due, noting what became of them,
 * making them pending again, and removing the old. */
#include "ledger/jobs.h"

#include "base/check.h"
#include "ledger/row.h"
#include "ledger/writer.h"

/* ---- writing --------------------------------------------------------------------------------- */

/* The text is made in the run, which outlives the transaction. */
static struct hf_bytes make_data(struct ledger_job_run *run, const struct ledger_noticed *noticed)
{
    struct memory memory;
    struct buffer text;
    struct hf_bytes data = {run->noticed, 0};

    memory_init(&memory);
    buffer_init(&text, &memory);
    ledger_notice_write(&text, noticed);
    data.size = text.size < sizeof run->noticed ? text.size : 0;
    if (data.size > 0) {
        memcpy(run->noticed, text.data, data.size);
    } else {
        memcpy(run->noticed, "{}", data.size = 2); /* there was no memory for more */
    }
    buffer_free(&text);
    return data;
}

void ledger_job_notice(struct ledger_job_run *run, const struct ledger_noticed *noticed,
                       struct sql_step *steps, size_t *count)
{
    const struct ledger_notice *notice = &run->job->notice;

    if (notice->type == NULL) {
        return;
    }
    ledger_notice_values(notice->scope.size > 0 ? notice->scope : run->job->scope,
                         notice->id.size > 0 ? notice->id : run->job->id, notice->type,
                         notice->data.size > 0 ? notice->data : make_data(run, noticed),
                         run->notice);
    steps[(*count)++] = ledger_step(run->writer, LEDGER_NOTICE_ADD, run->notice, 1);
}

enum sql_result ledger_job_note(struct ledger_job_run *run)
{
    const struct ledger_noticed nothing = {.status = ""};
    struct sql_step steps[2] = {ledger_job_fence(run)};
    size_t count = 1;

    run->job->answer = LEDGER_DONE;
    ledger_job_notice(run, &nothing, steps, &count);
    return ledger_job_steps(run, steps, count, true);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum {
    DUE_ID,
    DUE_SCOPE,
    DUE_SUBJECT,
    DUE_TYPE,
    DUE_DATA,
    DUE_ATTEMPTS,
    DUE_CREATED,
    DUE_AGE,
    DUE_BEHIND,
    DUE_NOW
};

/* What a row has that is longer than anything we write, somebody else has written. */
static bool read_data(struct ledger_event *event, const struct sql_value *data)
{
    if (data->kind != SQL_TEXT || data->text.size > sizeof event->data) {
        return false;
    }
    memcpy(event->data, data->text.data, data->text.size);
    event->data_size = data->text.size;
    return true;
}

static void see_due(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct ledger_outbox *outbox = context;

    (void)row;
    (void)count;
    if (outbox->count == outbox->max) {
        return;
    }
    struct ledger_event *event = &outbox->events[outbox->count];
    int64_t behind = ledger_integer(&columns[DUE_BEHIND]),
            wait = behind - ledger_integer(&columns[DUE_NOW]);
    event->id = columns[DUE_ID].integer;
    event->attempts = ledger_integer(&columns[DUE_ATTEMPTS]);
    event->created_ms = ledger_integer(&columns[DUE_CREATED]);
    event->age_ms = ledger_integer(&columns[DUE_AGE]);
    event->behind_ms = behind < 0 ? -1 : wait > 0 ? wait : 0;
    ledger_text_copy(event->scope, sizeof event->scope, &columns[DUE_SCOPE]);
    ledger_text_copy(event->subject, sizeof event->subject, &columns[DUE_SUBJECT]);
    ledger_text_copy(event->type, sizeof event->type, &columns[DUE_TYPE]);
    outbox->count += read_data(event, &columns[DUE_DATA]) ? 1U : 0U;
}

static void see_end(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    (void)row;
    (void)columns;
    (void)count;
    ((struct ledger_outbox *)context)->ended = true;
}

enum sql_result ledger_job_due(struct ledger_job_run *run)
{
    struct ledger_outbox *outbox = run->job->outbox;
    struct sql_value receiver[] = {sql_text(outbox->receiver), sql_integer(1)};
    struct sql_value ahead = sql_integer(outbox->ahead_ms), most = sql_integer(LEDGER_PENDING_MAX);
    struct sql_value values[] = {ahead, ahead, ahead};
    struct sql_step steps[] = {
        ledger_query(run->writer, LEDGER_OUTBOX_DUE, values, see_due, outbox),
        ledger_query(run->writer, LEDGER_OUTBOX_PENDING, &most, ledger_see_number,
                     &outbox->pending),
        ledger_query(run->writer, LEDGER_OUTBOX_OLDEST, &ahead, ledger_see_number,
                     &outbox->oldest_ms),
        ledger_query(run->writer, LEDGER_BARRIERS_OF, receiver, see_end, outbox),
    };

    outbox->count = 0;
    outbox->ended = false;
    outbox->pending = outbox->oldest_ms = 0;
    run->job->answer = LEDGER_DONE;
    return ledger_job_steps(run, steps, sizeof steps / sizeof steps[0], true);
}

/* ---- many rows at once ----------------------------------------------------------------------- */

/* What a transaction says of the receiver: nothing, that it wants nothing more, or the contrary. */
enum receiver_note { RECEIVER_UNTOUCHED, RECEIVER_ENDS, RECEIVER_BEGINS };

/* Carries out a statement for each of `rows` rows of values, behind the fence. */
static enum sql_result change(struct ledger_job_run *run, enum ledger_statement statement,
                              const struct sql_value *values, size_t rows, enum receiver_note note)
{
    struct sql_value receiver[] = {sql_text(run->job->outbox->receiver),
                                   sql_text(hf_text("webhooks")), sql_text(hf_text("ended"))};
    struct sql_step steps[] = {ledger_job_fence(run),
                               ledger_step(run->writer, statement, values, SQL_ANY),
                               ledger_step(run->writer, LEDGER_BARRIERS_FORGET, receiver, SQL_ANY),
                               ledger_step(run->writer, LEDGER_BARRIER_ADD, receiver, 1)};

    steps[1].rows = rows;
    return ledger_job_steps(run, steps,
                            note == RECEIVER_UNTOUCHED ? 2
                            : note == RECEIVER_BEGINS  ? 3
                                                       : 4,
                            true);
}

enum sql_result ledger_job_settle(struct ledger_job_run *run)
{
    const struct ledger_outbox *outbox = run->job->outbox;
    struct sql_value values[4 * LEDGER_OUTBOX_PAGE];

    CHECK(outbox->settled_count <= LEDGER_OUTBOX_PAGE);
    run->job->answer = LEDGER_DONE;
    if (outbox->settled_count == 0) {
        return ledger_job_leave(run, LEDGER_DONE);
    }
    for (size_t i = 0; i < outbox->settled_count; i++) {
        const struct ledger_settled *settled = &outbox->settled[i];
        values[4 * i] = sql_integer(settled->state);
        values[4 * i + 1] = sql_integer(settled->attempts);
        values[4 * i + 2] = sql_integer(outbox->ahead_ms + settled->due_ms);
        values[4 * i + 3] = sql_integer(settled->id);
    }
    return change(run, LEDGER_OUTBOX_SETTLE, values, outbox->settled_count,
                  outbox->ends ? RECEIVER_ENDS : RECEIVER_UNTOUCHED);
}

/* Ids of a page. */
struct seen_ids {
    int64_t ids[LEDGER_OUTBOX_PAGE];
    size_t count;
};

static void see_id(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct seen_ids *seen = context;

    (void)row;
    (void)count;
    if (seen->count < LEDGER_OUTBOX_PAGE) {
        seen->ids[seen->count++] = columns[0].integer;
    }
}

enum sql_result ledger_job_replay(struct ledger_job_run *run)
{
    struct ledger_outbox *outbox = run->job->outbox;
    struct sql_value ahead = sql_integer(outbox->ahead_ms);
    struct sql_value which[] = {
        sql_integer(outbox->after),
        sql_integer(outbox->delivered ? LEDGER_EVENT_DELIVERED : LEDGER_EVENT_GIVEN_UP),
        sql_integer(outbox->since_ms),
        sql_integer(outbox->type.size > 0),
        sql_text(outbox->type),
        sql_integer(outbox->subject.size > 0),
        sql_text(outbox->subject)};
    struct sql_value values[3 * LEDGER_OUTBOX_PAGE];
    struct seen_ids seen = {.count = 0};
    struct sql_step step = ledger_query(run->writer, LEDGER_OUTBOX_ENDED, which, see_id, &seen);
    enum sql_result result = ledger_job_steps(run, &step, 1, false);

    outbox->changed = (int64_t)seen.count;
    outbox->more = seen.count == LEDGER_OUTBOX_PAGE;
    outbox->next = outbox->after;
    run->job->answer = LEDGER_DONE;
    if (result != SQL_DONE || (seen.count == 0 && outbox->receiver.size == 0)) {
        return result == SQL_DONE ? ledger_job_leave(run, LEDGER_DONE) : result;
    }
    for (size_t i = 0; i < seen.count; i++) {
        values[3 * i] = values[3 * i + 1] = ahead;
        values[3 * i + 2] = sql_integer(seen.ids[i]);
    }
    outbox->next = seen.count > 0 ? seen.ids[seen.count - 1] : outbox->after;
    return change(run, LEDGER_OUTBOX_REVIVE, values, seen.count,
                  outbox->receiver.size > 0 ? RECEIVER_BEGINS : RECEIVER_UNTOUCHED);
}

enum sql_result ledger_job_sweep(struct ledger_job_run *run)
{
    struct ledger_outbox *outbox = run->job->outbox;
    struct sql_value ahead = sql_integer(outbox->ahead_ms);
    struct sql_value delivered[] = {sql_integer(LEDGER_EVENT_DELIVERED), ahead,
                                    sql_integer(outbox->keep_delivered_ms)};
    struct sql_value given_up[] = {sql_integer(LEDGER_EVENT_GIVEN_UP), ahead,
                                   sql_integer(outbox->keep_given_up_ms)};
    struct sql_value values[LEDGER_OUTBOX_PAGE];
    struct seen_ids seen = {.count = 0};
    struct sql_step steps[] = {
        ledger_query(run->writer, LEDGER_OUTBOX_OLD, delivered, see_id, &seen),
        ledger_query(run->writer, LEDGER_OUTBOX_OLD, given_up, see_id, &seen),
    };
    enum sql_result result = ledger_job_steps(run, steps, 2, false);

    outbox->changed = (int64_t)seen.count;
    outbox->more = seen.count == LEDGER_OUTBOX_PAGE;
    run->job->answer = LEDGER_DONE;
    if (result != SQL_DONE || seen.count == 0) {
        return result == SQL_DONE ? ledger_job_leave(run, LEDGER_DONE) : result;
    }
    for (size_t i = 0; i < seen.count; i++) {
        values[i] = sql_integer(seen.ids[i]);
    }
    return change(run, LEDGER_OUTBOX_REMOVE, values, seen.count, RECEIVER_UNTOUCHED);
}

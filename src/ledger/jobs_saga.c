/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs about sagas: moves from state to state, many in one transaction; looking one up; claiming
 * those whose owner is gone; waking the one that a payment peer has called back about. */
#include "ledger/jobs.h"

#include "ledger/outbox.h"
#include "ledger/row.h"
#include "ledger/writer.h"

#include <stdlib.h>

#define ADD_VALUES 16
#define MOVE_VALUES 16
#define CLAIM_VALUES 5
#define BOOK_VALUES 12
#define HOLD_VALUES 2
/* A move, its booking and its notice. */
#define VALUES_OF_MOVE (ADD_VALUES + HOLD_VALUES + BOOK_VALUES + LEDGER_NOTICE_VALUES)
/* What a booking that was confirmed past the ledger has for a transaction: it is in flight at no
 * time, and it is no hold. */
#define PAST_WRITER 0
#define PAST_BATCH 1
/* The step of barriers that remember messages. */
#define MESSAGE_STEP "message"

/* ---- reading --------------------------------------------------------------------------------- */

struct seen_sagas {
    struct ledger_saga *sagas;
    size_t count, max;
};

static void see_saga(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct seen_sagas *seen = context;

    (void)row;
    (void)count;
    if (seen->count == seen->max) {
        return;
    }
    struct ledger_saga *saga = &seen->sagas[seen->count++];
    const struct {
        size_t column;
        char *out;
        size_t size;
    } texts[] = {
        {0, saga->saga, sizeof saga->saga},
        {1, saga->event, sizeof saga->event},
        {2, saga->booking, sizeof saga->booking},
        {3, saga->zone, sizeof saga->zone},
        {4, saga->user, sizeof saga->user},
        {8, saga->currency, sizeof saga->currency},
        {9, saga->pass, sizeof saga->pass},
        {10, saga->payment_id, sizeof saga->payment_id},
        {11, saga->token, sizeof saga->token},
        {12, saga->state, sizeof saga->state},
        {13, saga->came_from, sizeof saga->came_from},
        {14, saga->payment, sizeof saga->payment},
        {15, saga->error_code, sizeof saga->error_code},
        {16, saga->error, sizeof saga->error},
        {21, saga->owner, sizeof saga->owner},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ledger_text_copy(texts[i].out, texts[i].size, &columns[texts[i].column]);
    }
    saga->quantity = ledger_integer(&columns[5]);
    saga->max_per_user = ledger_integer(&columns[6]);
    saga->unit_price = ledger_integer(&columns[7]);
    saga->attempts = ledger_integer(&columns[17]);
    saga->created_at_ms = ledger_integer(&columns[18]);
    saga->updated_at_ms = ledger_integer(&columns[19]);
    saga->due_at_ms = ledger_integer(&columns[20]);
    saga->fence = columns[22].integer;
}

enum sql_result ledger_job_saga_find(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value values[] = {sql_text(job->scope), sql_text(job->id)};
    struct seen_sagas seen = {job->sagas, 0, 1};
    struct sql_step step =
        job->scope.size > 0
            ? ledger_query(run->writer, LEDGER_SAGA_OF_BOOKING, values, see_saga, &seen)
            : ledger_query(run->writer, LEDGER_SAGA_FIND, values + 1, see_saga, &seen);
    enum sql_result result = ledger_job_steps(run, &step, 1, true);

    job->answer = seen.count > 0 ? LEDGER_DONE : LEDGER_NOT_FOUND;
    return result;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static struct sql_value text_value(const char *text)
{
    return sql_text(hf_text(text));
}

static void put_new(struct sql_value *at, const struct ledger_move *move)
{
    const struct ledger_saga *saga = move->saga;
    const struct sql_value values[ADD_VALUES] = {
        text_value(saga->saga),          text_value(saga->event),       text_value(saga->booking),
        text_value(saga->zone),          text_value(saga->user),        sql_integer(saga->quantity),
        sql_integer(saga->max_per_user), sql_integer(saga->unit_price), text_value(saga->currency),
        text_value(saga->pass),          text_value(saga->payment_id),  text_value(saga->token),
        text_value(saga->state),         text_value(saga->owner),       sql_integer(saga->fence),
        sql_integer(move->lease_ms),
    };
    memcpy(at, values, sizeof values);
}

static void put_move(struct sql_value *at, const struct ledger_move *move)
{
    const struct ledger_saga *saga = move->saga;
    struct sql_value lease = sql_integer(move->lease_ms);
    const struct sql_value values[MOVE_VALUES] = {
        text_value(saga->state),
        text_value(saga->came_from),
        text_value(saga->payment),
        text_value(saga->error_code),
        text_value(saga->error),
        sql_integer(saga->attempts),
        sql_integer(move->due_ms),
        text_value(saga->owner),
        sql_integer(saga->fence),
        text_value(saga->token),
        lease,
        lease,
        lease,
        text_value(saga->saga),
        sql_integer(move->old_fence),
        text_value(move->from),
    };
    memcpy(at, values, sizeof values);
}

/* The step of all new rows, or of all others; nothing if there are none. */
static void add_moves(struct ledger_job_run *run, bool are_new, struct sql_value **values,
                      struct sql_step *steps, size_t *count)
{
    struct ledger_job *job = run->job;
    struct sql_step step =
        ledger_step(run->writer, are_new ? LEDGER_SAGA_ADD : LEDGER_SAGA_MOVE, *values, 1);

    step.rows = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (job->moves[i]->is_new == are_new) {
            (are_new ? put_new : put_move)(*values, job->moves[i]);
            *values += are_new ? ADD_VALUES : MOVE_VALUES;
            step.rows++;
        }
    }
    if (step.rows > 0) {
        steps[(*count)++] = step;
    }
}

static void put_booking(struct sql_value *at, const struct ledger_move *move)
{
    const struct ledger_saga *saga = move->saga;
    const struct sql_value values[BOOK_VALUES] = {
        text_value(saga->event),
        text_value(saga->booking),
        text_value(saga->zone),
        text_value(saga->user),
        text_value(""),
        sql_integer(saga->quantity),
        sql_integer(saga->unit_price),
        sql_integer(saga->created_at_ms),
        text_value(saga->payment_id),
        text_value(move->booked),
        sql_integer(PAST_WRITER),
        sql_integer(PAST_BATCH),
    };
    memcpy(at, values, sizeof values);
}

static void put_hold(struct sql_value *at, const struct ledger_move *move)
{
    at[0] = text_value(move->saga->event);
    at[1] = text_value(move->saga->booking);
}

/* The rows of bookings that were confirmed past the ledger. A row that is there, of another time,
 * stays: the checkout is completed all the same. */
static void add_bookings(struct ledger_job_run *run, struct sql_value **values,
                         struct sql_step *steps, size_t *count)
{
    static const struct {
        enum ledger_statement statement;
        size_t values;
        void (*put)(struct sql_value *at, const struct ledger_move *move);
    } parts[] = {{LEDGER_HOLD_DROP, HOLD_VALUES, put_hold},
                 {LEDGER_SAGA_BOOK, BOOK_VALUES, put_booking}};

    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        struct sql_step step = ledger_step(run->writer, parts[part].statement, *values, SQL_ANY);
        step.rows = 0;
        for (size_t i = 0; i < run->job->count; i++) {
            if (run->job->moves[i]->booked != NULL) {
                parts[part].put(*values, run->job->moves[i]);
                *values += parts[part].values;
                step.rows++;
            }
        }
        if (step.rows > 0) {
            steps[(*count)++] = step;
        }
    }
}

static void add_notices(struct ledger_job_run *run, struct sql_value *values,
                        struct sql_step *steps, size_t *count)
{
    struct ledger_job *job = run->job;
    struct sql_step step = ledger_step(run->writer, LEDGER_NOTICE_ADD, values, 1);

    step.rows = 0;
    for (size_t i = 0; i < job->count; i++) {
        const struct ledger_move *move = job->moves[i];
        if (move->notice != NULL) {
            ledger_notice_values(hf_text(move->saga->event), hf_text(move->saga->booking),
                                 move->notice, move->noticed, values);
            values += LEDGER_NOTICE_VALUES;
            step.rows++;
        }
    }
    if (step.rows > 0) {
        steps[(*count)++] = step;
    }
}

enum sql_result ledger_job_saga_move(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value *values = malloc(job->count * VALUES_OF_MOVE * sizeof *values), *at = values;
    struct sql_step steps[6] = {ledger_job_fence(run)};
    size_t count = 1;

    _Static_assert((int)ADD_VALUES >= (int)MOVE_VALUES, "the room of each");
    if (values == NULL) {
        return ledger_job_leave(run, LEDGER_AWAY);
    }
    add_moves(run, true, &at, steps, &count);
    add_moves(run, false, &at, steps, &count);
    add_bookings(run, &at, steps, &count);
    add_notices(run, at, steps, &count);
    job->answer = LEDGER_DONE;
    enum sql_result result = ledger_job_steps(run, steps, count, true);
    free(values);
    return result;
}

/* ---- claiming -------------------------------------------------------------------------------- */

enum sql_result ledger_job_saga_claim(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value most = sql_integer((int64_t)job->count);
    struct seen_sagas seen = {job->sagas, 0, job->count};
    struct sql_step look = ledger_query(run->writer, LEDGER_SAGAS_DUE, &most, see_saga, &seen);
    enum sql_result result = ledger_job_steps(run, &look, 1, false);

    if (result != SQL_DONE) {
        return result;
    }
    struct sql_value *values = malloc((seen.count + 1) * CLAIM_VALUES * sizeof *values);
    job->left = (int64_t)seen.count;
    if (seen.count == 0 || values == NULL) {
        free(values);
        job->left = 0;
        return ledger_job_leave(run, LEDGER_NOT_FOUND);
    }
    for (size_t i = 0; i < seen.count; i++) {
        struct ledger_saga *saga = &job->sagas[i];
        struct sql_value *at = values + i * CLAIM_VALUES;
        at[0] = sql_text(job->id);
        at[1] = sql_integer(saga->fence + 1);
        at[2] = sql_integer(job->delta);
        at[3] = text_value(saga->saga);
        at[4] = sql_integer(saga->fence);
        saga->fence++;
        ledger_text_copy(saga->owner, sizeof saga->owner, &at[0]);
    }
    struct sql_step steps[] = {ledger_job_fence(run),
                               ledger_step(run->writer, LEDGER_SAGA_CLAIM, values, 1)};
    steps[1].rows = seen.count;
    job->answer = LEDGER_DONE;
    result = ledger_job_steps(run, steps, 2, true);
    free(values);
    return result;
}

/* ---- waking ---------------------------------------------------------------------------------- */

static void see_any(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    (void)row;
    (void)columns;
    (void)count;
    *(bool *)context = true;
}

enum sql_result ledger_job_saga_wake(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value payment = sql_text(job->id);
    struct sql_value barrier[] = {sql_text(job->scope), sql_text(job->user),
                                  text_value(MESSAGE_STEP)};
    struct sql_value forgotten = sql_text(job->zone);
    struct seen_sagas seen = {job->sagas, 0, 1};
    bool repeated = false;
    struct sql_step looks[] = {
        ledger_query(run->writer, LEDGER_SAGA_OF_PAYMENT, &payment, see_saga, &seen),
        ledger_query(run->writer, LEDGER_BARRIER_FIND, barrier, see_any, &repeated),
    };
    enum sql_result result = ledger_job_steps(run, looks, 2, false);

    if (result != SQL_DONE) {
        return result;
    }
    if (repeated || seen.count == 0) {
        return ledger_job_leave(run, repeated ? LEDGER_DONE_BEFORE : LEDGER_NOT_FOUND);
    }
    struct sql_value saga[] = {text_value(job->sagas->saga), sql_integer(job->sagas->fence)};
    struct sql_step steps[] = {
        ledger_job_fence(run),
        ledger_step(run->writer, LEDGER_SAGA_WAKE, saga, SQL_ANY),
        ledger_step(run->writer, LEDGER_BARRIERS_FORGET, &forgotten, SQL_ANY),
        ledger_step(run->writer, LEDGER_BARRIER_ADD, barrier, 1),
    };
    job->answer = LEDGER_DONE;
    return ledger_job_steps(run, steps, job->user.size > 0 ? 4 : 3, true);
}

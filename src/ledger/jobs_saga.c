/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs about sagas: moves from state to state, many in one transaction; looking one up; claiming
 * those whose owner is gone; waking the one that a payment peer has called back about.
 *
 * A saga that somebody drives is not taken from him: a mark tells its owner, who looks for marks
 * whenever he looks for sagas to claim. */
#include "ledger/jobs.h"

#include "ledger/outbox.h"
#include "ledger/row.h"
#include "ledger/writer.h"

#include <stdio.h>
#include <stdlib.h>

/* A new row and a move have as many. */
#define MOVE_VALUES 16
#define CLAIM_VALUES 5
#define CLAIM_WOKEN_MAX 64
#define MARK_VALUES 3
#define BOOK_VALUES 12
#define HOLD_VALUES 2
/* A move, its booking and its notice. */
#define VALUES_OF_MOVE (MOVE_VALUES + HOLD_VALUES + BOOK_VALUES + LEDGER_NOTICE_VALUES)
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

void ledger_saga_read(struct ledger_saga *saga, const struct sql_value *columns)
{
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

static void see_saga(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct seen_sagas *seen = context;

    (void)row;
    (void)count;
    if (seen->count < seen->max) {
        ledger_saga_read(&seen->sagas[seen->count++], columns);
    }
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
    const struct sql_value values[MOVE_VALUES] = {
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
            *values += strlen(step.statement->types);
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

/* Where the marks of WAKE for an owner are. */
struct wake_scope {
    char text[sizeof LEDGER_WAKE_SCOPE + HF_ID_MAX];
};

static struct wake_scope wake_scope_of(struct hf_bytes owner)
{
    struct wake_scope scope;

    snprintf(scope.text, sizeof scope.text, "%s%.*s", LEDGER_WAKE_SCOPE, (int)owner.size,
             owner.data);
    return scope;
}

static void put_mark(struct sql_value *at, const struct wake_scope *scope, const char *saga)
{
    at[0] = text_value(scope->text);
    at[1] = text_value(saga);
    at[2] = text_value(LEDGER_WAKE_STEP);
}

/* What one claim works on: a page of sagas whose lease has ended, and of marks. */
struct claim_work {
    struct seen_sagas due;
    char woken[CLAIM_WOKEN_MAX][HF_ID_SIZE];
    size_t woken_count;
    struct wake_scope own;
    struct wake_scope *former; /* of each that is due */
    struct sql_value *values;
};

static void see_woken(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct claim_work *work = context;

    (void)row;
    (void)count;
    if (work->woken_count < CLAIM_WOKEN_MAX) {
        ledger_text_copy(work->woken[work->woken_count++], HF_ID_SIZE, &columns[0]);
    }
}

/* Adds a step of `rows` rows of values, which were put behind `values`. */
static void add_step(struct ledger_job_run *run, enum ledger_statement statement,
                     struct sql_value *values, size_t rows, int64_t expected,
                     struct sql_step *steps, size_t *count)
{
    if (rows > 0) {
        steps[*count] = ledger_step(run->writer, statement, values, expected);
        steps[(*count)++].rows = rows;
    }
}

/* Those that are due become the caller's. A mark for the owner before says nothing any more: who
 * claims a saga asks the payment peer. */
static struct sql_value *add_claims(struct ledger_job_run *run, struct claim_work *work,
                                    struct sql_step *steps, size_t *count)
{
    struct ledger_job *job = run->job;
    struct sql_value *claims = work->values, *marks = claims + work->due.count * CLAIM_VALUES;

    for (size_t i = 0; i < work->due.count; i++) {
        struct ledger_saga *saga = &job->sagas[i];
        struct sql_value *at = claims + i * CLAIM_VALUES;
        at[0] = sql_text(job->id);
        at[1] = sql_integer(saga->fence + 1);
        at[2] = sql_integer(job->delta);
        at[3] = text_value(saga->saga);
        at[4] = sql_integer(saga->fence);
        work->former[i] = wake_scope_of(hf_text(saga->owner));
        put_mark(marks + i * MARK_VALUES, &work->former[i], saga->saga);
        saga->fence++;
        ledger_text_copy(saga->owner, sizeof saga->owner, &at[0]);
    }
    add_step(run, LEDGER_SAGA_CLAIM, claims, work->due.count, 1, steps, count);
    add_step(run, LEDGER_BARRIER_DROP, marks, work->due.count, SQL_ANY, steps, count);
    return marks + work->due.count * MARK_VALUES;
}

/* The marks have been seen; a saga that was parked in spite of one is due. */
static void add_woken(struct ledger_job_run *run, struct claim_work *work, struct sql_value *values,
                      struct sql_step *steps, size_t *count)
{
    struct sql_value *rouses = values + work->woken_count * MARK_VALUES;

    for (size_t i = 0; i < work->woken_count; i++) {
        put_mark(values + i * MARK_VALUES, &work->own, work->woken[i]);
        rouses[i] = text_value(work->woken[i]);
    }
    add_step(run, LEDGER_BARRIER_DROP, values, work->woken_count, SQL_ANY, steps, count);
    add_step(run, LEDGER_SAGA_ROUSE, rouses, work->woken_count, SQL_ANY, steps, count);
}

static enum sql_result claim(struct ledger_job_run *run, struct claim_work *work)
{
    struct ledger_job *job = run->job;
    struct sql_step steps[5] = {ledger_job_fence(run)};
    size_t count = 1;

    add_woken(run, work, add_claims(run, work, steps, &count), steps, &count);
    job->left = (int64_t)work->due.count;
    job->answer = LEDGER_DONE;
    job->woken(job->context, NULL);
    for (size_t i = 0; i < work->woken_count; i++) {
        job->woken(job->context, work->woken[i]);
    }
    return ledger_job_steps(run, steps, count, true);
}

enum sql_result ledger_job_saga_claim(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct claim_work work = {.due = {job->sagas, 0, job->count}, .own = wake_scope_of(job->id)};
    struct sql_value most = sql_integer((int64_t)job->count);
    struct sql_value own[] = {text_value(work.own.text), sql_integer(CLAIM_WOKEN_MAX)};
    struct sql_step looks[] = {
        ledger_query(run->writer, LEDGER_SAGAS_DUE, &most, see_saga, &work.due),
        ledger_query(run->writer, LEDGER_BARRIERS_OF, own, see_woken, &work)};
    enum sql_result result = ledger_job_steps(run, looks, 2, false);

    if (result != SQL_DONE) {
        return result;
    }
    job->left = 0;
    if (work.due.count + work.woken_count == 0) {
        return ledger_job_leave(run, LEDGER_NOT_FOUND);
    }
    size_t values =
        work.due.count * (CLAIM_VALUES + MARK_VALUES) + work.woken_count * (MARK_VALUES + 1);
    work.values = malloc(values * sizeof *work.values);
    work.former = malloc((work.due.count + 1) * sizeof *work.former);
    result = work.values == NULL || work.former == NULL ? ledger_job_leave(run, LEDGER_NOT_FOUND)
                                                        : claim(run, &work);
    free(work.values);
    free(work.former);
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
    struct wake_scope owner = wake_scope_of(hf_text(job->sagas->owner));
    struct sql_value saga[] = {text_value(job->sagas->saga), sql_integer(job->sagas->fence)};
    struct sql_value mark[MARK_VALUES];
    put_mark(mark, &owner, job->sagas->saga);
    struct sql_step steps[6] = {
        ledger_job_fence(run),
        ledger_step(run->writer, LEDGER_SAGA_WAKE, saga, SQL_ANY),
        ledger_step(run->writer, LEDGER_BARRIERS_FORGET, &forgotten, SQL_ANY),
    };
    size_t count = 3;
    add_step(run, LEDGER_BARRIER_ADD, barrier, job->user.size > 0 ? 1 : 0, 1, steps, &count);
    if (job->sagas->owner[0] !=
        '\0') { /* its owner looks for marks, and is perhaps another server */
        add_step(run, LEDGER_BARRIER_DROP, mark, 1, SQL_ANY, steps, &count);
        add_step(run, LEDGER_BARRIER_ADD, mark, 1, 1, steps, &count);
    }
    job->answer = LEDGER_DONE;
    return ledger_job_steps(run, steps, count, true);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs about one order or booking: finding it, ending it, and keeping one out that never was. */
#include "ledger/jobs.h"

#include "base/check.h"
#include "base/text.h"
#include "ledger/row.h"
#include "ledger/writer.h"

#define END_STEPS 5

struct seen_row {
    struct ledger_job_run *run;
    bool found;
};

/* Orders have their ids for themselves: one of another product is none of this one. */
static void see_row(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct seen_row *seen = context;
    struct ledger_job *job = seen->run->job;

    (void)row;
    seen->found = text_equal(job->scope, columns[0].text);
    ledger_row_read(seen->run->writer->ledger, columns, count, &job->found);
}

/* The row's answer if it is to be found, and what it is made of. */
static enum sql_result look(struct ledger_job_run *run, bool commit, struct seen_row *seen)
{
    struct ledger_job *job = run->job;
    struct sql_value values[2];

    ledger_row_values(job->kind, job->scope, job->id, values);
    *seen = (struct seen_row){.run = run};
    job->found = (struct ledger_row){.quantity = 0};
    struct sql_step step =
        ledger_query(run->writer, ledger_row_find(job->kind), values, see_row, seen);
    return ledger_job_steps(run, &step, 1, commit);
}

static enum ledger_answer answer_of(const struct ledger_job *job)
{
    return ledger_row_stands(&job->found) ? LEDGER_DONE_BEFORE : LEDGER_ENDED_BEFORE;
}

enum sql_result ledger_job_find(struct ledger_job_run *run)
{
    struct seen_row seen;
    enum sql_result result = look(run, true, &seen);

    run->job->answer = seen.found ? answer_of(run->job) : LEDGER_NOT_FOUND;
    return result;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static struct sql_step barrier(struct ledger_job_run *run, const char *step,
                               struct sql_value values[3])
{
    values[0] = sql_text(run->job->scope);
    values[1] = sql_text(run->job->id);
    values[2] = sql_text(hf_text(step));
    return ledger_step(run->writer, LEDGER_BARRIER_ADD, values, 1);
}

static struct ledger_noticed noticed_of(const struct ledger_job *job)
{
    bool order = job->kind == LEDGER_ORDER;

    return (struct ledger_noticed){.order = order,
                                   .scope = job->scope,
                                   .id = job->id,
                                   .user = hf_text(job->found.user),
                                   .zone = hf_text(job->found.zone),
                                   .payment = hf_text(job->found.payment),
                                   .quantity = job->found.quantity,
                                   .unit_price = job->found.unit_price,
                                   .status = order ? "returned" : "refunded",
                                   .trace = job->notice.trace};
}

/* Commits the steps of an end, with its notice. */
static enum sql_result end_with(struct ledger_job_run *run, const struct sql_step *steps,
                                size_t count)
{
    struct ledger_noticed noticed = noticed_of(run->job);
    struct sql_step all[END_STEPS + 1];

    CHECK(count <= END_STEPS);
    memcpy(all, steps, count * sizeof *steps);
    ledger_job_notice(run, &noticed, all, &count);
    return ledger_job_steps(run, all, count, true);
}

/* The row, the barrier and the counter, which a shop may have removed since. */
static enum sql_result end_order(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value scope = sql_text(job->scope), step[3];
    struct sql_value row[] = {sql_integer(run->writer->id), sql_integer((int64_t)run->number),
                              sql_text(job->id)};
    struct sql_value counter[] = {sql_integer(job->found.quantity), scope};
    struct sql_step steps[] = {
        ledger_job_fence(run),
        ledger_step(run->writer, LEDGER_ORDER_END, row, 1),
        barrier(run, "return", step),
        ledger_step(run->writer, LEDGER_STOCK_ADD, counter, SQL_ANY),
        ledger_query(run->writer, LEDGER_STOCK_LOCK, &scope, ledger_see_number, &job->left),
    };

    return end_with(run, steps, sizeof steps / sizeof steps[0]);
}

static enum sql_result end_booking(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value scope = sql_text(job->scope), step[3];
    struct sql_value row[] = {sql_integer(run->writer->id), sql_integer((int64_t)run->number),
                              scope, sql_text(job->id)};
    struct sql_value quantity = sql_integer(job->found.counted ? job->found.quantity : 0);
    struct sql_value counter[] = {quantity, quantity, scope, sql_text(hf_text(job->found.zone))};
    struct sql_step steps[] = {
        ledger_job_fence(run),
        ledger_step(run->writer, LEDGER_BOOKING_END, row, 1),
        barrier(run, "refund", step),
        ledger_step(run->writer, LEDGER_ZONE_GIVE, counter, SQL_ANY),
        ledger_query(run->writer, LEDGER_ZONE_LOCK, &counter[2], ledger_see_number, &job->left),
    };

    return end_with(run, steps, sizeof steps / sizeof steps[0]);
}

enum sql_result ledger_job_end(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct seen_row seen;
    enum sql_result result = look(run, false, &seen);

    job->left = 0;
    if (result != SQL_DONE) {
        return result;
    }
    if (!seen.found) {
        return ledger_job_leave(run, LEDGER_NOT_FOUND);
    }
    if (!ledger_row_stands(&job->found)) {
        return ledger_job_leave(run, LEDGER_ENDED_BEFORE);
    }
    job->answer = LEDGER_DONE;
    return job->kind == LEDGER_ORDER ? end_order(run) : end_booking(run);
}

/* ---- keeping out ----------------------------------------------------------------------------- */

static enum sql_result cancel(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct ledger_writer *writer = run->writer;
    struct sql_value id = sql_integer(writer->id), number = sql_integer((int64_t)run->number);
    struct sql_value common[] = {sql_text(job->id),
                                 sql_text(job->scope),
                                 sql_text(job->user),
                                 sql_integer(job->quantity),
                                 id,
                                 number};
    struct sql_value booking[] = {common[0],           common[1], common[2], common[3],
                                  sql_text(job->zone), id,        number};
    struct sql_value step[3], hold[] = {common[1], common[0]};
    struct sql_step steps[] = {
        ledger_job_fence(run),
        ledger_step(writer, LEDGER_HOLD_DROP, hold, SQL_ANY),
        job->kind == LEDGER_ORDER ? ledger_step(writer, LEDGER_ORDER_CANCEL, common, 1)
                                  : ledger_step(writer, LEDGER_BOOKING_CANCEL, booking, 1),
        barrier(run, "cancel", step),
    };

    steps[1].rows = job->kind == LEDGER_BOOKING ? 1 : 0;
    job->answer = LEDGER_DONE;
    return ledger_job_steps(run, steps, sizeof steps / sizeof steps[0], true);
}

enum sql_result ledger_job_cancel(struct ledger_job_run *run)
{
    struct seen_row seen;
    enum sql_result result = look(run, false, &seen);

    if (result != SQL_DONE) {
        return result;
    }
    if (run->job->found.status[0] == '\0') {
        return cancel(run);
    }
    return ledger_job_leave(run, seen.found ? answer_of(run->job) : LEDGER_DIFFERS);
}

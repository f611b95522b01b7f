/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs about counters: changing the stock of a product or the capacity of a zone, and reading them
 * with what is in flight. */
#include "ledger/jobs.h"

#include "ledger/row.h"
#include "ledger/writer.h"

/* ---- changing -------------------------------------------------------------------------------- */

struct seen_counter {
    int64_t left, size;
    size_t rows;
};

static void see_counter(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct seen_counter *seen = context;

    (void)row;
    seen->left = ledger_integer(&columns[0]);
    seen->size = count > 1 ? ledger_integer(&columns[1]) : 0;
    seen->rows++;
}

static enum sql_result lock(struct ledger_job_run *run, enum ledger_statement statement,
                            const struct sql_value *values, struct seen_counter *seen)
{
    struct sql_step step = ledger_query(run->writer, statement, values, see_counter, seen);

    *seen = (struct seen_counter){.rows = 0};
    return ledger_job_steps(run, &step, 1, false);
}

/* The one step of a change, with the fence before it. */
static enum sql_result change(struct ledger_job_run *run, enum ledger_statement statement,
                              const struct sql_value *values, int64_t left)
{
    struct sql_step steps[] = {ledger_job_fence(run),
                               ledger_step(run->writer, statement, values, 1)};

    run->job->answer = LEDGER_DONE;
    run->job->left = left;
    return ledger_job_steps(run, steps, 2, true);
}

enum sql_result ledger_job_stock(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value scope = sql_text(job->scope), delta = sql_integer(job->delta);
    struct sql_value add[] = {delta, scope}, make[] = {scope, delta};
    struct seen_counter seen;
    enum sql_result result = lock(run, LEDGER_STOCK_LOCK, &scope, &seen);

    if (result != SQL_DONE) {
        return result;
    }
    job->left = seen.left;
    if (seen.rows == 0 && !job->create) {
        return ledger_job_leave(run, LEDGER_NOT_FOUND);
    }
    if (job->delta < -seen.left) {
        return ledger_job_leave(run, LEDGER_SOLD_OUT);
    }
    return seen.rows == 0 ? change(run, LEDGER_STOCK_MAKE, make, job->delta)
                          : change(run, LEDGER_STOCK_ADD, add, seen.left + job->delta);
}

enum sql_result ledger_job_zone(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value capacity = sql_integer(job->delta);
    struct sql_value make[] = {sql_text(job->scope), sql_text(job->zone), capacity};
    struct sql_value set[] = {capacity, make[0], make[1]};
    struct seen_counter seen;
    enum sql_result result = lock(run, LEDGER_ZONE_LOCK, make, &seen);

    if (result != SQL_DONE) {
        return result;
    }
    int64_t sold = seen.size - seen.left;
    job->left = seen.left;
    if (seen.rows == 0 && !job->create) {
        return ledger_job_leave(run, LEDGER_NOT_FOUND);
    }
    if (job->delta < sold) {
        return ledger_job_leave(run, LEDGER_SOLD_OUT);
    }
    return seen.rows == 0 ? change(run, LEDGER_ZONE_MAKE, make, job->delta)
                          : change(run, LEDGER_ZONE_SET, set, job->delta - sold);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void see_flight(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    (void)row;
    *(struct ledger_counter *)context = (struct ledger_counter){
        .found = true,
        .left = ledger_integer(&columns[0]),
        .size = ledger_integer(&columns[1]),
        .selling = ledger_integer(&columns[2]),
        .ending = ledger_integer(&columns[3]),
        .ended = count > 4 ? ledger_integer(&columns[4]) : 0,
    };
}

static enum sql_result read_one(struct ledger_job_run *run, size_t at, bool commit)
{
    struct ledger_job *job = run->job;
    struct sql_value scope = sql_text(job->scopes[at]);
    struct sql_value product[] = {scope, scope, scope};
    struct sql_value zone[] = {scope, sql_text(job->zones == NULL ? hf_text("") : job->zones[at])};
    struct sql_step step =
        ledger_query(run->writer, job->kind == LEDGER_ORDER ? LEDGER_STOCK_READ : LEDGER_ZONE_READ,
                     job->kind == LEDGER_ORDER ? product : zone, see_flight, &job->counters[at]);

    job->counters[at] = (struct ledger_counter){.found = false};
    return ledger_job_steps(run, &step, 1, commit);
}

enum sql_result ledger_job_read(struct ledger_job_run *run)
{
    enum sql_result result = ledger_job_marks(run, false);

    run->job->answer = LEDGER_DONE;
    for (size_t i = 0; i < run->job->count && result == SQL_DONE; i++) {
        result = read_one(run, i, i + 1 == run->job->count);
    }
    return result;
}

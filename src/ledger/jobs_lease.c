/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases: what one server does at a time. By the database's clock alone; the fence grows with every
 * owner who did not have it before, also when the lease was given back in between. */
#include "ledger/jobs.h"

#include "base/text.h"
#include "ledger/row.h"
#include "ledger/writer.h"

struct seen_lease {
    char owner[HF_ID_MAX + 1];
    int64_t fence, left_ms;
    bool found;
};

static void see_lease(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct seen_lease *seen = context;

    (void)row;
    (void)count;
    ledger_text_copy(seen->owner, sizeof seen->owner, &columns[0]);
    seen->fence = columns[1].integer;
    seen->left_ms = ledger_integer(&columns[2]);
    seen->found = true;
}

static enum sql_result look(struct ledger_job_run *run, struct seen_lease *seen)
{
    struct sql_value name = sql_text(run->job->scope);
    struct sql_step step = ledger_query(run->writer, LEDGER_LEASE_READ, &name, see_lease, seen);

    *seen = (struct seen_lease){.found = false};
    return ledger_job_steps(run, &step, 1, false);
}

enum sql_result ledger_job_lease(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct seen_lease seen;
    enum sql_result result = look(run, &seen);

    if (result != SQL_DONE) {
        return result;
    }
    bool alive = seen.found && seen.left_ms > 0;
    bool own = text_equal(hf_text(seen.owner), job->id);
    if (alive && !own) {
        job->left = seen.left_ms;
        memcpy(job->found.user, seen.owner, sizeof seen.owner);
        return ledger_job_leave(run, LEDGER_SOLD_OUT);
    }
    job->answer = LEDGER_DONE;
    job->fence = alive ? seen.fence : seen.fence + 1;
    struct sql_value name = sql_text(job->scope), owner = sql_text(job->id);
    struct sql_value make[] = {name, owner, sql_integer(job->delta)};
    struct sql_value take[] = {owner, sql_integer(job->fence), sql_integer(job->delta), name};
    struct sql_step steps[] = {
        ledger_job_fence(run),
        seen.found ? ledger_step(run->writer, LEDGER_LEASE_TAKE, take, 1)
                   : ledger_step(run->writer, LEDGER_LEASE_MAKE, make, 1),
    };
    return ledger_job_steps(run, steps, 2, true);
}

enum sql_result ledger_job_unlease(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct seen_lease seen;
    enum sql_result result = look(run, &seen);

    if (result != SQL_DONE) {
        return result;
    }
    if (seen.left_ms <= 0 || !text_equal(hf_text(seen.owner), job->id)) {
        return ledger_job_leave(run, LEDGER_NOT_FOUND);
    }
    job->answer = LEDGER_DONE;
    struct sql_value values[] = {sql_text(job->scope), sql_text(job->id)};
    struct sql_step steps[] = {ledger_job_fence(run),
                               ledger_step(run->writer, LEDGER_LEASE_DROP, values, 1)};
    return ledger_job_steps(run, steps, 2, true);
}

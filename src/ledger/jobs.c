/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out jobs, each a transaction of its own. Those that write begin as batches do, with the
 * writer's fence and a number, so that one whose COMMIT got no answer can be looked up. */
#include "ledger/jobs.h"

#include "base/check.h"
#include "ledger/link.h"
#include "ledger/writer.h"

/* Transactions that were refused or came to something unexpected, before it is taken for final: two
 * servers may have made the same row at the same time. */
#define ATTEMPTS_MAX 3

static const struct {
    ledger_job_task *run;
    bool writes;
    bool once; /* what the database refuses is not tried again */
} tasks[LEDGER_TASK_COUNT] = {
    [LEDGER_TASK_FIND] = {ledger_job_find, false},
    [LEDGER_TASK_END] = {ledger_job_end, true},
    [LEDGER_TASK_CANCEL] = {ledger_job_cancel, true},
    [LEDGER_TASK_STOCK] = {ledger_job_stock, true},
    [LEDGER_TASK_ZONE] = {ledger_job_zone, true},
    [LEDGER_TASK_READ] = {ledger_job_read, false},
    [LEDGER_TASK_MARK] = {ledger_job_mark, false},
    [LEDGER_TASK_STALE] = {ledger_job_stale, false},
    [LEDGER_TASK_BURY] = {ledger_job_bury, false},
    [LEDGER_TASK_LEASE] = {ledger_job_lease, true},
    [LEDGER_TASK_UNLEASE] = {ledger_job_unlease, true},
    [LEDGER_TASK_DRIFT] = {ledger_job_drift, true},
    [LEDGER_TASK_AUDIT] = {ledger_job_audit, false},
    [LEDGER_TASK_NOTE] = {ledger_job_note, true},
    [LEDGER_TASK_DUE] = {ledger_job_due, false},
    [LEDGER_TASK_SETTLE] = {ledger_job_settle, true},
    [LEDGER_TASK_REPLAY] = {ledger_job_replay, true},
    [LEDGER_TASK_SWEEP] = {ledger_job_sweep, true},
    [LEDGER_TASK_SAGA_MOVE] = {ledger_job_saga_move, true, true},
    [LEDGER_TASK_SAGA_FIND] = {ledger_job_saga_find, false},
    [LEDGER_TASK_SAGA_CLAIM] = {ledger_job_saga_claim, true},
    [LEDGER_TASK_SAGA_WAKE] = {ledger_job_saga_wake, true},
    [LEDGER_TASK_SAGA_LIST] = {ledger_job_saga_list, false},
    [LEDGER_TASK_HOLDS] = {ledger_job_holds, false},
    [LEDGER_TASK_LAPSED] = {ledger_job_lapsed, false},
    [LEDGER_TASK_LIST] = {ledger_job_list, false},
};

/* ---- for the tasks --------------------------------------------------------------------------- */

enum sql_result ledger_job_steps(struct ledger_job_run *run, const struct sql_step *steps,
                                 size_t count, bool commit)
{
    struct ledger_writer *writer = run->writer;

    return sql_run(writer->connection, steps, count, commit, run->deadline_ms, &writer->outcome);
}

enum sql_result ledger_job_leave(struct ledger_job_run *run, enum ledger_answer answer)
{
    struct sql_value id = sql_integer(run->writer->id);
    struct sql_step step =
        ledger_query(run->writer, LEDGER_WRITER_READ, &id, ledger_see_nothing, NULL);

    run->job->answer = answer;
    return ledger_job_steps(run, &step, 1, true);
}

struct sql_step ledger_job_fence(struct ledger_job_run *run)
{
    CHECK(run->number != 0);
    return ledger_writer_fence(run->writer, run->number, run->fence);
}

void ledger_see_number(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    (void)row;
    (void)count;
    *(int64_t *)context = columns[0].integer;
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* An END that was carried out is to be told to the engine; nothing else is in flight. */
static void end_number(struct ledger_job_run *run, bool committed)
{
    struct ledger_job *job = run->job;
    bool tells = committed && job->task == LEDGER_TASK_END && job->answer == LEDGER_DONE;

    if (run->number != 0) {
        ledger_writer_end(run->writer, run->number, tells ? 1 : 0);
        job->writer = run->writer->index;
        job->batch = tells ? run->number : 0;
    }
}

/* What became of a job whose COMMIT got no answer. A job that only reads has nothing to become. An
 * END that stays unknown is for reconciliation to find. */
static enum sql_result resolve(struct ledger_job_run *run)
{
    if (run->number == 0) {
        ledger_link_drop(run->writer);
        return SQL_AWAY;
    }
    switch (ledger_link_resolve(run->writer, run->number, run->job->deadline_ms)) {
    case LEDGER_FATE_COMMITTED:
        return SQL_DONE;
    case LEDGER_FATE_NOTHING:
        return SQL_AWAY;
    default:
        return SQL_UNKNOWN;
    }
}

static enum sql_result attempt(struct ledger_writer *writer, struct ledger_job *job)
{
    int64_t until_ms = sql_now_ms() + writer->ledger->timeout_ms;
    struct ledger_job_run run = {
        .writer = writer,
        .job = job,
        .deadline_ms = job->deadline_ms < until_ms ? job->deadline_ms : until_ms,
        .number = tasks[job->task].writes ? ledger_writer_begin(writer) : 0,
    };
    enum sql_result result = tasks[job->task].run(&run);

    if (result == SQL_AWAY) {
        ledger_link_drop(writer);
    } else if (result == SQL_UNKNOWN) {
        result = resolve(&run);
    }
    end_number(&run, result == SQL_DONE);
    return result;
}

static void answer(struct ledger_job *job, enum ledger_answer answer, const struct problem *problem)
{
    job->answer = answer;
    job->problem = *problem;
}

/* True if it is to be tried again. */
static bool goes_on(struct ledger_writer *writer, struct ledger_job *job, enum sql_result result,
                    unsigned *times)
{
    struct problem problem = writer->outcome.problem;

    if (result == SQL_DONE) {
        return false;
    }
    if (result == SQL_UNKNOWN) {
        answer(job, LEDGER_UNKNOWN, &problem);
        return false;
    }
    if (result == SQL_MISSED || result == SQL_REFUSED) {
        answer(job, LEDGER_REFUSED, &problem);
        if (++*times >= ATTEMPTS_MAX) {
            return false;
        }
        ledger_link_renew(writer);
        return !tasks[job->task].once;
    }
    answer(job, LEDGER_AWAY, &problem);
    ledger_writer_count(writer, &writer->ledger->figures.retries);
    return ledger_writer_pause(writer, (*times)++ / 2);
}

void ledger_job_run(struct ledger_writer *writer, struct ledger_job *job)
{
    struct problem problem = {.code = HF_LEDGER_DOWN, .message = "the database was too slow"};
    unsigned times = 0;
    enum sql_result result;

    answer(job, LEDGER_AWAY, &problem);
    do {
        if (sql_now_ms() >= job->deadline_ms) {
            return;
        }
        if (!ledger_link_up(writer, &problem)) {
            answer(job, LEDGER_AWAY, &problem);
            return;
        }
        result = attempt(writer, job);
    } while (goes_on(writer, job, result, &times));
}

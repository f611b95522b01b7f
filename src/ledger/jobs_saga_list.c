/* SPDX-License-Identifier: Apache-2.0
 *
 * The job that shows sagas page by page, in the order of their ids. A page of one state reads a
 * stretch of at most LEDGER_SAGA_STRETCH rows by the primary key: an index of states would make it
 * quicker, and every move of every saga slower. */
#include "ledger/jobs.h"

#include "ledger/row.h"
#include "ledger/writer.h"

#include <stdio.h>

struct saga_page {
    struct ledger_job *job;
    int64_t count;
    char last[HF_ID_SIZE]; /* the id of the last row */
    char end[HF_ID_SIZE];  /* of the stretch; empty: it ends with the table */
};

static void show_saga(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct saga_page *page = context;
    struct ledger_saga saga = {.fence = 0};

    (void)row;
    (void)count;
    ledger_saga_read(&saga, columns);
    page->count++;
    snprintf(page->last, sizeof page->last, "%s", saga.saga);
    page->job->saga(page->job->context, &saga);
}

static void see_end(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct saga_page *page = context;

    (void)row;
    (void)count;
    ledger_text_copy(page->end, sizeof page->end, &columns[0]);
}

static enum sql_result show_page(struct ledger_job_run *run, struct saga_page *page,
                                 enum ledger_statement statement, const struct sql_value *values)
{
    struct ledger_job *job = run->job;
    struct sql_step step = ledger_query(run->writer, statement, values, show_saga, page);

    job->saga(job->context, NULL);
    job->answer = LEDGER_DONE;
    enum sql_result result = ledger_job_steps(run, &step, 1, true);
    bool full = page->count == job->delta;
    if (result == SQL_DONE) {
        job->more = full || page->end[0] != '\0';
        snprintf(job->after, sizeof job->after, "%s", full ? page->last : page->end);
    }
    return result;
}

enum sql_result ledger_job_saga_list(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct saga_page page = {.job = job};
    struct sql_value after = sql_text(hf_text(job->after)), most = sql_integer(job->delta);

    if (job->id.size == 0) {
        return show_page(run, &page, LEDGER_SAGAS_ALL, (struct sql_value[]){after, most});
    }
    struct sql_value stretch[] = {after, sql_integer(LEDGER_SAGA_STRETCH - 1)};
    struct sql_step look = ledger_query(run->writer, LEDGER_SAGAS_END, stretch, see_end, &page);
    enum sql_result result = ledger_job_steps(run, &look, 1, false);
    if (result != SQL_DONE) {
        return result;
    }
    struct sql_value state = sql_text(job->id);
    if (page.end[0] == '\0') {
        return show_page(run, &page, LEDGER_SAGAS_REST, (struct sql_value[]){after, state, most});
    }
    return show_page(run, &page, LEDGER_SAGAS_IN,
                     (struct sql_value[]){after, sql_text(hf_text(page.end)), state, most});
}

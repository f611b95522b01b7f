/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs about writers: noting what they have told the engine, and seeing to the dead. A writer that
 * was not seen for long is fenced before anybody looks at its rows, so that it adds none
 * afterwards; who finds itself fenced joins anew. Its rows are listed in pages, and when the
 * engine knows them all its row is removed. */
#include "ledger/jobs.h"

#include "ledger/row.h"
#include "ledger/writer.h"

/* A transaction for each: one that held the rows of several could be waited for in a circle. */
static enum sql_result mark_one(struct ledger_job_run *run, struct ledger_writer *writer, bool all)
{
    struct ledger *ledger = writer->ledger;

    pthread_mutex_lock(&ledger->lock);
    uint64_t told = writer->tally.told;
    int64_t id = writer->id;
    bool is_needed = id != 0 && (all || told > writer->marked);
    pthread_mutex_unlock(&ledger->lock);
    if (!is_needed) {
        return SQL_DONE;
    }
    struct sql_value values[] = {sql_integer((int64_t)told), sql_integer((int64_t)told),
                                 sql_integer(id)};
    struct sql_step step = ledger_step(run->writer, LEDGER_WRITER_MARK, values, SQL_ANY);
    enum sql_result result = ledger_job_steps(run, &step, 1, true);
    pthread_mutex_lock(&ledger->lock);
    if (result == SQL_DONE && told > writer->marked) {
        writer->marked = told;
    }
    pthread_mutex_unlock(&ledger->lock);
    return result;
}

enum sql_result ledger_job_marks(struct ledger_job_run *run, bool all)
{
    struct ledger *ledger = run->writer->ledger;
    enum sql_result result = SQL_DONE;

    for (unsigned i = 0; i < ledger->writer_count && result == SQL_DONE; i++) {
        result = mark_one(run, &ledger->writers[i], all);
    }
    return result;
}

enum sql_result ledger_job_mark(struct ledger_job_run *run)
{
    run->job->answer = LEDGER_DONE;
    return ledger_job_marks(run, true);
}

/* ---- the dead -------------------------------------------------------------------------------- */

enum {
    STALE_SCOPE,
    STALE_ID,
    STALE_USER,
    STALE_QUANTITY,
    STALE_AT,
    STALE_STATUS,
    STALE_PAYMENT,
    STALE_CODE
};

static void see_stale(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    const struct ledger_job *job = context;
    struct ledger_row status = {.quantity = 0};

    (void)row;
    ledger_text_copy(status.status, sizeof status.status, &columns[STALE_STATUS]);
    struct ledger_item item = {
        .scope = columns[STALE_SCOPE].text,
        .id = columns[STALE_ID].text,
        .user = columns[STALE_USER].text,
        .quantity = ledger_integer(&columns[STALE_QUANTITY]),
        .at_ms = ledger_integer(&columns[STALE_AT]),
        .ended = !ledger_row_stands(&status),
    };
    if (count > STALE_CODE) {
        item.payment = columns[STALE_PAYMENT].text;
        item.code = columns[STALE_CODE].text;
    }
    job->each(job->context, &item);
}

struct seen_edge {
    char id[HF_ID_MAX + 1];
    bool found;
};

static void see_edge(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct seen_edge *edge = context;

    (void)row;
    (void)count;
    ledger_text_copy(edge->id, sizeof edge->id, &columns[0]);
    edge->found = true;
}

/* Fences the dead, if it is the first page of orders, and finds the last id of this one if there
 * are more. Who dies later, while bookings are read, is not fenced then: its orders were not seen,
 * and it would be buried with them. */
static enum sql_result begin_page(struct ledger_job_run *run, struct seen_edge *edge)
{
    struct ledger_job *job = run->job;
    struct sql_value age = sql_integer(job->delta > 0 ? job->delta : LEDGER_DEAD_AFTER_MS);
    struct sql_value after = sql_text(hf_text(job->after));
    struct sql_step steps[] = {
        ledger_step(run->writer, LEDGER_WRITERS_FENCE_DEAD, &age, SQL_ANY),
        ledger_query(run->writer,
                     job->kind == LEDGER_ORDER ? LEDGER_ORDERS_EDGE : LEDGER_BOOKINGS_EDGE, &after,
                     see_edge, edge),
    };
    bool fences = job->kind == LEDGER_ORDER && job->after[0] == '\0';
    size_t first = fences ? 0 : 1;

    return ledger_job_steps(run, steps + first, 2 - first, false);
}

enum sql_result ledger_job_stale(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct seen_edge edge = {.found = false};
    enum sql_result result = begin_page(run, &edge);

    if (result != SQL_DONE) {
        return result;
    }
    struct sql_value values[] = {sql_text(hf_text(job->after)), sql_integer(edge.found ? 1 : 0),
                                 sql_text(hf_text(edge.id))};
    struct sql_step step = ledger_query(
        run->writer, job->kind == LEDGER_ORDER ? LEDGER_ORDERS_STALE : LEDGER_BOOKINGS_STALE,
        values, see_stale, job);
    result = ledger_job_steps(run, &step, 1, true);
    if (result == SQL_DONE) {
        job->answer = LEDGER_DONE;
        job->more = edge.found;
        memcpy(job->after, edge.id, sizeof edge.id);
    }
    return result;
}

enum sql_result ledger_job_bury(struct ledger_job_run *run)
{
    struct sql_step step = ledger_step(run->writer, LEDGER_WRITERS_BURY, NULL, SQL_ANY);

    run->job->answer = LEDGER_DONE;
    return ledger_job_steps(run, &step, 1, true);
}

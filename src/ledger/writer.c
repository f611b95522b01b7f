/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread of a writer: it connects, takes jobs and batches as they come, and connects again when
 * the connection is lost. While it carries out one batch, the next one collects. */
#include "ledger/writer.h"

#include "base/check.h"
#include "ledger/batch.h"
#include "ledger/jobs.h"
#include "ledger/link.h"
#include "ledger/queue.h"

#include <time.h>

/* Between attempts: doubled each time, from the first to the longest. */
#define PAUSE_FIRST_MS 10
#define PAUSE_DOUBLINGS 7
/* Sales wait so long for a writer that is busy, before an idle one takes them. */
#define PATIENCE_MS 5

static void wait_until(struct ledger *ledger, pthread_cond_t *condition, int64_t at_ms)
{
    struct timespec at = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000};

    pthread_cond_timedwait(condition, &ledger->lock, &at);
}

bool ledger_writer_pause(struct ledger_writer *writer, unsigned times)
{
    struct ledger *ledger = writer->ledger;
    int64_t longest_ms = (int64_t)PAUSE_FIRST_MS
                         << (times < PAUSE_DOUBLINGS ? times : PAUSE_DOUBLINGS);
    uint32_t random;

    random_bytes(&writer->random, &random, sizeof random);
    int64_t until_ms = sql_now_ms() + longest_ms / 2 + random % (longest_ms / 2);
    pthread_mutex_lock(&ledger->lock);
    while (!ledger->closing && sql_now_ms() < until_ms) {
        wait_until(ledger, &ledger->pauses, until_ms);
    }
    bool goes_on = !ledger->closing;
    pthread_mutex_unlock(&ledger->lock);
    return goes_on;
}

uint64_t ledger_writer_begin(struct ledger_writer *writer)
{
    struct ledger *ledger = writer->ledger;

    pthread_mutex_lock(&ledger->lock);
    uint64_t number = ledger_tally_begin(&writer->tally);
    pthread_mutex_unlock(&ledger->lock);
    return number;
}

struct sql_step ledger_writer_fence(struct ledger_writer *writer, uint64_t number,
                                    struct sql_value *values)
{
    struct ledger *ledger = writer->ledger;

    pthread_mutex_lock(&ledger->lock);
    int64_t told = (int64_t)writer->tally.told;
    pthread_mutex_unlock(&ledger->lock);
    values[0] = sql_integer((int64_t)number);
    values[1] = values[2] = sql_integer(told);
    values[3] = sql_integer(writer->id);
    values[4] = sql_integer(writer->epoch);
    return ledger_step(writer, LEDGER_FENCE, values, 1);
}

void ledger_writer_end(struct ledger_writer *writer, uint64_t number, size_t sales)
{
    struct ledger *ledger = writer->ledger;

    pthread_mutex_lock(&ledger->lock);
    ledger_tally_end(&writer->tally, number, sales);
    pthread_mutex_unlock(&ledger->lock);
}

void ledger_writer_count(struct ledger_writer *writer, uint64_t *figure)
{
    struct ledger *ledger = writer->ledger;

    pthread_mutex_lock(&ledger->lock);
    (*figure)++;
    pthread_mutex_unlock(&ledger->lock);
}

struct sql_step ledger_step(const struct ledger_writer *writer, enum ledger_statement statement,
                            const struct sql_value *values, int64_t expected)
{
    return (struct sql_step){.statement = &writer->ledger->statements.all[statement],
                             .values = values,
                             .rows = 1,
                             .expected = expected};
}

struct sql_step ledger_query(const struct ledger_writer *writer, enum ledger_statement statement,
                             const struct sql_value *values, sql_each *each, void *context)
{
    struct sql_step step = ledger_step(writer, statement, values, SQL_ANY);

    step.each = each;
    step.context = context;
    return step;
}

void ledger_see_nothing(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    (void)context;
    (void)row;
    (void)columns;
    (void)count;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* A few sales are left to the writers that are busy, for a moment: the more travel together, the
 * less each costs. */
static bool is_worth_it(const struct ledger *ledger)
{
    return ledger->busy == 0 || ledger->waiting_count >= ledger_crowd(ledger) ||
           sql_now_ms() >= ledger->waiting_since_ms + PATIENCE_MS;
}

/* Under the lock: waits for something to do. */
static void wait_for_work(struct ledger *ledger)
{
    ledger->idle++;
    if (list_empty(&ledger->waiting) || list_empty(&ledger->spare)) {
        pthread_cond_wait(&ledger->work, &ledger->lock);
    } else {
        wait_until(ledger, &ledger->work, ledger->waiting_since_ms + PATIENCE_MS);
    }
    ledger->idle--;
}

/* Under the lock, which is released meanwhile. */
static void work(struct ledger_writer *writer)
{
    struct ledger *ledger = writer->ledger;
    struct ledger_job *job = ledger_queue_take_job(ledger);
    struct ledger_batch *batch =
        job == NULL && is_worth_it(ledger) ? ledger_queue_take(ledger, writer) : NULL;

    if (job == NULL && batch == NULL) {
        wait_for_work(ledger);
        return;
    }
    pthread_mutex_unlock(&ledger->lock);
    if (job != NULL) {
        ledger_job_run(writer, job);
        ledger_queue_finish_job(ledger, job);
    } else {
        ledger_batch_run(writer, batch);
        ledger_queue_finish(ledger, batch);
    }
    pthread_mutex_lock(&ledger->lock);
}

/* Under the lock, which is released meanwhile. */
static void connect_again(struct ledger_writer *writer)
{
    struct problem problem;

    pthread_mutex_unlock(&writer->ledger->lock);
    if (!ledger_link_try(writer, INT64_MAX, &problem)) {
        ledger_writer_pause(writer, writer->failures);
    }
    pthread_mutex_lock(&writer->ledger->lock);
}

void *ledger_writer_run(void *context)
{
    struct ledger_writer *writer = context;
    struct ledger *ledger = writer->ledger;

    pthread_mutex_lock(&ledger->lock);
    while (!ledger->closing) {
        if (writer->connection == NULL) {
            connect_again(writer);
        } else {
            work(writer);
        }
    }
    pthread_mutex_unlock(&ledger->lock);
    ledger_link_end(writer);
    return NULL;
}

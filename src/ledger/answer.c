/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers, on the caller's thread: of batches and jobs that writers have finished, and of sales
 * and jobs past their deadline, for which no writer is waited for. A sale that no writer has begun
 * with is certainly not carried out; one in a batch that runs may be, and the batch tells later.
 * */
#include "ledger/queue.h"

#include "base/check.h"

/* ---- what is finished ------------------------------------------------------------------------ */

/* Is a sale with this answer not in the ledger, by this submission or another? */
static bool is_certainly_not(enum ledger_answer answer)
{
    return answer == LEDGER_AWAY || answer == LEDGER_SOLD_OUT || answer == LEDGER_OVER_LIMIT ||
           answer == LEDGER_NOT_FOUND || answer == LEDGER_REFUSED;
}

static void give_late(struct ledger *ledger, const struct ledger_batch *batch,
                      const struct ledger_entry *entry)
{
    bool done = entry->answer == LEDGER_DONE;

    if (!done && !is_certainly_not(entry->answer)) {
        return;
    }
    if (ledger->late != NULL) {
        struct ledger_sale copy = {
            .kind = entry->kind,
            .scope = entry->scope,
            .id = entry->id,
            .user = entry->user,
            .zone = entry->zone,
            .payment = entry->payment,
            .show = entry->show,
            .code = entry->code,
            .created_ms = entry->created_ms,
            .quantity = entry->quantity,
            .unit_price = entry->unit_price,
            .max = entry->max,
            .answer = done ? LEDGER_DONE : LEDGER_AWAY,
            .left = entry->left,
            .batch = entry->number,
            .writer = batch->writer,
        };
        ledger->late(ledger->late_context, &copy);
    } else if (done) {
        ledger_told(ledger, batch->writer, entry->number);
    }
}

static void give_answer(const struct ledger_batch *batch, size_t at)
{
    const struct ledger_entry *entry = &batch->entries[at];
    struct ledger_sale *sale = entry->sale;

    sale->answer = entry->answer;
    sale->left = entry->left;
    sale->batch = entry->number;
    sale->writer = batch->writer;
    if (entry->answer != LEDGER_DONE) {
        sale->found = batch->details[at].found;
        sale->problem = batch->details[at].problem;
    }
    sale->done(sale, sale->context);
}

static void answer_batch(struct ledger *ledger, struct ledger_batch *batch)
{
    uint64_t answered = 0;

    for (size_t i = 0; i < batch->count; i++) {
        if (atomic_load_explicit(&batch->entries[i].gone, memory_order_relaxed)) {
            give_late(ledger, batch, &batch->entries[i]);
        } else {
            give_answer(batch, i);
            answered++;
        }
    }
    pthread_mutex_lock(&ledger->lock);
    ledger->figures.pending -= answered;
    bool starved = list_empty(&ledger->spare) && !list_empty(&ledger->waiting);
    list_add_last(&ledger->spare, &batch->node);
    if (starved) {
        pthread_cond_signal(&ledger->work);
    }
    pthread_mutex_unlock(&ledger->lock);
}

static void answer_sales(struct ledger *ledger, struct list *sales)
{
    uint64_t answered = 0;

    while (!list_empty(sales)) {
        struct ledger_sale *sale = LIST_ENTRY(sales->next, struct ledger_sale, node);
        list_remove(&sale->node);
        sale->done(sale, sale->context);
        answered++;
    }
    pthread_mutex_lock(&ledger->lock);
    ledger->figures.pending -= answered;
    pthread_mutex_unlock(&ledger->lock);
}

static void answer_jobs(struct list *jobs)
{
    while (!list_empty(jobs)) {
        struct ledger_job *job = LIST_ENTRY(jobs->next, struct ledger_job, node);
        list_remove(&job->node);
        job->done(job, job->context);
    }
}

static void answer_finished(struct ledger *ledger)
{
    struct list batches, sales, jobs;

    list_init(&batches);
    list_init(&sales);
    list_init(&jobs);
    pthread_mutex_lock(&ledger->lock);
    list_splice_last(&batches, &ledger->finished);
    list_splice_last(&sales, &ledger->refused);
    list_splice_last(&jobs, &ledger->finished_jobs);
    pthread_mutex_unlock(&ledger->lock);
    while (!list_empty(&batches)) {
        struct ledger_batch *batch = LIST_ENTRY(batches.next, struct ledger_batch, node);
        list_remove(&batch->node);
        answer_batch(ledger, batch);
    }
    if (!list_empty(&sales)) {
        answer_sales(ledger, &sales);
    }
    answer_jobs(&jobs);
}

/* ---- what is late ---------------------------------------------------------------------------- */

struct expiry {
    int64_t now_ms, earliest_ms;
    struct list sales, jobs;
};

static bool is_due(struct expiry *expiry, int64_t deadline_ms)
{
    if (deadline_ms <= expiry->now_ms) {
        return true;
    }
    if (deadline_ms < expiry->earliest_ms) {
        expiry->earliest_ms = deadline_ms;
    }
    return false;
}

static const char too_late[] = "the database has not answered in time";

static void expire_waiting(struct ledger *ledger, struct expiry *expiry)
{
    for (struct list *at = ledger->waiting.next, *next; at != &ledger->waiting; at = next) {
        struct ledger_sale *sale = LIST_ENTRY(at, struct ledger_sale, node);
        next = at->next;
        if (is_due(expiry, sale->deadline_ms)) {
            list_remove(at);
            ledger->waiting_count--;
            sale->answer = LEDGER_AWAY;
            problem_set(&sale->problem, HF_LEDGER_DOWN, "%s", too_late);
            list_add_last(&expiry->sales, at);
        }
    }
    for (struct list *at = ledger->waiting_jobs.next, *next; at != &ledger->waiting_jobs;
         at = next) {
        struct ledger_job *job = LIST_ENTRY(at, struct ledger_job, node);
        next = at->next;
        if (is_due(expiry, job->deadline_ms)) {
            list_remove(at);
            job->answer = LEDGER_AWAY;
            problem_set(&job->problem, HF_LEDGER_DOWN, "%s", too_late);
            list_add_last(&expiry->jobs, at);
        }
    }
}

static void expire_batch(struct ledger_batch *batch, struct expiry *expiry)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct ledger_entry *entry = &batch->entries[i];
        if (!entry->gone && is_due(expiry, entry->deadline_ms)) {
            entry->gone = true;
            entry->sale->answer = LEDGER_UNKNOWN;
            problem_set(&entry->sale->problem, HF_TIMEOUT, "%s", too_late);
            list_add_last(&expiry->sales, &entry->sale->node);
        }
    }
}

static void expire(struct ledger *ledger)
{
    struct expiry expiry = {.now_ms = sql_now_ms(), .earliest_ms = INT64_MAX};

    if (expiry.now_ms < ledger->earliest_ms) {
        return;
    }
    list_init(&expiry.sales);
    list_init(&expiry.jobs);
    pthread_mutex_lock(&ledger->lock);
    expire_waiting(ledger, &expiry);
    for (struct list *at = ledger->running.next; at != &ledger->running; at = at->next) {
        struct ledger_batch *batch = LIST_ENTRY(at, struct ledger_batch, node);
        if (batch->copied) {
            expire_batch(batch, &expiry);
        } else {
            is_due(&expiry, expiry.now_ms + 1); /* The writer is done copying at once. */
        }
    }
    pthread_mutex_unlock(&ledger->lock);
    ledger->earliest_ms = expiry.earliest_ms;
    if (!list_empty(&expiry.sales)) {
        answer_sales(ledger, &expiry.sales);
    }
    answer_jobs(&expiry.jobs);
}

/* ---- turns ----------------------------------------------------------------------------------- */

void ledger_turn(struct ledger *ledger)
{
    answer_finished(ledger);
    expire(ledger);
}

int64_t ledger_idle_ms(struct ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    bool ready = ledger_has_answers(ledger);
    pthread_mutex_unlock(&ledger->lock);
    if (ready) {
        return 0;
    }
    if (ledger->earliest_ms == INT64_MAX) {
        return -1;
    }
    int64_t left_ms = ledger->earliest_ms - sql_now_ms();
    return left_ms < 0 ? 0 : left_ms;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What is submitted, until it is answered. The caller's thread appends and answers; writers take
 * batches and give them back. Every sale and job is answered once: by the writer that took it, or,
 * at its deadline, by the caller's thread (expire.c). */
#include "ledger/queue.h"

#include "base/check.h"

#include <stdlib.h>

#define TEXTS_OF_SALE 8
/* Of each writer: one that it carries out, one that is being answered, and one to spare. */
#define BATCHES_OF_WRITER 3

/* ---- opening --------------------------------------------------------------------------------- */

static bool init_batch(struct ledger_batch *batch, size_t max)
{
    batch->entries = calloc(max, sizeof *batch->entries);
    batch->details = calloc(max, sizeof *batch->details);
    batch->texts = malloc(max * TEXTS_OF_SALE * HF_ID_MAX);
    return batch->entries != NULL && batch->details != NULL && batch->texts != NULL;
}

bool ledger_queue_init(struct ledger *ledger)
{
    struct list *lists[] = {&ledger->waiting,  &ledger->waiting_jobs,  &ledger->running,
                            &ledger->finished, &ledger->finished_jobs, &ledger->refused,
                            &ledger->spare};

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        list_init(lists[i]);
    }
    ledger->earliest_ms = INT64_MAX;
    ledger->batches =
        calloc((size_t)ledger->writer_count * BATCHES_OF_WRITER, sizeof *ledger->batches);
    if (ledger->batches == NULL) {
        return false;
    }
    ledger->batch_count = (size_t)ledger->writer_count * BATCHES_OF_WRITER;
    for (size_t i = 0; i < ledger->batch_count; i++) {
        if (!init_batch(&ledger->batches[i], ledger->batch_max)) {
            return false;
        }
        list_add_last(&ledger->spare, &ledger->batches[i].node);
    }
    return true;
}

void ledger_queue_free(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->batch_count; i++) {
        free(ledger->batches[i].entries);
        free(ledger->batches[i].details);
        free(ledger->batches[i].texts);
    }
    free(ledger->batches);
}

/* ---- submitting ------------------------------------------------------------------------------ */

static void keep_deadline(struct ledger *ledger, int64_t deadline_ms)
{
    if (deadline_ms < ledger->earliest_ms) {
        ledger->earliest_ms = deadline_ms;
    }
}

static void set_away(const struct ledger *ledger, struct problem *problem)
{
    const char *reason = atomic_load(&ledger->unready);

    problem_set(problem, HF_LEDGER_DOWN, "%s", reason == NULL ? "not connected" : reason);
}

void ledger_sell(struct ledger *ledger, struct ledger_sale *sale)
{
    CHECK(sale->scope.size <= HF_ID_MAX && sale->id.size <= HF_ID_MAX);
    CHECK(sale->user.size <= HF_ID_MAX && sale->zone.size <= HF_ID_MAX);
    CHECK(sale->payment.size <= HF_ID_MAX && sale->quantity > 0);
    CHECK(sale->show.size <= HF_ID_MAX && sale->code.size <= HF_ID_MAX);
    CHECK(sale->trace.size < TRACE_PARENT_SIZE);
    keep_deadline(ledger, sale->deadline_ms);
    pthread_mutex_lock(&ledger->lock);
    ledger->figures.pending++;
    if (ledger_is_down(ledger)) {
        sale->answer = LEDGER_AWAY;
        set_away(ledger, &sale->problem);
        list_add_last(&ledger->refused, &sale->node);
    } else {
        if (ledger->waiting_count == 0) {
            ledger->waiting_since_ms = sql_now_ms();
        }
        list_add_last(&ledger->waiting, &sale->node);
        ledger->waiting_count++;
        /* The writers that are busy take what has come meanwhile; another one helps when that is a
         * good part of a batch. */
        if (ledger->idle > 0 &&
            (ledger->waiting_count == 1 || ledger->waiting_count == ledger_crowd(ledger))) {
            pthread_cond_signal(&ledger->work);
        }
    }
    pthread_mutex_unlock(&ledger->lock);
}

void ledger_submit(struct ledger *ledger, struct ledger_job *job)
{
    CHECK(job->task < LEDGER_TASK_COUNT);
    keep_deadline(ledger, job->deadline_ms);
    pthread_mutex_lock(&ledger->lock);
    if (ledger_is_down(ledger)) {
        job->answer = LEDGER_AWAY;
        set_away(ledger, &job->problem);
        list_add_last(&ledger->finished_jobs, &job->node);
    } else {
        list_add_last(&ledger->waiting_jobs, &job->node);
        pthread_cond_signal(&ledger->work);
    }
    pthread_mutex_unlock(&ledger->lock);
}

void ledger_told(struct ledger *ledger, unsigned writer, uint64_t batch)
{
    CHECK(writer < ledger->writer_count);
    pthread_mutex_lock(&ledger->lock);
    ledger_tally_tell(&ledger->writers[writer].tally, batch);
    pthread_mutex_unlock(&ledger->lock);
}

/* ---- writers --------------------------------------------------------------------------------- */

static struct hf_bytes copy_text(char **at, struct hf_bytes text)
{
    struct hf_bytes copy = {*at, text.size};

    if (text.size > 0) {
        memcpy(*at, text.data, text.size);
        *at += text.size;
    }
    return copy;
}

static void copy_sale(struct ledger_entry *entry, char **texts)
{
    const struct ledger_sale *sale = entry->sale;

    entry->gone = false;
    entry->state = LEDGER_ENTRY_PENDING;
    entry->kind = sale->kind;
    entry->scope = copy_text(texts, sale->scope);
    entry->id = copy_text(texts, sale->id);
    entry->user = copy_text(texts, sale->user);
    entry->zone = copy_text(texts, sale->zone);
    entry->payment = copy_text(texts, sale->payment);
    entry->show = copy_text(texts, sale->show);
    entry->code = copy_text(texts, sale->code);
    entry->trace = copy_text(texts, sale->trace);
    entry->created_ms = sale->created_ms;
    entry->quantity = sale->quantity;
    entry->unit_price = sale->unit_price;
    entry->max = sale->max;
    entry->notice = sale->notice;
    entry->deadline_ms = sale->deadline_ms;
    entry->left = 0;
    entry->number = 0;
}

static void take_sales(struct ledger *ledger, struct ledger_batch *batch)
{
    while (batch->count < ledger->batch_max && !list_empty(&ledger->waiting)) {
        struct list *node = ledger->waiting.next;
        list_remove(node);
        batch->entries[batch->count++].sale = LIST_ENTRY(node, struct ledger_sale, node);
    }
    ledger->waiting_count -= batch->count;
    ledger->waiting_since_ms = sql_now_ms();
}

struct ledger_batch *ledger_queue_take(struct ledger *ledger, struct ledger_writer *writer)
{
    if (list_empty(&ledger->waiting) || list_empty(&ledger->spare)) {
        return NULL;
    }
    struct ledger_batch *batch = LIST_ENTRY(ledger->spare.next, struct ledger_batch, node);
    list_remove(&batch->node);
    ledger->busy++;
    batch->writer = writer->index;
    batch->copied = false;
    batch->count = 0;
    take_sales(ledger, batch);
    list_add_last(&ledger->running, &batch->node);
    pthread_mutex_unlock(&ledger->lock);
    char *texts = batch->texts;
    for (size_t i = 0; i < batch->count; i++) {
        copy_sale(&batch->entries[i], &texts);
    }
    pthread_mutex_lock(&ledger->lock);
    batch->copied = true;
    return batch;
}

bool ledger_has_answers(const struct ledger *ledger)
{
    return !list_empty(&ledger->finished) || !list_empty(&ledger->finished_jobs) ||
           !list_empty(&ledger->refused);
}

/* The caller is woken once for all that is there when it comes. */
static void unlock_and_wake(struct ledger *ledger, bool woken_before)
{
    bool wakes = !woken_before && ledger->wake != NULL && ledger_has_answers(ledger);

    pthread_mutex_unlock(&ledger->lock);
    if (wakes) {
        ledger->wake(ledger->wake_context);
    }
}

void ledger_queue_finish(struct ledger *ledger, struct ledger_batch *batch)
{
    pthread_mutex_lock(&ledger->lock);
    bool woken = ledger_has_answers(ledger);
    list_remove(&batch->node);
    list_add_last(&ledger->finished, &batch->node);
    ledger->figures.sales += batch->count;
    ledger->busy--;
    unlock_and_wake(ledger, woken);
}

struct ledger_job *ledger_queue_take_job(struct ledger *ledger)
{
    if (list_empty(&ledger->waiting_jobs)) {
        return NULL;
    }
    struct list *node = ledger->waiting_jobs.next;
    list_remove(node);
    return LIST_ENTRY(node, struct ledger_job, node);
}

void ledger_queue_finish_job(struct ledger *ledger, struct ledger_job *job)
{
    pthread_mutex_lock(&ledger->lock);
    bool woken = ledger_has_answers(ledger);
    list_add_last(&ledger->finished_jobs, &job->node);
    unlock_and_wake(ledger, woken);
}

void ledger_queue_refuse_all(struct ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    bool woken = ledger_has_answers(ledger);
    for (struct list *at = ledger->waiting.next; at != &ledger->waiting; at = at->next) {
        struct ledger_sale *sale = LIST_ENTRY(at, struct ledger_sale, node);
        sale->answer = LEDGER_AWAY;
        set_away(ledger, &sale->problem);
    }
    for (struct list *at = ledger->waiting_jobs.next; at != &ledger->waiting_jobs; at = at->next) {
        struct ledger_job *job = LIST_ENTRY(at, struct ledger_job, node);
        job->answer = LEDGER_AWAY;
        set_away(ledger, &job->problem);
    }
    list_splice_last(&ledger->refused, &ledger->waiting);
    list_splice_last(&ledger->finished_jobs, &ledger->waiting_jobs);
    ledger->waiting_count = 0;
    unlock_and_wake(ledger, woken);
}

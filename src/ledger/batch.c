/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast way: one transaction for a whole batch, in one call of the driver. It is written so
 * that the database itself refuses what does not fit; whatever the reason, it is then rolled back
 * and done again with care. */
#include "ledger/batch.h"

#include "base/check.h"
#include "ledger/writer.h"

/* ---- spans ----------------------------------------------------------------------------------- */

static void decide(const struct ledger_span *span, struct ledger_entry *entry,
                   enum ledger_answer answer, const struct problem *problem)
{
    entry->state = LEDGER_ENTRY_DECIDED;
    entry->answer = answer;
    if (problem != NULL) {
        ledger_detail_of(span->batch, entry)->problem = *problem;
    }
}

void ledger_span_trim(struct ledger_span *span)
{
    struct problem late = {.code = HF_LEDGER_DOWN, .message = "the database was too slow"};
    int64_t now_ms = sql_now_ms();
    size_t count = 0;

    for (size_t i = 0; i < span->count; i++) {
        struct ledger_entry *entry = span->entries[i];
        if (entry->state == LEDGER_ENTRY_PENDING && entry->deadline_ms <= now_ms) {
            decide(span, entry, LEDGER_AWAY, &late);
        }
        if (entry->state == LEDGER_ENTRY_PENDING) {
            span->entries[count++] = entry;
        }
    }
    span->count = count;
}

void ledger_span_answer(const struct ledger_span *span, enum ledger_answer answer,
                        const struct problem *problem)
{
    for (size_t i = 0; i < span->count; i++) {
        if (span->entries[i]->state != LEDGER_ENTRY_DECIDED) {
            decide(span, span->entries[i], answer, problem);
        }
    }
}

size_t ledger_span_turn(const struct ledger_span *span, enum ledger_entry_state from,
                        enum ledger_entry_state to)
{
    size_t done = 0;

    for (size_t i = 0; i < span->count; i++) {
        struct ledger_entry *entry = span->entries[i];
        if (entry->state == from) {
            entry->state = to;
            done += entry->answer == LEDGER_DONE ? 1U : 0U;
        }
    }
    return done;
}

/* ---- results --------------------------------------------------------------------------------- */

bool ledger_batch_connect(struct ledger_writer *writer, const struct ledger_span *span)
{
    struct problem problem;

    if (ledger_link_up(writer, &problem)) {
        return true;
    }
    ledger_span_answer(span, LEDGER_AWAY, &problem);
    return false;
}

static void answer_late(const struct ledger_span *span, const struct problem *problem)
{
    int64_t now_ms = sql_now_ms();

    for (size_t i = 0; i < span->count; i++) {
        struct ledger_entry *entry = span->entries[i];
        if (entry->state != LEDGER_ENTRY_DECIDED && entry->deadline_ms <= now_ms) {
            decide(span, entry, LEDGER_UNKNOWN, problem);
        }
    }
}

/* The transaction's number stays open where its fate does. */
static enum ledger_attempt settle_unknown(struct ledger_writer *writer,
                                          const struct ledger_span *span, uint64_t number,
                                          size_t sales)
{
    struct problem problem = writer->outcome.problem;

    switch (ledger_link_resolve(writer, number, INT64_MAX)) {
    case LEDGER_FATE_COMMITTED:
        ledger_writer_end(writer, number, sales);
        return LEDGER_ATTEMPT_DONE;
    case LEDGER_FATE_NOTHING:
        ledger_writer_end(writer, number, 0);
        return LEDGER_ATTEMPT_AGAIN;
    case LEDGER_FATE_BURIED:
        /* Who buried it has told the engine, if there was something to tell. Looking the ids up
         * tells the clients that still wait. */
        ledger_writer_end(writer, number, 0);
        answer_late(span, &problem);
        return LEDGER_ATTEMPT_MISSED;
    default:
        ledger_span_answer(span, LEDGER_UNKNOWN, &problem);
        return LEDGER_ATTEMPT_LOST;
    }
}

enum ledger_attempt ledger_batch_settle(struct ledger_writer *writer,
                                        const struct ledger_span *span, enum sql_result result,
                                        uint64_t number, size_t sales, unsigned *times)
{
    if (result == SQL_UNKNOWN) {
        return settle_unknown(writer, span, number, sales);
    }
    ledger_writer_end(writer, number, result == SQL_DONE ? sales : 0);
    switch (result) {
    case SQL_DONE:
        return LEDGER_ATTEMPT_DONE;
    case SQL_MISSED:
        return LEDGER_ATTEMPT_MISSED;
    case SQL_REFUSED:
        return LEDGER_ATTEMPT_REFUSED;
    case SQL_AWAY:
        ledger_link_drop(writer);
        break;
    default:
        break;
    }
    struct problem problem = writer->outcome.problem;
    ledger_writer_count(writer, &writer->ledger->figures.retries);
    if ((*times)++ > 0 && !ledger_writer_pause(writer, *times)) {
        ledger_span_answer(span, LEDGER_AWAY, &problem);
        return LEDGER_ATTEMPT_LOST;
    }
    return LEDGER_ATTEMPT_AGAIN;
}

/* ---- the fast way ---------------------------------------------------------------------------- */

static enum ledger_attempt attempt(struct ledger_writer *writer, const struct ledger_span *span,
                                   unsigned *times)
{
    struct sql_step steps[LEDGER_STEPS_MAX];
    uint64_t number = ledger_writer_begin(writer);

    ledger_transaction_totals(writer, span);
    size_t count =
        ledger_transaction_steps(writer, span, LEDGER_ENTRY_PENDING, true, number, steps);
    enum sql_result result = sql_run(writer->connection, steps, count, true,
                                     sql_now_ms() + writer->ledger->timeout_ms, &writer->outcome);
    ledger_writer_count(writer, &writer->ledger->figures.batches);
    return ledger_batch_settle(writer, span, result, number, span->count, times);
}

static void run_fast(struct ledger_writer *writer, struct ledger_span *span)
{
    enum ledger_attempt result = LEDGER_ATTEMPT_AGAIN;
    unsigned times = 0;

    while (result == LEDGER_ATTEMPT_AGAIN) {
        ledger_span_trim(span);
        if (span->count == 0 || !ledger_batch_connect(writer, span)) {
            return;
        }
        result = attempt(writer, span, &times);
    }
    if (result == LEDGER_ATTEMPT_DONE) {
        ledger_span_answer(span, LEDGER_DONE, NULL);
    } else if (result != LEDGER_ATTEMPT_LOST) {
        ledger_writer_count(writer, &writer->ledger->figures.careful);
        ledger_careful_run(writer, *span);
    }
}

void ledger_batch_run(struct ledger_writer *writer, struct ledger_batch *batch)
{
    struct ledger_span span = {batch, writer->scratch.span, batch->count};

    for (size_t i = 0; i < batch->count; i++) {
        span.entries[i] = &batch->entries[i];
    }
    run_fast(writer, &span);
    for (size_t i = 0; i < batch->count; i++) {
        CHECK(batch->entries[i].state == LEDGER_ENTRY_DECIDED);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow way, for batches that did not fit in one piece. First it looks (look.c). Then it
 * decides, in the order of arrival: one that does not fit is refused, a smaller one behind it may
 * still fit. What it has decided to sell is then written in the same transaction.
 *
 * If the database refuses that, some row is to blame: the batch is halved, until that one stands
 * alone. */
#include "ledger/batch.h"

#include "base/text.h"
#include "ledger/look.h"
#include "ledger/row.h"
#include "ledger/writer.h"

/* Transactions that come to something unexpected, before it is taken for final. */
#define MISSES_MAX 3
#define REFUSALS_MAX 2

/* ---- deciding -------------------------------------------------------------------------------- */

static void decide(struct ledger_entry *entry, enum ledger_answer answer, int64_t left)
{
    entry->state = LEDGER_ENTRY_TENTATIVE;
    entry->answer = answer;
    entry->left = left;
}

static bool is_sold(const struct ledger_entry *entry)
{
    return entry->state == LEDGER_ENTRY_TENTATIVE && entry->answer == LEDGER_DONE;
}

/* Is the same id sold in this very transaction? Then it waits for the next one, which finds it. */
static bool is_repeated(const struct ledger_span *span, size_t at)
{
    const struct ledger_entry *entry = span->entries[at];

    for (size_t i = 0; i < at; i++) {
        const struct ledger_entry *other = span->entries[i];
        if (is_sold(other) && other->kind == entry->kind && text_equal(other->id, entry->id) &&
            (entry->kind == LEDGER_ORDER || text_equal(other->scope, entry->scope))) {
            return true;
        }
    }
    return false;
}

/* What the user has of the product, with what this transaction has sold him. */
static int64_t had_by(const struct ledger_span *span, size_t at)
{
    const struct ledger_entry *entry = span->entries[at];
    int64_t had = entry->had;

    for (size_t i = 0; i < at; i++) {
        const struct ledger_entry *other = span->entries[i];
        if (is_sold(other) && other->total == entry->total &&
            text_equal(other->user, entry->user)) {
            had += other->quantity;
        }
    }
    return had;
}

static void decide_existing(struct ledger_entry *entry, const struct ledger_row *row)
{
    if (ledger_row_is_cancelled(row)) {
        decide(entry, LEDGER_ENDED_BEFORE, 0);
    } else if (entry->differs) {
        decide(entry, LEDGER_DIFFERS, 0);
    } else {
        decide(entry, ledger_row_stands(row) ? LEDGER_DONE_BEFORE : LEDGER_ENDED_BEFORE, 0);
    }
}

static void decide_new(const struct ledger_span *span, size_t at, struct ledger_total *total)
{
    struct ledger_entry *entry = span->entries[at];
    int64_t left = total->left - total->sum;

    if (total->rows == 0) {
        decide(entry, LEDGER_NOT_FOUND, 0);
    } else if (total->rows > 1) {
        decide(entry, LEDGER_REFUSED, 0);
        problem_set(&ledger_detail_of(span->batch, entry)->problem, HF_INVALID_STATE,
                    "the inventory has %zu rows of '%.*s'", total->rows, (int)entry->scope.size,
                    entry->scope.data);
    } else if (left < entry->quantity) {
        decide(entry, LEDGER_SOLD_OUT, left);
    } else if (entry->kind == LEDGER_ORDER && entry->max > 0 &&
               had_by(span, at) > entry->max - entry->quantity) {
        decide(entry, LEDGER_OVER_LIMIT, had_by(span, at));
    } else {
        decide(entry, LEDGER_DONE, left - entry->quantity);
        total->sum += entry->quantity;
    }
}

/* How many it sells. */
static size_t decide_all(struct ledger_writer *writer, const struct ledger_span *span)
{
    size_t sold = 0;

    for (size_t i = 0; i < span->count; i++) {
        struct ledger_entry *entry = span->entries[i];
        if (entry->exists) {
            decide_existing(entry, &ledger_detail_of(span->batch, entry)->found);
        } else if (!is_repeated(span, i)) {
            decide_new(span, i, &writer->scratch.totals[entry->total]);
            sold += is_sold(entry) ? 1U : 0U;
        }
    }
    return sold;
}

/* ---- one transaction ------------------------------------------------------------------------- */

/* Where nothing is sold there is nothing to write, and nothing to sync. */
static enum sql_result write(struct ledger_writer *writer, const struct ledger_span *span,
                             size_t sold, uint64_t number, int64_t deadline_ms)
{
    struct sql_step steps[LEDGER_STEPS_MAX];
    struct sql_value id = sql_integer(writer->id);
    size_t count = 1;

    if (sold == 0) {
        steps[0] = ledger_query(writer, LEDGER_WRITER_READ, &id, ledger_see_nothing, NULL);
    } else {
        count =
            ledger_transaction_steps(writer, span, LEDGER_ENTRY_TENTATIVE, false, number, steps);
    }
    return sql_run(writer->connection, steps, count, true, deadline_ms, &writer->outcome);
}

static enum ledger_attempt attempt(struct ledger_writer *writer, const struct ledger_span *span,
                                   unsigned *times)
{
    int64_t deadline_ms = sql_now_ms() + writer->ledger->timeout_ms;
    uint64_t number = ledger_writer_begin(writer);
    size_t sold = 0;
    enum sql_result result = ledger_look(writer, span, deadline_ms);

    if (result == SQL_DONE) {
        sold = decide_all(writer, span);
        result = write(writer, span, sold, number, deadline_ms);
    }
    ledger_writer_count(writer, &writer->ledger->figures.batches);
    return ledger_batch_settle(writer, span, result, number, sold, times);
}

/* ---- until all is decided -------------------------------------------------------------------- */

static void halve(struct ledger_writer *writer, const struct ledger_span *span)
{
    struct ledger_span first = *span, second = *span;

    first.count = span->count / 2;
    second.entries += first.count;
    second.count -= first.count;
    ledger_careful_run(writer, first);
    ledger_careful_run(writer, second);
}

/* A transaction that came to nothing for a reason of its own. True if that is all. */
static bool give_way(struct ledger_writer *writer, const struct ledger_span *span,
                     enum ledger_attempt result, unsigned *bad)
{
    struct problem problem = writer->outcome.problem;
    unsigned most = result == LEDGER_ATTEMPT_MISSED ? MISSES_MAX : REFUSALS_MAX;

    if (result == LEDGER_ATTEMPT_MISSED) {
        problem_set(&problem, HF_INVALID_STATE,
                    "the row was not written, or a counter not changed");
        if (writer->connection != NULL) {
            ledger_link_renew(writer);
        }
    }
    (*bad)++;
    if (span->count > 1 && (result == LEDGER_ATTEMPT_REFUSED || *bad >= most)) {
        halve(writer, span);
        return true;
    }
    if (*bad >= most) {
        ledger_span_answer(span, LEDGER_REFUSED, &problem);
        return true;
    }
    return false;
}

void ledger_careful_run(struct ledger_writer *writer, struct ledger_span span)
{
    unsigned times = 0, bad = 0;

    for (;;) {
        ledger_span_trim(&span);
        if (span.count == 0 || !ledger_batch_connect(writer, &span)) {
            return;
        }
        enum ledger_attempt result = attempt(writer, &span, &times);
        bool done = result == LEDGER_ATTEMPT_DONE;
        ledger_span_turn(&span, LEDGER_ENTRY_TENTATIVE,
                         done ? LEDGER_ENTRY_DECIDED : LEDGER_ENTRY_PENDING);
        if (done || result == LEDGER_ATTEMPT_AGAIN) {
            continue;
        }
        if (result == LEDGER_ATTEMPT_LOST || give_way(writer, &span, result, &bad)) {
            return;
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The queries of the slow way, all in one round trip: which ids are there already, what is left,
 * and what the users have. The counters are locked by it, in the order of their names, so that
 * what was seen still holds when the rest of the transaction is written. */
#include "ledger/look.h"

#include "base/text.h"
#include "ledger/row.h"
#include "ledger/writer.h"

/* A query: its n-th row of values is of the n-th of these entries, or counters. */
struct look {
    struct ledger_writer *writer;
    const struct ledger_batch *batch;
    struct ledger_entry **entries;
    const uint32_t *totals;
};

/* ---- answers --------------------------------------------------------------------------------- */

static bool differs(const struct ledger_entry *entry, const struct ledger_row *row,
                    struct hf_bytes scope)
{
    return !text_equal(entry->scope, scope) || !text_equal(entry->user, hf_text(row->user)) ||
           entry->quantity != row->quantity || entry->unit_price != row->unit_price ||
           (entry->kind == LEDGER_BOOKING && !text_equal(entry->zone, hf_text(row->zone)));
}

static void see_row(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    const struct look *look = context;
    struct ledger_entry *entry = look->entries[row];
    struct ledger_row *found = &ledger_detail_of(look->batch, entry)->found;

    ledger_row_read(look->writer->ledger, columns, count, found);
    entry->exists = true;
    entry->differs = differs(entry, found, columns[0].text);
}

static void see_left(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    const struct look *look = context;
    struct ledger_total *total = &look->writer->scratch.totals[look->totals[row]];

    (void)count;
    total->left = ledger_integer(&columns[0]);
    total->rows++;
}

static void see_sum(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    (void)count;
    ((const struct look *)context)->entries[row]->had = ledger_integer(&columns[0]);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* The steps so far, each with its look. */
struct questions {
    struct ledger_writer *writer;
    const struct ledger_span *span;
    size_t count, looked;
    struct sql_step steps[LEDGER_STEPS_MAX];
    struct look looks[LEDGER_STEPS_MAX];
};

static void ask(struct questions *questions, enum ledger_statement statement,
                const struct sql_value *values, size_t rows, sql_each *each, struct look look)
{
    if (rows > 0) {
        size_t at = questions->count++;
        look.writer = questions->writer;
        look.batch = questions->span->batch;
        questions->looks[at] = look;
        questions->steps[at] =
            ledger_query(questions->writer, statement, values, each, &questions->looks[at]);
        questions->steps[at].rows = rows;
    }
}

static void ask_for_rows(struct questions *questions, enum ledger_kind kind)
{
    struct ledger_scratch *scratch = &questions->writer->scratch;
    struct ledger_entry **entries = scratch->looked + questions->looked;
    const struct sql_value *values = scratch->values + scratch->value_count;
    size_t rows = 0;

    for (size_t i = 0; i < questions->span->count; i++) {
        struct ledger_entry *entry = questions->span->entries[i];
        if (entry->kind == kind) {
            struct sql_value key[2];
            size_t width = ledger_row_values(kind, entry->scope, entry->id, key);
            memcpy(ledger_scratch_values(scratch, width), key, width * sizeof key[0]);
            entry->exists = false;
            entries[rows++] = entry;
        }
    }
    questions->looked += rows;
    ask(questions, ledger_row_find(kind), values, rows, see_row, (struct look){.entries = entries});
}

static void ask_for_totals(struct questions *questions, enum ledger_kind kind)
{
    struct ledger_scratch *scratch = &questions->writer->scratch;
    const struct sql_value *values = scratch->values + scratch->value_count;
    size_t rows = 0, first = 0;

    for (size_t i = 0; i < scratch->total_count; i++) {
        struct ledger_total *total = &scratch->totals[scratch->sorted[i]];
        if (total->kind == kind) {
            first = rows++ == 0 ? i : first;
            total->rows = 0;
            total->sum = 0;
            *ledger_scratch_values(scratch, 1) = sql_text(total->scope);
            if (kind == LEDGER_BOOKING) {
                *ledger_scratch_values(scratch, 1) = sql_text(total->zone);
            }
        }
    }
    /* Sorting has put those of a kind beside each other. */
    ask(questions, kind == LEDGER_ORDER ? LEDGER_STOCK_LOCK : LEDGER_ZONE_LOCK, values, rows,
        see_left, (struct look){.totals = scratch->sorted + first});
}

static void ask_for_sums(struct questions *questions)
{
    struct ledger_scratch *scratch = &questions->writer->scratch;
    struct ledger_entry **entries = scratch->looked + questions->looked;
    const struct sql_value *values = scratch->values + scratch->value_count;
    size_t rows = 0;

    for (size_t i = 0; i < questions->span->count; i++) {
        struct ledger_entry *entry = questions->span->entries[i];
        if (entry->kind == LEDGER_ORDER && entry->max > 0) {
            *ledger_scratch_values(scratch, 1) = sql_text(entry->user);
            *ledger_scratch_values(scratch, 1) = sql_text(entry->scope);
            entries[rows++] = entry;
        }
    }
    ask(questions, LEDGER_USER_SUM, values, rows, see_sum, (struct look){.entries = entries});
}

enum sql_result ledger_look(struct ledger_writer *writer, const struct ledger_span *span,
                            int64_t deadline_ms)
{
    struct questions questions = {.writer = writer, .span = span};

    writer->scratch.value_count = 0;
    ledger_transaction_totals(writer, span);
    ask_for_totals(&questions, LEDGER_ORDER);
    ask_for_totals(&questions, LEDGER_BOOKING);
    ask_for_rows(&questions, LEDGER_ORDER);
    ask_for_rows(&questions, LEDGER_BOOKING);
    ask_for_sums(&questions);
    return sql_run(writer->connection, questions.steps, questions.count, false, deadline_ms,
                   &writer->outcome);
}

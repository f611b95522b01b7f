/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts the steps of a batch together. Nothing is allocated: values, counters and their hash table
 * are the writer's, made once for the largest batch. */
#include "ledger/batch.h"

#include "base/check.h"
#include "base/text.h"
#include "ledger/outbox.h"
#include "ledger/writer.h"

#include <stdlib.h>

#define ORDER_VALUES 7
#define BOOKING_VALUES 12
#define HOLD_VALUES 2
#define COUNTER_VALUES 4
#define GUARD_VALUES 4
#define EMPTY UINT32_MAX

/* ---- scratch --------------------------------------------------------------------------------- */

bool ledger_scratch_init(struct ledger_scratch *scratch, size_t batch_max)
{
    size_t slots = 4;

    while (slots < 2 * batch_max) {
        slots *= 2;
    }
    scratch->value_max = batch_max * (BOOKING_VALUES + HOLD_VALUES + COUNTER_VALUES + GUARD_VALUES +
                                      LEDGER_NOTICE_VALUES) +
                         16;
    if (scratch->value_max < LEDGER_HOLDS_VALUES) {
        scratch->value_max = LEDGER_HOLDS_VALUES;
    }
    memory_init(&scratch->memory);
    buffer_init(&scratch->notices, &scratch->memory);
    scratch->values = malloc(scratch->value_max * sizeof *scratch->values);
    scratch->span = malloc(batch_max * sizeof *scratch->span);
    scratch->looked = malloc(2 * batch_max * sizeof *scratch->looked);
    scratch->totals = malloc(batch_max * sizeof *scratch->totals);
    scratch->sorted = malloc(batch_max * sizeof *scratch->sorted);
    scratch->slots = malloc(slots * sizeof *scratch->slots);
    scratch->slot_mask = (uint32_t)slots - 1;
    size_t holds = (size_t)LEDGER_HOLD_TEXTS * LEDGER_HOLDS_MAX;
    size_t notices = batch_max > holds ? batch_max : holds;
    return buffer_reserve(&scratch->notices, notices * LEDGER_NOTICED_MAX) &&
           scratch->values != NULL && scratch->span != NULL && scratch->looked != NULL &&
           scratch->totals != NULL && scratch->sorted != NULL && scratch->slots != NULL;
}

void ledger_scratch_free(struct ledger_scratch *scratch)
{
    free(scratch->values);
    free(scratch->span);
    free(scratch->looked);
    free(scratch->totals);
    free(scratch->sorted);
    free(scratch->slots);
    buffer_free(&scratch->notices);
}

struct sql_value *ledger_scratch_values(struct ledger_scratch *scratch, size_t count)
{
    struct sql_value *values = scratch->values + scratch->value_count;

    scratch->value_count += count;
    CHECK(scratch->value_count <= scratch->value_max);
    return values;
}

/* ---- counters -------------------------------------------------------------------------------- */

static uint32_t hash_of(const struct ledger_entry *entry)
{
    uint32_t hash = UINT32_C(2166136261);

    for (size_t i = 0; i < entry->scope.size; i++) {
        hash = (hash ^ (uint8_t)entry->scope.data[i]) * UINT32_C(16777619);
    }
    for (size_t i = 0; i < entry->zone.size; i++) {
        hash = (hash ^ (uint8_t)entry->zone.data[i]) * UINT32_C(16777619);
    }
    return hash ^ hash >> 15;
}

static bool is_of(const struct ledger_total *total, const struct ledger_entry *entry)
{
    return total->kind == entry->kind && text_equal(total->scope, entry->scope) &&
           (entry->kind == LEDGER_ORDER || text_equal(total->zone, entry->zone));
}

static uint32_t find_total(struct ledger_scratch *scratch, const struct ledger_entry *entry)
{
    uint32_t at = hash_of(entry) & scratch->slot_mask;

    while (scratch->slots[at] != EMPTY) {
        if (is_of(&scratch->totals[scratch->slots[at]], entry)) {
            return scratch->slots[at];
        }
        at = (at + 1) & scratch->slot_mask;
    }
    uint32_t total = (uint32_t)scratch->total_count++;
    scratch->slots[at] = total;
    scratch->totals[total] =
        (struct ledger_total){.kind = entry->kind, .scope = entry->scope, .zone = entry->zone};
    return total;
}

static int compare_texts(struct hf_bytes a, struct hf_bytes b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size == 0 ? 0 : memcmp(a.data, b.data, size);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_totals(const void *a, const void *b, void *context)
{
    const struct ledger_total *totals = context;
    const struct ledger_total *left = &totals[*(const uint32_t *)a];
    const struct ledger_total *right = &totals[*(const uint32_t *)b];
    int order = (left->kind > right->kind) - (left->kind < right->kind);

    order = order != 0 ? order : compare_texts(left->scope, right->scope);
    return order != 0 ? order : compare_texts(left->zone, right->zone);
}

void ledger_transaction_totals(struct ledger_writer *writer, const struct ledger_span *span)
{
    struct ledger_scratch *scratch = &writer->scratch;

    scratch->total_count = 0;
    memset(scratch->slots, 0xff, (scratch->slot_mask + 1) * sizeof *scratch->slots);
    for (size_t i = 0; i < span->count; i++) {
        struct ledger_entry *entry = span->entries[i];
        /* Most sales of a rush are of the product that the one before was of. */
        const struct ledger_entry *before = i == 0 ? NULL : span->entries[i - 1];
        entry->total = before != NULL && is_of(&scratch->totals[before->total], entry)
                           ? before->total
                           : find_total(scratch, entry);
    }
    for (uint32_t i = 0; i < scratch->total_count; i++) {
        scratch->sorted[i] = i;
    }
    qsort_r(scratch->sorted, scratch->total_count, sizeof *scratch->sorted, compare_totals,
            scratch->totals);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void put_order(struct sql_value *at, const struct ledger_entry *entry, int64_t writer,
                      int64_t number)
{
    at[0] = sql_text(entry->id);
    at[1] = sql_text(entry->scope);
    at[2] = sql_text(entry->user);
    at[3] = sql_integer(entry->quantity);
    at[4] = sql_integer(entry->unit_price);
    at[5] = sql_integer(writer);
    at[6] = sql_integer(number);
}

static void put_booking(struct sql_value *at, const struct ledger_entry *entry, int64_t writer,
                        int64_t number)
{
    at[0] = sql_text(entry->scope);
    at[1] = sql_text(entry->id);
    at[2] = sql_text(entry->zone);
    at[3] = sql_text(entry->user);
    at[4] = sql_text(entry->show);
    at[5] = sql_integer(entry->quantity);
    at[6] = sql_integer(entry->unit_price);
    at[7] = sql_integer(entry->created_ms);
    at[8] = sql_text(entry->payment);
    at[9] = sql_text(entry->code);
    at[10] = sql_integer(writer);
    at[11] = sql_integer(number);
}

/* Adds a step of `rows` rows whose values were put at the end of the scratch, if there are any. */
static void add_step(struct ledger_writer *writer, struct sql_step *steps, size_t *count,
                     enum ledger_statement statement, const struct sql_value *values, size_t rows,
                     int64_t expected)
{
    if (rows > 0) {
        steps[*count] = ledger_step(writer, statement, values, expected);
        steps[*count].rows = rows;
        (*count)++;
    }
}

/* What a step is made of: the entries of a kind and a state. */
struct chosen {
    const struct ledger_span *span;
    enum ledger_entry_state state;
};

static bool is_chosen(const struct chosen *chosen, size_t at, enum ledger_kind kind)
{
    const struct ledger_entry *entry = chosen->span->entries[at];

    return entry->kind == kind && entry->state == chosen->state &&
           (entry->state != LEDGER_ENTRY_TENTATIVE || entry->answer == LEDGER_DONE);
}

/* A sum beyond all bounds does not fit any counter, which is how it is found out. */
static void add_quantity(struct ledger_total *total, int64_t quantity)
{
    total->sum = total->sum > INT64_MAX - quantity ? INT64_MAX : total->sum + quantity;
}

static void add_rows(struct ledger_writer *writer, const struct chosen *chosen,
                     enum ledger_kind kind, uint64_t number, struct sql_step *steps, size_t *count)
{
    struct ledger_scratch *scratch = &writer->scratch;
    size_t width = kind == LEDGER_ORDER ? ORDER_VALUES : BOOKING_VALUES, rows = 0;
    const struct sql_value *values = scratch->values + scratch->value_count;

    for (size_t i = 0; i < chosen->span->count; i++) {
        if (is_chosen(chosen, i, kind)) {
            struct ledger_entry *entry = chosen->span->entries[i];
            (kind == LEDGER_ORDER ? put_order : put_booking)(ledger_scratch_values(scratch, width),
                                                             entry, writer->id, (int64_t)number);
            entry->number = number;
            add_quantity(&scratch->totals[entry->total], entry->quantity);
            rows++;
        }
    }
    add_step(writer, steps, count, kind == LEDGER_ORDER ? LEDGER_ORDER_ADD : LEDGER_BOOKING_ADD,
             values, rows, 1);
}

/* The row of a hold gives way to that of its sale. */
static void drop_holds(struct ledger_writer *writer, const struct chosen *chosen,
                       struct sql_step *steps, size_t *count)
{
    struct ledger_scratch *scratch = &writer->scratch;
    const struct sql_value *values = scratch->values + scratch->value_count;
    size_t rows = 0;

    for (size_t i = 0; i < chosen->span->count; i++) {
        if (is_chosen(chosen, i, LEDGER_BOOKING)) {
            struct sql_value *at = ledger_scratch_values(scratch, HOLD_VALUES);
            at[0] = sql_text(chosen->span->entries[i]->scope);
            at[1] = sql_text(chosen->span->entries[i]->id);
            rows++;
        }
    }
    add_step(writer, steps, count, LEDGER_HOLD_DROP, values, rows, SQL_ANY);
}

static void add_counters(struct ledger_writer *writer, enum ledger_kind kind,
                         struct sql_step *steps, size_t *count)
{
    struct ledger_scratch *scratch = &writer->scratch;
    size_t rows = 0;
    const struct sql_value *values = scratch->values + scratch->value_count;

    for (size_t i = 0; i < scratch->total_count; i++) {
        const struct ledger_total *total = &scratch->totals[scratch->sorted[i]];
        if (total->kind == kind && total->sum > 0) {
            *ledger_scratch_values(scratch, 1) = sql_integer(total->sum);
            *ledger_scratch_values(scratch, 1) = sql_text(total->scope);
            if (kind == LEDGER_BOOKING) {
                *ledger_scratch_values(scratch, 1) = sql_text(total->zone);
            }
            *ledger_scratch_values(scratch, 1) = sql_integer(total->sum);
            rows++;
        }
    }
    add_step(writer, steps, count, kind == LEDGER_ORDER ? LEDGER_STOCK_SELL : LEDGER_ZONE_SELL,
             values, rows, 1);
}

static void add_guards(struct ledger_writer *writer, const struct chosen *chosen,
                       struct sql_step *steps, size_t *count)
{
    struct ledger_scratch *scratch = &writer->scratch;
    size_t rows = 0;
    const struct sql_value *values = scratch->values + scratch->value_count;

    for (size_t i = 0; i < chosen->span->count; i++) {
        const struct ledger_entry *entry = chosen->span->entries[i];
        if (entry->max > 0 && is_chosen(chosen, i, LEDGER_ORDER)) {
            struct sql_value *at = ledger_scratch_values(scratch, GUARD_VALUES);
            at[0] = sql_integer(writer->id);
            at[1] = sql_integer(entry->max);
            at[2] = sql_text(entry->user);
            at[3] = sql_text(entry->scope);
            rows++;
        }
    }
    add_step(writer, steps, count, LEDGER_USER_GUARD, values, rows, 0);
}

static struct ledger_noticed noticed_of(const struct ledger_entry *entry)
{
    bool order = entry->kind == LEDGER_ORDER;

    return (struct ledger_noticed){.order = order,
                                   .scope = entry->scope,
                                   .id = entry->id,
                                   .user = entry->user,
                                   .zone = entry->zone,
                                   .payment = entry->payment,
                                   .quantity = entry->quantity,
                                   .unit_price = entry->unit_price,
                                   .status = order ? "sold" : "confirmed",
                                   .trace = entry->trace};
}

static void add_notices(struct ledger_writer *writer, const struct chosen *chosen,
                        struct sql_step *steps, size_t *count)
{
    struct ledger_scratch *scratch = &writer->scratch;
    size_t rows = 0;
    const struct sql_value *values = scratch->values + scratch->value_count;

    buffer_clear(&scratch->notices);
    for (size_t i = 0; i < chosen->span->count; i++) {
        const struct ledger_entry *entry = chosen->span->entries[i];
        if (entry->notice != NULL && is_chosen(chosen, i, entry->kind)) {
            struct ledger_noticed noticed = noticed_of(entry);
            size_t start = scratch->notices.size;
            ledger_notice_write(&scratch->notices, &noticed);
            struct hf_bytes data = {scratch->notices.data + start, scratch->notices.size - start};
            struct sql_value *at = ledger_scratch_values(scratch, LEDGER_NOTICE_VALUES);
            ledger_notice_values(entry->scope, entry->id, entry->notice, data, at);
            rows++;
        }
    }
    add_step(writer, steps, count, LEDGER_NOTICE_ADD, values, rows, 1);
}

size_t ledger_transaction_steps(struct ledger_writer *writer, const struct ledger_span *span,
                                enum ledger_entry_state state, bool guarded, uint64_t number,
                                struct sql_step steps[LEDGER_STEPS_MAX])
{
    struct ledger_scratch *scratch = &writer->scratch;
    const struct chosen chosen = {span, state};
    size_t count = 1;

    scratch->value_count = 0;
    for (size_t i = 0; i < scratch->total_count; i++) {
        scratch->totals[i].sum = 0;
    }
    steps[0] =
        ledger_writer_fence(writer, number, ledger_scratch_values(scratch, LEDGER_FENCE_VALUES));
    add_rows(writer, &chosen, LEDGER_ORDER, number, steps, &count);
    drop_holds(writer, &chosen, steps, &count);
    add_rows(writer, &chosen, LEDGER_BOOKING, number, steps, &count);
    add_counters(writer, LEDGER_ORDER, steps, &count);
    add_counters(writer, LEDGER_BOOKING, steps, &count);
    add_notices(writer, &chosen, steps, &count);
    if (guarded) {
        add_guards(writer, &chosen, steps, &count);
    }
    CHECK(count <= LEDGER_STEPS_MAX);
    return count;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads rows of orders and bookings. */
#include "ledger/row.h"

enum {
    ROW_SCOPE,
    ROW_USER,
    ROW_STATUS,
    ROW_QUANTITY,
    ROW_PRICE,
    ROW_MADE,
    ROW_ENDED,
    ROW_WRITER,
    ROW_BATCH,
    ROW_TOLD,
    ROW_ZONE,
    ROW_PAYMENT,
    ROW_CODE,
};

int64_t ledger_integer(const struct sql_value *value)
{
    return value->integer > HF_INTEGER_MAX    ? HF_INTEGER_MAX
           : value->integer < -HF_INTEGER_MAX ? -HF_INTEGER_MAX
                                              : value->integer;
}

void ledger_text_copy(char *out, size_t size, const struct sql_value *value)
{
    size_t length = value->kind != SQL_TEXT       ? 0
                    : value->text.size < size - 1 ? value->text.size
                                                  : size - 1;

    memcpy(out, value->text.data, length);
    out[length] = '\0';
}

/* The row of a writer is behind what the writer itself knows. */
static bool is_told_here(struct ledger *ledger, int64_t writer, int64_t batch)
{
    bool told = false;

    pthread_mutex_lock(&ledger->lock);
    for (unsigned i = 0; i < ledger->writer_count; i++) {
        told = told ||
               (ledger->writers[i].id == writer && batch <= (int64_t)ledger->writers[i].tally.told);
    }
    pthread_mutex_unlock(&ledger->lock);
    return told;
}

void ledger_row_read(struct ledger *ledger, const struct sql_value *columns, size_t count,
                     struct ledger_row *row)
{
    *row = (struct ledger_row){
        .quantity = ledger_integer(&columns[ROW_QUANTITY]),
        .unit_price = ledger_integer(&columns[ROW_PRICE]),
        .made_at_ms = ledger_integer(&columns[ROW_MADE]),
        .ended_at_ms = ledger_integer(&columns[ROW_ENDED]),
        .counted = columns[ROW_WRITER].integer != 0,
        .told = columns[ROW_BATCH].integer <= columns[ROW_TOLD].integer ||
                is_told_here(ledger, columns[ROW_WRITER].integer, columns[ROW_BATCH].integer),
    };
    ledger_text_copy(row->user, sizeof row->user, &columns[ROW_USER]);
    ledger_text_copy(row->status, sizeof row->status, &columns[ROW_STATUS]);
    if (count > ROW_CODE) {
        ledger_text_copy(row->zone, sizeof row->zone, &columns[ROW_ZONE]);
        ledger_text_copy(row->payment, sizeof row->payment, &columns[ROW_PAYMENT]);
        ledger_text_copy(row->code, sizeof row->code, &columns[ROW_CODE]);
    }
}

bool ledger_row_stands(const struct ledger_row *row)
{
    return strcmp(row->status, "sold") == 0 || strcmp(row->status, "confirmed") == 0;
}

bool ledger_row_is_cancelled(const struct ledger_row *row)
{
    return strcmp(row->status, "cancelled") == 0;
}

enum ledger_statement ledger_row_find(enum ledger_kind kind)
{
    return kind == LEDGER_ORDER ? LEDGER_ORDER_FIND : LEDGER_BOOKING_FIND;
}

size_t ledger_row_values(enum ledger_kind kind, struct hf_bytes scope, struct hf_bytes id,
                         struct sql_value *values)
{
    if (kind == LEDGER_ORDER) {
        values[0] = sql_text(id);
        return 1;
    }
    values[0] = sql_text(scope);
    values[1] = sql_text(id);
    return 2;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of orders and bookings, as LEDGER_ORDER_FIND and LEDGER_BOOKING_FIND give them. */
#ifndef LEDGER_ROW_H
#define LEDGER_ROW_H

#include "ledger/state.h"

/* A text with its NUL, cut if it does not fit. */
/* A number of a row, within the bounds of ours: whoever can write to the database may have put
 * anything there, and sums with it must not overflow. */
int64_t ledger_integer(const struct sql_value *value);

void ledger_text_copy(char *out, size_t size, const struct sql_value *value);

void ledger_row_read(struct ledger *ledger, const struct sql_value *columns, size_t count,
                     struct ledger_row *row);

/* Is it sold, and not returned? */
bool ledger_row_stands(const struct ledger_row *row);
/* Was it cancelled before it was there? Then it says nothing about the sale. */
bool ledger_row_is_cancelled(const struct ledger_row *row);

/* The statement of a kind, and its values, of which there are 1 or 2. */
enum ledger_statement ledger_row_find(enum ledger_kind kind);
size_t ledger_row_values(enum ledger_kind kind, struct hf_bytes scope, struct hf_bytes id,
                         struct sql_value *values);

#endif

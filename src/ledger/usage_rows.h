/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a reading of usage: what each tenant uses, or what is wrong with what the database
 * answered. */
#ifndef LEDGER_USAGE_ROWS_H
#define LEDGER_USAGE_ROWS_H

#include "ledger/sql.h"
#include "ledger/usage.h"

struct usage_stored_row {
    size_t offset; /* of its tenant in `texts`; the value of a faulty one stands behind it */
    int64_t used;
    uint8_t tenant_size, value_size, fault;
};

/* All zero is empty. A smaller count and texts_size, as they were, forget what came since. */
struct usage_rows {
    struct usage_stored_row *rows;
    char *texts;
    size_t count, capacity, texts_size, texts_capacity;
};

/* Copies both; false when there is no memory. */
bool usage_rows_add(struct usage_rows *rows, struct hf_bytes tenant, const struct sql_value *value);
/* Sorts the rows by the bytes of the tenants, which need not be the database's order, and tells
 * whether a tenant is there twice. */
bool usage_rows_sort(struct usage_rows *rows);
void usage_rows_free(struct usage_rows *rows);

struct usage_row usage_rows_at(const struct usage_rows *rows, size_t index);
/* Is the tenant among them? They have to be sorted. */
bool usage_rows_have(const struct usage_rows *rows, struct hf_bytes tenant);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a reading of usage: read from what a database answers, stored in little memory,
 * sorted and found. */
#include "ledger/usage_rows.h"

#include "base/check.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define VALUE_SHOWN 40

/* Room for `more` elements of a size; false when there is no memory. */
static bool grow(void **array, size_t *capacity, size_t count, size_t more, size_t size)
{
    if (count + more <= *capacity) {
        return true;
    }
    size_t wanted = (count + more) * 2;
    void *larger = realloc(*array, wanted * size);
    if (larger == NULL) {
        return false;
    }
    *array = larger;
    *capacity = wanted;
    return true;
}

/* A whole number, to which a database may have added zeros behind a point. */
static enum usage_fault read_used(const struct sql_value *value, int64_t *used)
{
    char digits[32];
    struct hf_bytes text = value->text;

    *used = 0;
    if (value->kind == SQL_NULL) {
        return USAGE_NULL;
    }
    if (value->kind == SQL_INTEGER) {
        int size = snprintf(digits, sizeof digits, "%lld", (long long)value->integer);
        text = (struct hf_bytes){digits, (size_t)size};
    }
    const char *point = text.size > 0 ? memchr(text.data, '.', text.size) : NULL;
    size_t whole = point == NULL ? text.size : (size_t)(point - text.data);
    for (size_t i = whole + 1; i < text.size; i++) {
        if (text.data[i] != '0') {
            return USAGE_NO_NUMBER;
        }
    }
    bool negative = whole > 1 && text.data[0] == '-';
    for (size_t i = negative ? 1 : 0; i < whole; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return USAGE_NO_NUMBER;
        }
    }
    if (whole == 0) {
        return USAGE_NO_NUMBER;
    }
    if (negative) {
        return USAGE_NEGATIVE;
    }
    bool fits = text_to_integer((struct hf_bytes){text.data, whole}, used) && *used >= 0 &&
                *used <= HF_INTEGER_MAX;
    *used = fits ? *used : 0;
    return fits ? USAGE_FINE : USAGE_TOO_LARGE;
}

static struct hf_bytes row_tenant(const struct usage_rows *rows, const struct usage_stored_row *row)
{
    return (struct hf_bytes){rows->texts + row->offset, row->tenant_size};
}

bool usage_rows_add(struct usage_rows *rows, struct hf_bytes tenant, const struct sql_value *value)
{
    int64_t used;
    enum usage_fault fault = read_used(value, &used);
    struct hf_bytes shown = {"", 0};

    fault = text_is_id(tenant) ? fault : USAGE_NO_ID;
    tenant.size = tenant.size < HF_ID_MAX ? tenant.size : HF_ID_MAX;
    if (fault != USAGE_FINE && value->kind == SQL_TEXT) {
        shown = value->text;
        shown.size = shown.size < VALUE_SHOWN ? shown.size : VALUE_SHOWN;
    }
    if (!grow((void **)&rows->rows, &rows->capacity, rows->count, 1, sizeof *rows->rows) ||
        !grow((void **)&rows->texts, &rows->texts_capacity, rows->texts_size,
              tenant.size + shown.size + 1, 1)) {
        return false;
    }
    rows->rows[rows->count++] = (struct usage_stored_row){.offset = rows->texts_size,
                                                          .used = used,
                                                          .tenant_size = (uint8_t)tenant.size,
                                                          .value_size = (uint8_t)shown.size,
                                                          .fault = (uint8_t)fault};
    memcpy(rows->texts + rows->texts_size, tenant.data, tenant.size);
    memcpy(rows->texts + rows->texts_size + tenant.size, shown.data, shown.size);
    rows->texts_size += tenant.size + shown.size;
    return true;
}

static _Thread_local const struct usage_rows *sorted; /* qsort() has no context */

static int compare_names(struct hf_bytes a, struct hf_bytes b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

static int compare_rows(const void *a, const void *b)
{
    return compare_names(row_tenant(sorted, a), row_tenant(sorted, b));
}

bool usage_rows_sort(struct usage_rows *rows)
{
    bool twice = false;

    sorted = rows;
    if (rows->count > 1) {
        qsort(rows->rows, rows->count, sizeof *rows->rows, compare_rows);
    }
    for (size_t i = 1; i < rows->count && !twice; i++) {
        twice = rows->rows[i].fault != USAGE_NO_ID &&
                compare_rows(&rows->rows[i - 1], &rows->rows[i]) == 0;
    }
    return twice;
}

void usage_rows_free(struct usage_rows *rows)
{
    free(rows->rows);
    free(rows->texts);
}

struct usage_row usage_rows_at(const struct usage_rows *rows, size_t index)
{
    CHECK(index < rows->count);
    const struct usage_stored_row *row = &rows->rows[index];
    return (struct usage_row){
        .tenant = row_tenant(rows, row),
        .fault = row->fault,
        .used = row->used,
        .value = {rows->texts + row->offset + row->tenant_size, row->value_size}};
}

bool usage_rows_have(const struct usage_rows *rows, struct hf_bytes tenant)
{
    size_t low = 0, high = rows->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(row_tenant(rows, &rows->rows[middle]), tenant);
        if (order == 0) {
            return true;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return false;
}

const char *usage_fault_text(enum usage_fault fault)
{
    static const char *const texts[] = {
        [USAGE_FINE] = "",
        [USAGE_NO_ID] = "no tenant can have this name",
        [USAGE_NULL] = "the database answers NULL",
        [USAGE_NEGATIVE] = "the database answers less than 0",
        [USAGE_NO_NUMBER] = "the database answers no whole number",
        [USAGE_TOO_LARGE] = "the database answers more than 2^53-1",
    };

    return texts[fault];
}

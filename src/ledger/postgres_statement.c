/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements on PostgreSQL: how their texts and values are written.
 *
 * Values travel in binary: texts as they are, integers as int8, and the rows that {rows} stands for
 * as an array for each column, which unnest() turns into rows again; so a statement is prepared
 * once, however many rows it takes.
 *
 * A step that expects a number of changed rows has to fail on the server if it changes another, for
 * its COMMIT is in flight behind it. Its statement is guarded: it becomes a part of a query that
 * counts what was changed and, if that is wrong, casts to a number what is none. The error carries
 * POSTGRES_MISSED, which no other error does. */
#include "ledger/postgres_state.h"

#include "base/check.h"
#include "base/text.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>

#define VALUES_MAX 31 /* of a row */
#define NAME_SIZE 24
#define ROWS "{rows}"

/* Types by their numbers in pg_type, which never change. */
enum { TYPE_INT8 = 20, TYPE_TEXT = 25, TYPE_TEXT_ARRAY = 1009, TYPE_INT8_ARRAY = 1016 };

/* An array in binary: dimensions, whether there are NULLs, the type; then size and first index. */
#define ARRAY_HEAD 20

struct parameters {
    const char *values[VALUES_MAX + 1];
    int sizes[VALUES_MAX + 1], formats[VALUES_MAX + 1];
    uint64_t integers[VALUES_MAX + 1]; /* as they are sent, where values[] points to them */
    int count;
};

/* ---- texts ----------------------------------------------------------------------------------- */

/* Bytes of the literal or the quoted name that begins here; 0 if none does. */
static size_t quoted_size(const char *at)
{
    if (*at != '\'' && *at != '"') {
        return 0;
    }
    const char *end = strchr(at + 1, *at);
    CHECK(end != NULL);
    return (size_t)(end + 1 - at);
}

static void write_rows(const char *types, struct buffer *out)
{
    buffer_text(out, "SELECT * FROM unnest(");
    for (size_t i = 0; types[i] != '\0'; i++) {
        buffer_format(out, "%s$%zu::%s[]", i > 0 ? ", " : "", i + 1,
                      types[i] == 'i' ? "int8" : "text");
    }
    buffer_text(out, ")");
}

/* $1, $2, … for each ?, and the arrays for {rows}. */
static void write_text(const struct sql_statement *statement, struct buffer *out)
{
    size_t marks = 0, values = strlen(statement->types);
    for (const char *at = statement->text; *at != '\0';) {
        size_t size = quoted_size(at);
        if (size > 0) {
            buffer_bytes(out, at, size);
        } else if (*at == '?') {
            size = 1;
            buffer_format(out, "$%zu", ++marks);
        } else if (text_starts_with(at, ROWS)) {
            size = strlen(ROWS);
            marks += values;
            write_rows(statement->types, out);
        } else {
            size = 1;
            buffer_bytes(out, at, size);
        }
        at += size;
    }
    CHECK(marks == values);
}

/* The count is in the output of the outer query's first table, so that it is made whatever the
 * statement returns, and also if that is nothing. */
static void write_guarded(const struct sql_statement *statement, struct buffer *out)
{
    bool returns = strcasestr(statement->text, "RETURNING") != NULL ||
                   strncasecmp(statement->text, "SELECT", 6) == 0;
    buffer_text(out, "WITH changed AS (");
    write_text(statement, out);
    buffer_format(out,
                  "%s), counted AS (SELECT CASE WHEN count(*) = $%zu THEN 1 ELSE "
                  "('" POSTGRES_MISSED "' || count(*))::int8 END AS fits FROM changed) ",
                  returns ? "" : " RETURNING 1", strlen(statement->types) + 1);
    buffer_text(out, returns ? "SELECT changed.* FROM counted LEFT JOIN changed ON counted.fits = 1"
                             : "SELECT fits FROM counted");
}

/* ---- values ---------------------------------------------------------------------------------- */

static char *put_int32(char *out, size_t number)
{
    CHECK(number <= UINT32_MAX);
    uint32_t sent = htobe32((uint32_t)number);
    memcpy(out, &sent, sizeof sent);
    return out + sizeof sent;
}

static void check_type(const struct sql_value *value, char type)
{
    CHECK(value->kind == SQL_NULL || (value->kind == SQL_INTEGER) == (type == 'i'));
    CHECK(value->text.size <= INT32_MAX);
}

static size_t value_size(const struct sql_value *value)
{
    return value->kind == SQL_TEXT      ? value->text.size
           : value->kind == SQL_INTEGER ? sizeof(int64_t)
                                        : 0;
}

static size_t array_size(const struct sql_value *values, size_t stride, size_t rows)
{
    size_t size = ARRAY_HEAD + rows * sizeof(int32_t);
    for (size_t row = 0; row < rows; row++) {
        size += value_size(values + row * stride);
    }
    return size;
}

static char *put_element(char *out, const struct sql_value *value)
{
    if (value->kind == SQL_NULL) {
        return put_int32(out, UINT32_MAX);
    }
    out = put_int32(out, value_size(value));
    if (value->kind == SQL_INTEGER) {
        uint64_t sent = htobe64((uint64_t)value->integer);
        memcpy(out, &sent, sizeof sent);
    } else if (value->text.size > 0) {
        memcpy(out, value->text.data, value->text.size);
    }
    return out + value_size(value);
}

static char *put_array(char *out, char type, const struct sql_value *values, size_t stride,
                       size_t rows)
{
    bool nulls = false;
    for (size_t row = 0; row < rows; row++) {
        check_type(values + row * stride, type);
        nulls = nulls || values[row * stride].kind == SQL_NULL;
    }
    out = put_int32(out, 1);
    out = put_int32(out, nulls);
    out = put_int32(out, type == 'i' ? TYPE_INT8 : TYPE_TEXT);
    out = put_int32(out, rows);
    out = put_int32(out, 1);
    for (size_t row = 0; row < rows; row++) {
        out = put_element(out, values + row * stride);
    }
    return out;
}

static void add_value(struct parameters *parameters, const char *value, size_t size)
{
    int i = parameters->count++;
    CHECK(i <= VALUES_MAX && size <= INT_MAX);
    parameters->values[i] = value;
    parameters->sizes[i] = (int)size;
    parameters->formats[i] = 1;
}

static void add_integer(struct parameters *parameters, int64_t integer)
{
    uint64_t *sent = &parameters->integers[parameters->count];
    *sent = htobe64((uint64_t)integer);
    add_value(parameters, (const char *)sent, sizeof *sent);
}

static void add_row(struct parameters *parameters, const char *types,
                    const struct sql_value *values)
{
    for (size_t i = 0; types[i] != '\0'; i++) {
        check_type(&values[i], types[i]);
        if (values[i].kind == SQL_INTEGER) {
            add_integer(parameters, values[i].integer);
        } else if (values[i].kind == SQL_TEXT) {
            add_value(parameters, values[i].text.size > 0 ? values[i].text.data : "",
                      values[i].text.size);
        } else {
            add_value(parameters, NULL, 0);
        }
    }
}

/* False without memory. */
static bool add_arrays(struct parameters *parameters, const struct sql_step *step,
                       struct buffer *scratch)
{
    const char *types = step->statement->types;
    size_t stride = strlen(types), total = 0;
    for (size_t i = 0; i < stride; i++) {
        total += array_size(step->values + i, stride, step->rows);
    }
    buffer_clear(scratch);
    if (!buffer_reserve(scratch, total)) {
        return false;
    }
    char *out = scratch->data;
    for (size_t i = 0; i < stride; i++) {
        char *end = put_array(out, types[i], step->values + i, stride, step->rows);
        add_value(parameters, out, (size_t)(end - out));
        out = end;
    }
    CHECK(out == scratch->data + total);
    return true;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void write_name(char name[NAME_SIZE], size_t statement)
{
    snprintf(name, NAME_SIZE, "holdfast_%zu", statement);
}

/* The record of a statement; NULL without memory. */
static struct postgres_statement *find(struct postgres *postgres, size_t statement)
{
    if (statement >= postgres->statement_count) {
        size_t count = statement + 32, each = sizeof *postgres->statements;
        struct postgres_statement *grown =
            memory_resize(&postgres->memory, postgres->statements, postgres->statement_count * each,
                          count * each);
        if (grown == NULL) {
            return NULL;
        }
        memset(grown + postgres->statement_count, 0, (count - postgres->statement_count) * each);
        postgres->statements = grown;
        postgres->statement_count = count;
    }
    return &postgres->statements[statement];
}

static bool queue_prepare(struct postgres *postgres, const struct sql_step *step, size_t number,
                          size_t index)
{
    const struct sql_statement *statement = step->statement;
    struct postgres_statement *record = &postgres->statements[index];
    Oid types[VALUES_MAX + 1];
    size_t count = strlen(statement->types);
    CHECK(count <= VALUES_MAX);
    record->array = strstr(statement->text, ROWS) != NULL;
    for (size_t i = 0; i < count; i++) {
        bool integer = statement->types[i] == 'i';
        types[i] = record->array ? (integer ? TYPE_INT8_ARRAY : TYPE_TEXT_ARRAY)
                                 : (integer ? TYPE_INT8 : TYPE_TEXT);
    }
    buffer_clear(&postgres->scratch);
    if (step->expected != SQL_ANY) {
        types[count++] = TYPE_INT8;
        write_guarded(statement, &postgres->scratch);
    } else {
        write_text(statement, &postgres->scratch);
    }
    buffer_byte(&postgres->scratch, 0);
    char name[NAME_SIZE];
    write_name(name, index);
    if (postgres->scratch.failed ||
        !postgres_expect(postgres, (struct postgres_message){.kind = POSTGRES_PREPARE,
                                                             .statement = index,
                                                             .step = number}) ||
        !PQsendPrepare(postgres->link, name, postgres->scratch.data, (int)count, types)) {
        return false;
    }
    record->state = POSTGRES_PREPARING;
    return true;
}

static bool queue_execute(struct postgres *postgres, struct parameters *parameters,
                          struct postgres_message message)
{
    char name[NAME_SIZE];
    write_name(name, message.statement);
    return postgres_expect(postgres, message) &&
           PQsendQueryPrepared(postgres->link, name, parameters->count, parameters->values,
                               parameters->sizes, parameters->formats, 0) != 0;
}

bool postgres_queue_step(struct postgres *postgres, const struct sql_step *step, size_t number)
{
    bool guarded = step->expected != SQL_ANY;
    const char *types = step->statement->types;
    size_t index = (size_t)step->statement->number * 2 + guarded, stride = strlen(types);
    const struct postgres_statement *record = find(postgres, index);
    if (step->rows == 0) {
        return true;
    }
    if (record == NULL ||
        (record->state == POSTGRES_ABSENT && !queue_prepare(postgres, step, number, index))) {
        return false;
    }
    size_t executions = record->array ? 1 : step->rows;
    for (size_t row = 0; row < executions; row++) {
        struct parameters parameters;
        parameters.count = 0;
        if (!record->array) {
            add_row(&parameters, types, step->values + row * stride);
        } else if (!add_arrays(&parameters, step, &postgres->scratch)) {
            return false;
        }
        if (guarded) {
            add_integer(&parameters, step->expected * (int64_t)(record->array ? step->rows : 1));
        }
        if (!queue_execute(
                postgres, &parameters,
                (struct postgres_message){
                    .kind = POSTGRES_EXECUTE, .statement = index, .step = number, .row = row})) {
            return false;
        }
    }
    return true;
}

void postgres_statement_answered(struct postgres *postgres, size_t statement, bool prepared)
{
    postgres->statements[statement].state = prepared ? POSTGRES_PREPARED : POSTGRES_ABSENT;
}

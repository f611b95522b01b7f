/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out the steps of a transaction on MySQL and MariaDB: values, results, and what is in
 * flight.
 *
 * A statement that is carried out for many rows is sent for the next ones before the first is
 * answered, so that a step takes a round trip for each 32 of them. The client never waits to send
 * while the server waits to be read: of what has large answers the requests are small, and all that
 * are in flight fit into the socket's buffers; of what has large requests the answers are small.
 *
 * If one fails, those behind it are carried out all the same, and rolled back with all else. */
#include "ledger/mysql_state.h"

#include "base/check.h"

#include <stdio.h>

#define IN_FLIGHT_MAX 32
#define TEXT_FIRST_SIZE 256 /* of a column's buffer; it grows with what is found */

static bool fail_missed(struct mysql_failure *failure, int64_t expected, uint64_t changed)
{
    failure->error = 0;
    snprintf(failure->words, sizeof failure->words, "%llu rows were changed or found, not %lld",
             (unsigned long long)changed, (long long)expected);
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool reserve_binds(struct mysql_connection *connection, size_t count)
{
    size_t each = sizeof *connection->binds;

    if (count > connection->bind_capacity) {
        MYSQL_BIND *binds = memory_resize(&connection->memory, connection->binds,
                                          connection->bind_capacity * each, count * each);
        if (binds == NULL) {
            return false;
        }
        connection->binds = binds;
        connection->bind_capacity = count;
    }
    return true;
}

/* libmariadb reads the value where it is, and does not change it. */
static MYSQL_BIND bind_of(const struct sql_value *value, char type)
{
    CHECK(value->kind == SQL_NULL || (value->kind == SQL_INTEGER) == (type == 'i'));
    if (value->kind == SQL_INTEGER) {
        return (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = (void *)&value->integer};
    }
    if (value->kind == SQL_TEXT) {
        return (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING,
                            .buffer = value->text.size > 0 ? (void *)value->text.data : "",
                            .buffer_length = value->text.size};
    }
    return (MYSQL_BIND){.buffer_type = MYSQL_TYPE_NULL};
}

static bool bind_values(struct mysql_connection *connection, MYSQL_STMT *handle, const char *types,
                        const struct sql_value *values, size_t rows, struct mysql_failure *failure)
{
    size_t stride = strlen(types);

    if (stride == 0) {
        return true;
    }
    if (!reserve_binds(connection, rows * stride)) {
        return mysql_fail_memory(failure);
    }
    for (size_t i = 0; i < rows * stride; i++) {
        connection->binds[i] = bind_of(&values[i], types[i % stride]);
    }
    return mysql_stmt_bind_param(handle, connection->binds) == 0 ||
           mysql_fail_statement(connection, handle, failure);
}

/* ---- results --------------------------------------------------------------------------------- */

static MYSQL_BIND bind_of_column(struct mysql_column *column, bool integer)
{
    if (integer) {
        return (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONGLONG,
                            .buffer = &column->integer,
                            .is_null = &column->is_null};
    }
    return (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING,
                        .buffer = column->text.data,
                        .buffer_length = column->text.capacity,
                        .length = &column->size,
                        .is_null = &column->is_null};
}

/* A column's place, with room for what was found to be in it. False without memory. */
static bool bind_columns(struct mysql_connection *connection, const struct mysql_prepared *prepared)
{
    MYSQL_BIND binds[SQL_COLUMNS_MAX];

    for (unsigned i = 0; i < prepared->columns; i++) {
        struct mysql_column *column = &connection->columns[i];
        if (!prepared->integers[i] && column->text.capacity == 0 &&
            !buffer_reserve(&column->text, TEXT_FIRST_SIZE)) {
            return false;
        }
        binds[i] = bind_of_column(column, prepared->integers[i]);
    }
    return mysql_stmt_bind_result(prepared->handle, binds) == 0;
}

/* Takes the texts of a row that did not fit, into buffers where they and those to come do. */
static bool fetch_long_texts(struct mysql_connection *connection,
                             const struct mysql_prepared *prepared)
{
    for (unsigned i = 0; i < prepared->columns; i++) {
        struct mysql_column *column = &connection->columns[i];
        if (prepared->integers[i] || column->is_null || column->size <= column->text.capacity) {
            continue;
        }
        if (!buffer_reserve(&column->text, column->size)) {
            return false;
        }
        MYSQL_BIND bind = bind_of_column(column, false);
        if (mysql_stmt_fetch_column(prepared->handle, &bind, i, 0) != 0) {
            return false;
        }
    }
    return bind_columns(connection, prepared);
}

static void give_row(struct mysql_connection *connection, const struct mysql_prepared *prepared,
                     const struct sql_step *step, size_t row)
{
    struct sql_value values[SQL_COLUMNS_MAX] = {{.kind = SQL_NULL}};

    for (unsigned i = 0; i < prepared->columns; i++) {
        const struct mysql_column *column = &connection->columns[i];
        if (column->is_null) {
            values[i] = (struct sql_value){.kind = SQL_NULL};
        } else if (prepared->integers[i]) {
            values[i] = sql_integer(column->integer);
        } else {
            values[i] = sql_text((struct hf_bytes){column->text.data, column->size});
        }
    }
    if (step->each != NULL) {
        step->each(step->context, row, values, prepared->columns);
    }
}

static bool fetch_rows(struct mysql_connection *connection, const struct mysql_prepared *prepared,
                       const struct sql_step *step, size_t row, uint64_t *count,
                       struct mysql_failure *failure)
{
    for (;; ++*count) {
        int fetched = mysql_stmt_fetch(prepared->handle);
        if (fetched == MYSQL_NO_DATA) {
            return true;
        }
        if (fetched == 1) {
            return mysql_fail_statement(connection, prepared->handle, failure);
        }
        if (fetched == MYSQL_DATA_TRUNCATED && !fetch_long_texts(connection, prepared)) {
            return mysql_fail_memory(failure);
        }
        give_row(connection, prepared, step, row);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A part of a step: what one execution of its statement takes of its rows of values. */
struct part {
    size_t row, rows;
    struct mysql_prepared *prepared;
};

/* The largest power of two that is not more. */
static size_t at_once(size_t rows)
{
    size_t size = MYSQL_ROWS_MAX;

    while (size > rows) {
        size /= 2;
    }
    return size;
}

/* The next parts, at most `max`, from a row of values on; gives how many. 0, and why, if a
 * statement cannot be prepared. */
static size_t plan(struct mysql_connection *connection, const struct sql_step *step, size_t row,
                   struct part *parts, size_t max, struct mysql_failure *failure)
{
    bool together = strstr(step->statement->text, MYSQL_ROWS) != NULL;
    size_t count = 0;

    for (; count < max && row < step->rows; count++) {
        size_t rows = together ? at_once(step->rows - row) : 1;
        parts[count] = (struct part){
            row, rows, mysql_prepared_find(connection, step->statement, rows, failure)};
        if (parts[count].prepared == NULL) {
            return 0;
        }
        row += rows;
    }
    return count;
}

static bool send_part(struct mysql_connection *connection, const struct sql_step *step,
                      const struct part *part, struct mysql_failure *failure)
{
    const char *types = step->statement->types;
    const struct sql_value *values = step->values + part->row * strlen(types);
    MYSQL_STMT *handle = part->prepared->handle;

    return bind_values(connection, handle, types, values, part->rows, failure) &&
           (mysql_stmt_execute(handle) == 0 || mysql_fail_statement(connection, handle, failure));
}

static bool take_answer(struct mysql_connection *connection, const struct sql_step *step,
                        const struct part *part, struct mysql_failure *failure)
{
    const struct mysql_prepared *prepared = part->prepared;
    uint64_t changed = 0;

    if (prepared->columns > 0 && !bind_columns(connection, prepared)) {
        return mysql_fail_memory(failure);
    }
    if (connection->link->methods->db_read_execute_response(prepared->handle) != 0) {
        return mysql_fail_statement(connection, prepared->handle, failure);
    }
    if (mysql_stmt_field_count(prepared->handle) != prepared->columns) {
        return mysql_fail_other(failure);
    }
    if (prepared->columns == 0) {
        changed = mysql_stmt_affected_rows(prepared->handle);
    } else if (!fetch_rows(connection, prepared, step, part->row, &changed, failure)) {
        return false;
    }
    int64_t expected = step->expected * (int64_t)part->rows;
    return step->expected == SQL_ANY || changed == (uint64_t)expected ||
           fail_missed(failure, expected, changed);
}

/* Takes the answers of parts that were sent behind one that has failed, so that the link can be
 * used to roll all of it back. */
static void skip_answers(struct mysql_connection *connection, const struct sql_step *step,
                         const struct part *parts, size_t count)
{
    struct sql_step unheard = {.statement = step->statement, .expected = SQL_ANY};
    struct mysql_failure ignored = {.error = 0};

    for (size_t i = 0; i < count && !mysql_failure_is_of_link(&ignored); i++) {
        take_answer(connection, &unheard, &parts[i], &ignored);
    }
}

/* libmariadb sends without waiting for the answer, or waits for it as it usually does. */
static void set_sending(struct mysql_connection *connection, bool sending)
{
    my_bool skip = sending;
    mysql_optionsv(connection->link, MARIADB_OPT_SKIP_READ_RESPONSE, &skip);
}

/* Sends parts, and takes their answers. */
static bool run_parts(struct mysql_connection *connection, const struct sql_step *step,
                      const struct part *parts, size_t count, struct mysql_failure *failure)
{
    size_t sent = 0;

    set_sending(connection, true);
    while (sent < count && send_part(connection, step, &parts[sent], failure)) {
        sent++;
    }
    set_sending(connection, false);
    /* What cannot be sent is an error of the link or of memory; what was sent is not waited for. */
    if (sent < count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!take_answer(connection, step, &parts[i], failure)) {
            failure->row = parts[i].rows == 1 ? parts[i].row : 0;
            if (!mysql_failure_is_of_link(failure)) {
                skip_answers(connection, step, parts + i + 1, count - i - 1);
            }
            return false;
        }
    }
    return true;
}

bool mysql_step_run(struct mysql_connection *connection, const struct sql_step *step,
                    struct mysql_failure *failure)
{
    struct part parts[IN_FLIGHT_MAX];

    for (size_t row = 0; row < step->rows;) {
        size_t count = plan(connection, step, row, parts, IN_FLIGHT_MAX, failure);
        if (count == 0 || !run_parts(connection, step, parts, count, failure)) {
            return false;
        }
        row = parts[count - 1].row + parts[count - 1].rows;
    }
    return true;
}

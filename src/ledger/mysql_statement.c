/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements on MySQL and MariaDB: their texts, preparing them, and what went wrong with them.
 *
 * The rows that {rows} stands for become "VALUES (?, ?), (?, ?)…" of a statement that is prepared
 * for a power of two of them; 300 rows are carried out as 256, 32, 8 and 4. MariaDB could take any
 * number of rows at once (its bulk protocol, 20 % less work for the server), but MySQL has no such
 * thing, and one way for both is tested on both. */
#include "ledger/mysql_state.h"

#include "base/check.h"
#include "base/text.h"

#include <errmsg.h>
#include <stdio.h>

/* ---- failures -------------------------------------------------------------------------------- */

static bool fail(struct mysql_failure *failure, unsigned error, const char *words)
{
    failure->error = error;
    snprintf(failure->words, sizeof failure->words, "%s", words);
    return false;
}

bool mysql_fail_memory(struct mysql_failure *failure)
{
    return fail(failure, CR_OUT_OF_MEMORY, "out of memory");
}

bool mysql_fail_other(struct mysql_failure *failure)
{
    return fail(failure, CR_MALFORMED_PACKET,
                "the server answers about another statement than it was sent");
}

/* libmariadb says some of it of the statement, and some of the connection only. */
bool mysql_fail_statement(struct mysql_connection *connection, MYSQL_STMT *handle,
                          struct mysql_failure *failure)
{
    if (mysql_stmt_errno(handle) != 0) {
        return fail(failure, mysql_stmt_errno(handle), mysql_stmt_error(handle));
    }
    if (mysql_errno(connection->link) != 0) {
        return fail(failure, mysql_errno(connection->link), mysql_error(connection->link));
    }
    return fail(failure, CR_SERVER_LOST, "the connection was lost");
}

bool mysql_failure_is_of_link(const struct mysql_failure *failure)
{
    return IS_MYSQL_ERROR(failure->error) || IS_MARIADB_ERROR(failure->error);
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void write_rows(size_t values, size_t rows, struct buffer *out)
{
    buffer_text(out, "VALUES ");
    for (size_t row = 0; row < rows; row++) {
        buffer_text(out, row > 0 ? ", (" : "(");
        for (size_t i = 0; i < values; i++) {
            buffer_text(out, i > 0 ? ", ?" : "?");
        }
        buffer_byte(out, ')');
    }
}

static void write_text(const struct sql_statement *statement, size_t rows, struct buffer *out)
{
    const char *mark = strstr(statement->text, MYSQL_ROWS);

    buffer_clear(out);
    if (mark == NULL) {
        buffer_text(out, statement->text);
        return;
    }
    buffer_bytes(out, statement->text, (size_t)(mark - statement->text));
    write_rows(strlen(statement->types), rows, out);
    buffer_text(out, mark + strlen(MYSQL_ROWS));
}

/* Sums are decimals without a fraction. */
static bool is_integer(const MYSQL_FIELD *field)
{
    switch (field->type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR:
        return true;
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL:
        return field->decimals == 0;
    default:
        return false;
    }
}

static bool read_columns(struct mysql_prepared *prepared)
{
    MYSQL_RES *result = mysql_stmt_result_metadata(prepared->handle);
    if (result == NULL) {
        return mysql_stmt_field_count(prepared->handle) == 0;
    }
    unsigned count = mysql_num_fields(result);
    bool known = count <= SQL_COLUMNS_MAX;
    for (unsigned i = 0; known && i < count; i++) {
        prepared->integers[i] = is_integer(mysql_fetch_field_direct(result, i));
    }
    prepared->columns = known ? count : 0;
    mysql_free_result(result);
    return known;
}

static bool prepare(struct mysql_connection *connection, const struct sql_statement *statement,
                    size_t rows, struct mysql_prepared *prepared, struct mysql_failure *failure)
{
    write_text(statement, rows, &connection->text);
    MYSQL_STMT *handle = connection->text.failed ? NULL : mysql_stmt_init(connection->link);
    if (handle == NULL) {
        buffer_free(&connection->text);
        return mysql_fail_memory(failure);
    }
    *prepared = (struct mysql_prepared){.handle = handle};
    bool sound = mysql_stmt_prepare(handle, connection->text.data, connection->text.size) == 0 &&
                 read_columns(prepared);
    if (sound && mysql_stmt_param_count(handle) == rows * strlen(statement->types)) {
        return true;
    }
    if (sound) {
        mysql_fail_other(failure);
    } else {
        mysql_fail_statement(connection, handle, failure);
    }
    mysql_stmt_close(handle);
    prepared->handle = NULL;
    return false;
}

/* What is prepared of a statement, by its number; NULL without memory. */
static struct mysql_statement *find(struct mysql_connection *connection, size_t number)
{
    size_t count = connection->statement_count, each = sizeof *connection->statements;

    if (number >= count) {
        size_t grown = number + 32;
        struct mysql_statement *statements =
            memory_resize(&connection->memory, connection->statements, count * each, grown * each);
        if (statements == NULL) {
            return NULL;
        }
        memset(statements + count, 0, (grown - count) * each);
        connection->statements = statements;
        connection->statement_count = grown;
    }
    return &connection->statements[number];
}

struct mysql_prepared *mysql_prepared_find(struct mysql_connection *connection,
                                           const struct sql_statement *statement, size_t rows,
                                           struct mysql_failure *failure)
{
    struct mysql_statement *found = find(connection, statement->number);
    if (found == NULL) {
        mysql_fail_memory(failure);
        return NULL;
    }
    struct mysql_prepared *prepared = &found->sizes[__builtin_ctzl(rows)];
    if (prepared->handle == NULL && !prepare(connection, statement, rows, prepared, failure)) {
        return NULL;
    }
    return prepared;
}

void mysql_statements_free(struct mysql_connection *connection)
{
    CHECK(connection->link == NULL);
    for (size_t i = 0; i < connection->statement_count * MYSQL_SIZES; i++) {
        MYSQL_STMT *handle = connection->statements[i / MYSQL_SIZES].sizes[i % MYSQL_SIZES].handle;
        if (handle != NULL) {
            mysql_stmt_close(handle);
        }
    }
    memory_free(&connection->memory, connection->statements,
                connection->statement_count * sizeof *connection->statements);
    memory_free(&connection->memory, connection->binds,
                connection->bind_capacity * sizeof *connection->binds);
    for (size_t i = 0; i < SQL_COLUMNS_MAX; i++) {
        buffer_free(&connection->columns[i].text);
    }
    buffer_free(&connection->text);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of MySQL and MariaDB, with libmariadb.
 *
 * Connections have autocommit off: the first statement begins a transaction without a round trip
 * of its own. COMMIT is sent when every step has been answered and has changed what it should; what
 * is lost before was not carried out, and what is lost after may have been.
 *
 * The server does not notice at once that a client has left. It gives up waiting for a lock a
 * little before the client would, and MariaDB ends transactions in which nothing happens. */
#include "ledger/mysql_state.h"

#include "base/text.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

/* Errors of MySQL that MariaDB does not know. */
#define MYSQL_QUERY_TIMEOUT 3024
#define MYSQL_SESSION_WAS_KILLED 3169
#define MYSQL_LOCK_NOWAIT 3572
#define MYSQL_CLIENT_TIMEOUT 4031

/* ---- results --------------------------------------------------------------------------------- */

/* What an error comes to that the server has answered a step with, or that libmariadb has found. */
static enum sql_result result_of(unsigned error)
{
    switch (error) {
    case 0:
        return SQL_MISSED;
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case MYSQL_LOCK_NOWAIT:
    case ER_CHECKREAD: /* changed since the snapshot */
    case ER_QUERY_INTERRUPTED:
    case ER_STATEMENT_TIMEOUT:
    case MYSQL_QUERY_TIMEOUT:
        return SQL_AGAIN;
    /* The server is going down, or has ended this connection. */
    case ER_SERVER_SHUTDOWN:
    case ER_NORMAL_SHUTDOWN:
    case ER_FORCING_CLOSE:
    case ER_ABORTING_CONNECTION:
    case ER_NEW_ABORTING_CONNECTION:
    case ER_CONNECTION_KILLED:
    case MYSQL_SESSION_WAS_KILLED:
    case MYSQL_CLIENT_TIMEOUT:
    /* No row would be written now: a replica, a node outside its cluster, a full disk. */
    case ER_OPTION_PREVENTS_STATEMENT:
    case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION:
    case ER_READ_ONLY_MODE:
    case ER_UNKNOWN_COM_ERROR:
    case ER_DISK_FULL:
    case ER_RECORD_FILE_FULL:
    case ER_ERROR_ON_WRITE:
    case ER_GET_ERRNO:
    case ER_OUTOFMEMORY:
    case ER_OUT_OF_RESOURCES:
    case ER_LOCK_TABLE_FULL:
    case ER_MAX_PREPARED_STMT_COUNT_REACHED:
        return SQL_AWAY;
    default:
        /* libmariadb's own errors are those of connections. */
        return IS_MYSQL_ERROR(error) || IS_MARIADB_ERROR(error) ? SQL_AWAY : SQL_REFUSED;
    }
}

static void say(struct problem *problem, enum sql_result result, const char *words)
{
    if (result == SQL_AWAY || result == SQL_UNKNOWN) {
        mysql_link_say(problem, words);
    } else {
        problem_set(problem, result == SQL_AGAIN ? HF_LEDGER_DOWN : HF_INVALID_STATE, "%s", words);
    }
}

/* ---- connecting ------------------------------------------------------------------------------ */

static struct mysql_connection *self(struct sql_connection *connection)
{
    return (struct mysql_connection *)connection;
}

/* Ends a connection that is of no use any more, without waiting for the server; what it had locked
 * shall not wait for sql_close(). */
static void lose(struct mysql_connection *connection)
{
    if (connection->link != NULL) {
        mysql_link_close(connection->link);
        connection->link = NULL;
    }
}

static void mysql_driver_close(struct sql_connection *closed)
{
    struct mysql_connection *connection = self(closed);
    sigset_t before;

    mysql_link_enter(0, &before);
    lose(connection);
    mysql_link_leave(&before);
    mysql_statements_free(connection);
    free(connection);
}

static struct sql_connection *mysql_driver_connect(const char *text, int64_t deadline_ms,
                                                   struct problem *problem)
{
    struct mysql_url url;
    if (mysql_url_parse(text, &url, problem) != HF_OK) {
        return NULL;
    }
    struct mysql_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        problem_set(problem, HF_LEDGER_DOWN, "out of memory");
        return NULL;
    }
    connection->connection.driver = &sql_mysql;
    memory_init(&connection->memory);
    buffer_init(&connection->text, &connection->memory);
    for (size_t i = 0; i < SQL_COLUMNS_MAX; i++) {
        buffer_init(&connection->columns[i].text, &connection->memory);
    }
    sigset_t before;
    mysql_link_enter(deadline_ms, &before);
    connection->link = mysql_link_open(&url, problem);
    mysql_link_leave(&before);
    if (connection->link == NULL) {
        mysql_driver_close(&connection->connection);
        return NULL;
    }
    return &connection->connection;
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* A statement without values. */
static bool query(MYSQL *link, const char *text, size_t size)
{
    if (mysql_real_query(link, text, size) != 0) {
        return false;
    }
    MYSQL_RES *result = mysql_store_result(link);
    if (result != NULL) {
        mysql_free_result(result);
    }
    return mysql_errno(link) == 0;
}

/* Ends the transaction that a step has failed in, and says what became of it. */
static enum sql_result give_up(struct mysql_connection *connection, unsigned error,
                               const char *words, struct problem *problem)
{
    enum sql_result result = result_of(error);

    say(problem, result, words);
    if (result == SQL_AWAY) {
        lose(connection);
    } else if (!query(connection->link, "ROLLBACK", strlen("ROLLBACK"))) {
        result = SQL_AWAY;
        say(problem, result, mysql_error(connection->link));
        lose(connection);
    }
    return result;
}

static enum sql_result give_up_query(struct mysql_connection *connection, struct problem *problem)
{
    char words[MESSAGE_SIZE];

    snprintf(words, sizeof words, "%s", mysql_error(connection->link));
    return give_up(connection, mysql_errno(connection->link), words, problem);
}

/* The server shall give up waiting for a lock before the client does, so that the transaction can
 * be tried again on the same connection. Whole seconds are all it knows. A transaction that is open
 * goes on with what it has. */
static bool set_patience(struct mysql_connection *connection, int64_t deadline_ms)
{
    int64_t left_s = (deadline_ms - sql_now_ms() - 1) / 1000;
    unsigned patience_s = left_s < 1 ? 1 : left_s < 3600 ? (unsigned)left_s : 3600;
    char text[96];

    if (patience_s == connection->patience_s ||
        (connection->link->server_status & SERVER_STATUS_IN_TRANS) != 0) {
        return true;
    }
    int size = snprintf(text, sizeof text,
                        "SET SESSION innodb_lock_wait_timeout = %u, lock_wait_timeout = %u",
                        patience_s, patience_s);
    connection->patience_s = patience_s;
    return query(connection->link, text, (size_t)size);
}

/* Can something be sent? If not, the connection is given up: when that is noticed before a COMMIT
 * is sent, it is certain that nothing was carried out. */
static enum sql_result begin(struct mysql_connection *connection, int64_t deadline_ms,
                             struct sql_outcome *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    if (connection->link == NULL || mysql_link_is_late() ||
        !mysql_link_is_quiet(connection->link)) {
        say(&outcome->problem, SQL_AWAY, "the connection to MySQL was lost");
        lose(connection);
        return SQL_AWAY;
    }
    return set_patience(connection, deadline_ms) ? SQL_DONE
                                                 : give_up_query(connection, &outcome->problem);
}

/* Only an answer tells what a COMMIT has come to; a deadlock is one of clusters, which find it out
 * last. */
static enum sql_result commit(struct mysql_connection *connection, struct problem *problem)
{
    if (mysql_link_is_late()) {
        say(problem, SQL_AWAY, "");
        lose(connection);
        return SQL_AWAY;
    }
    if (query(connection->link, "COMMIT", strlen("COMMIT"))) {
        return SQL_DONE;
    }
    if (mysql_errno(connection->link) == ER_LOCK_DEADLOCK) {
        return give_up_query(connection, problem);
    }
    say(problem, SQL_UNKNOWN, mysql_error(connection->link));
    lose(connection);
    return SQL_UNKNOWN;
}

static enum sql_result run_steps(struct mysql_connection *connection, const struct sql_step *steps,
                                 size_t count, bool with_commit, struct sql_outcome *outcome)
{
    for (size_t i = 0; i < count; i++) {
        struct mysql_failure failure = {.error = 0};
        if (!mysql_step_run(connection, &steps[i], &failure)) {
            outcome->step = i;
            outcome->row = failure.row;
            return give_up(connection, failure.error, failure.words, &outcome->problem);
        }
    }
    return with_commit ? commit(connection, &outcome->problem) : SQL_DONE;
}

static enum sql_result mysql_driver_run(struct sql_connection *used, const struct sql_step *steps,
                                        size_t count, bool with_commit, int64_t deadline_ms,
                                        struct sql_outcome *outcome)
{
    struct mysql_connection *connection = self(used);
    sigset_t before;

    mysql_link_enter(deadline_ms, &before);
    enum sql_result result = begin(connection, deadline_ms, outcome);
    if (result == SQL_DONE) {
        result = run_steps(connection, steps, count, with_commit, outcome);
    }
    mysql_link_leave(&before);
    return result;
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* Is there anything but white space and comments? The server has no use for an empty query. */
static bool is_statement(const char *text, size_t size)
{
    for (const char *end = text + size; text < end;) {
        text += strspn(text, " \n");
        if (text < end && !text_starts_with(text, "--")) {
            return true;
        }
        text += strcspn(text, "\n");
    }
    return false;
}

/* MySQL commits each statement that makes or changes a table by itself. */
static enum sql_result run_script(struct mysql_connection *connection, const char *text,
                                  struct sql_outcome *outcome)
{
    for (size_t number = 0; *text != '\0';) {
        const char *end = strstr(text, ";\n");
        size_t size = end != NULL ? (size_t)(end - text) : strlen(text);
        if (is_statement(text, size)) {
            outcome->step = number++;
            if (!query(connection->link, text, size)) {
                return give_up_query(connection, &outcome->problem);
            }
        }
        text += size + (end != NULL ? 2 : 0);
    }
    return commit(connection, &outcome->problem);
}

static enum sql_result mysql_driver_script(struct sql_connection *used, const char *text,
                                           int64_t deadline_ms, struct sql_outcome *outcome)
{
    struct mysql_connection *connection = self(used);
    sigset_t before;

    mysql_link_enter(deadline_ms, &before);
    enum sql_result result = begin(connection, deadline_ms, outcome);
    if (result == SQL_DONE) {
        result = run_script(connection, text, outcome);
    }
    mysql_link_leave(&before);
    return result;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static enum hf_error mysql_driver_check(const char *text, struct problem *problem)
{
    struct mysql_url url;
    return mysql_url_parse(text, &url, problem);
}

const struct sql_driver sql_mysql = {
    .dialect = SQL_MYSQL,
    .check = mysql_driver_check,
    .show = mysql_url_show,
    .connect = mysql_driver_connect,
    .close = mysql_driver_close,
    .run = mysql_driver_run,
    .script = mysql_driver_script,
};

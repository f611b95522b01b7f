/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver for SQLite: sqlite:PATH. A write-ahead log, synced at every COMMIT. The file may be
 * used by other programs too: a transaction takes the write lock when it begins and waits for it
 * until its deadline, at which also a statement that runs is interrupted. */
#include "ledger/sql.h"

#include "base/check.h"
#include "base/text.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SCHEME "sqlite:"
#define STATEMENTS_MAX 128
/* Instructions of SQLite's machine between two looks at the clock: less than a millisecond. */
#define INSTRUCTIONS 2000
#define BUSY_WAIT_US 500

struct sqlite_connection {
    struct sql_connection base;
    sqlite3 *database;
    sqlite3_stmt *begin, *commit, *rollback;
    sqlite3_stmt *prepared[STATEMENTS_MAX];
    int64_t deadline_ms; /* of the call that runs */
};

static struct sqlite_connection *sqlite_of(struct sql_connection *connection)
{
    return (struct sqlite_connection *)connection;
}

/* ---- results --------------------------------------------------------------------------------- */

/* What a failed call of SQLite means for the transaction. */
static enum sql_result result_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return SQL_DONE;
    case SQLITE_BUSY:
        return code == SQLITE_BUSY_SNAPSHOT ? SQL_AGAIN : SQL_AWAY;
    case SQLITE_LOCKED:
        return SQL_AGAIN;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
    case SQLITE_AUTH:
        return SQL_REFUSED;
    default: /* the disk, the file, the memory, or the deadline */
        return SQL_AWAY;
    }
}

static enum sql_result failed(struct sqlite_connection *self, int code, struct sql_outcome *outcome)
{
    enum sql_result result = result_of(code);

    if (sql_now_ms() >= self->deadline_ms && result == SQL_AWAY) {
        problem_set(&outcome->problem, HF_LEDGER_DOWN, "not done in time: %s",
                    sqlite3_errstr(code));
    } else {
        problem_set(&outcome->problem, result == SQL_REFUSED ? HF_INVALID_STATE : HF_LEDGER_DOWN,
                    "%s", sqlite3_errmsg(self->database));
    }
    return result;
}

/* ---- statements ------------------------------------------------------------------------------ */

static int prepare(struct sqlite_connection *self, const char *text, sqlite3_stmt **out)
{
    return sqlite3_prepare_v3(self->database, text, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
}

/* {rows} becomes one row of values: each is carried out on its own. */
static int prepare_rows(struct sqlite_connection *self, const struct sql_statement *statement,
                        const char *rows, sqlite3_stmt **out)
{
    char text[2048];
    size_t count = strlen(statement->types);
    int size =
        snprintf(text, sizeof text, "%.*sVALUES (", (int)(rows - statement->text), statement->text);

    for (size_t i = 0; i < count; i++) {
        size += snprintf(text + size, sizeof text - (size_t)size, i == 0 ? "?" : ", ?");
    }
    size += snprintf(text + size, sizeof text - (size_t)size, ")%s", rows + strlen("{rows}"));
    CHECK(size < (int)sizeof text);
    return prepare(self, text, out);
}

static int find_statement(struct sqlite_connection *self, const struct sql_statement *statement,
                          sqlite3_stmt **out)
{
    CHECK(statement->number < STATEMENTS_MAX);
    sqlite3_stmt **kept = &self->prepared[statement->number];
    int code = SQLITE_OK;

    if (*kept == NULL) {
        const char *rows = strstr(statement->text, "{rows}");
        code = rows == NULL ? prepare(self, statement->text, kept)
                            : prepare_rows(self, statement, rows, kept);
    }
    *out = *kept;
    return code;
}

/* The texts are not copied: they outlive the step. */
static int bind(sqlite3_stmt *prepared, const struct sql_value *values, size_t count)
{
    int code = SQLITE_OK;

    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        const struct sql_value *value = &values[i];
        int at = (int)i + 1;
        if (value->kind == SQL_INTEGER) {
            code = sqlite3_bind_int64(prepared, at, value->integer);
        } else if (value->kind == SQL_TEXT) {
            const char *text = value->text.data == NULL ? "" : value->text.data;
            code = sqlite3_bind_text(prepared, at, text, (int)value->text.size, SQLITE_STATIC);
        } else {
            code = sqlite3_bind_null(prepared, at);
        }
    }
    return code;
}

static void give_row(sqlite3_stmt *prepared, const struct sql_step *step, size_t row)
{
    struct sql_value columns[SQL_COLUMNS_MAX] = {{.kind = SQL_NULL}};
    int count = sqlite3_column_count(prepared);

    count = count < SQL_COLUMNS_MAX ? count : SQL_COLUMNS_MAX;
    for (int i = 0; i < count; i++) {
        switch (sqlite3_column_type(prepared, i)) {
        case SQLITE_NULL:
            columns[i] = (struct sql_value){.kind = SQL_NULL};
            break;
        case SQLITE_INTEGER:
        case SQLITE_FLOAT:
            columns[i] = sql_integer(sqlite3_column_int64(prepared, i));
            break;
        default:
            columns[i] = sql_text((struct hf_bytes){(const char *)sqlite3_column_text(prepared, i),
                                                    (size_t)sqlite3_column_bytes(prepared, i)});
            break;
        }
    }
    step->each(step->context, row, columns, (size_t)count);
}

static int run_row(sqlite3_stmt *prepared, const struct sql_step *step, size_t row, size_t width)
{
    int code = bind(prepared, step->values + row * width, width);

    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(prepared);
        if (code == SQLITE_ROW && step->each != NULL) {
            give_row(prepared, step, row);
        }
    }
    return code;
}

static enum sql_result run_step(struct sqlite_connection *self, const struct sql_step *step,
                                struct sql_outcome *outcome)
{
    size_t width = strlen(step->statement->types);
    sqlite3_stmt *prepared;
    int code = find_statement(self, step->statement, &prepared);

    if (code != SQLITE_OK) {
        return failed(self, code, outcome);
    }
    for (size_t row = 0; row < step->rows; row++) {
        outcome->row = row;
        code = run_row(prepared, step, row, width);
        enum sql_result result =
            code == SQLITE_DONE ? SQL_DONE : failed(self, code, outcome); /* before the reset */
        sqlite3_reset(prepared);
        if (result != SQL_DONE) {
            return result;
        }
        if (step->expected != SQL_ANY && sqlite3_changes64(self->database) != step->expected) {
            return SQL_MISSED;
        }
    }
    outcome->row = 0;
    return SQL_DONE;
}

/* ---- transactions ---------------------------------------------------------------------------- */

static int run_plain(sqlite3_stmt *prepared)
{
    int code = sqlite3_step(prepared);

    sqlite3_reset(prepared);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static bool is_open(const struct sqlite_connection *self)
{
    return sqlite3_get_autocommit(self->database) == 0;
}

/* Some errors have rolled back already. */
static void roll_back(struct sqlite_connection *self)
{
    self->deadline_ms = INT64_MAX;
    if (is_open(self)) {
        run_plain(self->rollback);
    }
}

/* A COMMIT that was not let in is rolled back and has not happened. One that failed on the disk may
 * be found in the log when the file is next opened. */
static enum sql_result commit(struct sqlite_connection *self, struct sql_outcome *outcome)
{
    int code = run_plain(self->commit);

    if (code == SQLITE_OK) {
        return SQL_DONE;
    }
    enum sql_result result = failed(self, code, outcome);
    bool certain =
        result != SQL_AWAY || (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_INTERRUPT;
    return certain ? result : SQL_UNKNOWN;
}

static enum sql_result begin(struct sqlite_connection *self, struct sql_outcome *outcome)
{
    if (sql_now_ms() >= self->deadline_ms) {
        problem_set(&outcome->problem, HF_LEDGER_DOWN, "not done in time: it was not begun");
        return SQL_AWAY;
    }
    int code = is_open(self) ? SQLITE_OK : run_plain(self->begin);
    return code == SQLITE_OK ? SQL_DONE : failed(self, code, outcome);
}

static enum sql_result sqlite_run(struct sql_connection *connection, const struct sql_step *steps,
                                  size_t count, bool ends, int64_t deadline_ms,
                                  struct sql_outcome *outcome)
{
    struct sqlite_connection *self = sqlite_of(connection);

    outcome->step = outcome->row = 0;
    outcome->problem = (struct problem){.code = HF_OK};
    self->deadline_ms = deadline_ms;
    enum sql_result result = begin(self, outcome);
    for (size_t i = 0; i < count && result == SQL_DONE; i++) {
        outcome->step = i;
        result = run_step(self, &steps[i], outcome);
    }
    if (result == SQL_DONE && ends) {
        result = commit(self, outcome);
    }
    if (result != SQL_DONE) {
        roll_back(self);
    }
    return result;
}

static enum sql_result sqlite_script(struct sql_connection *connection, const char *text,
                                     int64_t deadline_ms, struct sql_outcome *outcome)
{
    struct sqlite_connection *self = sqlite_of(connection);
    enum sql_result result = sqlite_run(connection, NULL, 0, false, deadline_ms, outcome);

    if (result == SQL_DONE) {
        int code = sqlite3_exec(self->database, text, NULL, NULL, NULL);
        result = code == SQLITE_OK ? commit(self, outcome) : failed(self, code, outcome);
    }
    if (result != SQL_DONE) {
        roll_back(self);
    }
    return result;
}

static void sqlite_interrupt(struct sql_connection *connection)
{
    sqlite3_interrupt(sqlite_of(connection)->database);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* Another program has the lock: SQLite calls this until it answers 0. */
static int wait_while_busy(void *context, int times)
{
    struct sqlite_connection *self = context;
    struct timespec pause = {.tv_nsec = BUSY_WAIT_US * 1000L * (times < 10 ? 1 : 10)};

    if (sql_now_ms() >= self->deadline_ms) {
        return 0;
    }
    nanosleep(&pause, NULL);
    return 1;
}

static int is_past_deadline(void *context)
{
    const struct sqlite_connection *self = context;

    return sql_now_ms() >= self->deadline_ms;
}

static const char *path_of(const char *url)
{
    const char *path = url + strlen(SCHEME);

    return text_starts_with(path, "///") ? path + 2 : path;
}

static enum hf_error sqlite_check(const char *url, struct problem *problem)
{
    const char *path = path_of(url);

    if (*path == '\0' || text_starts_with(path, ":memory:")) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "a ledger on SQLite is sqlite:PATH, a file; not '%s'", url);
    }
    return HF_OK;
}

static void sqlite_show(const char *url, char *out, size_t size)
{
    snprintf(out, size, SCHEME "%s", path_of(url));
}

static void sqlite_close(struct sql_connection *connection)
{
    struct sqlite_connection *self = sqlite_of(connection);

    for (size_t i = 0; i < STATEMENTS_MAX; i++) {
        sqlite3_finalize(self->prepared[i]);
    }
    sqlite3_finalize(self->begin);
    sqlite3_finalize(self->commit);
    sqlite3_finalize(self->rollback);
    sqlite3_close(self->database);
    free(self);
}

/* The foreign keys of a shop's own tables hold for what we change there, too. */
static int configure(struct sqlite_connection *self, bool reads_only)
{
    const char *settings = reads_only ? "PRAGMA query_only = ON;"
                                      : "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                        "PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536;"
                                        "PRAGMA wal_autocheckpoint = 4000;";
    /* A misspelt column is an error, not a text. */
    sqlite3_db_config(self->database, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_busy_handler(self->database, wait_while_busy, self);
    sqlite3_progress_handler(self->database, INSTRUCTIONS, is_past_deadline, self);
    int code = sqlite3_exec(self->database, settings, NULL, NULL, NULL);
    const char *begin_text = reads_only ? "BEGIN" : "BEGIN IMMEDIATE";
    code = code == SQLITE_OK ? prepare(self, begin_text, &self->begin) : code;
    code = code == SQLITE_OK ? prepare(self, "COMMIT", &self->commit) : code;
    return code == SQLITE_OK ? prepare(self, "ROLLBACK", &self->rollback) : code;
}

/* A new file is not for everybody to read, and so are those that SQLite makes beside it. One that
 * cannot be made is SQLite's to complain about. */
static void make_private(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

    if (file >= 0) {
        close(file);
    }
}

static struct sql_connection *open_file(const char *url, bool reads_only, int64_t deadline_ms,
                                        struct problem *problem)
{
    struct sqlite_connection *self = calloc(1, sizeof *self);
    int flags = reads_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

    if (self == NULL) {
        problem_set(problem, HF_LEDGER_DOWN, "out of memory");
        return NULL;
    }
    self->base.driver = &sql_sqlite;
    self->deadline_ms = deadline_ms;
    if (!reads_only) {
        make_private(path_of(url));
    }
    int code = sqlite3_open_v2(path_of(url), &self->database,
                               flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    code = code == SQLITE_OK ? configure(self, reads_only) : code;
    if (code != SQLITE_OK) {
        problem_set(problem, HF_LEDGER_DOWN, "%s: %s", path_of(url),
                    self->database == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(self->database));
        sqlite_close(&self->base);
        return NULL;
    }
    return &self->base;
}

static struct sql_connection *sqlite_connect(const char *url, int64_t deadline_ms,
                                             struct problem *problem)
{
    return open_file(url, false, deadline_ms, problem);
}

static struct sql_connection *sqlite_connect_reader(const char *url, int64_t deadline_ms,
                                                    struct problem *problem)
{
    return open_file(url, true, deadline_ms, problem);
}

const struct sql_driver sql_sqlite = {
    .dialect = SQL_SQLITE,
    .check = sqlite_check,
    .show = sqlite_show,
    .connect = sqlite_connect,
    .connect_reader = sqlite_connect_reader,
    .close = sqlite_close,
    .run = sqlite_run,
    .script = sqlite_script,
    .interrupt = sqlite_interrupt,
};

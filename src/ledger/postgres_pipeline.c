/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline to PostgreSQL: queues messages, sends them, and takes their results, each until a
 * deadline at the latest, whatever the server or the network does. libpq never blocks here: the
 * socket is non-blocking, and all waiting is in poll(). */
#include "ledger/postgres_state.h"

#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

/* By the first characters of their SQLSTATE, errors that are no refusal of what was asked for. The
 * server is short of something or about to leave, the session ended or is of no use, or the
 * transaction met another one. */
static const struct {
    const char *state;
    enum sql_result result;
} kinds_of_errors[] = {
    {"40001", SQL_AGAIN}, /* serialization_failure */
    {"40P01", SQL_AGAIN}, /* deadlock_detected */
    {"55P03", SQL_AGAIN}, /* lock_not_available */
    {"08", SQL_AWAY},     /* connection exceptions */
    {"25006", SQL_AWAY},  /* read_only_sql_transaction: a replica, or about to be one */
    {"25P03", SQL_AWAY},  /* idle_in_transaction_session_timeout */
    {"26", SQL_AWAY},     /* the prepared statement is not there: another session behind a pooler */
    {"40003", SQL_AWAY},  /* statement_completion_unknown */
    {"53", SQL_AWAY},     /* insufficient resources */
    {"57", SQL_AWAY},     /* operator intervention; 57014: statement timeout */
    {"58", SQL_AWAY},     /* errors of the system */
};

/* ---- queueing -------------------------------------------------------------------------------- */

bool postgres_expect(struct postgres *postgres, struct postgres_message message)
{
    if (postgres->message_count == postgres->message_capacity) {
        size_t capacity = postgres->message_capacity == 0 ? 64 : postgres->message_capacity * 2;
        size_t each = sizeof *postgres->messages;
        struct postgres_message *grown =
            memory_resize(&postgres->memory, postgres->messages, postgres->message_capacity * each,
                          capacity * each);
        if (grown == NULL) {
            return false;
        }
        postgres->messages = grown;
        postgres->message_capacity = capacity;
    }
    postgres->messages[postgres->message_count++] = message;
    return true;
}

bool postgres_queue_text(struct postgres *postgres, enum postgres_kind kind, const char *text,
                         size_t step)
{
    return postgres_expect(postgres, (struct postgres_message){.kind = kind, .step = step}) &&
           PQsendQueryParams(postgres->link, text, 0, NULL, NULL, NULL, NULL, 0) != 0;
}

bool postgres_queue_sync(struct postgres *postgres)
{
    return postgres_expect(postgres, (struct postgres_message){.kind = POSTGRES_SYNC}) &&
           PQpipelineSync(postgres->link) != 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

void postgres_lose(struct postgres *postgres)
{
    postgres->lost = true;
    postgres->open = false;
    /* Nothing that libpq still tries to send can then wait for a peer that does not read. */
    if (PQsocket(postgres->link) >= 0) {
        shutdown(PQsocket(postgres->link), SHUT_RDWR);
    }
}

void postgres_why(struct postgres *postgres, int64_t deadline_ms, struct problem *problem)
{
    const char *words = PQerrorMessage(postgres->link);
    if (sql_now_ms() >= deadline_ms) {
        problem_set(problem, HF_LEDGER_DOWN, "PostgreSQL did not answer in time");
    } else if (*words != '\0') {
        problem_set(problem, HF_LEDGER_DOWN, "%.*s", (int)strcspn(words, "\n"), words);
    } else {
        problem_set(problem, HF_LEDGER_DOWN, "out of memory, or the connection was lost");
    }
}

static int milliseconds_until(int64_t deadline_ms)
{
    int64_t left = deadline_ms - sql_now_ms();
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

bool postgres_wait(struct postgres *postgres, int64_t deadline_ms)
{
    for (;;) {
        int unsent = PQflush(postgres->link);
        if (!PQisBusy(postgres->link)) {
            return true;
        }
        struct pollfd wait = {.fd = PQsocket(postgres->link),
                              .events = (short)(POLLIN | (unsent > 0 ? POLLOUT : 0))};
        if (unsent < 0 || wait.fd < 0) {
            return false;
        }
        int ready = poll(&wait, 1, milliseconds_until(deadline_ms));
        if (ready == 0 || (ready < 0 && errno != EINTR)) {
            return false;
        }
        /* A connection that ends may have left results behind, which are taken first. */
        if (ready > 0 && (wait.revents & ~POLLOUT) != 0 && !PQconsumeInput(postgres->link)) {
            return !PQisBusy(postgres->link);
        }
    }
}

/* ---- results --------------------------------------------------------------------------------- */

/* Numbers as such, whatever their width; true and false as 1 and 0; all else as text. */
static struct sql_value value_of(const PGresult *result, int row, int column)
{
    enum { BOOL = 16, INT8 = 20, INT2 = 21, INT4 = 23, NUMERIC = 1700 };
    if (PQgetisnull(result, row, column)) {
        return (struct sql_value){.kind = SQL_NULL};
    }
    struct hf_bytes text = {PQgetvalue(result, row, column),
                            (size_t)PQgetlength(result, row, column)};
    switch (PQftype(result, column)) {
    case BOOL:
        return sql_integer(text.data[0] == 't');
    case INT2:
    case INT4:
    case INT8:
    case NUMERIC: { /* as sum() makes them of int8; with a fraction, or huge, they stay texts */
        char *end;
        errno = 0;
        long long number = strtoll(text.data, &end, 10);
        return errno == 0 && *end == '\0' ? sql_integer(number) : sql_text(text);
    }
    default:
        return sql_text(text);
    }
}

static void give_rows(const PGresult *result, const struct sql_step *step, size_t row)
{
    /* A guarded statement that rightly returns nothing has one row without values. */
    if (step->each == NULL || step->expected == 0) {
        return;
    }
    struct sql_value columns[SQL_COLUMNS_MAX] = {{.kind = SQL_NULL}};
    int count = PQnfields(result);
    count = count < SQL_COLUMNS_MAX ? count : SQL_COLUMNS_MAX;
    for (int i = 0; i < PQntuples(result); i++) {
        for (int j = 0; j < count; j++) {
            columns[j] = value_of(result, i, j);
        }
        step->each(step->context, row, columns, (size_t)count);
    }
}

static const char *field_of(const PGresult *result, int field)
{
    const char *value = PQresultErrorField(result, field);
    return value != NULL ? value : "";
}

static enum sql_result result_of(const char *state, bool fatal, bool commit)
{
    /* Errors undo the transaction. One that ends the session during COMMIT may come too late. */
    if (commit &&
        (fatal || *state == '\0' || text_starts_with(state, "08") || strcmp(state, "40003") == 0)) {
        return SQL_UNKNOWN;
    }
    for (size_t i = 0; i < sizeof kinds_of_errors / sizeof *kinds_of_errors; i++) {
        if (text_starts_with(state, kinds_of_errors[i].state)) {
            return kinds_of_errors[i].result;
        }
    }
    return fatal ? SQL_AWAY : SQL_REFUSED;
}

/* Keeps the first error. */
static void keep_error(struct postgres_report *report, const PGresult *result,
                       const struct postgres_message *message, const struct sql_step *steps)
{
    const char *state = field_of(result, PG_DIAG_SQLSTATE);
    const char *words = field_of(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *severity = field_of(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    bool fatal = strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0;
    /* Settings that a server does not know are done without. */
    if (report->failed || (message->kind == POSTGRES_SETTINGS && !fatal)) {
        return;
    }
    report->failed = true;
    report->outcome->step = message->step;
    report->outcome->row = message->row;
    struct problem *problem = &report->outcome->problem;
    const char *missed = strstr(words, POSTGRES_MISSED);
    if (message->kind == POSTGRES_EXECUTE && missed != NULL && strcmp(state, "22P02") == 0) {
        report->result = SQL_MISSED;
        long long changed = strtoll(missed + strlen(POSTGRES_MISSED), NULL, 10);
        problem_set(problem, HF_INVALID_STATE,
                    "%lld rows changed where %lld for each were expected", changed,
                    (long long)steps[message->step].expected);
        return;
    }
    report->result = result_of(state, fatal, message->kind == POSTGRES_COMMIT);
    /* Without the detail, which may show a row of a table that is not ours. */
    problem_set(problem, report->result == SQL_REFUSED ? HF_INVALID_STATE : HF_LEDGER_DOWN,
                "%s (SQLSTATE %s)", words, state);
}

static void take_commit(const PGresult *result, struct postgres_report *report)
{
    report->committed = strcmp(PQcmdStatus((PGresult *)result), "COMMIT") == 0;
    if (!report->committed) {
        report->failed = true;
        report->result = SQL_REFUSED;
        problem_set(&report->outcome->problem, HF_INVALID_STATE,
                    "PostgreSQL answered COMMIT with %s", PQcmdStatus((PGresult *)result));
    }
}

/* An error of libpq's own has no SQLSTATE: the connection is lost, or a result did not fit into the
 * memory. */
static bool made_up(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_FATAL_ERROR &&
           *field_of(result, PG_DIAG_SQLSTATE) == '\0';
}

/* True if the result is the one that its message is answered with when all is well. */
static bool take_result(const PGresult *result, const struct postgres_message *message,
                        const struct sql_step *steps, struct postgres_report *report)
{
    switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK:
        if (message->kind == POSTGRES_EXECUTE) {
            give_rows(result, &steps[message->step], message->row);
        }
        return true;
    case PGRES_COMMAND_OK:
        if (message->kind == POSTGRES_COMMIT) {
            take_commit(result, report);
        }
        return true;
    case PGRES_EMPTY_QUERY: /* a script may end in a comment */
    case PGRES_PIPELINE_SYNC:
        return true;
    case PGRES_PIPELINE_ABORTED:
        return false;
    default:
        keep_error(report, result, message, steps);
        return false;
    }
}

/* Takes all that one message is answered with: a result and a NULL behind it, or a sync alone. */
static bool collect_one(struct postgres *postgres, const struct postgres_message *message,
                        const struct sql_step *steps, int64_t deadline_ms,
                        struct postgres_report *report)
{
    bool fine = true;
    for (;;) {
        if (!postgres_wait(postgres, deadline_ms)) {
            return false;
        }
        PGresult *result = PQgetResult(postgres->link);
        if (result == NULL) {
            break;
        }
        bool broken = made_up(result);
        fine = !broken && take_result(result, message, steps, report);
        PQclear(result);
        if (broken) {
            return false;
        }
        if (message->kind == POSTGRES_SYNC) {
            break;
        }
    }
    if (message->kind == POSTGRES_PREPARE) {
        postgres_statement_answered(postgres, message->statement, fine);
    } else if (message->kind == POSTGRES_SETTINGS && !fine) {
        postgres->patience_ms = 0;
    }
    return true;
}

bool postgres_collect(struct postgres *postgres, const struct sql_step *steps, int64_t deadline_ms,
                      struct postgres_report *report)
{
    bool fine = true;
    for (size_t i = 0; fine && i < postgres->message_count; i++) {
        fine = collect_one(postgres, &postgres->messages[i], steps, deadline_ms, report);
    }
    postgres->message_count = 0;
    if (!fine) {
        if (!report->failed) {
            postgres_why(postgres, deadline_ms, &report->outcome->problem);
        }
        postgres_lose(postgres);
    }
    return fine;
}

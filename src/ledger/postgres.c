/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of PostgreSQL, on libpq in pipeline mode. A transaction that is known as a whole is
 * one round trip: BEGIN, its steps and COMMIT are sent together, and what a step expects is checked
 * by the server before it comes to the COMMIT (postgres_statement.c).
 *
 * A deadline holds whatever the server does. When it passes, the connection is given up: the server
 * rolls back what is not committed when it notices, which its own timeouts see to if it waits for a
 * lock or works on a statement. Asking it to cancel would need a server that answers. */
#include "ledger/postgres_state.h"

#include "base/check.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

/* The server's timeouts are powers of two, so that they are sent again only when the time that
 * transactions have changes a lot. A statement may take up to twice the time to the deadline; a
 * lock is waited for not quite as long, so that the caller hears of it before the deadline. */
#define PATIENCE_MIN_MS 64
#define PATIENCE_MAX_MS ((int64_t)1 << 30)
/* A transaction in which the client does nothing for so long is rolled back by the server. */
#define IDLE_TRANSACTION_MS 30000

/* The conditional update of a contended row relies on this level; a database may default to
 * another. */
#define BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED"

#define SETTINGS_SIZE 256

static struct postgres *self(struct sql_connection *connection)
{
    return (struct postgres *)connection;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void ignore_notice(void *context, const PGresult *notice)
{
    (void)context;
    (void)notice;
}

/* Those before dbname can be overridden by the URL, which libpq finds in dbname; those behind it
 * cannot. */
static PGconn *begin_connecting(const char *url)
{
    const char *const keywords[] = {"application_name", "keepalives_idle",  "keepalives_interval",
                                    "keepalives_count", "tcp_user_timeout", "target_session_attrs",
                                    "dbname",           "client_encoding",  NULL};
    const char *const values[] = {"holdfast",   "10", "5",    "3", "20000",
                                  "read-write", url,  "UTF8", NULL};
    return PQconnectStartParams(keywords, values, 1);
}

/* Until the connection is ready for statements. */
static bool finish_connecting(PGconn *link, int64_t deadline_ms, struct problem *problem)
{
    short events = POLLOUT;
    for (;;) {
        if (PQstatus(link) != CONNECTION_BAD) {
            int64_t left = deadline_ms - sql_now_ms();
            struct pollfd wait = {.fd = PQsocket(link), .events = events};
            int ready = poll(&wait, 1, left < 0 ? 0 : left > 60000 ? 60000 : (int)left);
            if (ready == 0 && sql_now_ms() >= deadline_ms) {
                problem_set(problem, HF_LEDGER_DOWN, "no connection to PostgreSQL in time");
                return false;
            }
            if (ready <= 0) {
                continue;
            }
        }
        switch (PQconnectPoll(link)) {
        case PGRES_POLLING_OK:
            return true;
        case PGRES_POLLING_READING:
            events = POLLIN;
            break;
        case PGRES_POLLING_WRITING:
            events = POLLOUT;
            break;
        default: {
            const char *words = PQerrorMessage(link);
            problem_set(problem, HF_LEDGER_DOWN, "%.*s", (int)strcspn(words, "\n"), words);
            return false;
        }
        }
    }
}

static void postgres_close(struct sql_connection *connection)
{
    struct postgres *postgres = self(connection);
    PQfinish(postgres->link);
    memory_free(&postgres->memory, postgres->statements,
                postgres->statement_count * sizeof *postgres->statements);
    memory_free(&postgres->memory, postgres->messages,
                postgres->message_capacity * sizeof *postgres->messages);
    buffer_free(&postgres->scratch);
    CHECK(postgres->memory.used == 0);
    free(postgres);
}

static struct sql_connection *postgres_connect(const char *url, int64_t deadline_ms,
                                               struct problem *problem)
{
    if (postgres_check(url, problem) != HF_OK) {
        return NULL;
    }
    struct postgres *postgres = calloc(1, sizeof *postgres);
    if (postgres == NULL) {
        problem_set(problem, HF_LEDGER_DOWN, "out of memory");
        return NULL;
    }
    postgres->connection.driver = &sql_postgres;
    memory_init(&postgres->memory);
    buffer_init(&postgres->scratch, &postgres->memory);
    postgres->link = begin_connecting(url);
    if (postgres->link == NULL) {
        problem_set(problem, HF_LEDGER_DOWN, "out of memory");
    } else if (finish_connecting(postgres->link, deadline_ms, problem)) {
        PQsetNoticeReceiver(postgres->link, ignore_notice, NULL);
        if (PQsetnonblocking(postgres->link, 1) == 0 && PQenterPipelineMode(postgres->link)) {
            return &postgres->connection;
        }
        postgres_why(postgres, deadline_ms, problem);
    }
    postgres_close(&postgres->connection);
    return NULL;
}

/* What the server has sent while nothing was asked of it is that it has left. Noticed before
 * anything is sent, it is certain that nothing was carried out. */
static bool still_there(struct postgres *postgres)
{
    for (;;) {
        struct pollfd look = {.fd = PQsocket(postgres->link), .events = POLLIN};
        int ready = look.fd < 0 ? -1 : poll(&look, 1, 0);
        if (ready == 0) {
            return true;
        }
        if ((ready < 0 && errno != EINTR) || (ready > 0 && !PQconsumeInput(postgres->link))) {
            return false;
        }
    }
}

/* Can a transaction begin, or go on? If not, the connection is given up. */
static bool ready_to_run(struct postgres *postgres, int64_t deadline_ms, struct problem *problem)
{
    if (postgres->lost) {
        problem_set(problem, HF_LEDGER_DOWN, "the connection to PostgreSQL was lost");
        return false;
    }
    if (sql_now_ms() < deadline_ms && still_there(postgres)) {
        return true;
    }
    postgres_why(postgres, deadline_ms, problem);
    postgres_lose(postgres);
    return false;
}

/* ---- transactions ---------------------------------------------------------------------------- */

static int64_t patience_for(int64_t deadline_ms)
{
    int64_t left = deadline_ms - sql_now_ms(), patience = PATIENCE_MIN_MS;
    while (patience < left && patience < PATIENCE_MAX_MS) {
        patience *= 2;
    }
    return patience;
}

/* The server's timeouts, in a transaction of their own in front: they shall stay when the one
 * behind is rolled back. */
static bool queue_settings(struct postgres *postgres, int64_t deadline_ms)
{
    int64_t patience = patience_for(deadline_ms);
    if (postgres->open || patience == postgres->patience_ms) {
        return true;
    }
    char text[SETTINGS_SIZE];
    snprintf(text, sizeof text,
             "SELECT set_config('statement_timeout', '%lld', false), "
             "set_config('lock_timeout', '%lld', false), "
             "set_config('idle_in_transaction_session_timeout', '%d', false), "
             "set_config('plan_cache_mode', 'force_custom_plan', false)",
             (long long)patience, (long long)patience / 2, IDLE_TRANSACTION_MS);
    postgres->patience_ms = patience;
    return postgres_queue_text(postgres, POSTGRES_SETTINGS, text, 0) &&
           postgres_queue_sync(postgres);
}

static bool queue_begin(struct postgres *postgres)
{
    return postgres->open || postgres_queue_text(postgres, POSTGRES_BEGIN, BEGIN, 0);
}

static bool queue_steps(struct postgres *postgres, const struct sql_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!postgres_queue_step(postgres, &steps[i], i)) {
            return false;
        }
    }
    return true;
}

/* Ends a transaction that an error has doomed, so that the connection can be used again. */
static void roll_back(struct postgres *postgres, int64_t deadline_ms)
{
    struct sql_outcome ignored;
    struct postgres_report report = {.outcome = &ignored};
    postgres->open = false;
    if (!postgres_queue_text(postgres, POSTGRES_ROLLBACK, "ROLLBACK", 0) ||
        !postgres_queue_sync(postgres) || !postgres_collect(postgres, NULL, deadline_ms, &report) ||
        report.failed) {
        postgres_lose(postgres);
    }
}

static enum sql_result conclude(struct postgres *postgres, const struct postgres_report *report,
                                bool commit, bool collected, int64_t deadline_ms)
{
    bool done = report->committed || (collected && !report->failed);

    if (done && report->committed == commit) {
        postgres->open = !report->committed;
        return SQL_DONE;
    }
    if (done) { /* the COMMIT was answered as if it were another statement */
        postgres_lose(postgres);
    }
    if (!report->failed) {
        return commit ? SQL_UNKNOWN : SQL_AWAY;
    }
    if (report->result == SQL_AWAY || report->result == SQL_UNKNOWN) {
        postgres_lose(postgres);
    } else if (!postgres->lost) {
        roll_back(postgres, deadline_ms);
    }
    return report->result;
}

/* Sends what is queued, if `queued` says that all of the transaction is, and the COMMIT. */
static enum sql_result carry_out(struct postgres *postgres, const struct sql_step *steps,
                                 bool queued, bool commit, int64_t deadline_ms,
                                 struct sql_outcome *outcome)
{
    struct postgres_report report = {.outcome = outcome};
    /* Without a COMMIT, whatever was sent will be rolled back. */
    commit = queued && commit;
    queued = queued && (!commit || postgres_queue_text(postgres, POSTGRES_COMMIT, "COMMIT", 0)) &&
             postgres_queue_sync(postgres);
    if (!queued) {
        postgres_why(postgres, deadline_ms, &outcome->problem);
        postgres_lose(postgres);
    }
    bool collected = queued && postgres_collect(postgres, steps, deadline_ms, &report);
    return conclude(postgres, &report, commit, collected, deadline_ms);
}

static enum sql_result postgres_run(struct sql_connection *connection, const struct sql_step *steps,
                                    size_t count, bool commit, int64_t deadline_ms,
                                    struct sql_outcome *outcome)
{
    struct postgres *postgres = self(connection);
    memset(outcome, 0, sizeof *outcome);
    if (!ready_to_run(postgres, deadline_ms, &outcome->problem)) {
        return SQL_AWAY;
    }
    bool queued = queue_settings(postgres, deadline_ms) && queue_begin(postgres) &&
                  queue_steps(postgres, steps, count);
    return carry_out(postgres, steps, queued, commit, deadline_ms, outcome);
}

/* The statements of a script, each as it stands. */
static bool queue_script(struct postgres *postgres, const char *text)
{
    for (size_t number = 0; *text != '\0'; number++) {
        const char *end = strstr(text, ";\n");
        size_t size = end != NULL ? (size_t)(end + 2 - text) : strlen(text);
        buffer_clear(&postgres->scratch);
        buffer_bytes(&postgres->scratch, text, size);
        buffer_byte(&postgres->scratch, 0);
        if (postgres->scratch.failed ||
            !postgres_queue_text(postgres, POSTGRES_SCRIPT, postgres->scratch.data, number)) {
            return false;
        }
        text += size;
    }
    return true;
}

static enum sql_result postgres_script(struct sql_connection *connection, const char *text,
                                       int64_t deadline_ms, struct sql_outcome *outcome)
{
    struct postgres *postgres = self(connection);
    memset(outcome, 0, sizeof *outcome);
    if (!ready_to_run(postgres, deadline_ms, &outcome->problem)) {
        return SQL_AWAY;
    }
    bool queued = queue_settings(postgres, deadline_ms) && queue_begin(postgres) &&
                  queue_script(postgres, text);
    return carry_out(postgres, NULL, queued, true, deadline_ms, outcome);
}

const struct sql_driver sql_postgres = {
    .dialect = SQL_POSTGRES,
    .check = postgres_check,
    .show = postgres_show,
    .connect = postgres_connect,
    .close = postgres_close,
    .run = postgres_run,
    .script = postgres_script,
};

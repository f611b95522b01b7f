/* SPDX-License-Identifier: Apache-2.0
 *
 * Connecting. A writer that comes back raises its epoch first. That waits for the row's lock,
 * which a transaction of the lost connection may hold; afterwards that one has been committed,
 * which the row tells by its number, or never will be, since its first statement finds another
 * epoch. */
#include "ledger/link.h"

#include "base/check.h"
#include "ledger/migrate.h"
#include "ledger/queue.h"
#include "ledger/writer.h"

#include <stdio.h>

/* An attempt to connect that nobody waits for may take so long, even if the ledger's timeout is
 * shorter: to connect is many round trips, and a database that comes back has much else to do. */
#define CONNECT_MAX_MS ((int64_t)5000)

/* ---- how it stands with the connections ------------------------------------------------------ */

/* Under the lock. */
static void set_reason(struct ledger *ledger, const char *reason)
{
    char *text = NULL;

    if (reason != NULL) {
        ledger->reason = (ledger->reason + 1) % (sizeof ledger->reasons / sizeof *ledger->reasons);
        text = ledger->reasons[ledger->reason];
        snprintf(text, MESSAGE_SIZE, "%s", reason);
    }
    atomic_store(&ledger->unready, text);
}

/* Under the lock: `link` becomes another. */
static void set_link(struct ledger_writer *writer, enum ledger_link link)
{
    struct ledger *ledger = writer->ledger;

    if (link != writer->link) {
        ledger->figures.connected += link == LEDGER_LINK_UP ? 1U : 0U;
        ledger->figures.connected -= writer->link == LEDGER_LINK_UP ? 1U : 0U;
        writer->link = link;
    }
}

static void is_up(struct ledger_writer *writer)
{
    struct ledger *ledger = writer->ledger;

    writer->failures = 0;
    pthread_mutex_lock(&ledger->lock);
    bool was_down = ledger_is_down(ledger);
    set_link(writer, LEDGER_LINK_UP);
    set_reason(ledger, NULL);
    pthread_mutex_unlock(&ledger->lock);
    if (was_down) {
        log_line(&ledger->log, LOG_INFO, "ledger %s: connected", ledger->name);
    }
}

static void is_down(struct ledger_writer *writer, const struct problem *problem)
{
    struct ledger *ledger = writer->ledger;

    writer->failures++;
    pthread_mutex_lock(&ledger->lock);
    bool was_down = ledger_is_down(ledger);
    set_link(writer, LEDGER_LINK_DOWN);
    bool down = ledger_is_down(ledger);
    if (down) {
        set_reason(ledger, problem->message);
    }
    pthread_mutex_unlock(&ledger->lock);
    if (down) {
        ledger_queue_refuse_all(ledger);
    }
    if (down && !was_down) {
        log_line(&ledger->log, LOG_WARNING, "ledger %s: %s", ledger->name, problem->message);
    }
}

/* ---- the row in `writers` -------------------------------------------------------------------- */

struct joined {
    bool found, fenced;
    int64_t epoch, batch;
};

static void read_joined(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    (void)row;
    (void)count;
    *(struct joined *)context = (struct joined){.found = true,
                                                .epoch = columns[0].integer,
                                                .batch = columns[1].integer,
                                                .fenced = columns[2].integer != 0};
}

/* The row of an id that is known already, with another epoch. */
static enum sql_result rejoin(struct ledger_writer *writer, int64_t deadline_ms,
                              struct joined *joined)
{
    struct sql_value id = sql_integer(writer->id);
    struct sql_step steps[] = {
        ledger_step(writer, LEDGER_WRITER_REJOIN, &id, SQL_ANY),
        ledger_query(writer, LEDGER_WRITER_READ, &id, read_joined, joined),
    };

    *joined = (struct joined){.found = false};
    return sql_run(writer->connection, steps, 2, true, deadline_ms, &writer->outcome);
}

/* A row under a new id, of those that a double has exactly. */
static enum sql_result register_anew(struct ledger_writer *writer, int64_t deadline_ms)
{
    struct ledger *ledger = writer->ledger;
    uint64_t id = 0;

    random_bytes(&writer->random, &id, sizeof id);
    id = (id >> 11) | 1;
    pthread_mutex_lock(&ledger->lock);
    writer->id = (int64_t)id;
    struct sql_value values[] = {sql_integer(writer->id), sql_integer((int64_t)writer->tally.last),
                                 sql_integer((int64_t)writer->tally.told)};
    pthread_mutex_unlock(&ledger->lock);
    writer->epoch = 1;
    struct sql_step step = ledger_step(writer, LEDGER_WRITER_ADD, values, 1);
    return sql_run(writer->connection, &step, 1, true, deadline_ms, &writer->outcome);
}

/* `known` and `committed` tell afterwards what there was of the id before. */
static enum sql_result join(struct ledger_writer *writer, int64_t deadline_ms)
{
    struct joined joined = {.found = false};

    if (writer->id != 0) {
        enum sql_result result = rejoin(writer, deadline_ms, &joined);
        if (result != SQL_DONE) {
            return result;
        }
    }
    writer->known = joined.found;
    writer->committed = joined.batch;
    if (joined.found && !joined.fenced) {
        writer->epoch = joined.epoch;
        return SQL_DONE;
    }
    return register_anew(writer, deadline_ms);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static enum hf_error check_inventory(struct ledger_writer *writer, int64_t deadline_ms,
                                     struct problem *problem)
{
    struct sql_value none = sql_text(hf_text(""));
    struct sql_step step =
        ledger_query(writer, LEDGER_INVENTORY_CHECK, &none, ledger_see_nothing, NULL);
    enum sql_result result =
        sql_run(writer->connection, &step, 1, true, deadline_ms, &writer->outcome);

    if (result == SQL_REFUSED) {
        return problem_set(problem, HF_INVALID_STATE,
                           "the inventory is not as the setting names it: %.200s",
                           writer->outcome.problem.message);
    }
    return result == SQL_DONE
               ? HF_OK
               : problem_set(problem, HF_LEDGER_DOWN, "%s", writer->outcome.problem.message);
}

static enum hf_error set_up(struct ledger_writer *writer, int64_t deadline_ms,
                            struct problem *problem)
{
    struct ledger *ledger = writer->ledger;
    enum hf_error error =
        ledger_migrate(writer->connection, &ledger->statements, deadline_ms, problem);

    if (error == HF_OK) {
        error = check_inventory(writer, deadline_ms, problem);
    }
    if (error == HF_OK && join(writer, deadline_ms) != SQL_DONE) {
        error = problem_set(problem, HF_LEDGER_DOWN, "%s", writer->outcome.problem.message);
    }
    return error;
}

/* One attempt, until a time at the latest. */
static bool attempt(struct ledger_writer *writer, int64_t deadline_ms, struct problem *problem)
{
    struct ledger *ledger = writer->ledger;

    if (writer->connection != NULL) {
        return true;
    }
    *problem = (struct problem){.code = HF_LEDGER_DOWN};
    writer->connection = ledger->driver->connect(ledger->url, deadline_ms, problem);
    if (writer->connection != NULL && set_up(writer, deadline_ms, problem) == HF_OK) {
        is_up(writer);
        return true;
    }
    sql_close(writer->connection);
    writer->connection = NULL;
    is_down(writer, problem);
    return false;
}

bool ledger_link_up(struct ledger_writer *writer, struct problem *problem)
{
    return attempt(writer, sql_now_ms() + writer->ledger->timeout_ms, problem);
}

bool ledger_link_try(struct ledger_writer *writer, int64_t until_ms, struct problem *problem)
{
    int64_t now_ms = sql_now_ms(), timeout_ms = writer->ledger->timeout_ms,
            patience_ms = timeout_ms;

    for (unsigned i = 0; i < writer->failures && patience_ms < CONNECT_MAX_MS; i++) {
        patience_ms = patience_ms * 2 < CONNECT_MAX_MS ? patience_ms * 2 : CONNECT_MAX_MS;
    }
    if (patience_ms > timeout_ms && patience_ms > until_ms - now_ms) {
        patience_ms = until_ms - now_ms > timeout_ms ? until_ms - now_ms : timeout_ms;
    }
    return attempt(writer, now_ms + patience_ms, problem);
}

void ledger_link_drop(struct ledger_writer *writer)
{
    struct ledger *ledger = writer->ledger;

    sql_close(writer->connection);
    writer->connection = NULL;
    pthread_mutex_lock(&ledger->lock);
    ledger->figures.reconnects++;
    pthread_mutex_unlock(&ledger->lock);
}

void ledger_link_renew(struct ledger_writer *writer)
{
    enum sql_result result = join(writer, sql_now_ms() + writer->ledger->timeout_ms);

    if (result == SQL_AWAY || result == SQL_UNKNOWN) {
        ledger_link_drop(writer);
    }
}

void ledger_link_end(struct ledger_writer *writer)
{
    struct ledger *ledger = writer->ledger;

    if (writer->connection == NULL) {
        return;
    }
    pthread_mutex_lock(&ledger->lock);
    bool told = writer->tally.told == writer->tally.last;
    int64_t number = (int64_t)writer->tally.told;
    pthread_mutex_unlock(&ledger->lock);
    struct sql_value values[] = {sql_integer(number), sql_integer(number), sql_integer(writer->id)};
    struct sql_step step = told ? ledger_step(writer, LEDGER_WRITER_FORGET, &values[2], SQL_ANY)
                                : ledger_step(writer, LEDGER_WRITER_MARK, values, SQL_ANY);
    sql_run(writer->connection, &step, 1, true, sql_now_ms() + ledger->timeout_ms,
            &writer->outcome);
    sql_close(writer->connection);
    writer->connection = NULL;
}

/* ---- COMMITs without an answer --------------------------------------------------------------- */

enum ledger_fate ledger_link_resolve(struct ledger_writer *writer, uint64_t number,
                                     int64_t deadline_ms)
{
    struct ledger *ledger = writer->ledger;
    struct problem problem;

    ledger_link_drop(writer);
    pthread_mutex_lock(&ledger->lock);
    ledger->figures.unknown++;
    pthread_mutex_unlock(&ledger->lock);
    while (!ledger_link_try(writer, deadline_ms, &problem)) {
        if (sql_now_ms() >= deadline_ms || !ledger_writer_pause(writer, writer->failures)) {
            return LEDGER_FATE_OPEN;
        }
    }
    if (!writer->known) {
        return LEDGER_FATE_BURIED;
    }
    return writer->committed >= (int64_t)number ? LEDGER_FATE_COMMITTED : LEDGER_FATE_NOTHING;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Migrations. The version is read without a lock first, which is all that happens at most starts;
 * then again under a lock of the database, that two programs may not both apply one. SQLite has no
 * such lock, but a script there is one transaction: the second of two finds the tables made, is
 * rolled back, and looks again. */
#include "ledger/migrate.h"

struct migrate_run {
    struct sql_connection *connection;
    const struct ledger_statements *statements;
    int64_t deadline_ms;
    struct problem *problem;
};

static void read_integer(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    int64_t *number = context;

    (void)row;
    (void)count;
    *number = columns[0].kind == SQL_INTEGER ? columns[0].integer : 0;
}

/* One query without values, whose one answer is a number. */
static enum sql_result ask(const struct migrate_run *run, enum ledger_statement statement,
                           int64_t *number, struct sql_outcome *outcome)
{
    struct sql_step step = {.statement = &run->statements->all[statement],
                            .rows = 1,
                            .expected = SQL_ANY,
                            .each = read_integer,
                            .context = number};

    return sql_run(run->connection, &step, 1, true, run->deadline_ms, outcome);
}

static enum hf_error is_away(const struct migrate_run *run, const struct sql_outcome *outcome)
{
    return problem_set(run->problem, HF_LEDGER_DOWN, "%s", outcome->problem.message);
}

/* 0 if there are no tables yet: then the query is refused. */
static enum hf_error read_version(const struct migrate_run *run, int64_t *version)
{
    struct sql_outcome outcome = {.step = 0};
    enum sql_result result = ask(run, LEDGER_SCHEMA_VERSION, version, &outcome);

    if (result == SQL_REFUSED) {
        *version = 0;
        return HF_OK;
    }
    return result == SQL_DONE ? HF_OK : is_away(run, &outcome);
}

static int64_t newest(enum sql_dialect dialect)
{
    int64_t version = 0;

    for (size_t i = 0; i < ledger_migration_count; i++) {
        if (ledger_migrations[i].dialect == dialect && ledger_migrations[i].version > version) {
            version = ledger_migrations[i].version;
        }
    }
    return version;
}

static const struct ledger_migration *find(enum sql_dialect dialect, int64_t version)
{
    for (size_t i = 0; i < ledger_migration_count; i++) {
        if (ledger_migrations[i].dialect == dialect && ledger_migrations[i].version == version) {
            return &ledger_migrations[i];
        }
    }
    return NULL;
}

/* Applies what follows on `version`, and reads anew which that is. One that was refused is an error
 * unless another program has applied it meanwhile. */
static enum hf_error apply_next(const struct migrate_run *run, int64_t *version)
{
    struct sql_outcome outcome = {.step = 0};
    const struct sql_driver *driver = run->connection->driver;
    const struct ledger_migration *next = find(driver->dialect, *version + 1);
    int64_t before = *version;
    enum sql_result result =
        driver->script(run->connection, next->text, run->deadline_ms, &outcome);

    if (result == SQL_AWAY || result == SQL_UNKNOWN) {
        return is_away(run, &outcome);
    }
    enum hf_error error = read_version(run, version);
    if (error == HF_OK && *version == before) {
        return problem_set(run->problem, HF_INVALID_STATE,
                           "the ledger's database refuses migration %04lld-%s: %.200s",
                           (long long)next->version, next->name, outcome.problem.message);
    }
    return error;
}

static enum hf_error apply_all(const struct migrate_run *run, int64_t target)
{
    int64_t version = 0;
    enum hf_error error = read_version(run, &version);

    while (error == HF_OK && version < target) {
        error = apply_next(run, &version);
    }
    return error;
}

static enum hf_error apply_locked(const struct migrate_run *run, int64_t target)
{
    struct sql_outcome outcome = {.step = 0};
    int64_t locked = 0;
    enum sql_result result = ask(run, LEDGER_SCHEMA_LOCK, &locked, &outcome);

    if (result != SQL_DONE || locked != 1) {
        return problem_set(run->problem, HF_LEDGER_DOWN,
                           "another program is changing the ledger's tables: %.200s",
                           outcome.problem.message);
    }
    enum hf_error error = apply_all(run, target);
    if (error != HF_LEDGER_DOWN) {
        ask(run, LEDGER_SCHEMA_UNLOCK, &locked, &outcome);
    }
    return error;
}

enum hf_error ledger_migrate(struct sql_connection *connection,
                             const struct ledger_statements *statements, int64_t deadline_ms,
                             struct problem *problem)
{
    struct migrate_run run = {connection, statements, deadline_ms, problem};
    int64_t target = newest(connection->driver->dialect), version = 0;
    enum hf_error error = read_version(&run, &version);

    if (error == HF_OK && version < target) {
        error = apply_locked(&run, target);
    }
    if (error == HF_OK && version > target) {
        error = problem_set(problem, HF_INVALID_STATE,
                            "the ledger's database is of version %lld and this program knows %lld: "
                            "it takes a newer program",
                            (long long)version, (long long)target);
    }
    return error;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Brings the tables of a database up to what this program knows. */
#ifndef LEDGER_MIGRATE_H
#define LEDGER_MIGRATE_H

#include "ledger/statements.h"

/* A file of sql/, see tools/assemble-sql. */
struct ledger_migration {
    enum sql_dialect dialect;
    int64_t version;
    const char *name;
    const char *text;
};

extern const struct ledger_migration ledger_migrations[];
extern const size_t ledger_migration_count;

/* Applies the migrations that the database has not had, in order, one program at a time; a
 * database that has had them all costs one query. INVALID_STATE if it has had some that this
 * program does not know, or refuses one; LEDGER_DOWN if it cannot be reached, after which the
 * connection is of no use. */
enum hf_error ledger_migrate(struct sql_connection *connection,
                             const struct ledger_statements *statements, int64_t deadline_ms,
                             struct problem *problem);

#endif

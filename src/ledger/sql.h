/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection to an SQL database, for one thread at a time. Calls block, each until its deadline
 * at the latest. A transaction is a list of steps that is known before it begins, so that a driver
 * that can sends all of it, with its COMMIT, in one round trip; what has to hold for the COMMIT
 * stands in the steps themselves.
 *
 * Drivers: sqlite.c, postgres.c, mysql.c. */
#ifndef LEDGER_SQL_H
#define LEDGER_SQL_H

#include "base/problem.h"

enum sql_dialect { SQL_SQLITE, SQL_POSTGRES, SQL_MYSQL, SQL_DIALECT_COUNT };

enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_TEXT };

struct sql_value {
    enum sql_kind kind;
    int64_t integer;
    struct hf_bytes text;
};

static inline struct sql_value sql_integer(int64_t integer)
{
    return (struct sql_value){.kind = SQL_INTEGER, .integer = integer};
}

static inline struct sql_value sql_text(struct hf_bytes text)
{
    return (struct sql_value){.kind = SQL_TEXT, .text = text};
}

/* A statement. Drivers prepare it when it is first used on a connection and keep it by its
 * number. */
struct sql_statement {
    unsigned number;
    /* In the dialect of the database, with a ? for each value. In an INSERT of many rows {rows}
     * stands for where the values go: the driver writes "VALUES (?, ?), (?, ?)", an unnest() of
     * arrays, or runs it row by row. */
    const char *text;
    const char *types; /* a letter for each value: i an integer, t a text */
};

/* A result with more columns than these loses the others. */
#define SQL_COLUMNS_MAX 32

/* Called for each row of a query's result, with what the row of values was that it answers to, in
 * their order. The values are valid during the call. Behind `count` there are nulls, up to
 * SQL_COLUMNS_MAX: a server that answers with fewer columns than were asked for is not believed to
 * have answered with others. */
typedef void sql_each(void *context, size_t row, const struct sql_value *columns, size_t count);

#define SQL_ANY (-1)

/* A step of a transaction: a statement, carried out for each row of values in their order. */
struct sql_step {
    const struct sql_statement *statement;
    const struct sql_value *values; /* rows × strlen(statement->types) */
    size_t rows;                    /* 1 for a statement without values */
    /* How many rows of the database each row of values must change, or SQL_ANY. If it is another
     * number, the transaction is rolled back. */
    int64_t expected;
    sql_each *each; /* of a query; or NULL */
    void *context;
};

enum sql_result {
    SQL_DONE,
    SQL_MISSED,  /* a step changed another number of rows than expected; all is rolled back */
    SQL_REFUSED, /* a step is refused: constraint, encoding, trigger; all is rolled back */
    SQL_AGAIN,   /* deadlock, lock timeout, serialisation: all is rolled back, and may be retried */
    SQL_AWAY,    /* the database is not to be reached, or too slow; nothing was carried out */
    SQL_UNKNOWN, /* the connection was lost, or the deadline passed, during the COMMIT */
};

struct sql_outcome {
    size_t step, row;       /* of SQL_MISSED and SQL_REFUSED, where the driver can tell; else 0 */
    struct problem problem; /* the database's words, without secrets */
};

struct sql_connection;

struct sql_driver {
    enum sql_dialect dialect;
    /* Is it a URL of this driver's, with all in order? INVALID_ARGUMENT if not. No I/O. */
    enum hf_error (*check)(const char *url, struct problem *problem);
    /* Where it leads, with no secret in it, for messages and logs. */
    void (*show)(const char *url, char *out, size_t size);
    /* NULL, and why, if it cannot be reached until the deadline. */
    struct sql_connection *(*connect)(const char *url, int64_t deadline_ms,
                                      struct problem *problem);
    /* The same for one that only reads, which changes nothing about the database and holds up no
     * writer. NULL: `connect` does. */
    struct sql_connection *(*connect_reader)(const char *url, int64_t deadline_ms,
                                             struct problem *problem);
    void (*close)(struct sql_connection *connection);
    enum sql_result (*run)(struct sql_connection *connection, const struct sql_step *steps,
                           size_t count, bool commit, int64_t deadline_ms,
                           struct sql_outcome *outcome);
    /* Of migrations: statements without values, each ending in a semicolon at the end of a line.
     * Where the database has DDL in transactions, all of it is one. */
    enum sql_result (*script)(struct sql_connection *connection, const char *text,
                              int64_t deadline_ms, struct sql_outcome *outcome);
    /* Interrupts a run of another thread, which then ends soon. May be NULL: the deadline does. */
    void (*interrupt)(struct sql_connection *connection);
};

struct sql_connection {
    const struct sql_driver *driver;
};

extern const struct sql_driver sql_sqlite;
extern const struct sql_driver sql_postgres;
extern const struct sql_driver sql_mysql;

/* The driver of a URL's scheme; NULL, and what there is, for an unknown one. */
const struct sql_driver *sql_driver_find(const char *url, struct problem *problem);

/* Deadlines are of this clock: milliseconds, monotonic. */
int64_t sql_now_ms(void);

static inline void sql_close(struct sql_connection *connection)
{
    if (connection != NULL) {
        connection->driver->close(connection);
    }
}

/* Carries out steps in the transaction that is open on the connection, or begins one; with
 * `commit` it ends there. Any result but SQL_DONE has ended the transaction; after SQL_AWAY and
 * SQL_UNKNOWN the connection is of no use and to be closed. */
static inline enum sql_result sql_run(struct sql_connection *connection,
                                      const struct sql_step *steps, size_t count, bool commit,
                                      int64_t deadline_ms, struct sql_outcome *outcome)
{
    return connection->driver->run(connection, steps, count, commit, deadline_ms, outcome);
}

#endif

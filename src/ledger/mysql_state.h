/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of MySQL and MariaDB, inside: what its files share. */
#ifndef LEDGER_MYSQL_STATE_H
#define LEDGER_MYSQL_STATE_H

#include "base/buffer.h"
#include "ledger/mysql_url.h"
#include "ledger/sql.h"

#include <mysql.h>
#include <signal.h>

/* An INSERT of many rows is prepared for 1, 2, 4, … and 256 rows, as far as they are needed. More
 * rows at once gain nothing, and servers have a limit of 65535 values for a statement. */
#define MYSQL_SIZES 9
#define MYSQL_ROWS_MAX ((size_t)1 << (MYSQL_SIZES - 1))

/* A statement as it is prepared for so many rows. */
struct mysql_prepared {
    MYSQL_STMT *handle; /* NULL: not yet */
    unsigned columns;   /* of its result; 0: it is no query */
    bool integers[SQL_COLUMNS_MAX];
};

struct mysql_statement {
    struct mysql_prepared sizes[MYSQL_SIZES]; /* for 1 << i rows */
};

/* Where the rows of a result arrive. */
struct mysql_column {
    int64_t integer;
    struct buffer text;
    unsigned long size;
    my_bool is_null;
};

struct mysql_connection {
    struct sql_connection connection;
    struct memory memory;
    MYSQL *link;                        /* NULL: lost */
    unsigned patience_s;                /* how long the server waits for a lock; 0: not told yet */
    struct mysql_statement *statements; /* by number */
    size_t statement_count;
    MYSQL_BIND *binds; /* of the values of a statement */
    size_t bind_capacity;
    struct mysql_column columns[SQL_COLUMNS_MAX];
    struct buffer text; /* of the statement that is being prepared */
};

/* What a step has come to. */
struct mysql_failure {
    unsigned error; /* the server's or libmariadb's number; 0: the step was MISSED */
    size_t row;     /* of the step's values, where it is known */
    char words[MESSAGE_SIZE];
};

/* ---- mysql_link.c ---------------------------------------------------------------------------- */

/* What this thread sends until mysql_link_leave() is to be answered before the deadline; later it
 * counts as lost. Meanwhile SIGPIPE is kept from the thread: TLS writes as if to a file. */
void mysql_link_enter(int64_t deadline_ms, sigset_t *before);
void mysql_link_leave(const sigset_t *before);
bool mysql_link_is_late(void);

/* NULL, and why, if it cannot be made until the deadline. */
MYSQL *mysql_link_open(const struct mysql_url *url, struct problem *problem);

/* Does not wait for the server. */
void mysql_link_close(MYSQL *link);

/* What a server sends that was not asked anything is that it has left, and why. */
bool mysql_link_is_quiet(MYSQL *link);

/* LEDGER_DOWN, with these words about the link, or that the deadline has passed. */
void mysql_link_say(struct problem *problem, const char *words);

/* ---- mysql_statement.c ----------------------------------------------------------------------- */

#define MYSQL_ROWS "{rows}"

/* A statement as it is prepared for so many rows, a power of two, now if need be. NULL, and why, if
 * it cannot be. Nothing else may be in flight. */
struct mysql_prepared *mysql_prepared_find(struct mysql_connection *connection,
                                           const struct sql_statement *statement, size_t rows,
                                           struct mysql_failure *failure);

/* Say what went wrong, and are false. */
bool mysql_fail_memory(struct mysql_failure *failure);
/* Columns or values are not those of the statement: nothing more that the link says is believed. */
bool mysql_fail_other(struct mysql_failure *failure);
bool mysql_fail_statement(struct mysql_connection *connection, MYSQL_STMT *handle,
                          struct mysql_failure *failure);

/* Was it libmariadb that failed, rather than the server that refused? Then the link is lost. */
bool mysql_failure_is_of_link(const struct mysql_failure *failure);

/* Frees what was prepared. The link must be closed: otherwise the server would be told of each. */
void mysql_statements_free(struct mysql_connection *connection);

/* ---- mysql_step.c ---------------------------------------------------------------------------- */

/* Carries out one step. False, and why, if it fails or changes another number of rows than
 * expected. */
bool mysql_step_run(struct mysql_connection *connection, const struct sql_step *step,
                    struct mysql_failure *failure);

#endif

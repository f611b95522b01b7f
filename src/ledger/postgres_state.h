/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of PostgreSQL, inside: what its files share.
 *
 * A run queues messages, and their results come back in the same order:
 *
 *     [settings, sync]  [begin]  prepare | execute …  [commit]  sync
 *
 * The first error skips all messages up to the sync behind it, on the server. So nothing is
 * committed unless every step before was carried out as expected, and all of it is one round
 * trip. */
#ifndef LEDGER_POSTGRES_STATE_H
#define LEDGER_POSTGRES_STATE_H

#include "base/buffer.h"
#include "ledger/sql.h"

#include <libpq-fe.h>

enum postgres_kind {
    POSTGRES_SETTINGS,
    POSTGRES_BEGIN,
    POSTGRES_PREPARE,
    POSTGRES_EXECUTE,
    POSTGRES_SCRIPT, /* a statement of a migration */
    POSTGRES_COMMIT,
    POSTGRES_ROLLBACK,
    POSTGRES_SYNC,
};

/* A message whose result is pending. */
struct postgres_message {
    enum postgres_kind kind;
    size_t statement; /* of PREPARE: an index of `statements` */
    size_t step, row; /* of PREPARE, EXECUTE and SCRIPT */
};

/* A statement may be prepared twice on a connection: as it stands, and guarded by how many rows it
 * must change. */
struct postgres_statement {
    enum { POSTGRES_ABSENT, POSTGRES_PREPARING, POSTGRES_PREPARED } state;
    bool array; /* it takes all rows of values at once, a column in an array each */
};

struct postgres {
    struct sql_connection connection;
    struct memory memory;
    PGconn *link;
    bool open;                             /* a transaction is */
    bool lost;                             /* of no use any more */
    int64_t patience_ms;                   /* what the server's timeouts are set to; 0: not yet */
    struct postgres_statement *statements; /* by number × 2 + guarded */
    size_t statement_count;
    struct postgres_message *messages;
    size_t message_count, message_capacity;
    struct buffer scratch; /* the text, or the arrays, of the message that is being queued */
};

/* What the results of a run's messages come to. */
struct postgres_report {
    struct sql_outcome *outcome;
    bool failed; /* a message was answered by an error, of which `result` and `outcome` tell */
    enum sql_result result;
    bool committed;
};

/* ---- postgres_url.c -------------------------------------------------------------------------- */

enum hf_error postgres_check(const char *url, struct problem *problem);
void postgres_show(const char *url, char *out, size_t size);

/* ---- postgres_statement.c -------------------------------------------------------------------- */

/* What a guarded statement that changed another number of rows complains of; the number follows. */
#define POSTGRES_MISSED "holdfast: rows changed: "

/* Queues a step, and the preparation of its statement at its first use. False if libpq cannot. */
bool postgres_queue_step(struct postgres *postgres, const struct sql_step *step, size_t number);

/* Whether a statement was prepared is known when its message is answered; one that was skipped is
 * prepared anew at its next use. */
void postgres_statement_answered(struct postgres *postgres, size_t statement, bool prepared);

/* ---- postgres_pipeline.c --------------------------------------------------------------------- */

/* Notes that a result is pending. False without memory. */
bool postgres_expect(struct postgres *postgres, struct postgres_message message);

/* Queues a statement that is not worth preparing. */
bool postgres_queue_text(struct postgres *postgres, enum postgres_kind kind, const char *text,
                         size_t step);
bool postgres_queue_sync(struct postgres *postgres);

/* Sends what is queued and waits until PQgetResult() has something to give at once. False if the
 * connection is lost or the deadline has passed. */
bool postgres_wait(struct postgres *postgres, int64_t deadline_ms);

/* Sends what is queued and takes the results of all messages. False, and `lost`, if not all came
 * before the deadline. */
bool postgres_collect(struct postgres *postgres, const struct sql_step *steps, int64_t deadline_ms,
                      struct postgres_report *report);

/* Ends a connection that cannot be used any more, without waiting for the server. */
void postgres_lose(struct postgres *postgres);

/* libpq's words about the connection, or that the deadline has passed. */
void postgres_why(struct postgres *postgres, int64_t deadline_ms, struct problem *problem);

#endif

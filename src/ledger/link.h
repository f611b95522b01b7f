/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer's connection, and its row in `writers`: what it is known by, and its fence. Called on
 * the writer's thread. */
#ifndef LEDGER_LINK_H
#define LEDGER_LINK_H

#include "ledger/state.h"

/* Connects, checks the tables, and joins the writers, if there is no connection. One attempt; false
 * if it fails, and the problem says why. LEDGER_DOWN: the database cannot be reached;
 * INVALID_STATE: it is not one that this program can use. */
bool ledger_link_up(struct ledger_writer *writer, struct problem *problem);

/* The same for a writer whom no sale waits for: after each attempt that failed the next one has
 * twice the time, up to a few seconds, but no more than until `until_ms`, or the ledger's timeout.
 * Where connecting takes longer than a transaction may, no attempt would succeed otherwise. */
bool ledger_link_try(struct ledger_writer *writer, int64_t until_ms, struct problem *problem);

/* The connection is of no use any more. */
void ledger_link_drop(struct ledger_writer *writer);

/* Joins anew on the same connection, when a transaction was not let in: another server may have
 * taken this writer for dead. */
void ledger_link_renew(struct ledger_writer *writer);

/* Forgets the writer in the database if nothing of it is in flight, and disconnects. */
void ledger_link_end(struct ledger_writer *writer);

enum ledger_fate {
    LEDGER_FATE_COMMITTED,
    LEDGER_FATE_NOTHING, /* it has not been committed, and will not be */
    LEDGER_FATE_BURIED,  /* not to be told: others have taken this writer for dead */
    LEDGER_FATE_OPEN,    /* not known until the deadline, or the ledger is closed */
};

/* Finds out what became of a transaction whose COMMIT got no answer, on a new connection. */
enum ledger_fate ledger_link_resolve(struct ledger_writer *writer, uint64_t number,
                                     int64_t deadline_ms);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client may never have learned of: for each command that granted something, the command
 * that takes it back, and where in all that the client was answered its answer ends. When the
 * client leaves, what was not delivered is taken back; what was, its heartbeat decides about.
 *
 * A client whose answer got lost retries over another connection, with the same id, and is answered
 * with the same grant. From then on the older connection must not take it back, whenever it dies.
 * So the server has a table of all grants that are not known to be delivered. */
#ifndef SERVER_SESSION_UNDO_H
#define SERVER_SESSION_UNDO_H

#include "base/siphash.h"
#include "base/slab.h"
#include "base/table.h"
#include "server/session.h"

/* The grants of all sessions that would have to be taken back, by the command that does it. */
struct undo_table {
    struct table by_command; /* of indexes in `grants` */
    struct slab grants;
    uint8_t key[SIPHASH_KEY];
};

void undo_table_init(struct undo_table *table, struct memory *memory);
void undo_table_free(struct undo_table *table);

/* Remembers how to take back what this command may grant: the row's undo command, which has the
 * same first arguments. False when there is no memory: a waiter has to be able to leave. */
bool undo_remember(struct session *session, const struct command *command);

/* The last command granted nothing. */
void undo_forget_last(struct session *session);

/* The last command was answered with a grant that its id holds since before: no other session takes
 * that back any more, and neither does this one. */
void undo_confirm_last(struct session *session);

/* The answer to the last command, a new grant of that name, stands in `out`, which ends with it:
 * once so many bytes were delivered, the client knows of it. Of a request that is not finished
 * (EXEC) nothing is known before its end. */
void undo_note_end(struct session *session, uint64_t name);

/* The answer to a request that was unfinished stands in `out`, with all that it granted. */
void undo_note_finished(struct session *session);

/* Takes back what stands from an offset on, unless its answer was delivered. */
void undo_from(struct session *session, size_t offset);

/* Forgets all of it: the client knows, or the session ends. */
void undo_clear(struct session *session);

#endif

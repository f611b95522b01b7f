/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client may never have learned of: for each command that handed something out, the command
 * that takes it back, and where in all that the client was answered its answer ends. When the
 * client leaves, what was not delivered is taken back; what was, its heartbeat decides about. */
#ifndef SERVER_SESSION_UNDO_H
#define SERVER_SESSION_UNDO_H

#include "server/session.h"

/* Remembers how to take back what this command may hand out: the row's undo command, which has the
 * same first arguments. False when there is no memory: what waits has to be able to leave. */
bool undo_remember(struct session *session, const struct command *command);

/* The last one handed nothing out. */
void undo_forget_last(struct session *session);

/* The answer to the last one stands in `out`, which ends with it: once so many bytes were
 * delivered, the client knows of it. Of a request that is not finished (EXEC) nothing is known
 * before its end. */
void undo_note_end(struct session *session);

/* The answer to a request that was unfinished stands in `out`, with all that it handed out. */
void undo_note_finished(struct session *session);

/* Takes back what stands from an offset on, unless its answer was delivered. */
void undo_from(struct session *session, size_t offset);

#endif

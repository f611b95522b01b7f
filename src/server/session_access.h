/* SPDX-License-Identifier: Apache-2.0
 *
 * What a session's user is kept to, looked at before anything is carried out: its scopes, its
 * families and its rate (access.h). Users without such limits have no struct access, and cost one
 * branch here. */
#ifndef SERVER_SESSION_ACCESS_H
#define SERVER_SESSION_ACCESS_H

#include "server/session.h"

/* The same for a user that has limits, without that branch. */
bool session_reaches_limited(struct session *session, const struct command *command);
bool session_pays_limited(struct session *session, const struct command *command);

/* Is the command of the user's scopes and families? Refuses (FORBIDDEN) and returns false
 * otherwise. */
static inline bool session_reaches(struct session *session, const struct command *command)
{
    return session->who.access == NULL || session_reaches_limited(session, command);
}

/* Takes a token for the command. Refuses (RATE_LIMITED) and returns false if there is none. What
 * gives back is never refused and takes none, and the server's own keys take none. */
static inline bool session_pays(struct session *session, const struct command *command)
{
    return session->who.access == NULL || session_pays_limited(session, command);
}

/* Pays now for the command that is submitted later, so that it does not pay again: the answer that
 * is kept under an Idempotency-Key is looked for before, and a transaction is refused as a whole.
 * Refuses and returns false as session_pays() does. */
bool session_prepays(struct session *session, const struct command *command);

/* Pays for what the server itself does. False if there is no token, and the problem says so: the
 * front refuses it in its own way. */
bool session_pays_server(struct session *session, struct problem *problem);

/* ---- lists of which a part is shown ---------------------------------------------------------- */

/* Makes a command whose reply will be filtered ask for no more than the user may have: its cursor
 * is opened, into `after`, and MATCH is narrowed to the user's scopes. Refuses a cursor that is not
 * this user's of this list, and returns false. The command's texts are good as long as `after`. */
bool session_narrow_limited(struct session *session, struct command *command,
                            char after[HF_CURSOR_SIZE]);

static inline bool session_narrow(struct session *session, struct command *command,
                                  char after[HF_CURSOR_SIZE])
{
    return session->who.access == NULL || !access_filters(session->who.access, command->spec) ||
           session_narrow_limited(session, command, after);
}

/* Takes out of the reply to the session's command what is not of the user's scopes, and seals its
 * cursor. */
void session_filter(const struct session *session, struct reply *reply);

/* ---- what concerns all ----------------------------------------------------------------------- */

/* Is the user limited to some scopes or families? */
static inline bool session_is_limited(const struct session *session)
{
    return session->who.access != NULL && access_is_limited(session->who.access);
}

/* What concerns all there is, is not for such users. Refuses and returns false. */
bool session_reaches_all(struct session *session, const char *what);

/* In how many seconds it is worth asking again after RATE_LIMITED: 1 at least. */
int session_retry_s(const struct session *session);

#endif

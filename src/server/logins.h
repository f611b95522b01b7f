/* SPDX-License-Identifier: Apache-2.0
 *
 * Passwords on their way to the threads that hash them, and back. Origins take turns, so that
 * whoever guesses passwords from one address keeps nobody else from signing in. A wrong guess is
 * answered late, and later the more there were from the same address; who leaves before that has
 * the address wait instead.
 *
 *     queued ──its origin's turn──> hashing ──right, or among the first wrong ones──> answered
 *        └── the client left: gone     └── wrong ──> held ──in time──> answered
 */
#ifndef SERVER_LOGINS_H
#define SERVER_LOGINS_H

#include "base/list.h"
#include "server/auth.h"

struct server;
struct session;

struct logins {
    struct list turns; /* origins with passwords that wait: struct origin */
    struct list held;  /* wrong ones whose answers are held back, the first due first */
    unsigned hashing;
};

void logins_init(struct logins *logins);

/* Has the password checked; the session waits for it. False when there is no memory. */
bool login_begin(struct session *session, const struct auth_check *check);

/* The client of a session that waits for its login is gone. Unless a thread is at work on it, the
 * session waits no more. */
void login_abandon(struct session *session);

/* The server stops: what no thread is at work on is answered now. */
void login_give_up(struct session *session);

/* A few times a second: answers what was held back for long enough. */
void logins_tick(struct server *server);

#endif

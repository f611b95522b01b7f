/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a client is: by a token at once, by a password after another thread has hashed it. */
#include "server/server.h"
#include "server/loop_work.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void note_wrong_secret(struct session *session)
{
    struct server *server = session->server;

    server->metrics.unauthorized++;
    if (server_warns(server)) {
        log_line(&server->log, LOG_WARNING, "%s: wrong secret", session->peer);
    }
}

static void tell(struct session *session, bool right)
{
    if (!right) {
        note_wrong_secret(session);
    }
    session->front->authenticated(session, right);
    session_touch(session);
}

/* A password in flight to the thread that hashes it, and back. */
struct password_work {
    struct loop_work work;
    struct session *session;
    struct auth_check check;
};

/* So nice are threads that hash, for good: with two of them on two cores the loop would otherwise
 * have to share a core with them. */
#define HASHING_NICE 10

static void hash_password(struct loop_work *work)
{
    static _Thread_local bool is_nice;

    if (!is_nice && ((struct password_work *)work)->session->server->loop != NULL) {
        is_nice = true;
        setpriority(PRIO_PROCESS, (id_t)gettid(), HASHING_NICE);
    }
    auth_hash(&((struct password_work *)work)->check);
}

static void password_hashed(struct loop_work *work)
{
    struct password_work *password = (struct password_work *)work;
    struct session *session = password->session;
    struct server *server = session->server;

    session_set_waits(session, false);
    server->hashing--;
    if (session->gone) {
        server->release(session);
    } else {
        bool right =
            server->auth == NULL || auth_hashed(server->auth, &password->check, &session->who);
        tell(session, right);
        session_resume(session);
    }
    auth_forget(&password->check);
    free(password);
}

/* So many passwords are hashed or wait for it at a time; each takes 16 MB. */
#define HASHING_MAX 64

static void authenticate_slowly(struct session *session, const struct auth_check *check)
{
    struct server *server = session->server;
    struct password_work *password = NULL;

    if (server->hashing < HASHING_MAX) {
        password = malloc(sizeof *password);
    }
    if (password == NULL) {
        session_refuse(session, HF_BUSY, "too many passwords to check; try again later");
        return;
    }
    session->undo_last = session->undo.size; /* there is nothing to take back */
    password->session = session;
    password->check = *check;
    session_set_waits(session, true);
    server->hashing++;
    loop_work_begin(&password->work, server->loop, hash_password, password_hashed);
}

void session_authenticate(struct session *session, const struct hf_bytes *user,
                          struct hf_bytes secret)
{
    struct auth *auth = session->server->auth;
    struct auth_check check;

    if (auth == NULL) {
        tell(session, true); /* everybody may do everything */
        return;
    }
    if (user == NULL) {
        tell(session, auth_token(auth, secret, &session->who));
        return;
    }
    switch (auth_password(auth, *user, secret, &session->who, &check)) {
    case AUTH_RIGHT:
        tell(session, true);
        break;
    case AUTH_WRONG:
        tell(session, false);
        break;
    case AUTH_MUST_HASH:
        authenticate_slowly(session, &check);
        auth_forget(&check);
        break;
    }
}

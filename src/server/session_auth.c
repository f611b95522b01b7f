/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a client is. */
#include "server/server.h"
#include "server/work.h"

#include <stdlib.h>

/* Whoever watches the log should see an attack, and not have the disk filled by it. */
#define WRONG_SECRETS_A_SECOND 10

static void note_wrong_secret(struct session *session)
{
    struct server *server = session->server;
    uint64_t second = clock_nanoseconds() / 1000000000;

    server->metrics.unauthorized++;
    if (second != server->wrong_second) {
        server->wrong_second = second;
        server->wrong_secrets = 0;
    }
    if (server->wrong_secrets++ < WRONG_SECRETS_A_SECOND) {
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

/* A password on its way to the thread that hashes it, and back. */
struct password_work {
    struct work work;
    struct session *session;
    struct auth_check check;
};

static void hash_password(struct work *work)
{
    auth_hash(&((struct password_work *)work)->check);
}

static void password_hashed(struct work *work)
{
    struct password_work *password = (struct password_work *)work;
    struct session *session = password->session;
    struct server *server = session->server;

    session->waits = false;
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
    session->waits = true;
    server->hashing++;
    work_begin(&password->work, server->loop, hash_password, password_hashed);
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

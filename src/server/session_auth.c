/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a client is: by a token at once, by a password after another thread has hashed it
 * (logins.c). */
#include "server/audit_log.h"
#include "server/server.h"
#include "server/session_trace.h"

void session_authenticated(struct session *session, bool right, const char *tried)
{
    if (!right) {
        audit_log_stranger(session, tried);
        session->server->metrics.unauthorized++;
        session_warn(session, WARNING_SECRET, "%s: wrong secret", session->peer);
    }
    session->front->authenticated(session, right);
    session_touch(session);
}

void session_authenticate(struct session *session, const struct hf_bytes *user,
                          struct hf_bytes secret)
{
    struct auth *auth = session->server->auth;
    struct auth_check check;

    if (auth == NULL) {
        session_authenticated(session, true, NULL); /* everybody may do everything */
        return;
    }
    if (user == NULL) {
        session_authenticated(session, auth_token(auth, secret, &session->who), NULL);
        return;
    }
    switch (auth_password(auth, *user, secret, &session->who, &check)) {
    case AUTH_RIGHT:
        session_authenticated(session, true, NULL);
        break;
    case AUTH_WRONG:
        session_authenticated(session, false, NULL);
        break;
    case AUTH_MUST_HASH:
        if (!login_begin(session, &check)) {
            session_refuse(session, HF_BUSY, "no memory to check a password; try again later");
        }
        auth_forget(&check);
        break;
    }
}

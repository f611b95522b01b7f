/* SPDX-License-Identifier: Apache-2.0
 *
 * Users and certificate of a running server. What is new is read and tried in full before it takes
 * the place of what is old, so that a mistake in a file shuts nobody out. */
#include "server/reload.h"

#include "server/audit_log.h"
#include "server/exposed.h"
#include "server/systemd_notify.h"

static void log_exposed(void *context, const char *warning)
{
    const struct server *server = context;

    log_line(&server->log, LOG_WARNING, "%s", warning);
}

static void log_outdated(const struct loop *loop)
{
    const char *why = tls_outdated(loop->tls);

    if (why != NULL) {
        log_line(&loop->server.log, LOG_WARNING, "tls-cert \"%.200s\": clients will refuse it: %s",
                 loop->server.options->tls_cert, why);
    }
}

bool reload_first(struct loop *loop, struct problem *problem)
{
    const struct server_options *options = loop->server.options;

    if (options->auth_file != NULL) {
        loop->server.auth = auth_load(options->auth_file, problem);
        if (loop->server.auth == NULL) {
            return false;
        }
    }
    if (options->tls_cert != NULL) {
        loop->tls = tls_server(options->tls_cert, options->tls_key, problem);
        if (loop->tls == NULL) {
            return false;
        }
        log_outdated(loop);
    }
    exposed_files(options, log_exposed, &loop->server);
    return true;
}

/* Of a client whose user is gone, has another secret or may do less: what it was let do before ends
 * with that. An idle connection stays, as that of a stranger, who has to sign in in time, or of the
 * new role. */
static void demote(struct session *session, const struct identity *before)
{
    bool less =
        session->who.role < before->role || !access_covers(session->who.access, before->access);

    if (less && (session_busy(session) || session->wants_ticks)) {
        connection_end(connection_of(session));
    } else if (session->who.role < before->role) {
        connection_set_time_limit(connection_of(session));
    }
}

static void apply_users(struct server *server)
{
    for (struct list *node = server->sessions.next, *next; node != &server->sessions; node = next) {
        struct session *session = LIST_ENTRY(node, struct session, node);
        struct identity before = session->who;
        next = node->next;
        if (before.role == ROLE_NONE || !auth_still(server->auth, &session->who)) {
            session->who.role = ROLE_NONE;
            session->who.access = NULL;
        }
        if (before.role != ROLE_NONE && !session->gone) {
            demote(session, &before);
        }
    }
}

static bool reload_users(struct server *server)
{
    struct problem problem;

    if (server->options->auth_file == NULL) {
        return true;
    }
    struct auth *auth = auth_load(server->options->auth_file, &problem);
    if (auth == NULL) {
        log_line(&server->log, LOG_ERROR, "users stay as they were: %s", problem.message);
        return false;
    }
    struct auth *before = server->auth;
    auth_inherit(auth, before);
    server->auth = auth;
    apply_users(server); /* which looks at what clients could reach before */
    auth_free(before);
    return true;
}

static bool reload_certificate(struct loop *loop)
{
    const struct server_options *options = loop->server.options;
    struct problem problem;

    if (options->tls_cert == NULL) {
        return true;
    }
    struct tls *tls = tls_server(options->tls_cert, options->tls_key, &problem);
    const char *outdated = tls != NULL ? tls_outdated(tls) : NULL;
    if (outdated != NULL && tls_outdated(loop->tls) == NULL) {
        problem_set(&problem, HF_INVALID_ARGUMENT, "clients would refuse tls-cert \"%.96s\": %s",
                    options->tls_cert, outdated);
        tls_free(tls);
        tls = NULL;
    }
    if (tls == NULL) {
        log_line(&loop->server.log, LOG_ERROR, "the certificate stays as it was: %s",
                 problem.message);
        return false;
    }
    tls_free(loop->tls);
    loop->tls = tls;
    log_outdated(loop);
    return true;
}

/* Whoever rotates it has renamed it, and sends SIGHUP. */
static void reload_audit_log(struct server *server)
{
    struct problem problem;

    if (server->audit_log != NULL && !audit_log_reopen(server->audit_log, &problem)) {
        log_line(&server->log, LOG_ERROR, "the audit log stays as it was: %s", problem.message);
    }
}

void reload_again(struct loop *loop)
{
    bool ready = loop->server.state == SERVER_READY; /* otherwise there is nothing to notify of */

    if (ready) {
        systemd_notify("RELOADING=1");
    }
    reload_audit_log(&loop->server);
    bool users = reload_users(&loop->server), certificate = reload_certificate(loop);
    audit_log_server(&loop->server, "RELOAD", users && certificate ? HF_OK : HF_INVALID_ARGUMENT);
    exposed_files(loop->server.options, log_exposed, &loop->server);
    if (users && certificate) {
        log_line(&loop->server.log, LOG_INFO, "users and certificate were read again");
    }
    if (ready) {
        systemd_notify("READY=1");
    }
}

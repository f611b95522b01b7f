/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's audit. A child process looks through the state as it is now, and another thread waits
 * for what it finds; where the state is elsewhere, that thread reads it itself, as it does a
 * ledger. The loop goes on. */
#include "server/audit_log.h"
#include "server/server.h"
#include "server/loop_work.h"

#include <stdlib.h>

struct audit_work {
    struct loop_work work;
    struct session *session;
    struct engine *engine;
    struct memory memory;
    struct audit_child child;
    bool forked;            /* the child does it */
    bool with_ledger;       /* the ledger is open, and audited, too */
    struct buffer findings; /* a line each */
    uint64_t count;
    struct problem problem; /* HF_OK: it was carried out */
};

struct hf_bytes next_finding(struct hf_bytes *findings)
{
    const char *end = memchr(findings->data, '\n', findings->size);
    struct hf_bytes line = {findings->data, (size_t)(end - findings->data)};

    findings->data = end + 1;
    findings->size -= line.size + 1;
    return line;
}

static void add_finding(void *context, const char *finding)
{
    struct buffer *findings = context;

    buffer_text(findings, finding);
    buffer_byte(findings, '\n');
}

static void run_audit(struct loop_work *work)
{
    struct audit_work *audit = (struct audit_work *)work;

    if (audit->forked) {
        audit->problem.code = audit_child_end(&audit->child, add_finding, &audit->findings,
                                              &audit->count, &audit->problem);
    } else {
        audit->problem.code = engine_audit(audit->engine, add_finding, &audit->findings,
                                           &audit->count, &audit->problem);
    }
    if (audit->problem.code == HF_OK && audit->with_ledger) {
        audit->problem.code = service_audit_ledger(audit->engine, add_finding, &audit->findings,
                                                   &audit->count, &audit->problem);
    }
    if (audit->problem.code == HF_OK && audit->findings.failed) {
        problem_set(&audit->problem, HF_BUSY, "out of memory for what the audit found");
    }
}

static void tell(struct audit_work *audit)
{
    struct session *session = audit->session;

    if (audit->problem.code != HF_OK) {
        session_refuse(session, audit->problem.code, "%s", audit->problem.message);
    } else {
        session->front->audited(session, audit->count,
                                (struct hf_bytes){audit->findings.data, audit->findings.size});
        session_answered(session);
    }
}

static void audit_done(struct loop_work *work)
{
    struct audit_work *audit = (struct audit_work *)work;
    struct session *session = audit->session;
    struct server *server = session->server;

    server->auditing = false;
    server->audit_child = NULL;
    session_set_waits(session, false);
    audit_log_act(session, "AUDIT", NULL, audit->problem.code); /* also if the client has left */
    if (session->gone) {
        server->release(session);
    } else {
        tell(audit);
        session_resume(session);
    }
    buffer_free(&audit->findings);
    free(audit);
}

/* False, and the client is refused, if there is no process for it. */
static bool fork_audit(struct audit_work *audit)
{
    struct session *session = audit->session;
    enum hf_error code = engine_audit_begin(audit->engine, &audit->child, &audit->problem);

    audit->forked = code == HF_OK;
    if (audit->forked) {
        session->server->audit_child = &audit->child;
    }
    if (code != HF_OK && code != HF_INVALID_STATE) {
        session_refuse(session, code, "%s", audit->problem.message);
        return false;
    }
    return true;
}

void session_audit(struct session *session)
{
    struct server *server = session->server;
    struct audit_work *audit = NULL;

    if (server->engine == NULL) {
        session_refuse(session, HF_LOADING, "still loading");
        return;
    }
    if (!server->auditing) {
        audit = calloc(1, sizeof *audit);
    }
    if (audit == NULL) {
        session_refuse(session, HF_BUSY, "another audit is under way; try again later");
        return;
    }
    memory_init(&audit->memory);
    buffer_init(&audit->findings, &audit->memory);
    audit->session = session;
    audit->engine = server->engine;
    audit->with_ledger = service_ledger_name(server->engine) != NULL;
    if (!fork_audit(audit)) {
        free(audit);
        return;
    }
    server->auditing = true;
    session->undo_last = session->undo.size; /* there is nothing to take back */
    session->spec = NULL;
    session_set_waits(session, true);
    loop_work_begin(&audit->work, server->loop, run_audit, audit_done);
}

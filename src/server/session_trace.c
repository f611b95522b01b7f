/* SPDX-License-Identifier: Apache-2.0
 *
 * Names the requests of a session, when somebody writes them down. */
#include "server/session_trace.h"

#include "server/server.h"

#include <stdio.h>

/* The request that is answered as the `position`-th from now. Requests are answered in their order,
 * so that its number is the same whenever it is asked for. */
static void describe(const struct session *session, uint64_t position, struct trace_request *out)
{
    uint64_t seed[2] = {session->id, session->answered + position};

    out->trace = (struct trace_parent){.flags = 0};
    out->state[0] = out->id[0] = '\0';
    if (session->state != NULL) {
        session->front->describe(session, &seed[1], out);
    }
    if (out->id[0] == '\0') {
        snprintf(out->id, sizeof out->id, "c%llu-%llu", (unsigned long long)seed[0],
                 (unsigned long long)seed[1]);
    }
    if (!trace_is_known(&out->trace)) {
        trace_derive(session->server->trace_key, seed, sizeof seed, &out->trace);
    }
}

static void session_source_describe(const struct trace_source *source, struct trace_request *out)
{
    const struct session *session = ((const struct session_source *)source)->session;

    describe(session, session->call_count + 1, out);
}

struct session_source session_source(const struct session *session)
{
    return (struct session_source){.source.describe = session_source_describe, .session = session};
}

void call_describe(const struct trace_source *source, struct trace_request *out)
{
    const struct session_call *call = (const struct session_call *)source;
    uint64_t position = 1;

    if (call->left != NULL) {
        *out = *call->left;
        return;
    }
    for (const struct list *node = call->node.prev; node != &call->session->calls;
         node = node->prev) {
        position++;
    }
    describe(call->session, position, out);
}

void session_trace_leave(struct session *session)
{
    struct memory *memory = &session->server->memory;

    for (struct list *node = session->calls.next; node != &session->calls; node = node->next) {
        struct session_call *call = LIST_ENTRY(node, struct session_call, node);
        struct trace_request *left = memory_zeroed(memory, sizeof *left);
        if (left == NULL) {
            return; /* they go by the numbers alone, then */
        }
        call_describe(&call->source, left);
        call->left = left;
    }
}

void session_log_answer(const struct session_call *call, const struct reply *reply)
{
    const struct session *session = call->session;
    struct server *server = session->server;
    char why[MESSAGE_SIZE] = "";

    if (reply->code == HF_INTERNAL) {
        reply_message(reply, why);
        warnings_line(&server->warnings, &server->log, WARNING_INTERNAL, &call->source,
                      "%s: %s failed: %s", session->peer, call->spec->name, why);
    } else {
        log_request_line(&server->log, &call->source, LOG_DEBUG, "%s: %s %s", session->peer,
                         call->spec->name, hf_error_name(reply->code));
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's requests in flight. Each command that is submitted is a call, whether the engine
 * answers it before engine_submit() returns or in a later turn; the client reads the answers in the
 * order of its requests. */
#ifndef SERVER_SESSION_CALL_H
#define SERVER_SESSION_CALL_H

#include "server/session.h"

struct session_call {
    struct trace_source source; /* for those who carry the command out; call_describe() */
    struct list node;           /* of session->calls, in the order of the requests */
    struct session *session;
    const struct command_spec *spec; /* NULL: refused without the engine */
    const struct command *command;   /* itself, until engine_submit() returns */
    uint64_t since_ns;               /* when it was submitted, if it was not answered at once */
    bool answered;                   /* the reply is there, and waits for calls before it */
    struct buffer bytes;             /* the command, if it is wanted later; then its answer */
    struct trace_request *left;      /* which request it is, if the client has left; or NULL */
};

/* Forgets the calls of a session; only when the engine will answer none of them any more. */
void session_calls_drop(struct session *session);

/* Frees the call that the server keeps for the next command. */
void session_calls_free_spare(struct server *server);

#endif

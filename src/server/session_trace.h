/* SPDX-License-Identifier: Apache-2.0
 *
 * Which request of a session something belongs to, for the log, the audit log and whatever is sent
 * to others because of it. A request's id is the client's own if it gave one, over HTTP; otherwise
 * the number of the connection and of the request in it. Its trace is the client's if it is part of
 * one, otherwise one of its own, which follows from these numbers: nothing is kept for it. */
#ifndef SERVER_SESSION_TRACE_H
#define SERVER_SESSION_TRACE_H

#include "server/session_call.h"

/* The request that a session is about to answer. */
struct session_source {
    struct trace_source source;
    const struct session *session;
};
struct session_source session_source(const struct session *session);

/* A source of the request of a call, for the engine and those behind it. */
void call_describe(const struct trace_source *source, struct trace_request *out);

/* The client is about to leave: its calls in flight note whose they were. */
void session_trace_leave(struct session *session);

/* Logs a command that was answered: each one at the level debug, and a failure of ours always. */
void session_log_answer(const struct session_call *call, const struct reply *reply);

/* Logs a warning that a session's request brings about, unless there were many of its kind. */
#define session_warn(session, kind, ...)                                                           \
    do {                                                                                           \
        const struct session_source its_source = session_source(session);                          \
        warnings_line(&(session)->server->warnings, &(session)->server->log, kind,                 \
                      &its_source.source, __VA_ARGS__);                                            \
    } while (0)

#endif

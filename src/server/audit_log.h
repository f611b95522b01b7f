/* SPDX-License-Identifier: Apache-2.0
 *
 * Who did what: a file with a JSON object a line for every command that changes something or is for
 * administrators, every act of an administrator, and every refusal for lack of rights:
 *
 *     {"time":"2031-05-17T20:00:00.123Z","user":"shop","role":"write","address":"10.0.0.7:51234",
 *      "front":"http","request":"…","trace":"…","command":"SEATS.RESERVE","arguments":{…},
 *      "outcome":"OK"}
 *
 * (in one line). Arguments are names, ids and numbers; no secret, no token, nothing that proves a
 * right. A thread writes the file. Commands never wait for it: what there is no room for is
 * counted, and the file says how much that was, where it is missing. What strangers bring about is
 * bounded, or they could fill the disk. */
#ifndef SERVER_AUDIT_LOG_H
#define SERVER_AUDIT_LOG_H

#include "base/log_writer.h"
#include "base/problem.h"

struct audit_log;
struct log;
struct reply;
struct server;
struct session;
struct session_call;

/* Could the file be opened? Changes nothing. */
bool audit_log_check(const char *path, struct problem *problem);

/* NULL, and the problem says why: it is a directory, a link, a pipe, or not to be written. */
struct audit_log *audit_log_open(const char *path, const struct log *log, struct problem *problem);

/* Goes on in a new file of the same name, if the old one was renamed. On failure it goes on in the
 * old one. */
bool audit_log_reopen(struct audit_log *audit, struct problem *problem);

/* Writes what waits, for at most so long. NULL is fine. */
void audit_log_close(struct audit_log *audit, int wait_ms);

/* A few times a second: says how many lines of strangers were left out. */
void audit_log_tick(struct audit_log *audit);

struct audit_log_figures {
    uint64_t lines; /* ever made */
    struct log_writer_figures writer;
};
void audit_log_look(struct audit_log *audit, struct audit_log_figures *figures);

/* All of these do nothing where no such file is kept. */

/* A command was answered; that is a line if it may have changed something. */
void audit_log_answer(const struct session_call *call, const struct reply *reply);
/* A request was refused; that is a line if it was for lack of rights. */
void audit_log_refused(const struct session *session, enum hf_error code);
/* An administrator has had something done that is no command of the table. `detail` says to whom or
 * what, or is NULL. */
void audit_log_act(const struct session *session, const char *act, const char *detail,
                   enum hf_error code);
/* A wrong secret. `user` is the one that was tried, if there is one of that name; or NULL. */
void audit_log_stranger(const struct session *session, const char *user);
/* Something that no client has asked for: a signal, a failure. */
void audit_log_server(struct server *server, const char *act, enum hf_error code);

#endif

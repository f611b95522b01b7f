/* SPDX-License-Identifier: Apache-2.0
 *
 * A server as the library sees it: connections, one call at a time on each. A thread takes an idle
 * one or opens another; nothing is ever sent twice.
 *
 * What an error means: ENGINE_DOWN, UNAUTHORIZED and BUSY, nothing was changed. TIMEOUT with a
 * message that starts "outcome unknown:": the command was sent and no answer came; asking again
 * with the same id tells. */
#ifndef LIBRARY_REMOTE_H
#define LIBRARY_REMOTE_H

#include "library/remote_connection.h"
#include "library/handle.h"

struct remote;

/* Connects once, to find out that the server is there and does not refuse us. */
enum hf_error remote_open(const char *url, struct remote **remote, struct problem *problem);
/* Calls on other threads must have returned. NULL is fine. */
void remote_close(struct remote *remote);

/* Runs a checked command. `use`, unless it is NULL, is called once on this thread, with the
 * server's reply or with one that says why there is none. The answer may take as long as the URL
 * says, on top of what the command itself waits. */
enum hf_error remote_run(struct remote *remote, const struct command *command, handle_use *use,
                         void *context, struct problem *problem);

/* Runs commands that do not wait in line over one connection, in one write. Those whose answer had
 * not come when something went wrong fail with the same problem. All answers together may take
 * timeout_ms; 0: as long as the URL says. */
void remote_run_all(struct remote *remote, struct handle_call *calls, size_t count,
                    int64_t timeout_ms);

/* Sends a word of the server's own, such as PING, and reads the answer. timeout_ms may be longer
 * than the URL says; 0: as long as that. */
enum hf_error remote_ask(struct remote *remote, const char *word, int64_t timeout_ms,
                         answer_reader *read, void *context, struct problem *problem);

/* ---- remote_words.c -------------------------------------------------------------------------- */

enum hf_error remote_info(struct remote *remote, struct hf_info *info, struct problem *problem);
enum hf_error remote_snapshot(struct remote *remote, struct problem *problem);
enum hf_error remote_audit(struct remote *remote, hf_audit_report *report, void *context,
                           uint64_t *findings, struct problem *problem);

#endif

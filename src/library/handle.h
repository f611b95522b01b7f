/* SPDX-License-Identifier: Apache-2.0
 *
 * What a handle of the public library is: an engine, used by one thread at a time, and the threads
 * that wait for it. */
#ifndef LIBRARY_HANDLE_H
#define LIBRARY_HANDLE_H

#include "command/reply.h"

/* Runs a checked command and fills in `reply`, waiting on this thread if the command waits. The
 * reply's code is returned, and its message kept for hf_last_message(). */
enum hf_error handle_run(hf_handle *handle, struct command *command, struct reply *reply);

/* As handle_run(), for a command that never waits: `use` sees the engine's own reply, unless it is
 * NULL. Saves the copy. */
typedef void handle_use(void *context, const struct reply *reply);
enum hf_error handle_run_now(hf_handle *handle, struct command *command, handle_use *use,
                             void *context);

/* Keeps the message for hf_last_message() and returns the code. */
enum hf_error handle_fail(const struct problem *problem);

#endif

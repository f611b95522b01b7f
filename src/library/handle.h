/* SPDX-License-Identifier: Apache-2.0
 *
 * What a handle of the public library is: an engine, used by one thread at a time, and the threads
 * that wait for it. */
#ifndef LIBRARY_HANDLE_H
#define LIBRARY_HANDLE_H

#include "command/reply.h"

/* Runs a checked command, waiting on this thread if the command waits or its answer has to get to
 * disk first. `use`, unless it is NULL, sees the engine's own reply, perhaps on another thread. The
 * reply's code is returned, and its message kept for hf_last_message(). */
typedef void handle_use(void *context, const struct reply *reply);
enum hf_error handle_run(hf_handle *handle, struct command *command, handle_use *use,
                         void *context);

/* Keeps the message for hf_last_message() and returns the code. */
enum hf_error handle_fail(const struct problem *problem);

#endif

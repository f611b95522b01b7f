/* SPDX-License-Identifier: Apache-2.0
 *
 * What a handle of the public library is: an engine, used by one thread at a time, and the threads
 * that wait for it; or a server at the other end of some connections. */
#ifndef LIBRARY_HANDLE_H
#define LIBRARY_HANDLE_H

#include "command/reply.h"

#include <pthread.h>

/* Runs a checked command, waiting on this thread if the command waits or its answer has to get to
 * disk first. `use`, unless it is NULL, sees the engine's own reply, perhaps on another thread. The
 * reply's code is returned, and its message kept for hf_last_message(). */
typedef void handle_use(void *context, const struct reply *reply);
enum hf_error handle_run(hf_handle *handle, struct command *command, handle_use *use,
                         void *context);

/* As handle_run(). A server gets no longer than this for the answer, on top of what the command
 * waits; 0: as long as its URL says. */
enum hf_error handle_run_within(hf_handle *handle, struct command *command, handle_use *use,
                                void *context, int64_t timeout_ms);

/* The handle's lease keeper, which is started when it is first asked for. NULL if it cannot be. */
struct lease_keeper *handle_leases(hf_handle *handle);

/* A thread that signals pass by: they are for those of the program. */
bool handle_start_thread(pthread_t *thread, void *(*run)(void *), void *context);

/* A condition whose waits are measured by the monotonic clock. */
void handle_init_condition(pthread_cond_t *condition);

/* Keeps the message for hf_last_message() and returns the code. */
enum hf_error handle_fail(const struct problem *problem);

#endif

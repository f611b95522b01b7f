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

/* A command in flight, alone or together with others. It may be answered by another thread. */
struct handle_call {
    struct command *command;
    handle_use *use; /* may be NULL */
    void *context;
    hf_handle *handle; /* set by handle_run_all(), as all below */
    bool done;
    struct problem problem; /* the message is set only with a code other than HF_OK */
};

/* Runs commands that do not wait in line, all at once: they go to a server in one write, and to
 * disk in one batch. Returns when each is answered or has failed. A server gets no longer than
 * timeout_ms for all the answers; 0: as long as its URL says. */
void handle_run_all(hf_handle *handle, struct handle_call *calls, size_t count, int64_t timeout_ms);

/* The handle's lease keeper, which is started when it is first asked for. NULL if it cannot be. */
struct lease_keeper *handle_leases(hf_handle *handle, struct problem *problem);

/* Is what was opened in that process_generation() the parent's, and this process a child of its?
 * Then nothing of it may be touched, and INVALID_STATE says so. */
bool handle_is_inherited(unsigned generation, struct problem *problem);

/* Lets `use` see a reply that says what went wrong. */
void handle_use_problem(const struct problem *problem, handle_use *use, void *context);

/* Keeps the message for hf_last_message() and returns the code. */
enum hf_error handle_fail(const struct problem *problem);

#endif

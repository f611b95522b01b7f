/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of our own, and the conditions they wait for. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that takes no signals: they are for the threads of the program, whose handlers
 * may not expect to run on one of ours. False if the system gives no thread. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *context);

/* A condition whose timed waits are measured by the monotonic clock. */
void thread_condition(pthread_cond_t *condition);

#endif

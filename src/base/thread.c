/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting threads without signals, and conditions on the monotonic clock. */
#include "base/thread.h"

#include <signal.h>
#include <time.h>

bool thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* The new thread inherits the mask. */
    int error = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

void thread_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread of ours takes no signal of the program's, and starting it leaves the caller's mask as it
 * was; a condition waits by the monotonic clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

static void *read_mask(void *context)
{
    pthread_sigmask(SIG_SETMASK, NULL, context);
    return NULL;
}

static void a_thread_takes_no_signals(void **state)
{
    static const int asynchronous[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE, SIGALRM, SIGCHLD};
    sigset_t mask;
    pthread_t thread;

    (void)state;
    sigemptyset(&mask);
    assert_true(thread_start(&thread, read_mask, &mask));
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (size_t i = 0; i < sizeof asynchronous / sizeof *asynchronous; i++) {
        assert_int_equal(sigismember(&mask, asynchronous[i]), 1);
    }
}

static void starting_a_thread_leaves_the_callers_mask_alone(void **state)
{
    sigset_t before, after, of_thread;
    pthread_t thread;

    (void)state;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_true(thread_start(&thread, read_mask, &of_thread));
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGUSR2), 1);
    assert_int_equal(sigismember(&after, SIGTERM), 0);
}

/* By the wall clock, which is far ahead, the wait would be over a long time ago. */
static void a_condition_waits_by_the_monotonic_clock(void **state)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    struct timespec until, now;

    (void)state;
    thread_condition(&condition);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 5000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT) {}
    pthread_mutex_unlock(&mutex);
    clock_gettime(CLOCK_MONOTONIC, &now);
    assert_true(now.tv_sec > until.tv_sec ||
                (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
    pthread_cond_destroy(&condition);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_takes_no_signals),
        cmocka_unit_test(starting_a_thread_leaves_the_callers_mask_alone),
        cmocka_unit_test(a_condition_waits_by_the_monotonic_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

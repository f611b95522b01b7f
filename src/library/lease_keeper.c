/* SPDX-License-Identifier: Apache-2.0
 *
 * The two threads that keep leases alive: the beater sends the signs of life in batches, the
 * watcher reports the leases that are lost. */
#include "base/check.h"
#include "base/random.h"
#include "base/thread.h"
#include "library/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS ((int64_t)1000000) /* in nanoseconds */
#define BEATS 5               /* signs of life in an interval */
#define RETRY_MAX_MS 1000     /* the longest pause after one that failed */
#define NEVER INT64_MAX

/* Signs of life in one batch: so many that a server 40 ms away gets 12,000 of them in a second, and
 * few enough for the answers to fit the buffers of a socket. */
#define BATCH_MAX 512
#define TIMEOUT_MIN_MS 10 /* of a batch */

/* The signs of life that are in flight. */
struct batch {
    size_t count;
    hf_lease *leases[BATCH_MAX];
    struct command commands[BATCH_MAX];
    struct lease_figure figures[BATCH_MAX];
    struct handle_call calls[BATCH_MAX];
};

struct lease_keeper {
    hf_handle *handle;
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t wake_beater, wake_watcher;
    pthread_cond_t reported;
    struct list leases; /* all that are not released */
    struct heap beats;  /* leases by when their next sign of life is due */
    struct heap ends;   /* leases that are not reported as lost, by when they will be */
    struct heap intervals;
    struct random random;
    pthread_t beater, watcher;
    bool closing;
    struct batch batch; /* the beater's own */
};

/* ---- time ------------------------------------------------------------------------------------ */

int64_t lease_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 * MS + now.tv_nsec;
}

/* Waits for a change, or until `until_ns`; a second at most, for the timers of threads do stand
 * still while the machine is suspended. */
static void wait_until(struct lease_keeper *keeper, pthread_cond_t *condition, int64_t until_ns)
{
    struct timespec until;

    if (until_ns == NEVER) {
        pthread_cond_wait(condition, &keeper->mutex);
        return;
    }
    int64_t left_ns = until_ns - lease_now_ns();
    left_ns = left_ns < 0 ? 0 : left_ns > 1000 * MS ? 1000 * MS : left_ns;
    clock_gettime(CLOCK_MONOTONIC, &until);
    left_ns += until.tv_nsec;
    until.tv_sec += (time_t)(left_ns / (1000 * MS));
    until.tv_nsec = (long)(left_ns % (1000 * MS));
    pthread_cond_timedwait(condition, &keeper->mutex, &until);
}

int64_t lease_sure_ns(int64_t ms)
{
    return (ms - 2) * MS - ms * MS / 1000;
}

/* Half to one and a half of a twentieth of the interval: soon, and not all at once. */
static int64_t retry_ns(struct lease_keeper *keeper, int64_t interval_ms)
{
    int64_t pause_ns = interval_ms * MS / 20;
    uint32_t dice;

    random_bytes(&keeper->random, &dice, sizeof dice);
    pause_ns = pause_ns < RETRY_MAX_MS * MS ? pause_ns : RETRY_MAX_MS * MS;
    return pause_ns / 2 + (int64_t)((uint64_t)pause_ns * (dice >> 16) >> 16);
}

/* ---- signs of life --------------------------------------------------------------------------- */

static void free_if_over(hf_lease *lease)
{
    if (lease->released && !lease->beating && !lease->calling) {
        free(lease);
    }
}

/* Sets when the next sign of life is due. */
static void plan_beat(hf_lease *lease, int64_t beat_at_ns)
{
    struct lease_keeper *keeper = lease->keeper;

    heap_move(&keeper->beats, &lease->beat, beat_at_ns);
    if (keeper->beats.first == &lease->beat) {
        pthread_cond_signal(&keeper->wake_beater);
    }
}

/* Sets when the lease is lost. */
static void plan_end(hf_lease *lease, int64_t end_ns)
{
    struct lease_keeper *keeper = lease->keeper;

    heap_move(&keeper->ends, &lease->end, end_ns);
    if (keeper->ends.first == &lease->end) {
        pthread_cond_signal(&keeper->wake_watcher);
    }
}

/* The engine has answered well to the sign of life that was sent at `sent_ns`. */
static void prolong(hf_lease *lease, int64_t sent_ns)
{
    atomic_store(&lease->good_until_ns, sent_ns + lease_sure_ns(lease->interval_ms));
    lease->why[0] = '\0';
    plan_beat(lease, sent_ns + lease->beat_ms * MS);
    plan_end(lease, lease_end_ns(lease));
}

/* What a sign of life that was sent at `sent_ns` came to. */
static void settle(hf_lease *lease, const struct problem *problem, bool held, int64_t sent_ns)
{
    lease->beating = false;
    if (lease->withdrawn || lease->over) {
        free_if_over(lease);
    } else if (problem->code == HF_OK && held) {
        prolong(lease, sent_ns);
    } else if (problem->code == HF_OK) {
        lease->gone = true;
        snprintf(lease->why, sizeof lease->why, "the engine says that the %s is not held",
                 lease->kind->what);
        plan_end(lease, 0);
    } else {
        snprintf(lease->why, sizeof lease->why, "%s", problem->message);
        plan_beat(lease, lease_now_ns() + retry_ns(lease->keeper, lease->interval_ms));
    }
}

/* How much of an interval a batch may take. One batch goes after the other: none may take longer
 * than the most impatient of all leases can bear. */
static int64_t batch_time_ms(const struct lease_keeper *keeper)
{
    return keeper->intervals.first != NULL ? keeper->intervals.first->due / BEATS : 0;
}

/* Takes the leases whose sign of life is due, and those that are due soon: better a few batches
 * than many single ones. */
static void take_due(struct lease_keeper *keeper, int64_t now_ns)
{
    struct batch *batch = &keeper->batch;
    int64_t until_ns = now_ns + batch_time_ms(keeper) * MS / 4;
    struct heap_node *first;

    batch->count = 0;
    while (batch->count < BATCH_MAX && (first = keeper->beats.first) != NULL &&
           first->due <= until_ns) {
        hf_lease *lease = LIST_ENTRY(first, hf_lease, beat);
        heap_remove(&keeper->beats, first);
        lease->beating = true;
        batch->leases[batch->count++] = lease;
    }
}

/* With the mutex open: no lease of the batch is freed or changed meanwhile. */
static void send_batch(hf_handle *handle, struct batch *batch, int64_t timeout_ms)
{
    for (size_t i = 0; i < batch->count; i++) {
        const hf_lease *lease = batch->leases[i];
        batch->figures[i] = (struct lease_figure){lease->kind->beat_figure, 0};
        batch->calls[i].command = &batch->commands[i];
        batch->calls[i].use = lease_take_figure;
        batch->calls[i].context = &batch->figures[i];
        enum hf_error code = lease->kind->beat(lease, &batch->commands[i], NULL);
        CHECK(code == HF_OK); /* it was got with these very arguments */
    }
    handle_run_all(handle, batch->calls, batch->count, timeout_ms);
}

static void beat(struct lease_keeper *keeper, int64_t now_ns)
{
    struct batch *batch = &keeper->batch;
    int64_t timeout_ms = batch_time_ms(keeper);

    take_due(keeper, now_ns);
    pthread_mutex_unlock(&keeper->mutex);
    send_batch(keeper->handle, batch, timeout_ms > TIMEOUT_MIN_MS ? timeout_ms : TIMEOUT_MIN_MS);
    pthread_mutex_lock(&keeper->mutex);
    for (size_t i = 0; i < batch->count; i++) {
        settle(batch->leases[i], &batch->calls[i].problem, batch->figures[i].number > 0, now_ns);
    }
}

static void *beat_all(void *context)
{
    struct lease_keeper *keeper = context;

    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->closing) {
        int64_t now_ns = lease_now_ns();
        int64_t due_ns = keeper->beats.first != NULL ? keeper->beats.first->due : NEVER;
        if (due_ns > now_ns) {
            wait_until(keeper, &keeper->wake_beater, due_ns);
        } else {
            beat(keeper, now_ns);
        }
    }
    pthread_mutex_unlock(&keeper->mutex);
    return NULL;
}

/* ---- losses ---------------------------------------------------------------------------------- */

int64_t lease_end_ns(const hf_lease *lease)
{
    int64_t good_until_ns = atomic_load(&lease->good_until_ns);
    return good_until_ns < lease->ends_ns ? good_until_ns : lease->ends_ns;
}

static void say_why(hf_lease *lease, char why[MESSAGE_SIZE])
{
    if (lease->gone) {
        snprintf(why, MESSAGE_SIZE, "%s", lease->why);
    } else if (atomic_load(&lease->good_until_ns) > lease->ends_ns) {
        snprintf(why, MESSAGE_SIZE, "its TTL of %lld ms is over", (long long)lease->ttl_ms);
    } else {
        snprintf(why, MESSAGE_SIZE, "no sign of life got through for %lld ms%s%.200s",
                 (long long)lease->interval_ms, lease->why[0] != '\0' ? ": " : "", lease->why);
    }
}

/* Nothing is due for a lease any more. */
static void drop(struct lease_keeper *keeper, hf_lease *lease)
{
    heap_remove(&keeper->beats, &lease->beat);
    heap_remove(&keeper->ends, &lease->end);
    heap_remove(&keeper->intervals, &lease->interval);
}

static void report(struct lease_keeper *keeper, hf_lease *lease)
{
    char why[MESSAGE_SIZE];

    say_why(lease, why);
    lease->over = true;
    drop(keeper, lease);
    atomic_store(&lease->held, false);
    lease->calling = true;
    pthread_mutex_unlock(&keeper->mutex);
    if (lease->lost != NULL) {
        lease->lost(lease->context, why);
    }
    pthread_mutex_lock(&keeper->mutex);
    lease->calling = false;
    free_if_over(lease);
    pthread_cond_broadcast(&keeper->reported);
}

static void *watch_all(void *context)
{
    struct lease_keeper *keeper = context;

    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->closing) {
        struct heap_node *first = keeper->ends.first;
        if (first != NULL && first->due <= lease_now_ns()) {
            report(keeper, LIST_ENTRY(first, hf_lease, end));
        } else {
            wait_until(keeper, &keeper->wake_watcher, first != NULL ? first->due : NEVER);
        }
    }
    pthread_mutex_unlock(&keeper->mutex);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void close_keeper(struct lease_keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    keeper->closing = true;
    pthread_cond_signal(&keeper->wake_beater);
    pthread_cond_signal(&keeper->wake_watcher);
    pthread_mutex_unlock(&keeper->mutex);
}

static void free_keeper(struct lease_keeper *keeper)
{
    pthread_cond_destroy(&keeper->reported);
    pthread_cond_destroy(&keeper->wake_watcher);
    pthread_cond_destroy(&keeper->wake_beater);
    pthread_mutex_destroy(&keeper->mutex);
    free(keeper);
}

struct lease_keeper *lease_keeper_start(hf_handle *handle)
{
    struct lease_keeper *keeper = calloc(1, sizeof *keeper);

    if (keeper == NULL) {
        return NULL;
    }
    keeper->handle = handle;
    list_init(&keeper->leases);
    random_init(&keeper->random);
    pthread_mutex_init(&keeper->mutex, NULL);
    thread_condition(&keeper->wake_beater);
    thread_condition(&keeper->wake_watcher);
    thread_condition(&keeper->reported);
    bool beats = thread_start(&keeper->beater, beat_all, keeper);
    if (beats && thread_start(&keeper->watcher, watch_all, keeper)) {
        return keeper;
    }
    if (beats) {
        close_keeper(keeper);
        pthread_join(keeper->beater, NULL);
    }
    free_keeper(keeper);
    return NULL;
}

void lease_keeper_stop(struct lease_keeper *keeper)
{
    if (keeper == NULL) {
        return;
    }
    close_keeper(keeper);
    pthread_join(keeper->beater, NULL);
    pthread_join(keeper->watcher, NULL);
    while (!list_empty(&keeper->leases)) {
        hf_lease *lease = LIST_ENTRY(keeper->leases.next, hf_lease, node);
        list_remove(&lease->node);
        lease->keeper = NULL;
        atomic_store(&lease->held, false);
    }
    free_keeper(keeper);
}

/* ---- leases ---------------------------------------------------------------------------------- */

void lease_keeper_add(struct lease_keeper *keeper, hf_lease *lease, int64_t sent_ns)
{
    pthread_mutex_lock(&keeper->mutex);
    list_add_last(&keeper->leases, &lease->node);
    heap_add(&keeper->intervals, &lease->interval, lease->interval_ms);
    lease->beat_ms = lease->interval_ms / BEATS;
    atomic_store(&lease->held, true);
    prolong(lease, sent_ns);
    pthread_mutex_unlock(&keeper->mutex);
}

void lease_beat_every(hf_lease *lease, int64_t ms)
{
    struct lease_keeper *keeper = lease->keeper;

    pthread_mutex_lock(&keeper->mutex);
    if (ms < lease->beat_ms) {
        lease->beat_ms = ms;
        if (!lease->beating && !lease->over) {
            plan_beat(lease, lease_now_ns() + ms * MS);
        }
    }
    pthread_mutex_unlock(&keeper->mutex);
}

bool lease_keeper_withdraw(struct lease_keeper *keeper, hf_lease *lease)
{
    pthread_mutex_lock(&keeper->mutex);
    while (lease->calling && !pthread_equal(pthread_self(), keeper->watcher)) {
        pthread_cond_wait(&keeper->reported, &keeper->mutex);
    }
    list_remove(&lease->node);
    drop(keeper, lease);
    lease->withdrawn = true;
    atomic_store(&lease->held, false);
    bool gone = lease->gone;
    pthread_mutex_unlock(&keeper->mutex);
    return !gone;
}

void lease_keeper_free(struct lease_keeper *keeper, hf_lease *lease)
{
    pthread_mutex_lock(&keeper->mutex);
    lease->released = true;
    free_if_over(lease);
    pthread_mutex_unlock(&keeper->mutex);
}

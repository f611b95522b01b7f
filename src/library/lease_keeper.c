/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"
#include "library/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS ((int64_t)1000000) /* in nanoseconds */
#define BEATS 5               /* signs of life in an interval */
#define RETRY_MAX_MS 1000     /* the longest pause after one that failed */
#define NEVER INT64_MAX

struct lease_keeper {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct list leases; /* all that are not released */
    struct random random;
    pthread_t beater, watcher;
    bool closing;
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
static void wait_until(struct lease_keeper *keeper, int64_t until_ns)
{
    struct timespec until;

    if (until_ns == NEVER) {
        pthread_cond_wait(&keeper->changed, &keeper->mutex);
        return;
    }
    int64_t left_ns = until_ns - lease_now_ns();
    left_ns = left_ns < 0 ? 0 : left_ns > 1000 * MS ? 1000 * MS : left_ns;
    clock_gettime(CLOCK_MONOTONIC, &until);
    left_ns += until.tv_nsec;
    until.tv_sec += (time_t)(left_ns / (1000 * MS));
    until.tv_nsec = (long)(left_ns % (1000 * MS));
    pthread_cond_timedwait(&keeper->changed, &keeper->mutex, &until);
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

/* What a sign of life that was sent at `sent_ns` came to. */
static void settle(hf_lease *lease, enum hf_error code, bool held, int64_t sent_ns)
{
    if (code == HF_OK && held) {
        atomic_store(&lease->good_until_ns, sent_ns + lease_sure_ns(lease->interval_ms));
        lease->beat_at_ns = sent_ns + lease->interval_ms * MS / BEATS;
        lease->why[0] = '\0';
    } else if (code == HF_OK) {
        lease->gone = true;
        snprintf(lease->why, sizeof lease->why, "the engine says that the %s is not held",
                 lease->kind->what);
    } else {
        snprintf(lease->why, sizeof lease->why, "%s", hf_last_message());
        lease->beat_at_ns = lease_now_ns() + retry_ns(lease->keeper, lease->interval_ms);
    }
}

static hf_lease *next_to_beat(struct lease_keeper *keeper)
{
    hf_lease *next = NULL;

    for (struct list *node = keeper->leases.next; node != &keeper->leases; node = node->next) {
        hf_lease *lease = LIST_ENTRY(node, hf_lease, node);
        if (!lease->over && !lease->gone &&
            (next == NULL || lease->beat_at_ns < next->beat_at_ns)) {
            next = lease;
        }
    }
    return next;
}

/* With the mutex open: a new sign of life may be lost a few times before the last one is over. */
/* One beat after the other: none may take longer than the most impatient lease can bear. */
static int64_t beat_timeout_ms(const struct lease_keeper *keeper)
{
    int64_t shortest_ms = INT64_MAX;

    for (struct list *node = keeper->leases.next; node != &keeper->leases; node = node->next) {
        hf_lease *lease = LIST_ENTRY(node, hf_lease, node);
        shortest_ms = lease->interval_ms < shortest_ms ? lease->interval_ms : shortest_ms;
    }
    return shortest_ms / BEATS;
}

static void beat(struct lease_keeper *keeper, hf_lease *lease)
{
    int64_t sent_ns = lease_now_ns();
    int64_t timeout_ms = beat_timeout_ms(keeper);
    bool held = false;

    lease->beating = true;
    pthread_mutex_unlock(&keeper->mutex);
    enum hf_error code = lease->kind->beat(lease, timeout_ms > 10 ? timeout_ms : 10, &held);
    pthread_mutex_lock(&keeper->mutex);
    lease->beating = false;
    settle(lease, code, held, sent_ns);
    free_if_over(lease);
    pthread_cond_broadcast(&keeper->changed);
}

static void *beat_all(void *context)
{
    struct lease_keeper *keeper = context;

    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->closing) {
        hf_lease *lease = next_to_beat(keeper);
        if (lease == NULL || lease->beat_at_ns > lease_now_ns()) {
            wait_until(keeper, lease ? lease->beat_at_ns : NEVER);
        } else {
            beat(keeper, lease);
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

static void report(struct lease_keeper *keeper, hf_lease *lease)
{
    char why[MESSAGE_SIZE];

    say_why(lease, why);
    lease->over = true;
    atomic_store(&lease->held, false);
    lease->calling = true;
    pthread_mutex_unlock(&keeper->mutex);
    if (lease->lost != NULL) {
        lease->lost(lease->context, why);
    }
    pthread_mutex_lock(&keeper->mutex);
    lease->calling = false;
    free_if_over(lease);
    pthread_cond_broadcast(&keeper->changed);
}

/* One that is lost and not reported yet, or NULL and when to look again. */
static hf_lease *next_lost(struct lease_keeper *keeper, int64_t *look_ns)
{
    int64_t now = lease_now_ns();

    *look_ns = NEVER;
    for (struct list *node = keeper->leases.next; node != &keeper->leases; node = node->next) {
        hf_lease *lease = LIST_ENTRY(node, hf_lease, node);
        int64_t end_ns = lease_end_ns(lease);
        if (lease->over) {
            continue;
        }
        if (lease->gone || now >= end_ns) {
            return lease;
        }
        *look_ns = end_ns < *look_ns ? end_ns : *look_ns;
    }
    return NULL;
}

static void *watch_all(void *context)
{
    struct lease_keeper *keeper = context;
    int64_t look_ns;

    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->closing) {
        hf_lease *lease = next_lost(keeper, &look_ns);
        if (lease != NULL) {
            report(keeper, lease);
        } else {
            wait_until(keeper, look_ns);
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
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
}

static void free_keeper(struct lease_keeper *keeper)
{
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->mutex);
    free(keeper);
}

struct lease_keeper *lease_keeper_start(void)
{
    struct lease_keeper *keeper = calloc(1, sizeof *keeper);

    if (keeper == NULL) {
        return NULL;
    }
    list_init(&keeper->leases);
    random_init(&keeper->random);
    pthread_mutex_init(&keeper->mutex, NULL);
    handle_init_condition(&keeper->changed);
    bool beats = handle_start_thread(&keeper->beater, beat_all, keeper);
    if (beats && handle_start_thread(&keeper->watcher, watch_all, keeper)) {
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
    settle(lease, HF_OK, true, sent_ns);
    atomic_store(&lease->held, true);
    list_add_last(&keeper->leases, &lease->node);
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
}

bool lease_keeper_withdraw(struct lease_keeper *keeper, hf_lease *lease)
{
    pthread_mutex_lock(&keeper->mutex);
    while (lease->calling && !pthread_equal(pthread_self(), keeper->watcher)) {
        pthread_cond_wait(&keeper->changed, &keeper->mutex);
    }
    list_remove(&lease->node);
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

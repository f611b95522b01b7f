/* SPDX-License-Identifier: Apache-2.0 */
#include "library/lease.h"

#include "base/list.h"
#include "base/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS ((int64_t)1000000) /* in nanoseconds */
#define BEATS 5               /* signs of life in an interval */
#define RETRY_MAX_MS 1000     /* the longest pause after one that failed */
#define NEVER INT64_MAX

/* How a slot and a lock are kept and let go. */
struct lease_kind {
    const char *what;
    /* Says that the holder is alive; *held is what the engine has to say to it. */
    enum hf_error (*beat)(const hf_lease *lease, int64_t timeout_ms, bool *held);
    enum hf_error (*let_go)(const hf_lease *lease, bool *held);
};

struct hf_lease {
    const struct lease_kind *kind;
    hf_handle *handle;
    char scope[HF_ID_SIZE], id[HF_ID_SIZE];
    int64_t interval_ms; /* how long a sign of life lasts */
    int64_t ttl_ms;      /* of a slot */
    int64_t fence;
    int64_t ends_ns; /* a slot's TTL, however alive its holder */
    hf_lease_lost *lost;
    void *context;

    atomic_bool held;
    _Atomic int64_t good_until_ns; /* unless there is another sign of life */

    /* All below is guarded by the keeper's mutex. */
    struct lease_keeper *keeper; /* NULL once its handle is closed */
    struct list node;
    int64_t beat_at_ns;
    bool beating;  /* on its way to the engine, with the mutex open */
    bool calling;  /* its loss is being reported, with the mutex open */
    bool gone;     /* the engine says so */
    bool over;     /* lost, and reported */
    bool released; /* whoever is last to look at it frees it */
    char why[MESSAGE_SIZE];
};

struct lease_keeper {
    hf_handle *handle;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct list leases; /* all that are not released */
    struct random random;
    pthread_t beater, watcher;
    bool closing;
};

/* ---- time ------------------------------------------------------------------------------------ */

/* The clock goes on while the machine is suspended, as the server's does. */
static int64_t now_ns(void)
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
    int64_t left_ns = until_ns - now_ns();
    left_ns = left_ns < 0 ? 0 : left_ns > 1000 * MS ? 1000 * MS : left_ns;
    clock_gettime(CLOCK_MONOTONIC, &until);
    left_ns += until.tv_nsec;
    until.tv_sec += (time_t)(left_ns / (1000 * MS));
    until.tv_nsec = (long)(left_ns % (1000 * MS));
    pthread_cond_timedwait(&keeper->changed, &keeper->mutex, &until);
}

/* So much of a duration can be counted on: the engine counts in whole milliseconds, and two clocks
 * never go alike. */
static int64_t sure_ns(int64_t ms)
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

/* ---- what is said to the engine -------------------------------------------------------------- */

struct figure {
    size_t which;
    int64_t number;
};

static void take_figure(void *context, const struct reply *reply)
{
    struct figure *figure = context;

    if (reply->code == HF_OK && figure->which < reply->count) {
        figure->number = reply->values[figure->which].number;
    }
}

/* Runs a command whose figure `which` says whether the holder was one. */
static enum hf_error run(const hf_lease *lease, enum command_id id, const void *args, size_t which,
                         int64_t timeout_ms, bool *held)
{
    struct figure figure = {which, 0};
    struct command command;
    struct problem problem;

    if (command_from_struct(&command, &command_table[id], args, &problem) != HF_OK) {
        return handle_fail(&problem);
    }
    enum hf_error code =
        handle_run_within(lease->handle, &command, take_figure, &figure, timeout_ms);
    *held = figure.number > 0;
    return code;
}

static enum hf_error beat_slot(const hf_lease *lease, int64_t timeout_ms, bool *held)
{
    struct hf_sem_ping_args args = {.name = hf_text(lease->scope),
                                    .id = hf_text(lease->id),
                                    .heartbeat_ms = lease->interval_ms,
                                    .ttl_ms = lease->ttl_ms};
    return run(lease, SEM_PING, &args, 1, timeout_ms, held);
}

static enum hf_error release_slot(const hf_lease *lease, bool *held)
{
    struct hf_sem_release_args args = {.name = hf_text(lease->scope), .id = hf_text(lease->id)};
    return run(lease, SEM_RELEASE, &args, 0, 0, held);
}

static enum hf_error beat_lock(const hf_lease *lease, int64_t timeout_ms, bool *held)
{
    struct hf_lock_extend_args args = {.resource = hf_text(lease->scope),
                                       .lock_id = hf_text(lease->id),
                                       .ttl_ms = lease->interval_ms};
    return run(lease, LOCK_EXTEND, &args, 0, timeout_ms, held);
}

static enum hf_error release_lock(const hf_lease *lease, bool *held)
{
    struct hf_lock_unlock_args args = {.resource = hf_text(lease->scope),
                                       .lock_id = hf_text(lease->id)};
    return run(lease, LOCK_UNLOCK, &args, 0, 0, held);
}

static const struct lease_kind slot_kind = {"slot", beat_slot, release_slot};
static const struct lease_kind lock_kind = {"lock", beat_lock, release_lock};

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
        atomic_store(&lease->good_until_ns, sent_ns + sure_ns(lease->interval_ms));
        lease->beat_at_ns = sent_ns + lease->interval_ms * MS / BEATS;
        lease->why[0] = '\0';
    } else if (code == HF_OK) {
        lease->gone = true;
        snprintf(lease->why, sizeof lease->why, "the engine says that the %s is not held",
                 lease->kind->what);
    } else {
        snprintf(lease->why, sizeof lease->why, "%s", hf_last_message());
        lease->beat_at_ns = now_ns() + retry_ns(lease->keeper, lease->interval_ms);
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
static void beat(struct lease_keeper *keeper, hf_lease *lease)
{
    int64_t sent_ns = now_ns();
    bool held = false;

    lease->beating = true;
    pthread_mutex_unlock(&keeper->mutex);
    int64_t timeout_ms = lease->interval_ms / BEATS;
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
        if (lease == NULL || lease->beat_at_ns > now_ns()) {
            wait_until(keeper, lease ? lease->beat_at_ns : NEVER);
        } else {
            beat(keeper, lease);
        }
    }
    pthread_mutex_unlock(&keeper->mutex);
    return NULL;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static int64_t end_of(const hf_lease *lease)
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
    int64_t now = now_ns();

    *look_ns = NEVER;
    for (struct list *node = keeper->leases.next; node != &keeper->leases; node = node->next) {
        hf_lease *lease = LIST_ENTRY(node, hf_lease, node);
        int64_t end_ns = end_of(lease);
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

static hf_lease *new_lease(hf_handle *handle, const struct lease_kind *kind, hf_lease_lost *lost,
                           void *context)
{
    struct problem problem = {.code = HF_BUSY, .message = "out of memory or threads for a lease"};
    struct lease_keeper *keeper = handle_leases(handle);
    hf_lease *lease = keeper != NULL ? calloc(1, sizeof *lease) : NULL;

    if (lease == NULL) {
        handle_fail(&problem);
        return NULL;
    }
    lease->keeper = keeper;
    lease->handle = handle;
    lease->kind = kind;
    lease->lost = lost;
    lease->context = context;
    lease->ends_ns = NEVER;
    return lease;
}

/* The engine has granted it. When it did so is not known, so that the first sign of life is sent
 * before anybody is told that it is held. */
static enum hf_error begin(hf_lease *lease, hf_lease **out)
{
    struct lease_keeper *keeper = lease->keeper;
    struct problem problem = {.code = HF_TIMEOUT, .message = "granted, but lost again at once"};
    int64_t sent_ns = now_ns();
    bool held = false;
    enum hf_error code = lease->kind->beat(lease, 0, &held);

    if (code != HF_OK || !held) {
        if (code != HF_OK) {
            problem.code = code;
            snprintf(problem.message, sizeof problem.message, "%s", hf_last_message());
            lease->kind->let_go(lease, &held); /* as good as can be; if not, it lapses by itself */
        }
        free(lease);
        return handle_fail(&problem);
    }
    pthread_mutex_lock(&keeper->mutex);
    settle(lease, code, held, sent_ns);
    atomic_store(&lease->held, true);
    list_add_last(&keeper->leases, &lease->node);
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
    *out = lease;
    return HF_OK;
}

static void keep_id(char out[HF_ID_SIZE], struct hf_bytes id)
{
    memcpy(out, id.data, id.size);
    out[id.size] = '\0';
}

enum hf_error hf_lease_slot(hf_handle *handle, const struct hf_sem_acquire_args *args,
                            hf_lease_lost *lost, void *context, hf_lease **lease,
                            struct hf_sem_acquire_reply *reply)
{
    struct hf_sem_acquire_reply got;
    hf_lease *made = new_lease(handle, &slot_kind, lost, context);

    *lease = NULL;
    if (made == NULL) {
        return HF_BUSY;
    }
    int64_t sent_ns = now_ns();
    enum hf_error code = hf_sem_acquire(handle, args, &got);
    if (code != HF_OK) {
        free(made);
        return code;
    }
    keep_id(made->scope, args->name);
    keep_id(made->id, args->id);
    made->interval_ms = args->heartbeat_ms ? args->heartbeat_ms : SEM_HEARTBEAT_DEFAULT_MS;
    made->ttl_ms = args->ttl_ms ? args->ttl_ms : SEM_TTL_DEFAULT_MS;
    made->fence = got.fence;
    /* Without a wait it was granted after it was sent; with one, just before the answer came. */
    made->ends_ns = (args->wait_ms == 0 ? sent_ns : now_ns()) + sure_ns(made->ttl_ms);
    code = begin(made, lease);
    if (code == HF_OK && reply != NULL) {
        *reply = got;
    }
    return code;
}

enum hf_error hf_lease_lock(hf_handle *handle, const struct hf_lock_try_args *args,
                            hf_lease_lost *lost, void *context, hf_lease **lease,
                            struct hf_lock_try_reply *reply)
{
    struct hf_lock_try_reply got;
    hf_lease *made = new_lease(handle, &lock_kind, lost, context);

    *lease = NULL;
    if (made == NULL) {
        return HF_BUSY;
    }
    enum hf_error code = hf_lock_try(handle, args, &got);
    if (code != HF_OK) {
        free(made);
        return code;
    }
    keep_id(made->scope, args->resource);
    memcpy(made->id, got.lock_id, sizeof made->id);
    made->interval_ms = made->ttl_ms = args->ttl_ms;
    made->fence = got.fence;
    code = begin(made, lease);
    if (code == HF_OK && reply != NULL) {
        *reply = got;
    }
    return code;
}

bool hf_lease_held(const hf_lease *lease)
{
    return atomic_load(&lease->held) && now_ns() < end_of(lease);
}

int64_t hf_lease_fence(const hf_lease *lease)
{
    return lease->fence;
}

/* No sign of life begins from now on, and no report is under way, unless it is the report that
 * releases. Is there anything to give back? */
static bool withdraw(struct lease_keeper *keeper, hf_lease *lease)
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

enum hf_error hf_lease_release(hf_lease *lease)
{
    struct problem lost = {.code = HF_NOT_FOUND, .message = "the hold was lost before"};
    enum hf_error code = HF_OK;
    bool held = false;

    if (lease == NULL) {
        return HF_OK;
    }
    struct lease_keeper *keeper = lease->keeper;
    if (keeper == NULL) {
        free(lease);
        return handle_fail(&lost);
    }
    if (withdraw(keeper, lease)) {
        code = lease->kind->let_go(lease, &held);
    }
    pthread_mutex_lock(&keeper->mutex);
    lease->released = true;
    free_if_over(lease);
    pthread_mutex_unlock(&keeper->mutex);
    return code != HF_OK || held ? code : handle_fail(&lost);
}

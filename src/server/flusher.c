/* SPDX-License-Identifier: Apache-2.0
 *
 * One batch at a time, handed over under a mutex. */
#include "server/flusher.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <time.h>

static void *flush_batches(void *context)
{
    struct flusher *flusher = context;

    pthread_mutex_lock(&flusher->mutex);
    while (!flusher->ending || flusher->engine != NULL) {
        struct engine *engine = flusher->engine;
        if (engine == NULL) {
            pthread_cond_wait(&flusher->changed, &flusher->mutex);
            continue;
        }
        pthread_mutex_unlock(&flusher->mutex);
        uint64_t started_ns = clock_nanoseconds();
        engine_flush_work(engine);
        uint64_t took_ns = clock_nanoseconds() - started_ns;
        pthread_mutex_lock(&flusher->mutex);
        flusher->last_ns = took_ns;
        flusher->engine = NULL;
        if (flusher->awaited) {
            pthread_cond_signal(&flusher->changed);
        } else {
            flusher->wake(flusher->wake_context);
        }
    }
    pthread_mutex_unlock(&flusher->mutex);
    return NULL;
}

void flusher_start(struct flusher *flusher, void (*wake)(void *context), void *context)
{
    *flusher = (struct flusher){.wake = wake, .wake_context = context};
    pthread_mutex_init(&flusher->mutex, NULL);
    thread_condition(&flusher->changed);
    flusher->threaded = thread_start(&flusher->thread, flush_batches, flusher);
    if (!flusher->threaded) {
        pthread_cond_destroy(&flusher->changed);
        pthread_mutex_destroy(&flusher->mutex);
    }
}

void flusher_stop(struct flusher *flusher)
{
    if (!flusher->threaded) {
        return;
    }
    pthread_mutex_lock(&flusher->mutex);
    flusher->ending = true;
    pthread_cond_signal(&flusher->changed);
    pthread_mutex_unlock(&flusher->mutex);
    pthread_join(flusher->thread, NULL);
    pthread_cond_destroy(&flusher->changed);
    pthread_mutex_destroy(&flusher->mutex);
    flusher->threaded = false;
}

void flusher_begin(struct flusher *flusher, struct engine *engine)
{
    if (!flusher->threaded) {
        engine_flush_work(engine);
        return;
    }
    pthread_mutex_lock(&flusher->mutex);
    CHECK(flusher->engine == NULL);
    flusher->engine = engine;
    pthread_cond_signal(&flusher->changed);
    pthread_mutex_unlock(&flusher->mutex);
}

bool flusher_wait(struct flusher *flusher, int64_t us)
{
    struct timespec until;
    int error = 0;

    if (!flusher->threaded) {
        return true;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + (us > 0 ? us : 0) * 1000;
    until.tv_sec += (time_t)(nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    pthread_mutex_lock(&flusher->mutex);
    flusher->awaited = true;
    while (flusher->engine != NULL && error != ETIMEDOUT && us != 0) {
        error = us < 0 ? pthread_cond_wait(&flusher->changed, &flusher->mutex)
                       : pthread_cond_timedwait(&flusher->changed, &flusher->mutex, &until);
    }
    flusher->awaited = false;
    bool done = flusher->engine == NULL;
    pthread_mutex_unlock(&flusher->mutex);
    return done;
}

uint64_t flusher_last_ns(struct flusher *flusher)
{
    if (!flusher->threaded) {
        return 0;
    }
    pthread_mutex_lock(&flusher->mutex);
    uint64_t last_ns = flusher->last_ns;
    pthread_mutex_unlock(&flusher->mutex);
    return last_ns;
}

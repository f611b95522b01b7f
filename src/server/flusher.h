/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that waits for the disk, so that the loop need not: it writes and syncs one batch at a
 * time. Without a thread (none was started, or none is to be had) the caller does it itself. */
#ifndef SERVER_FLUSHER_H
#define SERVER_FLUSHER_H

#include "engine/engine.h"

#include <pthread.h>

struct flusher {
    void (*wake)(void *context); /* called by the thread when a batch is done that nobody awaits */
    void *wake_context;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Guarded by the mutex. */
    struct engine *engine; /* whose batch is to be flushed, NULL: none is */
    bool awaited;          /* flusher_wait() is looking at it */
    uint64_t last_ns;      /* how long the last batch took */
    bool ending;
};

/* Starts the thread. */
void flusher_start(struct flusher *flusher, void (*wake)(void *context), void *context);
/* Lets the batch in flight finish, and ends the thread. */
void flusher_stop(struct flusher *flusher);

/* Flushes what engine_flush_begin() has begun. */
void flusher_begin(struct flusher *flusher, struct engine *engine);

/* Is it done? Waits for at most so many microseconds, -1: until it is. If it is not done then,
 * wake() is called when it is. */
bool flusher_wait(struct flusher *flusher, int64_t us);

/* How long the last batch took that is done; 0 before the first, and without a thread. */
uint64_t flusher_last_ns(struct flusher *flusher);

#endif

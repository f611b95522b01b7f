/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that goes over numbered items behind the one that makes them: while the maker prepares
 * the next ones, the follower carries out what was offered, in order. Where there is no thread to
 * be had the maker carries them out itself, so that using a follower never fails. */
#ifndef BASE_FOLLOWER_H
#define BASE_FOLLOWER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Carries out the items from `from` to before `to`. */
typedef void follower_run(void *context, uint64_t from, uint64_t to);

struct follower {
    follower_run *run;
    void *context;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t offered, done; /* items so far; guarded by the mutex */
    bool ending;            /* guarded by the mutex */
};

/* `alone`: without a thread, whatever the system has. */
void follower_begin(struct follower *follower, bool alone, follower_run *run, void *context);

/* All items before `count` are made. What the maker wrote before is seen by the follower. It is
 * worth offering many at a time. */
void follower_offer(struct follower *follower, uint64_t count);

/* Returns when all items before `count`, which were offered, are carried out. What the follower
 * wrote is seen by the maker. */
void follower_wait(struct follower *follower, uint64_t count);

/* Carries out all that was offered, and ends the thread. */
void follower_end(struct follower *follower);

#endif

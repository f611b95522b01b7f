/* SPDX-License-Identifier: Apache-2.0
 *
 * Two counters under a mutex, and the thread between them. */
#include "base/follower.h"

#include "base/check.h"
#include "base/thread.h"

/* So many items are carried out before the maker learns of it. */
#define STEP 512

static void *follow(void *context)
{
    struct follower *follower = context;

    pthread_mutex_lock(&follower->mutex);
    while (!follower->ending || follower->done < follower->offered) {
        uint64_t from = follower->done, to = follower->offered;
        if (from == to) {
            pthread_cond_wait(&follower->changed, &follower->mutex);
            continue;
        }
        to = to - from < STEP ? to : from + STEP;
        pthread_mutex_unlock(&follower->mutex);
        follower->run(follower->context, from, to);
        pthread_mutex_lock(&follower->mutex);
        follower->done = to;
        pthread_cond_signal(&follower->changed);
    }
    pthread_mutex_unlock(&follower->mutex);
    return NULL;
}

void follower_begin(struct follower *follower, bool alone, follower_run *run, void *context)
{
    *follower = (struct follower){.run = run, .context = context};
    if (alone) {
        return;
    }
    pthread_mutex_init(&follower->mutex, NULL);
    thread_condition(&follower->changed);
    follower->threaded = thread_start(&follower->thread, follow, follower);
    if (!follower->threaded) {
        pthread_cond_destroy(&follower->changed);
        pthread_mutex_destroy(&follower->mutex);
    }
}

void follower_offer(struct follower *follower, uint64_t count)
{
    if (!follower->threaded) {
        uint64_t from = follower->done;
        follower->offered = follower->done = count;
        if (count > from) {
            follower->run(follower->context, from, count);
        }
        return;
    }
    pthread_mutex_lock(&follower->mutex);
    CHECK(count >= follower->offered);
    follower->offered = count;
    pthread_cond_signal(&follower->changed);
    pthread_mutex_unlock(&follower->mutex);
}

void follower_wait(struct follower *follower, uint64_t count)
{
    if (!follower->threaded) {
        return;
    }
    pthread_mutex_lock(&follower->mutex);
    CHECK(count <= follower->offered);
    while (follower->done < count) {
        pthread_cond_wait(&follower->changed, &follower->mutex);
    }
    pthread_mutex_unlock(&follower->mutex);
}

void follower_end(struct follower *follower)
{
    if (!follower->threaded) {
        return;
    }
    pthread_mutex_lock(&follower->mutex);
    follower->ending = true;
    pthread_cond_signal(&follower->changed);
    pthread_mutex_unlock(&follower->mutex);
    pthread_join(follower->thread, NULL);
    pthread_cond_destroy(&follower->changed);
    pthread_mutex_destroy(&follower->mutex);
}

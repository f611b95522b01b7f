/* SPDX-License-Identifier: Apache-2.0
 *
 * A round of work is an array of items, taken from its end by whoever is free: `left` says how many
 * nobody has taken. Taking one is a compare-and-swap, which also shows the array to the taker; the
 * caller begins no other round before the last of this one is done. Threads with nothing to do look
 * for more for a moment, since one round is often followed by the next, and then sleep. */
#include "base/crew.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LOOK_NS 20000 /* for more work, before a thread sleeps */
#define LOOKS 64      /* between two looks at the clock */
#define CACHE_LINE 64

struct crew {
    void (*work)(void *item);
    void **items;
    _Alignas(CACHE_LINE) atomic_size_t left; /* items that nobody has taken yet */
    _Alignas(CACHE_LINE) atomic_size_t done;

    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    pthread_cond_t more;
    atomic_uint asleep; /* threads; changed under the lock */
    atomic_bool stops;

    unsigned count;
    pthread_t threads[];
};

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Takes an item and works on it; false if none is left. */
static bool work_one(struct crew *crew)
{
    size_t left = atomic_load_explicit(&crew->left, memory_order_acquire);

    while (left > 0) {
        if (atomic_compare_exchange_weak(&crew->left, &left, left - 1)) {
            crew->work(crew->items[left - 1]);
            atomic_fetch_add_explicit(&crew->done, 1, memory_order_release);
            return true;
        }
    }
    return false;
}

/* True as soon as there is work, false if there is none for a while. */
static bool look_for_more(struct crew *crew)
{
    uint64_t ends = clock_nanoseconds() + LOOK_NS;

    do {
        for (unsigned i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&crew->left, memory_order_relaxed) > 0) {
                return true;
            }
            pause_a_little();
        }
    } while (clock_nanoseconds() < ends);
    return false;
}

static void sleep_until_more(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    atomic_fetch_add(&crew->asleep, 1);
    while (atomic_load(&crew->left) == 0 && !atomic_load(&crew->stops)) {
        pthread_cond_wait(&crew->more, &crew->lock);
    }
    atomic_fetch_sub(&crew->asleep, 1);
    pthread_mutex_unlock(&crew->lock);
}

static void *run(void *context)
{
    struct crew *crew = context;

    while (!atomic_load(&crew->stops)) {
        while (work_one(crew)) {}
        if (!look_for_more(crew)) {
            sleep_until_more(crew);
        }
    }
    return NULL;
}

static void wake(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    pthread_cond_broadcast(&crew->more);
    pthread_mutex_unlock(&crew->lock);
}

struct crew *crew_start(unsigned threads)
{
    size_t size = sizeof(struct crew) + threads * sizeof(pthread_t);
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    struct crew *crew = aligned_alloc(CACHE_LINE, size);

    if (crew == NULL) {
        return NULL;
    }
    atomic_init(&crew->left, 0);
    atomic_init(&crew->done, 0);
    atomic_init(&crew->asleep, 0);
    atomic_init(&crew->stops, false);
    pthread_mutex_init(&crew->lock, NULL);
    thread_condition(&crew->more);
    crew->count = 0;
    while (crew->count < threads && thread_start(&crew->threads[crew->count], run, crew)) {
        crew->count++;
    }
    if (crew->count == 0) {
        crew_stop(crew);
        return NULL;
    }
    return crew;
}

void crew_stop(struct crew *crew)
{
    if (crew == NULL) {
        return;
    }
    atomic_store(&crew->stops, true);
    wake(crew);
    for (unsigned i = 0; i < crew->count; i++) {
        CHECK(pthread_join(crew->threads[i], NULL) == 0);
    }
    pthread_cond_destroy(&crew->more);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

unsigned crew_size(const struct crew *crew)
{
    return crew->count + 1;
}

void crew_run(struct crew *crew, void (*work)(void *item), void **items, size_t count)
{
    crew->work = work;
    crew->items = items;
    atomic_store_explicit(&crew->done, 0, memory_order_relaxed);
    atomic_store(&crew->left, count);
    if (atomic_load(&crew->asleep) > 0) {
        wake(crew);
    }
    while (work_one(crew)) {}
    for (unsigned looks = 1; atomic_load_explicit(&crew->done, memory_order_acquire) < count;
         looks++) {
        if (looks % LOOKS == 0) {
            sched_yield(); /* who has the last item may not have a processor */
        } else {
            pause_a_little();
        }
    }
}

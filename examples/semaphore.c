/* SPDX-License-Identifier: Apache-2.0
 *
 * Two slots, five workers on threads of their own. They are let in strictly in the order in which
 * they came, and each grant carries a fence: a number larger than that of every grant before. What
 * the slots protect remembers the largest fence it has seen and turns away whoever comes with a
 * smaller one, a holder that was taken for dead and is not.
 *
 *     cc semaphore.c $(pkg-config --cflags --libs holdfast) -pthread -o semaphore && ./semaphore */
#include <holdfast.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SLOTS 2
#define WORKERS 5
#define PATIENCE_MS 60000

static hf_handle *hf;
static atomic_int inside;
static atomic_bool crowded; /* more were inside at once than there are slots */

struct worker {
    pthread_t thread;
    char id[16];
    int64_t fence;
};

static void must(enum hf_error code, const char *what)
{
    if (code != HF_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, hf_error_name(code), hf_last_message());
        exit(1);
    }
}

static int64_t acquire(const char *id)
{
    struct hf_sem_acquire_args ask = {
        .name = HF_TEXT("printers"), .id = hf_text(id), .limit = SLOTS, .wait_ms = PATIENCE_MS};
    struct hf_sem_acquire_reply got;

    must(hf_sem_acquire(hf, &ask, &got), id);
    return got.fence;
}

static void release(const char *id)
{
    struct hf_sem_release_args done = {.name = HF_TEXT("printers"), .id = hf_text(id)};
    struct hf_sem_release_reply left;

    must(hf_sem_release(hf, &done, &left), id);
    if (left.released != 1) {
        fprintf(stderr, "%s: the slot was lost\n", id);
        exit(1);
    }
}

static void *work(void *context)
{
    struct worker *worker = context;

    worker->fence = acquire(worker->id); /* waits in line */
    if (atomic_fetch_add(&inside, 1) >= SLOTS) {
        atomic_store(&crowded, true);
    }
    atomic_fetch_sub(&inside, 1);
    release(worker->id); /* the next in line has the slot by the time this returns */
    return NULL;
}

/* Returns once so many stand in line. */
static void wait_for_line(int64_t count)
{
    struct hf_sem_stats_args which = {.name = HF_TEXT("printers")};
    struct timespec pause = {.tv_nsec = 1000 * 1000};
    struct hf_sem_stats_reply stats;

    for (;;) {
        must(hf_sem_stats(hf, &which, &stats), "stats");
        if (stats.waiting == count) {
            return;
        }
        nanosleep(&pause, NULL);
    }
}

/* What the slots protect. */
static bool write_with(int64_t fence)
{
    static int64_t largest;

    if (fence < largest) {
        return false;
    }
    largest = fence;
    return true;
}

int main(void)
{
    struct worker workers[WORKERS] = {{.fence = 0}};
    struct hf_sem_card_args which = {.name = HF_TEXT("printers")};
    struct hf_sem_card_reply card;
    bool in_order = true;

    must(hf_open("embedded:", &hf), "open");
    int64_t first = acquire("first");
    int64_t last = acquire("second");
    printf("both slots are taken, with fences %lld and %lld\n", (long long)first, (long long)last);

    for (int i = 0; i < WORKERS; i++) {
        snprintf(workers[i].id, sizeof workers[i].id, "worker-%d", i + 1);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            return fprintf(stderr, "no more threads\n"), 1;
        }
        wait_for_line(i + 1);
    }
    printf("%d workers stand in line\n", WORKERS);
    release("first");
    release("second");

    for (int i = 0; i < WORKERS; i++) {
        if (pthread_join(workers[i].thread, NULL) != 0) {
            return fprintf(stderr, "cannot join %s\n", workers[i].id), 1;
        }
        printf("%s was let in with fence %lld\n", workers[i].id, (long long)workers[i].fence);
        in_order = in_order && workers[i].fence > last && write_with(workers[i].fence);
        last = workers[i].fence;
    }
    bool stale = write_with(first);
    printf("a late write with fence %lld is %s\n", (long long)first,
           stale ? "TAKEN" : "turned away");

    must(hf_sem_card(hf, &which, &card), "card");
    printf("slots still in use: %lld\n", (long long)card.in_use);
    hf_close(hf);
    return in_order && !stale && card.in_use == 0 && !atomic_load(&crowded) ? 0 : 1;
}

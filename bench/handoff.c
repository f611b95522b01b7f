/* SPDX-License-Identifier: Apache-2.0
 *
 * What it would cost to have requests read and answers written on other threads than the one that
 * keeps the state: batches of commands as so many connections send them, handed to another thread,
 * and their answers handed back, beside the same on one thread. Nothing is parsed or decided here:
 * the difference is the price of the hand-over alone, which a model of more cores needs.
 *
 *     build/bench/handoff [ROUNDS] */
#include "base/check.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 50
#define COMMAND_BYTES 144 /* a reserve with UUIDs, as decoded */
#define ANSWER_BYTES 64
#define BATCH_MOST 64
#define COMMANDS 2000000 /* in a measurement */

struct batch {
    char commands[BATCH_MOST * COMMAND_BYTES];
    char answers[BATCH_MOST * ANSWER_BYTES];
};

/* Batches on their way from one thread to another; it never has more than all of them. */
struct lane {
    _Alignas(64) atomic_uint head; /* written by who takes */
    _Alignas(64) atomic_uint tail; /* written by who puts */
    _Alignas(64) atomic_bool asleep;
    int wake;
    struct batch *batches[CONNECTIONS + 1];
};

static struct batch batches[CONNECTIONS];
static struct lane there, back;
static unsigned batch_size;

static double thread_seconds(void)
{
    struct timespec now;

    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- a lane ---------------------------------------------------------------------------------- */

static void lane_init(struct lane *lane)
{
    memset(lane, 0, sizeof *lane);
    lane->wake = eventfd(0, EFD_CLOEXEC);
    CHECK(lane->wake >= 0);
}

static void lane_put(struct lane *lane, struct batch *batch)
{
    unsigned tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);
    uint64_t one = 1;

    lane->batches[tail % (CONNECTIONS + 1)] = batch;
    atomic_store(&lane->tail, tail + 1);
    if (atomic_load(&lane->asleep) && atomic_exchange(&lane->asleep, false)) {
        CHECK(write(lane->wake, &one, sizeof one) == sizeof one);
    }
}

/* Sleeps until there is one: a loop waits for its sockets as well. */
static struct batch *lane_take(struct lane *lane)
{
    unsigned head = atomic_load_explicit(&lane->head, memory_order_relaxed);
    uint64_t count;

    while (atomic_load(&lane->tail) == head) {
        atomic_store(&lane->asleep, true);
        if (atomic_load(&lane->tail) == head || !atomic_exchange(&lane->asleep, false)) {
            CHECK(read(lane->wake, &count, sizeof count) == sizeof count);
        }
    }
    struct batch *batch = lane->batches[head % (CONNECTIONS + 1)];
    atomic_store_explicit(&lane->head, head + 1, memory_order_release);
    return batch;
}

/* ---- both sides ------------------------------------------------------------------------------ */

/* What was read from a socket stands in the memory of the thread that read it. */
static void fill(struct batch *batch, unsigned number)
{
    memset(batch->commands, (int)(number & 0xff), (size_t)batch_size * COMMAND_BYTES);
}

static void carry_out(struct batch *batch)
{
    for (unsigned i = 0; i < batch_size; i++) {
        memcpy(batch->answers + (size_t)i * ANSWER_BYTES,
               batch->commands + (size_t)i * COMMAND_BYTES, ANSWER_BYTES);
    }
}

static void check_answers(const struct batch *batch)
{
    CHECK(memcmp(batch->answers, batch->commands, ANSWER_BYTES) == 0);
    CHECK(batch->answers[(size_t)batch_size * ANSWER_BYTES - 1] == batch->commands[0]);
}

static double on_one_thread(void)
{
    double begun = thread_seconds();

    for (unsigned i = 0; i < COMMANDS / batch_size; i++) {
        struct batch *batch = &batches[i % CONNECTIONS];
        fill(batch, i);
        carry_out(batch);
        check_answers(batch);
    }
    return thread_seconds() - begun;
}

static void *keep_the_state(void *context)
{
    double begun = thread_seconds();

    for (unsigned i = 0; i < COMMANDS / batch_size; i++) {
        struct batch *batch = lane_take(&there);
        carry_out(batch);
        lane_put(&back, batch);
    }
    *(double *)context = thread_seconds() - begun;
    return NULL;
}

/* Returns the time of the thread that reads and writes; that of the other one in *state. */
static double on_two_threads(double *state)
{
    unsigned all = COMMANDS / batch_size, sent = 0;
    pthread_t thread;

    lane_init(&there);
    lane_init(&back);
    CHECK(thread_start(&thread, keep_the_state, state));
    double begun = thread_seconds();
    for (unsigned answered = 0; answered < all; answered++) {
        for (; sent < all && sent < answered + CONNECTIONS; sent++) {
            fill(&batches[sent % CONNECTIONS], sent);
            lane_put(&there, &batches[sent % CONNECTIONS]);
        }
        check_answers(lane_take(&back));
    }
    double seconds = thread_seconds() - begun;
    CHECK(pthread_join(thread, NULL) == 0);
    close(there.wake);
    close(back.wake);
    return seconds;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    enum { ROUNDS_MOST = 99 };
    static const unsigned sizes[] = {1, 16, 64};
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    double price[ROUNDS_MOST];

    if (rounds < 1 || rounds > ROUNDS_MOST) {
        fprintf(stderr, "handoff: rounds have to be between 1 and %d\n", ROUNDS_MOST);
        return 2;
    }
    printf(
        "| commands in a batch | one thread, ns a command | handed over, both threads, ns more |\n"
        "| ---: | ---: | ---: |\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double alone = 0, state;
        batch_size = sizes[i];
        for (int round = 0; round < rounds; round++) {
            alone = on_one_thread();
            price[round] = (on_two_threads(&state) + state - alone) / COMMANDS * 1e9;
        }
        qsort(price, (size_t)rounds, sizeof *price, compare);
        printf("| %u | %.0f | %.0f (%.0f-%.0f) |\n", batch_size, alone / COMMANDS * 1e9,
               price[rounds / 2], price[0], price[rounds - 1]);
    }
    return 0;
}

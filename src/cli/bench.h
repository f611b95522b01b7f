/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two ways to make load share: threads that call the library, and connections to a server
 * with many requests in flight on each. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "base/histogram.h"
#include "command/command.h"
#include "holdfast.h"

#include <pthread.h>
#include <stdatomic.h>

enum bench_load { BENCH_RESERVE, BENCH_REFUSE, BENCH_CYCLE };

struct bench {
    const char *url;
    enum bench_load load;
    int64_t seconds, threads;
    int64_t connections, pipeline; /* to a server: of all threads; in flight on each */
    char event[32];    /* of this run's own: what others left behind is not in the way */
    hf_handle *handle; /* makes the zone, and asks for the figures at the end */
    atomic_bool stop;
    _Atomic uint64_t done; /* calls; for the live line */
};

#define BENCH_ZONE "zone"
#define BENCH_TTL_MS 60000

/* The head of each way's own worker. */
struct bench_worker {
    struct bench *bench;
    pthread_t thread;
    uint64_t calls, refused, errors;
    struct histogram latencies;
    char failed[MESSAGE_SIZE]; /* why it had to give up; "" if it did not */
};

/* One way to make load. */
struct bench_way {
    size_t worker_size;
    /* Before the time runs; false, and `failed`, if it cannot work. `index` counts the workers. */
    bool (*prepare)(struct bench_worker *worker, int64_t index);
    /* Makes load until bench->stop; the context is a worker. */
    void *(*work)(void *context);
    void (*end)(struct bench_worker *worker);
};

extern const struct bench_way bench_engine, bench_server;

/* Counts an answer. */
static inline void bench_count(struct bench_worker *worker, enum hf_error code)
{
    worker->calls++;
    worker->refused += code == HF_INSUFFICIENT_STOCK;
    worker->errors += code != HF_OK && code != HF_INSUFFICIENT_STOCK;
}

static inline bool bench_stopped(const struct bench *bench)
{
    return atomic_load_explicit(&bench->stop, memory_order_relaxed);
}

/* Says on the live line that so many more are done. */
static inline void bench_tell(struct bench *bench, uint64_t calls)
{
    atomic_fetch_add_explicit(&bench->done, calls, memory_order_relaxed);
}

#endif

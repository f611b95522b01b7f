/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine in this process is made of: seen by embedded.c, which carries out commands, and
 * embedded_open.c, which brings the engine up and down. */
#ifndef ENGINE_EMBEDDED_STATE_H
#define ENGINE_EMBEDDED_STATE_H

#include "base/list.h"
#include "base/random.h"
#include "base/slab.h"
#include "base/table.h"
#include "core/core.h"
#include "engine/embedded.h"
#include "engine/snapshots.h"

/* A command that was not answered at once, because the core makes it wait. */
struct waiter {
    uint64_t ticket;
    engine_done *done;
    void *context;
};

/* An answer that waits for the disk. */
struct pending {
    struct list node;
    uint64_t sequence; /* of the record that must be on disk */
    struct reply reply;
    engine_done *done;
    void *context;
};

struct embedded {
    struct engine engine;
    struct embedded_options options;
    struct memory memory;  /* of the state */
    struct memory scratch; /* of replies and those who wait */
    struct core *core;
    struct random random;
    uint64_t commands;
    struct reply reply;
    struct slab waiters;
    struct table by_ticket;

    struct journal *journal; /* NULL: in memory only */
    struct buffer encoded;
    struct list pending; /* oldest first */
    struct list spare;   /* used again */
    uint64_t durable;    /* the last record whose batch was flushed */
    uint64_t flushing;   /* the last record of the batch on its way */
    bool under_way;      /* between flush_begin and flush_end */
    bool sync_too;       /* the policy is everysec, and the second is over */
    int64_t synced_ms;
    bool failed;
    struct snapshots snapshots;
};

static inline struct embedded *embedded_self(struct engine *engine)
{
    return (struct embedded *)engine;
}

static inline int64_t embedded_now(struct embedded *embedded)
{
    return clock_now(&embedded->options.clock);
}

void embedded_submit(struct engine *engine, struct command *command, engine_done *done,
                     void *context);

/* Everything appended so far is on disk, or the engine has failed. */
void embedded_flush_all(struct embedded *embedded);

enum hf_error embedded_open(const char *url, const struct engine_options *wanted,
                            struct engine **engine, struct problem *problem);
enum hf_error embedded_check(const char *url, struct problem *problem);
void embedded_close(struct engine *engine);

#endif

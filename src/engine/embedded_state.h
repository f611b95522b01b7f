/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine in this process is made of: seen by embedded.c, which carries out commands,
 * embedded_open.c, which brings the engine up and down, embedded_replay.c, which reads its
 * directory, embedded_time.c, which keeps its time, and embedded_figures.c, which counts. */
#ifndef ENGINE_EMBEDDED_STATE_H
#define ENGINE_EMBEDDED_STATE_H

#include "base/list.h"
#include "base/random.h"
#include "base/slab.h"
#include "base/table.h"
#include "core/core.h"
#include "engine/disk_watch.h"
#include "engine/embedded.h"
#include "engine/snapshots.h"

/* A command that was not answered at once, because the core makes it wait. */
struct embedded_waiter {
    uint64_t ticket;
    engine_done *done;
    void *context;
};

/* An answer that waits for the disk. */
struct embedded_pending {
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
    struct memory scratch; /* of replies and waiters */
    struct core *core;
    struct random random;
    uint64_t commands;
    struct reply reply;
    bool together;     /* commands come together, see engine_together() */
    int64_t moment_ms; /* when those happen; 0: not read yet */
    struct slab waiters;
    struct table by_ticket;

    struct journal *journal; /* NULL: in memory only */
    struct buffer encoded;
    struct list pending; /* oldest first */
    struct list spare;   /* used again */
    uint64_t durable;    /* the last record whose batch was flushed */
    uint64_t flushing;   /* the last record of the batch in flight */
    bool under_way;      /* between flush_begin and flush_end */
    bool sync_too;       /* the policy is everysec, and the second is over */
    int64_t synced_ms;   /* by clock_elapsed() */
    int64_t recorded_ms; /* the time of the last record */
    uint64_t ticks;      /* records of time alone */
    uint64_t full;       /* commands refused because the state may take no more memory */
    bool begun;          /* the start is recorded */
    bool failed;
    struct snapshots snapshots;
    struct disk_watch disk;
};

static inline struct embedded *embedded_self(struct engine *engine)
{
    return (struct embedded *)engine;
}

static inline int64_t embedded_now(struct embedded *embedded)
{
    return clock_now(&embedded->options.clock);
}

/* Milliseconds from an arbitrary start, which go on whatever time the clients were given: for
 * limits and retries. */
static inline int64_t embedded_elapsed(struct embedded *embedded)
{
    return clock_elapsed(&embedded->options.clock);
}

void embedded_submit(struct engine *engine, struct command *command, engine_done *done,
                     void *context);

/* ---- embedded_time.c ------------------------------------------------------------------------- */

/* Begins a run where the last one ended. Its record is appended, not flushed. */
enum hf_error embedded_begin(struct embedded *embedded, struct problem *problem);

/* Appends a record of what the core has just done; there is room for it. */
void embedded_append(struct embedded *embedded, struct hf_bytes bytes);

/* Makes sure that a tick can be appended. To be called before time passes in the core. */
bool embedded_reserve_tick(struct embedded *embedded);
/* Something is about to leave: if anything fell due since the last record, it is recorded. */
void embedded_tick(struct embedded *embedded);
void embedded_last_tick(struct embedded *embedded);

/* Records by how much nearing the wall clock has moved the time, so that the next run on this boot
 * goes on from the right place. */
void embedded_follow_drift(struct embedded *embedded);

/* ---- embedded_replay.c ----------------------------------------------------------------------- */

/* Opens the journal in the options' storage, which it takes over, with the state it holds. NULL
 * and why it cannot be; `no_memory` is set if that is for want of memory. */
struct journal *embedded_replay(struct embedded *embedded, const struct journal_options *options,
                                bool *no_memory, char why[256]);

/* ---- embedded_open.c and embedded.c ---------------------------------------------------------- */

/* Everything appended so far is on disk, or the engine has failed. */
void embedded_flush_all(struct embedded *embedded);

enum hf_error embedded_open(const char *url, const struct engine_options *wanted,
                            struct engine **engine, struct problem *problem);
enum hf_error embedded_check(const char *url, struct problem *problem);
void embedded_close(struct engine *engine);
void embedded_figures(struct engine *engine, engine_figure *each, void *context);

#endif

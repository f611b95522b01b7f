/* SPDX-License-Identifier: Apache-2.0
 *
 * What a lease is, and the lease keeper of a handle: two threads, begun with its first lease. The
 * beater sends the signs of life, those that are due together in one batch. The watcher looks at
 * the time and reports what is lost; it never waits for the engine, so that an engine that hangs
 * cannot keep a holder in the belief that it still holds. What falls due next is on top of a heap,
 * so that a sign of life costs O(log n) steps among n leases.
 *
 *     held ──the engine says no, or the time is up──> lost ──reported──> over
 *       └───────────────────── hf_lease_release() ───────┴────────────────┴──> freed */
#ifndef LIBRARY_LEASE_H
#define LIBRARY_LEASE_H

#include "base/heap.h"
#include "base/list.h"
#include "library/handle.h"

#include <stdatomic.h>

struct lease_keeper;

/* How a slot and a lock are kept and let go. */
struct lease_kind {
    const char *what;
    /* Makes the command that says that the holder is alive, and the one that ends the hold. */
    enum hf_error (*beat)(const hf_lease *lease, struct command *command, struct problem *problem);
    enum hf_error (*let_go)(const hf_lease *lease, struct command *command,
                            struct problem *problem);
    size_t beat_figure, let_go_figure; /* which one of the reply says whether it was held */
};

/* Which figure of a reply is wanted, and what it was. */
struct lease_figure {
    size_t which;
    int64_t number;
};

struct hf_lease {
    const struct lease_kind *kind;
    hf_handle *handle;
    unsigned generation; /* of the process that holds it */
    char scope[HF_ID_SIZE], id[HF_ID_SIZE];
    int64_t interval_ms; /* how long a sign of life lasts */
    int64_t beat_ms;     /* from one sign of life to the next */
    int64_t ttl_ms;      /* of a slot */
    int64_t fence;
    int64_t ends_ns; /* a slot's TTL, however alive its holder */
    hf_lease_lost *lost;
    void *context;

    atomic_bool held;
    _Atomic int64_t good_until_ns; /* unless there is another sign of life */

    /* All below is guarded by the keeper's mutex. */
    struct lease_keeper *keeper; /* NULL once its handle is closed */
    struct list node;
    struct heap_node beat;     /* the next sign of life; in no heap while one is in flight */
    struct heap_node end;      /* when it is lost; in no heap once that is reported */
    struct heap_node interval; /* by interval_ms */
    bool beating;              /* a sign of life is in flight, with the mutex open */
    bool calling;              /* its loss is being reported, with the mutex open */
    bool gone;                 /* the engine says so */
    bool over;                 /* lost, and reported */
    bool withdrawn;            /* no sign of life begins, and no report */
    bool released;             /* the last thread to use it frees it */
    char why[MESSAGE_SIZE];
};

/* NULL for want of memory or threads. */
struct lease_keeper *lease_keeper_start(hf_handle *handle);

/* Ends both threads. Leases that are left hold nothing any more and are still to be released, which
 * frees them. NULL is fine. */
void lease_keeper_stop(struct lease_keeper *keeper);

/* Keeps a lease whose sign of life, sent at `sent_ns`, the engine has just answered well. */
void lease_keeper_add(struct lease_keeper *keeper, hf_lease *lease, int64_t sent_ns);

/* Sends the signs of life at least so often, so that a loss is noticed as soon: the answers are how
 * a holder learns of it. For a process with few leases; each of them costs the engine a command as
 * often. */
void lease_beat_every(hf_lease *lease, int64_t ms);

/* No sign of life begins from now on, and no report is in flight, unless it is the report that
 * releases. Is there anything to give back? */
bool lease_keeper_withdraw(struct lease_keeper *keeper, hf_lease *lease);

/* Frees a lease that was withdrawn, now or when a thread is done with it. */
void lease_keeper_free(struct lease_keeper *keeper, hf_lease *lease);

/* A handle_use that takes a figure, of which the context is a struct lease_figure. */
void lease_take_figure(void *context, const struct reply *reply);

/* The clock of leases. It goes on while the machine is suspended, as the server's does. */
int64_t lease_now_ns(void);

/* So much of a duration can be counted on: the engine counts in whole milliseconds, and two clocks
 * never go alike. */
int64_t lease_sure_ns(int64_t ms);

/* The end of a lease, if there is no further sign of life. */
int64_t lease_end_ns(const hf_lease *lease);

#endif

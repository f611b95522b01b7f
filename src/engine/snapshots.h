/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots while serving: a child of fork() sees the state as it was and writes it down, while the
 * parent goes on. Where nobody can fork (simulated storage) it is written at once. */
#ifndef ENGINE_SNAPSHOTS_H
#define ENGINE_SNAPSHOTS_H

#include "base/log.h"
#include "core/core.h"
#include "journal/journal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct snapshots {
    pid_t child; /* 0: none is being written */
    uint64_t sequence;
    int64_t growth; /* of the journal when it was begun */

    /* Removing large files takes the system long enough to be felt, so a thread does it. */
    struct journal *journal;
    pthread_t cleaner;
    bool cleaning;       /* the cleaner is to be joined */
    atomic_bool cleaned; /* it has done its work */
};

/* Begins a snapshot of the state, all of which is on disk in the journal. */
enum hf_error snapshots_begin(struct snapshots *snapshots, struct core *core,
                              struct journal *journal, const struct log *log,
                              struct problem *problem);

bool snapshots_running(const struct snapshots *snapshots);

/* If the child has ended, puts its snapshot in place and removes what it replaces. */
void snapshots_reap(struct snapshots *snapshots, struct journal *journal, const struct log *log);

/* The same, waiting for it. */
void snapshots_end(struct snapshots *snapshots, struct journal *journal, const struct log *log);

#endif

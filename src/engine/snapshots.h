/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots while serving: a child of fork() sees the state as it was and writes it down, while the
 * parent goes on. Where there is no fork (simulated storage) it is written at once.
 *
 * The child reports through a pipe: each piece of its work, and at last how it ended and why. So
 * the outcome is known even where the system tells a parent nothing of its children (SIGCHLD
 * ignored). A child that reports nothing for a time is killed. A snapshot that failed is logged,
 * counted and tried again, after a second at first and after a minute at most, for ever: without
 * snapshots the journal grows until the disk is full.
 *
 * Times are given by the caller, in ms from an arbitrary start, and must never run backwards. */
#ifndef ENGINE_SNAPSHOTS_H
#define ENGINE_SNAPSHOTS_H

#include "base/log.h"
#include "core/core.h"
#include "journal/journal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* How an attempt ended. */
struct snapshot_outcome {
    int code;           /* 0, or a negative errno */
    int64_t bytes;      /* of the file, or needed for it */
    int64_t free_bytes; /* on the file system when it failed; -1: not known */
};

struct snapshots {
    struct journal *journal;
    const struct log *log;
    bool closing;       /* nothing is tried again */
    int64_t timeout_ms; /* a child may go without progress for so long */

    /* The snapshot that is being written. */
    pid_t child; /* 0: none */
    int reports; /* what the child says, or -1 */
    bool reported;
    struct snapshot_outcome outcome; /* if it has reported */
    bool killed;
    int64_t progress_ms; /* of its last progress, or when it was killed */
    uint64_t sequence;
    int64_t growth; /* of the journal when it was begun */

    /* What became of the snapshots before it. */
    uint64_t made, failed;
    unsigned failed_in_a_row;
    int64_t retry_ms; /* when to try again, after a failure */
    bool has_last;    /* there is a valid snapshot, of this run or an earlier one */
    int64_t last_ms;  /* when the last valid snapshot was made */
    int64_t last_bytes;

    /* Removing large files takes the system long enough to be felt, so a thread does it. */
    pthread_t cleaner;
    bool cleaning;       /* the cleaner is to be joined */
    atomic_bool cleaned; /* it has done its work */
};

/* Before anything else; `journal` and `log` are borrowed until snapshots_end(). `timeout_ms` may
 * be 0 for the usual. */
void snapshots_init(struct snapshots *snapshots, struct journal *journal, const struct log *log,
                    int64_t timeout_ms, int64_t now_ms);

/* Begins a snapshot of the state, all of which is on disk in the journal. */
enum hf_error snapshots_begin(struct snapshots *snapshots, struct core *core, int64_t now_ms,
                              struct problem *problem);

bool snapshots_running(const struct snapshots *snapshots);

/* Is there one to be begun, by itself or because the last one failed? `limit` is the growth of the
 * journal that calls for one; not above 0: none does. */
bool snapshots_due(const struct snapshots *snapshots, int64_t limit, int64_t now_ms);

/* How long until snapshots_watch() or snapshots_due() has something to say; INT64_MAX: never. */
int64_t snapshots_idle_ms(const struct snapshots *snapshots, int64_t now_ms);

/* If the child has ended, puts its snapshot in place and removes what it replaces; if it hangs,
 * ends it. */
void snapshots_watch(struct snapshots *snapshots, int64_t now_ms);

/* Lets a child that makes progress finish, for ten seconds at most, and ends one that does not. */
void snapshots_end(struct snapshots *snapshots);

/* In a child of fork(): sockets of the parent's must not live on there. A port would stay taken,
 * and a connection that the parent closes stay open. */
void snapshots_close_sockets(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine on a simulated disk under a simulated clock, and beside it a core of its own to which
 * the same is done: whatever the engine answers, and whatever it finds on its disk after a crash,
 * is compared with that.
 *
 * What is checked:
 *   1. Every answer is that of the core beside, and once the engine has failed every one is IOERR.
 *   2. No directory is refused, unless a call was made to fail.
 *   3. What the journal holds is what was carried out, in order, up to some number; not less than
 *      was needed for any answer given (see world_recover()).
 *   4. The recovered state is that of a fresh core after just these commands, and passes the audit.
 *   5. Whatever the wall clock does, and over any restart: the engine's time never goes back and
 *      while it runs goes on as time does, to a thousandth; what was shown to have fallen due has
 *      fallen due on disk; and no fence is handed out twice, nor one below any handed out before
 *      the start, even if the grant itself was lost.
 *
 * The first thing that is wrong is kept in `why`, and everything after it is void. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/clock.h"
#include "core/core.h"
#include "engine/embedded.h"
#include "history.h"
#include "storage_sim.h"
#include "told.h"

/* A command that was submitted. */
struct call {
    bool answered, settled;
    enum hf_error code;
    uint64_t answer; /* hash of the reply */

    bool expected;
    uint64_t ticket; /* of one that waits */
    uint64_t right_answer;
    size_t needs;   /* how much of the history its answer shows */
    int64_t due_ms; /* when the last thing fell due that it may show */

    uint64_t who;  /* a hash of the command's scope and id */
    int64_t fence; /* that it was granted, or 0 */
};

struct world {
    struct dice dice;
    enum journal_policy policy;
    int64_t segment_bytes, snapshot_bytes;
    unsigned eagerness; /* how often, of 1000 steps, there is a flush */
    const struct sim_faults *faults;

    struct sim_disk *disk;
    struct engine *engine; /* NULL: not running */
    struct clock clock;    /* does what the engine's own does */
    int64_t seen_ms;       /* what it said last, */
    int64_t seen_at_ms;    /* and the machine's time then */
    struct memory memory;
    struct core *core; /* beside */
    struct reply reply;
    struct history history;
    size_t acknowledged; /* how much of it was shown to somebody */
    size_t solid;        /* how much of it was on a disk after a power cut */
    struct told told;
    bool interrupted; /* the last start did not get to its end */
    struct call **calls;
    size_t call_count, call_capacity;

    uint64_t trace; /* a hash of all that was answered and recovered */
    uint64_t commands, snapshots;
    char why[512];
};

void world_init(struct world *world, uint64_t seed, enum journal_policy policy);
void world_free(struct world *world);
bool world_is_right(const struct world *world);

/* Starts the engine on the disk and checks what it finds. False if it could not start because of a
 * fault or a stop, or if something is wrong. After a power cut, and with another policy than
 * `always`, what was acknowledged may be gone. */
bool world_recover(struct world *world, bool power_cut);

/* Does something at random: submits, flushes, lets time pass, takes a snapshot. */
void world_step(struct world *world);
/* Has the engine failed? */
bool world_failed(const struct world *world);

/* Ends the engine as a crash does: nothing more reaches the disk. */
void world_kill(struct world *world);
/* Ends it in order: all is on disk then, unless something failed. */
void world_close(struct world *world);

/* Lets time pass, by a little or a lot; while nothing runs, the machine may boot. */
void world_wait(struct world *world);

#endif

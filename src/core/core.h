/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules, as a deterministic state machine: no system call, no clock, no randomness, no
 * allocation it cannot refuse. The same commands at the same times give the same state and the same
 * replies. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include "base/clock.h"
#include "command/event.h"
#include "command/reply.h"

struct core;

/* NULL when there is no memory. `memory` must outlive the core. `seed` keys the hash tables; it
 * influences no reply. */
struct core *core_create(struct memory *memory, const uint64_t seed[2]);
void core_destroy(struct core *core);

/* With more memory than this in use, new scopes and holds are refused; what is there goes on, and
 * whatever gives back is let through. 0: no limit, as in a new core. */
void core_limit_memory(struct core *core, size_t max);

/* Is that so now? */
bool core_is_full(const struct core *core);

/* What the memory in use consists of, in bytes. */
struct core_memory {
    size_t limit;    /* 0: none */
    size_t promised; /* not in use, but kept for what is open */
    size_t records, indexes, answers;
    size_t rest; /* names, deadlines, lines, lists, and what the allocator takes for itself */
    uint32_t confirmed; /* bookings */
};
void core_memory_parts(const struct core *core, struct core_memory *parts);

/* Expires some of what is due, and all of it in the command's scope, then carries the command out.
 * A `now_ms` before the latest one seen counts as that one. The reply says HF_BUSY, and nothing has
 * changed, when memory ran out; it says `waits` when the answer will come as a wakeup. */
void core_apply(struct core *core, const struct command *command, int64_t now_ms,
                struct reply *reply);

/* These commands will be applied next, most likely: asks for the memory that they will look at, so
 * that it is near by then. Changes nothing, and may be left out. */
void core_prepare(const struct core *core, const struct command *commands, size_t count);

/* Would core_apply() have to expire no more than a few holds first? Expires up to `budget` of what
 * is due in the command's scope; false if there is more. So a
 * loop can serve other clients between two steps. */
bool core_ready(struct core *core, const struct command *command, int64_t now_ms, int64_t budget);

/* Expires what is due, in the order of the deadlines, then frees what closed scopes left behind,
 * but about `budget` records at most. True if nothing is left. */
bool core_step(struct core *core, int64_t now_ms, int64_t budget);

/* Expires all that is due; what closed scopes left behind stays for core_step(). */
void core_advance(struct core *core, int64_t now_ms);

/* Takes note of the time, and leaves what is due to the commands that look at it. */
void core_reach(struct core *core, int64_t now_ms);

/* When time alone changed something last, by a deadline that was met: what a later answer shows can
 * depend on it. */
int64_t core_changed_ms(const struct core *core);

/* core_step() has nothing to do before this time; INT64_MAX if it never has. */
int64_t core_next_due(const struct core *core);

/* ---- what leaves the core without having been asked for -------------------------------------- */

/* The answer to a command that waited. */
struct wakeup {
    uint64_t ticket;
    enum hf_error code;    /* HF_OK, HF_TIMEOUT or HF_INVALID_QUANTITY */
    const char *why;       /* static */
    int64_t in_use, fence; /* with HF_OK */
    int64_t slots, limit;  /* with HF_INVALID_QUANTITY: the numbers of `why` */
};

/* Those since the last core_clear_wakeups(), in order. None is ever lost. */
const struct wakeup *core_wakeups(const struct core *core, size_t *count);
void core_clear_wakeups(struct core *core);

/* The same as a reply. */
void wakeup_reply(const struct wakeup *wakeup, struct reply *reply);

/* Semaphore and id of a command that waits; false if there is no other. After a restart its client
 * is gone: the engine ends these waits. *cursor begins as 0. */
bool core_waiting_call(const struct core *core, uint32_t *cursor, char name[HF_ID_SIZE],
                       char id[HF_ID_SIZE]);

/* Begins or ends to collect events: up to EVENTS_MAX until they are fetched, more are dropped. */
void core_collect_events(struct core *core, bool collect);
/* Takes the oldest event; false if there is none. */
bool core_next_event(struct core *core, struct event *event);

/* ---- from one run to the next ---------------------------------------------------------------- */

/* A run of the engine that keeps this state begins at `now_ms`, or goes on with another offset.
 * Every fence from now on is greater than `fence`. */
void core_begin_run(struct core *core, const struct clock_run *run, int64_t fence, int64_t now_ms);
const struct clock_run *core_run(const struct core *core);

/* The fence to begin a run with: past all that this state can have handed out since it was kept
 * somewhere, by a run whose end was lost, or on another copy of it. */
int64_t core_start_fence(const struct core *core, int64_t now_ms);

/* ---- the state as a whole -------------------------------------------------------------------- */

/* A piece of a snapshot; false ends the writing. */
typedef bool core_piece(void *context, struct hf_bytes piece);

/* Hands the whole state over, piece by piece, the same bytes for the same state: it is never in
 * memory a second time. False when there is no memory, or `piece` said so. Format: snapshot.c. */
bool core_snapshot_pieces(struct core *core, core_piece *piece, void *context);

/* Appends the whole state to `out`; false when there is no memory. */
bool core_snapshot(struct core *core, struct buffer *out);

/* A core with the state of a snapshot, whose last four bytes, its checksum, the caller has checked.
 * NULL, and a problem, when it is damaged (IOERR) or there is no memory (BUSY). Commands that
 * waited go on waiting, with the same tickets. */
struct core *core_restore_from(struct memory *memory, const uint64_t seed[2],
                               struct reader *snapshot, struct problem *problem);

/* The same of a snapshot in memory, with its checksum. */
struct core *core_restore(struct memory *memory, const uint64_t seed[2], struct hf_bytes snapshot,
                          struct problem *problem);

/* Equal for equal states, whatever way they were reached. */
uint64_t core_digest(struct core *core);

/* Recomputes every total and every index from the records, and reports what differs. Returns the
 * number of findings; UINT64_MAX when there was no memory to check. */
uint64_t core_audit(struct core *core, hf_audit_report *report, void *context);

void core_info(const struct core *core, struct hf_info *info);

/* The latest time seen. */
int64_t core_now(const struct core *core);

#endif

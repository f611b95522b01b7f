/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules, as a deterministic state machine: no system call, no clock, no randomness, no
 * allocation it cannot refuse. The same commands at the same times give the same state and the same
 * replies. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include "command/event.h"
#include "command/reply.h"

struct core;

/* NULL when there is no memory. `memory` must outlive the core. `seed` keys the hash tables; it
 * influences no reply. */
struct core *core_create(struct memory *memory, const uint64_t seed[2]);
void core_destroy(struct core *core);

/* Expires what is due, then carries out the command. A `now_ms` before the latest one seen counts
 * as that one. The reply says HF_BUSY, and nothing has changed, when memory ran out; it says
 * `waits` when the answer will come as a wakeup. */
void core_apply(struct core *core, const struct command *command, int64_t now_ms,
                struct reply *reply);

/* Expires what is due, in the order of the deadlines. */
void core_advance(struct core *core, int64_t now_ms);

/* Nothing falls due before this time; INT64_MAX if nothing ever does. */
int64_t core_next_due(const struct core *core);

/* ---- what leaves the core without having been asked for -------------------------------------- */

/* The answer to a command that waited. */
struct wakeup {
    uint64_t ticket;
    enum hf_error code;    /* HF_OK or HF_TIMEOUT */
    const char *why;       /* static */
    int64_t in_use, fence; /* with HF_OK */
};

/* Those since the last core_clear_wakeups(), in order. None is ever lost. */
const struct wakeup *core_wakeups(const struct core *core, size_t *count);
void core_clear_wakeups(struct core *core);

/* The same as a reply. */
void wakeup_reply(const struct wakeup *wakeup, struct reply *reply);

/* Semaphore and id of a command that waits; false if there is none. After a restart nobody is there
 * to be answered: the engine lets them go. */
bool core_waiting_call(const struct core *core, char name[HF_ID_SIZE], char id[HF_ID_SIZE]);

/* Keeps events from now on, up to EVENTS_MAX until they are fetched; more are dropped and counted.
 */
void core_collect_events(struct core *core, bool collect);
/* Takes the oldest event; false if there is none. */
bool core_next_event(struct core *core, struct event *event);
uint64_t core_events_dropped(const struct core *core);

/* ---- the state as a whole -------------------------------------------------------------------- */

/* Appends the whole state to `out`; false when there is no memory. Format: snapshot.c. */
bool core_snapshot(struct core *core, struct buffer *out);

/* A core with the state of a snapshot; NULL, and a problem, when it is damaged or there is no
 * memory. Commands that waited go on waiting, with the same tickets. */
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

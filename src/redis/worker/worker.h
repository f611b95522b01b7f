/* SPDX-License-Identifier: Apache-2.0
 *
 * The release worker: gives back the seats, quota and stock of holds that expired, and takes lapsed
 * entries out of waiting rooms, on every scope there is. Commands do that for themselves on what
 * they meet; the worker is for what nobody asks for, so that counters other programs look at are
 * right and the memory of Redis is not kept by the dead.
 *
 * What it does is done by scripts, each of them atomic: any number of workers may run on the same
 * Redis, and each thing comes back once.
 *
 * It learns of scopes from the commands this engine carried out (worker_note) and from a sweep over
 * all keys, at the start and then once a minute: that is how it catches up after it was down, and
 * how it finds what others have made. A few calls are under way at a time, a scope that has much to
 * give back waits for the others between its turns, and what fails is tried again later. */
#ifndef REDIS_WORKER_WORKER_H
#define REDIS_WORKER_WORKER_H

#include "redis/script/script_env.h"

struct worker;

/* What it did so far; may be read by any thread. */
struct worker_figures {
    _Atomic uint64_t visits; /* scripts that were answered */
    _Atomic uint64_t returned_seats, returned_quota, returned_stock, returned_queue; /* holds */
    _Atomic uint64_t sweeps;      /* over all keys, to their end */
    _Atomic uint64_t keys_found;  /* by them, with deadlines of ours */
    _Atomic uint64_t late_ms_max; /* how late a hold came back at worst, in about the last minute */
    _Atomic uint64_t errors;
};

/* NULL when there is no memory. The client may still be connecting. */
struct worker *worker_start(struct script_env *env);

/* Nothing more is begun; calls that are under way may still come back. */
void worker_stop(struct worker *worker);

/* After the client is closed. The memory goes with the next turn of the loop. NULL is fine. */
void worker_free(struct worker *worker);

/* A command of this engine was carried out, or may have been: what it put under a deadline is
 * looked at when that is over. `counter` names the shard of a product; NULL: its main counter. */
void worker_note(struct worker *worker, const struct command *command, const char *counter);

const struct worker_figures *worker_figures(const struct worker *worker);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The release worker gives back the seats, quota and stock of holds that expired, and removes
 * lapsed entries from waiting rooms, in every scope. A command does that itself in the scope it is
 * for; the worker does it where no command comes by, so that the counters other programs read are
 * right and expired holds do not fill the memory of Redis.
 *
 * Each visit to a scope is one call of an atomic script: any number of workers may run on the same
 * Redis, and each hold comes back once.
 *
 * The worker learns of scopes from the commands of its own engine (worker_note) and from a sweep
 * over all keys, at the start and then once a minute: so it catches up after it was down, and finds
 * the scopes that other engines have made. A few visits are in flight at a time, a scope that has
 * much to give back lets the others go first between its visits, and a visit that fails is retried
 * after a pause that grows. */
#ifndef REDIS_WORKER_WORKER_H
#define REDIS_WORKER_WORKER_H

#include "redis/script/script_call.h"

struct worker;

/* What the worker did so far; any thread may read it. */
struct worker_figures {
    _Atomic uint64_t visits; /* calls of scripts that were answered */
    _Atomic uint64_t returned_seats, returned_quota, returned_stock, returned_queue; /* holds */
    _Atomic uint64_t sweeps;      /* complete sweeps over all keys */
    _Atomic uint64_t keys_found;  /* sorted sets of deadlines that sweeps have found */
    _Atomic uint64_t late_ms_max; /* how late a hold came back at worst, in about the last minute */
    _Atomic uint64_t errors;      /* visits and steps of a sweep that failed */
};

/* NULL when there is no memory. The client may still be connecting. */
struct worker *worker_start(struct script_env *env);

/* Nothing more is begun; calls in flight may still be answered. */
void worker_stop(struct worker *worker);

/* After the client is closed. NULL is allowed. */
void worker_free(struct worker *worker);

/* A command of this engine was carried out, or may have been: if it set a deadline, its scope is
 * visited when that has passed. `counter` names the shard of a product; NULL: its main counter. */
void worker_note(struct worker *worker, const struct command *command, const char *counter);

const struct worker_figures *worker_figures(const struct worker *worker);

#endif

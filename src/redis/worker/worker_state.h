/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the release worker, for the files that make it up:
 *
 *     worker.c         visits to scopes that are due, and the turns in which all of it is done
 *     worker_sweep.c   the sweep over all keys, which finds scopes
 *     worker_scopes.c  the scopes, and when each is visited next
 */
#ifndef REDIS_WORKER_WORKER_STATE_H
#define REDIS_WORKER_WORKER_STATE_H

#include "redis/worker/worker.h"
#include "redis/worker/worker_scopes.h"

#include <stdatomic.h>

#define WORKER_VISITS_MAX 16      /* calls in flight at a time */
#define WORKER_CALL_MS 1000       /* the timeout of a call: other scopes wait behind it */
#define WORKER_RETRY_MIN_MS 1000  /* the pause after a failure, doubled with each further one */
#define WORKER_RETRY_MAX_MS 60000 /* the longest such pause */

struct worker_visit {
    struct script_call call;
    struct worker *worker;
    uint32_t scope; /* NONE: the visit is free */
};

/* A sweep goes from master to master in the order of their names, since masters come and go. */
struct worker_sweep {
    struct redis_request request;
    struct buffer bytes;
    char master[300]; /* the one that is swept; empty: the sweep has not begun */
    char cursor[24];  /* as Redis answered; "0" at the start and at the end of a master */
    bool sending;     /* a step is in flight */
    bool begun;       /* at least one step of this sweep was sent */
    bool first;       /* no sweep has come to its end so far */
    bool failed;      /* some keys of this sweep were not seen */
    unsigned tries;   /* of the step that comes next */
    int64_t next_ms;  /* the time of the next step, or of the next sweep */
};

struct worker {
    struct script_env *env;
    bool stopped;
    struct alarm alarm;
    struct worker_scopes scopes;
    struct worker_visit visits[WORKER_VISITS_MAX];
    struct worker_sweep sweep;
    struct worker_figures figures;
    uint64_t late_ms;  /* how late a hold came back at worst, since the last sweep */
    int64_t logged_ms; /* when a failure was last logged; 0: never */
};

/* Does whatever is due: visits, a step of the sweep; and sets the alarm for the next turn. */
void worker_turn(struct worker *worker);

int64_t worker_now_ms(const struct worker *worker);
int64_t worker_jitter_ms(struct worker *worker, int64_t least, int64_t most);

static inline void worker_count(_Atomic uint64_t *figure, uint64_t more)
{
    atomic_fetch_add_explicit(figure, more, memory_order_relaxed);
}

/* Counts a failure, and logs it unless one was logged a short time ago. */
void worker_failed(struct worker *worker, const char *what, const char *why);
/* Why a request failed: the problem's message, or the error that Redis replied. */
const char *worker_why(const redisReply *reply, const struct problem *problem);

/* ---- worker_sweep.c -------------------------------------------------------------------------- */

void worker_sweep_init(struct worker *worker);
void worker_sweep_free(struct worker *worker);
/* Sends the next step of the sweep, if it is time for it. */
void worker_sweep_step(struct worker *worker);

#endif

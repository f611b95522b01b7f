/* SPDX-License-Identifier: Apache-2.0
 *
 * What is counted, and how it is shown to Prometheus: base units, one line a series. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "command/family.h"
#include "command/reply.h"

struct server;

#define LATENCY_BUCKETS 20

/* How long things took, in the buckets of Prometheus. */
struct latency {
    uint64_t counts[LATENCY_BUCKETS + 1]; /* the last: longer than all bounds */
    uint64_t count;
    uint64_t sum_ns;
};

void latency_add(struct latency *latency, uint64_t nanoseconds, uint64_t times);
/* The upper bound of a bucket, in seconds, as it is written. */
const char *latency_bound(size_t bucket);

struct metrics {
    uint64_t outcomes[COMMAND_COUNT][HF_ERROR_COUNT];
    struct latency commands[COMMAND_COUNT];
    struct latency flushes;
    uint64_t accepted, refused_connections; /* the latter beyond max-connections */
    uint64_t timed_out, evicted;            /* closed for being slow; for keeping too much memory */
    uint64_t malformed;                     /* requests that no front could read */
    uint64_t unauthorized;
    uint64_t forbidden[FAMILY_COUNT], rate_limited[FAMILY_COUNT]; /* by what a user is kept to */
    uint64_t strangers_closed; /* for not signing in in time, or for another's place */
    uint64_t bytes_in, bytes_out;

    /* Commands done in this turn, which are as old as the turn when it ends. */
    uint32_t turn[COMMAND_COUNT];
    uint8_t turn_ids[COMMAND_COUNT];
    unsigned turn_kinds;
};

_Static_assert(COMMAND_COUNT <= UINT8_MAX, "turn_ids is bytes");

/* A command was answered. One that waited tells how long; for the others it is the turn's length,
 * from reading the request to sending the answer. */
static inline void metrics_done(struct metrics *metrics, enum command_id id, enum hf_error code)
{
    metrics->outcomes[id][code]++;
    if (metrics->turn[id]++ == 0) {
        metrics->turn_ids[metrics->turn_kinds++] = (uint8_t)id;
    }
}
/* A command was refused for its arguments, before it was given to anybody. */
static inline void metrics_refused(struct metrics *metrics, enum command_id id, enum hf_error code)
{
    metrics->outcomes[id][code]++;
}
void metrics_waited(struct metrics *metrics, enum command_id id, enum hf_error code,
                    uint64_t nanoseconds);
void metrics_turn(struct metrics *metrics, uint64_t nanoseconds);

/* Memory of the process. */
uint64_t metrics_resident_bytes(void);

/* All of it, in the text format of Prometheus. */
void metrics_write(const struct metrics *metrics, struct server *server, struct buffer *out);

#endif

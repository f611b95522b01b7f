/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of a server at one moment, read from its INFO and METRICS. */
#ifndef CLI_SAMPLE_H
#define CLI_SAMPLE_H

#include "command/command.h"
#include "library/remote.h"

#define SAMPLE_BUCKETS 32
#define SAMPLE_WORD 32

/* How many took no longer than each bound. The last bound is infinite. */
struct sample_latency {
    size_t count;
    double bounds_s[SAMPLE_BUCKETS];
    double below[SAMPLE_BUCKETS];
};

struct sample {
    uint64_t taken_ns; /* our clock */
    char version[SAMPLE_WORD], engine[SAMPLE_WORD], state[SAMPLE_WORD], fsync[SAMPLE_WORD];
    double uptime_s, cpu_s;
    double connections, waiting_connections;
    double holds, waiting, expired; /* NAN, like state_bytes: the server does not know */
    double state_bytes, resident_bytes, in_bytes, out_bytes;

    bool has_commands; /* what follows is known */
    double outcomes[COMMAND_COUNT][HF_ERROR_COUNT];
    struct sample_latency latencies[COMMAND_COUNT];
    struct sample_latency flushes;
};

/* Asks the server. A server that knows no METRICS has no figures by command. */
enum hf_error sample_take(struct sample *sample, struct remote *remote, struct problem *problem);

/* How often a command was answered, whatever the outcome. */
double sample_answers(const struct sample *sample, size_t command);

/* Adds what `now` has more than `before` to `sum`, which may be empty. */
void sample_add_latency(struct sample_latency *sum, const struct sample_latency *now,
                        const struct sample_latency *before);

/* The time that `share` of them took at most, in nanoseconds, as good as the buckets tell; -1 if
 * there are none. */
double sample_quantile(const struct sample_latency *latency, double share);

#endif

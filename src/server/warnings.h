/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the log that strangers bring about. Whoever watches the log should see an attack, and
 * not have the disk filled by it: of each kind there are a few in a while, and then one line that
 * counts those that were left out. */
#ifndef SERVER_WARNINGS_H
#define SERVER_WARNINGS_H

#include <stdint.h>

struct log;
struct trace_source;

enum warning_kind {
    WARNING_SECRET,   /* a wrong token or password */
    WARNING_PROTOCOL, /* bytes that this port does not speak */
    WARNING_REFUSED,  /* a connection that is one too many */
    WARNING_MEMORY,   /* connections that were closed for the memory they held */
    WARNING_STORED,   /* an answer under an Idempotency-Key that is none of ours */
    WARNING_ACCESS,   /* a request beyond a user's scopes or families */
    WARNING_RATE,     /* a request beyond a user's rate */
    WARNING_INTERNAL, /* a command that failed for a reason of ours */
    WARNING_KINDS
};

struct warnings {
    struct warnings_of_kind {
        uint64_t since_ns; /* the beginning of the while; 0: there was none */
        unsigned written;  /* in it */
        uint64_t left_out;
    } kinds[WARNING_KINDS];
};

/* Writes a warning, or counts it. It belongs to a request; NULL: to none. */
void warnings_line(struct warnings *warnings, const struct log *log, enum warning_kind kind,
                   const struct trace_source *source, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Now and then: says how many were left out of each while that is over. */
void warnings_tick(struct warnings *warnings, const struct log *log);

#endif

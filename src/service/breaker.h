/* SPDX-License-Identifier: Apache-2.0
 *
 * A circuit breaker: after too many failures calls are no longer made for a while, then a few are
 * tried. It is pure: the time is passed in, and it calls nobody. */
#ifndef SERVICE_BREAKER_H
#define SERVICE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN, BREAKER_STATES };

/* The sliding window is made of so many buckets, of which the oldest is forgotten at a time. */
#define BREAKER_BUCKETS 10
/* With fewer calls in the window than this a failure rate says nothing. */
#define BREAKER_CALLS_MIN 10
/* Calls that are tried at a time while it is half open, and how many must succeed to close it. */
#define BREAKER_TRIALS 5

struct breaker_options {
    int64_t window_ms;
    int64_t failures; /* per cent of the calls in the window */
    int64_t open_for_ms;
};

struct breaker_bucket {
    uint32_t calls, failures;
};

struct breaker {
    struct breaker_options options;
    enum breaker_state state;
    int64_t since_ms; /* when it came to this state */
    uint64_t opened;  /* how often it did */
    /* Closed. */
    struct breaker_bucket buckets[BREAKER_BUCKETS];
    int64_t newest; /* the number of the bucket that is filled now, counted from time 0 */
    /* Half open. */
    unsigned trials, succeeded; /* calls that were let through, and those of them that went well */
    int64_t tried_ms;           /* when the last of them was */
};

void breaker_init(struct breaker *breaker, const struct breaker_options *options, int64_t now_ms);

/* May a call be made now? One that may is to be followed by breaker_note(). */
bool breaker_allows(struct breaker *breaker, int64_t now_ms);

/* What became of a call. Calls that were made without asking may be noted, too. */
void breaker_note(struct breaker *breaker, bool succeeded, int64_t now_ms);

/* "closed", "open", "half-open". */
const char *breaker_state_name(enum breaker_state state);

#endif

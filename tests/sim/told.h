/* SPDX-License-Identifier: Apache-2.0
 *
 * What callers of an engine were told, over all its runs, and must never be told otherwise: who was
 * granted which fence, and how far time had gone when something was seen to have fallen due. */
#ifndef SIM_TOLD_H
#define SIM_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct told_fence {
    int64_t fence;
    uint64_t who; /* a hash of what was granted, and to whom */
};

struct told {
    struct told_fence *fences; /* in ascending order */
    size_t count, capacity;
    int64_t due_ms; /* the latest time at which something fell due that was shown */
};

void told_free(struct told *told);
/* False if somebody else was granted the same. */
bool told_grant(struct told *told, int64_t fence, uint64_t who);
/* The greatest so far; 0 if there is none. */
int64_t told_last_fence(const struct told *told);

#endif

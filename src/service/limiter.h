/* SPDX-License-Identifier: Apache-2.0
 *
 * How many orders go past an engine that is away: so many a second, and a little at once. Pure: the
 * time is passed in. */
#ifndef SERVICE_LIMITER_H
#define SERVICE_LIMITER_H

#include "base/bucket.h"

struct limiter {
    struct bucket bucket; /* in milliseconds */
    uint64_t let, refused;
};

/* `rate` tokens a second, divided among so many servers. It begins full: a tenth of a second's
 * worth, one token at least. A rate of 0 lets nobody through. */
void limiter_init(struct limiter *limiter, int64_t rate, int64_t servers, int64_t now_ms);

/* Takes a token, if there is one. */
bool limiter_take(struct limiter *limiter, int64_t now_ms);

#endif

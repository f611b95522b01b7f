/* SPDX-License-Identifier: Apache-2.0
 *
 * A token bucket: so many tokens in each period, and so many at once. Exact, in whole numbers:
 * however often it is asked, nothing of a slow rate is lost to rounding. Pure: the time is passed
 * in, in whatever unit the period has. */
#ifndef BASE_BUCKET_H
#define BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    uint64_t count;    /* tokens in each period */
    uint64_t period;   /* so much credit is a token; each unit of time gives `count` */
    uint64_t capacity; /* the most credit that it holds */
    uint64_t credit;
    uint64_t filled; /* when that was */
};

/* Begins full. A count of 0 gives nothing. */
void bucket_init(struct bucket *bucket, uint64_t count, uint64_t period, uint64_t capacity,
                 uint64_t now);

/* Takes a token, if there is one. A clock that goes backwards gives nothing and takes nothing. */
bool bucket_take(struct bucket *bucket, uint64_t now);

/* How long it is until there is a token; 0: there is one. UINT64_MAX: there will never be one. */
uint64_t bucket_wait(struct bucket *bucket, uint64_t now);

#endif

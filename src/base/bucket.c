/* SPDX-License-Identifier: Apache-2.0
 *
 * The token bucket. It promises: in any time t at most count × t / period tokens are taken, and
 * capacity / period more. */
#include "base/bucket.h"

#include "base/check.h"

void bucket_init(struct bucket *bucket, uint64_t count, uint64_t period, uint64_t capacity,
                 uint64_t now)
{
    CHECK(period > 0);
    *bucket = (struct bucket){
        .count = count, .period = period, .capacity = capacity, .credit = capacity, .filled = now};
}

static void fill(struct bucket *bucket, uint64_t now)
{
    if (now <= bucket->filled || bucket->count == 0) {
        return;
    }
    uint64_t missing = bucket->capacity - bucket->credit, passed = now - bucket->filled;
    bucket->credit += passed > missing / bucket->count ? missing : passed * bucket->count;
    bucket->filled = now;
    CHECK(bucket->credit <= bucket->capacity);
}

bool bucket_take(struct bucket *bucket, uint64_t now)
{
    fill(bucket, now);
    if (bucket->credit < bucket->period) {
        return false;
    }
    bucket->credit -= bucket->period;
    return true;
}

uint64_t bucket_wait(struct bucket *bucket, uint64_t now)
{
    fill(bucket, now);
    if (bucket->credit >= bucket->period) {
        return 0;
    }
    if (bucket->count == 0 || bucket->capacity < bucket->period) {
        return UINT64_MAX;
    }
    uint64_t missing = bucket->period - bucket->credit;
    return missing / bucket->count + (missing % bucket->count > 0);
}

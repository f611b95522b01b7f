/* SPDX-License-Identifier: Apache-2.0
 *
 * The token bucket that lets a trickle of orders past an engine that is away. It promises: in any
 * t seconds at most rate × t + burst tokens are taken. */
#include "service/limiter.h"

#include "base/check.h"

#define SECOND_MS UINT64_C(1000)

void limiter_init(struct limiter *limiter, int64_t rate, int64_t servers, int64_t now_ms)
{
    CHECK(rate >= 0 && rate <= INT64_MAX / 1000 && servers >= 1 && servers <= INT64_MAX / 1000);
    uint64_t count = (uint64_t)rate, period = SECOND_MS * (uint64_t)servers;
    uint64_t tenth = count * (SECOND_MS / 10);
    uint64_t capacity = tenth > period ? tenth : period;

    *limiter = (struct limiter){.let = 0};
    bucket_init(&limiter->bucket, count, period, rate > 0 ? capacity : 0, (uint64_t)now_ms);
}

bool limiter_take(struct limiter *limiter, int64_t now_ms)
{
    bool taken = bucket_take(&limiter->bucket, (uint64_t)now_ms);

    limiter->let += taken;
    limiter->refused += !taken;
    return taken;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The token bucket that lets a trickle of orders past an engine that is away. It promises: in any
 * t seconds at most rate × t + burst tokens are taken. Tokens are counted in millionths, so that a
 * rate that is divided among many servers loses nothing. */
#include "service/limiter.h"

#include "base/check.h"

#define MICRO INT64_C(1000000)

void limiter_init(struct limiter *limiter, int64_t rate, int64_t servers, int64_t now_ms)
{
    CHECK(rate >= 0 && rate <= INT64_MAX / MICRO && servers >= 1);
    int64_t rate_micro = rate * MICRO / servers;
    int64_t burst_micro = rate_micro / 10 > MICRO ? rate_micro / 10 : MICRO;

    *limiter = (struct limiter){.rate_micro = rate_micro, .filled_ms = now_ms};
    limiter->burst_micro = rate > 0 ? burst_micro : 0;
    limiter->tokens_micro = limiter->burst_micro;
}

static void fill(struct limiter *limiter, int64_t now_ms)
{
    int64_t passed_ms = now_ms - limiter->filled_ms;

    if (passed_ms <= 0 || limiter->rate_micro == 0) {
        return;
    }
    int64_t missing = limiter->burst_micro - limiter->tokens_micro;
    __int128 gained = (__int128)passed_ms * limiter->rate_micro / 1000;
    limiter->tokens_micro += gained < missing ? (int64_t)gained : missing;
    limiter->filled_ms = now_ms;
}

bool limiter_take(struct limiter *limiter, int64_t now_ms)
{
    fill(limiter, now_ms);
    CHECK(limiter->tokens_micro >= 0 && limiter->tokens_micro <= limiter->burst_micro);
    if (limiter->tokens_micro < MICRO) {
        limiter->refused++;
        return false;
    }
    limiter->tokens_micro -= MICRO;
    limiter->let++;
    return true;
}

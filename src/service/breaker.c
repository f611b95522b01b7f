/* SPDX-License-Identifier: Apache-2.0
 *
 * The circuit breaker in front of the engine.
 *
 *                    failures >= their share of the window
 *             ┌─────────────────────────────────────────────────┐
 *             │                                                 v
 *        ┌────────┐   BREAKER_TRIALS calls went well     ┌─────────────┐
 *        │ CLOSED │<──────────────┐          ┌──────────>│    OPEN     │
 *        └────────┘               │   one    │           └─────────────┘
 *                                 │  failed  │                  │ open_for is over
 *                              ┌───────────────┐                │
 *                              │   HALF OPEN   │<───────────────┘
 *                              └───────────────┘
 *
 * While it is closed every call counts in a bucket of the window. While it is half open a few
 * calls at a time are let through; if none of them is noted for as long as it was open, others
 * are, so that a trial that was never made cannot keep it from closing. */
#include "service/breaker.h"

#include "base/check.h"

#include <string.h>

#define BIT(state) (1U << (state))

/* Which states each state can go to. */
static const unsigned breaker_moves[BREAKER_STATES] = {
    [BREAKER_CLOSED] = BIT(BREAKER_OPEN),
    [BREAKER_OPEN] = BIT(BREAKER_HALF_OPEN),
    [BREAKER_HALF_OPEN] = BIT(BREAKER_CLOSED) | BIT(BREAKER_OPEN),
};

const char *breaker_state_name(enum breaker_state state)
{
    static const char *const names[] = {
        [BREAKER_CLOSED] = "closed", [BREAKER_OPEN] = "open", [BREAKER_HALF_OPEN] = "half-open"};
    return names[state];
}

/* What must be true in each state after every move and every note. */
static void breaker_check(const struct breaker *breaker)
{
    CHECK(breaker->state < BREAKER_STATES);
    CHECK(breaker->succeeded <= BREAKER_TRIALS);
    CHECK(breaker->state == BREAKER_HALF_OPEN || breaker->trials == 0);
}

static void move(struct breaker *breaker, enum breaker_state to, int64_t now_ms)
{
    CHECK(breaker_moves[breaker->state] & BIT(to));
    breaker->state = to;
    breaker->since_ms = now_ms;
    breaker->opened += to == BREAKER_OPEN;
    breaker->trials = breaker->succeeded = 0;
    memset(breaker->buckets, 0, sizeof breaker->buckets);
    breaker_check(breaker);
}

static int64_t bucket_ms(const struct breaker *breaker)
{
    int64_t ms = breaker->options.window_ms / BREAKER_BUCKETS;
    return ms > 0 ? ms : 1;
}

void breaker_init(struct breaker *breaker, const struct breaker_options *options, int64_t now_ms)
{
    *breaker = (struct breaker){.options = *options, .since_ms = now_ms};
    breaker->newest = now_ms / bucket_ms(breaker);
}

/* Empties the buckets that time has passed over since the last look. */
static struct breaker_bucket *current_bucket(struct breaker *breaker, int64_t now_ms)
{
    int64_t number = now_ms / bucket_ms(breaker);
    int64_t passed = number - breaker->newest;

    for (int64_t i = 1; i <= passed && i <= BREAKER_BUCKETS; i++) {
        breaker->buckets[(breaker->newest + i) % BREAKER_BUCKETS] = (struct breaker_bucket){0};
    }
    if (passed > BREAKER_BUCKETS) {
        memset(breaker->buckets, 0, sizeof breaker->buckets);
    }
    breaker->newest = passed > 0 ? number : breaker->newest;
    return &breaker->buckets[breaker->newest % BREAKER_BUCKETS];
}

static bool fails_too_often(const struct breaker *breaker)
{
    uint64_t calls = 0, failures = 0;

    for (size_t i = 0; i < BREAKER_BUCKETS; i++) {
        calls += breaker->buckets[i].calls;
        failures += breaker->buckets[i].failures;
    }
    return calls >= BREAKER_CALLS_MIN &&
           failures * 100 >= (uint64_t)breaker->options.failures * calls;
}

bool breaker_allows(struct breaker *breaker, int64_t now_ms)
{
    if (breaker->state == BREAKER_OPEN &&
        now_ms - breaker->since_ms >= breaker->options.open_for_ms) {
        move(breaker, BREAKER_HALF_OPEN, now_ms);
    }
    if (breaker->state == BREAKER_HALF_OPEN) {
        bool lost = now_ms - breaker->tried_ms >= breaker->options.open_for_ms;
        breaker->trials = lost ? 0 : breaker->trials;
        if (breaker->trials >= BREAKER_TRIALS) {
            return false;
        }
        breaker->trials++;
        breaker->tried_ms = now_ms;
    }
    return breaker->state != BREAKER_OPEN;
}

void breaker_note(struct breaker *breaker, bool succeeded, int64_t now_ms)
{
    switch (breaker->state) {
    case BREAKER_CLOSED: {
        struct breaker_bucket *bucket = current_bucket(breaker, now_ms);
        bucket->calls++;
        bucket->failures += !succeeded;
        if (!succeeded && fails_too_often(breaker)) {
            move(breaker, BREAKER_OPEN, now_ms);
        }
        break;
    }
    case BREAKER_HALF_OPEN:
        if (!succeeded) {
            move(breaker, BREAKER_OPEN, now_ms);
        } else if (++breaker->succeeded >= BREAKER_TRIALS) {
            move(breaker, BREAKER_CLOSED, now_ms);
        } else {
            breaker->trials -= breaker->trials > 0;
        }
        break;
    default: /* open: an answer to a call from before */
        break;
    }
    breaker_check(breaker);
}

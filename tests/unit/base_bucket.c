/* SPDX-License-Identifier: Apache-2.0
 *
 * The token bucket: exact at every rate, however often it is asked. */
#include "base/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)

static unsigned take_many(struct bucket *bucket, uint64_t now, unsigned wanted)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < wanted; i++) {
        taken += bucket_take(bucket, now);
    }
    return taken;
}

static void it_begins_full_and_holds_no_more(void **state)
{
    struct bucket bucket;
    (void)state;

    bucket_init(&bucket, 10, SECOND, 3 * SECOND, 5);
    assert_int_equal(take_many(&bucket, 5, 10), 3);
    assert_int_equal(take_many(&bucket, 5 + SECOND / 10 - 1, 10), 0);
    assert_int_equal(take_many(&bucket, 5 + SECOND / 10, 10), 1);
    assert_int_equal(take_many(&bucket, 5 + 100 * SECOND, 10), 3);
}

/* Asked a thousand times a second, one an hour is still one an hour. */
static void a_slow_rate_loses_nothing_to_rounding(void **state)
{
    struct bucket bucket;
    unsigned taken = 0;
    (void)state;

    bucket_init(&bucket, 7, HOUR, 2 * HOUR, 0);
    assert_int_equal(take_many(&bucket, 0, 3), 2);
    for (uint64_t now = 0; now <= HOUR; now += SECOND / 1000) {
        taken += bucket_take(&bucket, now);
    }
    assert_int_equal(taken, 7);
}

static void it_tells_how_long_to_wait(void **state)
{
    struct bucket bucket;
    (void)state;

    bucket_init(&bucket, 3, SECOND, SECOND, 0);
    assert_int_equal(bucket_wait(&bucket, 0), 0);
    assert_true(bucket_take(&bucket, 0));
    uint64_t wait = bucket_wait(&bucket, 0);
    assert_int_equal(wait, SECOND / 3 + 1);
    assert_false(bucket_take(&bucket, wait - 1));
    assert_true(bucket_take(&bucket, wait));
}

static void without_a_rate_there_is_never_one(void **state)
{
    struct bucket bucket;
    (void)state;

    bucket_init(&bucket, 0, SECOND, 0, 0);
    assert_false(bucket_take(&bucket, UINT64_MAX));
    assert_true(bucket_wait(&bucket, UINT64_MAX) == UINT64_MAX);
}

static void a_clock_that_goes_back_gives_nothing(void **state)
{
    struct bucket bucket;
    (void)state;

    bucket_init(&bucket, 1, SECOND, SECOND, 10 * SECOND);
    assert_true(bucket_take(&bucket, 10 * SECOND));
    assert_false(bucket_take(&bucket, 0));
    assert_false(bucket_take(&bucket, 11 * SECOND - 1));
    assert_true(bucket_take(&bucket, 11 * SECOND));
}

static void a_pause_of_centuries_fills_it_and_no_more(void **state)
{
    struct bucket bucket;
    (void)state;

    bucket_init(&bucket, 1000000, SECOND, 5 * SECOND, 0);
    assert_int_equal(take_many(&bucket, UINT64_MAX, 10), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_full_and_holds_no_more),
        cmocka_unit_test(a_slow_rate_loses_nothing_to_rounding),
        cmocka_unit_test(it_tells_how_long_to_wait),
        cmocka_unit_test(without_a_rate_there_is_never_one),
        cmocka_unit_test(a_clock_that_goes_back_gives_nothing),
        cmocka_unit_test(a_pause_of_centuries_fills_it_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

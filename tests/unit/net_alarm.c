/* SPDX-License-Identifier: Apache-2.0
 *
 * Alarms: each rings once, no earlier than it was set for, in the order of their times, however
 * many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "net/alarm.h"

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define MANY 100000

struct bell {
    struct alarm alarm;
    uint64_t rang_ms;
    unsigned count;
    unsigned order;       /* how many had rung before it */
    struct bell *to_stop; /* stopped when it rings; or NULL */
    struct bell *to_set;  /* set to ring at once when it rings; or NULL */
};

struct tower {
    uv_loop_t loop;
    struct alarms alarms;
    unsigned rang;
    bool ringing;
};

static struct tower *tower;

static void ring(struct alarm *alarm)
{
    struct bell *bell = LIST_ENTRY(alarm, struct bell, alarm);

    assert_false(tower->ringing);
    assert_false(alarm_is_set(alarm));
    tower->ringing = true;
    bell->rang_ms = uv_now(&tower->loop);
    bell->order = tower->rang++;
    bell->count++;
    if (bell->to_stop != NULL) {
        alarm_stop(&bell->to_stop->alarm);
    }
    if (bell->to_set != NULL) {
        alarm_set(&tower->alarms, &bell->to_set->alarm, 0);
    }
    tower->ringing = false;
}

static int begin(void **state)
{
    (void)state;
    tower = calloc(1, sizeof *tower);
    uv_loop_init(&tower->loop);
    alarms_init(&tower->alarms, &tower->loop);
    return 0;
}

static int end(void **state)
{
    (void)state;
    alarms_close(&tower->alarms, NULL);
    uv_run(&tower->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&tower->loop), 0);
    free(tower);
    return 0;
}

/* Until no alarm is set any more. */
static void run(void)
{
    uv_run(&tower->loop, UV_RUN_DEFAULT);
    assert_int_equal(tower->alarms.set.count, 0);
}

static void they_ring_in_the_order_of_their_times(void **state)
{
    static const uint64_t delays_ms[] = {30, 5, 20, 1, 12};
    static const unsigned order[] = {4, 1, 3, 0, 2};
    struct bell bells[5] = {{.count = 0}};
    uint64_t now_ms = uv_now(&tower->loop);

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        alarm_init(&bells[i].alarm, ring);
        alarm_set(&tower->alarms, &bells[i].alarm, delays_ms[i]);
        assert_int_equal(alarm_due_ms(&bells[i].alarm), now_ms + delays_ms[i]);
    }
    run();
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(bells[i].count, 1);
        assert_int_equal(bells[i].order, order[i]);
        assert_true(bells[i].rang_ms >= now_ms + delays_ms[i]);
    }
}

static void one_that_is_stopped_does_not_ring(void **state)
{
    struct bell early = {.count = 0}, late = {.count = 0}, other = {.count = 0};

    (void)state;
    alarm_init(&early.alarm, ring);
    alarm_init(&late.alarm, ring);
    alarm_init(&other.alarm, ring);
    other.to_stop = &late;
    alarm_set(&tower->alarms, &early.alarm, 1);
    alarm_set(&tower->alarms, &other.alarm, 2);
    alarm_set(&tower->alarms, &late.alarm, 3); /* the other stops it before */
    alarm_stop(&early.alarm);
    alarm_stop(&early.alarm);
    run();
    assert_int_equal(early.count, 0);
    assert_int_equal(other.count, 1);
    assert_int_equal(late.count, 0);
}

static void one_set_again_rings_only_then(void **state)
{
    struct bell bell = {.count = 0};

    (void)state;
    alarm_init(&bell.alarm, ring);
    uint64_t now_ms = uv_now(&tower->loop);
    alarm_set(&tower->alarms, &bell.alarm, 1);
    alarm_set(&tower->alarms, &bell.alarm, 15);
    run();
    assert_int_equal(bell.count, 1);
    assert_true(bell.rang_ms >= now_ms + 15);
}

static void sooner_moves_it_only_forward(void **state)
{
    struct bell bell = {.count = 0};

    (void)state;
    alarm_init(&bell.alarm, ring);
    uint64_t now_ms = uv_now(&tower->loop);
    alarm_set_sooner(&tower->alarms, &bell.alarm, 20);
    assert_int_equal(alarm_due_ms(&bell.alarm), now_ms + 20);
    alarm_set_sooner(&tower->alarms, &bell.alarm, 30);
    assert_int_equal(alarm_due_ms(&bell.alarm), now_ms + 20);
    alarm_set_sooner(&tower->alarms, &bell.alarm, 2);
    assert_int_equal(alarm_due_ms(&bell.alarm), now_ms + 2);
    run();
    assert_int_equal(bell.count, 1);
}

/* Otherwise two that set each other would keep the loop for ever. */
static void one_set_by_another_rings_in_a_later_turn(void **state)
{
    struct bell first = {.count = 0}, second = {.count = 0};

    (void)state;
    alarm_init(&first.alarm, ring);
    alarm_init(&second.alarm, ring);
    first.to_set = &second;
    alarm_set(&tower->alarms, &first.alarm, 0);
    run();
    assert_int_equal(first.count, 1);
    assert_int_equal(second.count, 1);
    assert_true(second.rang_ms > first.rang_ms);
}

static void a_hundred_thousand_ring_each_once(void **state)
{
    struct bell *bells = calloc(MANY, sizeof *bells);
    unsigned stopped = 0;

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        alarm_init(&bells[i].alarm, ring);
        alarm_set(&tower->alarms, &bells[i].alarm, i * 7919 % 20);
    }
    for (unsigned i = 0; i < MANY; i += 3, stopped++) {
        alarm_stop(&bells[i].alarm);
    }
    run();
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(bells[i].count, i % 3 != 0);
    }
    assert_int_equal(tower->rang, MANY - stopped);
    free(bells);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(they_ring_in_the_order_of_their_times),
        CASE(one_that_is_stopped_does_not_ring),
        CASE(one_set_again_rings_only_then),
        CASE(sooner_moves_it_only_forward),
        CASE(one_set_by_another_rings_in_a_later_turn),
        CASE(a_hundred_thousand_ring_each_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

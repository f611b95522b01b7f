/* SPDX-License-Identifier: Apache-2.0
 *
 * The admission worker: rooms with a rate or a bound of those inside admit by themselves, all
 * others are left alone, and where there is nothing to do nothing is done. */
#include "service_fixture.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The users that were admitted, in order: "ann bob ". */
static char admitted[4096];

static void note(void *context, const struct command *command, const struct reply *reply)
{
    (void)context;
    assert_int_equal(command_id(command->spec), ROOM_TICK);
    for (size_t i = 0; i < reply->count; i += 2) {
        struct hf_bytes user = reply_bytes(reply, i);
        size_t size = strlen(admitted);
        snprintf(admitted + size, sizeof admitted - size, "%.*s ", (int)user.size, user.data);
    }
}

static int setup(void **state)
{
    sale_setup(state);
    struct sale_world *w = *state;
    w->settings.admission_every_ms = 10;
    w->settings.carried_out = note;
    admitted[0] = '\0';
    return 0;
}

static struct sale_answer *run(struct sale_world *w, const char *format, const char *event, int n)
{
    char words[256];

    snprintf(words, sizeof words, format, event, n);
    return sale_run(w, words);
}

static void join(struct sale_world *w, const char *event, int from, int to)
{
    for (int n = from; n < to; n++) {
        assert_int_equal(run(w, "ROOM.JOIN %s u%d", event, n)->code, HF_OK);
    }
}

/* Turns until that many are admitted in all; the test's time limit is the only one. */
static void wait_admitted(struct sale_world *w, unsigned count)
{
    while (service_self(w->engine)->admission.admitted < count) {
        sale_turn(w);
        engine_wait(w->engine, 5);
    }
}

static void expect_order(int from, int to)
{
    char wanted[4096] = "";

    for (int n = from; n < to; n++) {
        size_t size = strlen(wanted);
        snprintf(wanted + size, sizeof wanted - size, "u%d ", n);
    }
    assert_string_equal(admitted, wanted);
}

static void a_room_with_a_rate_admits_by_itself(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_NO_LEDGER);
    sale_expect(w, "ROOM.OPEN gala RATE 50", "1 0 0");
    join(w, "gala", 0, 60);
    wait_admitted(w, 60);
    expect_order(0, 60);
}

static void those_inside_are_never_more_than_allowed(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_NO_LEDGER);
    sale_expect(w, "ROOM.OPEN gala INSIDE 3", "1 0 0");
    join(w, "gala", 0, 9);
    wait_admitted(w, 3);
    for (int i = 0; i < 50; i++) {
        sale_turn(w);
    }
    expect_order(0, 3);
    for (int n = 0; n < 6; n++) {
        assert_int_equal(run(w, "ROOM.DONE %s u%d", "gala", n)->code, HF_OK);
        wait_admitted(w, 4 + (unsigned)n);
    }
    expect_order(0, 9);
}

static void rooms_without_limits_are_left_alone(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_NO_LEDGER);
    sale_expect(w, "ROOM.OPEN gated GATE", "1 0 0");
    join(w, "gated", 0, 2);
    join(w, "plain", 0, 2);
    sale_expect(w, "ROOM.OPEN paused RATE 50 PAUSED", "1 0 0");
    join(w, "paused", 0, 2);
    sale_expect(w, "ROOM.OPEN early RATE 50 START 9000000000000", "1 0 0");
    join(w, "early", 0, 2);
    sale_expect(w, "ROOM.OPEN gala RATE 50", "1 0 0");
    join(w, "gala", 0, 60);
    wait_admitted(w, 60);
    expect_order(0, 60);
    sale_expect(w, "ROOM.OPEN paused RATE 50", "1 2 0");
    wait_admitted(w, 62);
    sale_expect(w, "ROOM.OPEN early RATE 50", "1 2 0");
    wait_admitted(w, 64);
    sale_expect(w, "ROOM.OPEN gated GATE", "1 2 0");
    sale_expect(w, "ROOM.OPEN plain", "1 2 0");
}

static void rooms_of_a_former_run_are_found(void **state)
{
    struct sale_world *w = *state;

    snprintf(w->engine_url, sizeof w->engine_url, "embedded:%s/data?fsync=no", w->folder);
    w->settings.admission_every_ms = 0;
    sale_open(w, SALE_NO_LEDGER);
    for (int n = 0; n < 250; n++) { /* more than a page */
        assert_int_equal(run(w, "ROOM.OPEN %s%d INSIDE 1", "room", n)->code, HF_OK);
        assert_int_equal(run(w, "ROOM.JOIN %s%d ann", "room", n)->code, HF_OK);
    }
    sale_close(w);
    w->settings.admission_every_ms = 10;
    sale_open(w, SALE_NO_LEDGER);
    wait_admitted(w, 250);
    for (int n = 0; n < 250; n++) {
        assert_int_equal(run(w, "ROOM.DONE %s%d ann", "room", n)->code, HF_OK);
        assert_string_equal(w->last.text, "1 1");
    }
}

/* ---- how long it takes ----------------------------------------------------------------------- */

/* estimated_wait_s of the last reply, the eighth of its values, each behind a space; 0 where it has
 * fewer. */
static int64_t last_wait_s(struct sale_world *w)
{
    const char *at = w->last.text;

    for (int i = 0; i < 8 && at != NULL; i++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL ? strtoll(at, NULL, 10) : 0;
}

/* Turns until the worker has seen how full the room is: RATE alone says 1. */
static int64_t estimate(struct sale_world *w)
{
    do {
        sale_turn(w);
        sale_run(w, "ROOM.STATS gala");
    } while (last_wait_s(w) == 1);
    return last_wait_s(w);
}

static void waits_are_estimated_by_those_who_are_admitted(void **state)
{
    struct sale_world *w = *state;
    int64_t wait_s = -1;
    int n = 0;

    sale_open(w, SALE_NO_LEDGER);
    sale_expect(w, "ROOM.OPEN gala RATE 1000 INSIDE 1", "1 0 0");
    join(w, "gala", 0, 200);
    wait_admitted(w, 1);
    assert_int_equal(estimate(w), -1); /* nobody was seen to be admitted yet */
    while (wait_s < 0 && n < 150) {
        uint64_t began_ns = clock_nanoseconds();
        run(w, "ROOM.DONE %s u%d", "gala", n++);
        wait_admitted(w, 1 + (unsigned)n);
        while (clock_nanoseconds() - began_ns < 50000000) { /* no more than 20 a second */
            sale_turn(w);
        }
        wait_s = estimate(w);
    }
    assert_true(wait_s >= (200 - n - 1) / 20);
    sale_run(w, "ROOM.OPEN gala RATE 1000 INSIDE 1 PAUSED");
    while (service_self(w->engine)->admission.ticks == 0 || last_wait_s(w) != -1) {
        sale_turn(w);
        sale_run(w, "ROOM.STATS gala");
    }
}

static void an_engine_that_fails_is_asked_again(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_NO_LEDGER);
    sale_expect(w, "ROOM.OPEN gala INSIDE 2", "1 0 0");
    sale_fail(w, FAULT_DOWN, ROOM_STATS, 1);
    join(w, "gala", 0, 1);
    wait_admitted(w, 1);
    sale_fail(w, FAULT_DONE_UNHEARD, ROOM_TICK, 1);
    join(w, "gala", 1, 2);
    while (w->fault_count > 0 && w->fault != FAULT_NONE) {
        sale_turn(w);
        engine_wait(w->engine, 5);
    }
    sale_expect(w, "ROOM.OPEN gala INSIDE 3", "1 0 2"); /* u1 is admitted, whoever knows it */
    join(w, "gala", 2, 3);
    wait_admitted(w, 2);
    assert_string_equal(admitted, "u0 u2 ");
}

static void where_there_is_no_room_nothing_is_done(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_NO_LEDGER);
    for (int i = 0; i < 20; i++) {
        sale_turn(w);
        engine_wait(w->engine, 10);
    }
    assert_in_range(w->commands, 1, 10); /* the list, now and then */
    assert_true(service_self(w->engine)->admission.rooms.count == 0);
}

static void without_the_setting_nothing_is_admitted(void **state)
{
    struct sale_world *w = *state;

    w->settings.admission_every_ms = 0;
    sale_open(w, SALE_NO_LEDGER);
    sale_expect(w, "ROOM.OPEN gala RATE 50", "1 0 0");
    join(w, "gala", 0, 1);
    uint64_t before = w->commands;
    for (int i = 0; i < 20; i++) {
        sale_turn(w);
        engine_wait(w->engine, 10);
    }
    assert_int_equal(w->commands, before);
    sale_expect(w, "ROOM.OPEN gala RATE 50", "1 1 0");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sale_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_room_with_a_rate_admits_by_itself),
        TEST(those_inside_are_never_more_than_allowed),
        TEST(rooms_without_limits_are_left_alone),
        TEST(rooms_of_a_former_run_are_found),
        TEST(waits_are_estimated_by_those_who_are_admitted),
        TEST(an_engine_that_fails_is_asked_again),
        TEST(where_there_is_no_room_nothing_is_done),
        TEST(without_the_setting_nothing_is_admitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

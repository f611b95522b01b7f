/* SPDX-License-Identifier: Apache-2.0
 *
 * ROOM.ADMIT with an id: the same command again admits nobody and answers with the same passes, as
 * far as they are valid, for the retry window. */
#include "core_fixture.h"

#include "base/limits.h"

#include <stdio.h>
#include <string.h>

/* Four in line, of whom two are admitted; `first` is the answer. */
static void admit_two(struct fixture *f, char first[256])
{
    at(f, 1000);
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala bob");
    run(f, "ROOM.JOIN gala cat");
    run(f, "ROOM.JOIN gala dan");
    snprintf(first, 256, "%s", run(f, "ROOM.ADMIT gala 2 ID wave-1"));
    assert_memory_equal(first, "ann ", 4);
}

/* What ROOM.STATS tells at its end of a room without START, ORDER, PASS and GATE. */
#define SETTINGS "start_ms 0 random 0 pass_ms 600000 gate 0"

static void the_same_id_is_answered_with_the_same_passes(void **state)
{
    struct fixture *f = *state;
    char first[256];

    admit_two(f, first);
    expect_unchanged(f, "ROOM.ADMIT gala 2 ID wave-1", first);
    expect(f, "ROOM.POSITION gala cat", "1 2");
    expect(f, "ROOM.ADMIT gala 2 ID wave-2", "cat * dan *");
    expect_unchanged(f, "ROOM.ADMIT gala 2 ID wave-1", first);
    expect(f, "ROOM.ADMIT ball 2 ID wave-1", ""); /* an id is of its room */
}

static void other_arguments_are_a_conflict(void **state)
{
    struct fixture *f = *state;
    char first[256];

    admit_two(f, first);
    expect_unchanged(f, "ROOM.ADMIT gala 3 ID wave-1", "0 INVALID_STATE");
    expect_unchanged(f, "ROOM.ADMIT gala 2 PASS 600 ID wave-1", "0 INVALID_STATE");
    expect(f, "ROOM.ADMIT gala 1 PASS 60 ID wave-2", "cat *");
    expect_unchanged(f, "ROOM.ADMIT gala 1 ID wave-2", "0 INVALID_STATE");
    expect_unchanged(f, "ROOM.ADMIT gala 1 PASS 60s ID wave-2", "cat *");
    /* What is more than a call admits makes no difference. */
    expect(f, "ROOM.ADMIT gala 4000 ID wave-3", "dan *");
    expect_unchanged(f, "ROOM.ADMIT gala 5000 ID wave-3", "dan *");
}

static void who_came_later_is_not_admitted_by_a_retry(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    expect(f, "ROOM.ADMIT gala 5 ID wave-1", "");
    expect(f, "LIST rooms", "end");
    run(f, "ROOM.JOIN gala ann");
    expect_unchanged(f, "ROOM.ADMIT gala 5 ID wave-1", "");
    run(f, "ROOM.OPEN fair INSIDE 1");
    run(f, "ROOM.JOIN fair ann");
    run(f, "ROOM.JOIN fair bob");
    expect(f, "ROOM.ADMIT fair 5 ID wave-1", "ann *");
    run(f, "ROOM.DONE fair ann");
    expect_unchanged(f, "ROOM.ADMIT fair 5 ID wave-1", "");
    expect(f, "ROOM.ADMIT fair 5 ID wave-2", "bob *");
}

static void passes_that_are_over_are_left_out(void **state)
{
    struct fixture *f = *state;
    char first[256];

    admit_two(f, first);
    run(f, "ROOM.DONE gala ann");
    expect(f, "ROOM.ADMIT gala 2 ID wave-1", "bob *");
    run(f, "ROOM.JOIN gala bob");
    run(f, "ROOM.ADMIT gala 9 PASS 10s ID wave-2"); /* another pass in place of the first */
    expect(f, "ROOM.ADMIT gala 2 ID wave-1", "");
    expect(f, "ROOM.ADMIT gala 9 PASS 10s ID wave-2", "cat * dan * bob *");
    run(f, "ROOM.DONE gala dan");
    expect(f, "ROOM.ADMIT gala 9 PASS 10s ID wave-2", "cat * bob *");
    at(f, 11000);
    expect(f, "ROOM.ADMIT gala 9 PASS 10s ID wave-2", "");
}

static void an_admission_is_remembered_for_the_retry_window(void **state)
{
    struct fixture *f = *state;
    char first[256];

    admit_two(f, first);
    at(f, 1000 + RETRY_WINDOW_MS - 1);
    expect(f, "ROOM.ADMIT gala 2 ID wave-1", first);
    at(f, 1000 + RETRY_WINDOW_MS);
    expect(f, "ROOM.ADMIT gala 2 ID wave-1", "cat * dan *");
    expect(f, "ROOM.CHECK gala ann nothing", "0");
    at(f, 1000 + 3 * RETRY_WINDOW_MS); /* nothing is left of the room */
    expect(f, "ROOM.STATS gala",
           "waiting 0 inside 0 admitted 0 rate 0 inside_max 0 started 1 paused 0 "
           "estimated_wait_s -1 " SETTINGS);
}

static void a_snapshot_remembers_it_in_its_order(void **state)
{
    struct fixture *f = *state;
    char first[256];

    admit_two(f, first);
    run(f, "ROOM.ADMIT gala 2 PASS 1h ID wave-2");
    run(f, "ROOM.DONE gala cat");
    run(f, "ROOM.JOIN gala cat"); /* the first pass that is free is now the last admitted */
    char third[256];
    snprintf(third, sizeof third, "%s", run(f, "ROOM.ADMIT gala 1 ID wave-3"));
    snapshot_and_restore(f);
    expect_unchanged(f, "ROOM.ADMIT gala 2 ID wave-1", first);
    expect_unchanged(f, "ROOM.ADMIT gala 2 PASS 1h ID wave-2", "dan *");
    expect_unchanged(f, "ROOM.ADMIT gala 1 ID wave-3", third);
    run(f, "ROOM.DONE gala ann");
    expect(f, "ROOM.ADMIT gala 2 ID wave-1", "bob *");
    at(f, 1000 + RETRY_WINDOW_MS);
    snapshot_and_restore(f);
    expect(f, "ROOM.ADMIT gala 2 ID wave-1", "");
}

static void a_full_core_refuses_and_remembers_nothing(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.JOIN gala ann");
    core_limit_memory(f->core, 1);
    expect_unchanged(f, "ROOM.ADMIT gala 1 ID wave-1", "-BUSY");
    expect_unchanged(f, "ROOM.ADMIT ball 1 ID wave-1", "-BUSY");
    core_limit_memory(f->core, 0);
    expect(f, "ROOM.ADMIT gala 1 ID wave-1", "ann *");
    core_limit_memory(f->core, 1);
    expect_unchanged(f, "ROOM.ADMIT gala 1 ID wave-1", "ann *");
    core_limit_memory(f->core, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_same_id_is_answered_with_the_same_passes),
        CASE(other_arguments_are_a_conflict),
        CASE(who_came_later_is_not_admitted_by_a_retry),
        CASE(passes_that_are_over_are_left_out),
        CASE(an_admission_is_remembered_for_the_retry_window),
        CASE(a_snapshot_remembers_it_in_its_order),
        CASE(a_full_core_refuses_and_remembers_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

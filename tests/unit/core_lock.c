/* SPDX-License-Identifier: Apache-2.0
 *
 * LOCK: one holder, who alone can unlock, a fence that grows with every grant, expiry to the
 * millisecond. */
#include "core_fixture.h"

#include <ctype.h>
#include <stdio.h>

static void a_free_lock_is_taken_with_its_id_and_a_fence(void **state)
{
    struct fixture *f = *state;

    expect(f, "LOCK.TRY seat-1 10 ID k1", "k1 1");
    expect(f, "LOCK.GET seat-1", "k1 1 10000");
}

static void a_lock_that_somebody_else_holds_is_nil(void **state)
{
    struct fixture *f = *state;

    run(f, "LOCK.TRY seat-1 10 ID k1");
    expect(f, "LOCK.TRY seat-1 10 ID k2", "nil");
    expect(f, "LOCK.TRY seat-1 10", "nil");
    expect(f, "LOCK.GET seat-1", "k1 1 10000");
}

static void resources_are_locked_one_by_one(void **state)
{
    struct fixture *f = *state;

    expect(f, "LOCK.TRY seat-1 10 ID k1", "k1 1");
    expect(f, "LOCK.TRY seat-2 10 ID k1", "k1 2");
    expect(f, "LOCK.UNLOCK seat-1 k1", "1");
    expect(f, "LOCK.GET seat-2", "k1 2 10000");
}

static void trying_again_with_the_same_id_answers_as_before_and_does_not_extend(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    expect(f, "LOCK.TRY seat-1 10 ID k1", "k1 1");
    at(f, 5000);
    expect(f, "LOCK.TRY seat-1 10 ID k1", "k1 1");
    expect(f, "LOCK.TRY seat-1 99 ID k1", "k1 1");
    expect(f, "LOCK.TRY seat-1 10ms ID k1", "k1 1");
    expect(f, "LOCK.GET seat-1", "k1 1 6000");
    at(f, 11000);
    expect(f, "LOCK.GET seat-1", "nil");
}

/* 8-4-4-4-12 lower-case digits, version 4, variant 10. */
static void assert_uuid4(const char *text)
{
    assert_int_equal(strlen(text), 36);
    for (size_t i = 0; i < 36; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            assert_int_equal(text[i], '-');
        } else {
            assert_true(isxdigit((unsigned char)text[i]) && !isupper((unsigned char)text[i]));
        }
    }
    assert_int_equal(text[14], '4');
    assert_non_null(strchr("89ab", text[19]));
}

static void without_an_id_a_random_uuid_of_version_4_is_made(void **state)
{
    struct fixture *f = *state;
    char first[64], second[64], words[128];

    assert_int_equal(sscanf(run(f, "LOCK.TRY seat-1 10"), "%63s", first), 1);
    assert_uuid4(first);
    assert_int_equal(sscanf(run(f, "LOCK.TRY seat-2 10"), "%63s", second), 1);
    assert_uuid4(second);
    assert_string_not_equal(first, second);
    snprintf(words, sizeof words, "LOCK.EXTEND seat-1 %s 20", first);
    expect(f, words, "1");
    snprintf(words, sizeof words, "LOCK.UNLOCK seat-1 %s", second);
    expect(f, words, "0");
    snprintf(words, sizeof words, "LOCK.TRY seat-1 20 ID %s", first);
    assert_int_equal(strncmp(run(f, words), first, 36), 0);
    snprintf(words, sizeof words, "LOCK.UNLOCK seat-1 %s", first);
    expect(f, words, "1");
}

static void only_its_own_id_unlocks(void **state)
{
    struct fixture *f = *state;

    run(f, "LOCK.TRY seat-1 10 ID k1");
    expect(f, "LOCK.UNLOCK seat-1 k2", "0");
    expect(f, "LOCK.UNLOCK seat-1 K1", "0");
    expect(f, "LOCK.UNLOCK seat-2 k1", "0");
    expect(f, "LOCK.GET seat-1", "k1 1 10000");
    expect(f, "LOCK.UNLOCK seat-1 k1", "1");
    expect(f, "LOCK.GET seat-1", "nil");
    expect(f, "LOCK.UNLOCK seat-1 k1", "0");
}

static void an_unlocked_lock_is_free_for_the_very_next(void **state)
{
    struct fixture *f = *state;

    run(f, "LOCK.TRY seat-1 10 ID k1");
    run(f, "LOCK.UNLOCK seat-1 k1");
    expect(f, "LOCK.TRY seat-1 10 ID k2", "k2 2");
}

static void extend_moves_the_deadline_later(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 10 ID k1");
    at(f, 2000);
    expect(f, "LOCK.EXTEND seat-1 k1 60", "1");
    expect(f, "LOCK.GET seat-1", "k1 1 60000");
    at(f, 61999);
    expect(f, "LOCK.GET seat-1", "k1 1 1");
    at(f, 62000);
    expect(f, "LOCK.GET seat-1", "nil");
}

static void extend_moves_the_deadline_earlier_too(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 60 ID k1");
    expect(f, "LOCK.EXTEND seat-1 k1 10ms", "1");
    at(f, 1009);
    expect(f, "LOCK.GET seat-1", "k1 1 1");
    at(f, 1010);
    expect(f, "LOCK.GET seat-1", "nil");
}

static void extend_by_anybody_else_is_0_and_changes_nothing(void **state)
{
    struct fixture *f = *state;

    run(f, "LOCK.TRY seat-1 10 ID k1");
    expect(f, "LOCK.EXTEND seat-1 k2 60", "0");
    expect(f, "LOCK.EXTEND seat-2 k1 60", "0");
    expect(f, "LOCK.GET seat-1", "k1 1 10000");
}

static void get_says_how_many_milliseconds_are_left(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 1500ms ID k1");
    expect(f, "LOCK.GET seat-1", "k1 1 1500");
    at(f, 1001);
    expect(f, "LOCK.GET seat-1", "k1 1 1499");
    expect(f, "LOCK.GET seat-2", "nil");
}

static void a_lock_expires_at_the_exact_millisecond(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 10ms ID k1");
    at(f, 1009);
    expect(f, "LOCK.TRY seat-1 10ms ID k2", "nil");
    at(f, 1010);
    expect(f, "LOCK.UNLOCK seat-1 k1", "0");
    expect(f, "LOCK.EXTEND seat-1 k1 10", "0");
    expect(f, "LOCK.TRY seat-1 10ms ID k2", "k2 2");
}

static void fences_grow_over_resources_and_re_locks(void **state)
{
    struct fixture *f = *state;

    expect(f, "LOCK.TRY seat-1 10 ID k1", "k1 1");
    expect(f, "LOCK.TRY seat-2 10 ID k1", "k1 2");
    run(f, "LOCK.UNLOCK seat-1 k1");
    expect(f, "LOCK.TRY seat-1 10 ID k1", "k1 3");
    expect(f, "LOCK.TRY seat-1 10 ID k2", "nil");
    expect(f, "LOCK.TRY seat-3 10 ID k2", "k2 4");
}

static void locks_and_slots_share_one_counter_of_fences(void **state)
{
    struct fixture *f = *state;

    expect(f, "LOCK.TRY seat-1 10 ID k1", "k1 1");
    expect(f, "SEM.ACQUIRE gpu a 1", "1 1 2");
    expect(f, "LOCK.TRY seat-2 10 ID k2", "k2 3");
}

static void fences_go_on_growing_after_a_restore(void **state)
{
    struct fixture *f = *state;

    run(f, "LOCK.TRY seat-1 10 ID k1");
    run(f, "LOCK.TRY seat-2 10 ID k2");
    run(f, "LOCK.UNLOCK seat-2 k2");
    snapshot_and_restore(f);
    expect(f, "LOCK.GET seat-1", "k1 1 10000");
    expect(f, "LOCK.TRY seat-1 10 ID k1", "k1 1");
    expect(f, "LOCK.TRY seat-2 10 ID k2", "k2 3");
}

static void a_restored_lock_expires_when_it_would_have(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 10ms ID a-lock-id-that-is-longer-than-sixteen-bytes");
    snapshot_and_restore(f);
    at(f, 1009);
    expect(f, "LOCK.GET seat-1", "a-lock-id-that-is-longer-than-sixteen-bytes 1 1");
    at(f, 1010);
    expect(f, "LOCK.GET seat-1", "nil");
}

static void a_ttl_is_10_ms_to_30_days(void **state)
{
    struct fixture *f = *state;

    expect(f, "LOCK.TRY seat-1 9ms ID k1", "0 INVALID_TTL");
    expect(f, "LOCK.TRY seat-1 0 ID k1", "0 INVALID_TTL");
    expect(f, "LOCK.TRY seat-1 -5 ID k1", "0 INVALID_TTL");
    expect(f, "LOCK.TRY seat-1 2592001 ID k1", "0 INVALID_TTL");
    expect(f, "LOCK.TRY seat-1 soon ID k1", "-ERR");
    expect(f, "LOCK.GET seat-1", "nil");
    expect(f, "LOCK.TRY seat-1 2592000 ID k1", "k1 1");
    expect(f, "LOCK.EXTEND seat-1 k1 9ms", "0 INVALID_TTL");
    expect(f, "LOCK.GET seat-1", "k1 1 2592000000");
    expect(f, "LOCK.EXTEND seat-1 k1 720h", "1");
    expect(f, "LOCK.EXTEND seat-1 k1 721h", "0 INVALID_TTL");
}

static void ids_that_are_none_are_refused(void **state)
{
    struct fixture *f = *state;
    char words[300] = "LOCK.TRY ";

    expect(f, "LOCK.TRY {seat} 10 ID k1", "0 INVALID_ID");
    expect(f, "LOCK.TRY  10 ID k1", "0 INVALID_ID");
    expect(f, "LOCK.TRY seat-1 10 ID k{1", "0 INVALID_ID");
    expect(f, "LOCK.UNLOCK seat-1 \t", "0 INVALID_ID");
    expect(f, "LOCK.GET \xff", "0 INVALID_ID");
    memset(words + 9, 'x', 129);
    strcpy(words + 9 + 129, " 10 ID k1");
    expect(f, words, "0 INVALID_ID");
    memmove(words + 9, words + 10, strlen(words + 10) + 1);
    expect(f, words, "k1 1");
}

static void a_request_that_is_malformed_changes_nothing(void **state)
{
    struct fixture *f = *state;

    expect(f, "LOCK.TRY seat-1", "-ERR");
    expect(f, "LOCK.TRY seat-1 10 k1", "-ERR");
    expect(f, "LOCK.TRY seat-1 10 ID", "-ERR");
    expect(f, "LOCK.TRY seat-1 10 ID k1 ID k1", "-ERR");
    expect(f, "LOCK.UNLOCK seat-1 k1 k2", "-ERR");
    expect(f, "LOCK.FORCE seat-1", "-ERR");
    expect(f, "lock.try seat-1 10 id k1", "k1 1");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_free_lock_is_taken_with_its_id_and_a_fence),
        CASE(a_lock_that_somebody_else_holds_is_nil),
        CASE(resources_are_locked_one_by_one),
        CASE(trying_again_with_the_same_id_answers_as_before_and_does_not_extend),
        CASE(without_an_id_a_random_uuid_of_version_4_is_made),
        CASE(only_its_own_id_unlocks),
        CASE(an_unlocked_lock_is_free_for_the_very_next),
        CASE(extend_moves_the_deadline_later),
        CASE(extend_moves_the_deadline_earlier_too),
        CASE(extend_by_anybody_else_is_0_and_changes_nothing),
        CASE(get_says_how_many_milliseconds_are_left),
        CASE(a_lock_expires_at_the_exact_millisecond),
        CASE(fences_grow_over_resources_and_re_locks),
        CASE(locks_and_slots_share_one_counter_of_fences),
        CASE(fences_go_on_growing_after_a_restore),
        CASE(a_restored_lock_expires_when_it_would_have),
        CASE(a_ttl_is_10_ms_to_30_days),
        CASE(ids_that_are_none_are_refused),
        CASE(a_request_that_is_malformed_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

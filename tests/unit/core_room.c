/* SPDX-License-Identifier: Apache-2.0
 *
 * ROOM: first come first served, positions that are right whoever leaves, and passes for those let
 * in. */
#include "core_fixture.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the line -------------------------------------------------------------------------------- */

static void joining_answers_position_total_and_a_token(void **state)
{
    struct fixture *f = *state;
    char token[64], other[64];

    assert_int_equal(sscanf(run(f, "ROOM.JOIN gala ann"), "1 1 1 %63s", token), 1);
    assert_int_equal(strlen(token), 32);
    assert_int_equal(strspn(token, "0123456789abcdef"), 32);
    assert_int_equal(sscanf(run(f, "ROOM.JOIN gala bob"), "1 2 2 %63s", other), 1);
    assert_string_not_equal(token, other);
    expect(f, "ROOM.JOIN ball ann", "1 1 1 *");
}

static void the_line_is_in_the_order_of_arrival(void **state)
{
    struct fixture *f = *state;

    run(f, "ROOM.JOIN gala zoe");
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala mia");
    expect(f, "ROOM.POSITION gala zoe", "1 3");
    expect(f, "ROOM.POSITION gala ann", "2 3");
    expect(f, "ROOM.POSITION gala mia", "3 3");
    expect(f, "ROOM.ADMIT gala 9", "zoe * ann * mia *");
}

static void whoever_is_not_in_line_has_no_position(void **state)
{
    struct fixture *f = *state;

    expect(f, "ROOM.POSITION gala ann", "0 NOT_IN_QUEUE");
    run(f, "ROOM.JOIN gala ann");
    expect(f, "ROOM.POSITION gala bob", "0 NOT_IN_QUEUE");
    expect(f, "ROOM.POSITION ball ann", "0 NOT_IN_QUEUE");
}

static void joining_again_is_already_in_queue_and_keeps_the_place(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.JOIN gala ann TTL 10");
    run(f, "ROOM.JOIN gala bob");
    at(f, 5000);
    expect(f, "ROOM.JOIN gala ann TTL 10", "0 ALREADY_IN_QUEUE");
    expect(f, "ROOM.JOIN gala ann MAX 1", "0 ALREADY_IN_QUEUE");
    expect(f, "ROOM.POSITION gala ann", "1 2");
    at(f, 11000); /* the deadline is that of the first */
    expect(f, "ROOM.POSITION gala ann", "0 NOT_IN_QUEUE");
}

static void a_full_queue_takes_nobody(void **state)
{
    struct fixture *f = *state;

    expect(f, "ROOM.JOIN gala ann MAX 2", "1 1 1 *");
    expect(f, "ROOM.JOIN gala bob MAX 2", "1 2 2 *");
    expect(f, "ROOM.JOIN gala cat MAX 2", "0 QUEUE_FULL");
    expect(f, "ROOM.JOIN gala cat MAX 1", "0 QUEUE_FULL");
    expect(f, "ROOM.POSITION gala cat", "0 NOT_IN_QUEUE");
    run(f, "ROOM.LEAVE gala ann");
    expect(f, "ROOM.JOIN gala cat MAX 2", "1 2 2 *");
    expect(f, "ROOM.JOIN gala dan", "1 3 3 *");
}

static void leaving_from_the_middle_moves_up_those_behind(void **state)
{
    struct fixture *f = *state;

    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala bob");
    run(f, "ROOM.JOIN gala cat");
    run(f, "ROOM.JOIN gala dan");
    expect(f, "ROOM.LEAVE gala bob", "1");
    expect(f, "ROOM.POSITION gala ann", "1 3");
    expect(f, "ROOM.POSITION gala cat", "2 3");
    expect(f, "ROOM.POSITION gala dan", "3 3");
    expect(f, "ROOM.LEAVE gala ann", "1");
    expect(f, "ROOM.POSITION gala dan", "2 2");
    expect(f, "ROOM.LEAVE gala bob", "0");
    expect(f, "ROOM.LEAVE ball cat", "0");
}

static void joining_after_leaving_is_the_end_of_the_line(void **state)
{
    struct fixture *f = *state;

    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala bob");
    run(f, "ROOM.LEAVE gala ann");
    expect(f, "ROOM.JOIN gala ann", "1 2 2 *");
    expect(f, "ROOM.ADMIT gala 1", "bob *");
}

static void an_entry_lapses_at_the_exact_millisecond(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.JOIN gala ann TTL 10ms");
    run(f, "ROOM.JOIN gala bob");
    at(f, 1009);
    expect(f, "ROOM.POSITION gala bob", "2 2");
    at(f, 1010);
    expect(f, "ROOM.POSITION gala bob", "1 1");
    expect(f, "ROOM.LEAVE gala ann", "0");
    expect(f, "ROOM.JOIN gala ann", "1 2 2 *");
}

static void an_entry_lasts_1800_s_by_default(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.JOIN gala ann");
    at(f, 1800999);
    expect(f, "ROOM.POSITION gala ann", "1 1");
    at(f, 1801000);
    expect(f, "ROOM.POSITION gala ann", "0 NOT_IN_QUEUE");
}

static void arguments_out_of_bounds_are_refused(void **state)
{
    struct fixture *f = *state;

    expect(f, "ROOM.JOIN gala ann MAX 0", "0 INVALID_QUANTITY");
    expect(f, "ROOM.JOIN gala ann TTL 9ms", "0 INVALID_TTL");
    expect(f, "ROOM.JOIN gala a{n", "0 INVALID_ID");
    expect(f, "ROOM.JOIN gala ann LAST", "-ERR");
    expect(f, "ROOM.ADMIT gala 0", "0 INVALID_QUANTITY");
    expect(f, "ROOM.ADMIT gala -1", "0 INVALID_QUANTITY");
    expect(f, "ROOM.ADMIT gala some", "-ERR");
    expect(f, "ROOM.ADMIT gala 1 PASS 31h", "");
    expect(f, "ROOM.ADMIT gala 1 PASS 721h", "0 INVALID_TTL");
    expect(f, "ROOM.POSITION gala ann", "0 NOT_IN_QUEUE");
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Admits the first in line and writes down the pass. */
static void admit(struct fixture *f, const char *words, char pass[64])
{
    assert_int_equal(sscanf(run(f, words), "%*s %63s", pass), 1);
    assert_int_equal(strlen(pass), 32);
}

static void expect_pass(struct fixture *f, const char *user, const char *pass, const char *reply)
{
    char words[200];

    snprintf(words, sizeof words, "ROOM.CHECK gala %s %s", user, pass);
    expect(f, words, reply);
}

static void nobody_to_admit_is_an_empty_list(void **state)
{
    struct fixture *f = *state;

    expect(f, "ROOM.ADMIT gala 5", "");
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.ADMIT gala 5");
    expect(f, "ROOM.ADMIT gala 5", "");
}

static void admission_leaves_the_line_and_gives_the_pass_in_one_step(void **state)
{
    struct fixture *f = *state;
    char pass[64];

    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala bob");
    admit(f, "ROOM.ADMIT gala 1", pass);
    expect(f, "ROOM.POSITION gala ann", "0 NOT_IN_QUEUE");
    expect(f, "ROOM.POSITION gala bob", "1 1");
    expect_pass(f, "ann", pass, "1");
}

static void a_pass_is_good_for_its_user_and_event_only(void **state)
{
    struct fixture *f = *state;
    char pass[64];

    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala bob");
    run(f, "ROOM.JOIN ball ann");
    admit(f, "ROOM.ADMIT gala 1", pass);
    expect_pass(f, "bob", pass, "0");
    expect_pass(f, "ann", "00000000000000000000000000000000", "0");
    expect_pass(f, "ann", "short", "0");
    expect(f, "ROOM.CHECK ball ann 00000000000000000000000000000000", "0");
    expect(f, "ROOM.CHECK none ann 00000000000000000000000000000000", "0");
    pass[31] = pass[31] == '0' ? '1' : '0';
    expect_pass(f, "ann", pass, "0");
}

static void the_token_of_the_line_is_no_pass(void **state)
{
    struct fixture *f = *state;
    char token[64], pass[64];

    assert_int_equal(sscanf(run(f, "ROOM.JOIN gala ann"), "1 1 1 %63s", token), 1);
    expect_pass(f, "ann", token, "0");
    admit(f, "ROOM.ADMIT gala 1", pass);
    expect_pass(f, "ann", token, "0");
}

static void a_pass_lapses_at_the_exact_millisecond(void **state)
{
    struct fixture *f = *state;
    char pass[64];

    at(f, 1000);
    run(f, "ROOM.JOIN gala ann");
    admit(f, "ROOM.ADMIT gala 1 PASS 10ms", pass);
    at(f, 1009);
    expect_pass(f, "ann", pass, "1");
    at(f, 1010);
    expect_pass(f, "ann", pass, "0");
}

static void a_pass_lasts_600_s_by_default(void **state)
{
    struct fixture *f = *state;
    char pass[64];

    at(f, 1000);
    run(f, "ROOM.JOIN gala ann TTL 10ms"); /* the entry's TTL is not the pass's */
    admit(f, "ROOM.ADMIT gala 1", pass);
    at(f, 600999);
    expect_pass(f, "ann", pass, "1");
    at(f, 601000);
    expect_pass(f, "ann", pass, "0");
}

static void a_pass_stays_good_when_the_user_joins_and_leaves_again(void **state)
{
    struct fixture *f = *state;
    char pass[64];

    run(f, "ROOM.JOIN gala ann");
    admit(f, "ROOM.ADMIT gala 1", pass);
    expect(f, "ROOM.JOIN gala ann", "1 1 1 *");
    expect_pass(f, "ann", pass, "1");
    expect(f, "ROOM.LEAVE gala ann", "1");
    expect_pass(f, "ann", pass, "1");
    expect(f, "ROOM.LEAVE gala ann", "0");
    expect_pass(f, "ann", pass, "1");
}

static void a_later_admission_replaces_the_pass(void **state)
{
    struct fixture *f = *state;
    char first[64], second[64];

    at(f, 1000);
    run(f, "ROOM.JOIN gala a-user-with-a-name-past-sixteen-bytes");
    admit(f, "ROOM.ADMIT gala 1 PASS 100", first);
    run(f, "ROOM.JOIN gala a-user-with-a-name-past-sixteen-bytes");
    at(f, 50000);
    admit(f, "ROOM.ADMIT gala 1 PASS 100", second);
    assert_string_not_equal(first, second);
    expect_pass(f, "a-user-with-a-name-past-sixteen-bytes", first, "0");
    at(f, 149999);
    expect_pass(f, "a-user-with-a-name-past-sixteen-bytes", second, "1");
    at(f, 150000);
    expect_pass(f, "a-user-with-a-name-past-sixteen-bytes", second, "0");
}

/* ---- many ------------------------------------------------------------------------------------ */

/* A core whose hash tables stay fast with many records; the fixture's seed is too simple for that.
 */
static void use_good_hashes(struct fixture *f)
{
    static const uint64_t seed[2] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9};

    core_destroy(f->core);
    f->core = core_create(&f->memory, seed);
    assert_non_null(f->core);
}

/* Without the audit after each command, for many of them. Users are named by their number. */
static void apply(struct fixture *f, const char *verb, uint32_t user)
{
    struct command command;
    char name[16];
    struct hf_bytes words[] = {hf_text(verb), HF_TEXT("gala"), {name, 0}};

    words[2].size = (size_t)snprintf(name, sizeof name, "%" PRIu32, user);
    assert_int_equal(command_from_words(&command, 3, words, NULL), HF_OK);
    memset(command.entropy, (int)(user & 255), sizeof command.entropy);
    core_apply(f->core, &command, f->now_ms, &f->reply);
}

static void one_call_admits_at_most_4000(void **state)
{
    struct fixture *f = *state;

    use_good_hashes(f);
    for (uint32_t user = 0; user < 4005; user++) {
        apply(f, "ROOM.JOIN", user);
    }
    apply(f, "ROOM.ADMIT", 20000);
    assert_int_equal(f->reply.count, 2 * ROOM_ADMIT_MAX);
    assert_memory_equal(reply_bytes(&f->reply, 0).data, "0", 1);
    assert_memory_equal(reply_bytes(&f->reply, 2 * 3999).data, "3999", 4);
    expect(f, "ROOM.POSITION gala 4000", "1 5");
    apply(f, "ROOM.ADMIT", 20000);
    assert_int_equal(f->reply.count, 2 * 5);
}

#define CROWD 50000

static void positions_are_right_in_a_big_line_that_many_leave(void **state)
{
    struct fixture *f = *state;
    bool *waits = calloc(CROWD, sizeof *waits);
    unsigned seed = 11;
    int64_t total = CROWD, position = 0;

    use_good_hashes(f);
    for (uint32_t user = 0; user < CROWD; user++) {
        apply(f, "ROOM.JOIN", user);
        assert_int_equal(f->reply.values[0].number, user + 1);
        waits[user] = true;
    }
    for (int i = 0; i < CROWD; i++) {
        uint32_t user = (uint32_t)rand_r(&seed) % CROWD;
        apply(f, "ROOM.LEAVE", user);
        assert_int_equal(f->reply.values[0].number, waits[user]);
        total -= waits[user];
        waits[user] = false;
    }
    for (uint32_t user = 0; user < CROWD; user++) {
        position += waits[user];
        apply(f, "ROOM.POSITION", user);
        if (waits[user]) {
            assert_int_equal(f->reply.values[0].number, position);
            assert_int_equal(f->reply.values[1].number, total);
        } else {
            assert_int_equal(f->reply.code, HF_NOT_IN_QUEUE);
        }
    }
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
    free(waits);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(joining_answers_position_total_and_a_token),
        CASE(the_line_is_in_the_order_of_arrival),
        CASE(whoever_is_not_in_line_has_no_position),
        CASE(joining_again_is_already_in_queue_and_keeps_the_place),
        CASE(a_full_queue_takes_nobody),
        CASE(leaving_from_the_middle_moves_up_those_behind),
        CASE(joining_after_leaving_is_the_end_of_the_line),
        CASE(an_entry_lapses_at_the_exact_millisecond),
        CASE(an_entry_lasts_1800_s_by_default),
        CASE(arguments_out_of_bounds_are_refused),
        CASE(nobody_to_admit_is_an_empty_list),
        CASE(admission_leaves_the_line_and_gives_the_pass_in_one_step),
        CASE(a_pass_is_good_for_its_user_and_event_only),
        CASE(the_token_of_the_line_is_no_pass),
        CASE(a_pass_lapses_at_the_exact_millisecond),
        CASE(a_pass_lasts_600_s_by_default),
        CASE(a_pass_stays_good_when_the_user_joins_and_leaves_again),
        CASE(a_later_admission_replaces_the_pass),
        CASE(one_call_admits_at_most_4000),
        CASE(positions_are_right_in_a_big_line_that_many_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

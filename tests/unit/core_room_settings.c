/* SPDX-License-Identifier: Apache-2.0
 *
 * ROOM.OPEN: what it sets, who is admitted by it and when, and the gate of an event. */
#include "core_fixture.h"

#include "base/limits.h"
#include "core/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "u0" to "u<count - 1>" join the line of gala. */
static void crowd(struct fixture *f, unsigned count)
{
    char words[64];

    for (unsigned i = 0; i < count; i++) {
        snprintf(words, sizeof words, "ROOM.JOIN gala u%u", i);
        run(f, words);
    }
}

/* What ROOM.STATS tells at its end of a room without START, ORDER, PASS and GATE. */
#define SETTINGS "start_ms 0 random 0 pass_ms 600000 gate 0"

static unsigned ticked(struct fixture *f)
{
    run(f, "ROOM.TICK gala");
    return (unsigned)f->reply.count / 2;
}

/* ---- settings -------------------------------------------------------------------------------- */

static void a_room_that_nobody_opened_has_all_defaults(void **state)
{
    struct fixture *f = *state;
    static const char stats[] = "waiting 0 inside 0 admitted 0 rate 0 inside_max 0 started 1 "
                                "paused 0 estimated_wait_s -1 " SETTINGS;

    expect_unchanged(f, "ROOM.STATS gala", stats);
    expect_unchanged(f, "ROOM.TICK gala", "");
    expect_unchanged(f, "ROOM.DONE gala ann", "0");
    expect_unchanged(f, "ROOM.OPEN gala", "1 0 0"); /* and is forgotten at once */
    expect_unchanged(f, "ROOM.OPEN gala PASS 600 ORDER fifo RATE 0 INSIDE 0 START 0", "1 0 0");
}

static void settings_stay_while_the_room_is_empty(void **state)
{
    struct fixture *f = *state;

    expect(f, "ROOM.OPEN gala RATE 5 INSIDE 7", "1 0 0");
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.LEAVE gala ann");
    snapshot_and_restore(f);
    expect(f, "ROOM.STATS gala",
           "waiting 0 inside 0 admitted 0 rate 5 inside_max 7 started 1 paused 0 "
           "estimated_wait_s 0 " SETTINGS);
    expect(f, "ROOM.OPEN gala START 9000000 ORDER random PASS 90 GATE", "1 0 0");
    expect(f, "ROOM.STATS gala",
           "waiting 0 inside 0 admitted 0 rate 0 inside_max 0 started 0 paused 0 "
           "estimated_wait_s -1 start_ms 9000000 random 1 pass_ms 90000 gate 1");
    expect(f, "ROOM.OPEN gala PAUSED", "1 0 0"); /* sets all of them */
    expect(f, "ROOM.STATS gala",
           "waiting 0 inside 0 admitted 0 rate 0 inside_max 0 started 1 paused 1 "
           "estimated_wait_s -1 " SETTINGS);
    expect(f, "ROOM.OPEN gala", "1 0 0");
    assert_int_equal(f->core->stores[CORE_ROOMS].slab.count, 0);
}

static void settings_out_of_bounds_are_refused(void **state)
{
    struct fixture *f = *state;

    expect_unchanged(f, "ROOM.OPEN gala RATE 1000001", "0 INVALID_QUANTITY");
    expect_unchanged(f, "ROOM.OPEN gala RATE -1", "0 INVALID_QUANTITY");
    expect_unchanged(f, "ROOM.OPEN gala INSIDE 9007199254740992", "0 INVALID_QUANTITY");
    expect_unchanged(f, "ROOM.OPEN gala START 9007199254740992", "0 INVALID_QUANTITY");
    expect_unchanged(f, "ROOM.OPEN gala START soon", "-ERR");
    expect_unchanged(f, "ROOM.OPEN gala ORDER lifo", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "ROOM.OPEN gala PASS 9ms", "0 INVALID_TTL");
    expect(f, "ROOM.OPEN gala RATE 1000000 INSIDE 9007199254740991 START 9007199254740991",
           "1 0 0");
    crowd(f, 1);
    expect(f, "ROOM.STATS gala",
           "waiting 1 inside 0 admitted 0 rate 1000000 inside_max 9007199254740991 started 0 "
           "paused 0 estimated_wait_s * start_ms 9007199254740991 random 0 pass_ms 600000 gate 0");
}

/* ---- RATE ------------------------------------------------------------------------------------ */

static void the_rate_is_a_bucket_of_one_second(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.OPEN gala RATE 4");
    crowd(f, 40);
    assert_int_equal(ticked(f), 4);
    assert_int_equal(ticked(f), 0);
    at(f, 1249);
    assert_int_equal(ticked(f), 0);
    at(f, 1250);
    assert_int_equal(ticked(f), 1);
    at(f, 1600); /* 1.4 users' worth */
    assert_int_equal(ticked(f), 1);
    at(f, 1749);
    assert_int_equal(ticked(f), 0);
    at(f, 1750); /* the rest was not lost */
    assert_int_equal(ticked(f), 1);
    at(f, 900000);
    snapshot_and_restore(f);
    assert_int_equal(ticked(f), 4);
    expect(f, "ROOM.STATS gala",
           "waiting 29 inside 4 admitted 11 rate 4 inside_max 0 started 1 paused 0 "
           "estimated_wait_s 8 " SETTINGS);
}

static void opening_again_does_not_fill_the_bucket(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.OPEN gala RATE 4");
    crowd(f, 40);
    assert_int_equal(ticked(f), 4);
    run(f, "ROOM.OPEN gala RATE 4");
    assert_int_equal(ticked(f), 0);
    run(f, "ROOM.OPEN gala RATE 1000");
    assert_int_equal(ticked(f), 0);
    at(f, 1010);
    assert_int_equal(ticked(f), 10);
    at(f, 5000);
    run(f, "ROOM.OPEN gala RATE 2"); /* holds no more than its own second */
    assert_int_equal(ticked(f), 2);
}

static void admission_by_hand_takes_nothing_off_the_rate_and_ignores_a_pause(void **state)
{
    struct fixture *f = *state;

    run(f, "ROOM.OPEN gala RATE 2 PAUSED");
    crowd(f, 9);
    assert_int_equal(ticked(f), 0);
    expect(f, "ROOM.ADMIT gala 3", "u0 * u1 * u2 *");
    run(f, "ROOM.OPEN gala RATE 2");
    assert_int_equal(ticked(f), 2);
}

static void without_a_rate_a_tick_admits_all_that_inside_allows(void **state)
{
    struct fixture *f = *state;

    crowd(f, 9);
    run(f, "ROOM.OPEN gala INSIDE 5");
    assert_int_equal(ticked(f), 5);
    assert_int_equal(ticked(f), 0);
    run(f, "ROOM.OPEN gala");
    assert_int_equal(ticked(f), 4);
}

/* ---- INSIDE ---------------------------------------------------------------------------------- */

static void never_more_are_inside_than_allowed(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.OPEN gala INSIDE 2 PASS 10s");
    crowd(f, 6);
    expect(f, "ROOM.ADMIT gala 9", "u0 * u1 *");
    expect(f, "ROOM.TICK gala", "");
    expect(f, "ROOM.DONE gala u0", "1");
    expect(f, "ROOM.DONE gala u0", "0");
    expect(f, "ROOM.TICK gala", "u2 *");
    at(f, 10999);
    expect(f, "ROOM.ADMIT gala 9", "");
    at(f, 11000);
    expect(f, "ROOM.ADMIT gala 9", "u3 * u4 *");
    run(f, "ROOM.OPEN gala INSIDE 1"); /* evicts nobody */
    expect(f, "ROOM.STATS gala",
           "waiting 1 inside 2 admitted 5 rate 0 inside_max 1 started 1 paused 0 "
           "estimated_wait_s -1 " SETTINGS);
    run(f, "ROOM.DONE gala u3");
    expect(f, "ROOM.TICK gala", "");
    run(f, "ROOM.DONE gala u4");
    expect(f, "ROOM.TICK gala", "u5 *");
}

static void a_user_admitted_again_needs_no_second_place(void **state)
{
    struct fixture *f = *state;

    run(f, "ROOM.OPEN gala INSIDE 2");
    crowd(f, 1);
    run(f, "ROOM.TICK gala");
    crowd(f, 3); /* u0 again, u1, u2 */
    expect(f, "ROOM.TICK gala", "u0 * u1 *");
    expect(f, "ROOM.STATS gala",
           "waiting 1 inside 2 admitted 3 rate 0 inside_max 2 started 1 paused 0 "
           "estimated_wait_s -1 " SETTINGS);
}

/* ---- START and ORDER ------------------------------------------------------------------------- */

static void nobody_is_admitted_before_the_start(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.OPEN gala RATE 2 START 5000");
    crowd(f, 5);
    at(f, 4999);
    expect(f, "ROOM.TICK gala", "");
    expect(f, "ROOM.ADMIT gala 5", "");
    expect(f, "ROOM.POSITION gala u3", "4 5");
    expect(f, "ROOM.STATS gala",
           "waiting 5 inside 0 admitted 0 rate 2 inside_max 0 started 0 paused 0 "
           "estimated_wait_s 4 start_ms 5000 random 0 pass_ms 600000 gate 0");
    at(f, 5000);
    expect(f, "ROOM.TICK gala", "u0 * u1 *");
    expect(f, "ROOM.ADMIT gala 1", "u2 *");
}

/* The order of the first `count` in line, as ADMIT tells it. */
static void admitted_order(struct fixture *f, unsigned count, unsigned order[])
{
    char words[64];

    snprintf(words, sizeof words, "ROOM.ADMIT gala %u", count);
    run(f, words);
    assert_int_equal(f->reply.count, 2 * count);
    for (unsigned i = 0; i < count; i++) {
        struct hf_bytes user = reply_bytes(&f->reply, 2 * i);
        snprintf(words, sizeof words, "%.*s", (int)user.size, user.data);
        order[i] = (unsigned)strtoul(words + 1, NULL, 10);
    }
}

static void an_order_drawn_by_lot_is_known_from_the_start_on(void **state)
{
    struct fixture *f = *state;
    unsigned order[103], arrivals = 0;
    char words[64], reply[64];

    at(f, 1000);
    run(f, "ROOM.OPEN gala START 5000 ORDER random");
    crowd(f, 100);
    expect(f, "ROOM.JOIN gala u100", "1 0 101 *");
    expect(f, "ROOM.JOIN gala u100", "0 ALREADY_IN_QUEUE");
    expect(f, "ROOM.POSITION gala u7", "0 101");
    snapshot_and_restore(f);
    at(f, 5000);
    expect(f, "ROOM.JOIN gala u101", "1 102 102 *"); /* behind all of them */
    expect(f, "ROOM.JOIN gala u102", "1 103 103 *");
    run(f, "ROOM.OPEN gala START 5000 ORDER random"); /* once, and not again */
    expect(f, "ROOM.POSITION gala u101", "102 103");
    run(f, "ROOM.POSITION gala u7");
    int64_t position = f->reply.values[0].number;
    admitted_order(f, 103, order);
    assert_int_equal(order[position - 1], 7);
    assert_int_equal(order[101], 101);
    assert_int_equal(order[102], 102);
    bool seen[103] = {false};
    for (unsigned i = 0; i < 101; i++) {
        assert_true(order[i] <= 100 && !seen[order[i]]);
        seen[order[i]] = true;
        arrivals += order[i] == i;
    }
    assert_true(arrivals < 20);
    snprintf(words, sizeof words, "ROOM.POSITION gala u%u", order[0]);
    snprintf(reply, sizeof reply, "0 NOT_IN_QUEUE");
    expect(f, words, reply);
}

/* JOIN with entropy that does not come again, which the fixture's does after 256 commands. */
static void join_by_lot(struct fixture *f, unsigned user)
{
    char name[16];
    struct hf_bytes words[] = {HF_TEXT("ROOM.JOIN"), HF_TEXT("gala"), {name, 0}};
    struct command command;

    words[2].size = (size_t)snprintf(name, sizeof name, "u%u", user);
    assert_int_equal(command_from_words(&command, 3, words, NULL), HF_OK);
    f->commands++;
    memcpy(command.entropy, &f->commands, sizeof f->commands);
    core_apply(f->core, &command, f->now_ms, &f->reply);
    assert_int_equal(f->reply.code, HF_OK);
}

/* Whoever comes first has the same chance of every place as whoever comes last, and every order of
 * all is as likely as any other. The lots are the same in every run. */
static void every_place_is_as_likely_for_everybody(void **state)
{
    struct fixture *f = *state;
    unsigned places[5][5] = {{0}}, orders[120] = {0}, order[5];
    double squares = 0;

    for (int64_t round = 1; round <= 12000; round++) {
        char words[64];
        at(f, round * 10000);
        snprintf(words, sizeof words, "ROOM.OPEN gala START %" PRId64 " ORDER random",
                 round * 10000 + 10);
        run(f, words);
        for (unsigned i = 0; i < 5; i++) {
            join_by_lot(f, i);
        }
        at(f, round * 10000 + 10);
        admitted_order(f, 5, order);
        unsigned number = 0; /* of this order among all 120 */
        for (unsigned i = 0; i < 5; i++) {
            unsigned less = 0;
            for (unsigned j = i + 1; j < 5; j++) {
                less += order[j] < order[i];
            }
            number = number * (5 - i) + less;
            places[order[i]][i]++;
        }
        orders[number]++;
        for (unsigned i = 0; i < 5; i++) {
            snprintf(words, sizeof words, "ROOM.DONE gala u%u", i);
            run(f, words);
        }
    }
    for (unsigned i = 0; i < 25; i++) { /* 2400 on average, with a deviation of 44 */
        assert_in_range(places[i / 5][i % 5], 2220, 2580);
    }
    for (unsigned i = 0; i < 120; i++) { /* 100 on average */
        squares += ((double)orders[i] - 100) * ((double)orders[i] - 100) / 100;
    }
    assert_true(squares < 182); /* chi squared of 119 degrees of freedom: 1 in 5,000 is above */
}

static void a_line_that_is_there_is_drawn_when_the_room_is_opened(void **state)
{
    struct fixture *f = *state;
    unsigned order[60], arrivals = 0;

    at(f, 1000);
    crowd(f, 60);
    expect(f, "ROOM.OPEN gala START 5000 ORDER random", "1 60 0");
    expect(f, "ROOM.POSITION gala u0", "0 60");
    at(f, 5000);
    admitted_order(f, 60, order);
    for (unsigned i = 0; i < 60; i++) {
        arrivals += order[i] == i;
    }
    assert_true(arrivals < 20);
}

static void too_many_in_line_are_not_drawn_at_once(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    crowd(f, ROOM_SHUFFLE_MAX + 1);
    expect_unchanged(f, "ROOM.OPEN gala START 5000 ORDER random", "0 INVALID_STATE");
    expect(f, "ROOM.OPEN gala START 5000", "1 201 0");
    run(f, "ROOM.LEAVE gala u3");
    expect(f, "ROOM.OPEN gala START 5000 ORDER random", "1 200 0");
    expect(f, "ROOM.JOIN gala u3", "1 0 201 *");
    expect(f, "ROOM.OPEN gala START 6000 ORDER random", "1 201 0"); /* it is drawn already */
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* The last text of the last reply. */
static void last_text(struct fixture *f, char out[64])
{
    struct hf_bytes text = reply_bytes(&f->reply, f->reply.count - 1);

    snprintf(out, 64, "%.*s", (int)text.size, text.data);
}

static void the_pass_is_told_to_who_shows_the_token(void **state)
{
    struct fixture *f = *state;
    char token[64], pass[64], words[128];

    at(f, 1000);
    run(f, "ROOM.JOIN gala ann");
    last_text(f, token);
    snprintf(words, sizeof words, "ROOM.POSITION gala ann TOKEN %s", token);
    expect(f, words, "1 1"); /* the pass is not there yet */
    run(f, "ROOM.ADMIT gala 1 PASS 5s");
    last_text(f, pass);
    expect(f, "ROOM.POSITION gala ann", "0 NOT_IN_QUEUE");
    expect(f, "ROOM.POSITION gala ann TOKEN 00000000000000000000000000000000", "0 NOT_IN_QUEUE");
    snapshot_and_restore(f);
    expect(f, words, "0 0");
    assert_int_equal(f->reply.count, 6);
    assert_memory_equal(reply_bytes(&f->reply, 5).data, pass, 32);
    at(f, 6000);
    expect(f, words, "0 NOT_IN_QUEUE");
}

static void renewing_starts_the_own_time_of_a_pass_again(void **state)
{
    struct fixture *f = *state;
    char pass[64], check[128], renew[140];

    at(f, 1000);
    run(f, "ROOM.OPEN gala PASS 100s");
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.ADMIT gala 1 PASS 5s");
    last_text(f, pass);
    snprintf(check, sizeof check, "ROOM.CHECK gala ann %s", pass);
    snprintf(renew, sizeof renew, "%s RENEW", check);
    expect_unchanged(f, check, "1");
    at(f, 4000);
    expect_unchanged(f, "ROOM.CHECK gala ann nothing RENEW", "0");
    expect(f, renew, "1");
    at(f, 8999);
    snapshot_and_restore(f);
    expect(f, renew, "1");
    at(f, 13998);
    expect(f, check, "1");
    at(f, 13999);
    expect(f, renew, "0");
    expect(f, check, "0");
}

static void the_room_says_how_long_its_passes_last(void **state)
{
    struct fixture *f = *state;
    char words[128], pass[64];

    at(f, 1000);
    run(f, "ROOM.OPEN gala PASS 7s");
    crowd(f, 2);
    run(f, "ROOM.ADMIT gala 1");
    run(f, "ROOM.TICK gala");
    last_text(f, pass);
    snprintf(words, sizeof words, "ROOM.CHECK gala u1 %s", pass);
    at(f, 7999);
    expect(f, words, "1");
    at(f, 8000);
    expect(f, words, "0");
    expect(f, "ROOM.DONE gala u0", "0");
}

/* ---- the gate -------------------------------------------------------------------------------- */

static void a_gate_lets_only_passes_reserve(void **state)
{
    struct fixture *f = *state;
    char pass[64], words[160];

    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 9");
    run(f, "SEATS.RESERVE gala floor before ann 1 4");
    run(f, "ROOM.OPEN gala GATE PASS 10s");
    expect_unchanged(f, "SEATS.RESERVE gala floor b-1 ann 1 4", "0 NOT_ADMITTED");
    expect_unchanged(f, "SEATS.RESERVE gala floor b-1 ann 1 4 PASS x", "0 NOT_ADMITTED");
    expect_unchanged(f, "SEATS.RESERVE gala stalls b-1 ann 1 4", "0 ZONE_NOT_FOUND");
    expect_unchanged(f, "SEATS.RESERVE gala floor before ann 1 4", "1 8 1 *"); /* a retry */
    expect_unchanged(f, "SEATS.RESERVE gala floor before ann 2 4", "0 BOOKING_EXISTS");
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.TICK gala");
    last_text(f, pass);
    snprintf(words, sizeof words, "SEATS.RESERVE gala floor b-1 bob 1 4 PASS %s", pass);
    expect_unchanged(f, words, "0 NOT_ADMITTED");
    snprintf(words, sizeof words, "SEATS.RESERVE gala floor b-1 ann 9 9 PASS %s", pass);
    expect_unchanged(f, words, "0 INSUFFICIENT_STOCK");
    snapshot_and_restore(f);
    snprintf(words, sizeof words, "SEATS.RESERVE gala floor b-1 ann 1 4 PASS %s", pass);
    expect(f, words, "1 7 2 *");
    at(f, 11000);
    expect(f, words, "1 7 2 *");
    snprintf(words, sizeof words, "SEATS.RESERVE gala floor b-2 ann 1 4 PASS %s", pass);
    expect(f, words, "0 NOT_ADMITTED");
    run(f, "SEATS.OPEN ball floor 9");
    expect(f, "SEATS.RESERVE ball floor b-1 ann 1 4", "1 8 1 *"); /* another event */
    run(f, "ROOM.OPEN gala");
    expect(f, "SEATS.RESERVE gala floor b-2 ann 1 4", "1 6 3 *");
    assert_int_equal(f->core->gates, 0);
}

static void a_confirm_frees_the_place_inside(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 9");
    run(f, "SEATS.RESERVE gala floor b-1 u0 1 4");
    run(f, "SEATS.RESERVE gala floor b-2 u1 1 4");
    crowd(f, 3);
    run(f, "ROOM.ADMIT gala 2");
    run(f, "SEATS.CONFIRM gala b-1"); /* not in a room without settings */
    expect(f, "ROOM.OPEN gala INSIDE 2", "1 1 2");
    expect(f, "ROOM.TICK gala", "");
    run(f, "SEATS.CONFIRM gala b-2");
    expect(f, "ROOM.TICK gala", "u2 *");
    expect(f, "ROOM.DONE gala u1", "0");
    run(f, "SEATS.CONFIRM gala b-2"); /* again */
    expect(f, "ROOM.DONE gala u2", "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_room_that_nobody_opened_has_all_defaults),
        TEST(settings_stay_while_the_room_is_empty),
        TEST(settings_out_of_bounds_are_refused),
        TEST(the_rate_is_a_bucket_of_one_second),
        TEST(opening_again_does_not_fill_the_bucket),
        TEST(admission_by_hand_takes_nothing_off_the_rate_and_ignores_a_pause),
        TEST(without_a_rate_a_tick_admits_all_that_inside_allows),
        TEST(never_more_are_inside_than_allowed),
        TEST(a_user_admitted_again_needs_no_second_place),
        TEST(nobody_is_admitted_before_the_start),
        TEST(an_order_drawn_by_lot_is_known_from_the_start_on),
        TEST(every_place_is_as_likely_for_everybody),
        TEST(a_line_that_is_there_is_drawn_when_the_room_is_opened),
        TEST(too_many_in_line_are_not_drawn_at_once),
        TEST(the_pass_is_told_to_who_shows_the_token),
        TEST(renewing_starts_the_own_time_of_a_pass_again),
        TEST(the_room_says_how_long_its_passes_last),
        TEST(a_gate_lets_only_passes_reserve),
        TEST(a_confirm_frees_the_place_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

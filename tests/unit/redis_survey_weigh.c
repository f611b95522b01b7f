/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readings of a survey prove, and what the survey does next. Reading, changing the mode,
 * completing transfers and finishing are the test's own: they only note that they were called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/stock/survey_parts.h"

#define COUNTERS 3
#define LOADED 100

/* ---- what is done next ----------------------------------------------------------------------- */

enum next { NOTHING, READS, TURNS, CARRIES_ON, FINISHES };

static enum next next;
static const char *turned_to;
static int64_t turned_above;
static enum stock_survey_result finished_with;

void __wrap_stock_survey_collect(struct stock_survey *survey);
void __wrap_stock_survey_turn(struct stock_survey *survey, const char *mode, int64_t above);
void __wrap_stock_survey_carry_on(struct stock_survey *survey);
void __wrap_stock_survey_finish(struct stock_survey *survey, enum stock_survey_result result,
                                const struct problem *problem);

void __wrap_stock_survey_collect(struct stock_survey *survey)
{
    (void)survey;
    next = READS;
}

void __wrap_stock_survey_turn(struct stock_survey *survey, const char *mode, int64_t above)
{
    (void)survey;
    next = TURNS;
    turned_to = mode;
    turned_above = above;
}

void __wrap_stock_survey_carry_on(struct stock_survey *survey)
{
    (void)survey;
    next = CARRIES_ON;
}

void __wrap_stock_survey_finish(struct stock_survey *survey, enum stock_survey_result result,
                                const struct problem *problem)
{
    (void)survey;
    (void)problem;
    next = FINISHES;
    finished_with = result;
}

/* ---- a survey -------------------------------------------------------------------------------- */

struct asked {
    struct stock_want want;
    bool answered;
    enum stock_survey_result result;
    struct stock_totals totals;
};

static struct stocks stocks;
static struct stock_product product;
static struct counter_seen seen[COUNTERS];
static struct stock_probe probes[COUNTERS];
static struct stock_survey survey;
static struct stock_open_transfer in_flight;

static void take_answer(struct stock_want *want, enum stock_survey_result result,
                        const struct stock_totals *totals, const struct problem *problem)
{
    struct asked *asked = LIST_ENTRY(want, struct asked, want);

    (void)problem;
    assert_false(asked->answered);
    asked->answered = true;
    asked->result = result;
    if (totals != NULL) {
        asked->totals = *totals;
    }
}

/* A sharded product with 10 at the main counter, 20 and 30 in its two shards, and 40 taken. */
static int begin(void **state)
{
    (void)state;
    next = NOTHING;
    stocks = (struct stocks){.stopped = false};
    memset(seen, 0, sizeof seen);
    memset(probes, 0, sizeof probes);
    product = (struct stock_product){
        .stocks = &stocks, .counters = COUNTERS, .capacity = COUNTERS, .epoch = 5, .seen = seen};
    survey = (struct stock_survey){.product = &product, .probes = probes, .count = COUNTERS};
    list_init(&survey.wants);
    for (size_t i = 0; i < COUNTERS; i++) {
        probes[i].read = true;
        probes[i].now =
            (struct counter_figures){.known = true, .available = 10 * ((int64_t)i + 1), .epoch = 5};
    }
    probes[0].now.taken = 40;
    probes[0].now.main.shard_count = COUNTERS - 1;
    probes[0].now.main.shards_reported = COUNTERS - 1;
    probes[0].now.main.loaded = LOADED;
    return 0;
}

static struct asked wants(enum stock_want_kind kind, size_t target, int64_t quantity)
{
    return (struct asked){
        .want = {.kind = kind, .target = target, .quantity = quantity, .done = take_answer}};
}

static void join(struct asked *asked)
{
    list_add_last(&survey.wants, &asked->want.node);
}

/* From now on so much stands in the outbox of a shard. */
static void put_into_outbox(int64_t quantity)
{
    in_flight = (struct stock_open_transfer){1, 2, quantity, quantity};
    survey.open = &in_flight;
    survey.open_count = 1;
}

/* All counters were read once more, with what they have now. */
static void read_again(void)
{
    next = NOTHING;
    survey.readings++;
    survey.total_before = survey.total;
    stock_survey_weigh(&survey);
    for (size_t i = 0; i < COUNTERS; i++) {
        probes[i].before = probes[i].now;
    }
}

/* ---- certainty ------------------------------------------------------------------------------- */

static void a_quantity_that_is_there_needs_one_reading(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 60);

    (void)state;
    join(&asked);
    read_again();
    assert_int_equal(next, CARRIES_ON);
    assert_false(asked.answered);
    assert_int_equal(survey.total, 60);
}

static void too_little_is_certain_after_two_readings_that_agree(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 61);

    (void)state;
    join(&asked);
    read_again();
    assert_int_equal(next, READS);
    assert_false(asked.answered);
    read_again();
    assert_true(asked.answered);
    assert_int_equal(asked.result, STOCK_SURVEY_SHORT);
    assert_int_equal(asked.totals.available, 60);
    assert_int_equal(asked.totals.taken, 40);
    assert_int_equal(next, CARRIES_ON);
}

/* Sold meanwhile: at the moment between the readings there was no more than the first has shown. */
static void what_was_sold_in_between_does_not_hide_that_it_was_too_little(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 61);

    (void)state;
    join(&asked);
    read_again();
    probes[2].now.available -= 5;
    probes[2].now.taken += 5;
    read_again();
    assert_int_equal(asked.result, STOCK_SURVEY_SHORT);
    assert_int_equal(asked.totals.available, 60); /* as it was at that moment */
}

/* The first reading showed enough; that there is too little now is not proved by it. */
static void too_little_now_but_not_before_is_not_certain(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 60),
                 totals = wants(STOCK_WANT_FIGURES, 0, 0);

    (void)state;
    join(&asked);
    join(&totals); /* so that a second reading is made */
    read_again();
    probes[2].now.available -= 1;
    probes[2].now.taken += 1;
    read_again();
    assert_true(totals.answered);
    assert_false(asked.answered);
    assert_int_equal(next, READS);
}

static void a_counter_that_gained_in_between_makes_it_uncertain(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 61);

    (void)state;
    join(&asked);
    read_again();
    probes[1].now.gains++;
    read_again();
    assert_int_equal(next, READS);
    assert_false(asked.answered);
    read_again(); /* nothing grew this time */
    assert_int_equal(asked.result, STOCK_SURVEY_SHORT);
}

static void a_transfer_that_left_or_arrived_in_between_makes_it_uncertain(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 61);

    (void)state;
    join(&asked);
    read_again();
    probes[1].now.sent += 5;
    probes[1].now.available -= 5;
    put_into_outbox(5);
    read_again();
    assert_int_equal(next, READS);
    assert_int_equal(survey.total, 60); /* what is in transit included */
    assert_false(survey.with_counts);
    probes[2].now.received += 5;
    probes[2].now.available += 5;
    read_again();
    assert_int_equal(next, READS);
    assert_false(asked.answered);
}

static void readings_that_never_agree_end_with_a_retry(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 61);
    unsigned readings = 0;

    (void)state;
    join(&asked);
    do {
        probes[1].now.gains++;
        read_again();
        assert_true(++readings < 20);
    } while (next == READS);
    assert_int_equal(readings, 6);
    assert_int_equal(asked.result, STOCK_SURVEY_RETRY);
    assert_int_equal(next, CARRIES_ON);
}

static void totals_are_answered_when_nothing_moved_though_something_was_sold(void **state)
{
    struct asked asked = wants(STOCK_WANT_FIGURES, 0, 0);

    (void)state;
    join(&asked);
    read_again();
    assert_int_equal(next, READS);
    probes[1].now.available -= 3;
    probes[1].now.sold += 3;
    read_again();
    assert_int_equal(asked.result, STOCK_SURVEY_FIGURES);
    assert_int_equal(asked.totals.available, 57);
    assert_int_equal(asked.totals.taken, 40);
    assert_int_equal(asked.totals.sold, 3);
    assert_int_equal(asked.totals.loaded, LOADED);
    assert_int_equal(asked.totals.shards, COUNTERS - 1);
}

static void totals_without_certainty_follow_from_what_was_loaded(void **state)
{
    struct asked asked = wants(STOCK_WANT_FIGURES, 0, 0);

    (void)state;
    join(&asked);
    do {
        probes[1].now.sent++; /* and it is not seen to leave: a reading in the middle of it */
        read_again();
    } while (next == READS);
    assert_int_equal(asked.result, STOCK_SURVEY_FIGURES);
    assert_int_equal(asked.totals.available, LOADED - 40);
}

static void what_ever_went_by_transfers_is_counted_modulo_2_53(void **state)
{
    struct asked asked = wants(STOCK_WANT_FIGURES, 0, 0);

    (void)state;
    probes[0].now.sent = 3; /* it has gone round: 2^53 + 3 */
    probes[1].now.received = HF_INTEGER_MAX;
    put_into_outbox(4);
    join(&asked);
    read_again();
    assert_int_equal(survey.total, 60 + 4);
}

/* A failover lost one end of a transfer: the source has sent 5 that are in no outbox, or the target
 * got 5 that the source has not sent. */
static void what_left_and_is_in_no_outbox_is_looked_for_in_the_counts(void **state)
{
    (void)state;
    for (int64_t lost = -5; lost <= 5; lost += 10) {
        begin(NULL);
        probes[1].now.sent = 10 + lost;
        probes[2].now.received = 10;
        read_again();
        assert_int_equal(next, READS);
        assert_true(survey.with_counts);
        struct stock_transfer_count counts[] = {
            {.source = 1, .target = 2, .total = 10 + lost},
            {.source = 1, .target = 2, .total = 10, .arrived = true}};
        survey.counts = counts;
        survey.counts_used = 2;
        put_into_outbox(0);
        read_again();
        assert_int_equal(survey.total, 60 + lost);
        assert_int_equal(next, CARRIES_ON);
    }
}

/* Another program has changed the sums: no transfer is in flight, and nobody waits for one. */
static void sums_that_no_count_bears_out_do_not_count(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 61);

    (void)state;
    join(&asked);
    probes[1].now.sent = 7;
    read_again();
    assert_true(survey.with_counts);
    read_again();
    read_again();
    assert_true(asked.answered);
    assert_int_equal(asked.result, STOCK_SURVEY_SHORT);
    assert_int_equal(asked.totals.available, 60);
}

static void what_is_owed_is_not_available(void **state)
{
    struct asked asked = wants(STOCK_WANT_QUANTITY, 1, 1);

    (void)state;
    for (size_t i = 0; i < COUNTERS; i++) {
        probes[i].now.available = 0;
    }
    probes[1].now.owed = 5;
    join(&asked);
    read_again();
    read_again();
    assert_int_equal(asked.result, STOCK_SURVEY_SHORT);
    assert_int_equal(asked.totals.available, -5);
    assert_int_equal(seen[1].available, -5);
}

static void damaged_counters_add_up_to_no_more_than_there_may_be(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTERS; i++) {
        probes[i].now.available = HF_INTEGER_MAX;
        probes[i].now.taken = HF_INTEGER_MAX;
    }
    read_again();
    assert_int_equal(survey.total, HF_INTEGER_MAX);
}

/* ---- what was not read ----------------------------------------------------------------------- */

static void a_shard_that_is_silent_fails_only_those_who_need_it(void **state)
{
    struct asked large = wants(STOCK_WANT_QUANTITY, 1, 31),
                 small = wants(STOCK_WANT_QUANTITY, 1, 30);

    (void)state;
    probes[2].read = false;
    survey.problem.code = HF_ENGINE_DOWN;
    join(&large);
    join(&small);
    read_again();
    assert_int_equal(survey.total, 30); /* what was read */
    assert_int_equal(large.result, STOCK_SURVEY_FAILED);
    assert_true(large.answered);
    assert_false(small.answered);
    assert_int_equal(next, CARRIES_ON);
}

static void without_the_main_counter_nothing_is_done(void **state)
{
    (void)state;
    probes[COUNTER_MAIN].read = false;
    survey.problem.code = HF_ENGINE_DOWN;
    read_again();
    assert_int_equal(next, FINISHES);
    assert_int_equal(finished_with, STOCK_SURVEY_FAILED);
}

static void an_engine_that_closes_goes_no_further(void **state)
{
    (void)state;
    stocks.stopped = true;
    read_again();
    assert_int_equal(next, FINISHES);
}

static void a_product_that_was_deleted_or_split_anew_is_to_be_read_again(void **state)
{
    (void)state;
    probes[COUNTER_MAIN].now.main.shard_count = COUNTERS;
    read_again();
    assert_int_equal(next, FINISHES);
    assert_int_equal(finished_with, STOCK_SURVEY_RETRY);
    assert_int_equal(product.epoch, 0);
    begin(NULL);
    probes[COUNTER_MAIN].now.known = false;
    read_again();
    assert_int_equal(next, FINISHES);
    assert_int_equal(product.epoch, 0);
}

static void what_was_read_is_remembered(void **state)
{
    (void)state;
    probes[COUNTER_MAIN].now.epoch = 6;
    probes[COUNTER_MAIN].now.main.watermark = 4;
    probes[1].now.epoch = 6;
    probes[1].now.records = 2;
    probes[2].now.epoch = 6;
    read_again();
    assert_int_equal(product.epoch, 6);
    assert_int_equal(product.watermark, 4);
    assert_int_equal(stock_product_estimate(&product), 60);
    assert_int_equal(seen[1].empty_epoch, 0);
    assert_int_equal(seen[2].empty_epoch, 6);
}

/* ---- the mode -------------------------------------------------------------------------------- */

static void at_the_watermark_the_product_is_merged(void **state)
{
    (void)state;
    probes[COUNTER_MAIN].now.main.watermark = 59;
    read_again();
    assert_int_equal(next, CARRIES_ON);
    probes[COUNTER_MAIN].now.main.watermark = 60;
    read_again();
    assert_int_equal(next, TURNS);
    assert_string_equal(turned_to, "merged");
}

static void a_product_that_steals_is_never_merged(void **state)
{
    (void)state;
    probes[COUNTER_MAIN].now.main.watermark = LOADED;
    probes[COUNTER_MAIN].now.main.steal = true;
    read_again();
    assert_int_equal(next, CARRIES_ON);
}

static void a_merged_product_is_sharded_again_by_a_load_that_spreads(void **state)
{
    struct asked asked = wants(STOCK_WANT_SPREAD, COUNTER_MAIN, 0);

    (void)state;
    probes[COUNTER_MAIN].now.merged = true;
    read_again();
    assert_int_equal(next, CARRIES_ON);
    join(&asked);
    read_again();
    assert_int_equal(next, TURNS);
    assert_string_equal(turned_to, "sharded");
    probes[COUNTER_MAIN].now.main.watermark = 60; /* still too little */
    read_again();
    assert_int_equal(next, CARRIES_ON);
}

static void the_mode_is_not_changed_on_a_reading_that_is_not_complete(void **state)
{
    (void)state;
    probes[COUNTER_MAIN].now.main.watermark = 60;
    probes[2].read = false;
    survey.problem.code = HF_ENGINE_DOWN;
    read_again();
    assert_int_equal(next, CARRIES_ON);
}

/* A failover lost the main counter's last change of mode. */
static void an_epoch_that_only_a_shard_knows_is_passed_by_a_higher_one(void **state)
{
    (void)state;
    probes[2].now.epoch = 9;
    read_again();
    assert_int_equal(next, TURNS);
    assert_string_equal(turned_to, "sharded"); /* the mode stays */
    assert_int_equal(turned_above, 9);
}

/* The shards are wiped by now, or about to be: there is no way back. */
static void a_close_that_only_a_shard_knows_of_is_carried_on_with(void **state)
{
    (void)state;
    probes[2].now.epoch = 9;
    probes[2].now.end = PRODUCT_CLOSED;
    read_again();
    assert_int_equal(next, TURNS);
    assert_string_equal(turned_to, "closed");
    assert_int_equal(turned_above, 9);
}

static void of_a_closed_product_nothing_is_told(void **state)
{
    struct asked asked = wants(STOCK_WANT_FIGURES, 0, 0);

    (void)state;
    probes[COUNTER_MAIN].now.end = PRODUCT_CLOSED;
    join(&asked);
    read_again();
    assert_int_equal(next, FINISHES);
    assert_int_equal(finished_with, STOCK_SURVEY_RETRY);
}

static void a_limit_that_only_a_shard_knows_of_is_set_again(void **state)
{
    (void)state;
    probes[1].now.limited = true;
    read_again();
    assert_int_equal(next, TURNS);
    assert_string_equal(turned_to, "sharded limited");
    assert_true(product.limited);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_quantity_that_is_there_needs_one_reading),
        CASE(too_little_is_certain_after_two_readings_that_agree),
        CASE(what_was_sold_in_between_does_not_hide_that_it_was_too_little),
        CASE(too_little_now_but_not_before_is_not_certain),
        CASE(a_counter_that_gained_in_between_makes_it_uncertain),
        CASE(a_transfer_that_left_or_arrived_in_between_makes_it_uncertain),
        CASE(readings_that_never_agree_end_with_a_retry),
        CASE(totals_are_answered_when_nothing_moved_though_something_was_sold),
        CASE(totals_without_certainty_follow_from_what_was_loaded),
        CASE(what_ever_went_by_transfers_is_counted_modulo_2_53),
        CASE(what_left_and_is_in_no_outbox_is_looked_for_in_the_counts),
        CASE(sums_that_no_count_bears_out_do_not_count),
        CASE(what_is_owed_is_not_available),
        CASE(damaged_counters_add_up_to_no_more_than_there_may_be),
        CASE(a_shard_that_is_silent_fails_only_those_who_need_it),
        CASE(without_the_main_counter_nothing_is_done),
        CASE(an_engine_that_closes_goes_no_further),
        CASE(a_product_that_was_deleted_or_split_anew_is_to_be_read_again),
        CASE(what_was_read_is_remembered),
        CASE(at_the_watermark_the_product_is_merged),
        CASE(a_product_that_steals_is_never_merged),
        CASE(a_merged_product_is_sharded_again_by_a_load_that_spreads),
        CASE(the_mode_is_not_changed_on_a_reading_that_is_not_complete),
        CASE(an_epoch_that_only_a_shard_knows_is_passed_by_a_higher_one),
        CASE(a_close_that_only_a_shard_knows_of_is_carried_on_with),
        CASE(of_a_closed_product_nothing_is_told),
        CASE(a_limit_that_only_a_shard_knows_of_is_set_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

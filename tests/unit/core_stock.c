/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK: taken for an order, then settled, given back or due. Always loaded = available + taken +
 * sold. */
#include "core_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX "9007199254740991"

/* ---- LOAD and ADJUST ------------------------------------------------------------------------- */

static void load_makes_a_product(void **state)
{
    struct fixture *f = *state;

    expect(f, "STOCK.GET shoe", "0 PRODUCT_NOT_FOUND");
    expect(f, "STOCK.LOAD shoe 0", "1 0");
    expect(f, "STOCK.TAKE shoe o1 ann 1", "0 SOLD_OUT");
    expect(f, "STOCK.LOAD shoe 100", "1 100");
    expect(f, "STOCK.GET shoe", "available 100 taken 0 sold 0 loaded 100 shards 1 mode single");
}

static void load_again_moves_available_by_the_difference(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    expect(f, "STOCK.LOAD shoe 10", "1 6");
    expect(f, "STOCK.LOAD shoe 15", "1 11");
    expect(f, "STOCK.LOAD shoe 4", "1 0");
    expect(f, "STOCK.GET shoe", "available 0 taken 4 sold 0 loaded 4 shards 1 mode single");
}

static void load_below_what_is_taken_or_sold_is_capacity_in_use(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    run(f, "STOCK.TAKE shoe o2 bob 3");
    run(f, "STOCK.SETTLE shoe o2");
    expect(f, "STOCK.LOAD shoe 6 SHARDS 8", "0 CAPACITY_IN_USE");
    expect(f, "STOCK.GET shoe", "available 3 taken 4 sold 3 loaded 10 shards 1 mode single");
    expect(f, "STOCK.LOAD shoe 7", "1 0");
}

static void a_load_repeated_after_an_adjust_changes_nothing(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    expect(f, "STOCK.ADJUST shoe -3 counted", "1 7");
    expect(f, "STOCK.LOAD shoe 10", "1 7");
    expect(f, "STOCK.LOAD shoe 12", "1 9");
    expect(f, "STOCK.ADJUST shoe 5 found", "1 14");
    expect(f, "STOCK.LOAD shoe 12", "1 14");
    expect(f, "STOCK.GET shoe", "available 14 taken 0 sold 0 loaded 14 shards 1 mode single");
}

static void adjust_moves_available_and_loaded_by_the_delta(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    expect(f, "STOCK.ADJUST shoe 2 found", "1 8");
    expect(f, "STOCK.GET shoe", "available 8 taken 4 sold 0 loaded 12 shards 1 mode single");
    expect(f, "STOCK.ADJUST shoe -8 lost", "1 0");
    expect(f, "STOCK.ADJUST shoe 0 nothing", "1 0");
    expect(f, "STOCK.GET shoe", "available 0 taken 4 sold 0 loaded 4 shards 1 mode single");
}

static void adjust_below_zero_is_capacity_in_use(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    expect(f, "STOCK.ADJUST shoe -7 lost", "0 CAPACITY_IN_USE");
    expect(f, "STOCK.GET shoe", "available 6 taken 4 sold 0 loaded 10 shards 1 mode single");
    expect(f, "STOCK.ADJUST hat 1 found", "0 PRODUCT_NOT_FOUND");
}

static void a_reason_is_1_to_256_bytes_of_utf8(void **state)
{
    struct fixture *f = *state;
    char words[300] = "STOCK.ADJUST shoe 1 ";
    size_t start = strlen(words);

    run(f, "STOCK.LOAD shoe 10");
    expect(f, "STOCK.ADJUST shoe 1 ", "0 INVALID_ARGUMENT");
    expect(f, "STOCK.ADJUST shoe 1 \xc3", "0 INVALID_ARGUMENT");
    memset(words + start, 'r', 257);
    expect(f, words, "0 PAYLOAD_TOO_LARGE");
    words[start + 256] = '\0';
    expect(f, words, "1 11");
    expect(f, "STOCK.ADJUST shoe 1 {caf\xc3\xa9}", "1 12");
    expect(f, "STOCK.ADJUST shoe 1", "-ERR");
}

static void shards_watermark_and_policy_are_accepted_and_are_one_counter(void **state)
{
    struct fixture *f = *state;

    expect(f, "STOCK.LOAD shoe 10 SHARDS 8 WATERMARK 3 POLICY steal", "1 10");
    expect(f, "STOCK.GET shoe", "available 10 taken 0 sold 0 loaded 10 shards 8 mode single");
    expect(f, "STOCK.TAKE shoe o1 ann 10", "1 0");
    expect(f, "STOCK.LOAD shoe 11 policy merge shards 1024", "1 1");
    expect(f, "STOCK.GET shoe", "available 1 taken 10 sold 0 loaded 11 shards 1024 mode single");
    expect(f, "STOCK.LOAD shoe 11", "1 1");
    expect(f, "STOCK.GET shoe", "available 1 taken 10 sold 0 loaded 11 shards 1 mode single");
}

static void shards_watermark_and_policy_have_bounds(void **state)
{
    struct fixture *f = *state;

    expect(f, "STOCK.LOAD shoe 10 SHARDS 0", "0 INVALID_QUANTITY");
    expect(f, "STOCK.LOAD shoe 10 SHARDS 1025", "0 INVALID_QUANTITY");
    expect(f, "STOCK.LOAD shoe 10 WATERMARK -1", "0 INVALID_QUANTITY");
    expect(f, "STOCK.LOAD shoe 10 POLICY share", "0 INVALID_ARGUMENT");
    expect(f, "STOCK.LOAD shoe 10 POLICY", "-ERR");
    expect(f, "STOCK.LOAD shoe 10 SHARDS 2 SHARDS 2", "-ERR");
    expect(f, "STOCK.LOAD shoe 10 SHARDS two", "-ERR");
    expect(f, "STOCK.GET shoe", "0 PRODUCT_NOT_FOUND");
}

static void no_product_has_more_than_2_to_the_53_less_1(void **state)
{
    struct fixture *f = *state;

    expect(f, "STOCK.LOAD shoe 9007199254740992", "0 INVALID_QUANTITY");
    expect(f, "STOCK.LOAD shoe -1", "0 INVALID_QUANTITY");
    expect(f, "STOCK.LOAD shoe " MAX, "1 " MAX);
    expect(f, "STOCK.ADJUST shoe 1 more", "0 INVALID_QUANTITY");
    expect(f, "STOCK.ADJUST shoe -9007199254740992 less", "0 INVALID_QUANTITY");
    expect(f, "STOCK.ADJUST shoe -" MAX " less", "1 0");
    expect(f, "STOCK.ADJUST shoe " MAX " more", "1 " MAX);
    run(f, "STOCK.LOAD hat 1");
    expect(f, "STOCK.ADJUST hat 1 more", "1 2");
    expect(f, "STOCK.LOAD hat " MAX, "0 INVALID_QUANTITY");
    expect(f, "STOCK.GET hat", "available 2 taken 0 sold 0 loaded 2 shards 1 mode single");
}

/* ---- TAKE ------------------------------------------------------------------------------------ */

static void take_says_what_remains(void **state)
{
    struct fixture *f = *state;

    expect(f, "STOCK.TAKE shoe o1 ann 1", "0 PRODUCT_NOT_FOUND");
    run(f, "STOCK.LOAD shoe 10");
    expect(f, "STOCK.TAKE shoe o1 ann 4", "1 6");
    expect(f, "STOCK.TAKE shoe o2 ann 6", "1 0");
    expect(f, "STOCK.GET shoe", "available 0 taken 10 sold 0 loaded 10 shards 1 mode single");
}

static void more_than_is_left_is_sold_out_also_when_some_is_left(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 3");
    expect(f, "STOCK.TAKE shoe o1 ann 4", "0 SOLD_OUT");
    expect(f, "STOCK.GET shoe", "available 3 taken 0 sold 0 loaded 3 shards 1 mode single");
    expect(f, "STOCK.TAKE shoe o1 ann 3", "1 0");
    expect(f, "STOCK.TAKE shoe o2 bob 1", "0 SOLD_OUT");
}

static void a_quantity_is_at_least_1(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 3");
    expect(f, "STOCK.TAKE shoe o1 ann 0", "0 INVALID_QUANTITY");
    expect(f, "STOCK.TAKE shoe o1 ann -1", "0 INVALID_QUANTITY");
    expect(f, "STOCK.TAKE shoe o1 ann one", "-ERR");
    expect(f, "STOCK.TAKE shoe o1 ann 1 TTL 9ms", "0 INVALID_TTL");
    expect(f, "STOCK.TAKE shoe o{1 ann 1", "0 INVALID_ID");
    expect(f, "STOCK.GET shoe", "available 3 taken 0 sold 0 loaded 3 shards 1 mode single");
}

static void take_again_with_the_same_arguments_changes_nothing(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    run(f, "STOCK.TAKE shoe o2 bob 6");
    at(f, 900000);
    expect(f, "STOCK.TAKE shoe o1 ann 4", "1 0");
    expect(f, "STOCK.TAKE shoe o1 ann 4 TTL 900", "1 0");
    expect(f, "STOCK.TAKE shoe o1 ann 4 TTL 15m", "1 0");
    at(f, 901000); /* the retries have not moved the deadline */
    expect(f, "STOCK.GET shoe", "available 10 taken 0 sold 0 loaded 10 shards 1 mode single");
}

static void take_again_with_other_arguments_is_a_conflict(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    expect(f, "STOCK.TAKE shoe o1 bob 4", "0 INVALID_STATE");
    expect(f, "STOCK.TAKE shoe o1 ann 5", "0 INVALID_STATE");
    expect(f, "STOCK.TAKE shoe o1 ann 4 TTL 60", "0 INVALID_STATE");
    expect(f, "STOCK.TAKE shoe o1 ann 99", "0 INVALID_STATE");
    expect(f, "STOCK.GET shoe", "available 6 taken 4 sold 0 loaded 10 shards 1 mode single");
}

static void the_same_order_id_of_another_product_is_another_order(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.LOAD hat 10");
    expect(f, "STOCK.TAKE shoe o1 ann 4", "1 6");
    expect(f, "STOCK.TAKE hat o1 bob 1", "1 9");
    expect(f, "STOCK.GIVE hat o1", "1 10");
    expect(f, "STOCK.SETTLE shoe o1", "1 6");
}

static void a_take_returns_at_its_ttl_to_the_millisecond(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 10 TTL 10ms");
    at(f, 1009);
    expect(f, "STOCK.TAKE shoe o2 bob 1", "0 SOLD_OUT");
    at(f, 1010);
    expect(f, "STOCK.TAKE shoe o2 bob 10", "1 0");
    at(f, 901009); /* 900 s by default */
    expect(f, "STOCK.TAKE shoe o3 cat 1", "0 SOLD_OUT");
    at(f, 901010);
    expect(f, "STOCK.TAKE shoe o3 cat 1", "1 9");
}

static void an_expired_order_is_unknown_at_once(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4 TTL 10ms");
    at(f, 1010);
    expect(f, "STOCK.SETTLE shoe o1", "0 NOT_FOUND");
    expect(f, "STOCK.GIVE shoe o1", "0 NOT_FOUND");
    expect(f, "STOCK.TAKE shoe o1 bob 5", "1 5");
}

/* ---- SETTLE and GIVE ------------------------------------------------------------------------- */

static void settle_sells_for_good_and_give_takes_back(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4 TTL 10ms");
    expect(f, "STOCK.SETTLE shoe o1", "1 6");
    expect(f, "STOCK.TAKE shoe o2 bob 6", "1 0");
    expect(f, "STOCK.GIVE shoe o2", "1 6");
    at(f, 10000000);
    expect(f, "STOCK.GET shoe", "available 6 taken 0 sold 4 loaded 10 shards 1 mode single");
}

static void an_unknown_product_comes_before_an_unknown_order(void **state)
{
    struct fixture *f = *state;

    expect(f, "STOCK.SETTLE shoe o1", "0 PRODUCT_NOT_FOUND");
    expect(f, "STOCK.GIVE shoe o1", "0 PRODUCT_NOT_FOUND");
    run(f, "STOCK.LOAD shoe 10");
    expect(f, "STOCK.SETTLE shoe o1", "0 NOT_FOUND");
    expect(f, "STOCK.GIVE shoe o1", "0 NOT_FOUND");
}

static void a_settled_order_is_remembered_for_300_s(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    run(f, "STOCK.SETTLE shoe o1");
    run(f, "STOCK.ADJUST shoe 1 found");
    at(f, 300999);
    expect(f, "STOCK.SETTLE shoe o1", "1 7");
    expect(f, "STOCK.TAKE shoe o1 ann 4", "1 7");
    expect(f, "STOCK.TAKE shoe o1 bob 4", "0 INVALID_STATE");
    expect(f, "STOCK.GIVE shoe o1", "0 INVALID_STATE");
    expect(f, "STOCK.GET shoe", "available 7 taken 0 sold 4 loaded 11 shards 1 mode single");
    at(f, 301000);
    expect(f, "STOCK.SETTLE shoe o1", "0 NOT_FOUND");
    expect(f, "STOCK.GIVE shoe o1", "0 NOT_FOUND");
    expect(f, "STOCK.TAKE shoe o1 bob 5", "1 2");
}

static void an_order_given_back_is_remembered_for_300_s(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    run(f, "STOCK.GIVE shoe o1");
    run(f, "STOCK.TAKE shoe o2 bob 1");
    at(f, 300999);
    expect(f, "STOCK.GIVE shoe o1", "1 9");
    expect(f, "STOCK.SETTLE shoe o1", "0 NOT_FOUND");
    at(f, 301000);
    expect(f, "STOCK.GIVE shoe o1", "0 NOT_FOUND");
}

static void an_order_given_back_may_be_taken_anew(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    run(f, "STOCK.GIVE shoe o1");
    expect(f, "STOCK.TAKE shoe o1 bob 11", "0 SOLD_OUT");
    expect(f, "STOCK.GIVE shoe o1", "1 10");
    expect(f, "STOCK.TAKE shoe o1 bob 7 TTL 60", "1 3");
    expect(f, "STOCK.SETTLE shoe o1", "1 3");
    expect(f, "STOCK.GET shoe", "available 3 taken 0 sold 7 loaded 10 shards 1 mode single");
}

/* A core whose hash tables stay fast with many records; the fixture's seed is too simple for that.
 */
static void use_good_hashes(struct fixture *f)
{
    static const uint64_t seed[2] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9};

    core_destroy(f->core);
    f->core = core_create(&f->memory, seed);
    assert_non_null(f->core);
}

/* Without the audit after each command, for many of them. */
static void apply(struct fixture *f, const char *verb, size_t count, int n)
{
    struct command command;
    char order[32];
    struct hf_bytes words[] = {
        hf_text(verb), HF_TEXT("shoe"), {order, 0}, HF_TEXT("ann"), HF_TEXT("1")};

    words[2].size = (size_t)snprintf(order, sizeof order, "o%d", n);
    assert_int_equal(command_from_words(&command, count, words, NULL), HF_OK);
    core_apply(f->core, &command, f->now_ms, &f->reply);
    assert_int_equal(f->reply.code, HF_OK);
}

static void every_closed_order_is_remembered_for_the_whole_window(void **state)
{
    struct fixture *f = *state;

    use_good_hashes(f);
    run(f, "STOCK.LOAD shoe 100");
    for (int i = 0; i < 70000; i++) {
        apply(f, "STOCK.TAKE", 5, i);
        apply(f, "STOCK.GIVE", 3, i);
    }
    f->now_ms += RETRY_WINDOW_MS - 1;
    expect(f, "STOCK.GIVE shoe o0", "1 100");
    expect(f, "STOCK.GIVE shoe o69999", "1 100");
    f->now_ms++;
    expect(f, "STOCK.GIVE shoe o0", "0 NOT_FOUND");
    expect(f, "STOCK.GIVE shoe o69999", "0 NOT_FOUND");
}

/* ---- conservation ---------------------------------------------------------------------------- */

static void assert_conserved(struct fixture *f)
{
    int64_t available, taken, sold, loaded;

    assert_int_equal(sscanf(run(f, "STOCK.GET shoe"),
                            "available %" SCNd64 " taken %" SCNd64 " sold %" SCNd64
                            " loaded %" SCNd64,
                            &available, &taken, &sold, &loaded),
                     4);
    assert_true(available >= 0 && taken >= 0 && sold >= 0);
    assert_int_equal(loaded, available + taken + sold);
}

static void loaded_is_available_plus_taken_plus_sold_whatever_happens(void **state)
{
    static const char *const forms[] = {"STOCK.TAKE shoe o%d ann %d TTL 50ms",
                                        "STOCK.SETTLE shoe o%d", "STOCK.GIVE shoe o%d",
                                        "STOCK.TAKE shoe o%d bob %d"};
    struct fixture *f = *state;
    unsigned seed = 5;
    char words[100];

    run(f, "STOCK.LOAD shoe 50");
    for (int i = 0; i < 5000; i++) {
        int order = rand_r(&seed) % 40, quantity = 1 + rand_r(&seed) % 9, what = rand_r(&seed) % 40;
        at(f, f->now_ms + rand_r(&seed) % 9);
        if (what == 0) {
            snprintf(words, sizeof words, "STOCK.ADJUST shoe %d counted", quantity * 2 - 11);
        } else if (what == 1) {
            snprintf(words, sizeof words, "STOCK.LOAD shoe %d", 30 + 10 * quantity);
        } else {
            snprintf(words, sizeof words, forms[what % 4], order, quantity);
        }
        run(f, words);
        assert_conserved(f);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(load_makes_a_product),
        CASE(load_again_moves_available_by_the_difference),
        CASE(load_below_what_is_taken_or_sold_is_capacity_in_use),
        CASE(a_load_repeated_after_an_adjust_changes_nothing),
        CASE(adjust_moves_available_and_loaded_by_the_delta),
        CASE(adjust_below_zero_is_capacity_in_use),
        CASE(a_reason_is_1_to_256_bytes_of_utf8),
        CASE(shards_watermark_and_policy_are_accepted_and_are_one_counter),
        CASE(shards_watermark_and_policy_have_bounds),
        CASE(no_product_has_more_than_2_to_the_53_less_1),
        CASE(take_says_what_remains),
        CASE(more_than_is_left_is_sold_out_also_when_some_is_left),
        CASE(a_quantity_is_at_least_1),
        CASE(take_again_with_the_same_arguments_changes_nothing),
        CASE(take_again_with_other_arguments_is_a_conflict),
        CASE(the_same_order_id_of_another_product_is_another_order),
        CASE(a_take_returns_at_its_ttl_to_the_millisecond),
        CASE(an_expired_order_is_unknown_at_once),
        CASE(settle_sells_for_good_and_give_takes_back),
        CASE(an_unknown_product_comes_before_an_unknown_order),
        CASE(a_settled_order_is_remembered_for_300_s),
        CASE(an_order_given_back_is_remembered_for_300_s),
        CASE(an_order_given_back_may_be_taken_anew),
        CASE(every_closed_order_is_remembered_for_the_whole_window),
        CASE(loaded_is_available_plus_taken_plus_sold_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

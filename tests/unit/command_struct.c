/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands from the argument structs of holdfast.h: a zero optional member means the default, a bad
 * value is refused. The bounds of each argument are in command_bounds.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "command/command.h"

static struct command command;
static struct problem problem;

#define expect_code(id, args, expected)                                                            \
    assert_string_equal(                                                                           \
        hf_error_name(command_from_struct(&command, &command_table[id], (args), &problem)),        \
        #expected)

static void expect_text(struct hf_bytes text, const char *expected)
{
    assert_true(text_equal(text, hf_text(expected)));
}

static struct hf_seats_reserve_args reserve_args(void)
{
    return (struct hf_seats_reserve_args){HF_TEXT("e"), HF_TEXT("z"),  HF_TEXT("b"),
                                          HF_TEXT("u"), .quantity = 2, .max_per_user = 4};
}

static void members_are_taken_over(void **state)
{
    struct hf_seats_reserve_args args = reserve_args();

    (void)state;
    args.show = hf_text("late");
    args.unit_price = 900;
    args.ttl_ms = 12345;
    args.lifetime = true;
    expect_code(SEATS_RESERVE, &args, OK);
    assert_ptr_equal(command.spec, &command_table[SEATS_RESERVE]);
    assert_memory_equal(&command.args.seats_reserve, &args, sizeof args);
}

static void the_struct_may_change_afterwards(void **state)
{
    struct hf_seats_reserve_args args = reserve_args();

    (void)state;
    expect_code(SEATS_RESERVE, &args, OK);
    assert_int_equal(args.ttl_ms, 0); /* and is itself left alone */
    memset(&args, 0xa5, sizeof args);
    assert_int_equal(command.args.seats_reserve.quantity, 2);
    expect_text(command.args.seats_reserve.user, "u");
}

static void zero_means_the_default(void **state)
{
    struct hf_seats_reserve_args reserve = reserve_args();
    struct hf_quota_reserve_args hold = {HF_TEXT("t"), .amount = 5, .hold = HF_TEXT("h")};
    struct hf_sem_acquire_args acquire = {HF_TEXT("s"), HF_TEXT("i"), .limit = 1};
    struct hf_stock_load_args load = {HF_TEXT("p"), .quantity = 0};
    struct hf_stock_take_args take = {HF_TEXT("p"), HF_TEXT("o"), HF_TEXT("u"), .quantity = 1};
    struct hf_room_join_args join = {HF_TEXT("e"), HF_TEXT("u"), .max = 0};
    struct hf_room_admit_args admit = {HF_TEXT("e"), .count = 1};
    struct hf_idem_begin_args begin = {HF_TEXT("k"), HF_TEXT("f"), .ttl_ms = 0};
    struct hf_idem_complete_args complete = {HF_TEXT("k"), HF_TEXT(""), .ttl_ms = 0};

    (void)state;
    expect_code(SEATS_RESERVE, &reserve, OK);
    assert_int_equal(command.args.seats_reserve.ttl_ms, 600 * 1000);
    expect_code(QUOTA_RESERVE, &hold, OK);
    assert_int_equal(command.args.quota_reserve.ttl_ms, 900 * 1000);
    expect_code(SEM_ACQUIRE, &acquire, OK);
    assert_int_equal(command.args.sem_acquire.heartbeat_ms, 180 * 1000);
    assert_int_equal(command.args.sem_acquire.ttl_ms, 24 * 3600 * 1000);
    assert_int_equal(command.args.sem_acquire.wait_ms, 0);
    expect_code(STOCK_LOAD, &load, OK);
    assert_int_equal(command.args.stock_load.shards, 1);
    expect_text(command.args.stock_load.policy, "merge");
    expect_code(STOCK_TAKE, &take, OK);
    assert_int_equal(command.args.stock_take.ttl_ms, 900 * 1000);
    expect_code(ROOM_JOIN, &join, OK);
    assert_int_equal(command.args.room_join.max, HF_INTEGER_MAX);
    assert_int_equal(command.args.room_join.ttl_ms, 1800 * 1000);
    expect_code(ROOM_ADMIT, &admit, OK);
    assert_int_equal(command.args.room_admit.pass_ms, 0);
    expect_code(IDEM_BEGIN, &begin, OK);
    assert_int_equal(command.args.idem_begin.ttl_ms, 60 * 1000);
    expect_code(IDEM_COMPLETE, &complete, OK);
    assert_int_equal(command.args.idem_complete.ttl_ms, 24 * 3600 * 1000);
}

/* But those that need nothing. */
static void struct_of_zeros_is_refused_for_every_command(void **state)
{
    static const union command_args zeros;

    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        enum hf_error expected = command_table[i].required == 0 ? HF_OK
                                 : i == LIST                    ? HF_INVALID_ARGUMENT
                                                                : HF_INVALID_ID;
        assert_int_equal(command_from_struct(&command, &command_table[i], &zeros, &problem),
                         expected);
        if (expected != HF_OK) {
            assert_non_null(strstr(problem.message, command_table[i].args[0].name));
        }
    }
}

static void required_members_have_no_default(void **state)
{
    struct hf_seats_reserve_args reserve = reserve_args();
    struct hf_lock_try_args try = {HF_TEXT("r"), .ttl_ms = 0};
    struct hf_sem_wake_args wake = {HF_TEXT("s"), .limit = 0, .heartbeat_ms = 10, .ttl_ms = 10};
    struct hf_quota_refund_args refund = {HF_TEXT("t"), .amount = 0};
    struct hf_stock_adjust_args adjust = {HF_TEXT("p"), .delta = 1};

    (void)state;
    reserve.quantity = 0;
    expect_code(SEATS_RESERVE, &reserve, INVALID_QUANTITY);
    expect_code(LOCK_TRY, &try, INVALID_TTL);
    expect_code(SEM_WAKE, &wake, INVALID_QUANTITY);
    expect_code(QUOTA_REFUND, &refund, INVALID_AMOUNT);
    expect_code(STOCK_ADJUST, &adjust, INVALID_ARGUMENT);
}

static void zero_is_a_value_where_zero_makes_sense(void **state)
{
    struct hf_seats_open_args open = {HF_TEXT("e"), HF_TEXT("z"), .capacity = 0};
    struct hf_quota_limit_args limit = {HF_TEXT("t"), .limit = 0};
    struct hf_stock_adjust_args adjust = {HF_TEXT("p"), .delta = 0, .reason = HF_TEXT("r")};

    (void)state;
    expect_code(SEATS_OPEN, &open, OK);
    assert_int_equal(command.args.seats_open.capacity, 0);
    expect_code(QUOTA_LIMIT, &limit, OK);
    expect_code(STOCK_ADJUST, &adjust, OK);
}

/* A struct of zeros commits all of a hold; who used nothing of it has to say so. */
static void an_optional_zero_is_told_from_none(void **state)
{
    struct hf_quota_commit_args commit = {.tenant = HF_TEXT("t"), .hold = HF_TEXT("h")};

    (void)state;
    expect_code(QUOTA_COMMIT, &commit, OK);
    assert_int_equal(command.args.quota_commit.amount, 0);
    commit.amount = HF_ZERO;
    expect_code(QUOTA_COMMIT, &commit, OK);
    assert_int_equal(command.args.quota_commit.amount, HF_ZERO);
    commit.amount = 7;
    expect_code(QUOTA_COMMIT, &commit, OK);
    commit.amount = -2;
    expect_code(QUOTA_COMMIT, &commit, INVALID_AMOUNT);
}

static void bad_optional_members_are_refused(void **state)
{
    struct hf_seats_reserve_args reserve = reserve_args();
    struct hf_stock_load_args load = {HF_TEXT("p"), .quantity = 1, .policy = HF_TEXT("share")};
    struct hf_sem_acquire_args acquire = {HF_TEXT("s"), HF_TEXT("i"), .limit = 1, .wait_ms = -1};
    struct hf_room_join_args join = {HF_TEXT("e"), HF_TEXT("u"), .max = -1};

    (void)state;
    reserve.show = hf_text("two words");
    expect_code(SEATS_RESERVE, &reserve, INVALID_ID);
    reserve = reserve_args();
    reserve.unit_price = -1;
    expect_code(SEATS_RESERVE, &reserve, INVALID_AMOUNT);
    reserve = reserve_args();
    reserve.ttl_ms = 9;
    expect_code(SEATS_RESERVE, &reserve, INVALID_TTL);
    reserve.ttl_ms = INT64_MIN;
    expect_code(SEATS_RESERVE, &reserve, INVALID_TTL);
    expect_code(STOCK_LOAD, &load, INVALID_ARGUMENT);
    expect_code(SEM_ACQUIRE, &acquire, INVALID_TTL);
    expect_code(ROOM_JOIN, &join, INVALID_QUANTITY);
}

static void ttl_without_hold_is_an_invalid_argument(void **state)
{
    struct hf_quota_reserve_args args = {HF_TEXT("t"), .amount = 5, .ttl_ms = 1000};

    (void)state;
    expect_code(QUOTA_RESERVE, &args, INVALID_ARGUMENT);
    args.ttl_ms = 0;
    expect_code(QUOTA_RESERVE, &args, OK);
    assert_int_equal(command.args.quota_reserve.ttl_ms, 0);
}

static void text_without_data_is_empty(void **state)
{
    struct hf_idem_complete_args complete = {.key = HF_TEXT("k")};
    struct hf_seats_confirm_args confirm = {HF_TEXT("e"), HF_TEXT("b"), .user = {NULL, 0}};

    (void)state;
    expect_code(IDEM_COMPLETE, &complete, OK);
    assert_int_equal(command.args.idem_complete.response.size, 0);
    expect_code(SEATS_CONFIRM, &confirm, OK);
}

static void entropy_starts_as_zeros(void **state)
{
    struct hf_lock_try_args args = {HF_TEXT("r"), .ttl_ms = 1000};

    (void)state;
    memset(&command, 0xa5, sizeof command);
    expect_code(LOCK_TRY, &args, OK);
    for (size_t i = 0; i < COMMAND_ENTROPY; i++) {
        assert_int_equal(command.entropy[i], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_taken_over),
        cmocka_unit_test(the_struct_may_change_afterwards),
        cmocka_unit_test(zero_means_the_default),
        cmocka_unit_test(struct_of_zeros_is_refused_for_every_command),
        cmocka_unit_test(required_members_have_no_default),
        cmocka_unit_test(zero_is_a_value_where_zero_makes_sense),
        cmocka_unit_test(an_optional_zero_is_told_from_none),
        cmocka_unit_test(bad_optional_members_are_refused),
        cmocka_unit_test(ttl_without_hold_is_an_invalid_argument),
        cmocka_unit_test(text_without_data_is_empty),
        cmocka_unit_test(entropy_starts_as_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

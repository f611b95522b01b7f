/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands from named fields, as a JSON object gives them. The bounds of each argument are in
 * command_bounds.c. */
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

/* clang-format off */
#define T(field, value) {.name = HF_TEXT(field), .text = HF_TEXT(value)}
#define N(field, value) {.name = HF_TEXT(field), .number = (value)}
/* clang-format on */

#define decode(id, fields)                                                                         \
    command_from_fields(&command, &command_table[id], sizeof(fields) / sizeof((fields)[0]),        \
                        fields, &problem)

#define expect_code(id, fields, expected)                                                          \
    assert_string_equal(hf_error_name(decode(id, fields)), #expected)

static void expect_text(struct hf_bytes text, const char *expected)
{
    assert_true(text_equal(text, hf_text(expected)));
}

static void fields_have_the_names_of_the_http_contract(void **state)
{
    const struct command_field fields[] = {
        T("event", "gala"),   T("zone_id", "floor"), T("booking_id", "b"), T("user_id", "ann"),
        N("quantity", 2),     N("max_per_user", 4),  T("show_id", "late"), N("unit_price", 900),
        N("ttl_seconds", 30), N("lifetime", 1)};

    (void)state;
    expect_code(SEATS_RESERVE, fields, OK);
    const struct hf_seats_reserve_args *args = &command.args.seats_reserve;
    assert_ptr_equal(command.spec, &command_table[SEATS_RESERVE]);
    expect_text(args->event, "gala");
    expect_text(args->zone, "floor");
    expect_text(args->booking, "b");
    expect_text(args->user, "ann");
    assert_int_equal(args->quantity, 2);
    assert_int_equal(args->max_per_user, 4);
    expect_text(args->show, "late");
    assert_int_equal(args->unit_price, 900);
    assert_int_equal(args->ttl_ms, 30000);
    assert_true(args->lifetime);
}

static void order_does_not_matter(void **state)
{
    const struct command_field fields[] = {N("quantity", 9), T("user_id", "u"), N("ttl_seconds", 1),
                                           T("product", "p"), T("order_id", "o")};
    (void)state;
    expect_code(STOCK_TAKE, fields, OK);
    assert_int_equal(command.args.stock_take.quantity, 9);
    expect_text(command.args.stock_take.order, "o");
    assert_int_equal(command.args.stock_take.ttl_ms, 1000);
}

static void numbers_may_come_as_text(void **state)
{
    const struct command_field fields[] = {T("tenant", "t"), T("amount", "17"), T("hold_id", "h"),
                                           T("ttl_seconds", "1500ms")};
    (void)state;
    expect_code(QUOTA_RESERVE, fields, OK);
    assert_int_equal(command.args.quota_reserve.amount, 17);
    assert_int_equal(command.args.quota_reserve.ttl_ms, 1500);
}

static void seconds_are_seconds_and_milliseconds_milliseconds(void **state)
{
    const struct command_field fields[] = {T("name", "s"),        T("id", "i"),
                                           N("limit", 3),         N("heartbeat_seconds", 5),
                                           N("ttl_seconds", 700), N("wait_ms", 250)};
    (void)state;
    expect_code(SEM_ACQUIRE, fields, OK);
    assert_int_equal(command.args.sem_acquire.heartbeat_ms, 5000);
    assert_int_equal(command.args.sem_acquire.ttl_ms, 700000);
    assert_int_equal(command.args.sem_acquire.wait_ms, 250);
}

static void durations_out_of_bounds_are_invalid_ttl_however_large(void **state)
{
    static const int64_t seconds[] = {0,         -1,
                                      2592001,   INT64_MAX / 1000,
                                      INT64_MAX, INT64_MAX / 1000 + 1,
                                      INT64_MIN, INT64_MIN / 1000 - 1};
    (void)state;
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        const struct command_field fields[] = {T("resource", "r"), N("ttl_seconds", seconds[i])};
        expect_code(LOCK_TRY, fields, INVALID_TTL);
    }
    const struct command_field fields[] = {T("resource", "r"), N("ttl_seconds", 2592000)};
    expect_code(LOCK_TRY, fields, OK);
    assert_int_equal(command.args.lock_try.ttl_ms, HF_TTL_MAX_MS);
}

static void numbers_out_of_bounds_have_the_code_of_their_kind(void **state)
{
    const struct command_field count[] = {T("event", "e"), T("zone", "z"), N("capacity", -1)};
    const struct command_field amount[] = {T("tenant", "t"), N("limit", HF_INTEGER_MAX + 1)};
    const struct command_field malformed[] = {T("tenant", "t"), T("limit", "much")};

    (void)state;
    expect_code(SEATS_OPEN, count, INVALID_QUANTITY);
    expect_code(QUOTA_LIMIT, amount, INVALID_AMOUNT);
    expect_code(QUOTA_LIMIT, malformed, ERR);
}

static void a_flag_is_true_or_false_and_no_text(void **state)
{
    struct command_field fields[] = {T("event", "e"),   T("zone_id", "z"), T("booking_id", "b"),
                                     T("user_id", "u"), N("quantity", 1),  N("max_per_user", 1),
                                     N("lifetime", 0)};
    const struct command_field text = T("lifetime", "true");

    (void)state;
    expect_code(SEATS_RESERVE, fields, OK);
    assert_false(command.args.seats_reserve.lifetime);
    fields[6].number = 1;
    expect_code(SEATS_RESERVE, fields, OK);
    assert_true(command.args.seats_reserve.lifetime);
    fields[6] = text;
    expect_code(SEATS_RESERVE, fields, INVALID_ARGUMENT);
}

static void a_number_is_no_text(void **state)
{
    const struct command_field id[] = {N("tenant", 7)};
    const struct command_field choice[] = {T("product", "p"), N("quantity", 1), N("policy", 1)};
    const struct command_field reason[] = {T("product", "p"), N("delta", 1), N("reason", 1)};
    const struct command_field response[] = {T("key", "k"), N("response", 1)};

    (void)state;
    expect_code(QUOTA_GET, id, INVALID_ARGUMENT);
    expect_code(STOCK_LOAD, choice, INVALID_ARGUMENT);
    expect_code(STOCK_ADJUST, reason, INVALID_ARGUMENT);
    expect_code(IDEM_COMPLETE, response, INVALID_ARGUMENT);
}

static void an_empty_text_is_a_text(void **state)
{
    const struct command_field id[] = {T("tenant", "")};
    const struct command_field number[] = {T("tenant", "t"), T("limit", "")};
    const struct command_field response[] = {T("key", "k"), T("response", "")};

    (void)state;
    expect_code(QUOTA_GET, id, INVALID_ID);
    expect_code(QUOTA_LIMIT, number, ERR);
    expect_code(IDEM_COMPLETE, response, OK);
}

static void unknown_or_repeated_fields_are_refused_by_name(void **state)
{
    const struct command_field unknown[] = {T("tenant", "t"), N("limits", 1)};
    const struct command_field upper[] = {T("Tenant", "t")};
    const struct command_field repeated[] = {T("tenant", "t"), T("tenant", "t")};
    const struct command_field argument[] = {T("event", "e"), T("booking", "b")};

    (void)state;
    expect_code(QUOTA_GET, unknown, INVALID_ARGUMENT);
    assert_non_null(strstr(problem.message, "limits"));
    expect_code(QUOTA_GET, upper, INVALID_ARGUMENT);
    expect_code(QUOTA_GET, repeated, INVALID_ARGUMENT);
    assert_non_null(strstr(problem.message, "tenant"));
    expect_code(SEATS_GET, argument, INVALID_ARGUMENT); /* its field is "id" */
}

static void every_required_field_that_is_missing_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        for (size_t missing = 0; missing < spec->required; missing++) {
            struct command_field fields[COMMAND_ARGS_MAX];
            size_t count = 0;
            for (size_t a = 0; a < spec->required; a++) {
                if (a != missing) {
                    fields[count++] = (struct command_field){.name = hf_text(spec->args[a].field),
                                                             .text = HF_TEXT("5")};
                }
            }
            assert_int_equal(command_from_fields(&command, spec, count, fields, &problem),
                             HF_INVALID_ARGUMENT);
            assert_non_null(strstr(problem.message, spec->args[missing].field));
        }
    }
}

static void what_is_not_given_has_its_default(void **state)
{
    const struct command_field load[] = {T("product", "p"), N("quantity", 5)};
    const struct command_field reserve[] = {T("tenant", "t"), N("amount", 5)};
    const struct command_field hold[] = {T("tenant", "t"), N("amount", 5), T("hold_id", "h")};

    (void)state;
    memset(&command, 0xa5, sizeof command);
    expect_code(STOCK_LOAD, load, OK);
    assert_int_equal(command.args.stock_load.shards, 1);
    assert_int_equal(command.args.stock_load.watermark, 0);
    expect_text(command.args.stock_load.policy, "merge");
    expect_code(QUOTA_RESERVE, reserve, OK);
    assert_int_equal(command.args.quota_reserve.hold.size, 0);
    assert_int_equal(command.args.quota_reserve.ttl_ms, 0);
    expect_code(QUOTA_RESERVE, hold, OK);
    assert_int_equal(command.args.quota_reserve.ttl_ms, 900 * 1000);
}

static void ttl_without_hold_is_an_invalid_argument(void **state)
{
    const struct command_field fields[] = {T("tenant", "t"), N("amount", 5), N("ttl_seconds", 9)};

    (void)state;
    expect_code(QUOTA_RESERVE, fields, INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_the_names_of_the_http_contract),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(numbers_may_come_as_text),
        cmocka_unit_test(seconds_are_seconds_and_milliseconds_milliseconds),
        cmocka_unit_test(durations_out_of_bounds_are_invalid_ttl_however_large),
        cmocka_unit_test(numbers_out_of_bounds_have_the_code_of_their_kind),
        cmocka_unit_test(a_flag_is_true_or_false_and_no_text),
        cmocka_unit_test(a_number_is_no_text),
        cmocka_unit_test(an_empty_text_is_a_text),
        cmocka_unit_test(unknown_or_repeated_fields_are_refused_by_name),
        cmocka_unit_test(every_required_field_that_is_missing_is_named),
        cmocka_unit_test(what_is_not_given_has_its_default),
        cmocka_unit_test(ttl_without_hold_is_an_invalid_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said to a malformed command: which argument, by the name that the sender uses, with what
 * value and what was allowed; and all that is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "command/command.h"

#define WORDS_MAX 16

static void expect_words(const char *text, const char *message)
{
    struct hf_bytes words[WORDS_MAX];
    struct command command;
    struct problem problem = {.message = ""};
    size_t count = 0;

    while (*text != '\0') {
        size_t size = strcspn(text, " ");
        words[count++] = (struct hf_bytes){text, size};
        text += size + (text[size] == ' ');
    }
    assert_int_not_equal(command_from_words(&command, count, words, &problem), HF_OK);
    assert_string_equal(problem.message, message);
}

static void expect_fields(enum command_id id, size_t count, const struct command_field *fields,
                          const char *message)
{
    struct command command;
    struct problem problem = {.message = ""};

    assert_int_not_equal(command_from_fields(&command, &command_table[id], count, fields, &problem),
                         HF_OK);
    assert_string_equal(problem.message, message);
}

static void all_that_is_missing_is_named(void **state)
{
    const struct command_field given[] = {{.name = HF_TEXT("event"), .text = HF_TEXT("gala")},
                                          {.name = HF_TEXT("quantity"), .number = 1}};

    (void)state;
    expect_words("SEATS.RESERVE gala floor b-1",
                 "wrong number of arguments for SEATS.RESERVE: 3 given, 6 needed; missing: user, "
                 "quantity, max_per_user");
    expect_words("SEATS.ZONE", "wrong number of arguments for SEATS.ZONE: 0 given, 2 needed; "
                               "missing: event, zone");
    expect_words("SEATS.ZONE gala floor pit",
                 "wrong number of arguments for SEATS.ZONE: 3 given, at most 2 possible");
    expect_fields(SEATS_RESERVE, 2, given,
                  "fields are missing: zone_id, booking_id, user_id, max_per_user");
}

static void a_mistyped_word_gets_a_hint(void **state)
{
    const struct command_field zone[] = {{.name = HF_TEXT("event"), .text = HF_TEXT("gala")},
                                         {.name = HF_TEXT("zone_di"), .text = HF_TEXT("floor")}};

    (void)state;
    expect_words("SEATS.RESRVE gala",
                 "unknown command 'SEATS.RESRVE' (did you mean SEATS.RESERVE?)");
    expect_words("NO.SUCH gala", "unknown command 'NO.SUCH'");
    expect_words("LOCK.TRY seat 5 IDD me", "LOCK.TRY has no argument 'IDD' (did you mean ID?)");
    expect_words("LOCK.TRY seat 5 COLOUR red", "LOCK.TRY has no argument 'COLOUR'");
    expect_fields(SEATS_RESERVE, 2, zone, "unknown field \"zone_di\" (did you mean zone_id?)");
}

/* Over HTTP nobody has ever heard of SHOW or PRICE. */
static void a_field_is_called_by_its_own_name(void **state)
{
    struct command_field fields[] = {
        {.name = HF_TEXT("event"), .text = HF_TEXT("gala")},
        {.name = HF_TEXT("zone_id"), .text = HF_TEXT("floor")},
        {.name = HF_TEXT("booking_id"), .text = HF_TEXT("b-1")},
        {.name = HF_TEXT("user_id"), .text = HF_TEXT("ann")},
        {.name = HF_TEXT("quantity"), .number = 1},
        {.name = HF_TEXT("max_per_user"), .number = 4},
        {.name = HF_TEXT("show_id"), .text = HF_TEXT("no{good")},
    };

    (void)state;
    expect_fields(SEATS_RESERVE, 7, fields,
                  "show_id \"no{good\" (7 bytes) is not an id: 1-128 bytes of UTF-8, no spaces, "
                  "control characters, { or }");
    fields[6] = (struct command_field){.name = HF_TEXT("unit_price"), .number = -1};
    expect_fields(SEATS_RESERVE, 7, fields, "unit_price is -1: must be 0 to 9007199254740991");
    fields[6] = (struct command_field){.name = HF_TEXT("lifetime"), .text = HF_TEXT("yes")};
    expect_fields(SEATS_RESERVE, 7, fields, "lifetime \"yes\" must be true or false");
    fields[6] = (struct command_field){.name = HF_TEXT("show_id"), .number = 5};
    expect_fields(SEATS_RESERVE, 7, fields, "show_id is a number: must be a text in quotes");
    fields[6] = (struct command_field){.name = HF_TEXT("event"), .text = HF_TEXT("gala")};
    expect_fields(SEATS_RESERVE, 7, fields, "repeated field \"event\": it may be given once");
}

static void a_value_comes_with_its_bounds(void **state)
{
    (void)state;
    expect_words("SEATS.RESERVE gala floor b-1 ann 0 4",
                 "quantity is 0: must be 1 to 9007199254740991");
    expect_words("SEATS.RESERVE gala floor b-1 ann two 4", "quantity \"two\" is not a number");
    expect_words("SEATS.RESERVE gala floor b-1 ann 2 4 PRICE 19.99",
                 "PRICE \"19.99\" is a fraction: numbers are whole, and money is in minor units, "
                 "such as cents");
    expect_words("SEATS.RESERVE gala floor b-1 ann 2 4 PRICE 1.2.3",
                 "PRICE \"1.2.3\" is not a number");
    expect_words("LOCK.TRY seat 5 ID", "ID needs a value: lock_id");
    expect_words("SEATS.CONFIRM gala b-1 USER a USER b", "USER is given twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_missing_is_named),
        cmocka_unit_test(a_mistyped_word_gets_a_hint),
        cmocka_unit_test(a_field_is_called_by_its_own_name),
        cmocka_unit_test(a_value_comes_with_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

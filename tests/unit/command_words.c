/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands from words: how many, in which order, and what a keyword may do. The bounds of each
 * argument are in command_bounds.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "choice_fixture.h"
#include "base/text.h"
#include "command/command.h"

static struct command command;
static struct problem problem;

/* Decodes a line of words separated by one space; "~" stands for a word with nothing in it. */
static enum hf_error decode(const char *line)
{
    struct hf_bytes words[64];
    size_t count = 0;

    while (*line != '\0') {
        size_t size = strcspn(line, " ");
        words[count++] = *line == '~' ? hf_text("") : (struct hf_bytes){line, size};
        line += size + (line[size] == ' ');
    }
    problem = (struct problem){0};
    return command_from_words(&command, count, words, &problem);
}

#define expect_code(line, expected) assert_string_equal(hf_error_name(decode(line)), #expected)

static void expect_text(struct hf_bytes text, const char *expected)
{
    assert_true(text_equal(text, hf_text(expected)));
}

static void name_may_be_in_any_case(void **state)
{
    (void)state;
    expect_code("SEATS.ZONE gala floor", OK);
    assert_ptr_equal(command.spec, &command_table[SEATS_ZONE]);
    expect_code("seats.zone gala floor", OK);
    assert_ptr_equal(command.spec, &command_table[SEATS_ZONE]);
    expect_text(command.args.seats_zone.event, "gala");
    expect_text(command.args.seats_zone.zone, "floor");
}

static void unknown_command_is_malformed(void **state)
{
    (void)state;
    expect_code("", ERR);
    expect_code("~", ERR);
    expect_code("SEATS", ERR);
    expect_code("SEATS.ZONES gala floor", ERR);
    assert_non_null(strstr(problem.message, "SEATS.ZONES"));
}

static void texts_are_views_of_the_words(void **state)
{
    const struct hf_bytes words[] = {HF_TEXT("IDEM.COMPLETE"), HF_TEXT("k"), HF_TEXT("\0\xff")};

    (void)state;
    assert_int_equal(command_from_words(&command, 3, words, &problem), HF_OK);
    assert_ptr_equal(command.args.idem_complete.key.data, words[1].data);
    assert_ptr_equal(command.args.idem_complete.response.data, words[2].data);
    assert_int_equal(command.args.idem_complete.response.size, 2);
}

/* Words that decode: the name, and "5" for each required argument that is no choice. */
static void fill_required(const struct command_spec *spec, struct hf_bytes *words)
{
    words[0] = hf_text(spec->name);
    for (size_t i = 1; i <= COMMAND_WORDS_MAX; i++) {
        bool choice = i <= spec->required && spec->args[i - 1].type == ARG_CHOICE;
        words[i] = choice ? last_choice(&spec->args[i - 1]) : hf_text("5");
    }
}

static void wrong_number_of_words_is_malformed_for_every_command(void **state)
{
    struct hf_bytes words[COMMAND_WORDS_MAX + 1];

    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        fill_required(spec, words);
        for (size_t count = 1; count <= COMMAND_WORDS_MAX + 1; count++) {
            enum hf_error code = command_from_words(&command, count, words, &problem);
            assert_int_equal(code, count - 1 == spec->required ? HF_OK : HF_ERR);
        }
    }
}

/* docs/semantics.md: the count comes before the arguments. */
static void too_few_or_too_many_is_malformed_whatever_else_is_wrong(void **state)
{
    (void)state;
    expect_code("SEATS.ZONE {", ERR);
    expect_code("SEATS.ZONE { } {", ERR);
    expect_code("SEATS.RESERVE { z b u 0", ERR);
    expect_code("SEATS.RELEASE { b USER u TTL", ERR);
    expect_code("SEATS.RELEASE { b USER u", INVALID_ID);
}

/* A flag takes one word and no value. */
static void a_word_too_many_after_a_flag_is_malformed_whatever_else_is_wrong(void **state)
{
    (void)state;
    expect_code("SEATS.RESERVE { z b u 1 1 SHOW s PRICE 1 TTL 1 PASS p LIFETIME", INVALID_ID);
    expect_code("SEATS.RESERVE { z b u 1 1 SHOW s PRICE 1 TTL 1 PASS p LIFETIME 1", ERR);
    expect_code("SEATS.RESERVE e z b u 1 1 SHOW s PRICE 1 TTL 1 PASS p LIFETIME", OK);
    expect_code("SEATS.RESERVE e z b u 1 1 SHOW s PRICE 1 TTL 1 PASS p LIFETIME 1", ERR);
    assert_non_null(strstr(problem.message, "wrong number"));
}

static void every_keyword_wants_its_value_and_comes_once(void **state)
{
    struct hf_bytes words[COMMAND_WORDS_MAX + 1];

    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        for (size_t k = spec->required; k < spec->arg_count; k++) {
            bool flag = spec->args[k].type == ARG_FLAG;
            size_t count = spec->required + 1;
            fill_required(spec, words);
            words[count++] = hf_text(spec->args[k].keyword);
            assert_int_equal(command_from_words(&command, count, words, &problem),
                             !flag                         ? HF_ERR
                             : spec->args[k].needs == NULL ? HF_OK
                                                           : HF_INVALID_ARGUMENT);
            if (!flag) {
                words[count++] = spec->args[k].choices ? last_choice(&spec->args[k]) : hf_text("5");
            }
            enum hf_error once = command_from_words(&command, count, words, &problem);
            assert_int_equal(once, spec->args[k].needs ? HF_INVALID_ARGUMENT : HF_OK);

            size_t used = flag ? 1 : 2;
            memcpy(words + count, words + spec->required + 1, used * sizeof words[0]);
            count += used;
            assert_int_equal(command_from_words(&command, count, words, &problem), HF_ERR);
        }
    }
}

static void keywords_come_in_any_order_and_case(void **state)
{
    static const char *const lines[] = {
        "SEATS.RESERVE e z b u 2 4 SHOW s PRICE 900 TTL 30s LIFETIME",
        "SEATS.RESERVE e z b u 2 4 LIFETIME TTL 30 PRICE 900 SHOW s",
        "seats.reserve e z b u 2 4 price 900 lifetime show s ttl 30000ms",
        "Seats.Reserve e z b u 2 4 Ttl 30 Show s LifeTime pRICE 900",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(decode(lines[i]), HF_OK);
        const struct hf_seats_reserve_args *args = &command.args.seats_reserve;
        expect_text(args->event, "e");
        expect_text(args->zone, "z");
        expect_text(args->booking, "b");
        expect_text(args->user, "u");
        assert_int_equal(args->quantity, 2);
        assert_int_equal(args->max_per_user, 4);
        expect_text(args->show, "s");
        assert_int_equal(args->unit_price, 900);
        assert_int_equal(args->ttl_ms, 30000);
        assert_true(args->lifetime);
    }
}

static void repeated_unknown_or_lonely_keywords_are_malformed(void **state)
{
    (void)state;
    expect_code("SEATS.RESERVE e z b u 2 4 TTL 30 ttl 30", ERR);
    expect_code("SEATS.RESERVE e z b u 2 4 LIFETIME LIFETIME", ERR);
    expect_code("SEATS.RESERVE e z b u 2 4 LIFETIME 1", ERR);
    expect_code("SEATS.RESERVE e z b u 2 4 SEATS 1", ERR);
    expect_code("SEATS.RESERVE e z b u 2 4 ~", ERR);
    expect_code("SEATS.RESERVE e z b u 2 4 TTL", ERR);
    expect_code("SEATS.RESERVE e z b u 2 4 TTL=30", ERR);
    expect_code("SEATS.CONFIRM e b TTL 30", ERR); /* another command's */
    expect_code("SEATS.CONFIRM e b ann", ERR);
}

static void a_value_may_look_like_a_keyword(void **state)
{
    (void)state;
    expect_code("SEATS.RESERVE TTL SHOW PRICE LIFETIME 1 2 SHOW TTL TTL 5", OK);
    expect_text(command.args.seats_reserve.event, "TTL");
    expect_text(command.args.seats_reserve.user, "LIFETIME");
    expect_text(command.args.seats_reserve.show, "TTL");
    assert_int_equal(command.args.seats_reserve.ttl_ms, 5000);
    assert_false(command.args.seats_reserve.lifetime);
}

static void arguments_are_checked_in_the_order_given(void **state)
{
    (void)state;
    expect_code("SEATS.RESERVE { z b u 0 x", INVALID_ID);
    expect_code("SEATS.RESERVE e z b u 0 x", INVALID_QUANTITY);
    expect_code("SEATS.RESERVE e z b u x -1", ERR);
    expect_code("SEATS.RESERVE e z b u 1 1 TTL 1ms SHOW {", INVALID_TTL);
    expect_code("SEATS.RESERVE e z b u 1 1 SHOW { TTL 1ms", INVALID_ID);
    expect_code("SEATS.RESERVE e z b u 1 1 PRICE -1 BOGUS", INVALID_AMOUNT);
    expect_code("SEATS.RESERVE e z b u 1 1 BOGUS PRICE -1", ERR);
    expect_code("SEATS.RESERVE e z b u 1 1 TTL 1ms TTL", INVALID_TTL);
}

static void ttl_without_hold_is_an_invalid_argument(void **state)
{
    (void)state;
    expect_code("QUOTA.RESERVE t 5 TTL 30", INVALID_ARGUMENT);
    expect_code("QUOTA.RESERVE t 5 TTL 30 HOLD h", OK);
    assert_int_equal(command.args.quota_reserve.ttl_ms, 30000);
    expect_code("QUOTA.RESERVE t 5 HOLD h TTL 30", OK);
    expect_code("QUOTA.RESERVE t 5 HOLD ~", INVALID_ID);
    expect_code("QUOTA.RESERVE t 5", OK);
    assert_int_equal(command.args.quota_reserve.ttl_ms, 0);
    assert_int_equal(command.args.quota_reserve.hold.size, 0);
}

static void what_is_not_given_has_the_default_of_the_contract(void **state)
{
    (void)state;
    expect_code("SEATS.RESERVE e z b u 1 2", OK);
    assert_int_equal(command.args.seats_reserve.ttl_ms, 600 * 1000);
    assert_int_equal(command.args.seats_reserve.unit_price, 0);
    assert_int_equal(command.args.seats_reserve.show.size, 0);
    assert_false(command.args.seats_reserve.lifetime);
    expect_code("QUOTA.RESERVE t 5 HOLD h", OK);
    assert_int_equal(command.args.quota_reserve.ttl_ms, 900 * 1000);
    expect_code("SEM.ACQUIRE s i 1", OK);
    assert_int_equal(command.args.sem_acquire.heartbeat_ms, 180 * 1000);
    assert_int_equal(command.args.sem_acquire.ttl_ms, 24 * 3600 * 1000);
    assert_int_equal(command.args.sem_acquire.wait_ms, 0);
    expect_code("STOCK.LOAD p 5", OK);
    assert_int_equal(command.args.stock_load.shards, 1);
    assert_int_equal(command.args.stock_load.watermark, 0);
    expect_text(command.args.stock_load.policy, "merge");
    expect_code("STOCK.TAKE p o u 1", OK);
    assert_int_equal(command.args.stock_take.ttl_ms, 900 * 1000);
    expect_code("ROOM.JOIN e u", OK);
    assert_int_equal(command.args.room_join.max, HF_INTEGER_MAX);
    assert_int_equal(command.args.room_join.ttl_ms, 1800 * 1000);
    expect_code("ROOM.ADMIT e 1", OK);
    assert_int_equal(command.args.room_admit.pass_ms, 0);
    expect_code("IDEM.BEGIN k f", OK);
    assert_int_equal(command.args.idem_begin.ttl_ms, 60 * 1000);
    expect_code("IDEM.COMPLETE k r", OK);
    assert_int_equal(command.args.idem_complete.ttl_ms, 24 * 3600 * 1000);
}

static void nothing_is_left_of_the_command_before(void **state)
{
    (void)state;
    memset(&command, 0xa5, sizeof command);
    expect_code("SEATS.CONFIRM e b", OK);
    assert_int_equal(command.args.seats_confirm.user.size, 0);
    assert_int_equal(command.args.seats_confirm.payment.size, 0);
    for (size_t i = 0; i < COMMAND_ENTROPY; i++) {
        assert_int_equal(command.entropy[i], 0);
    }
}

static void message_is_one_plain_line_that_names_what_is_wrong(void **state)
{
    struct hf_bytes words[] = {HF_TEXT("SEATS.ZONE"), HF_TEXT("\r\n\xff\x1b[2J e"), HF_TEXT("z")};
    char name[500];

    (void)state;
    assert_int_equal(command_from_words(&command, 3, words, &problem), HF_INVALID_ID);
    assert_non_null(strstr(problem.message, "event"));
    memset(name, '\n', sizeof name);
    for (size_t size = 0; size <= sizeof name; size += 50) {
        for (const char *at = problem.message; *at != '\0'; at++) {
            assert_true(*at >= ' ' && *at <= '~');
        }
        words[0] = (struct hf_bytes){name, size};
        assert_int_equal(command_from_words(&command, 3, words, &problem), HF_ERR);
    }
    expect_code("SEATS.RESERVE e z b u 1 1 TTL 1ms", INVALID_TTL);
    assert_non_null(strstr(problem.message, "TTL"));
}

static void a_caller_may_not_care_why(void **state)
{
    struct hf_bytes words[] = {HF_TEXT("SEATS.ZONE"), HF_TEXT("{"), HF_TEXT("z")};

    (void)state;
    assert_int_equal(command_from_words(&command, 3, words, NULL), HF_INVALID_ID);
    assert_int_equal(command_from_words(&command, 2, words, NULL), HF_ERR);
    assert_int_equal(command_from_words(&command, 0, NULL, NULL), HF_ERR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_may_be_in_any_case),
        cmocka_unit_test(unknown_command_is_malformed),
        cmocka_unit_test(texts_are_views_of_the_words),
        cmocka_unit_test(wrong_number_of_words_is_malformed_for_every_command),
        cmocka_unit_test(too_few_or_too_many_is_malformed_whatever_else_is_wrong),
        cmocka_unit_test(a_word_too_many_after_a_flag_is_malformed_whatever_else_is_wrong),
        cmocka_unit_test(every_keyword_wants_its_value_and_comes_once),
        cmocka_unit_test(keywords_come_in_any_order_and_case),
        cmocka_unit_test(repeated_unknown_or_lonely_keywords_are_malformed),
        cmocka_unit_test(a_value_may_look_like_a_keyword),
        cmocka_unit_test(arguments_are_checked_in_the_order_given),
        cmocka_unit_test(ttl_without_hold_is_an_invalid_argument),
        cmocka_unit_test(what_is_not_given_has_the_default_of_the_contract),
        cmocka_unit_test(nothing_is_left_of_the_command_before),
        cmocka_unit_test(message_is_one_plain_line_that_names_what_is_wrong),
        cmocka_unit_test(a_caller_may_not_care_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies in RESP2 and as lines for a terminal, one of each shape; and the reply as a thing that is
 * filled, copied and used again. JSON and structs are in command_reply_json.c. */
#include "reply_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* The reply as it stands, as RESP; it is empty afterwards. */
static void expect_resp(enum command_id id, const char *expected)
{
    reply_to_resp(&reply, &command_table[id], 2, &out);
    expect_written(expected);
    reply_clear(&reply);
}

static void success_starts_with_1(void **state)
{
    (void)state;
    reply_number(&reply, 8);
    reply_number(&reply, 2);
    expect_resp(SEATS_RESERVE, "*3\r\n:1\r\n:8\r\n:2\r\n");
    reply_word(&reply, "CONFIRMED");
    reply_word(&reply, "0123456789");
    expect_resp(SEATS_CONFIRM, "*3\r\n:1\r\n$9\r\nCONFIRMED\r\n$10\r\n0123456789\r\n");
}

static void list_and_number_have_nothing_in_front(void **state)
{
    (void)state;
    reply_number(&reply, 3);
    reply_number(&reply, 0);
    expect_resp(SEATS_USER, "*2\r\n:3\r\n:0\r\n");
    reply_number(&reply, -9007199254740991);
    expect_resp(QUOTA_REFUND, ":-9007199254740991\r\n");
}

static void fields_come_with_their_names(void **state)
{
    (void)state;
    reply_number(&reply, 2);
    reply_number(&reply, 5);
    reply_number(&reply, 0);
    expect_resp(SEM_STATS,
                "*6\r\n$6\r\nin_use\r\n:2\r\n$3\r\nmax\r\n:5\r\n$7\r\nwaiting\r\n:0\r\n");
}

static void in_resp3_they_are_a_map(void **state)
{
    (void)state;
    for (int version = 2; version <= 3; version++) {
        for (int64_t i = 0; i < 3; i++) {
            reply_number(&reply, i);
        }
        reply_to_resp(&reply, &command_table[SEM_STATS], version, &out);
        assert_memory_equal(out.data, version == 3 ? "%3\r\n$" : "*6\r\n$", 5);
        buffer_clear(&out);
        reply_clear(&reply);
    }
}

/* No text overruns its member, and every one ends with a NUL. */
static void a_text_as_long_as_its_member_is_cut(void **state)
{
    struct hf_seats_confirm_reply got;
    char longest[HF_WORD_SIZE + 1] = {0};
    (void)state;

    memset(longest, 'x', HF_WORD_SIZE);
    reply_word(&reply, longest);
    reply_word(&reply, "code");
    reply_to_struct(&reply, &command_table[SEATS_CONFIRM], &got);
    assert_int_equal(strnlen(got.status, HF_WORD_SIZE), HF_WORD_SIZE - 1);
    assert_string_equal(got.confirmation_code, "code");
    reply_clear(&reply);
}

/* SEATS.GET has its last three fields only once the booking is confirmed. */
static void fields_at_the_end_may_be_missing(void **state)
{
    (void)state;
    reply_word(&reply, "b");
    reply_text(&reply, "", 0);
    expect_resp(SEATS_GET, "*4\r\n$10\r\nbooking_id\r\n$1\r\nb\r\n$7\r\nuser_id\r\n$0\r\n\r\n");
}

static void pairs_are_one_flat_list(void **state)
{
    (void)state;
    expect_resp(ROOM_ADMIT, "*0\r\n");
    reply_word(&reply, "ann");
    reply_word(&reply, "p1");
    reply_word(&reply, "bob");
    reply_word(&reply, "p2");
    expect_resp(ROOM_ADMIT, "*4\r\n$3\r\nann\r\n$2\r\np1\r\n$3\r\nbob\r\n$2\r\np2\r\n");
}

static void refusal_is_0_code_and_message(void **state)
{
    (void)state;
    reply_refuse(&reply, HF_ZONE_NOT_FOUND, NULL);
    expect_resp(SEATS_RESERVE, "*3\r\n:0\r\n$14\r\nZONE_NOT_FOUND\r\n$12\r\nno such zone\r\n");
    reply_refuse_with(&reply, HF_INSUFFICIENT_STOCK, "# seats left, # asked for", 3, 20, 0);
    expect_resp(SEATS_RESERVE, "*3\r\n:0\r\n$18\r\nINSUFFICIENT_STOCK\r\n"
                               "$26\r\n3 seats left, 20 asked for\r\n");
    reply_refuse(&reply, HF_NOT_IN_QUEUE, "gone"); /* whatever the shape */
    expect_resp(ROOM_POSITION, "*3\r\n:0\r\n$12\r\nNOT_IN_QUEUE\r\n$4\r\ngone\r\n");
    reply_refuse(&reply, HF_RESERVATION_NOT_FOUND, "gone");
    expect_resp(SEATS_GET, "*3\r\n:0\r\n$21\r\nRESERVATION_NOT_FOUND\r\n$4\r\ngone\r\n");
}

static void error_of_the_server_is_a_line_with_a_minus(void **state)
{
    (void)state;
    reply_refuse(&reply, HF_BUSY, "later");
    expect_resp(SEATS_RESERVE, "-BUSY later\r\n");
    reply_refuse(&reply, HF_IOERR, "disk");
    expect_resp(LOCK_TRY, "-IOERR disk\r\n");
}

static void lock_of_somebody_else_is_nil(void **state)
{
    (void)state;
    reply_refuse(&reply, HF_LOCKED, "held");
    expect_resp(LOCK_TRY, "*-1\r\n");
    reply_refuse(&reply, HF_NOT_FOUND, "free");
    expect_resp(LOCK_GET, "*-1\r\n");
    reply_refuse(&reply, HF_NOT_FOUND, "gone"); /* nil is the lock's own */
    expect_resp(STOCK_GIVE, "*3\r\n:0\r\n$9\r\nNOT_FOUND\r\n$4\r\ngone\r\n");
}

static void quota_exceeded_is_minus_1_with_the_figures(void **state)
{
    (void)state;
    reply_refuse(&reply, HF_QUOTA_EXCEEDED, "over");
    reply.lead = -1;
    reply_number(&reply, 90);
    reply_number(&reply, 100);
    expect_resp(QUOTA_RESERVE, "*3\r\n:-1\r\n:90\r\n:100\r\n");
}

static void idempotency_answers_new_processing_completed_or_reused(void **state)
{
    (void)state;
    reply_word(&reply, "NEW");
    expect_resp(IDEM_BEGIN, "*2\r\n:1\r\n$3\r\nNEW\r\n");
    reply_refuse(&reply, HF_IN_PROGRESS, "wait");
    reply.lead = 0;
    reply_word(&reply, "PROCESSING");
    expect_resp(IDEM_BEGIN, "*2\r\n:0\r\n$10\r\nPROCESSING\r\n");
    reply.lead = 2;
    reply_word(&reply, "COMPLETED");
    reply_word(&reply, "{\"ok\":1}\r\n");
    expect_resp(IDEM_BEGIN, "*3\r\n:2\r\n$9\r\nCOMPLETED\r\n$10\r\n{\"ok\":1}\r\n\r\n");
    reply_refuse(&reply, HF_KEY_REUSED, "other");
    expect_resp(IDEM_BEGIN, "*3\r\n:0\r\n$10\r\nKEY_REUSED\r\n$5\r\nother\r\n");
}

static void problem_is_an_error_line_or_a_refusal(void **state)
{
    struct problem problem;

    (void)state;
    problem_set(&problem, HF_ERR, "unknown command '%s'", "NO\r\nPE");
    problem_to_resp(&problem, &out);
    expect_written("-ERR unknown command 'NO??PE'\r\n");
    problem_set(&problem, HF_INVALID_TTL, "too long");
    problem_to_resp(&problem, &out);
    expect_written("*3\r\n:0\r\n$11\r\nINVALID_TTL\r\n$8\r\ntoo long\r\n");
}

static void message_puts_the_numbers_where_the_marks_are(void **state)
{
    static char endless[1000];
    char message[MESSAGE_SIZE];

    (void)state;
    reply_refuse_with(&reply, HF_SOLD_OUT, "#, #, # and #", INT64_MIN, 0, INT64_MAX);
    size_t size = reply_message(&reply, message);
    assert_string_equal(message, "-9223372036854775808, 0, 9223372036854775807 and #");
    assert_int_equal(size, strlen(message));

    memset(endless, '.', sizeof endless - 1);
    for (size_t i = 285; i < 310; i++) { /* a number across the end */
        endless[i] = '#';
        reply_refuse_with(&reply, HF_SOLD_OUT, endless, INT64_MIN, INT64_MIN, INT64_MIN);
        size = reply_message(&reply, message);
        assert_true(size < MESSAGE_SIZE && size == strlen(message));
        endless[i] = '.';
    }
}

static void every_code_has_a_message_of_its_own(void **state)
{
    char message[MESSAGE_SIZE];

    (void)state;
    for (int code = HF_OK + 1; code < HF_ERROR_COUNT; code++) {
        reply_refuse(&reply, (enum hf_error)code, NULL);
        reply_message(&reply, message);
        assert_string_equal(message, error_text((enum hf_error)code));
    }
}

static void cleared_reply_is_a_success_with_nothing_in_it(void **state)
{
    (void)state;
    reply_refuse_with(&reply, HF_SOLD_OUT, "#", 7, 8, 9);
    reply.lead = -1;
    reply.waits = true;
    reply_number(&reply, 1);
    reply_word(&reply, "word");
    reply_clear(&reply);
    assert_int_equal(reply.code, HF_OK);
    assert_int_equal(reply.lead, 1);
    assert_false(reply.waits);
    assert_int_equal(reply.count, 0);
    assert_int_equal(reply.text.size, 0);
    assert_null(reply.why);
}

static void fixed_size_replies_need_no_memory(void **state)
{
    static const char text[REPLY_TEXT];
    size_t used = memory.used;

    (void)state;
    for (int round = 0; round < 3; round++) {
        reply_clear(&reply);
        for (int i = 0; i < REPLY_VALUES - 1; i++) {
            reply_number(&reply, i);
        }
        reply_text(&reply, text, sizeof text);
    }
    assert_int_equal(memory.used, used);
}

static void copy_is_equal_and_stands_on_its_own(void **state)
{
    struct reply copy;

    (void)state;
    assert_true(reply_init(&copy, &memory));
    reply_number(&copy, 99); /* gone with the copy */
    reply_refuse_with(&reply, HF_QUOTA_EXCEEDED, "# of #", 1, 2, 3);
    reply.lead = -1;
    reply.ticket = 17;
    assert_true(reply_reserve(&reply, 100, 5000));
    for (int i = 0; i < 100; i++) {
        reply_text(&reply, "0123456789012345678901234567890123456789", 40);
    }
    assert_true(reply_copy(&copy, &reply));
    reply_clear(&reply);
    assert_int_equal(copy.code, HF_QUOTA_EXCEEDED);
    assert_int_equal(copy.lead, -1);
    assert_int_equal(copy.ticket, 17);
    assert_int_equal(copy.count, 100);
    assert_true(
        text_equal(reply_bytes(&copy, 99), hf_text("0123456789012345678901234567890123456789")));
    char message[MESSAGE_SIZE];
    reply_message(&copy, message);
    assert_string_equal(message, "1 of 2");
    reply_free(&copy);
}

static void *nothing(struct memory *none, void *block, size_t old_size, size_t new_size)
{
    (void)none;
    (void)old_size;
    if (new_size == 0) {
        free(block);
    }
    return NULL;
}

static void reply_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    reply_word(&reply, "kept");
    memory.resize = nothing;
    assert_false(reply_reserve(&reply, 1000, 0));
    assert_false(reply_reserve(&reply, 0, 1000000));
    assert_true(text_equal(reply_bytes(&reply, 0), hf_text("kept")));
    reply_word(&reply, "more"); /* what there was room for there still is */
    assert_true(text_equal(reply_bytes(&reply, 1), hf_text("more")));
    struct reply none;
    assert_false(reply_init(&none, &memory));
    reply_free(&none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(success_starts_with_1),
        TEST(list_and_number_have_nothing_in_front),
        TEST(fields_come_with_their_names),
        TEST(in_resp3_they_are_a_map),
        TEST(a_text_as_long_as_its_member_is_cut),
        TEST(fields_at_the_end_may_be_missing),
        TEST(pairs_are_one_flat_list),
        TEST(refusal_is_0_code_and_message),
        TEST(error_of_the_server_is_a_line_with_a_minus),
        TEST(lock_of_somebody_else_is_nil),
        TEST(quota_exceeded_is_minus_1_with_the_figures),
        TEST(idempotency_answers_new_processing_completed_or_reused),
        TEST(problem_is_an_error_line_or_a_refusal),
        TEST(message_puts_the_numbers_where_the_marks_are),
        TEST(every_code_has_a_message_of_its_own),
        TEST(cleared_reply_is_a_success_with_nothing_in_it),
        TEST(fixed_size_replies_need_no_memory),
        TEST(copy_is_equal_and_stands_on_its_own),
        TEST(reply_without_memory_keeps_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

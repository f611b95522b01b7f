/* SPDX-License-Identifier: Apache-2.0
 *
 * What a script returned becomes the reply of its command, by the row; what the row cannot have is
 * INTERNAL. The replies come through the reader of hiredis and are compared as RESP. */
#include "reply_fixture.h"

#include "redis/script/script_reply.h"
#include "redis_reply_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static void read_script(enum command_id id, const char *resp)
{
    redisReply *from = read_resp_text(resp);

    script_reply_read(&reply, &command_table[id], from);
    freeReplyObject(from);
}

static void expect_reply(enum command_id id, const char *resp, const char *expected)
{
    read_script(id, resp);
    reply_to_resp(&reply, &command_table[id], 2, &out);
    expect_written(expected);
}

static void expect_internal(enum command_id id, const char *resp)
{
    char message[MESSAGE_SIZE];

    read_script(id, resp);
    reply_message(&reply, message);
    if (reply.code != HF_INTERNAL || reply.count != 0) {
        fail_msg("%s was taken for a reply to %s", resp, command_table[id].name);
    }
    assert_string_equal(message, "Redis answered what this command cannot answer");
}

/* ---- replies that a script gives ------------------------------------------------------------- */

static void each_shape_is_read(void **state)
{
    (void)state;
    expect_reply(QUOTA_COMMIT, "*3\r\n:1\r\n:5\r\n:10\r\n", "*3\r\n:1\r\n:5\r\n:10\r\n");
    expect_reply(QUOTA_REFUND, ":7\r\n", ":7\r\n");
    expect_reply(SEATS_USER, "*2\r\n:1\r\n:2\r\n", "*2\r\n:1\r\n:2\r\n");
    expect_reply(SEATS_ZONE,
                 "*8\r\n$8\r\ncapacity\r\n:9\r\n$9\r\navailable\r\n:4\r\n$8\r\nreserved\r\n:3\r\n"
                 "$9\r\nconfirmed\r\n:2\r\n",
                 "*8\r\n$8\r\ncapacity\r\n:9\r\n$9\r\navailable\r\n:4\r\n$8\r\nreserved\r\n:3\r\n"
                 "$9\r\nconfirmed\r\n:2\r\n");
    expect_reply(ROOM_ADMIT, "*4\r\n$1\r\na\r\n$1\r\np\r\n$1\r\nb\r\n$1\r\nq\r\n",
                 "*4\r\n$1\r\na\r\n$1\r\np\r\n$1\r\nb\r\n$1\r\nq\r\n");
    expect_reply(ROOM_ADMIT, "*0\r\n", "*0\r\n");
}

static void numbers_that_were_kept_in_a_hash_come_as_text(void **state)
{
    (void)state;
    expect_reply(SEATS_USER, "*2\r\n$2\r\n-1\r\n+2\r\n", "*2\r\n:-1\r\n:2\r\n");
    expect_reply(SEATS_USER, "*2\r\n$16\r\n9007199254740991\r\n:0\r\n",
                 "*2\r\n:9007199254740991\r\n:0\r\n");
}

static void quiet_fields_are_read_and_not_shown(void **state)
{
    (void)state;
    read_script(SEATS_RESERVE, "*5\r\n:1\r\n:9\r\n:2\r\n:77\r\n$8\r\nreserved\r\n");
    assert_int_equal(reply.code, HF_OK);
    assert_int_equal(reply.count, 4);
    assert_memory_equal(reply_bytes(&reply, 3).data, "reserved", 8);
    reply_to_resp(&reply, &command_table[SEATS_RESERVE], 2, &out);
    expect_written("*4\r\n:1\r\n:9\r\n:2\r\n:77\r\n");
    expect_reply(SEATS_RESERVE, "*4\r\n:1\r\n:9\r\n:2\r\n:77\r\n",
                 "*4\r\n:1\r\n:9\r\n:2\r\n:77\r\n");
}

static void a_response_may_be_missing_and_may_be_any_bytes(void **state)
{
    static const char binary[] = "*3\r\n:2\r\n$9\r\ncompleted\r\n$3\r\n\0\n\xff\r\n";

    (void)state;
    read_script(IDEM_BEGIN, "*2\r\n:1\r\n$3\r\nnew\r\n");
    assert_int_equal(reply.code, HF_OK);
    assert_int_equal(reply.count, 1);
    redisReply *from = read_resp(binary, sizeof binary - 1);
    script_reply_read(&reply, &command_table[IDEM_BEGIN], from);
    freeReplyObject(from);
    assert_int_equal(reply.code, HF_OK);
    assert_int_equal(reply.lead, 2);
    assert_memory_equal(reply_bytes(&reply, 1).data, "\0\n\xff", 3);
}

static void a_refusal_with_figures_has_the_row_s_code(void **state)
{
    (void)state;
    read_script(QUOTA_RESERVE, "*3\r\n:0\r\n:9\r\n:10\r\n");
    assert_int_equal(reply.code, HF_QUOTA_EXCEEDED);
    assert_int_equal(reply.lead, 0);
    assert_int_equal(reply.values[1].number, 10);
}

static void nil_is_the_row_s_refusal(void **state)
{
    (void)state;
    read_script(LOCK_TRY, "$-1\r\n");
    assert_int_equal(reply.code, HF_LOCKED);
    read_script(LOCK_GET, "*-1\r\n");
    assert_int_equal(reply.code, HF_NOT_FOUND);
}

static void a_refusal_says_its_code_and_why(void **state)
{
    char message[MESSAGE_SIZE];

    (void)state;
    for (enum command_id id = 0; id < COMMAND_COUNT; id++) {
        read_script(id, "*3\r\n:0\r\n$9\r\nNOT_FOUND\r\n$12\r\nno such\nhold\r\n");
        assert_int_equal(reply.code, HF_NOT_FOUND);
        reply_message(&reply, message);
        assert_string_equal(message, "no such?hold");
    }
}

static void a_script_that_failed_is_internal_with_its_words(void **state)
{
    char message[MESSAGE_SIZE];

    (void)state;
    read_script(SEATS_RESERVE, "-ERR user_script:7: attempt to index a nil value\r\n");
    assert_int_equal(reply.code, HF_INTERNAL);
    reply_message(&reply, message);
    assert_string_equal(message, "ERR user_script:7: attempt to index a nil value");
}

/* What a reply had before does not show in the next. */
static void a_reply_is_used_again(void **state)
{
    (void)state;
    read_script(LOCK_TRY, "$-1\r\n");
    expect_reply(SEATS_USER, "*2\r\n:1\r\n:2\r\n", "*2\r\n:1\r\n:2\r\n");
    expect_internal(SEATS_USER, "+OK\r\n");
    expect_reply(QUOTA_REFUND, ":7\r\n", ":7\r\n");
}

/* ---- replies that no script gives ------------------------------------------------------------ */

static void no_command_takes_what_none_can_have(void **state)
{
    static const char *const cases[] = {
        "+OK\r\n",
        "$5\r\nhello\r\n",
        "$0\r\n\r\n",
        "*1\r\n*0\r\n",
        "*1\r\n$-1\r\n",
        "*2\r\n*1\r\n:1\r\n:1\r\n",
        "*3\r\n:0\r\n$-1\r\n$-1\r\n",
    };

    (void)state;
    for (enum command_id id = 0; id < COMMAND_COUNT; id++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            expect_internal(id, cases[i]);
        }
    }
}

/* {0, WORD, text} with a word that is no code, or with more; IDEM.BEGIN answers the like. */
static void almost_a_refusal_is_none(void **state)
{
    (void)state;
    for (enum command_id id = 0; id < COMMAND_COUNT; id++) {
        if (id != IDEM_BEGIN) {
            expect_internal(id, "*3\r\n:0\r\n$9\r\nNOT_KNOWN\r\n$1\r\nx\r\n");
            expect_internal(id, "*3\r\n:0\r\n$2\r\nOK\r\n$1\r\nx\r\n");
            expect_internal(id, "*3\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n");
            expect_internal(id, "*4\r\n:0\r\n$9\r\nNOT_FOUND\r\n$1\r\nx\r\n*0\r\n");
        }
    }
}

static void a_number_is_no_reply_but_to_commands_that_answer_one(void **state)
{
    (void)state;
    for (enum command_id id = 0; id < COMMAND_COUNT; id++) {
        if (command_table[id].shape == REPLY_NUMBER) {
            expect_internal(id, "*1\r\n:1\r\n");
            expect_internal(id, "$1\r\n1\r\n");
        } else {
            expect_internal(id, ":1\r\n");
        }
        if (command_table[id].nil_code == HF_OK) {
            expect_internal(id, "$-1\r\n");
        }
        if (command_table[id].shape != REPLY_PAIRS) {
            expect_internal(id, "*0\r\n");
        }
    }
}

static void a_lead_is_1_or_what_the_row_knows(void **state)
{
    (void)state;
    expect_internal(QUOTA_COMMIT, "*3\r\n:0\r\n:5\r\n:10\r\n");
    expect_internal(QUOTA_COMMIT, "*3\r\n:2\r\n:5\r\n:10\r\n");
    expect_internal(QUOTA_COMMIT, "*3\r\n$1\r\nx\r\n:5\r\n:10\r\n");
    expect_internal(QUOTA_RESERVE, "*3\r\n:-2\r\n:5\r\n:10\r\n");
    expect_internal(QUOTA_RESERVE, "*3\r\n:3\r\n:5\r\n:10\r\n");
}

static void values_are_of_the_row_s_kind_and_none_is_missing(void **state)
{
    (void)state;
    expect_internal(SEATS_RESERVE, "*1\r\n:1\r\n");
    expect_internal(SEATS_RESERVE, "*2\r\n:1\r\n:9\r\n");
    expect_internal(SEATS_RESERVE, "*3\r\n:1\r\n:9\r\n$1\r\nx\r\n");
    expect_internal(SEATS_RESERVE, "*3\r\n:1\r\n:9\r\n$-1\r\n");
    expect_internal(SEATS_RESERVE, "*3\r\n:1\r\n:9\r\n$0\r\n\r\n");
    expect_internal(SEATS_CONFIRM, "*3\r\n:1\r\n:5\r\n$8\r\nABCDEFGH\r\n");
    expect_internal(SEATS_USER, "*1\r\n:1\r\n");
    expect_internal(SEATS_USER, "*3\r\n:1\r\n:2\r\n:3\r\n");
    expect_internal(SEATS_ZONE, "*2\r\n$9\r\navailable\r\n:9\r\n");
    expect_internal(SEATS_ZONE, "*10\r\n$8\r\ncapacity\r\n:9\r\n$9\r\navailable\r\n:4\r\n"
                                "$8\r\nreserved\r\n:3\r\n$9\r\nconfirmed\r\n:2\r\n"
                                "$4\r\nmore\r\n:1\r\n");
    expect_internal(SEATS_ZONE, "*3\r\n$8\r\ncapacity\r\n:9\r\n$9\r\navailable\r\n");
    expect_internal(ROOM_ADMIT, "*3\r\n$1\r\na\r\n$1\r\np\r\n$1\r\nb\r\n");
    expect_internal(ROOM_ADMIT, "*2\r\n$1\r\na\r\n:1\r\n");
}

static void text_that_is_no_integer_is_no_number(void **state)
{
    (void)state;
    expect_internal(SEATS_USER, "*2\r\n$3\r\n1.5\r\n:1\r\n");
    expect_internal(SEATS_USER, "*2\r\n$4\r\n1e10\r\n:1\r\n");
    expect_internal(SEATS_USER, "*2\r\n$2\r\n 1\r\n:1\r\n");
}

static void a_text_longer_than_its_field_is_refused(void **state)
{
    char resp[1024], user[HF_ID_MAX + 2];

    (void)state;
    memset(user, 'u', sizeof user);
    for (int size = HF_ID_MAX; size <= HF_ID_MAX + 1; size++) {
        snprintf(resp, sizeof resp, "*2\r\n$%d\r\n%.*s\r\n$1\r\np\r\n", size, size, user);
        if (size == HF_ID_MAX) {
            read_script(ROOM_ADMIT, resp);
            assert_int_equal(reply.code, HF_OK);
        } else {
            expect_internal(ROOM_ADMIT, resp);
        }
    }
}

static void a_response_of_a_mebibyte_fits_and_no_more(void **state)
{
    (void)state;
    for (size_t size = RESPONSE_MAX; size <= RESPONSE_MAX + 1; size++) {
        char *resp = malloc(size + 128);
        assert_non_null(resp);
        int head = snprintf(resp, 128, "*3\r\n:2\r\n$9\r\ncompleted\r\n$%zu\r\n", size);
        memset(resp + head, 'r', size);
        memcpy(resp + head + size, "\r\n", 2);
        redisReply *from = read_resp(resp, (size_t)head + size + 2);
        script_reply_read(&reply, &command_table[IDEM_BEGIN], from);
        assert_int_equal(reply.code, size == RESPONSE_MAX ? HF_OK : HF_INTERNAL);
        freeReplyObject(from);
        free(resp);
    }
}

static void an_element_is_a_number_or_none(void **state)
{
    redisReply *from = read_resp_text("*4\r\n:5\r\n$1\r\n6\r\n$1\r\nx\r\n*0\r\n");
    redisReply *number = read_resp_text(":5\r\n");
    int64_t value = 0;

    (void)state;
    assert_true(script_reply_number(from, 0, &value) && value == 5);
    assert_true(script_reply_number(from, 1, &value) && value == 6);
    assert_false(script_reply_number(from, 2, &value));
    assert_false(script_reply_number(from, 3, &value));
    assert_false(script_reply_number(from, 4, &value));
    assert_false(script_reply_number(from, SIZE_MAX, &value));
    assert_false(script_reply_number(number, 0, &value));
    freeReplyObject(from);
    freeReplyObject(number);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_shape_is_read),
        CASE(numbers_that_were_kept_in_a_hash_come_as_text),
        CASE(quiet_fields_are_read_and_not_shown),
        CASE(a_response_may_be_missing_and_may_be_any_bytes),
        CASE(a_refusal_with_figures_has_the_row_s_code),
        CASE(nil_is_the_row_s_refusal),
        CASE(a_refusal_says_its_code_and_why),
        CASE(a_script_that_failed_is_internal_with_its_words),
        CASE(a_reply_is_used_again),
        CASE(no_command_takes_what_none_can_have),
        CASE(almost_a_refusal_is_none),
        CASE(a_number_is_no_reply_but_to_commands_that_answer_one),
        CASE(a_lead_is_1_or_what_the_row_knows),
        CASE(values_are_of_the_row_s_kind_and_none_is_missing),
        CASE(text_that_is_no_integer_is_no_number),
        CASE(a_text_longer_than_its_field_is_refused),
        CASE(a_response_of_a_mebibyte_fits_and_no_more),
        CASE(an_element_is_a_number_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

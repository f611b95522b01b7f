/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies as JSON and in the structs of holdfast.h. RESP is in command_reply.c. */
#include "reply_fixture.h"

#include <string.h>

/* The reply as it stands, as JSON; it is empty afterwards. */
static void expect_json(enum command_id id, const char *expected)
{
    reply_to_json(&reply, &command_table[id], &out);
    expect_written(expected);
    reply_clear(&reply);
}

static void success_is_an_object_whatever_its_shape(void **state)
{
    (void)state;
    reply_number(&reply, 8);
    reply_number(&reply, 2);
    expect_json(SEATS_RESERVE, "{\"remaining\":8,\"user_reserved\":2}");
    reply_number(&reply, 3);
    reply_number(&reply, 0);
    expect_json(SEATS_USER, "{\"held\":3,\"confirmed\":0}");
    reply_number(&reply, 41);
    expect_json(QUOTA_REFUND, "{\"used\":41}");
    reply_number(&reply, 1);
    reply_number(&reply, 5);
    reply_number(&reply, 0);
    expect_json(SEM_STATS, "{\"in_use\":1,\"max\":5,\"waiting\":0}");
    reply_word(&reply, "SUCCESS");
    reply_number(&reply, 9007199254740991);
    reply_number(&reply, 0);
    expect_json(SEATS_RELEASE,
                "{\"status\":\"SUCCESS\",\"available\":9007199254740991,\"user_reserved\":0}");
}

static void what_is_not_known_is_null(void **state)
{
    (void)state;
    for (int wait_s = -1; wait_s < 1; wait_s++) {
        for (int i = 0; i < 7; i++) {
            reply_number(&reply, i == 0 ? -1 : i); /* no other number may be unknown */
        }
        reply_number(&reply, wait_s);
        expect_json(ROOM_STATS, wait_s < 0 ? "{\"waiting\":-1,\"inside\":1,\"admitted\":2,"
                                             "\"rate\":3,\"inside_max\":4,\"started\":5,"
                                             "\"paused\":6,\"estimated_wait_s\":null}"
                                           : "{\"waiting\":-1,\"inside\":1,\"admitted\":2,"
                                             "\"rate\":3,\"inside_max\":4,\"started\":5,"
                                             "\"paused\":6,\"estimated_wait_s\":0}");
    }
}

static void fields_at_the_end_may_be_missing(void **state)
{
    (void)state;
    reply_word(&reply, "NEW");
    expect_json(IDEM_BEGIN, "{\"state\":\"NEW\"}");
    reply.lead = 2;
    reply_word(&reply, "COMPLETED");
    reply_word(&reply, "done");
    expect_json(IDEM_BEGIN, "{\"state\":\"COMPLETED\",\"response\":\"done\"}");
}

static void pairs_are_a_list_of_objects(void **state)
{
    (void)state;
    expect_json(ROOM_ADMIT, "[]");
    reply_word(&reply, "ann");
    reply_word(&reply, "p1");
    expect_json(ROOM_ADMIT, "[{\"user\":\"ann\",\"pass\":\"p1\"}]");
    reply_word(&reply, "ann");
    reply_word(&reply, "p1");
    reply_word(&reply, "bob");
    reply_word(&reply, "p2");
    expect_json(ROOM_ADMIT,
                "[{\"user\":\"ann\",\"pass\":\"p1\"},{\"user\":\"bob\",\"pass\":\"p2\"}]");
}

/* Section 8: {"error":{"code":…,"message":…}}. */
static void refusal_is_an_error_object_also_where_resp_has_another_form(void **state)
{
    (void)state;
    reply_refuse_with(&reply, HF_INSUFFICIENT_STOCK, "# left, # asked", 1, 2, 0);
    expect_json(SEATS_RESERVE,
                "{\"error\":{\"code\":\"INSUFFICIENT_STOCK\",\"message\":\"1 left, 2 asked\"}}");
    reply_refuse(&reply, HF_LOCKED, "held");
    expect_json(LOCK_TRY, "{\"error\":{\"code\":\"LOCKED\",\"message\":\"held\"}}");
    reply_refuse(&reply, HF_QUOTA_EXCEEDED, "over");
    reply.lead = -1;
    reply_number(&reply, 9);
    reply_number(&reply, 10);
    expect_json(QUOTA_RESERVE, "{\"error\":{\"code\":\"QUOTA_EXCEEDED\",\"message\":\"over\"}}");
    reply_refuse(&reply, HF_IN_PROGRESS, "wait");
    reply.lead = 0;
    reply_word(&reply, "PROCESSING");
    expect_json(IDEM_BEGIN, "{\"error\":{\"code\":\"IN_PROGRESS\",\"message\":\"wait\"}}");
    reply_refuse(&reply, HF_BUSY, "later");
    expect_json(SEATS_GET, "{\"error\":{\"code\":\"BUSY\",\"message\":\"later\"}}");
}

static void malformed_request_is_an_invalid_argument(void **state)
{
    struct problem problem;

    (void)state;
    problem_set(&problem, HF_ERR, "quantity \"%s\" is not a number", "x\\y");
    problem_to_json(&problem, &out);
    expect_written("{\"error\":{\"code\":\"INVALID_ARGUMENT\","
                   "\"message\":\"quantity \\\"x\\\\y\\\" is not a number\"}}");
    problem_set(&problem, HF_INVALID_ID, "bad");
    problem_to_json(&problem, &out);
    expect_written("{\"error\":{\"code\":\"INVALID_ID\",\"message\":\"bad\"}}");
}

static void quotes_backslashes_and_control_characters_are_escaped(void **state)
{
    (void)state;
    reply_word(&reply, "COMPLETED");
    reply_text(&reply, "\"\\/\b\t\n\r\x1f\x7f", 9);
    expect_json(IDEM_BEGIN, "{\"state\":\"COMPLETED\",\"response\":"
                            "\"\\\"\\\\/\\u0008\\u0009\\u000a\\u000d\\u001f\x7f\"}");
}

static void a_blob_that_json_cannot_carry_is_in_base_64(void **state)
{
    (void)state;
    reply_word(&reply, "COMPLETED");
    reply_text(&reply, "\xff\xfe", 2);
    expect_json(IDEM_BEGIN, "{\"state\":\"COMPLETED\",\"response_base64\":\"//4=\"}");
    reply_word(&reply, "COMPLETED");
    reply_text(&reply, "a\0", 2);
    expect_json(IDEM_BEGIN, "{\"state\":\"COMPLETED\",\"response_base64\":\"YQA=\"}");
}

static void utf8_stays_as_it_is(void **state)
{
    (void)state;
    reply_word(&reply, "caf\xc3\xa9-\xf0\x9f\x8e\xab");
    reply_word(&reply, "p");
    expect_json(ROOM_ADMIT, "[{\"user\":\"caf\xc3\xa9-\xf0\x9f\x8e\xab\",\"pass\":\"p\"}]");
}

/* ---- structs --------------------------------------------------------------------------------- */

static void struct_gets_each_value_in_its_member(void **state)
{
    struct hf_seats_get_reply got;

    (void)state;
    memset(&got, 0xa5, sizeof got);
    reply_word(&reply, "b");
    reply_word(&reply, "ann");
    reply_word(&reply, "floor");
    reply_word(&reply, "gala");
    reply_word(&reply, "");
    reply_number(&reply, 2);
    reply_number(&reply, 900);
    reply_word(&reply, "reserved");
    reply_number(&reply, 1000);
    reply_number(&reply, 2000);
    reply_to_struct(&reply, &command_table[SEATS_GET], &got);
    assert_string_equal(got.booking_id, "b");
    assert_string_equal(got.user_id, "ann");
    assert_string_equal(got.zone_id, "floor");
    assert_string_equal(got.event_id, "gala");
    assert_string_equal(got.show_id, "");
    assert_int_equal(got.quantity, 2);
    assert_int_equal(got.unit_price, 900);
    assert_string_equal(got.status, "reserved");
    assert_int_equal(got.created_at, 1000);
    assert_int_equal(got.expires_at, 2000);
    assert_int_equal(got.confirmed_at, 0);
    assert_string_equal(got.payment_id, "");
    assert_string_equal(got.confirmation_code, "");
}

static void longest_id_fits_with_its_nul(void **state)
{
    struct hf_lock_try_reply got;
    char id[HF_ID_MAX + 1] = "";

    (void)state;
    memset(&got, 0xa5, sizeof got);
    memset(id, 'x', HF_ID_MAX);
    reply_word(&reply, id);
    reply_number(&reply, 7);
    reply_to_struct(&reply, &command_table[LOCK_TRY], &got);
    assert_string_equal(got.lock_id, id);
    assert_int_equal(got.fence, 7);
}

static void refusal_leaves_a_struct_of_zeros(void **state)
{
    static const struct hf_seats_zone_reply zeros;
    struct hf_seats_zone_reply got;

    (void)state;
    memset(&got, 0xa5, sizeof got);
    reply_refuse(&reply, HF_ZONE_NOT_FOUND, NULL);
    reply_to_struct(&reply, &command_table[SEATS_ZONE], &got);
    assert_memory_equal(&got, &zeros, sizeof got);
}

static void quota_exceeded_fills_the_struct_too(void **state)
{
    struct hf_quota_reply got;

    (void)state;
    reply_refuse(&reply, HF_QUOTA_EXCEEDED, "over");
    reply.lead = -1;
    reply_number(&reply, 90);
    reply_number(&reply, 100);
    reply_to_struct(&reply, &command_table[QUOTA_RESERVE], &got);
    assert_int_equal(got.used, 90);
    assert_int_equal(got.limit, 100);
}

/* The response is handed over by the library; here only its state is set. */
static void stored_response_does_not_touch_the_struct(void **state)
{
    struct hf_idem_begin_reply got;

    (void)state;
    memset(&got, 0xa5, sizeof got);
    reply.lead = 2;
    reply_word(&reply, "COMPLETED");
    reply_word(&reply, "a response much longer than any member of the struct could hold");
    reply_to_struct(&reply, &command_table[IDEM_BEGIN], &got);
    assert_string_equal(got.state, "COMPLETED");
    assert_null(got.response);
    assert_int_equal(got.response_size, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(success_is_an_object_whatever_its_shape),
        TEST(what_is_not_known_is_null),
        TEST(fields_at_the_end_may_be_missing),
        TEST(pairs_are_a_list_of_objects),
        TEST(refusal_is_an_error_object_also_where_resp_has_another_form),
        TEST(malformed_request_is_an_invalid_argument),
        TEST(quotes_backslashes_and_control_characters_are_escaped),
        TEST(a_blob_that_json_cannot_carry_is_in_base_64),
        TEST(utf8_stays_as_it_is),
        TEST(struct_gets_each_value_in_its_member),
        TEST(longest_id_fits_with_its_nul),
        TEST(refusal_leaves_a_struct_of_zeros),
        TEST(quota_exceeded_fills_the_struct_too),
        TEST(stored_response_does_not_touch_the_struct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

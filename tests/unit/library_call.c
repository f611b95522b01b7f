/* SPDX-License-Identifier: Apache-2.0
 *
 * hf_call(): words in, a flat list out, as in RESP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"

#include <stdio.h>

static int open_handle(void **state)
{
    return hf_open("embedded:", (hf_handle **)state) != HF_OK;
}

static int close_handle(void **state)
{
    hf_close(*state);
    return 0;
}

/* Calls with the words of a text. */
static enum hf_error call(hf_handle *handle, const char *text, hf_reply **reply)
{
    struct hf_bytes words[16];
    size_t count = 0;

    for (const char *word = text; word != NULL; word = strchr(word, ' ')) {
        word += *word == ' ';
        words[count++] = (struct hf_bytes){word, strcspn(word, " ")};
    }
    return hf_call(handle, count, words, reply);
}

/* The reply's code, and its elements: numbers plain, texts in quotes, nil. */
/* A fence is greater than any before, over restarts, too: nobody can say what it is. "#" stands for
 * it in what is expected. */
static bool is_fence(int64_t number)
{
    return number > 1000000;
}

static void expect_call(hf_handle *handle, const char *text, enum hf_error code,
                        const char *elements)
{
    hf_reply *reply;
    char got[1000] = "";
    size_t used = 0;

    assert_int_equal(call(handle, text, &reply), code);
    assert_non_null(reply);
    for (size_t i = 0; i < hf_reply_count(reply); i++) {
        const char *space = i ? " " : "";
        if (hf_reply_kind(reply, i) == HF_KIND_INTEGER && is_fence(hf_reply_integer(reply, i))) {
            used += (size_t)snprintf(got + used, sizeof got - used, "%s#", space);
        } else if (hf_reply_kind(reply, i) == HF_KIND_INTEGER) {
            used += (size_t)snprintf(got + used, sizeof got - used, "%s%lld", space,
                                     (long long)hf_reply_integer(reply, i));
        } else if (hf_reply_kind(reply, i) == HF_KIND_TEXT) {
            used += (size_t)snprintf(got + used, sizeof got - used, "%s'%s'", space,
                                     hf_reply_text(reply, i).data);
        } else {
            used += (size_t)snprintf(got + used, sizeof got - used, "%snil", space);
        }
    }
    hf_reply_free(reply);
    assert_string_equal(got, elements);
}

static void expect_json(hf_handle *handle, const char *text, const char *json)
{
    hf_reply *reply;

    call(handle, text, &reply);
    assert_string_equal(hf_reply_json(reply), json);
    assert_string_equal(hf_reply_json(reply), json); /* again the same */
    hf_reply_free(reply);
}

static void success_begins_with_1(void **state)
{
    expect_call(*state, "SEATS.OPEN gala floor 10", HF_OK, "1 10 10");
    expect_call(*state, "SEATS.RESERVE gala floor b1 ann 2 4", HF_OK, "1 8 2 #");
    expect_call(*state, "SEATS.RELEASE gala b1", HF_OK, "1 'SUCCESS' 10 0");
}

static void fields_come_with_their_names(void **state)
{
    expect_call(*state, "STOCK.LOAD shoe 10", HF_OK, "1 10");
    expect_call(*state, "STOCK.GET shoe", HF_OK,
                "'available' 10 'taken' 0 'sold' 0 'loaded' 10 'shards' 1 'mode' 'single'");
}

static void a_bare_number_is_one_element(void **state)
{
    expect_call(*state, "SEM.CARD gpu", HF_OK, "0");
    expect_call(*state, "LOCK.UNLOCK seat-1 k1", HF_OK, "0");
}

static void a_list_has_no_leading_1(void **state)
{
    expect_call(*state, "SEATS.USER gala ann", HF_OK, "0 0");
    expect_call(*state, "QUOTA.GET acme", HF_OK, "0 0 0");
    expect_call(*state, "LOCK.TRY seat-1 10 ID k1", HF_OK, "'k1' #");
}

static void an_empty_list_has_no_elements(void **state)
{
    expect_call(*state, "ROOM.ADMIT gala 5", HF_OK, "");
    expect_json(*state, "ROOM.ADMIT gala 5", "[]");
}

static void nil_is_one_element_of_its_own_kind(void **state)
{
    expect_call(*state, "LOCK.GET seat-1", HF_NOT_FOUND, "nil");
    expect_call(*state, "LOCK.TRY seat-1 10 ID k1", HF_OK, "'k1' #");
    expect_call(*state, "LOCK.TRY seat-1 10 ID k2", HF_LOCKED, "nil");
}

static void a_refusal_is_0_the_code_and_a_message(void **state)
{
    hf_reply *reply;

    assert_int_equal(call(*state, "STOCK.GET shoe", &reply), HF_PRODUCT_NOT_FOUND);
    assert_int_equal(hf_reply_count(reply), 3);
    assert_int_equal(hf_reply_integer(reply, 0), 0);
    assert_string_equal(hf_reply_text(reply, 1).data, "PRODUCT_NOT_FOUND");
    assert_true(hf_reply_text(reply, 2).size > 0);
    assert_string_equal(hf_reply_text(reply, 2).data, hf_last_message());
    hf_reply_free(reply);
}

static void a_refusal_may_carry_figures(void **state)
{
    expect_call(*state, "QUOTA.LIMIT acme 10", HF_OK, "1 0 10");
    expect_call(*state, "QUOTA.RESERVE acme 11", HF_QUOTA_EXCEEDED, "-1 0 10");
    expect_call(*state, "IDEM.BEGIN k1 f1", HF_OK, "1 'NEW'");
    expect_call(*state, "IDEM.BEGIN k1 f1", HF_IN_PROGRESS, "0 'PROCESSING'");
    expect_call(*state, "IDEM.COMPLETE k1 done", HF_OK, "1");
    expect_call(*state, "IDEM.BEGIN k1 f1", HF_OK, "2 'COMPLETED' 'done'");
}

static void an_argument_out_of_bounds_is_a_refusal(void **state)
{
    hf_reply *reply;

    assert_int_equal(call(*state, "LOCK.TRY seat-1 9ms", &reply), HF_INVALID_TTL);
    assert_string_equal(hf_reply_text(reply, 1).data, "INVALID_TTL");
    hf_reply_free(reply);
}

static void a_malformed_request_is_err(void **state)
{
    static const char *const texts[] = {"NO.SUCH thing",
                                        "",
                                        "LOCK.GET",
                                        "LOCK.GET a b",
                                        "LOCK.TRY seat-1 soon",
                                        "LOCK.TRY seat-1 10 KEY k1"};
    hf_reply *reply;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(call(*state, texts[i], &reply), HF_ERR);
        assert_int_equal(hf_reply_count(reply), 3);
        assert_int_equal(hf_reply_integer(reply, 0), 0);
        assert_string_equal(hf_reply_text(reply, 1).data, "ERR");
        assert_string_equal(hf_reply_text(reply, 2).data, hf_last_message());
        hf_reply_free(reply);
    }
    assert_int_equal(hf_call(*state, 0, NULL, &reply), HF_ERR);
    hf_reply_free(reply);
}

static void what_is_not_there_is_nil_0_and_empty(void **state)
{
    hf_reply *reply;

    assert_int_equal(call(*state, "LOCK.TRY seat-1 10 ID k1", &reply), HF_OK);
    assert_int_equal(hf_reply_kind(reply, 2), HF_KIND_NIL);
    assert_int_equal(hf_reply_kind(reply, SIZE_MAX), HF_KIND_NIL);
    assert_int_equal(hf_reply_integer(reply, 2), 0);
    assert_int_equal(hf_reply_integer(reply, 0), 0);   /* a text is no number */
    assert_int_equal(hf_reply_text(reply, 1).size, 0); /* a number is no text */
    assert_string_equal(hf_reply_text(reply, 1).data, "");
    assert_string_equal(hf_reply_text(reply, 9).data, "");
    hf_reply_free(reply);
}

static void texts_may_hold_any_bytes(void **state)
{
    struct hf_bytes words[] = {HF_TEXT("IDEM.COMPLETE"), HF_TEXT("k1"), HF_TEXT("a\0b\xff")};
    hf_reply *reply;

    expect_call(*state, "IDEM.BEGIN k1 f1", HF_OK, "1 'NEW'");
    assert_int_equal(hf_call(*state, 3, words, &reply), HF_OK);
    hf_reply_free(reply);
    assert_int_equal(call(*state, "IDEM.BEGIN k1 f1", &reply), HF_OK);
    assert_int_equal(hf_reply_text(reply, 2).size, 4);
    assert_memory_equal(hf_reply_text(reply, 2).data, "a\0b\xff", 5);
    hf_reply_free(reply);
}

static void a_long_list_comes_whole(void **state)
{
    char words[64];
    hf_reply *reply;

    for (int i = 0; i < 500; i++) {
        snprintf(words, sizeof words, "ROOM.JOIN gala user-%d-with-a-long-name", i);
        assert_int_equal(call(*state, words, &reply), HF_OK);
        hf_reply_free(reply);
    }
    assert_int_equal(call(*state, "ROOM.ADMIT gala 10000", &reply), HF_OK);
    assert_int_equal(hf_reply_count(reply), 1000);
    assert_string_equal(hf_reply_text(reply, 0).data, "user-0-with-a-long-name");
    assert_string_equal(hf_reply_text(reply, 998).data, "user-499-with-a-long-name");
    assert_int_equal(hf_reply_text(reply, 999).size, 32);
    hf_reply_free(reply);
}

static void a_reply_as_json_names_its_fields(void **state)
{
    expect_json(*state, "SEATS.OPEN gala floor 10", "{\"available\":10,\"capacity\":10}");
    expect_json(*state, "SEM.CARD gpu", "{\"in_use\":0}");
    hf_reply *reply;
    char json[100];
    assert_int_equal(call(*state, "LOCK.TRY seat-1 10 ID k\"1", &reply), HF_OK);
    snprintf(json, sizeof json, "{\"lock_id\":\"k\\\"1\",\"fence\":%lld}",
             (long long)hf_reply_integer(reply, 1));
    assert_string_equal(hf_reply_json(reply), json);
    hf_reply_free(reply);
}

static void a_refusal_as_json_is_an_error(void **state)
{
    expect_json(*state, "SEATS.ZONE gala floor",
                "{\"error\":{\"code\":\"ZONE_NOT_FOUND\",\"message\":\"no such zone; event "
                "\\\"gala\\\", zone \\\"floor\\\"\"}}");
    expect_json(*state, "NO.SUCH thing",
                "{\"error\":{\"code\":\"INVALID_ARGUMENT\","
                "\"message\":\"unknown command 'NO.SUCH'\"}}");
}

static void a_command_that_waits_and_gets_nothing_is_timeout(void **state)
{
    hf_reply *reply;

    expect_call(*state, "SEM.ACQUIRE gpu a 1", HF_OK, "1 1 #");
    assert_int_equal(call(*state, "SEM.ACQUIRE gpu b 1 WAIT 10", &reply), HF_TIMEOUT);
    assert_string_equal(hf_reply_text(reply, 1).data, "TIMEOUT");
    hf_reply_free(reply);
    expect_call(*state, "SEM.STATS gpu", HF_OK, "'in_use' 1 'max' 1 'waiting' 0");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_handle, close_handle)
    const struct CMUnitTest tests[] = {
        CASE(success_begins_with_1),
        CASE(fields_come_with_their_names),
        CASE(a_bare_number_is_one_element),
        CASE(a_list_has_no_leading_1),
        CASE(an_empty_list_has_no_elements),
        CASE(nil_is_one_element_of_its_own_kind),
        CASE(a_refusal_is_0_the_code_and_a_message),
        CASE(a_refusal_may_carry_figures),
        CASE(an_argument_out_of_bounds_is_a_refusal),
        CASE(a_malformed_request_is_err),
        CASE(what_is_not_there_is_nil_0_and_empty),
        CASE(texts_may_hold_any_bytes),
        CASE(a_long_list_comes_whole),
        CASE(a_reply_as_json_names_its_fields),
        CASE(a_refusal_as_json_is_an_error),
        CASE(a_command_that_waits_and_gets_nothing_is_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

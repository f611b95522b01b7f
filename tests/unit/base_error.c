/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of errors is the table of the contract's section 8: name, HTTP status, kind of reply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

struct row {
    enum hf_error code;
    const char *name;
    int status;
};

#define ROW(code, status)                                                                          \
    {                                                                                              \
        HF_##code, #code, status                                                                   \
    }

/* Section 8, from top to bottom. */
static const struct row contract[] = {
    ROW(INVALID_QUANTITY, 400),
    ROW(INVALID_AMOUNT, 400),
    ROW(INVALID_TTL, 400),
    ROW(INVALID_ID, 400),
    ROW(INVALID_ARGUMENT, 400),
    ROW(INSUFFICIENT_STOCK, 409),
    ROW(SOLD_OUT, 409),
    ROW(INVALID_STATE, 409),
    ROW(BOOKING_EXISTS, 409),
    ROW(CAPACITY_IN_USE, 409),
    ROW(USER_LIMIT_EXCEEDED, 400),
    ROW(ALREADY_IN_QUEUE, 409),
    ROW(IN_PROGRESS, 409),
    ROW(LOCKED, 409),
    ROW(NOT_OWNER, 409),
    ROW(UNAUTHORIZED, 401),
    ROW(FORBIDDEN, 403),
    ROW(KEY_REUSED, 422),
    ROW(ZONE_NOT_FOUND, 404),
    ROW(RESERVATION_NOT_FOUND, 404),
    ROW(HOLD_NOT_FOUND, 404),
    ROW(PRODUCT_NOT_FOUND, 404),
    ROW(NOT_IN_QUEUE, 404),
    ROW(NOT_FOUND, 404),
    ROW(QUOTA_EXCEEDED, 429),
    ROW(QUEUE_FULL, 429),
    ROW(NO_SLOT, 429),
    ROW(RATE_LIMITED, 429),
    ROW(TIMEOUT, 408),
    ROW(BUSY, 503),
    ROW(ENGINE_DOWN, 503),
    ROW(LEDGER_DOWN, 503),
    ROW(PAYLOAD_TOO_LARGE, 413),
    ROW(INTERNAL, 500),
};

static void each_code_has_the_name_and_status_of_the_contract(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof contract / sizeof contract[0]; i++) {
        assert_string_equal(hf_error_name(contract[i].code), contract[i].name);
        assert_int_equal(hf_error_status(contract[i].code), contract[i].status);
    }
}

static void ok_is_zero_and_200(void **state)
{
    (void)state;
    assert_int_equal(HF_OK, 0);
    assert_string_equal(hf_error_name(HF_OK), "OK");
    assert_int_equal(hf_error_status(HF_OK), 200);
    assert_false(error_is_refusal(HF_OK));
}

static void every_code_has_a_name_of_its_own_a_text_and_an_error_status(void **state)
{
    (void)state;
    for (int a = HF_OK + 1; a < HF_ERROR_COUNT; a++) {
        enum hf_error code = (enum hf_error)a;
        assert_true(strlen(hf_error_name(code)) > 0);
        assert_true(strlen(error_text(code)) > 0);
        assert_true(hf_error_status(code) >= 400 && hf_error_status(code) < 600);
        for (int b = HF_OK; b < a; b++) {
            assert_string_not_equal(hf_error_name(code), hf_error_name((enum hf_error)b));
        }
    }
}

/* A text travels on a line of RESP and inside JSON, so it has nothing in it that needs care. */
static void texts_are_plain(void **state)
{
    (void)state;
    for (int code = HF_OK; code < HF_ERROR_COUNT; code++) {
        for (const char *at = error_text((enum hf_error)code); *at != '\0'; at++) {
            assert_true(*at >= ' ' && *at <= '~' && *at != '"' && *at != '\\' && *at != '#');
        }
    }
}

/* Section 0: -ERR is for the request itself, and these for the server's own state. */
static void only_the_request_and_the_server_have_errors_the_rest_are_refusals(void **state)
{
    static const enum hf_error errors[] = {
        HF_ERR,      HF_UNAUTHORIZED, HF_FORBIDDEN, HF_INTERNAL,    HF_IOERR,
        HF_READONLY, HF_LOADING,      HF_BUSY,      HF_ENGINE_DOWN, HF_LEDGER_DOWN};
    size_t refusals = 0;

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        assert_false(error_is_refusal(errors[i]));
    }
    for (int code = HF_OK + 1; code < HF_ERROR_COUNT; code++) {
        refusals += error_is_refusal((enum hf_error)code);
    }
    assert_int_equal(refusals, HF_ERROR_COUNT - 1 - sizeof errors / sizeof errors[0]);
}

/* Programs are built with the numbers in them: a code that is new goes to the end. */
static void codes_keep_their_numbers(void **state)
{
    (void)state;
    assert_int_equal(HF_INVALID_QUANTITY, 1);
    assert_int_equal(HF_NOT_FOUND, 12);
    assert_int_equal(HF_LOCKED, 21);
    assert_int_equal(HF_ERR, 29);
    assert_int_equal(HF_LEDGER_DOWN, 38);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_has_the_name_and_status_of_the_contract),
        cmocka_unit_test(ok_is_zero_and_200),
        cmocka_unit_test(every_code_has_a_name_of_its_own_a_text_and_an_error_status),
        cmocka_unit_test(texts_are_plain),
        cmocka_unit_test(only_the_request_and_the_server_have_errors_the_rest_are_refusals),
        cmocka_unit_test(codes_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

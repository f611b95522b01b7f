/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing, what a handle tells about itself, and the words for errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "holdfast.h"

#include <pthread.h>
#include <stdlib.h>

static int open_handle(void **state)
{
    return hf_open("embedded:", (hf_handle **)state) != HF_OK;
}

static int close_handle(void **state)
{
    hf_close(*state);
    return 0;
}

static void an_engine_in_memory_opens_and_closes(void **state)
{
    hf_handle *handle = NULL;
    (void)state;

    assert_int_equal(hf_open("embedded:", &handle), HF_OK);
    assert_non_null(handle);
    hf_close(handle);
    hf_close(NULL);
}

static void a_url_of_no_engine_is_refused_and_named(void **state)
{
    static const char *const urls[] = {
        "", "embedded", "Embedded:", "nonsense:", "gopher://host:70", "://", " embedded:"};
    (void)state;

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        hf_handle *handle = (hf_handle *)&handle;
        assert_int_equal(hf_open(urls[i], &handle), HF_INVALID_ARGUMENT);
        assert_null(handle);
        char scheme[32];
        snprintf(scheme, sizeof scheme, "\"%.*s\"", (int)strcspn(urls[i], ":"), urls[i]);
        assert_non_null(strstr(hf_last_message(), scheme));
    }
    hf_handle *handle = (hf_handle *)&handle;
    assert_int_equal(hf_open(NULL, &handle), HF_INVALID_ARGUMENT);
    assert_null(handle);
}

static void a_long_url_does_no_harm(void **state)
{
    char *url = calloc(1, 100001);
    hf_handle *handle;
    (void)state;

    memset(url, 'x', 100000);
    assert_int_equal(hf_open(url, &handle), HF_INVALID_ARGUMENT);
    memcpy(url, "embedded:", 9);
    assert_int_not_equal(hf_open(url, &handle), HF_OK);
    assert_null(handle);
    free(url);
}

static void handles_do_not_share_their_state(void **state)
{
    struct hf_quota_limit_args limit = {HF_TEXT("acme"), .limit = 10};
    struct hf_quota_get_args get = {HF_TEXT("acme")};
    struct hf_quota_get_reply got;
    hf_handle *other;

    assert_int_equal(hf_open("embedded:", &other), HF_OK);
    assert_int_equal(hf_quota_limit(*state, &limit, NULL), HF_OK);
    assert_int_equal(hf_quota_get(other, &get, &got), HF_OK);
    assert_int_equal(got.limit, 0);
    hf_close(other);
}

static void closing_frees_what_is_still_held(void **state)
{
    struct hf_lock_try_args lock = {HF_TEXT("a-resource-with-a-long-name"), .ttl_ms = 60000};
    struct hf_room_join_args join = {HF_TEXT("gala"), HF_TEXT("a-user-with-a-rather-long-name"),
                                     .max = 0};

    assert_int_equal(hf_lock_try(*state, &lock, NULL), HF_OK);
    assert_int_equal(hf_room_join(*state, &join, NULL), HF_OK);
}

static void the_version_is_that_of_the_header(void **state)
{
    (void)state;
    assert_string_equal(hf_version(), HF_VERSION);
}

static void every_error_has_its_name_and_http_status(void **state)
{
    (void)state;
    assert_string_equal(hf_error_name(HF_OK), "OK");
    assert_int_equal(hf_error_status(HF_OK), 200);
#define ROW(code, http, text)                                                                      \
    assert_string_equal(hf_error_name(HF_##code), #code);                                          \
    assert_int_equal(hf_error_status(HF_##code), http);
    HF_ERROR_MAP(ROW)
#undef ROW
    /* Those of the contract, in its own words. */
    assert_int_equal(hf_error_status(HF_INVALID_ID), 400);
    assert_int_equal(hf_error_status(HF_USER_LIMIT_EXCEEDED), 400);
    assert_int_equal(hf_error_status(HF_UNAUTHORIZED), 401);
    assert_int_equal(hf_error_status(HF_FORBIDDEN), 403);
    assert_int_equal(hf_error_status(HF_PRODUCT_NOT_FOUND), 404);
    assert_int_equal(hf_error_status(HF_TIMEOUT), 408);
    assert_int_equal(hf_error_status(HF_SOLD_OUT), 409);
    assert_int_equal(hf_error_status(HF_ALREADY_IN_QUEUE), 409);
    assert_int_equal(hf_error_status(HF_PAYLOAD_TOO_LARGE), 413);
    assert_int_equal(hf_error_status(HF_KEY_REUSED), 422);
    assert_int_equal(hf_error_status(HF_QUEUE_FULL), 429);
    assert_int_equal(hf_error_status(HF_NO_SLOT), 429);
    assert_int_equal(hf_error_status(HF_INTERNAL), 500);
    assert_int_equal(hf_error_status(HF_BUSY), 503);
    assert_int_equal(hf_error_status(HF_ENGINE_DOWN), 503);
    assert_int_equal(hf_error_status(HF_LEDGER_DOWN), 503);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void a_refusal_is_explained_with_its_figures(void **state)
{
    struct hf_seats_open_args open = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = 3};
    struct hf_seats_reserve_args ask = {HF_TEXT("gala"), HF_TEXT("floor"), HF_TEXT("b1"),
                                        HF_TEXT("ann"),  .quantity = 4,    .max_per_user = 9};

    assert_int_equal(hf_seats_open(*state, &open, NULL), HF_OK);
    assert_int_equal(hf_seats_reserve(*state, &ask, NULL), HF_INSUFFICIENT_STOCK);
    assert_non_null(strchr(hf_last_message(), '3'));
    assert_non_null(strchr(hf_last_message(), '4'));
}

static void a_bad_argument_is_explained_with_its_value(void **state)
{
    struct hf_lock_get_args get = {HF_TEXT("no{good")};
    struct hf_lock_try_args lock = {HF_TEXT("seat-1"), .ttl_ms = 9};

    assert_int_equal(hf_lock_get(*state, &get, NULL), HF_INVALID_ID);
    assert_non_null(strstr(hf_last_message(), "no{good"));
    assert_int_equal(hf_lock_try(*state, &lock, NULL), HF_INVALID_TTL);
    assert_non_null(strstr(hf_last_message(), "9 ms"));
}

struct other {
    hf_handle *handle;
    char first[400], second[400];
};

static void *fail_elsewhere(void *context)
{
    struct other *other = context;
    struct hf_stock_get_args get = {HF_TEXT("shoe")};

    strncpy(other->first, hf_last_message(), sizeof other->first - 1);
    if (hf_stock_get(other->handle, &get, NULL) == HF_PRODUCT_NOT_FOUND) {
        strncpy(other->second, hf_last_message(), sizeof other->second - 1);
    }
    return NULL;
}

static void each_thread_has_its_own_last_message(void **state)
{
    struct other other = {.handle = *state};
    struct hf_lock_get_args get = {HF_TEXT("no{good")};
    char own[400];
    pthread_t thread;

    hf_lock_get(*state, &get, NULL);
    strncpy(own, hf_last_message(), sizeof own - 1);
    own[sizeof own - 1] = '\0';
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &other), 0);
    pthread_join(thread, NULL);
    assert_string_equal(other.first, "");
    assert_non_null(strstr(other.second, "product"));
    assert_string_equal(hf_last_message(), own);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void info_counts_holds_and_those_who_wait(void **state)
{
    struct hf_lock_try_args lock = {HF_TEXT("seat-1"), .ttl_ms = 60000};
    struct hf_sem_acquire_args slot = {HF_TEXT("gpu"), HF_TEXT("a"), .limit = 1};
    struct hf_sem_queue_args queue = {HF_TEXT("gpu"), HF_TEXT("b"), 60000, 60000};
    struct hf_room_join_args join = {HF_TEXT("gala"), HF_TEXT("ann"), .max = 0};
    struct hf_info info;

    assert_int_equal(hf_info(*state, &info), HF_OK);
    assert_int_equal(info.holds + info.waiting + info.expired, 0);
    uint64_t memory = info.memory_bytes;
    assert_int_equal(hf_lock_try(*state, &lock, NULL), HF_OK);
    assert_int_equal(hf_sem_acquire(*state, &slot, NULL), HF_OK);
    assert_int_equal(hf_sem_queue(*state, &queue, NULL), HF_OK);
    assert_int_equal(hf_room_join(*state, &join, NULL), HF_OK);
    assert_int_equal(hf_info(*state, &info), HF_OK);
    assert_int_equal(info.holds, 2);
    assert_int_equal(info.waiting, 2);
    assert_true(info.memory_bytes > memory);
}

static void a_sound_state_is_audited_clean(void **state)
{
    struct hf_stock_load_args load = {HF_TEXT("shoe"), .quantity = 10};
    uint64_t findings = 7;

    assert_int_equal(hf_stock_load(*state, &load, NULL), HF_OK);
    assert_int_equal(hf_audit(*state, NULL, NULL, &findings), HF_OK);
    assert_int_equal(findings, 0);
    assert_int_equal(hf_audit(*state, NULL, NULL, NULL), HF_OK);
}

static void nothing_is_freed_well(void **state)
{
    (void)state;
    hf_free(NULL);
    hf_reply_free(NULL);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_handle, close_handle)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_in_memory_opens_and_closes),
        cmocka_unit_test(a_url_of_no_engine_is_refused_and_named),
        cmocka_unit_test(a_long_url_does_no_harm),
        cmocka_unit_test(the_version_is_that_of_the_header),
        cmocka_unit_test(every_error_has_its_name_and_http_status),
        cmocka_unit_test(nothing_is_freed_well),
        CASE(handles_do_not_share_their_state),
        CASE(closing_frees_what_is_still_held),
        CASE(a_refusal_is_explained_with_its_figures),
        CASE(a_bad_argument_is_explained_with_its_value),
        CASE(each_thread_has_its_own_last_message),
        CASE(info_counts_holds_and_those_who_wait),
        CASE(a_sound_state_is_audited_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

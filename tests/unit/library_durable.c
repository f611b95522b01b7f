/* SPDX-License-Identifier: Apache-2.0
 *
 * The public library on a directory: many threads on one handle, and everything they were told is
 * there after closing and opening again. */
#include "journal_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];
static char url[128];

static int setup(void **state)
{
    (void)state;
    make_directory(path);
    snprintf(url, sizeof url, "embedded:%s", path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_directory(path);
    return 0;
}

static hf_handle *open_url(const char *query)
{
    char full[160];
    hf_handle *handle;

    snprintf(full, sizeof full, "%s%s", url, query);
    enum hf_error code = hf_open(full, &handle);
    if (code != HF_OK) {
        print_error("%s: %s\n", full, hf_last_message());
    }
    assert_int_equal(code, HF_OK);
    assert_non_null(handle);
    return handle;
}

/* ---- a rush ---------------------------------------------------------------------------------- */

#define THREADS 16
#define BOOKINGS 12

struct buyer {
    hf_handle *handle;
    pthread_t thread;
    int number;
    int wrong; /* answers that should not have come */
    char codes[BOOKINGS][HF_CODE_SIZE];
};

static void name_booking(char out[32], const struct buyer *buyer, int i)
{
    snprintf(out, 32, "b-%d-%d", buyer->number, i);
}

/* Reserves all and confirms every other one. */
static void *buy(void *context)
{
    struct buyer *buyer = context;

    for (int i = 0; i < BOOKINGS; i++) {
        char booking[32];
        name_booking(booking, buyer, i);
        struct hf_seats_reserve_args ask = {HF_TEXT("gala"),  HF_TEXT("floor"),
                                            hf_text(booking), HF_TEXT("ann"),
                                            .quantity = 1,    .max_per_user = 10000};
        struct hf_seats_confirm_args pay = {.event = HF_TEXT("gala"), .booking = hf_text(booking)};
        struct hf_seats_get_args look = {HF_TEXT("gala"), hf_text(booking)};
        struct hf_seats_confirm_reply paid;
        struct hf_seats_get_reply got;
        buyer->wrong += hf_seats_reserve(buyer->handle, &ask, NULL) != HF_OK;
        if (i % 2 == 0) {
            buyer->wrong += hf_seats_confirm(buyer->handle, &pay, &paid) != HF_OK;
            snprintf(buyer->codes[i], HF_CODE_SIZE, "%s", paid.confirmation_code);
        }
        buyer->wrong += hf_seats_get(buyer->handle, &look, &got) != HF_OK;
    }
    return NULL;
}

static void rush(hf_handle *handle, struct buyer buyers[THREADS])
{
    struct hf_seats_open_args open = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = 1000};

    assert_int_equal(hf_seats_open(handle, &open, NULL), HF_OK);
    for (int i = 0; i < THREADS; i++) {
        buyers[i] = (struct buyer){.handle = handle, .number = i};
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, buy, &buyers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(buyers[i].thread, NULL);
        assert_int_equal(buyers[i].wrong, 0);
    }
}

static void expect_all_there(hf_handle *handle, const struct buyer buyers[THREADS])
{
    struct hf_seats_zone_args look = {HF_TEXT("gala"), HF_TEXT("floor")};
    struct hf_seats_zone_reply zone;
    uint64_t findings = 1;

    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < BOOKINGS; j++) {
            char booking[32];
            name_booking(booking, &buyers[i], j);
            struct hf_seats_get_args which = {HF_TEXT("gala"), hf_text(booking)};
            struct hf_seats_get_reply got;
            assert_int_equal(hf_seats_get(handle, &which, &got), HF_OK);
            assert_string_equal(got.confirmation_code, buyers[i].codes[j]);
            assert_string_equal(got.status, j % 2 == 0 ? "confirmed" : "reserved");
        }
    }
    assert_int_equal(hf_seats_zone(handle, &look, &zone), HF_OK);
    assert_int_equal(zone.reserved, THREADS * BOOKINGS / 2);
    assert_int_equal(zone.confirmed, THREADS * BOOKINGS / 2);
    assert_int_equal(hf_audit(handle, NULL, NULL, &findings), HF_OK);
    assert_int_equal(findings, 0);
}

static void rush_and_reopen(const char *query)
{
    struct buyer *buyers = calloc(THREADS, sizeof *buyers);

    assert_non_null(buyers);
    hf_handle *handle = open_url(query);
    rush(handle, buyers);
    expect_all_there(handle, buyers);
    hf_close(handle);
    handle = open_url("");
    expect_all_there(handle, buyers);
    hf_close(handle);
    free(buyers);
}

static void what_16_threads_were_told_is_there_after_reopening(void **state)
{
    (void)state;
    rush_and_reopen("");
}

static void with_everysec_too(void **state)
{
    (void)state;
    rush_and_reopen("?fsync=everysec");
}

static void without_syncs_too(void **state)
{
    (void)state;
    rush_and_reopen("?fsync=no");
}

/* ---- those who wait -------------------------------------------------------------------------- */

struct waiter {
    hf_handle *handle;
    pthread_t thread;
    enum hf_error code;
};

static void *wait_for_slot(void *context)
{
    struct waiter *waiter = context;
    struct hf_sem_acquire_args ask = {HF_TEXT("door"), HF_TEXT("b"), .limit = 1, .wait_ms = 60000};

    waiter->code = hf_sem_acquire(waiter->handle, &ask, NULL);
    return NULL;
}

static void a_waiting_thread_is_woken_by_another(void **state)
{
    hf_handle *handle = open_url("");
    struct hf_sem_acquire_args first = {HF_TEXT("door"), HF_TEXT("a"), .limit = 1};
    struct hf_sem_release_args leave = {HF_TEXT("door"), HF_TEXT("a")};
    struct hf_sem_stats_args look = {HF_TEXT("door")};
    struct hf_sem_stats_reply stats = {.waiting = 0};
    struct waiter waiter = {.handle = handle, .code = HF_INTERNAL};
    (void)state;

    assert_int_equal(hf_sem_acquire(handle, &first, NULL), HF_OK);
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for_slot, &waiter), 0);
    while (stats.waiting == 0) {
        assert_int_equal(hf_sem_stats(handle, &look, &stats), HF_OK);
    }
    assert_int_equal(hf_sem_release(handle, &leave, NULL), HF_OK);
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.code, HF_OK);
    hf_close(handle);
}

/* ---- what cannot be opened ------------------------------------------------------------------- */

static void expect_refused(const char *what, enum hf_error code, const char *message)
{
    hf_handle *handle = (hf_handle *)&handle;

    assert_int_equal(hf_open(what, &handle), code);
    assert_null(handle);
    if (strstr(hf_last_message(), message) == NULL) {
        print_error("%s: %s\n", what, hf_last_message());
        fail();
    }
}

static void a_directory_in_use_is_refused(void **state)
{
    hf_handle *handle = open_url("");
    (void)state;

    expect_refused(url, HF_IOERR, "in use by another process");
    hf_close(handle);
    hf_close(open_url(""));
}

static void an_unknown_policy_is_refused(void **state)
{
    static const char *const queries[] = {"?fsync=sometimes", "?fsync=", "?", "?sync=no",
                                          "?fsync=always&x=1"};
    char what[160];
    struct image image;
    (void)state;

    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        snprintf(what, sizeof what, "%s%s", url, queries[i]);
        expect_refused(what, HF_INVALID_ARGUMENT, "fsync=always");
    }
    expect_refused("embedded:?fsync=no", HF_INVALID_ARGUMENT, "embedded:DIR");
    image_load(&image, path);
    assert_int_equal(image.count, 0);
    image_free(&image);
}

static void a_directory_that_cannot_be_made_or_written_is_refused(void **state)
{
    char what[160];
    (void)state;

    snprintf(what, sizeof what, "embedded:%s/not/there", path);
    expect_refused(what, HF_IOERR, "No such file or directory");
    write_file(path, "plain", "x", 1);
    snprintf(what, sizeof what, "embedded:%s/plain", path);
    expect_refused(what, HF_IOERR, "Not a directory");
    /* Nobody, not even root, can make a file there. */
    expect_refused("embedded:/proc/self", HF_IOERR, "cannot be locked");
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0500), 0);
        expect_refused(url, HF_IOERR, "cannot be locked: Permission denied");
        assert_int_equal(chmod(path, 0700), 0);
    }
}

static void a_snapshot_can_be_asked_for(void **state)
{
    struct hf_quota_limit_args limit = {.tenant = HF_TEXT("acme"), .limit = 7};
    struct hf_quota_get_args get = {.tenant = HF_TEXT("acme")};
    struct hf_quota_get_reply got;
    hf_handle *handle = open_url("");
    enum hf_error code;

    (void)state;
    assert_int_equal(hf_quota_limit(handle, &limit, NULL), HF_OK);
    assert_int_equal(hf_snapshot(handle), HF_OK);
    while ((code = hf_snapshot(handle)) == HF_BUSY) { /* until the first is in place */
        limit.limit++;
        assert_int_equal(hf_quota_limit(handle, &limit, NULL), HF_OK);
    }
    assert_int_equal(code, HF_OK);
    hf_close(handle);
    handle = open_url("");
    assert_int_equal(hf_quota_get(handle, &get, &got), HF_OK);
    assert_int_equal(got.limit, limit.limit);
    hf_close(handle);

    assert_int_equal(hf_open("embedded:", &handle), HF_OK);
    assert_int_equal(hf_snapshot(handle), HF_INVALID_STATE);
    hf_close(handle);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_16_threads_were_told_is_there_after_reopening),
        TEST(with_everysec_too),
        TEST(without_syncs_too),
        TEST(a_waiting_thread_is_woken_by_another),
        TEST(a_snapshot_can_be_asked_for),
        TEST(a_directory_in_use_is_refused),
        TEST(an_unknown_policy_is_refused),
        TEST(a_directory_that_cannot_be_made_or_written_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

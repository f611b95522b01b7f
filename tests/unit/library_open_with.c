/* SPDX-License-Identifier: Apache-2.0
 *
 * hf_open_with(): which options it takes, which ledger an engine has, and that engine and ledger
 * are compared while nobody calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char directory[64], file[96], ledger[128];
static hf_handle *hf;

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/holdfast-open-XXXXXX");
    if (mkdtemp(directory) == NULL) {
        return 1;
    }
    snprintf(file, sizeof file, "%s/shop.db", directory);
    snprintf(ledger, sizeof ledger, "sqlite:%s", file);
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

static int remove_directory(void **state)
{
    (void)state;
    hf_close(hf);
    hf = NULL;
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static enum hf_error open_with(const char *engine, const char *url, int64_t every_ms)
{
    struct hf_open_options options = {
        .size = sizeof options, .engine = engine, .ledger = url, .reconcile_every_ms = every_ms};

    hf_close(hf);
    return hf_open_with(&options, &hf);
}

static void load(int64_t quantity)
{
    struct hf_stock_load_args args = {.product = HF_TEXT("sneaker"), .quantity = quantity};

    assert_int_equal(hf_stock_load(hf, &args, NULL), HF_OK);
}

static enum hf_error buy(const char *order)
{
    struct hf_stock_buy_args args = {.product = HF_TEXT("sneaker"),
                                     .order = hf_text(order),
                                     .user = HF_TEXT("ann"),
                                     .quantity = 1};
    struct hf_stock_buy_reply reply = {.status = ""};
    enum hf_error code = hf_stock_buy(hf, &args, &reply);

    assert_string_equal(reply.status, code == HF_OK ? "SOLD" : "");
    return code;
}

static int64_t available(void)
{
    struct hf_stock_get_args args = {.product = HF_TEXT("sneaker")};
    struct hf_stock_get_reply reply;

    assert_int_equal(hf_stock_get(hf, &args, &reply), HF_OK);
    return reply.available;
}

/* ---- options --------------------------------------------------------------------------------- */

static void options_of_another_size_are_refused_or_understood(void **state)
{
    struct {
        struct hf_open_options known;
        int64_t later;
    } options = {.known = {.size = 0, .engine = "embedded:"}};

    (void)state;
    assert_int_equal(hf_open_with(NULL, &hf), HF_INVALID_ARGUMENT);
    assert_null(hf);
    assert_int_equal(hf_open_with(&options.known, &hf), HF_INVALID_ARGUMENT);
    assert_non_null(strstr(hf_last_message(), "size"));
    options.known.size = sizeof(size_t);
    assert_int_equal(hf_open_with(&options.known, &hf), HF_INVALID_ARGUMENT);
    options.known.size = offsetof(struct hf_open_options, ledger); /* the first version had less */
    assert_int_equal(hf_open_with(&options.known, &hf), HF_OK);
    hf_close(hf);
    options.known.size = sizeof options; /* a later version has more */
    assert_int_equal(hf_open_with(&options.known, &hf), HF_OK);
    hf_close(hf);
    options.later = 1; /* … and it is used */
    assert_int_equal(hf_open_with(&options.known, &hf), HF_INVALID_ARGUMENT);
    assert_null(hf);
}

static void a_ledger_that_cannot_be_one_is_refused_without_its_secret(void **state)
{
    static const char *const urls[] = {"oracle://ann:secret@host/shop", "secret", "",
                                       "postgres://ann:secret@host:99999/shop"};

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        assert_int_equal(open_with("embedded:", urls[i], 0), HF_INVALID_ARGUMENT);
        assert_null(hf);
        assert_null(strstr(hf_last_message(), ":secret"));
    }
}

static void a_server_has_a_ledger_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(open_with("holdfast://127.0.0.1:1", ledger, 0), HF_INVALID_ARGUMENT);
    assert_non_null(strstr(hf_last_message(), "ledger of its own"));
}

static void settings_out_of_bounds_are_refused(void **state)
{
    struct hf_open_options options = {
        .size = sizeof options, .engine = "embedded:", .breaker_failures = 101};

    (void)state;
    assert_int_equal(hf_open_with(&options, &hf), HF_INVALID_ARGUMENT);
    assert_non_null(strstr(hf_last_message(), "breaker-failures"));
}

/* ---- ledgers --------------------------------------------------------------------------------- */

static void in_memory_there_is_none(void **state)
{
    (void)state;
    assert_int_equal(hf_open("embedded:", &hf), HF_OK);
    load(10);
    assert_int_equal(buy("o-1"), HF_LEDGER_DOWN);
    assert_non_null(strstr(hf_last_message(), "--ledger"));
    assert_int_equal(available(), 10);
}

static void a_directory_has_one_when_it_is_needed(void **state)
{
    char url[96];
    struct hf_stock_order_args which = {.product = HF_TEXT("sneaker"), .order = HF_TEXT("o-1")};
    struct hf_stock_order_reply order;

    (void)state;
    snprintf(url, sizeof url, "embedded:%s/data", directory);
    snprintf(file, sizeof file, "%s/data/ledger.db", directory);
    assert_int_equal(hf_open(url, &hf), HF_OK);
    load(10);
    assert_int_not_equal(access(file, F_OK), 0);
    assert_int_equal(buy("o-1"), HF_OK);
    assert_int_equal(access(file, F_OK), 0);
    hf_close(hf);
    assert_int_equal(hf_open(url, &hf), HF_OK);
    assert_int_equal(hf_stock_order(hf, &which, &order), HF_OK);
    assert_string_equal(order.status, "sold");
    assert_int_equal(buy("o-1"), HF_OK);
    assert_int_equal(available(), 9);
}

static void a_sale_in_one_process(void **state)
{
    struct hf_stock_return_args back = {.product = HF_TEXT("sneaker"), .order = HF_TEXT("o-2")};
    struct hf_stock_return_reply returned;
    struct hf_reconcile_args all = {.dry = false};
    struct hf_reconcile_reply compared;

    (void)state;
    assert_int_equal(open_with("embedded:", ledger, HF_ZERO), HF_OK);
    load(2);
    assert_int_equal(buy("o-1"), HF_OK);
    assert_int_equal(buy("o-2"), HF_OK);
    assert_int_equal(buy("o-3"), HF_SOLD_OUT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_stock_return(hf, &back, &returned), HF_OK);
        assert_string_equal(returned.status, "RETURNED");
        assert_int_equal(returned.available, 1);
    }
    assert_int_equal(buy("o-2"), HF_INVALID_STATE);
    assert_int_equal(hf_reconcile(hf, &all, &compared), HF_OK);
    assert_int_equal(compared.products, 1);
    assert_int_equal(compared.drift, 0);
}

/* ---- nobody calls ---------------------------------------------------------------------------- */

/* STOCK.GET in memory is answered at once, and turns nothing. */
static bool becomes(int64_t expected)
{
    for (int tries = 0; tries < 3000; tries++) {
        if (available() == expected) {
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    return false;
}

static void the_engine_follows_the_ledger_by_itself(void **state)
{
    sqlite3 *database;

    (void)state;
    assert_int_equal(open_with("embedded:", ledger, 50), HF_OK);
    load(10);
    assert_int_equal(buy("o-1"), HF_OK);
    assert_int_equal(sqlite3_open(file, &database), SQLITE_OK);
    sqlite3_busy_timeout(database, 10000);
    assert_int_equal(
        sqlite3_exec(database, "UPDATE inventory SET stock = stock - 3", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(database);
    assert_true(becomes(6));
}

int main(void)
{
#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        WITH_DIRECTORY(options_of_another_size_are_refused_or_understood),
        WITH_DIRECTORY(a_ledger_that_cannot_be_one_is_refused_without_its_secret),
        WITH_DIRECTORY(a_server_has_a_ledger_of_its_own),
        WITH_DIRECTORY(settings_out_of_bounds_are_refused),
        WITH_DIRECTORY(in_memory_there_is_none),
        WITH_DIRECTORY(a_directory_has_one_when_it_is_needed),
        WITH_DIRECTORY(a_sale_in_one_process),
        WITH_DIRECTORY(the_engine_follows_the_ledger_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A reading of usage from SQLite: pages, values that are none, tenants that come twice, and one
 * that is given up. The other databases have tests/ledger/test_quota_sync.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ledger/usage.h"

#include <sched.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE_MS 60000

struct usage_world {
    char path[64], url[80];
};

static int set_up(void **state)
{
    struct usage_world *world = calloc(1, sizeof *world);

    snprintf(world->path, sizeof world->path, "/tmp/holdfast-usage-XXXXXX");
    int file = mkstemp(world->path);
    assert_true(file >= 0);
    close(file);
    snprintf(world->url, sizeof world->url, "sqlite:%s", world->path);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct usage_world *world = *state;

    unlink(world->path);
    free(world);
    return 0;
}

static void execute(struct usage_world *world, const char *text)
{
    sqlite3 *database;

    assert_int_equal(sqlite3_open(world->path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

/* A reading that has come to its end, and what became of it. */
static struct usage *read_usage(struct usage_world *world, const char *query, const char *tenant,
                                struct problem *problem)
{
    struct usage *usage = usage_begin(&(struct usage_options){.url = world->url,
                                                              .query = query,
                                                              .tenant = hf_text(tenant),
                                                              .page_timeout_ms = PATIENCE_MS});

    assert_non_null(usage);
    for (int i = 0; !usage_ended(usage, problem); i++) {
        assert_true(i < PATIENCE_MS);
        usleep(1000);
    }
    return usage;
}

static void pages_are_put_together_in_order(void **state)
{
    struct usage_world *world = *state;
    struct problem problem;

    execute(world, "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM "
                   "n WHERE i < 12344) SELECT printf('t%05d', i) AS name, i AS used FROM n");
    struct usage *usage = read_usage(world, "SELECT name, used FROM t", NULL, &problem);
    assert_int_equal(problem.code, HF_OK);
    assert_int_equal(usage_count(usage), 12345);
    assert_int_equal(usage_progress(usage), 12345);
    for (size_t i = 0; i < 12345; i++) {
        assert_int_equal(usage_at(usage, i).used, i);
    }
    assert_true(usage_has(usage, hf_text("t00000")) && usage_has(usage, hf_text("t12344")));
    assert_false(usage_has(usage, hf_text("t")) || usage_has(usage, hf_text("t123440")));
    usage_free(usage);
    usage = read_usage(world, "SELECT name, used FROM t", "t00777", &problem);
    assert_int_equal(usage_count(usage), 1);
    assert_int_equal(usage_at(usage, 0).used, 777);
    usage_free(usage);
}

/* At a place where one page ends, too. */
static void a_tenant_twice_is_refused_wherever_it_stands(void **state)
{
    static const int places[] = {0, 4998, 4999, 5000, 9999, 11000};
    struct usage_world *world = *state;
    struct problem problem;
    char query[400];

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(query, sizeof query,
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 11000) "
                 "SELECT printf('t%%05d', i), 1 FROM n UNION ALL SELECT 't%05d', 2",
                 places[i]);
        struct usage *usage = read_usage(world, query, NULL, &problem);
        assert_int_equal(problem.code, HF_INVALID_STATE);
        assert_non_null(strstr(problem.message, "more than once"));
        usage_free(usage);
    }
}

static void values_that_are_none_are_told_apart(void **state)
{
    static const struct {
        const char *value;
        enum usage_fault fault;
        int64_t used;
    } cases[] = {
        {"0", USAGE_FINE, 0},
        {"9007199254740991", USAGE_FINE, HF_INTEGER_MAX},
        {"'12.000'", USAGE_FINE, 12},
        {"7.0", USAGE_FINE, 7},
        {"9007199254740992", USAGE_TOO_LARGE, 0},
        {"'99999999999999999999999999'", USAGE_TOO_LARGE, 0},
        {"-1", USAGE_NEGATIVE, 0},
        {"NULL", USAGE_NULL, 0},
        {"1.5", USAGE_NO_NUMBER, 0},
        {"1e300", USAGE_NO_NUMBER, 0},
        {"''", USAGE_NO_NUMBER, 0},
        {"'-'", USAGE_NO_NUMBER, 0},
        {"'.'", USAGE_NO_NUMBER, 0},
        {"'12 '", USAGE_NO_NUMBER, 0},
        {"'0x10'", USAGE_NO_NUMBER, 0},
    };
    struct usage_world *world = *state;
    struct problem problem;
    char query[128];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(query, sizeof query, "SELECT 'acme', %s", cases[i].value);
        struct usage *usage = read_usage(world, query, NULL, &problem);
        assert_int_equal(usage_count(usage), 1);
        assert_int_equal(usage_at(usage, 0).fault, cases[i].fault);
        assert_int_equal(usage_at(usage, 0).used, cases[i].used);
        usage_free(usage);
    }
}

static void what_the_database_refuses_is_told(void **state)
{
    struct usage_world *world = *state;
    struct problem problem;
    static const char *const wrong[] = {"SELECT a, b FROM nowhere", "SELECT 1", "SELECT 1, 2, 3",
                                        "SELECT abs(-9223372036854775808), 1", "SELECT FROM"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct usage *usage = read_usage(world, wrong[i], NULL, &problem);
        assert_int_equal(problem.code, HF_INVALID_STATE);
        usage_free(usage);
    }
    unlink(world->path);
    struct usage *usage = read_usage(world, "SELECT 1, 2", NULL, &problem);
    assert_int_equal(problem.code, HF_LEDGER_DOWN);
    assert_int_equal(access(world->path, F_OK), -1);
    usage_free(usage);
}

/* Its thread ends by itself. */
static void a_reading_can_be_given_up(void **state)
{
    struct usage_world *world = *state;

    for (int i = 0; i < 20; i++) {
        usage_free(usage_begin(&(struct usage_options){
            .url = world->url,
            .query = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "
                     "100000) SELECT i, i FROM n",
            .page_timeout_ms = 1000}));
    }
}

static void count_a_wake(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

/* Its thread touches it no more, whether it has somebody to wake or not. */
static void a_reading_can_be_freed_in_the_moment_it_ends(void **state)
{
    struct usage_world *world = *state;
    struct problem problem;
    atomic_int wakes = 0;

    for (int i = 0; i < 400; i++) {
        struct usage *usage =
            usage_begin(&(struct usage_options){.url = world->url,
                                                .query = "SELECT 'acme', 1",
                                                .page_timeout_ms = PATIENCE_MS,
                                                .wake = i % 2 == 0 ? NULL : count_a_wake,
                                                .wake_context = &wakes});
        assert_non_null(usage);
        while (!usage_ended(usage, &problem)) {
            sched_yield();
        }
        usage_free(usage);
    }
    usage_settle();
    assert_int_equal(atomic_load(&wakes), 200);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(pages_are_put_together_in_order),
        CASE(a_tenant_twice_is_refused_wherever_it_stands),
        CASE(values_that_are_none_are_told_apart),
        CASE(what_the_database_refuses_is_told),
        CASE(a_reading_can_be_given_up),
        CASE(a_reading_can_be_freed_in_the_moment_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The scopes that the release worker knows: when each is visited next, what the sweep adds, what
 * happens at the limits, and which keys are deadlines of ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "redis/worker/worker_scopes.h"

#define NOW INT64_C(1000000)
#define DELAY_MAX 50 /* a scope is visited so long after its deadline at the latest */

static struct script_env env;
static struct worker_scopes scopes;

static int begin(void **state)
{
    (void)state;
    memset(&env, 0, sizeof env);
    memory_init(&env.memory);
    random_init(&env.random);
    buffer_init(&env.scratch, &env.memory);
    worker_scopes_init(&scopes, &env);
    return 0;
}

static int end(void **state)
{
    (void)state;
    worker_scopes_free(&scopes);
    buffer_free(&env.scratch);
    assert_int_equal(env.memory.used, 0);
    return 0;
}

static void note(const char *name, int64_t at_ms)
{
    worker_scopes_note(&scopes, WORKER_FAMILY_SEATS, hf_text(name), at_ms);
}

static void found(const char *name)
{
    worker_scopes_found(&scopes, WORKER_FAMILY_SEATS, hf_text(name), NOW, NOW + 60000);
}

/* The scope to be visited at that time, which must be this one. */
static uint32_t visit(const char *name, int64_t at_ms)
{
    uint32_t index = worker_scopes_next(&scopes, at_ms);

    assert_int_not_equal(index, NONE);
    const struct worker_scope *scope = worker_scope_at(&scopes, index);
    assert_true(text_equal((struct hf_bytes){scope->name, scope->size}, hf_text(name)));
    return index;
}

static void assert_none(int64_t at_ms)
{
    assert_int_equal(worker_scopes_next(&scopes, at_ms), NONE);
}

/* ---- visits ---------------------------------------------------------------------------------- */

static void a_scope_is_visited_soon_after_its_deadline(void **state)
{
    (void)state;
    note("gala", NOW);
    assert_none(NOW + 1);
    visit("gala", NOW + DELAY_MAX);
    assert_none(NOW + 1000000); /* a visit is in flight */
}

static void scopes_come_in_the_order_of_their_deadlines(void **state)
{
    (void)state;
    note("late", NOW + 3000);
    note("early", NOW + 1000);
    note("middle", NOW + 2000);
    visit("early", NOW + 10000);
    visit("middle", NOW + 10000);
    visit("late", NOW + 10000);
    assert_none(NOW + 10000);
}

static void an_earlier_deadline_brings_the_visit_forward_and_a_later_does_not(void **state)
{
    (void)state;
    note("gala", NOW + 5000);
    note("gala", NOW + 9000);
    note("gala", NOW + 1000);
    visit("gala", NOW + 1000 + DELAY_MAX);
    assert_int_equal(scopes.slab.count, 1);
}

static void a_deadline_noted_during_a_visit_is_kept_for_the_next(void **state)
{
    (void)state;
    note("gala", NOW);
    uint32_t index = visit("gala", NOW + DELAY_MAX);
    note("gala", NOW + 700);
    note("gala", NOW + 500);
    note("gala", NOW + 900);
    worker_scopes_visited(&scopes, index, NOW + 100, 0); /* the script knew of nothing more */
    assert_none(NOW + 500);
    visit("gala", NOW + 500 + DELAY_MAX);
}

static void the_earlier_of_script_and_note_decides(void **state)
{
    (void)state;
    note("gala", NOW);
    uint32_t index = visit("gala", NOW + DELAY_MAX);
    note("gala", NOW + 5000);
    worker_scopes_visited(&scopes, index, NOW + 100, NOW + 2000);
    visit("gala", NOW + 2000);
}

static void a_scope_with_nothing_due_is_forgotten(void **state)
{
    (void)state;
    note("gala", NOW);
    worker_scopes_visited(&scopes, visit("gala", NOW + DELAY_MAX), NOW + 100, 0);
    assert_int_equal(scopes.slab.count, 0);
    note("gala", NOW + 200); /* and known again by the next command */
    visit("gala", NOW + 200 + DELAY_MAX);
}

/* More was due than one call gives back: others that wait longer come first. */
static void a_scope_that_has_more_to_give_back_waits_for_the_others(void **state)
{
    (void)state;
    note("large", NOW);
    uint32_t large = visit("large", NOW + DELAY_MAX);
    note("small", NOW);
    worker_scopes_visited(&scopes, large, NOW + 100, NOW + 100);
    visit("small", NOW + 100);
    visit("large", NOW + 100);
}

static void families_have_names_of_their_own(void **state)
{
    (void)state;
    for (enum worker_family family = 0; family < WORKER_FAMILY_COUNT; family++) {
        worker_scopes_note(&scopes, family, hf_text("same"), NOW);
    }
    assert_int_equal(scopes.slab.count, WORKER_FAMILY_COUNT);
}

static void the_longest_name_fits_and_a_longer_one_is_left_to_the_sweep(void **state)
{
    char name[WORKER_SCOPE_NAME_MAX + 1];

    (void)state;
    memset(name, 'x', sizeof name);
    worker_scopes_note(&scopes, WORKER_FAMILY_STOCK, (struct hf_bytes){name, sizeof name}, NOW);
    assert_int_equal(scopes.slab.count, 0);
    worker_scopes_note(&scopes, WORKER_FAMILY_STOCK, (struct hf_bytes){name, WORKER_SCOPE_NAME_MAX},
                       NOW);
    assert_int_equal(scopes.slab.count, 1);
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static void what_the_sweep_finds_is_visited_at_once(void **state)
{
    (void)state;
    found("gala");
    assert_int_equal(scopes.found, 1);
    worker_scopes_visited(&scopes, visit("gala", NOW), NOW, 0);
    assert_int_equal(scopes.found, 0);
    assert_int_equal(scopes.slab.count, 0);
}

static void what_is_visited_before_the_next_sweep_anyway_is_left(void **state)
{
    (void)state;
    note("gala", NOW + 59000);
    found("gala");
    assert_int_equal(scopes.found, 0);
    assert_none(NOW);
    note("late", NOW + 100000); /* the sweep knows better */
    found("late");
    visit("late", NOW);
}

static void a_scope_that_is_found_twice_counts_once(void **state)
{
    (void)state;
    found("gala");
    found("gala");
    assert_int_equal(scopes.found, 1);
    uint32_t index = visit("gala", NOW);
    found("gala"); /* during the visit */
    assert_int_equal(scopes.found, 1);
    worker_scopes_visited(&scopes, index, NOW,
                          NOW); /* there is more: the sweep still waits for it */
    assert_int_equal(scopes.found, 1);
    worker_scopes_visited(&scopes, visit("gala", NOW), NOW, NOW + 1000);
    assert_int_equal(scopes.found, 0);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void beyond_the_limit_only_the_sweep_adds_and_only_for_a_visit(void **state)
{
    char name[16];

    (void)state;
    for (unsigned i = 0; i < WORKER_SCOPES_MAX + 10; i++) {
        snprintf(name, sizeof name, "n%u", i);
        note(name, NOW + 1000000);
    }
    assert_int_equal(scopes.slab.count, WORKER_SCOPES_MAX);
    for (unsigned i = 0; i < WORKER_SCOPES_FOUND_MAX + 10; i++) {
        snprintf(name, sizeof name, "f%u", i);
        found(name);
    }
    assert_int_equal(scopes.slab.count, WORKER_SCOPES_MAX + WORKER_SCOPES_FOUND_MAX);
    uint32_t index = worker_scopes_next(&scopes, NOW);
    worker_scopes_visited(&scopes, index, NOW, NOW + 5000); /* no room to remember it */
    assert_int_equal(scopes.slab.count, WORKER_SCOPES_MAX + WORKER_SCOPES_FOUND_MAX - 1);
    assert_int_equal(scopes.found, WORKER_SCOPES_FOUND_MAX - 1);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void expect_scope(const char *key, enum worker_family family, const char *name)
{
    enum worker_family read = WORKER_FAMILY_COUNT;
    struct hf_bytes scope = {NULL, 0};

    if (!worker_scopes_parse(&scopes, hf_text(key), &read, &scope)) {
        fail_msg("%s is no deadline of ours", key);
    }
    assert_int_equal(read, family);
    assert_true(text_equal(scope, hf_text(name)));
}

static void expect_no_scope(const char *key)
{
    enum worker_family family;
    struct hf_bytes name;

    if (worker_scopes_parse(&scopes, hf_text(key), &family, &name)) {
        fail_msg("%s was taken for a deadline of ours", key);
    }
}

/* The key of a family's deadlines, as the rows have it, of the scope "x" or the product "x_3". */
static void expect_due_key(enum key_id id, enum worker_family family, const char *name,
                           bool cluster)
{
    const char *form = key_form(id, cluster), *at = strchr(form, '$');
    size_t behind = 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
    char key[128];

    snprintf(key, sizeof key, "%s%.*s%s%s", env.url.name_space, (int)(at - form), form, name,
             at + behind);
    expect_scope(key, family, name);
}

static void the_keys_of_deadlines_name_their_scope(void **state)
{
    (void)state;
    for (int cluster = 0; cluster <= 1; cluster++) {
        env.url.kind = cluster ? REDIS_CLUSTER : REDIS_STANDALONE;
        strcpy(env.url.name_space, cluster ? "shop:" : "");
        expect_due_key(KEY_SEATS_DUE, WORKER_FAMILY_SEATS, "x", cluster);
        expect_due_key(KEY_SEATS_DUE_PLAIN, WORKER_FAMILY_PLAIN_SEATS, "x:y", cluster);
        expect_due_key(KEY_QUOTA_DUE, WORKER_FAMILY_QUOTA, "a:b", cluster);
        expect_due_key(KEY_STOCK_DUE, WORKER_FAMILY_STOCK, "red_shoe_main", cluster);
        expect_due_key(KEY_STOCK_DUE, WORKER_FAMILY_STOCK, "x_1023", cluster);
        expect_due_key(KEY_QUEUE_DUE, WORKER_FAMILY_QUEUE, "x", cluster);
    }
}

static void other_keys_are_not_touched(void **state)
{
    static const char *const keys[] = {
        "",
        "due",
        "stock:due:",
        "stock:due:{}",
        "stock:due:shoe_main",
        "stock:due:{shoe}", /* no counter */
        "stock:due:{shoe_}",
        "stock:due:{_main}",
        "stock:due:{a b_main}", /* no id */
        "stock:due:{shoe_12345678}",
        "stock:due:{shoe_main}x",
        "stock:orders:{shoe_main}",
        "seats:due:{a{b}",
        "quota:tenant:{acme}:due", /* a cluster's */
        "somebody:else:due",
    };

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        expect_no_scope(keys[i]);
    }
    strcpy(env.url.name_space, "shop:");
    expect_no_scope("stock:due:{shoe_main}");
    expect_no_scope("shop2:stock:due:{shoe_main}");
    expect_scope("shop:stock:due:{shoe_main}", WORKER_FAMILY_STOCK, "shoe_main");
    expect_no_scope("shop:");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_scope_is_visited_soon_after_its_deadline),
        CASE(scopes_come_in_the_order_of_their_deadlines),
        CASE(an_earlier_deadline_brings_the_visit_forward_and_a_later_does_not),
        CASE(a_deadline_noted_during_a_visit_is_kept_for_the_next),
        CASE(the_earlier_of_script_and_note_decides),
        CASE(a_scope_with_nothing_due_is_forgotten),
        CASE(a_scope_that_has_more_to_give_back_waits_for_the_others),
        CASE(families_have_names_of_their_own),
        CASE(the_longest_name_fits_and_a_longer_one_is_left_to_the_sweep),
        CASE(what_the_sweep_finds_is_visited_at_once),
        CASE(what_is_visited_before_the_next_sweep_anyway_is_left),
        CASE(a_scope_that_is_found_twice_counts_once),
        CASE(beyond_the_limit_only_the_sweep_adds_and_only_for_a_visit),
        CASE(the_keys_of_deadlines_name_their_scope),
        CASE(other_keys_are_not_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

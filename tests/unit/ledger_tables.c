/* SPDX-License-Identifier: Apache-2.0
 *
 * The database: its version, a shop's own table, rows that it refuses, texts of any kind, and other
 * programs that use it. */
#include "ledger_fixture.h"
#include "ledger/inventory_name.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <sqlite3.h>
#include <stdio.h>

/* ---- versions -------------------------------------------------------------------------------- */

static void the_tables_are_made_once(void **state)
{
    struct world *world = *state;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(world_open(world), HF_OK);
        assert_int_equal(world_ask(world, "SELECT count(*) - max(version) FROM holdfast_schema"),
                         0);
        world_close(world);
    }
}

static void a_newer_database_is_refused(void **state)
{
    struct world *world = *state;

    assert_int_equal(world_open(world), HF_OK);
    world_close(world);
    world_do(world, "INSERT INTO holdfast_schema (version) VALUES (1000)");
    assert_int_equal(world_open(world), HF_INVALID_STATE);
    assert_non_null(strstr(world->problem.message, "version 1000"));
    assert_int_equal(world_ask(world, "SELECT count(*) FROM writers"), 0);
}

static void a_database_that_refuses_the_tables_is_refused(void **state)
{
    struct world *world = *state;

    world_do(world, "CREATE TABLE orders (order_id TEXT)");
    assert_int_equal(world_open(world), HF_INVALID_STATE);
    assert_non_null(strstr(world->problem.message, "0001-ledger"));
    assert_int_equal(
        world_ask(world, "SELECT count(*) FROM sqlite_schema WHERE name = 'inventory'"), 0);
}

static void an_unknown_url_is_refused_without_its_secret(void **state)
{
    struct world *world = *state;
    static const char *const urls[] = {"oracle://scott:tiger@db/x", "scott:tiger", "tiger",
                                       "sqlite:", "sqlite::memory:"};

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        world->options.url = urls[i];
        assert_int_equal(ledger_check(&world->options, &world->problem), HF_INVALID_ARGUMENT);
        assert_int_equal(world_open(world), HF_INVALID_ARGUMENT);
        assert_null(strstr(world->problem.message, "tiger"));
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static void the_inventory_is_named_by_plain_identifiers(void **state)
{
    static const char *const bad[] = {
        "",
        "items",
        "items()",
        "items(sku)",
        "items(sku, on_hand",
        "items(sku, on_hand) x",
        "items(sku, on_hand, more)",
        "a.b.c(sku, on_hand)",
        ".items(sku, on_hand)",
        "items(sku, on hand)",
        "it\"ems(sku, on_hand)",
        "items(sku; DROP TABLE items, on_hand)",
        "items(sku, on_hand--)",
        "`items`(sku, on_hand)",
        "it\xc3\xa9ms(sku, on_hand)",
        "a123456789012345678901234567890123456789012345678901234567890123(sku, on_hand)",
    };
    struct inventory_name name;
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(inventory_name_read(bad[i], SQL_SQLITE, &name, &problem),
                         HF_INVALID_ARGUMENT);
    }
    assert_int_equal(
        inventory_name_read(" Shop.items ( sku , On_Hand ) ", SQL_POSTGRES, &name, &problem),
        HF_OK);
    assert_string_equal(name.table, "\"Shop\".\"items\"");
    assert_string_equal(name.product, "\"sku\"");
    assert_string_equal(name.stock, "\"On_Hand\"");
    assert_int_equal(inventory_name_read("select(from, where)", SQL_MYSQL, &name, &problem), HF_OK);
    assert_string_equal(name.table, "`select`");
    assert_int_equal(inventory_name_read(NULL, SQL_SQLITE, &name, &problem), HF_OK);
    assert_string_equal(name.table, "\"inventory\"");
}

static void a_shops_own_table_is_used(void **state)
{
    struct world *world = *state;

    world_do(world, "CREATE TABLE \"order\" (sku TEXT UNIQUE, \"on\" INT NOT NULL, name TEXT);"
                    "CREATE TABLE log (sku TEXT, before INT, after INT);"
                    "CREATE TRIGGER t AFTER UPDATE ON \"order\" BEGIN"
                    " INSERT INTO log VALUES (new.sku, old.\"on\", new.\"on\");"
                    " UPDATE \"order\" SET name = 'touched' WHERE sku = new.sku; END;"
                    "INSERT INTO \"order\" VALUES ('lamp', 10, 'A lamp'), ('chair', 5, 'A chair')");
    world->options.inventory = "main.order(sku, on)";
    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 3), LEDGER_DONE);
    assert_int_equal(world_buy(world, "lamp", "o-2", "ann", 8), LEDGER_SOLD_OUT);
    struct ledger_job end = {
        .task = LEDGER_TASK_END, .scope = hf_text("lamp"), .id = hf_text("o-1")};
    assert_int_equal(world_job(world, &end), LEDGER_DONE);
    assert_int_equal(end.left, 10);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM log WHERE sku = 'lamp'"), 2);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM inventory"), 0);
    assert_int_equal(world_read(world, "chair").left, 5);
}

static void a_table_that_is_not_as_it_is_named_is_refused(void **state)
{
    static const char *const names[] = {"items(sku, on_hand)", "shop(article, on_hand)",
                                        "shop(sku, stock)", "other.shop(sku, on_hand)"};
    struct world *world = *state;

    world_do(world, "CREATE TABLE shop (sku TEXT PRIMARY KEY, on_hand INT NOT NULL)");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        world->options.inventory = names[i];
        assert_int_equal(world_open(world), HF_INVALID_STATE);
    }
    world->options.inventory = "shop(sku, on_hand)";
    assert_int_equal(world_open(world), HF_OK);
}

static void a_product_with_two_rows_is_refused(void **state)
{
    struct world *world = *state;

    world_do(world, "CREATE TABLE shop (sku TEXT, on_hand INT NOT NULL);"
                    "INSERT INTO shop VALUES ('lamp', 10), ('lamp', 10), ('chair', 10)");
    world->options.inventory = "shop(sku, on_hand)";
    assert_int_equal(world_open(world), HF_OK);
    const struct sold *sold = world_sell(world, "lamp", "o-1", "ann", 3);
    world_wait(world);
    assert_int_equal(sold->sale.answer, LEDGER_REFUSED);
    assert_non_null(strstr(sold->sale.problem.message, "2 rows"));
    assert_int_equal(world_ask(world, "SELECT sum(on_hand) FROM shop"), 30);
}

/* ---- rows that are refused ------------------------------------------------------------------- */

static void a_row_that_is_refused_does_not_hold_the_others_up(void **state)
{
    struct world *world = *state;
    char order[16];

    world_stocked(world, "lamp", 1000);
    world_do(world, "CREATE TRIGGER t BEFORE INSERT ON orders WHEN new.user_id = 'eve' BEGIN"
                    " SELECT RAISE(ABORT, 'eve is not served'); END");
    for (int i = 0; i < 300; i++) {
        snprintf(order, sizeof order, "o-%d", i);
        world_sell(world, "lamp", order, i % 100 == 42 ? "eve" : "ann", 1);
    }
    world_wait(world);
    for (size_t i = 0; i < 300; i++) {
        const struct ledger_sale *sale = &world->sold[i].sale;
        assert_int_equal(sale->answer, i % 100 == 42 ? LEDGER_REFUSED : LEDGER_DONE);
        assert_true(sale->answer == LEDGER_DONE ||
                    strcmp(sale->problem.message, "eve is not served") == 0);
    }
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 703);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM orders"), 297);
    world_tell_all(world);
    assert_int_equal(world_read(world, "lamp").selling, 0);
}

static void a_counter_that_may_not_change_refuses_its_sales_only(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    assert_int_equal(world_stock(world, "chair", 100), 100);
    world_do(world, "CREATE TRIGGER t BEFORE UPDATE ON inventory WHEN new.product_id = 'chair'"
                    " BEGIN SELECT RAISE(ROLLBACK, 'chairs are being counted'); END");
    const struct sold *chair = world_sell(world, "chair", "o-1", "ann", 1);
    const struct sold *lamp = world_sell(world, "lamp", "o-2", "ann", 1);
    const struct sold *chairs = world_sell(world, "chair", "o-3", "ann", 2);
    world_wait(world);
    assert_int_equal(chair->sale.answer, LEDGER_REFUSED);
    assert_string_equal(chair->sale.problem.message, "chairs are being counted");
    assert_int_equal(lamp->sale.answer, LEDGER_DONE);
    assert_int_equal(chairs->sale.answer, LEDGER_REFUSED);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM orders"), 1);
    struct ledger_job job = {
        .task = LEDGER_TASK_STOCK, .scope = hf_text("chair"), .delta = 1, .create = true};
    assert_int_equal(world_job(world, &job), LEDGER_REFUSED);
    assert_string_equal(job.problem.message, "chairs are being counted");
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void any_text_comes_back_as_it_was(void **state)
{
    static char longest[HF_ID_MAX + 1];
    const char *texts[] = {"'; DROP TABLE orders; --",
                           "\"quoted\"",
                           "%s%n",
                           "?",
                           "$1",
                           "\\'",
                           "`x`",
                           "NULL",
                           "0",
                           "1e3",
                           "\xf0\x9f\x8e\xab",
                           "a/*",
                           "lamp\x01",
                           longest};
    struct world *world = *state;

    for (int i = 0; i < HF_ID_MAX; i += 4) {
        memcpy(longest + i, "\xf0\x9f\x8e\xab", 4);
    }
    assert_int_equal(world_open(world), HF_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ledger_job find = {
            .task = LEDGER_TASK_FIND, .scope = hf_text(texts[i]), .id = hf_text(texts[i])};
        assert_int_equal(world_stock(world, texts[i], 10), 10);
        assert_int_equal(world_buy(world, texts[i], texts[i], texts[i], 3), LEDGER_DONE);
        assert_int_equal(world_buy(world, texts[i], texts[i], texts[i], 3), LEDGER_DONE_BEFORE);
        assert_int_equal(world_job(world, &find), LEDGER_DONE_BEFORE);
        assert_string_equal(find.found.user, texts[i]);
        assert_int_equal(world_read(world, texts[i]).left, 7);
    }
    assert_int_equal(world_ask(world, "SELECT count(*) FROM orders WHERE order_id = product_id"),
                     sizeof texts / sizeof texts[0]);
}

/* ---- other programs -------------------------------------------------------------------------- */

static void a_lock_of_another_program_is_waited_for_until_the_deadline(void **state)
{
    struct world *world = *state;
    sqlite3 *other;

    world->options.timeout_ms = 1000;
    world_stocked(world, "lamp", 10);
    assert_int_equal(sqlite3_open(world->url + strlen("sqlite:"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct sold *impatient = world_sale(world, "lamp", "o-1", "ann", 1);
    impatient->sale.deadline_ms = sql_now_ms() + 50;
    world_submit(world, impatient);
    world_wait(world);
    if (impatient->sale.answer == LEDGER_UNKNOWN) { /* the writer was quick to begin with it */
        world_wait_for_late(world, 1);
        assert_int_equal(world->late[0].answer, LEDGER_AWAY);
    } else {
        assert_int_equal(impatient->sale.answer, LEDGER_AWAY);
    }
    sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(other);
    while (ledger_unready(world->ledger) != NULL) {
        ledger_turn(world->ledger);
    }
    assert_int_equal(world_buy(world, "lamp", "o-2", "ann", 1), LEDGER_DONE);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 9);
}

static void a_statement_is_interrupted_at_its_deadline(void **state)
{
    struct world *world = *state;
    struct sql_statement endless = {
        .text = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                " SELECT count(*) FROM n",
        .types = ""};
    struct sql_step step = {.statement = &endless, .rows = 1, .expected = SQL_ANY};
    struct sql_outcome outcome;
    int64_t began_ms = sql_now_ms();
    struct sql_connection *connection =
        sql_sqlite.connect(world->url, began_ms + 10000, &world->problem);

    assert_non_null(connection);
    assert_int_equal(sql_run(connection, &step, 1, true, began_ms + 50, &outcome), SQL_AWAY);
    assert_true(sql_now_ms() >= began_ms + 50);
    sql_close(connection);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, ledger_world_make, ledger_world_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_tables_are_made_once),
        CASE(a_newer_database_is_refused),
        CASE(a_database_that_refuses_the_tables_is_refused),
        CASE(an_unknown_url_is_refused_without_its_secret),
        CASE(the_inventory_is_named_by_plain_identifiers),
        CASE(a_shops_own_table_is_used),
        CASE(a_table_that_is_not_as_it_is_named_is_refused),
        CASE(a_product_with_two_rows_is_refused),
        CASE(a_row_that_is_refused_does_not_hold_the_others_up),
        CASE(a_counter_that_may_not_change_refuses_its_sales_only),
        CASE(any_text_comes_back_as_it_was),
        CASE(a_lock_of_another_program_is_waited_for_until_the_deadline),
        CASE(a_statement_is_interrupted_at_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

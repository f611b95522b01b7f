/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens ledgers in temporary directories, and waits for their answers. */
#include "ledger_fixture.h"

#include "base/thread.h"
#include "ledger/state.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Nothing here takes as long; a test that waits for it has failed. */
#define PATIENCE_MS 60000

/* ---- the world ------------------------------------------------------------------------------- */

static void wake(void *context)
{
    struct world *world = context;

    pthread_mutex_lock(&world->lock);
    world->woken = true;
    pthread_cond_signal(&world->changed);
    pthread_mutex_unlock(&world->lock);
}

static void note_late(void *context, const struct ledger_sale *sale)
{
    struct world *world = context;
    struct late *late = &world->late[world->late_count++];

    assert_true(world->late_count <= LATE_MAX);
    snprintf(late->id, sizeof late->id, "%.*s", (int)sale->id.size, sale->id.data);
    late->answer = sale->answer;
    late->batch = sale->batch;
    late->writer = sale->writer;
}

int ledger_world_make(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    world->sold = calloc(SOLD_MAX, sizeof *world->sold);
    snprintf(world->directory, sizeof world->directory, "/tmp/holdfast-ledger-XXXXXX");
    assert_non_null(mkdtemp(world->directory));
    snprintf(world->url, sizeof world->url, "sqlite:%s/ledger.db", world->directory);
    pthread_mutex_init(&world->lock, NULL);
    thread_condition(&world->changed);
    world->options = (struct ledger_options){
        .url = world->url,
        .log = {.level = LOG_ERROR},
        .wake = wake,
        .wake_context = world,
        .late = note_late,
        .late_context = world,
    };
    *state = world;
    return 0;
}

int ledger_world_remove(void **state)
{
    static const char *const files[] = {"ledger.db", "ledger.db-wal", "ledger.db-shm"};
    struct world *world = *state;
    char path[128];

    world_close(world);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", world->directory, files[i]);
        unlink(path);
    }
    rmdir(world->directory);
    pthread_cond_destroy(&world->changed);
    pthread_mutex_destroy(&world->lock);
    free(world->sold);
    free(world);
    return 0;
}

enum hf_error world_open(struct world *world)
{
    return world->driver == NULL ? ledger_open(&world->options, &world->ledger, &world->problem)
                                 : ledger_open_with_driver(&world->options, world->driver,
                                                           &world->ledger, &world->problem);
}

void world_close(struct world *world)
{
    ledger_close(world->ledger);
    world->ledger = NULL;
}

void world_stocked(struct world *world, const char *product, int64_t stock)
{
    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(world_stock(world, product, stock), stock);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Waits for the ledger's wake, or for what ledger_idle_ms() says; then turns it. */
static void turn(struct world *world)
{
    int64_t idle_ms = ledger_idle_ms(world->ledger);
    int64_t until_ms = sql_now_ms() + (idle_ms < 0 ? 100 : idle_ms);
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};

    pthread_mutex_lock(&world->lock);
    while (!world->woken && sql_now_ms() < until_ms) {
        pthread_cond_timedwait(&world->changed, &world->lock, &until);
    }
    world->woken = false;
    pthread_mutex_unlock(&world->lock);
    ledger_turn(world->ledger);
}

void world_wait(struct world *world)
{
    int64_t until_ms = sql_now_ms() + PATIENCE_MS;

    while (world->answered < world->sold_count) {
        assert_true(sql_now_ms() < until_ms);
        turn(world);
    }
}

void world_wait_for_late(struct world *world, size_t count)
{
    int64_t until_ms = sql_now_ms() + PATIENCE_MS;

    while (world->late_count < count) {
        assert_true(sql_now_ms() < until_ms);
        turn(world);
    }
}

/* ---- sales ----------------------------------------------------------------------------------- */

static void is_sold(struct ledger_sale *sale, void *context)
{
    struct world *world = context;
    struct sold *sold = (struct sold *)sale;

    sold->times++;
    sold->order = (unsigned)++world->answered;
    assert_int_equal(sold->times, 1);
}

static struct hf_bytes keep(struct sold *sold, int at, const char *text)
{
    snprintf(sold->texts[at], sizeof sold->texts[at], "%s", text);
    return hf_text(sold->texts[at]);
}

struct sold *world_sale(struct world *world, const char *product, const char *order,
                        const char *user, int64_t quantity)
{
    assert_true(world->sold_count < SOLD_MAX);
    struct sold *sold = &world->sold[world->sold_count];

    *sold = (struct sold){.times = 0};
    sold->sale = (struct ledger_sale){
        .kind = LEDGER_ORDER,
        .scope = keep(sold, 0, product),
        .id = keep(sold, 1, order),
        .user = keep(sold, 2, user),
        .quantity = quantity,
        .unit_price = 100,
        .deadline_ms = sql_now_ms() + PATIENCE_MS,
        .done = is_sold,
        .context = world,
    };
    return sold;
}

void world_submit(struct world *world, struct sold *sold)
{
    assert_ptr_equal(sold, &world->sold[world->sold_count]);
    world->sold_count++;
    ledger_sell(world->ledger, &sold->sale);
}

struct sold *world_sell(struct world *world, const char *product, const char *order,
                        const char *user, int64_t quantity)
{
    struct sold *sold = world_sale(world, product, order, user, quantity);

    world_submit(world, sold);
    return sold;
}

enum ledger_answer world_buy(struct world *world, const char *product, const char *order,
                             const char *user, int64_t quantity)
{
    const struct sold *sold = world_sell(world, product, order, user, quantity);

    world_wait(world);
    return sold->sale.answer;
}

void world_tell_all(struct world *world)
{
    for (size_t i = 0; i < world->sold_count; i++) {
        struct ledger_sale *sale = &world->sold[i].sale;
        if (world->sold[i].times == 1 && sale->answer == LEDGER_DONE && sale->batch != 0) {
            ledger_told(world->ledger, sale->writer, sale->batch);
            sale->batch = 0;
        }
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void job_is_done(struct ledger_job *job, void *context)
{
    (void)job;
    ((struct world *)context)->job_done = true;
}

enum ledger_answer world_job(struct world *world, struct ledger_job *job)
{
    int64_t until_ms = sql_now_ms() + PATIENCE_MS;

    world->job_done = false;
    job->done = job_is_done;
    job->context = world;
    if (job->deadline_ms == 0) {
        job->deadline_ms = until_ms;
    }
    ledger_submit(world->ledger, job);
    while (!world->job_done) {
        assert_true(sql_now_ms() < until_ms);
        turn(world);
    }
    return job->answer;
}

int64_t world_stock(struct world *world, const char *product, int64_t delta)
{
    struct ledger_job job = {
        .task = LEDGER_TASK_STOCK, .scope = hf_text(product), .delta = delta, .create = true};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    return job.left;
}

struct ledger_counter world_read(struct world *world, const char *product)
{
    struct hf_bytes scope = hf_text(product);
    struct ledger_counter counter;
    struct ledger_job job = {
        .task = LEDGER_TASK_READ, .scopes = &scope, .counters = &counter, .count = 1};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    return counter;
}

/* ---- another program ------------------------------------------------------------------------- */

static sqlite3 *other_program(struct world *world)
{
    sqlite3 *database;

    assert_int_equal(sqlite3_open(world->url + strlen("sqlite:"), &database), SQLITE_OK);
    sqlite3_busy_timeout(database, PATIENCE_MS);
    return database;
}

int64_t world_ask(struct world *world, const char *query)
{
    sqlite3 *database = other_program(world);
    sqlite3_stmt *statement;

    assert_int_equal(sqlite3_prepare_v2(database, query, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return number;
}

void world_do(struct world *world, const char *statement)
{
    sqlite3 *database = other_program(world);

    if (sqlite3_exec(database, statement, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", statement, sqlite3_errmsg(database));
    }
    sqlite3_close(database);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens and closes the ledger. The first connection is made by ledger_open() itself, so that a
 * database that this program cannot use is refused there; one that cannot be reached is left to the
 * writers, which go on trying. */
#include "ledger/ledger.h"

#include "base/check.h"
#include "base/thread.h"
#include "ledger/batch.h"
#include "ledger/link.h"
#include "ledger/queue.h"
#include "ledger/writer.h"

#include <stdlib.h>

/* ---- options --------------------------------------------------------------------------------- */

static enum hf_error check(const struct ledger_options *options, const struct sql_driver *driver,
                           struct inventory_name *inventory, struct problem *problem)
{
    enum hf_error error = driver->check(options->url, problem);

    if (error == HF_OK) {
        error = inventory_name_read(options->inventory, driver->dialect, inventory, problem);
    }
    if (error == HF_OK && options->connections > LEDGER_CONNECTIONS_MAX) {
        error =
            problem_set(problem, HF_INVALID_ARGUMENT, "a ledger has at most %d connections, not %u",
                        LEDGER_CONNECTIONS_MAX, options->connections);
    }
    if (error == HF_OK && options->timeout_ms < 0) {
        error = problem_set(problem, HF_INVALID_ARGUMENT, "the ledger's timeout is negative");
    }
    if (error == HF_OK && options->batch_max > LEDGER_BATCH_MAX) {
        error = problem_set(problem, HF_INVALID_ARGUMENT,
                            "a batch of the ledger has at most %d sales, not %zu", LEDGER_BATCH_MAX,
                            options->batch_max);
    }
    return error;
}

enum hf_error ledger_check(const struct ledger_options *options, struct problem *problem)
{
    struct inventory_name inventory;
    const struct sql_driver *driver = sql_driver_find(options->url, problem);

    return driver == NULL ? HF_INVALID_ARGUMENT : check(options, driver, &inventory, problem);
}

static void set_options(struct ledger *ledger, const struct ledger_options *options,
                        const struct sql_driver *driver)
{
    ledger->driver = driver;
    ledger->url = strdup(options->url);
    driver->show(options->url, ledger->name, sizeof ledger->name);
    ledger->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : LEDGER_TIMEOUT_DEFAULT_MS;
    ledger->batch_max = options->batch_max > 0 ? options->batch_max : LEDGER_BATCH_DEFAULT;
    ledger->writer_count =
        options->connections > 0 ? options->connections : LEDGER_CONNECTIONS_DEFAULT;
    if (driver->dialect == SQL_SQLITE) {
        ledger->writer_count = 1; /* It has one lock for all. */
    }
    ledger->log = options->log;
    ledger->wake = options->wake;
    ledger->wake_context = options->wake_context;
    ledger->late = options->late;
    ledger->late_context = options->late_context;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool init_writers(struct ledger *ledger)
{
    ledger->writers = calloc(ledger->writer_count, sizeof *ledger->writers);
    if (ledger->writers == NULL) {
        return false;
    }
    for (unsigned i = 0; i < ledger->writer_count; i++) {
        struct ledger_writer *writer = &ledger->writers[i];
        writer->ledger = ledger;
        writer->index = i;
        random_init(&writer->random);
        if (!ledger_scratch_init(&writer->scratch, ledger->batch_max)) {
            return false;
        }
    }
    ledger->figures.writers = ledger->writer_count;
    return true;
}

static bool init(struct ledger *ledger, const struct inventory_name *inventory)
{
    pthread_mutex_init(&ledger->lock, NULL);
    thread_condition(&ledger->work);
    thread_condition(&ledger->pauses);
    atomic_init(&ledger->unready, "connecting");
    return ledger->url != NULL &&
           ledger_statements_init(&ledger->statements, ledger->driver->dialect, inventory) &&
           init_writers(ledger) && ledger_queue_init(ledger);
}

/* What the ledger has in memory; its threads are not there, or not any more. */
static void release(struct ledger *ledger)
{
    for (unsigned i = 0; ledger->writers != NULL && i < ledger->writer_count; i++) {
        sql_close(ledger->writers[i].connection);
        ledger_scratch_free(&ledger->writers[i].scratch);
        ledger_tally_free(&ledger->writers[i].tally);
    }
    free(ledger->writers);
    ledger_queue_free(ledger);
    ledger_statements_free(&ledger->statements);
    pthread_cond_destroy(&ledger->work);
    pthread_cond_destroy(&ledger->pauses);
    pthread_mutex_destroy(&ledger->lock);
    free(ledger->url);
    free(ledger);
}

static bool start(struct ledger *ledger)
{
    for (unsigned i = 0; i < ledger->writer_count; i++) {
        struct ledger_writer *writer = &ledger->writers[i];
        writer->started = thread_start(&writer->thread, ledger_writer_run, writer);
        if (!writer->started) {
            return false;
        }
    }
    return true;
}

enum hf_error ledger_open_with_driver(const struct ledger_options *options,
                                      const struct sql_driver *driver, struct ledger **out,
                                      struct problem *problem)
{
    struct inventory_name inventory;
    struct problem unreachable;
    enum hf_error error = check(options, driver, &inventory, problem);

    if (error != HF_OK) {
        return error;
    }
    struct ledger *ledger = calloc(1, sizeof *ledger);
    if (ledger == NULL) {
        return problem_set(problem, HF_BUSY, "no memory for the ledger");
    }
    set_options(ledger, options, driver);
    if (!init(ledger, &inventory)) {
        release(ledger);
        return problem_set(problem, HF_BUSY, "no memory for the ledger");
    }
    if (!ledger_link_up(&ledger->writers[0], &unreachable) &&
        unreachable.code == HF_INVALID_STATE) {
        release(ledger);
        return problem_set(problem, HF_INVALID_STATE, "%s", unreachable.message);
    }
    if (!start(ledger)) {
        ledger_close(ledger);
        return problem_set(problem, HF_BUSY, "no thread for the ledger");
    }
    *out = ledger;
    return HF_OK;
}

enum hf_error ledger_open(const struct ledger_options *options, struct ledger **ledger,
                          struct problem *problem)
{
    const struct sql_driver *driver = sql_driver_find(options->url, problem);

    return driver == NULL ? HF_INVALID_ARGUMENT
                          : ledger_open_with_driver(options, driver, ledger, problem);
}

void ledger_close(struct ledger *ledger)
{
    if (ledger == NULL) {
        return;
    }
    pthread_mutex_lock(&ledger->lock);
    ledger->closing = true;
    pthread_cond_broadcast(&ledger->work);
    pthread_cond_broadcast(&ledger->pauses);
    pthread_mutex_unlock(&ledger->lock);
    for (unsigned i = 0; i < ledger->writer_count; i++) {
        if (ledger->writers[i].started) {
            pthread_join(ledger->writers[i].thread, NULL);
        }
    }
    release(ledger);
}

/* ---- looking in ------------------------------------------------------------------------------ */

const char *ledger_name(const struct ledger *ledger)
{
    return ledger->name;
}

const char *ledger_unready(struct ledger *ledger)
{
    return atomic_load(&ledger->unready);
}

void ledger_figures(struct ledger *ledger, struct ledger_figures *figures)
{
    pthread_mutex_lock(&ledger->lock);
    *figures = ledger->figures;
    pthread_mutex_unlock(&ledger->lock);
}

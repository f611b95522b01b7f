/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives a ledger by lines on standard input, for the suite that is the same on every database
 * (tests/ledger/test_ledger.py). Each line is answered by lines of NAME=VALUE fields, then by ".".
 * Words have no spaces; - is an empty one.
 *
 *     open URL INVENTORY CONNECTIONS TIMEOUT
 *     sell KIND SCOPE ID USER QUANTITY MAX ZONE    submits a sale; KIND is order or booking
 *     patience MS                                  of the sales and jobs that follow
 *     sales                                        the answers of all since, in their order, when
 *                                                  all are there
 *     tell                                         the engine knows of all that was sold
 *     job TASK KIND SCOPE ID ZONE USER DELTA       carries out a job: find, end, cancel, stock …
 *     figures
 *     close */
#include "base/check.h"
#include "base/text.h"
#include "base/thread.h"
#include "ledger/ledger.h"
#include "ledger/sql.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SALES 20000
#define PATIENCE_MS 60000

static const char *const answers[] = {
    [LEDGER_DONE] = "DONE",
    [LEDGER_DONE_BEFORE] = "DONE_BEFORE",
    [LEDGER_ENDED_BEFORE] = "ENDED_BEFORE",
    [LEDGER_DIFFERS] = "DIFFERS",
    [LEDGER_SOLD_OUT] = "SOLD_OUT",
    [LEDGER_OVER_LIMIT] = "OVER_LIMIT",
    [LEDGER_NOT_FOUND] = "NOT_FOUND",
    [LEDGER_REFUSED] = "REFUSED",
    [LEDGER_AWAY] = "AWAY",
    [LEDGER_UNKNOWN] = "UNKNOWN",
};

static const char *const tasks[LEDGER_TASK_COUNT] = {
    [LEDGER_TASK_FIND] = "find",       [LEDGER_TASK_END] = "end",
    [LEDGER_TASK_CANCEL] = "cancel",   [LEDGER_TASK_STOCK] = "stock",
    [LEDGER_TASK_ZONE] = "zone",       [LEDGER_TASK_READ] = "read",
    [LEDGER_TASK_MARK] = "mark",       [LEDGER_TASK_STALE] = "stale",
    [LEDGER_TASK_BURY] = "bury",       [LEDGER_TASK_LEASE] = "lease",
    [LEDGER_TASK_UNLEASE] = "unlease", [LEDGER_TASK_DRIFT] = "drift",
    [LEDGER_TASK_AUDIT] = "audit",
};

struct sale {
    struct ledger_sale sale;
    char texts[4][HF_ID_MAX + 1];
    bool told;
};

static struct ledger *ledger;
static struct sale sales[SALES];
static size_t sale_count, answered, shown;
static bool job_done;
static int64_t patience_ms = PATIENCE_MS;

/* ---- words ----------------------------------------------------------------------------------- */

static char *rest;

static const char *word(void)
{
    const char *found = strtok_r(NULL, " \n", &rest);

    CHECK(found != NULL);
    return strcmp(found, "-") == 0 ? "" : found;
}

static int64_t number(void)
{
    int64_t found = 0;

    CHECK(text_to_integer(hf_text(word()), &found));
    return found;
}

static enum ledger_kind kind(void)
{
    return strcmp(word(), "order") == 0 ? LEDGER_ORDER : LEDGER_BOOKING;
}

static void show_row(const struct ledger_row *row)
{
    printf("user=%s zone=%s payment=%s status=%s quantity=%lld price=%lld made=%lld ended=%lld "
           "told=%d ",
           row->user, row->zone, row->payment, row->status, (long long)row->quantity,
           (long long)row->unit_price, (long long)row->made_at_ms, (long long)row->ended_at_ms,
           row->told ? 1 : 0);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken;
static bool is_woken;

static void wake(void *context)
{
    (void)context;
    pthread_mutex_lock(&lock);
    is_woken = true;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&lock);
}

/* Waits for what ledger_idle_ms() says, and for no longer than until the ledger wakes it. */
static void turn(void)
{
    int64_t idle_ms = ledger_idle_ms(ledger);
    int64_t until_ms = sql_now_ms() + (idle_ms < 0 ? PATIENCE_MS : idle_ms);
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};

    pthread_mutex_lock(&lock);
    while (!is_woken && sql_now_ms() < until_ms) {
        pthread_cond_timedwait(&woken, &lock, &until);
    }
    is_woken = false;
    pthread_mutex_unlock(&lock);
    ledger_turn(ledger);
}

/* ---- sales ----------------------------------------------------------------------------------- */

static void is_answered(struct ledger_sale *sale, void *context)
{
    (void)sale;
    (void)context;
    answered++;
}

static struct hf_bytes keep(struct sale *sale, int at)
{
    snprintf(sale->texts[at], sizeof sale->texts[at], "%s", word());
    return hf_text(sale->texts[at]);
}

static void sell(void)
{
    CHECK(sale_count < SALES);
    struct sale *sale = &sales[sale_count++];

    sale->sale = (struct ledger_sale){.unit_price = 100,
                                      .deadline_ms = sql_now_ms() + patience_ms,
                                      .done = is_answered,
                                      .kind = kind()};
    sale->sale.scope = keep(sale, 0);
    sale->sale.id = keep(sale, 1);
    sale->sale.user = keep(sale, 2);
    sale->sale.quantity = number();
    sale->sale.max = number();
    sale->sale.zone = keep(sale, 3);
    ledger_sell(ledger, &sale->sale);
}

static void show_sales(void)
{
    while (answered < sale_count) {
        turn();
    }
    for (; shown < sale_count; shown++) {
        const struct ledger_sale *sale = &sales[shown].sale;
        printf("answer=%s left=%lld ", answers[sale->answer], (long long)sale->left);
        show_row(&sale->found);
        printf("problem=%s\n", sale->problem.message);
    }
}

static void tell(void)
{
    for (size_t i = 0; i < sale_count; i++) {
        if (!sales[i].told && sales[i].sale.answer == LEDGER_DONE) {
            ledger_told(ledger, sales[i].sale.writer, sales[i].sale.batch);
            sales[i].told = true;
        }
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void job_is_done(struct ledger_job *job, void *context)
{
    (void)job;
    (void)context;
    job_done = true;
}

static void show_item(void *context, const struct ledger_item *item)
{
    (void)context;
    printf("scope=%.*s id=%.*s user=%.*s quantity=%lld ended=%d\n", (int)item->scope.size,
           item->scope.data, (int)item->id.size, item->id.data, (int)item->user.size,
           item->user.data, (long long)item->quantity, item->ended ? 1 : 0);
}

static void show_finding(void *context, const char *finding)
{
    (void)context;
    printf("finding=%s\n", finding);
}

static enum ledger_task task(void)
{
    const char *name = word();
    int found = 0;

    while (strcmp(tasks[found], name) != 0) {
        found++;
        CHECK(found < LEDGER_TASK_COUNT);
    }
    return (enum ledger_task)found;
}

static void do_job(void)
{
    struct ledger_counter counter = {.found = false};
    struct ledger_job job = {.task = task(),
                             .kind = kind(),
                             .create = true,
                             .counters = &counter,
                             .count = 1,
                             .each = show_item,
                             .finding = show_finding,
                             .deadline_ms = sql_now_ms() + patience_ms,
                             .done = job_is_done};

    job.scope = hf_text(word());
    job.id = hf_text(word());
    job.zone = hf_text(word());
    job.user = hf_text(word());
    job.delta = job.before = number();
    job.scopes = &job.scope;
    job.zones = &job.zone;
    do {
        job_done = false;
        ledger_submit(ledger, &job);
        while (!job_done) {
            turn();
        }
    } while (job.more);
    if (job.task == LEDGER_TASK_END && job.answer == LEDGER_DONE) {
        ledger_told(ledger, job.writer, job.batch);
    }
    printf("answer=%s left=%lld fence=%lld ", answers[job.answer], (long long)job.left,
           (long long)job.fence);
    show_row(&job.found);
    printf("there=%d available=%lld size=%lld selling=%lld ending=%lld problem=%s\n",
           counter.found ? 1 : 0, (long long)counter.left, (long long)counter.size,
           (long long)counter.selling, (long long)counter.ending, job.problem.message);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static void open_ledger(void)
{
    const char *url = word(), *inventory = word();
    struct ledger_options options = {.url = url,
                                     .inventory = *inventory == '\0' ? NULL : inventory,
                                     .connections = (unsigned)number(),
                                     .timeout_ms = number(),
                                     .log = {.level = LOG_WARNING},
                                     .wake = wake};
    struct problem problem = {.code = HF_OK};
    enum hf_error error = ledger_open(&options, &ledger, &problem);

    printf("error=%s problem=%s\n", hf_error_name(error), problem.message);
}

static void show_figures(void)
{
    struct ledger_figures figures;

    ledger_figures(ledger, &figures);
    printf("batches=%llu sales=%llu careful=%llu unknown=%llu connected=%u\n",
           (unsigned long long)figures.batches, (unsigned long long)figures.sales,
           (unsigned long long)figures.careful, (unsigned long long)figures.unknown,
           figures.connected);
}

static void set_patience(void)
{
    patience_ms = number();
}

static void close_ledger(void)
{
    ledger_close(ledger);
    ledger = NULL;
    sale_count = answered = shown = 0;
}

static const struct {
    const char *name;
    void (*run)(void);
} lines[] = {
    {"open", open_ledger},   {"sell", sell},
    {"sales", show_sales},   {"tell", tell},
    {"job", do_job},         {"figures", show_figures},
    {"close", close_ledger}, {"patience", set_patience},
};

int main(void)
{
    static char line[4096];

    thread_condition(&woken);
    while (fgets(line, sizeof line, stdin) != NULL) {
        const char *name = strtok_r(line, " \n", &rest);
        size_t at = 0;
        while (strcmp(lines[at].name, name) != 0) {
            at++;
            CHECK(at < sizeof lines / sizeof lines[0]);
        }
        lines[at].run();
        printf(".\n");
        fflush(stdout);
    }
    ledger_close(ledger);
    return 0;
}

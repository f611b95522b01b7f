/* SPDX-License-Identifier: Apache-2.0
 *
 * A reading of usage: its thread, which reads a page after the other. Whoever began it may give it
 * up at any time; the last of the two frees it. */
#include "ledger/usage.h"

#include "base/thread.h"
#include "ledger/usage_query.h"
#include "ledger/usage_rows.h"

#include <stdlib.h>

/* One more is asked for than a page has, so that a tenant that comes twice is noticed also where a
 * page ends and the next one begins. */
#define PAGE 5000
#define ATTEMPTS 3

struct usage {
    pthread_mutex_t mutex; /* guards the six that follow */
    size_t progress;
    bool ended, given_up, waking;
    struct problem problem;
    struct sql_connection *connection;

    char *url, *query, *tenant; /* tenant: NULL for all */
    int64_t page_timeout_ms;
    void (*wake)(void *context);
    void *wake_context;

    /* The thread's until it has ended. */
    struct usage_rows rows;
    char *after; /* the last tenant of the page before */
    size_t after_size;
    bool no_memory, twice;
};

enum hf_error usage_check(const char *url, const char *query, struct problem *problem)
{
    const struct sql_driver *driver = sql_driver_find(url, problem);

    if (driver == NULL || driver->check(url, problem) != HF_OK) {
        return problem->code;
    }
    return usage_query_check(query, problem);
}

void usage_show(const char *url, char *out, size_t size)
{
    struct problem problem;
    const struct sql_driver *driver = sql_driver_find(url, &problem);

    if (driver != NULL) {
        driver->show(url, out, size);
    } else if (size > 0) {
        out[0] = '\0';
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* A page while it is read: it may have to be read again. */
struct usage_page {
    struct usage *usage;
    size_t rows, first, first_text; /* so far; how much there was before */
    char *last;                     /* the tenant of the last row that counts, in full */
    size_t last_size;
};

static bool keep_last(struct usage_page *page, struct hf_bytes tenant)
{
    char *copy = realloc(page->last, tenant.size + 1);

    if (copy == NULL) {
        return false;
    }
    memcpy(copy, tenant.data, tenant.size);
    page->last = copy;
    page->last_size = tenant.size;
    return true;
}

static void see_row(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    struct usage_page *page = context;
    struct usage *usage = page->usage;

    (void)row;
    if (count < 2 || columns[0].kind != SQL_TEXT || usage->no_memory) {
        return;
    }
    struct hf_bytes tenant = columns[0].text;
    if (page->rows > 0 && tenant.size == page->last_size &&
        memcmp(tenant.data, page->last, tenant.size) == 0) {
        usage->twice = true;
    }
    if (page->rows++ < PAGE) {
        usage->no_memory =
            !usage_rows_add(&usage->rows, tenant, &columns[1]) || !keep_last(page, tenant);
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool is_given_up(struct usage *usage)
{
    pthread_mutex_lock(&usage->mutex);
    bool given_up = usage->given_up;
    usage->progress = usage->rows.count;
    pthread_mutex_unlock(&usage->mutex);
    return given_up;
}

static enum hf_error explain(const struct usage *usage, enum sql_result result,
                             const struct sql_outcome *outcome, struct problem *problem)
{
    if (usage->no_memory) {
        return problem_set(problem, HF_BUSY, "out of memory");
    }
    if (result == SQL_REFUSED || result == SQL_MISSED) {
        return problem_set(problem, HF_INVALID_STATE,
                           "the database refuses quota-sync-query: %.180s",
                           outcome->problem.message);
    }
    if (result != SQL_DONE) {
        return problem_set(problem, HF_LEDGER_DOWN, "usage could not be read: %.180s",
                           outcome->problem.message);
    }
    return usage->rows.count > USAGE_TENANTS_MAX
               ? problem_set(problem, HF_INVALID_STATE,
                             "quota-sync-query answers more than %d tenants", USAGE_TENANTS_MAX)
               : HF_OK;
}

/* Reads the page behind `after`; *more tells whether there is another. */
static enum hf_error read_page(struct usage *usage, const struct sql_statement *statement,
                               struct usage_page *page, struct problem *problem)
{
    struct sql_value after = sql_text((struct hf_bytes){usage->after, usage->after_size});
    struct sql_step step = {.statement = statement,
                            .values = &after,
                            .rows = 1,
                            .expected = SQL_ANY,
                            .each = see_row,
                            .context = page};
    struct sql_outcome outcome;
    enum sql_result result = SQL_AGAIN;

    for (unsigned i = 0; i < ATTEMPTS && result == SQL_AGAIN; i++) {
        usage->rows.count = page->first;
        usage->rows.texts_size = page->first_text;
        page->rows = 0;
        result = sql_run(usage->connection, &step, 1, true, sql_now_ms() + usage->page_timeout_ms,
                         &outcome);
    }
    return explain(usage, result, &outcome, problem);
}

static enum hf_error read_pages(struct usage *usage, const struct sql_statement *statement,
                                struct problem *problem)
{
    struct usage_page page = {.usage = usage, .rows = PAGE + 1};
    enum hf_error code = HF_OK;

    while (code == HF_OK && page.rows > PAGE && !is_given_up(usage)) {
        page.first = usage->rows.count;
        page.first_text = usage->rows.texts_size;
        code = read_page(usage, statement, &page, problem);
        if (code == HF_OK && usage->tenant == NULL && page.rows > 0) {
            free(usage->after);
            usage->after = page.last;
            usage->after_size = page.last_size;
            page.last = NULL;
        }
    }
    free(page.last);
    return code;
}

static enum hf_error sort(struct usage *usage, struct problem *problem)
{
    bool twice = usage_rows_sort(&usage->rows) || usage->twice;

    return twice ? problem_set(problem, HF_INVALID_STATE,
                               "quota-sync-query answers a tenant more than once: it needs a GROUP "
                               "BY of the tenant")
                 : HF_OK;
}

static struct sql_connection *connect_to(struct usage *usage, struct problem *problem)
{
    const struct sql_driver *driver = sql_driver_find(usage->url, problem);

    if (driver == NULL) {
        return NULL;
    }
    return (driver->connect_reader != NULL ? driver->connect_reader : driver->connect)(
        usage->url, sql_now_ms() + usage->page_timeout_ms, problem);
}

static enum hf_error read_all(struct usage *usage, struct problem *problem)
{
    struct sql_connection *connection = connect_to(usage, problem);
    enum hf_error code = HF_BUSY;

    if (connection == NULL) {
        problem->code = HF_LEDGER_DOWN;
        return problem->code;
    }
    pthread_mutex_lock(&usage->mutex);
    usage->connection = connection;
    pthread_mutex_unlock(&usage->mutex);
    struct sql_statement statement = {.number = 0, .types = "t"};
    char *text = usage_query_text(connection->driver->dialect, usage->query,
                                  usage->tenant == NULL ? PAGE + 1 : 0);
    statement.text = text;
    code = text == NULL ? problem_set(problem, HF_BUSY, "out of memory")
                        : read_pages(usage, &statement, problem);
    code = code == HF_OK ? sort(usage, problem) : code;
    free(text);
    pthread_mutex_lock(&usage->mutex);
    usage->connection = NULL;
    pthread_mutex_unlock(&usage->mutex);
    sql_close(connection);
    return code;
}

static void destroy(struct usage *usage)
{
    pthread_mutex_destroy(&usage->mutex);
    free(usage->url);
    free(usage->query);
    free(usage->tenant);
    free(usage->after);
    usage_rows_free(&usage->rows);
    free(usage);
}

/* How many threads call wake() now. It is called with no lock of ours, since it may need one that
 * whoever asks usage_ended() has; so it may still run when the reading was freed, and
 * usage_settle() waits for it. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int count;
} wakes = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void count_wakes(int change)
{
    pthread_mutex_lock(&wakes.mutex);
    wakes.count += change;
    pthread_cond_broadcast(&wakes.changed);
    pthread_mutex_unlock(&wakes.mutex);
}

void usage_settle(void)
{
    pthread_mutex_lock(&wakes.mutex);
    while (wakes.count > 0) {
        pthread_cond_wait(&wakes.changed, &wakes.mutex);
    }
    pthread_mutex_unlock(&wakes.mutex);
}

static void *run(void *context)
{
    struct usage *usage = context;
    struct problem problem = {.code = HF_OK};

    problem.code = read_all(usage, &problem);
    pthread_mutex_lock(&usage->mutex);
    usage->problem = problem;
    usage->progress = usage->rows.count;
    usage->ended = true;
    bool given_up = usage->given_up;
    bool waking = !given_up && usage->wake != NULL;
    usage->waking = waking;
    count_wakes(waking ? 1 : 0);
    pthread_mutex_unlock(&usage->mutex); /* from here on it is the owner's, unless one of the two */
    if (waking) {
        usage->wake(usage->wake_context);
        pthread_mutex_lock(&usage->mutex);
        usage->waking = false;
        given_up = usage->given_up;
        pthread_mutex_unlock(&usage->mutex);
    }
    if (given_up) {
        destroy(usage);
    }
    count_wakes(waking ? -1 : 0);
    return NULL;
}

/* ---- for whoever began it -------------------------------------------------------------------- */

static char *copy_bytes(struct hf_bytes bytes)
{
    char *copy = malloc(bytes.size + 1);

    if (copy != NULL) {
        memcpy(copy, bytes.data, bytes.size);
        copy[bytes.size] = '\0';
    }
    return copy;
}

struct usage *usage_begin(const struct usage_options *options)
{
    struct usage *usage = calloc(1, sizeof *usage);
    bool one = options->tenant.size > 0;
    pthread_t thread;

    if (usage == NULL) {
        return NULL;
    }
    pthread_mutex_init(&usage->mutex, NULL);
    usage->url = copy_bytes(hf_text(options->url));
    usage->query = copy_bytes(hf_text(options->query));
    usage->tenant = one ? copy_bytes(options->tenant) : NULL;
    usage->after = copy_bytes(one ? options->tenant : hf_text(""));
    usage->after_size = options->tenant.size;
    usage->page_timeout_ms = options->page_timeout_ms;
    usage->wake = options->wake;
    usage->wake_context = options->wake_context;
    bool copied = usage->url != NULL && usage->query != NULL && usage->after != NULL &&
                  (!one || usage->tenant != NULL);
    if (!copied || !thread_start(&thread, run, usage)) {
        destroy(usage);
        return NULL;
    }
    pthread_detach(thread);
    return usage;
}

void usage_free(struct usage *usage)
{
    if (usage == NULL) {
        return;
    }
    pthread_mutex_lock(&usage->mutex);
    bool ended = usage->ended && !usage->waking; /* otherwise its thread is the last to use it */
    usage->given_up = true;
    struct sql_connection *connection = usage->connection;
    if (!usage->ended && connection != NULL && connection->driver->interrupt != NULL) {
        connection->driver->interrupt(connection);
    }
    pthread_mutex_unlock(&usage->mutex);
    if (ended) {
        destroy(usage);
    }
}

size_t usage_progress(struct usage *usage)
{
    pthread_mutex_lock(&usage->mutex);
    size_t progress = usage->progress;
    pthread_mutex_unlock(&usage->mutex);
    return progress;
}

bool usage_ended(struct usage *usage, struct problem *problem)
{
    pthread_mutex_lock(&usage->mutex);
    bool ended = usage->ended;
    *problem = usage->problem;
    pthread_mutex_unlock(&usage->mutex);
    return ended;
}

size_t usage_count(const struct usage *usage)
{
    return usage->rows.count;
}

struct usage_row usage_at(const struct usage *usage, size_t index)
{
    return usage_rows_at(&usage->rows, index);
}

bool usage_has(const struct usage *usage, struct hf_bytes tenant)
{
    return usage_rows_have(&usage->rows, tenant);
}

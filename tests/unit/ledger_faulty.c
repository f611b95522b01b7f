/* SPDX-License-Identifier: Apache-2.0
 *
 * Fails as planned. The plan is one for all connections, and is made by the test's thread while
 * writers run. */
#include "ledger_faulty.h"

#include "base/check.h"

#include <pthread.h>
#include <stdlib.h>

struct faulty_connection {
    struct sql_connection base;
    struct sql_connection *inner;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum fault fault;
    enum ledger_statement statement;
    unsigned skipped, times;
    bool hangs, hanging, released, refuses;
    unsigned connects;
    bool entered;
    int64_t slow_ms;
    struct sql_connection *lingering;
} plan = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- the plan -------------------------------------------------------------------------------- */

void faulty_reset(void)
{
    plan.fault = FAULT_NONE;
    plan.skipped = plan.times = plan.connects = 0;
    plan.hangs = plan.hanging = plan.released = plan.refuses = false;
    plan.slow_ms = 0;
    CHECK(plan.lingering == NULL);
}

static void change(void (*how)(const void *), const void *context)
{
    pthread_mutex_lock(&plan.lock);
    how(context);
    pthread_cond_broadcast(&plan.changed);
    pthread_mutex_unlock(&plan.lock);
}

void faulty_fail(enum fault fault, enum ledger_statement statement, unsigned skipped,
                 unsigned times)
{
    pthread_mutex_lock(&plan.lock);
    plan.fault = fault;
    plan.statement = statement;
    plan.skipped = skipped;
    plan.times = times;
    pthread_mutex_unlock(&plan.lock);
}

static void set_hangs(const void *context)
{
    plan.hangs = *(const bool *)context;
    plan.released = !plan.hangs;
}

void faulty_hang(void)
{
    change(set_hangs, &(bool){true});
}

void faulty_release(void)
{
    change(set_hangs, &(bool){false});
}

static void set_refuses(const void *context)
{
    plan.refuses = *(const bool *)context;
}

void faulty_refuse(bool refuses)
{
    change(set_refuses, &refuses);
}

static void set_slow(const void *context)
{
    plan.slow_ms = *(const int64_t *)context;
    plan.entered = false;
}

void faulty_slow(int64_t ms)
{
    change(set_slow, &ms);
}

void faulty_wait_until_hanging(void)
{
    pthread_mutex_lock(&plan.lock);
    while (!plan.hanging) {
        pthread_cond_wait(&plan.changed, &plan.lock);
    }
    pthread_mutex_unlock(&plan.lock);
}

void faulty_wait_for_entry(void)
{
    pthread_mutex_lock(&plan.lock);
    while (!plan.entered) {
        pthread_cond_wait(&plan.changed, &plan.lock);
    }
    pthread_mutex_unlock(&plan.lock);
}

void faulty_wait_for_connects(unsigned times)
{
    pthread_mutex_lock(&plan.lock);
    while (plan.connects < times) {
        pthread_cond_wait(&plan.changed, &plan.lock);
    }
    pthread_mutex_unlock(&plan.lock);
}

unsigned faulty_connects(void)
{
    pthread_mutex_lock(&plan.lock);
    unsigned connects = plan.connects;
    pthread_mutex_unlock(&plan.lock);
    return connects;
}

void faulty_commit(void)
{
    struct sql_outcome outcome;

    CHECK(plan.lingering != NULL);
    CHECK(sql_run(plan.lingering, NULL, 0, true, INT64_MAX, &outcome) == SQL_DONE);
    sql_close(plan.lingering);
    plan.lingering = NULL;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static struct faulty_connection *faulty_of(struct sql_connection *connection)
{
    return (struct faulty_connection *)connection;
}

/* What is to go wrong with these steps. Hangs first, if that was asked for. */
static enum fault next_fault(const struct sql_step *steps, size_t count)
{
    enum fault fault = FAULT_NONE;
    bool is_meant = false;

    pthread_mutex_lock(&plan.lock);
    for (size_t i = 0; i < count; i++) {
        is_meant = is_meant || steps[i].statement->number == (unsigned)plan.statement;
    }
    if (is_meant && plan.times > 0) {
        if (plan.skipped > 0) {
            plan.skipped--;
        } else {
            plan.times--;
            fault = plan.fault;
            plan.hanging = plan.hangs;
            pthread_cond_broadcast(&plan.changed);
            while (plan.hanging && !plan.released) {
                pthread_cond_wait(&plan.changed, &plan.lock);
            }
            plan.hanging = false;
        }
    }
    pthread_mutex_unlock(&plan.lock);
    return fault;
}

static enum sql_result linger(struct faulty_connection *self, const struct sql_step *steps,
                              size_t count, int64_t deadline_ms, struct sql_outcome *outcome)
{
    CHECK(sql_run(self->inner, steps, count, false, deadline_ms, outcome) == SQL_DONE);
    plan.lingering = self->inner;
    self->inner = NULL;
    return SQL_UNKNOWN;
}

static enum sql_result faulty_run(struct sql_connection *connection, const struct sql_step *steps,
                                  size_t count, bool commit, int64_t deadline_ms,
                                  struct sql_outcome *outcome)
{
    struct faulty_connection *self = faulty_of(connection);
    enum fault fault = next_fault(steps, count);

    *outcome = (struct sql_outcome){.step = 0};
    problem_set(&outcome->problem, HF_LEDGER_DOWN, "as the test has planned");
    switch (fault) {
    case FAULT_AGAIN:
        sql_run(self->inner, NULL, 0, true, deadline_ms, &(struct sql_outcome){.step = 0});
        return SQL_AGAIN;
    case FAULT_AWAY:
        return SQL_AWAY;
    case FAULT_LOST_BEFORE:
        return SQL_UNKNOWN;
    case FAULT_LOST_AFTER:
        CHECK(sql_run(self->inner, steps, count, commit, deadline_ms, outcome) == SQL_DONE);
        return SQL_UNKNOWN;
    case FAULT_LINGER:
        return linger(self, steps, count, deadline_ms, outcome);
    default:
        return sql_run(self->inner, steps, count, commit, deadline_ms, outcome);
    }
}

static enum sql_result faulty_script(struct sql_connection *connection, const char *text,
                                     int64_t deadline_ms, struct sql_outcome *outcome)
{
    struct sql_connection *inner = faulty_of(connection)->inner;

    return inner->driver->script(inner, text, deadline_ms, outcome);
}

static void faulty_close(struct sql_connection *connection)
{
    sql_close(faulty_of(connection)->inner);
    free(connection);
}

static struct sql_connection *faulty_connect(const char *url, int64_t deadline_ms,
                                             struct problem *problem)
{
    pthread_mutex_lock(&plan.lock);
    bool refuses = plan.refuses || deadline_ms - sql_now_ms() < plan.slow_ms;
    plan.connects++;
    plan.entered = plan.entered || !refuses;
    pthread_cond_broadcast(&plan.changed);
    pthread_mutex_unlock(&plan.lock);
    if (refuses) {
        problem_set(problem, HF_LEDGER_DOWN, "nobody is let in");
        return NULL;
    }
    struct faulty_connection *self = calloc(1, sizeof *self);
    self->base.driver = &sql_faulty;
    self->inner = sql_sqlite.connect(url, deadline_ms, problem);
    CHECK(self->inner != NULL);
    return &self->base;
}

static enum hf_error faulty_check(const char *url, struct problem *problem)
{
    return sql_sqlite.check(url, problem);
}

static void faulty_show(const char *url, char *out, size_t size)
{
    sql_sqlite.show(url, out, size);
}

const struct sql_driver sql_faulty = {
    .dialect = SQL_SQLITE,
    .check = faulty_check,
    .show = faulty_show,
    .connect = faulty_connect,
    .close = faulty_close,
    .run = faulty_run,
    .script = faulty_script,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * The release worker's visits: a call of the script that gives back what is due in a scope, for as
 * many scopes as are due and may be visited at a time; and the turns in which that is done. */
#include "redis/worker/worker_state.h"

#include "base/check.h"
#include "redis/script/script_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_EVERY_MS 60000 /* failures are logged no more often */

int64_t worker_now_ms(const struct worker *worker)
{
    return (int64_t)uv_now(worker->env->loop);
}

int64_t worker_jitter_ms(struct worker *worker, int64_t least, int64_t most)
{
    uint32_t number;

    random_bytes(&worker->env->random, &number, sizeof number);
    return least + (int64_t)(number % (uint64_t)(most - least + 1));
}

void worker_failed(struct worker *worker, const char *what, const char *why)
{
    int64_t now = worker_now_ms(worker);

    worker_count(&worker->figures.errors, 1);
    if (worker->logged_ms == 0 || now - worker->logged_ms >= LOG_EVERY_MS) {
        worker->logged_ms = now;
        log_line(&worker->env->log, LOG_WARNING, "release worker: %s: %s; trying again", what, why);
    }
}

const char *worker_why(const redisReply *reply, const struct problem *problem)
{
    if (problem != NULL) {
        return problem->message;
    }
    return reply != NULL && reply->type == REDIS_REPLY_ERROR ? reply->str : "an unexpected answer";
}

/* ---- visits ---------------------------------------------------------------------------------- */

static void count_returned(struct worker *worker, enum worker_family family, int64_t returned,
                           int64_t late_ms)
{
    struct worker_figures *figures = &worker->figures;
    _Atomic uint64_t *of[WORKER_FAMILY_COUNT] = {
        [WORKER_FAMILY_SEATS] = &figures->returned_seats,
        [WORKER_FAMILY_PLAIN_SEATS] = &figures->returned_seats,
        [WORKER_FAMILY_QUOTA] = &figures->returned_quota,
        [WORKER_FAMILY_STOCK] = &figures->returned_stock,
        [WORKER_FAMILY_QUEUE] = &figures->returned_queue,
    };

    worker_count(&figures->visits, 1);
    worker_count(of[family], returned > 0 ? (uint64_t)returned : 0);
    if (late_ms > 0 && (uint64_t)late_ms > worker->late_ms) {
        worker->late_ms = (uint64_t)late_ms;
        if (worker->late_ms > atomic_load(&figures->late_ms_max)) {
            atomic_store(&figures->late_ms_max, worker->late_ms);
        }
    }
}

/* When to visit a scope again after a failure. */
static int64_t retry_at(struct worker *worker, struct worker_scope *scope)
{
    int64_t delay_ms = WORKER_RETRY_MIN_MS;

    for (unsigned i = 0; i < scope->failures && delay_ms < WORKER_RETRY_MAX_MS; i++) {
        delay_ms *= 2;
    }
    scope->failures = (uint8_t)(scope->failures + (scope->failures < UINT8_MAX));
    return worker_now_ms(worker) + worker_jitter_ms(worker, delay_ms / 2, delay_ms);
}

/* When to visit a scope again after {returned, milliseconds until the next is due, …}. */
static int64_t next_at(struct worker *worker, const struct worker_scope *scope, int64_t due_in_ms)
{
    if (due_in_ms < 0) {
        return 0;
    }
    /* A score may be anything: whoever can write to Redis wrote it. No deadline of ours is further
     * off than this, and a visit that comes too early finds nothing due. */
    due_in_ms = due_in_ms < HF_TTL_MAX_MS ? due_in_ms : HF_TTL_MAX_MS;
    return worker_now_ms(worker) + (due_in_ms > 0 ? due_in_ms + worker_scope_delay_ms(scope) : 0);
}

static void visited(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    struct worker_visit *visit = call->context;
    struct worker *worker = visit->worker;
    uint32_t index = visit->scope;
    int64_t returned, due_in_ms, late_ms, again_ms;

    visit->scope = NONE;
    if (worker->stopped) {
        return;
    }
    struct worker_scope *scope = worker_scope_at(&worker->scopes, index);
    if (fate == REDIS_ANSWERED && script_reply_number(reply, 0, &returned) &&
        script_reply_number(reply, 1, &due_in_ms) && script_reply_number(reply, 2, &late_ms)) {
        scope->failures = 0;
        count_returned(worker, scope->family, returned, late_ms);
        again_ms = next_at(worker, scope, due_in_ms);
    } else {
        worker_failed(worker, call->request.script->name, worker_why(reply, problem));
        again_ms = retry_at(worker, scope);
    }
    worker_scopes_visited(&worker->scopes, index, worker_now_ms(worker), again_ms);
    worker_turn(worker);
}

static struct worker_visit *free_visit(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_VISITS_MAX; i++) {
        if (worker->visits[i].scope == NONE) {
            return &worker->visits[i];
        }
    }
    return NULL;
}

/* Begins as many visits as are due and may be in flight. */
static void begin_visits(struct worker *worker)
{
    struct worker_visit *visit;

    while ((visit = free_visit(worker)) != NULL) {
        uint32_t index = worker_scopes_next(&worker->scopes, worker_now_ms(worker));
        if (index == NONE) {
            return;
        }
        visit->scope = index;
        worker_scopes_write_call(&worker->scopes, worker_scope_at(&worker->scopes, index),
                                 &visit->call, RECLAIMED_AT_ONCE);
        /* Repeatable: sent twice, the script gives back what is due once. */
        script_call_send(&visit->call, true, WORKER_CALL_MS, visited, visit);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

static void ring(struct alarm *alarm)
{
    worker_turn(LIST_ENTRY(alarm, struct worker, alarm));
}

static void set_alarm(struct worker *worker)
{
    int64_t now = worker_now_ms(worker), next_ms = INT64_MAX;

    if (free_visit(worker) != NULL) {
        next_ms = agenda_next(&worker->scopes.pool, &worker->scopes.agenda);
    }
    if (!worker->sweep.sending && worker->sweep.next_ms < next_ms) {
        next_ms = worker->sweep.next_ms;
    }
    if (next_ms == INT64_MAX) { /* the next reply begins a turn */
        alarm_stop(&worker->alarm);
        return;
    }
    alarm_set(&worker->env->alarms, &worker->alarm, next_ms > now ? (uint64_t)(next_ms - now) : 1);
}

void worker_turn(struct worker *worker)
{
    begin_visits(worker);
    worker_sweep_step(worker);
    set_alarm(worker);
}

void worker_note(struct worker *worker, const struct command *command, const char *counter)
{
    int64_t in_ms;
    enum worker_family family = worker_scopes_deadline(command, &in_ms);
    char name[WORKER_SCOPE_NAME_MAX + 1];

    if (family == WORKER_FAMILY_COUNT || worker->stopped) {
        return;
    }
    struct hf_bytes scope;
    memcpy(&scope, command_arg(command, &command->spec->args[0]), sizeof scope);
    if (family == WORKER_FAMILY_STOCK) {
        counter = counter != NULL ? counter : "main";
        size_t size = strlen(counter);
        CHECK(scope.size <= HF_ID_MAX && size <= WORKER_SCOPE_COUNTER_MAX);
        snprintf(name, sizeof name, "%.*s_%s", (int)scope.size, scope.data, counter);
        scope = (struct hf_bytes){name, scope.size + 1 + size};
    }
    int64_t next_ms = agenda_next(&worker->scopes.pool, &worker->scopes.agenda);
    worker_scopes_note(&worker->scopes, family, scope, worker_now_ms(worker) + in_ms);
    if (agenda_next(&worker->scopes.pool, &worker->scopes.agenda) < next_ms) {
        set_alarm(worker);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct worker *worker_start(struct script_env *env)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return NULL;
    }
    worker->env = env;
    worker_scopes_init(&worker->scopes, env);
    for (size_t i = 0; i < WORKER_VISITS_MAX; i++) {
        script_call_init(&worker->visits[i].call, env);
        worker->visits[i].worker = worker;
        worker->visits[i].scope = NONE;
    }
    worker_sweep_init(worker);
    alarm_init(&worker->alarm, ring);
    worker_turn(worker);
    return worker;
}

void worker_stop(struct worker *worker)
{
    worker->stopped = true;
    alarm_stop(&worker->alarm);
}

void worker_free(struct worker *worker)
{
    if (worker == NULL) {
        return;
    }
    worker->stopped = true;
    for (size_t i = 0; i < WORKER_VISITS_MAX; i++) {
        script_call_free(&worker->visits[i].call);
    }
    worker_sweep_free(worker);
    worker_scopes_free(&worker->scopes);
    alarm_stop(&worker->alarm);
    free(worker);
}

const struct worker_figures *worker_figures(const struct worker *worker)
{
    return &worker->figures;
}

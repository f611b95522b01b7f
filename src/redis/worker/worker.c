/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/worker/worker.h"

#include "base/check.h"
#include "base/resp_write.h"
#include "redis/script/script_reply.h"
#include "redis/worker/worker_scopes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISITS_MAX 16      /* calls under way at a time */
#define CALL_MS 1000       /* how long a call may take: others wait behind it */
#define RETRY_MIN_MS 1000  /* after a failure, doubled with each further one up to … */
#define RETRY_MAX_MS 60000 /* … this */
#define LOG_EVERY_MS 60000

#define SWEEP_EVERY_MS 60000
#define SWEEP_AGAIN_MS 10000 /* after one that failed on the way */
#define SWEEP_COUNT "500"    /* keys that a step looks at */
#define SWEEP_STEP_MS 50     /* between the steps; those of the first sweep … */
#define SWEEP_FIRST_MS 5     /* … come faster: much may have fallen due meanwhile */
#define SWEEP_TRIES 5        /* of a step */
#define SWEEP_AHEAD 256      /* scopes found and not yet looked at: then the sweep waits */

struct worker_visit {
    struct script_call call;
    struct worker *worker;
    uint32_t scope; /* NONE: the visit is free */
};

/* One sweep goes from master to master, in the order of their names: they may come and go. */
struct worker_sweep {
    struct redis_request request;
    struct buffer bytes;
    char master[300]; /* the one it is at; empty: none yet */
    char cursor[24];  /* as Redis said; "0" at the start and at the end */
    bool sending;
    bool in_flight; /* some steps of a sweep are done */
    bool first;
    bool failed;
    unsigned tries;
    int64_t next_ms; /* the next step, or the next sweep */
};

struct worker {
    struct script_env *env;
    bool stopped;
    struct alarm alarm;
    struct worker_scopes scopes;
    struct worker_visit visits[VISITS_MAX];
    struct worker_sweep sweep;
    struct worker_figures figures;
    uint64_t late_ms;  /* the worst since the last sweep */
    int64_t logged_ms; /* when something was last written to the log; 0: never */
};

static void turn(struct worker *worker);

static int64_t now_ms(const struct worker *worker)
{
    return (int64_t)uv_now(worker->env->loop);
}

static int64_t jitter_ms(struct worker *worker, int64_t least, int64_t most)
{
    uint32_t number;

    random_bytes(&worker->env->random, &number, sizeof number);
    return least + (int64_t)(number % (uint64_t)(most - least + 1));
}

static void count(_Atomic uint64_t *figure, uint64_t more)
{
    atomic_fetch_add_explicit(figure, more, memory_order_relaxed);
}

/* Nothing is lost by a failure, so it is no news while it lasts. */
static void failed(struct worker *worker, const char *what, const char *why)
{
    int64_t now = now_ms(worker);

    count(&worker->figures.errors, 1);
    if (worker->logged_ms == 0 || now - worker->logged_ms >= LOG_EVERY_MS) {
        worker->logged_ms = now;
        log_line(&worker->env->log, LOG_WARNING, "release worker: %s: %s; trying again", what, why);
    }
}

static const char *why_of(const redisReply *reply, const struct problem *problem)
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
        [WORKER_FAMILY_QUOTA] = &figures->returned_quota,
        [WORKER_FAMILY_STOCK] = &figures->returned_stock,
        [WORKER_FAMILY_QUEUE] = &figures->returned_queue,
    };

    count(&figures->visits, 1);
    count(of[family], returned > 0 ? (uint64_t)returned : 0);
    if (late_ms > 0 && (uint64_t)late_ms > worker->late_ms) {
        worker->late_ms = (uint64_t)late_ms;
        if (worker->late_ms > atomic_load(&figures->late_ms_max)) {
            atomic_store(&figures->late_ms_max, worker->late_ms);
        }
    }
}

/* When to look again after a failure. */
static int64_t retry_at(struct worker *worker, struct worker_scope *scope)
{
    int64_t delay_ms = RETRY_MIN_MS;

    for (unsigned i = 0; i < scope->failures && delay_ms < RETRY_MAX_MS; i++) {
        delay_ms *= 2;
    }
    scope->failures = (uint8_t)(scope->failures + (scope->failures < UINT8_MAX));
    return now_ms(worker) + jitter_ms(worker, delay_ms / 2, delay_ms);
}

/* When to look again after {returned, milliseconds until the next is due, …}. */
static int64_t next_at(struct worker *worker, const struct worker_scope *scope, int64_t due_in_ms)
{
    if (due_in_ms < 0) {
        return 0;
    }
    return now_ms(worker) + (due_in_ms > 0 ? due_in_ms + worker_scope_delay_ms(scope) : 0);
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
        failed(worker, call->request.script->name, why_of(reply, problem));
        again_ms = retry_at(worker, scope);
    }
    worker_scopes_visited(&worker->scopes, index, now_ms(worker), again_ms);
    turn(worker);
}

static struct worker_visit *free_visit(struct worker *worker)
{
    for (size_t i = 0; i < VISITS_MAX; i++) {
        if (worker->visits[i].scope == NONE) {
            return &worker->visits[i];
        }
    }
    return NULL;
}

/* Begins as many visits as are due and may be under way. */
static void begin_visits(struct worker *worker)
{
    struct worker_visit *visit;

    while ((visit = free_visit(worker)) != NULL) {
        uint32_t index = worker_scopes_next(&worker->scopes, now_ms(worker));
        if (index == NONE) {
            return;
        }
        visit->scope = index;
        worker_scopes_write_call(&worker->scopes, worker_scope_at(&worker->scopes, index),
                                 &visit->call, RECLAIMED_AT_ONCE);
        /* Sent twice, it gives back what is due once. */
        script_call_send(&visit->call, true, CALL_MS, visited, visit);
    }
}

/* ---- the sweep ------------------------------------------------------------------------------- */

/* Which master is next. */
struct worker_sweep_choice {
    const char *behind;      /* the first one whose name is greater than this … */
    const char *exactly;     /* … or this very one */
    struct redis_node *node; /* NULL: there is none */
};

static void consider(void *context, struct redis_node *node)
{
    struct worker_sweep_choice *choice = context;
    const char *name = redis_node_name(node);

    if (choice->exactly != NULL) {
        choice->node = strcmp(name, choice->exactly) == 0 ? node : choice->node;
    } else if (strcmp(name, choice->behind) > 0 &&
               (choice->node == NULL || strcmp(name, redis_node_name(choice->node)) < 0)) {
        choice->node = node;
    }
}

/* The master to ask now: the one it is at, or the next. NULL: it was the last. */
static struct redis_node *sweep_master(struct worker *worker)
{
    struct worker_sweep *sweep = &worker->sweep;
    struct worker_sweep_choice choice = {
        .exactly = strcmp(sweep->cursor, "0") != 0 ? sweep->master : NULL, .behind = sweep->master};

    redis_client_masters(worker->env->client, consider, &choice);
    if (choice.node == NULL && choice.exactly != NULL) { /* it is gone, and its cursor with it */
        sweep->failed = true;
        choice.exactly = NULL;
        strcpy(sweep->cursor, "0");
        redis_client_masters(worker->env->client, consider, &choice);
    }
    if (choice.node != NULL) {
        snprintf(sweep->master, sizeof sweep->master, "%s", redis_node_name(choice.node));
    }
    return choice.node;
}

static void end_sweep(struct worker *worker)
{
    struct worker_sweep *sweep = &worker->sweep;
    int64_t pause_ms = sweep->failed ? SWEEP_AGAIN_MS : SWEEP_EVERY_MS;

    count(&worker->figures.sweeps, !sweep->failed);
    atomic_store(&worker->figures.late_ms_max, worker->late_ms);
    worker->late_ms = 0;
    sweep->first = sweep->first && sweep->failed;
    sweep->failed = false;
    sweep->in_flight = false;
    sweep->master[0] = '\0';
    sweep->next_ms = now_ms(worker) + jitter_ms(worker, pause_ms * 9 / 10, pause_ms);
}

/* A namespace may have characters that are more than themselves in a pattern. */
static void write_pattern(struct buffer *out, const char *name_space)
{
    for (const char *at = name_space; *at != '\0'; at++) {
        if (strchr("*?[]^\\", *at) != NULL) {
            buffer_byte(out, '\\');
        }
        buffer_byte(out, (uint8_t)*at);
    }
    buffer_text(out, "*due*");
}

static void write_scan(struct worker *worker)
{
    struct worker_sweep *sweep = &worker->sweep;
    struct buffer *pattern = &worker->env->scratch;

    buffer_clear(pattern);
    write_pattern(pattern, worker->env->url.name_space);
    buffer_clear(&sweep->bytes);
    resp_number(&sweep->bytes, '*', 8);
    resp_text(&sweep->bytes, hf_text("SCAN"));
    resp_text(&sweep->bytes, hf_text(sweep->cursor));
    resp_text(&sweep->bytes, hf_text("MATCH"));
    resp_text(&sweep->bytes, (struct hf_bytes){pattern->data, pattern->size});
    resp_text(&sweep->bytes, hf_text("COUNT"));
    resp_text(&sweep->bytes, hf_text(SWEEP_COUNT));
    resp_text(&sweep->bytes, hf_text("TYPE"));
    resp_text(&sweep->bytes, hf_text("zset"));
    sweep->bytes.failed = sweep->bytes.failed || pattern->failed;
}

static bool is_scan_reply(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           reply->element[0]->len < sizeof((struct worker_sweep *)NULL)->cursor &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

static void take_keys(struct worker *worker, const redisReply *keys)
{
    int64_t now = now_ms(worker);
    enum worker_family family;
    struct hf_bytes name;

    for (size_t i = 0; i < keys->elements; i++) {
        struct hf_bytes key = {keys->element[i]->str, keys->element[i]->len};
        if (keys->element[i]->type == REDIS_REPLY_STRING &&
            worker_scopes_parse(&worker->scopes, key, &family, &name)) {
            count(&worker->figures.keys_found, 1);
            worker_scopes_found(&worker->scopes, family, name, now, now + SWEEP_EVERY_MS);
        }
    }
}

static void step_failed(struct worker *worker, const char *why)
{
    struct worker_sweep *sweep = &worker->sweep;

    failed(worker, "sweep", why);
    sweep->next_ms = now_ms(worker) + jitter_ms(worker, RETRY_MIN_MS / 2, RETRY_MIN_MS);
    if (++sweep->tries >= SWEEP_TRIES) { /* the next one may be well */
        sweep->tries = 0;
        sweep->failed = true;
        strcpy(sweep->cursor, "0");
    }
}

static void step_done(struct redis_request *request, enum redis_fate fate, const redisReply *reply,
                      const struct problem *problem)
{
    struct worker *worker =
        (struct worker *)((char *)request - offsetof(struct worker, sweep.request));
    struct worker_sweep *sweep = &worker->sweep;

    sweep->sending = false;
    if (worker->stopped) {
        return;
    }
    if (fate == REDIS_ANSWERED && is_scan_reply(reply)) {
        sweep->tries = 0;
        memcpy(sweep->cursor, reply->element[0]->str, reply->element[0]->len + 1);
        take_keys(worker, reply->element[1]);
        sweep->next_ms = now_ms(worker) + (sweep->first ? SWEEP_FIRST_MS : SWEEP_STEP_MS);
    } else {
        step_failed(worker, why_of(reply, problem));
    }
    turn(worker);
}

/* The next step, if it is time for it. */
static void step_sweep(struct worker *worker)
{
    struct worker_sweep *sweep = &worker->sweep;

    if (sweep->sending || now_ms(worker) < sweep->next_ms) {
        return;
    }
    if (worker->scopes.found >= SWEEP_AHEAD) {
        sweep->next_ms = now_ms(worker) + SWEEP_STEP_MS;
        return;
    }
    struct redis_node *node = sweep_master(worker);
    if (node == NULL && !sweep->in_flight) { /* no master is known yet */
        sweep->next_ms = now_ms(worker) + jitter_ms(worker, RETRY_MIN_MS / 2, RETRY_MIN_MS);
        return;
    }
    if (node == NULL) {
        end_sweep(worker);
        return;
    }
    sweep->in_flight = true;
    write_scan(worker);
    if (sweep->bytes.failed) {
        step_failed(worker, "out of memory");
        return;
    }
    sweep->request = (struct redis_request){
        .bytes = sweep->bytes.data,
        .size = sweep->bytes.size,
        .slot = -1,
        .node = node,
        .repeatable = true,
        .timeout_ms = CALL_MS,
        .done = step_done,
    };
    sweep->sending = true;
    redis_client_send(worker->env->client, &sweep->request);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void ring(struct alarm *alarm)
{
    turn(LIST_ENTRY(alarm, struct worker, alarm));
}

static void set_alarm(struct worker *worker)
{
    int64_t now = now_ms(worker), next_ms = INT64_MAX;

    if (free_visit(worker) != NULL) {
        next_ms = agenda_next(&worker->scopes.pool, &worker->scopes.agenda);
    }
    if (!worker->sweep.sending && worker->sweep.next_ms < next_ms) {
        next_ms = worker->sweep.next_ms;
    }
    if (next_ms == INT64_MAX) { /* an answer will come */
        alarm_stop(&worker->alarm);
        return;
    }
    alarm_set(&worker->env->alarms, &worker->alarm, next_ms > now ? (uint64_t)(next_ms - now) : 1);
}

/* Does what is due. */
static void turn(struct worker *worker)
{
    begin_visits(worker);
    step_sweep(worker);
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
    memcpy(&scope, (const char *)&command->args + command->spec->args[0].offset, sizeof scope);
    if (family == WORKER_FAMILY_STOCK) {
        counter = counter != NULL ? counter : "main";
        size_t size = strlen(counter);
        CHECK(scope.size <= HF_ID_MAX && size <= WORKER_SCOPE_COUNTER_MAX);
        snprintf(name, sizeof name, "%.*s_%s", (int)scope.size, scope.data, counter);
        scope = (struct hf_bytes){name, scope.size + 1 + size};
    }
    int64_t next_ms = agenda_next(&worker->scopes.pool, &worker->scopes.agenda);
    worker_scopes_note(&worker->scopes, family, scope, now_ms(worker) + in_ms);
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
    for (size_t i = 0; i < VISITS_MAX; i++) {
        script_call_init(&worker->visits[i].call, env);
        worker->visits[i].worker = worker;
        worker->visits[i].scope = NONE;
    }
    buffer_init(&worker->sweep.bytes, &env->memory);
    strcpy(worker->sweep.cursor, "0");
    worker->sweep.first = true;
    worker->sweep.next_ms = now_ms(worker) + jitter_ms(worker, 1, SWEEP_STEP_MS);
    alarm_init(&worker->alarm, ring);
    turn(worker);
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
    for (size_t i = 0; i < VISITS_MAX; i++) {
        script_call_free(&worker->visits[i].call);
    }
    buffer_free(&worker->sweep.bytes);
    worker_scopes_free(&worker->scopes);
    alarm_stop(&worker->alarm);
    free(worker);
}

const struct worker_figures *worker_figures(const struct worker *worker)
{
    return &worker->figures;
}

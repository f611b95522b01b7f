/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep over all keys of every master, with SCAN: how the release worker finds the scopes that
 * others have made, and those whose deadlines passed while no worker ran. A sweep goes in small
 * steps, waits while many of the scopes it has found are yet to be visited, and begins again after
 * a minute. */
#include "redis/worker/worker_state.h"

#include "base/resp_write.h"

#include <stdio.h>
#include <string.h>

#define SWEEP_EVERY_MS 60000 /* the pause between two sweeps */
#define SWEEP_AGAIN_MS 10000 /* the pause after a sweep that failed to see some keys */
#define SWEEP_COUNT "500"    /* keys that Redis looks at in a step */
#define SWEEP_STEP_MS 50     /* the pause between two steps */
#define SWEEP_FIRST_MS 5     /* the same in the first sweep: much may be overdue */
#define SWEEP_TRIES 5        /* of a step, before its master is passed over */
#define SWEEP_AHEAD 256      /* scopes found and not yet visited: then the sweep waits */

void worker_sweep_init(struct worker *worker)
{
    struct worker_sweep *sweep = &worker->sweep;

    buffer_init(&sweep->bytes, &worker->env->memory);
    strcpy(sweep->cursor, "0");
    sweep->first = true;
    sweep->next_ms = worker_now_ms(worker) + worker_jitter_ms(worker, 1, SWEEP_STEP_MS);
}

void worker_sweep_free(struct worker *worker)
{
    buffer_free(&worker->sweep.bytes);
}

/* ---- which master ---------------------------------------------------------------------------- */

/* Which master is swept next. */
struct worker_sweep_choice {
    const char *exactly;     /* the master of this name; NULL: see `behind` */
    const char *behind;      /* the first master whose name is greater than this */
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

/* The master for the next step: the one that is swept, or the next by name. NULL: it was the
 * last. */
static struct redis_node *sweep_master(struct worker *worker)
{
    struct worker_sweep *sweep = &worker->sweep;
    struct worker_sweep_choice choice = {
        .exactly = strcmp(sweep->cursor, "0") != 0 ? sweep->master : NULL, .behind = sweep->master};

    redis_client_masters(worker->env->client, consider, &choice);
    if (choice.node == NULL &&
        choice.exactly != NULL) { /* the master is gone, and its cursor with it */
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

    worker_count(&worker->figures.sweeps, !sweep->failed);
    atomic_store(&worker->figures.late_ms_max, worker->late_ms);
    worker->late_ms = 0;
    sweep->first = sweep->first && sweep->failed;
    sweep->failed = false;
    sweep->begun = false;
    sweep->master[0] = '\0';
    sweep->next_ms = worker_now_ms(worker) + worker_jitter_ms(worker, pause_ms * 9 / 10, pause_ms);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The pattern of all keys of deadlines in the namespace, whose own characters stand for
 * themselves. */
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
    int64_t now = worker_now_ms(worker);
    enum worker_family family;
    struct hf_bytes name;

    for (size_t i = 0; i < keys->elements; i++) {
        struct hf_bytes key = {keys->element[i]->str, keys->element[i]->len};
        if (keys->element[i]->type == REDIS_REPLY_STRING &&
            worker_scopes_parse(&worker->scopes, key, &family, &name)) {
            worker_count(&worker->figures.keys_found, 1);
            worker_scopes_found(&worker->scopes, family, name, now, now + SWEEP_EVERY_MS);
        }
    }
}

static void step_failed(struct worker *worker, const char *why)
{
    struct worker_sweep *sweep = &worker->sweep;

    worker_failed(worker, "sweep", why);
    sweep->next_ms = worker_now_ms(worker) +
                     worker_jitter_ms(worker, WORKER_RETRY_MIN_MS / 2, WORKER_RETRY_MIN_MS);
    if (++sweep->tries >= SWEEP_TRIES) { /* the next master may be healthy */
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
        sweep->next_ms = worker_now_ms(worker) + (sweep->first ? SWEEP_FIRST_MS : SWEEP_STEP_MS);
    } else {
        step_failed(worker, worker_why(reply, problem));
    }
    worker_turn(worker);
}

void worker_sweep_step(struct worker *worker)
{
    struct worker_sweep *sweep = &worker->sweep;

    if (sweep->sending || worker_now_ms(worker) < sweep->next_ms) {
        return;
    }
    if (worker->scopes.found >= SWEEP_AHEAD) {
        sweep->next_ms = worker_now_ms(worker) + SWEEP_STEP_MS;
        return;
    }
    struct redis_node *node = sweep_master(worker);
    if (node == NULL && !sweep->begun) { /* no master is known yet */
        sweep->next_ms = worker_now_ms(worker) +
                         worker_jitter_ms(worker, WORKER_RETRY_MIN_MS / 2, WORKER_RETRY_MIN_MS);
        return;
    }
    if (node == NULL) {
        end_sweep(worker);
        return;
    }
    sweep->begun = true;
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
        .timeout_ms = WORKER_CALL_MS,
        .done = step_done,
    };
    sweep->sending = true;
    redis_client_send(worker->env->client, &sweep->request);
}

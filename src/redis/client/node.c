/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection to a node: attempts and their backoff, the greeting, and what replies mean. */
#include "redis/client/node.h"

#include "base/check.h"
#include "base/error.h"
#include "redis/client/error_reply.h"
#include "redis/client/client_state.h"
#include "redis/client/node_access.h"

#include <stdio.h>
#include <stdlib.h>

#define BACKOFF_MIN_MS 10
#define BACKOFF_MAX_MS 2000
#define DRAINED_MS 250 /* until a node that takes no writes is connected again */
#define SILENT_MS 300  /* a node that has not replied for so long is not healthy */

#define LOG_AGAIN_MS 1000 /* between two problems of a node in the log */

/* A node that had failed before, and then was up for less than UP_A_WHILE_MS, goes on with the
 * backoff of UP_FAILURES failures: more than a node that broke once, less than one that cannot be
 * reached. */
#define UP_A_WHILE_MS 2000
#define UP_FAILURES 3

static void move(struct redis_node *node, enum node_state to)
{
    static const bool allowed[NODE_STATES][NODE_STATES] = {
        [NODE_DOWN] = {[NODE_CONNECTING] = true},
        [NODE_CONNECTING] = {[NODE_GREETING] = true, [NODE_DOWN] = true},
        [NODE_GREETING] = {[NODE_UP] = true, [NODE_DOWN] = true},
        [NODE_UP] = {[NODE_DOWN] = true},
    };

    CHECK(allowed[node->state][to]);
    node->state = to;
    CHECK((node->stream == NULL) == (to == NODE_DOWN));
    CHECK(to != NODE_DOWN || node->pipeline.first == node->pipeline.next);
}

/* ---- going down ------------------------------------------------------------------------------ */

static void schedule(struct redis_node *node)
{
    unsigned doublings = node->failures < 8 ? node->failures : 8; /* beyond the most anyway */
    uint64_t delay_ms = (uint64_t)BACKOFF_MIN_MS << doublings;

    /* A request that comes in the meantime must have time to see the node come back. */
    uint64_t half_ms = (uint64_t)node->client->url.timeout_ms / 2;
    uint64_t most_ms = half_ms < BACKOFF_MAX_MS ? half_ms : BACKOFF_MAX_MS;

    node->failures++;
    alarm_set(&node->client->alarms, &node->alarm,
              client_jitter(node->client, delay_ms < most_ms ? delay_ms : most_ms));
}

/* Requests in flight are routed anew or answered; the node is down by then. */
static void go_down(struct redis_node *node, const char *why)
{
    struct node_pipeline pipeline = node->pipeline;
    uint64_t taken = reply_stream_sent(node->stream);

    reply_stream_close(node->stream);
    node->stream = NULL;
    node->draining = NULL;
    node->pipeline = (struct node_pipeline){
        .first = pipeline.next, .answered = pipeline.next, .next = pipeline.next};
    node->probe.sent_ns = 0;
    node->wait.sent_at = 0;
    node->wait.needed = false;
    for (size_t i = 0; i < script_count; i++) {
        node->loaded_at[i] = 0;
    }
    if (node->state == NODE_UP) {
        node->client->figures.disconnects++;
        bool a_while = uv_now(node->client->loop) - node->up_ms >= UP_A_WHILE_MS;
        node->failures = a_while || node->failures == 0 ? 0 : UP_FAILURES;
    }
    move(node, NODE_DOWN);
    schedule(node);
    for (uint64_t number = pipeline.first; number != pipeline.next; number++) {
        const struct node_command *command = &pipeline.at[number & pipeline.mask];
        if (command->kind == NODE_COMMAND_BATCH) {
            batch_lost(node, command->batch, command->end <= taken, why);
        } else if (command->request != NULL) {
            client_lost(node, command->request, command->end <= taken, why);
        }
        freeReplyObject(command->reply);
    }
    free(pipeline.at);
    batches_lost(node, why);
    client_node_down(node);
}

/* The first problem is logged, and one that differs from the last in the log: that a connection was
 * lost says nothing of why it cannot be made again. */
static void log_problem(struct redis_node *node, bool was_up)
{
    uint64_t now_ms = uv_now(node->client->loop);
    bool is_news = now_ms - node->logged_ms >= LOG_AGAIN_MS &&
                   strcmp(node->problem.message, node->logged.message) != 0;

    if ((was_up || is_news) && !node->client->closing) {
        log_line(&node->client->log, LOG_WARNING, "%s; trying again", node->problem.message);
        node->logged = node->problem;
        node->logged_ms = now_ms;
    }
}

/* The attempt to connect or to be greeted failed. */
static void fail_attempt(struct redis_node *node, enum hf_error code, const char *what,
                         const char *why)
{
    bool was_up = node->problem.code == HF_OK;

    problem_set(&node->problem, code, "%s redis %s: %s", what, node->name, why);
    log_problem(node, was_up);
    go_down(node, why);
}

void node_lose(struct redis_node *node, const char *why)
{
    node->refused = false;
    if (node->state == NODE_UP) {
        fail_attempt(node, HF_ENGINE_DOWN, "lost the connection to", why);
    } else if (node->state != NODE_DOWN) {
        fail_attempt(node, HF_ENGINE_DOWN, "cannot reach", why);
    }
}

static void stream_failed(void *owner, const char *why)
{
    struct redis_node *node = owner;

    if (node->state != NODE_UP && reply_stream_is_refused(node->stream)) {
        node->refused = true;
        fail_attempt(node, HF_ENGINE_DOWN, "cannot reach", why);
    } else {
        node_lose(node, why);
    }
}

/* ---- coming up ------------------------------------------------------------------------------- */

static void write_load(struct buffer *out, const struct script *script)
{
    const char *words[] = {"SCRIPT", "LOAD", script->text};
    client_write_command(out, 3, words);
}

static void greet(void *owner)
{
    static const char *const ping[] = {"PING"};
    struct redis_node *node = owner;
    struct buffer *out = reply_stream_out(node->stream);

    if (!node_pipeline_reserve(node, script_count + 6)) {
        node_lose(node, "out of memory");
        return;
    }
    move(node, NODE_GREETING);
    /* A server that wants a password reads no long command, such as a script, without one: a short
     * one has it say so. */
    if (client_write_auth(node->client, out) == 0) {
        client_write_command(out, 1, ping);
    }
    node_pipeline_append(node, NODE_COMMAND_GREETING, NULL);
    if (node->client->url.database != 0) {
        char number[16];
        const char *const words[] = {"SELECT", number};
        snprintf(number, sizeof number, "%d", node->client->url.database);
        client_write_command(out, 2, words);
        node_pipeline_append(node, NODE_COMMAND_GREETING, NULL);
    }
    for (size_t i = 0; i < script_count; i++) {
        write_load(out, &script_table[i]);
        node->loaded_at[i] = node_pipeline_append(node, NODE_COMMAND_GREETING, NULL) + 1;
    }
    if (node_wait_greet(node, out) > 0) {
        node_pipeline_append(node, NODE_COMMAND_GREETING, NULL);
    }
    node_access_load(out);
    node_pipeline_append(node, NODE_COMMAND_ACCESS_LOAD, NULL);
}

/* The script that looks whether all commands may be run is loaded. */
static void greet_on(struct redis_node *node, const redisReply *loaded)
{
    static const char *const ping[] = {"PING"}, *const role[] = {"ROLE"};
    struct buffer *out = reply_stream_out(node->stream);

    if (loaded->type != REDIS_REPLY_STRING || !node_pipeline_reserve(node, 2)) {
        node_lose(node, "no script can be loaded");
        return;
    }
    node_access_run(node, out, loaded->str);
    node_pipeline_append(node, NODE_COMMAND_ACCESS, NULL);
    client_write_command(out, 1, node->must_be_master ? role : ping);
    node_pipeline_append(node, NODE_COMMAND_LAST_GREETING, NULL);
}

/* An error reply to the greeting. One that is not passing is noted in `refused`, so that requests
 * are refused at once rather than wait for their time to be over. */
static void greeting_refused(struct redis_node *node, const redisReply *reply)
{
    struct error_reply error;
    bool full = strncmp(reply->str, "ERR max number of clients", 25) == 0;

    if (strstr(reply->str, ERROR_TEXT_NOT_REDIS) != NULL) {
        char why[ADDRESS_HOST_SIZE + 80];
        snprintf(why, sizeof why, "that is a Holdfast server; use holdfast://%s", node->name);
        node->refused = true;
        fail_attempt(node, HF_ENGINE_DOWN, "not let in by", why);
        return;
    }
    const char *cannot_wait = node_wait_refusal(node, reply->str);
    if (cannot_wait != NULL) {
        node->refused = true;
        fail_attempt(node, HF_ENGINE_DOWN, "cannot use", cannot_wait);
        return;
    }
    error_reply_read(reply, &error);
    /* Scripts may be flushed between their load and the first call. */
    node->refused = error.action != ERROR_RETRY && error.action != ERROR_NO_SCRIPT && !full;
    fail_attempt(node,
                 error.code == HF_LOADING || error.code == HF_BUSY ? error.code : HF_ENGINE_DOWN,
                 node->refused ? "not let in by" : "cannot come in at", reply->str);
}

static bool is_master(const redisReply *role)
{
    return role->type == REDIS_REPLY_ARRAY && role->elements > 0 &&
           role->element[0]->type == REDIS_REPLY_STRING &&
           strcmp(role->element[0]->str, "master") == 0;
}

static void greeted(struct redis_node *node, const redisReply *last)
{
    node->refused = false;
    if (node->must_be_master && !is_master(last)) {
        fail_attempt(node, HF_ENGINE_DOWN, "cannot use", "it is a replica, not the master");
        return;
    }
    alarm_stop(&node->alarm);
    move(node, NODE_UP);
    node->up_ms = uv_now(node->client->loop);
    node->problem.code = HF_OK;
    node->client->figures.connects++;
    log_line(&node->client->log, LOG_INFO, "connected to redis %s", node->name);
    client_node_up(node);
}

static void load(struct redis_node *node, const struct script *script, uint64_t position);

void node_batch_came(struct redis_node *node, struct redis_batch *batch, const redisReply *reply,
                     const char *unsafe)
{
    struct error_reply error = {.action = ERROR_ANSWER};
    const struct redis_request *first = batch_first(batch);

    if (reply->type == REDIS_REPLY_ERROR) {
        error_reply_read(reply, &error);
    }
    if (error.action == ERROR_NO_SCRIPT && first != NULL && node_is_open(node)) {
        load(node, first->script->batch, first->private.position);
    }
    batch_answered(node, batch, reply, unsafe);
}

/* A reply other than those that are held. */
static void handle_reply(struct redis_node *node, const struct node_command *command,
                         uint64_t number, const redisReply *reply)
{
    switch (command->kind) {
    case NODE_COMMAND_REQUEST:
        if (command->request != NULL) {
            client_answered(node, command->request, reply);
        }
        break;
    case NODE_COMMAND_BATCH:
        node_batch_came(node, command->batch, reply, NULL);
        break;
    case NODE_COMMAND_MARK:
        node_wait_marked(node, reply);
        break;
    case NODE_COMMAND_WAIT:
        node_wait_answered(node, number, reply);
        break;
    case NODE_COMMAND_ASIDE:
        if (reply->type == REDIS_REPLY_ERROR) {
            log_line(&node->client->log, LOG_WARNING, "redis %s: %s", node->name, reply->str);
        }
        break;
    case NODE_COMMAND_GREETING:
    case NODE_COMMAND_ACCESS_LOAD:
    case NODE_COMMAND_ACCESS:
    case NODE_COMMAND_LAST_GREETING:
        if (reply->type == REDIS_REPLY_ERROR) {
            greeting_refused(node, reply);
        } else if (command->kind == NODE_COMMAND_ACCESS_LOAD) {
            greet_on(node, reply);
        } else if (command->kind == NODE_COMMAND_ACCESS) {
            node_access_answered(node, reply);
        } else if (command->kind == NODE_COMMAND_LAST_GREETING) {
            greeted(node, reply);
        }
    }
}

static void reply_came(void *owner, const redisReply *reply)
{
    struct redis_node *node = owner;
    struct node_pipeline *pipeline = &node->pipeline;

    if (pipeline->answered == pipeline->next) {
        node_lose(node, reply->type == REDIS_REPLY_ERROR ? reply->str : "an answer to no question");
        return;
    }
    uint64_t number = pipeline->answered++;
    struct node_command *at = node_pipeline_at(node, number), command = *at;
    bool answers = command.kind == NODE_COMMAND_REQUEST || command.kind == NODE_COMMAND_BATCH;
    node->last_reply_ms = uv_now(node->client->loop);
    node_probe_answered(&node->probe, number, node->last_reply_ms);
    if (answers && node_waits(node)) {
        at->reply = reply_stream_keep(node->stream);
        return;
    }
    pipeline->first += pipeline->first == number; /* no reply before it is held */
    handle_reply(node, &command, number, reply);
    if (node->draining != NULL && node->pipeline.first == node->pipeline.next) {
        problem_set(&node->problem, HF_ENGINE_DOWN, "redis %s %s", node->name, node->draining);
        go_down(node, node->draining);
        /* It may take them from one moment to the next, or its name lead to another server. */
        alarm_set(&node->client->alarms, &node->alarm, client_jitter(node->client, DRAINED_MS));
    }
}

static void connect_now(struct redis_node *node)
{
    static const struct reply_stream_events events = {
        .opened = greet, .reply = reply_came, .failed = stream_failed};
    struct redis_client *client = node->client;

    node->stream =
        reply_stream_open(&client->streams, node->host.name, node->host.port, &events, node);
    if (node->stream == NULL) {
        problem_set(&node->problem, HF_BUSY, "out of memory");
        schedule(node);
        return;
    }
    move(node, NODE_CONNECTING);
    alarm_set(&client->alarms, &node->alarm, (uint64_t)client->url.connect_timeout_ms);
}

static void alarm_rang(struct alarm *alarm)
{
    struct redis_node *node = LIST_ENTRY(alarm, struct redis_node, alarm);

    if (node->state == NODE_DOWN) {
        if (node->wanted || node->pinned_requests > 0) {
            connect_now(node);
        }
    } else {
        char why[128];
        reply_stream_explain_silence(node->stream, node->client->url.connect_timeout_ms, why,
                                     sizeof why);
        node_lose(node, why);
    }
}

void node_connect(struct redis_node *node)
{
    if (node->state == NODE_DOWN && !alarm_is_set(&node->alarm)) {
        connect_now(node);
    }
}

void node_want(struct redis_node *node, bool wanted)
{
    node->wanted = wanted;
    if (wanted) {
        node_connect(node);
    }
}

void node_dismiss(struct redis_node *node)
{
    node->wanted = false;
    if (node->state != NODE_DOWN) {
        problem_set(&node->problem, HF_ENGINE_DOWN, "redis %s is no longer a master", node->name);
        go_down(node, "it is no longer a master");
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

bool node_is_open(const struct redis_node *node)
{
    return node->state == NODE_UP && node->draining == NULL;
}

bool node_send(struct redis_node *node, struct redis_request *request)
{
    static const char *const asking[] = {"ASKING"};

    CHECK(node_is_open(node) && request->private.sent_to == NULL);
    if (batch_takes(request)) {
        request->private.sent_to = node;
        request->private.attempts++;
        if (batch_join(node, request)) {
            return true;
        }
        request->private.sent_to = NULL;
        request->private.attempts--;
        return false;
    }
    batch_send_before(node, request);
    if (!node_pipeline_reserve(node, 2)) {
        return false;
    }
    if (request->private.asking) {
        client_write_command(reply_stream_out(node->stream), 1, asking);
        node_pipeline_append(node, NODE_COMMAND_ASIDE, NULL);
    }
    batch_write_single(node, request);
    batch_sent_single(node, request, node_pipeline_append(node, NODE_COMMAND_REQUEST, request));
    request->private.sent_to = node;
    request->private.attempts++;
    return true;
}

void node_end_turn(struct redis_node *node)
{
    batches_send(node);
    if (node_waits(node)) {
        node_wait_send(node);
    }
}

/* Loads a script that the command at this position was answered NOSCRIPT for. */
static void load(struct redis_node *node, const struct script *script, uint64_t position)
{
    size_t index = 0;

    while (index < script_count && &script_table[index] != script) {
        index++;
    }
    /* Of many requests in flight when the scripts were flushed, the first has it loaded. */
    if (index < script_count && node->loaded_at[index] > position) {
        return;
    }
    if (!node_pipeline_reserve(node, 1)) {
        return;
    }
    write_load(reply_stream_out(node->stream), script);
    uint64_t number = node_pipeline_append(node, NODE_COMMAND_ASIDE, NULL);
    if (index < script_count) {
        node->loaded_at[index] = number + 1;
    }
    node->client->figures.script_loads++;
}

void node_load(struct redis_node *node, const struct redis_request *request)
{
    load(node, request->script, request->private.position);
}

bool node_abandon(struct redis_node *node, struct redis_request *request)
{
    CHECK(request->private.sent_to == node);
    request->private.sent_to = NULL;
    if (request->private.batch != NULL) {
        return batch_abandon(request);
    }
    struct node_command *command = node_pipeline_at(node, request->private.position);
    CHECK(command->request == request);
    command->request = NULL;
    return true;
}

void node_drain(struct redis_node *node, const char *why)
{
    if (node_is_open(node)) {
        node->draining = why;
        log_line(&node->client->log, LOG_WARNING, "redis %s %s; connecting anew", node->name, why);
    }
}

bool node_is_idle(const struct redis_node *node)
{
    return node->pinned_requests == 0 && node->pipeline.first == node->pipeline.next &&
           list_empty(&node->batches->open);
}

bool node_is_healthy(const struct redis_node *node)
{
    return node_is_open(node) && (node->pipeline.first == node->pipeline.next ||
                                  uv_now(node->client->loop) - node->last_reply_ms < SILENT_MS);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct redis_node *node_make(struct redis_client *client, const struct redis_host *host)
{
    struct redis_node *node = calloc(1, sizeof *node);

    if (node == NULL) {
        return NULL;
    }
    node->client = client;
    alarm_init(&node->alarm, alarm_rang);
    node->loaded_at = calloc(script_count + 1, sizeof *node->loaded_at);
    node->batches = node_batches_new();
    if (node->loaded_at == NULL || node->batches == NULL) {
        node_free(node);
        return NULL;
    }
    node->host = *host;
    redis_host_show(host, node->name, sizeof node->name);
    return node;
}

void node_free(struct redis_node *node)
{
    alarm_stop(&node->alarm);
    reply_stream_close(node->stream);
    free(node->pipeline.at);
    free(node->loaded_at);
    free(node->batches);
    free(node);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks and WAITs: when they are sent, and what their answers mean for the requests in front. */
#include "redis/client/node_wait.h"

#include "base/check.h"
#include "redis/client/client_state.h"

#include <stdio.h>
#include <string.h>

#define MARK_MS "3600000" /* the mark of a node that is gone vanishes */

bool node_waits(const struct redis_node *node)
{
    const struct redis_url *url = &node->client->url;
    return url->wait_replicas > 0 || url->wait_aof;
}

/* ---- whether it can wait --------------------------------------------------------------------- */

unsigned node_wait_greet(const struct redis_node *node, struct buffer *out)
{
    static const char *const aof[] = {"WAITAOF", "1", "0", "1"}, *const replicas[] = {"WAIT", "0",
                                                                                      "1"};

    if (!node_waits(node)) {
        return 0;
    }
    if (node->client->url.wait_aof) {
        client_write_command(out, 4, aof);
    } else {
        client_write_command(out, 3, replicas);
    }
    return 1;
}

const char *node_wait_refusal(const struct redis_node *node, const char *error)
{
    if (!node->client->url.wait_aof || strstr(error, "WAITAOF") == NULL) {
        return NULL;
    }
    return strstr(error, "unknown command") != NULL
               ? "it does not know WAITAOF, which wait_aof=1 needs: Redis 7.2 or later, or Valkey"
               : "wait_aof=1 needs appendonly yes";
}

/* ---- sending --------------------------------------------------------------------------------- */

/* A number whose decimal form is in the slot, as a hash tag. */
static void find_tag(struct node_wait *wait, int slot)
{
    unsigned number = 0;

    do {
        snprintf(wait->tag, sizeof wait->tag, "%u", number++);
    } while (redis_slot(hf_text(wait->tag)) != slot);
    wait->slot = slot;
}

/* Chooses a slot that the node has, from the last one on. */
static void choose_slot(struct redis_node *node)
{
    struct redis_client *client = node->client;
    struct node_wait *wait = &node->wait;

    if (wait->tag[0] != '\0' && client->topology->route(client, wait->slot) == node) {
        return;
    }
    for (int i = 1; i <= REDIS_SLOTS; i++) {
        int slot = (wait->slot + i) % REDIS_SLOTS;
        if (client->topology->route(client, slot) == node) {
            find_tag(wait, slot);
            return;
        }
    }
}

static void write_mark(struct redis_node *node, struct buffer *out)
{
    const struct redis_url *url = &node->client->url;
    char key[sizeof url->name_space + sizeof node->wait.tag + 24];

    if (url->kind == REDIS_CLUSTER) {
        choose_slot(node);
        snprintf(key, sizeof key, "%sholdfast:wait:{%s}", url->name_space, node->wait.tag);
    } else {
        snprintf(key, sizeof key, "%sholdfast:wait", url->name_space);
    }
    const char *const words[] = {"SET", key, "1", "PX", MARK_MS};
    client_write_command(out, 5, words);
    node_pipeline_append(node, NODE_COMMAND_MARK, NULL);
}

void node_wait_send(struct redis_node *node)
{
    const struct redis_url *url = &node->client->url;
    char count[16], limit_ms[24];
    const char *const replicas[] = {"WAIT", count, limit_ms};
    const char *const aof[] = {"WAITAOF", "1", count, limit_ms};

    if (!node->wait.needed || node->wait.sent_at != 0 || node->state != NODE_UP ||
        !node_pipeline_reserve(node, 2)) {
        return;
    }
    struct buffer *out = reply_stream_out(node->stream);
    node->wait.needed = node->wait.is_marked = false;
    write_mark(node, out);
    snprintf(count, sizeof count, "%u", url->wait_replicas);
    snprintf(limit_ms, sizeof limit_ms, "%lld", (long long)url->wait_timeout_ms);
    client_write_command(out, url->wait_aof ? 4 : 3, url->wait_aof ? aof : replicas);
    node->wait.sent_at = node_pipeline_append(node, NODE_COMMAND_WAIT, NULL) + 1;
}

/* ---- answers --------------------------------------------------------------------------------- */

void node_wait_marked(struct redis_node *node, const redisReply *reply)
{
    struct node_wait *wait = &node->wait;

    wait->is_marked = reply->type == REDIS_REPLY_STATUS;
    if (!wait->is_marked) {
        snprintf(wait->problem, sizeof wait->problem, "%.100s",
                 reply->type == REDIS_REPLY_ERROR ? reply->str : "no mark was made");
        wait->tag[0] = '\0'; /* the slot may be moving: the next one is tried */
    }
}

/* NULL if all that was asked for is there; otherwise what is not. */
static const char *shortfall(const struct redis_node *node, const redisReply *reply, char *out,
                             size_t size)
{
    const struct redis_url *url = &node->client->url;
    long long replicas = 0, local = 1;

    if (reply->type == REDIS_REPLY_ERROR || !node->wait.is_marked) {
        snprintf(out, size, "whether it is safe cannot be told: %.100s",
                 reply->type == REDIS_REPLY_ERROR ? reply->str : node->wait.problem);
        return out;
    }
    if (reply->type == REDIS_REPLY_INTEGER && !url->wait_aof) {
        replicas = reply->integer;
    } else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && url->wait_aof) {
        local = reply->element[0]->integer;
        replicas = reply->element[1]->integer;
    } else {
        local = 0;
    }
    if (local >= 1 && replicas >= (long long)url->wait_replicas) {
        return NULL;
    }
    if (local < 1) {
        snprintf(out, size, "it is not on disk within %lld ms", (long long)url->wait_timeout_ms);
    } else {
        snprintf(out, size, "%lld of %u replicas have it within %lld ms", replicas,
                 url->wait_replicas, (long long)url->wait_timeout_ms);
    }
    return out;
}

static void answer_held(struct redis_node *node, const struct node_command *held,
                        const char *unsafe)
{
    if (held->kind == NODE_COMMAND_BATCH) {
        node_batch_came(node, held->batch, held->reply, unsafe);
    } else if (held->request != NULL && unsafe != NULL && held->reply->type != REDIS_REPLY_ERROR) {
        client_unsafe(node, held->request, unsafe);
    } else if (held->request != NULL) {
        client_answered(node, held->request, held->reply);
    }
}

void node_wait_answered(struct redis_node *node, uint64_t number, const redisReply *reply)
{
    char text[160];
    const char *unsafe = shortfall(node, reply, text, sizeof text);

    CHECK(node->wait.sent_at == number + 1);
    node->wait.sent_at = 0;
    /* A callback may send requests, so that the pipeline grows, or lose the connection, by which
     * all that is left is answered. */
    while (node->pipeline.first <= number) {
        struct node_command held = *node_pipeline_at(node, node->pipeline.first);
        node->pipeline.first++;
        if (held.reply != NULL) {
            answer_held(node, &held, unsafe);
            freeReplyObject(held.reply);
        }
    }
}

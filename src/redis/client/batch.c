/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches: who joins which, when they are sent, and what becomes of each request in them. */
#include "redis/client/batch.h"

#include "base/check.h"
#include "base/text.h"
#include "redis/client/client_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the replies that may tell only in what they differ, those of SEATS.RESERVE. */
#define ALIKE_ELEMENTS 5

/* ---- scopes ---------------------------------------------------------------------------------- */

/* FNV-1a. */
uint64_t batch_hash(struct hf_bytes text)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < text.size; i++) {
        hash = (hash ^ (uint8_t)text.data[i]) * 1099511628211u;
    }
    return hash;
}

static struct batch_place *place_of(struct redis_node *node, uint64_t hash)
{
    return &node->batches->places[(hash ^ hash >> 32) & (BATCH_PLACES - 1)];
}

/* Are so many calls of the scope in flight that the next one waits for more requests? */
static bool must_wait(const struct redis_node *node, const struct batch_place *place)
{
    return place->sent_at[place->oldest] > node->pipeline.first;
}

static void note_sent(struct batch_place *place, uint64_t number)
{
    place->sent_at[place->oldest] = number + 1;
    place->oldest = (place->oldest + 1) % BATCH_CALLS_MAX;
    place->last_sent = number + 1;
}

/* Does a request go behind others of its scope that are in flight, and does its script want to know
 * that? One that leads a line of its scope goes behind those that it leads. */
static bool is_behind(const struct redis_node *node, const struct batch_place *place,
                      const struct redis_request *request)
{
    return place->last_sent > node->pipeline.first && request->script->told_behind &&
           !request->private.leads;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Leaves out those whose callers do not wait any more. */
static void drop_abandoned(struct redis_batch *batch)
{
    size_t kept = 0;

    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i] != NULL) {
            batch->items[kept] = batch->items[i];
            batch->items[kept]->private.item = kept;
            kept++;
        }
    }
    batch->count = kept;
}

/* Gives an open batch up: its requests go back to the client, which tries again. */
static void give_back(struct redis_node *node, struct redis_batch *batch)
{
    list_remove(&batch->node);
    batch->open = false;
    batch_lost(node, batch, false, "out of memory");
}

/* Writes an open batch to the stream: one request as the call it would be alone. */
static void send_open(struct redis_node *node, struct batch_place *place)
{
    struct redis_batch *batch = place->open;

    place->open = NULL;
    drop_abandoned(batch);
    if (!node_pipeline_reserve(node, 1)) {
        give_back(node, batch);
        return;
    }
    list_remove(&batch->node);
    batch->open = false;
    struct buffer *out = reply_stream_out(node->stream);
    if (batch->count > 1) {
        batch_write(out, batch, is_behind(node, place, batch->items[0]));
        note_sent(place, node_pipeline_append_batch(node, batch));
        node->client->figures.batches++;
        node->client->figures.batched += batch->count;
        return;
    }
    if (batch->count == 1) {
        struct redis_request *request = batch->items[0];
        request->private.batch = NULL;
        batch_write_single(node, request);
        note_sent(place, node_pipeline_append(node, NODE_COMMAND_REQUEST, request));
    }
    free(batch);
}

void batch_write_single(struct redis_node *node, const struct redis_request *request)
{
    struct buffer *out = reply_stream_out(node->stream);

    if (request->scope.size > 0 && request->script != NULL &&
        is_behind(node, place_of(node, request->private.scope_hash), request)) {
        batch_write_behind(out, request);
    } else {
        buffer_bytes(out, request->bytes, request->size);
    }
}

void batch_sent_single(struct redis_node *node, const struct redis_request *request,
                       uint64_t number)
{
    if (request->scope.size > 0) {
        place_of(node, request->private.scope_hash)->last_sent = number + 1;
    }
}

void batches_send(struct redis_node *node)
{
    for (struct list *at = node->batches->open.next, *next; at != &node->batches->open; at = next) {
        next = at->next;
        struct batch_place *place = place_of(node, LIST_ENTRY(at, struct redis_batch, node)->hash);
        if (node_is_open(node) && !must_wait(node, place)) {
            send_open(node, place);
        }
    }
}

/* ---- joining --------------------------------------------------------------------------------- */

bool batch_takes(const struct redis_request *request)
{
    return request->script != NULL && request->script->batch != NULL && request->args_at > 0 &&
           request->key_count + request->arg_count <= BATCH_WORDS_MAX && request->scope.size > 0 &&
           request->node == NULL && !request->verbatim && !request->private.asking;
}

void batch_send_before(struct redis_node *node, const struct redis_request *request)
{
    if (request->scope.size == 0 || list_empty(&node->batches->open)) {
        return;
    }
    uint64_t hash = request->private.scope_hash;
    struct batch_place *place = place_of(node, hash);
    if (place->open != NULL && place->open->hash == hash) {
        send_open(node, place);
    }
}

static bool same_batch(const struct redis_request *a, const struct redis_request *b)
{
    return a->script->batch == b->script->batch && text_equal(a->scope, b->scope);
}

struct redis_request *batch_first(const struct redis_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i] != NULL) {
            return batch->items[i];
        }
    }
    return NULL;
}

/* The open batch for the request, made if need be. NULL when there is no memory. */
static struct redis_batch *batch_for(struct redis_node *node, const struct redis_request *request)
{
    uint64_t hash = request->private.scope_hash;
    struct batch_place *place = place_of(node, hash);

    if (place->open != NULL) {
        const struct redis_request *first = batch_first(place->open);
        if (first != NULL && same_batch(first, request)) {
            return place->open;
        }
        send_open(node, place); /* of another scope at this place, or of another family */
    }
    struct redis_batch *batch = malloc(sizeof *batch);
    if (batch == NULL) {
        return NULL;
    }
    if (place->hash != hash) {
        *place = (struct batch_place){.hash = hash, .last_sent = place->last_sent};
    }
    batch->count = 0;
    batch->hash = hash;
    batch->open = true;
    place->open = batch;
    list_add_last(&node->batches->open, &batch->node);
    return batch;
}

bool batch_join(struct redis_node *node, struct redis_request *request)
{
    struct redis_batch *batch = batch_for(node, request);

    if (batch == NULL) {
        return false;
    }
    CHECK(batch->count < BATCH_MAX);
    request->private.batch = batch;
    request->private.item = batch->count;
    batch->items[batch->count++] = request;
    if (batch->count == BATCH_MAX) {
        send_open(node, place_of(node, batch->hash));
    }
    return true;
}

/* ---- what becomes of them -------------------------------------------------------------------- */

/* Takes a request out of its batch; NULL if its caller does not wait any more. */
static struct redis_request *take_item(struct redis_batch *batch, size_t i)
{
    struct redis_request *request = batch->items[i];

    batch->items[i] = NULL;
    if (request != NULL) {
        request->private.batch = NULL;
    }
    return request;
}

/* The replies to the items of a batch, of which each has a part of one flat array. */
struct reply_walk {
    const redisReply *replies;
    size_t at;                         /* where the next part begins */
    redisReply reply;                  /* that of the part before it */
    redisReply *alike[ALIKE_ELEMENTS]; /* its elements, if it is one that differs little */
};

/* Makes the reply of one that differs from the one before it in its second and third elements. */
static bool differ(struct reply_walk *walk, redisReply **changed)
{
    if (walk->reply.type != REDIS_REPLY_ARRAY || walk->reply.elements != ALIKE_ELEMENTS) {
        return false;
    }
    memmove(walk->alike, walk->reply.element, sizeof walk->alike);
    walk->alike[1] = changed[0];
    walk->alike[2] = changed[1];
    walk->reply.element = walk->alike;
    return true;
}

/* Moves on from one item's part of the replies to the next: how many elements its reply has, and
 * these; or -1, and what it replied instead of an array; or -2, and what is different in it. False
 * if there is no such part. */
static bool next_reply(struct reply_walk *walk)
{
    const redisReply *replies = walk->replies;

    if (walk->at + 1 > replies->elements ||
        replies->element[walk->at]->type != REDIS_REPLY_INTEGER) {
        return false;
    }
    long long count = replies->element[walk->at]->integer;
    size_t left = replies->elements - walk->at - 1;
    if (count < -2 || (size_t)(count < 0 ? -count : count) > left) {
        return false;
    }
    redisReply **first = replies->element + walk->at + 1;
    walk->at += 1 + (size_t)(count < 0 ? -count : count);
    if (count == -2) {
        return differ(walk, first);
    }
    walk->reply =
        count == -1
            ? *first[0]
            : (redisReply){.type = REDIS_REPLY_ARRAY, .elements = (size_t)count, .element = first};
    return true;
}

/* Are these the replies to so many items? */
static bool has_replies(const redisReply *replies, size_t count)
{
    struct reply_walk walk = {.replies = replies};

    if (replies->type != REDIS_REPLY_ARRAY) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!next_reply(&walk)) {
            return false;
        }
    }
    return walk.at == replies->elements;
}

void batch_answered(struct redis_node *node, struct redis_batch *batch, const redisReply *replies,
                    const char *unsafe)
{
    static char wrong[] = "ERR Redis answered a batch with what is no answer to it";
    redisReply same = {.type = REDIS_REPLY_ERROR, .str = wrong, .len = sizeof wrong - 1};
    bool each = has_replies(replies, batch->count);
    struct reply_walk walk = {.replies = replies};

    if (replies->type == REDIS_REPLY_ERROR) {
        same = *replies;
    }
    for (size_t i = 0; i < batch->count; i++) {
        struct redis_request *request = take_item(batch, i);
        if (each) {
            CHECK(next_reply(&walk));
        }
        const redisReply *reply = each ? &walk.reply : &same;
        if (request != NULL && unsafe != NULL && reply->type != REDIS_REPLY_ERROR) {
            client_unsafe(node, request, unsafe);
        } else if (request != NULL) {
            client_answered(node, request, reply);
        }
    }
    free(batch);
}

void batch_recall(struct redis_node *node, const struct redis_request *request,
                  void (*each)(void *context, struct redis_request *request), void *context)
{
    struct batch_place *place = place_of(node, request->private.scope_hash);
    struct redis_batch *batch = place->open;

    if (batch == NULL || batch->hash != request->private.scope_hash) {
        return;
    }
    place->open = NULL;
    list_remove(&batch->node);
    for (size_t i = 0; i < batch->count; i++) {
        struct redis_request *item = take_item(batch, i);
        if (item != NULL) {
            item->private.sent_to = NULL;
            item->private.attempts--;
            each(context, item);
        }
    }
    free(batch);
}

bool batch_abandon(struct redis_request *request)
{
    struct redis_batch *batch = request->private.batch;

    CHECK(batch->items[request->private.item] == request);
    take_item(batch, request->private.item);
    return !batch->open;
}

void batch_lost(struct redis_node *node, struct redis_batch *batch, bool sent, const char *why)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct redis_request *request = take_item(batch, i);
        if (request != NULL) {
            client_lost(node, request, sent, why);
        }
    }
    free(batch);
}

void batches_lost(struct redis_node *node, const char *why)
{
    struct list open;

    list_init(&open);
    list_splice_last(&open, &node->batches->open);
    for (struct list *at = open.next; at != &open; at = at->next) {
        place_of(node, LIST_ENTRY(at, struct redis_batch, node)->hash)->open = NULL;
    }
    for (struct list *at = open.next, *next; at != &open; at = next) {
        next = at->next;
        batch_lost(node, LIST_ENTRY(at, struct redis_batch, node), false, why);
    }
}

struct node_batches *node_batches_new(void)
{
    struct node_batches *batches = calloc(1, sizeof *batches);

    if (batches != NULL) {
        list_init(&batches->open);
    }
    return batches;
}

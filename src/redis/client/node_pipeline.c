/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline of a node, which knows for every reply what it answers, and for every request
 * whether its bytes were sent when the connection broke. */
#include "redis/client/node.h"

#include "base/check.h"
#include "redis/client/client_state.h"

#include <stdlib.h>

#define PIPELINE_MIN 64

static bool pipeline_grow(struct node_pipeline *pipeline)
{
    uint64_t size = pipeline->at != NULL ? pipeline->mask + 1 : 0;
    uint64_t new_size = size > 0 ? 2 * size : PIPELINE_MIN;
    struct node_command *grown = calloc(new_size, sizeof *grown);

    if (grown == NULL) {
        return false;
    }
    CHECK(pipeline->at != NULL || pipeline->first == pipeline->next);
    for (uint64_t number = pipeline->first; number != pipeline->next; number++) {
        grown[number & (new_size - 1)] = pipeline->at[number & pipeline->mask];
    }
    free(pipeline->at);
    pipeline->at = grown;
    pipeline->mask = new_size - 1;
    return true;
}

bool node_pipeline_reserve(struct redis_node *node, uint64_t count)
{
    struct node_pipeline *pipeline = &node->pipeline;

    while (pipeline->at == NULL || pipeline->next - pipeline->first + count > pipeline->mask + 1) {
        if (!pipeline_grow(pipeline)) {
            return false;
        }
    }
    return true;
}

struct node_command *node_pipeline_at(const struct redis_node *node, uint64_t number)
{
    const struct node_pipeline *pipeline = &node->pipeline;

    CHECK(number - pipeline->first < pipeline->next - pipeline->first);
    return &pipeline->at[number & pipeline->mask];
}

uint64_t node_pipeline_append(struct redis_node *node, enum node_command_kind kind,
                              struct redis_request *request)
{
    struct node_pipeline *pipeline = &node->pipeline;
    uint64_t number = pipeline->next++;

    if (kind == NODE_COMMAND_REQUEST || kind == NODE_COMMAND_BATCH) {
        node->wait.needed = true;
    }
    if (number == pipeline->answered) {
        node->last_reply_ms = uv_now(node->client->loop);
    }
    node_probe_sent(&node->probe, number);
    *node_pipeline_at(node, number) = (struct node_command){
        .request = request, .end = reply_stream_written(node->stream), .kind = kind};
    if (request != NULL) {
        request->private.position = number;
    }
    return number;
}

uint64_t node_pipeline_append_batch(struct redis_node *node, struct redis_batch *batch)
{
    uint64_t number = node_pipeline_append(node, NODE_COMMAND_BATCH, NULL);

    node_pipeline_at(node, number)->batch = batch;
    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i]->private.position = number;
    }
    return number;
}

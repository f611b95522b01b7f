/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the board from the nodes, once a second, and reads it for others. */
#include "redis/client/board.h"

#include "base/check.h"
#include "redis/client/client_state.h"

#include <stdio.h>
#include <string.h>

/* A reply that came longer ago says nothing of how long one takes now. */
#define LATELY_MS 10000

void client_board_init(struct client_board *board)
{
    CHECK(pthread_mutex_init(&board->mutex, NULL) == 0);
}

void client_board_free(struct client_board *board)
{
    pthread_mutex_destroy(&board->mutex);
}

static const char *state_of(const struct redis_node *node)
{
    if (node->state == NODE_UP) {
        return node_is_healthy(node) ? "up" : "silent";
    }
    return node->state == NODE_DOWN ? "down" : "connecting";
}

static void view_node(struct redis_node_view *view, const struct redis_node *node)
{
    uint64_t now_ms = uv_now(node->client->loop);
    bool up = node->state == NODE_UP;
    bool timed = up && node->probe.at_ms != 0 && now_ms - node->probe.at_ms < LATELY_MS;

    *view = (struct redis_node_view){
        .state = state_of(node),
        .master = node->wanted,
        .commands = node->pipeline.answered,
        .in_flight = node->pipeline.next - node->pipeline.answered,
        .reply_us = timed ? (int64_t)(node->probe.took_ns / 1000) : -1,
        .up_ms = up ? (int64_t)(now_ms - node->up_ms) : -1,
    };
    snprintf(view->name, sizeof view->name, "%s", node->name);
    if (!up && node->problem.code != HF_OK) {
        snprintf(view->problem, sizeof view->problem, "%.*s", (int)sizeof view->problem - 1,
                 node->problem.message);
    }
}

void client_board_write(struct redis_client *client)
{
    struct client_board *board = &client->board;

    pthread_mutex_lock(&board->mutex);
    board->count = board->left_out = 0;
    for (struct list *at = client->nodes.next; at != &client->nodes; at = at->next) {
        if (board->count < REDIS_BOARD_MAX) {
            view_node(&board->nodes[board->count++], LIST_ENTRY(at, struct redis_node, node));
        } else {
            board->left_out++;
        }
    }
    pthread_mutex_unlock(&board->mutex);
}

size_t redis_client_nodes(struct redis_client *client,
                          void (*each)(void *context, const struct redis_node_view *view),
                          void *context)
{
    struct client_board *board = &client->board;

    pthread_mutex_lock(&board->mutex);
    size_t left_out = board->left_out;
    for (size_t i = 0; i < board->count; i++) {
        each(context, &board->nodes[i]);
    }
    pthread_mutex_unlock(&board->mutex);
    return left_out;
}

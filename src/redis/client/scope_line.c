/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of requests that are held back so that those of one scope keep their order. */
#include "redis/client/scope_line.h"

#include "base/check.h"
#include "redis/client/batch.h"
#include "redis/client/request.h"

void scope_lines_init(struct scope_lines *lines)
{
    for (size_t i = 0; i < SCOPE_LINES; i++) {
        lines->of[i] = (struct scope_line){.head = NULL};
        list_init(&lines->of[i].held);
    }
}

/* NULL: the request has no scope, or may overtake others. */
static struct scope_line *line_of(struct redis_client *client, const struct redis_request *request)
{
    uint64_t hash = request->private.scope_hash;

    if (request->scope.size == 0 || request->unordered) {
        return NULL;
    }
    return &client->lines.of[(hash ^ hash >> 32) & (SCOPE_LINES - 1)];
}

/* Most come last, so the place is looked for from the end. */
static void hold(struct scope_line *line, struct redis_request *request)
{
    struct list *at = line->held.prev;

    while (at != &line->held &&
           LIST_ENTRY(at, struct redis_request, private.waiting)->private.order >
               request->private.order) {
        at = at->prev;
    }
    request->private.is_waiting = request->private.is_held = true;
    list_add_last(at->next, &request->private.waiting);
}

static struct redis_request *take_first(struct scope_line *line)
{
    struct redis_request *first =
        LIST_ENTRY(line->held.next, struct redis_request, private.waiting);

    list_remove(&first->private.waiting);
    first->private.is_waiting = first->private.is_held = false;
    return first;
}

bool scope_line_holds(struct redis_client *client, struct redis_request *request)
{
    struct scope_line *line = line_of(client, request);

    if (line == NULL || line->head == request || (line->head == NULL && list_empty(&line->held))) {
        return false;
    }
    hold(line, request);
    return true;
}

void scope_line_begin(struct redis_client *client, struct redis_request *request)
{
    struct scope_line *line = line_of(client, request);

    if (line != NULL && request->script != NULL && request->script->leads) {
        CHECK(line->head == NULL || line->head == request);
        line->head = request;
    }
}

static void recall(void *context, struct redis_request *request)
{
    hold(context, request);
}

void scope_line_again(struct redis_node *node, struct redis_request *request)
{
    struct redis_client *client = node->client;
    struct scope_line *line = line_of(client, request);

    CHECK(line != NULL);
    hold(line, request);
    if (line->head != NULL && line->head != request) {
        return; /* the line is led by one that is in flight */
    }
    batch_recall(node, request, recall, line);
    line->head = take_first(line);
    line->head->private.leads = true;
    client_attempt(client, line->head);
}

struct scope_line *scope_line_left(struct redis_client *client, struct redis_request *request)
{
    struct scope_line *line = line_of(client, request);

    if (line == NULL || line->head != request) {
        return NULL;
    }
    line->head = NULL;
    return line;
}

void scope_line_release(struct redis_client *client, struct scope_line *line)
{
    if (line->releasing) {
        return; /* it goes on by itself */
    }
    line->releasing = true;
    while (!client->closing && line->head == NULL && !list_empty(&line->held)) {
        client_attempt(client, take_first(line));
    }
    line->releasing = false;
}

struct redis_request *scope_lines_any(struct redis_client *client)
{
    for (size_t i = 0; i < SCOPE_LINES; i++) {
        struct list *held = &client->lines.of[i].held;
        if (!list_empty(held)) {
            return LIST_ENTRY(held->next, struct redis_request, private.waiting);
        }
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Going through all sessions in steps, with turns of the loop in between. */
#include "server/server.h"

void session_walk_begin(struct session_walk *walk, struct server *server)
{
    walk->next = server->sessions.next;
    list_add_last(&server->walks, &walk->node);
}

struct session *session_walk_next(struct session_walk *walk, const struct server *server)
{
    struct list *node = walk->next;

    if (node == &server->sessions) {
        return NULL;
    }
    walk->next = node->next;
    return LIST_ENTRY(node, struct session, node);
}

void session_walk_end(struct session_walk *walk)
{
    list_remove(&walk->node);
}

void session_walks_pass(const struct session *session)
{
    struct list *walks = &session->server->walks;

    for (struct list *node = walks->next; node != walks; node = node->next) {
        struct session_walk *walk = LIST_ENTRY(node, struct session_walk, node);
        walk->next = walk->next == &session->node ? session->node.next : walk->next;
    }
}

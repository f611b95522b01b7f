/* SPDX-License-Identifier: Apache-2.0
 *
 * Going through all sessions in steps, with turns of the loop in between. */
#include "server/server.h"

void session_iterator_begin(struct session_iterator *iterator, struct server *server)
{
    iterator->next = server->sessions.next;
    list_add_last(&server->iterators, &iterator->node);
}

struct session *session_iterator_next(struct session_iterator *iterator,
                                      const struct server *server)
{
    struct list *node = iterator->next;

    if (node == &server->sessions) {
        return NULL;
    }
    iterator->next = node->next;
    return LIST_ENTRY(node, struct session, node);
}

void session_iterator_end(struct session_iterator *iterator)
{
    list_remove(&iterator->node);
}

void session_iterators_pass(const struct session *session)
{
    struct list *iterators = &session->server->iterators;

    for (struct list *node = iterators->next; node != iterators; node = node->next) {
        struct session_iterator *iterator = LIST_ENTRY(node, struct session_iterator, node);
        iterator->next = iterator->next == &session->node ? session->node.next : iterator->next;
    }
}

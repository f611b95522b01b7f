/* SPDX-License-Identifier: Apache-2.0
 *
 * An intrusive, circular, doubly linked list. The head is a node of its own; an empty list points
 * at itself. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

/* The struct that contains `node` as its member. */
#define LIST_ENTRY(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

static inline void list_init(struct list *head)
{
    head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

static inline void list_add_last(struct list *head, struct list *node)
{
    node->next = head;
    node->prev = head->prev;
    head->prev->next = node;
    head->prev = node;
}

static inline void list_add_first(struct list *head, struct list *node)
{
    list_add_last(head->next, node);
}

/* Moves all of a list in front of what stands in another. */
static inline void list_move_first(struct list *head, struct list *from)
{
    if (from->next != from) {
        from->prev->next = head->next;
        head->next->prev = from->prev;
        head->next = from->next;
        from->next->prev = head;
        list_init(from);
    }
}

static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
}

#endif

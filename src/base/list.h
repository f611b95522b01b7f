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

/* Moves all nodes of the list `from` behind those of another, in their order. */
static inline void list_splice_last(struct list *head, struct list *from)
{
    if (!list_empty(from)) {
        from->next->prev = head->prev;
        from->prev->next = head;
        head->prev->next = from->next;
        head->prev = from->prev;
        list_init(from);
    }
}

/* Moves all nodes of the list `from` in front of those of another, in their order. */
static inline void list_splice_first(struct list *head, struct list *from)
{
    list_splice_last(head->next, from);
}

static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
}

#endif

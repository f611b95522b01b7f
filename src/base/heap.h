/* SPDX-License-Identifier: Apache-2.0
 *
 * An intrusive binary heap of things that fall due: the earliest comes first. Its nodes stand in
 * the things themselves, so that nothing is allocated and adding cannot fail. Adding, removing and
 * moving one of n take O(log n) steps, also in the worst case. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/list.h"

#include <stdint.h>

struct heap_node {
    struct heap_node *parent, *left, *right;
    int64_t due;
    bool in; /* a heap: all zero is a node that is in none */
};

/* All zero is an empty heap. */
struct heap {
    struct heap_node *first; /* the earliest; NULL if it is empty */
    size_t count;
};

/* The node is in no heap yet. */
void heap_add(struct heap *heap, struct heap_node *node, int64_t due);

/* Nothing happens if it is in no heap. */
void heap_remove(struct heap *heap, struct heap_node *node);

/* Adds the node, or changes when it is due. */
void heap_move(struct heap *heap, struct heap_node *node, int64_t due);

#endif

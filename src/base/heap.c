/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap is a complete tree: all of its levels are full, but the lowest, which is filled from the
 * left. So the way to node number n, counted from 1 at the top, is given by the bits of n below
 * its highest one: 0 leads to the left, 1 to the right. */
#include "base/heap.h"

#include "base/check.h"

/* The link that leads to node number `number`, which may be the first that is not there yet. */
static struct heap_node **link_to(struct heap *heap, size_t number, struct heap_node **parent)
{
    struct heap_node **link = &heap->first;
    size_t bit = 1;

    *parent = NULL;
    while (bit <= number / 2) {
        bit <<= 1;
    }
    for (bit >>= 1; bit > 0; bit >>= 1) {
        *parent = *link;
        link = number & bit ? &(*link)->right : &(*link)->left;
    }
    return link;
}

/* The link that leads to a node of the heap. */
static struct heap_node **link_of(struct heap *heap, const struct heap_node *node)
{
    struct heap_node *parent = node->parent;

    return parent == NULL ? &heap->first : parent->left == node ? &parent->left : &parent->right;
}

static void set_parent(struct heap_node *node, struct heap_node *parent)
{
    if (node != NULL) {
        node->parent = parent;
    }
}

/* Puts a child in the place of its parent, and the parent in the child's. */
static void swap(struct heap *heap, struct heap_node *parent, struct heap_node *child)
{
    struct heap_node *left = child->left, *right = child->right;

    *link_of(heap, parent) = child;
    child->parent = parent->parent;
    if (parent->left == child) {
        child->left = parent;
        child->right = parent->right;
        set_parent(child->right, child);
    } else {
        child->left = parent->left;
        child->right = parent;
        set_parent(child->left, child);
    }
    parent->parent = child;
    parent->left = left;
    parent->right = right;
    set_parent(left, parent);
    set_parent(right, parent);
}

/* Moves a node up or down to where it belongs. */
static void settle(struct heap *heap, struct heap_node *node)
{
    while (node->parent != NULL && node->due < node->parent->due) {
        swap(heap, node->parent, node);
    }
    for (;;) {
        struct heap_node *least = node;
        if (node->left != NULL && node->left->due < least->due) {
            least = node->left;
        }
        if (node->right != NULL && node->right->due < least->due) {
            least = node->right;
        }
        if (least == node) {
            return;
        }
        swap(heap, node, least);
    }
}

void heap_add(struct heap *heap, struct heap_node *node, int64_t due)
{
    CHECK(!node->in);
    struct heap_node *parent;
    struct heap_node **link = link_to(heap, heap->count + 1, &parent);

    *node = (struct heap_node){.parent = parent, .due = due, .in = true};
    *link = node;
    heap->count++;
    settle(heap, node);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    struct heap_node *parent;

    if (!node->in) {
        return;
    }
    CHECK(heap->count > 0);
    struct heap_node **link = link_to(heap, heap->count, &parent);
    struct heap_node *last = *link;
    *link = NULL;
    heap->count--;
    if (last != node) { /* the last one takes its place */
        *link_of(heap, node) = last;
        last->parent = node->parent;
        last->left = node->left;
        last->right = node->right;
        set_parent(last->left, last);
        set_parent(last->right, last);
        settle(heap, last);
    }
    *node = (struct heap_node){.in = false};
}

void heap_move(struct heap *heap, struct heap_node *node, int64_t due)
{
    if (!node->in) {
        heap_add(heap, node, due);
        return;
    }
    node->due = due;
    settle(heap, node);
}

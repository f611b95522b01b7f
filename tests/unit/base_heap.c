/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap: the earliest is always first, however nodes come, move and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/random.h"

#define NODES 500
#define STEPS 20000

static struct heap_node nodes[NODES];

static uint32_t draw(struct random *random, uint32_t below)
{
    uint32_t drawn;

    random_bytes(random, &drawn, sizeof drawn);
    return drawn % below;
}

/* Counts the nodes of a part of the tree, each of which is no earlier than the one above it. */
static size_t count_ordered(const struct heap_node *node, const struct heap_node *parent)
{
    if (node == NULL) {
        return 0;
    }
    assert_ptr_equal(node->parent, parent);
    assert_true(node->in);
    assert_true(parent == NULL || parent->due <= node->due);
    return 1 + count_ordered(node->left, node) + count_ordered(node->right, node);
}

static size_t count_in(void)
{
    size_t count = 0;

    for (int i = 0; i < NODES; i++) {
        count += nodes[i].in;
    }
    return count;
}

static void the_earliest_is_first_whatever_happens(void **state)
{
    struct heap heap = {0};
    struct random random;

    (void)state;
    random_init(&random);
    for (int step = 0; step < STEPS; step++) {
        struct heap_node *node = &nodes[draw(&random, NODES)];
        int64_t due = draw(&random, 100);
        if (draw(&random, 3) == 0) {
            heap_remove(&heap, node);
            assert_false(node->in);
        } else {
            heap_move(&heap, node, due);
            assert_int_equal(node->due, due);
        }
        assert_int_equal(count_ordered(heap.first, NULL), heap.count);
        assert_int_equal(count_in(), heap.count);
    }
    while (heap.first != NULL) {
        heap_remove(&heap, heap.first);
        assert_int_equal(count_ordered(heap.first, NULL), heap.count);
    }
    assert_int_equal(heap.count, 0);
}

static void all_come_out_in_order(void **state)
{
    struct heap heap = {0};
    int64_t last = INT64_MIN;

    (void)state;
    for (int i = 0; i < NODES; i++) {
        nodes[i] = (struct heap_node){0};
        heap_add(&heap, &nodes[i], (i * 7919) % NODES);
    }
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(heap.first->due, i);
        assert_true(heap.first->due > last);
        last = heap.first->due;
        heap_remove(&heap, heap.first);
    }
    assert_null(heap.first);
}

static void a_node_in_no_heap_is_not_removed(void **state)
{
    struct heap heap = {0};
    struct heap_node in = {0}, out = {0};

    (void)state;
    heap_add(&heap, &in, 5);
    heap_remove(&heap, &out);
    assert_int_equal(heap.count, 1);
    assert_ptr_equal(heap.first, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_is_first_whatever_happens),
        cmocka_unit_test(all_come_out_in_order),
        cmocka_unit_test(a_node_in_no_heap_is_not_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

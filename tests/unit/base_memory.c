/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory is counted, and when there is none, whoever asked is left as it was. Every structure that
 * grows is denied its first, its second, … allocation in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/slab.h"
#include "base/table.h"

/* Memory that runs out after so many allocations. */
struct scarce {
    struct memory memory;
    int left;
};

static void *resize_scarce(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    struct scarce *scarce = (struct scarce *)memory;

    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return scarce->left-- > 0 ? realloc(block, new_size) : NULL;
}

static void *zeroed_scarce(struct memory *memory, size_t size)
{
    struct scarce *scarce = (struct scarce *)memory;

    return scarce->left-- > 0 ? calloc(1, size) : NULL;
}

static struct scarce scarce_memory(int allocations)
{
    return (struct scarce){{.resize = resize_scarce, .zeroed = zeroed_scarce}, allocations};
}

static bool is_index(const void *context, uint32_t index)
{
    return *(const uint32_t *)context == index;
}

static void memory_in_use_is_counted(void **state)
{
    struct memory memory;

    (void)state;
    memory_init(&memory);
    char *a = memory_get(&memory, 100);
    char *b = memory_get(&memory, 50);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(memory.used, 112 + 64); /* with what malloc() takes for itself */
    memset(a, 1, 100);
    a = memory_resize(&memory, a, 100, 300);
    assert_non_null(a);
    assert_int_equal(a[99], 1);
    assert_int_equal(memory.used, 320 + 64);
    memory_free(&memory, b, 50);
    assert_int_equal(memory.used, 320);
    assert_null(memory_resize(&memory, a, 300, 0));
    assert_int_equal(memory.used, 0);
    b = memory_zeroed(&memory, 50);
    assert_non_null(b);
    assert_int_equal(b[0] + b[49], 0);
    assert_int_equal(memory.used, 64);
    memory_free(&memory, b, 50);
    memory_free(&memory, NULL, 7);
    assert_int_equal(memory.used, 0);
}

static void failed_resize_leaves_the_block_and_the_count(void **state)
{
    struct scarce scarce = scarce_memory(1);

    (void)state;
    char *block = memory_get(&scarce.memory, 10);
    assert_non_null(block);
    memset(block, 'x', 10);
    assert_null(memory_resize(&scarce.memory, block, 10, 1000));
    assert_null(memory_get(&scarce.memory, 10));
    assert_null(memory_zeroed(&scarce.memory, 10));
    assert_memory_equal(block, "xxxxxxxxxx", 10);
    assert_int_equal(scarce.memory.used, 32);
    assert_int_equal(scarce.memory.refused, 3);
    memory_free(&scarce.memory, block, 10);
    assert_int_equal(scarce.memory.used, 0);
}

static void buffer_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    for (int allocations = 0; allocations < 8; allocations++) {
        struct scarce scarce = scarce_memory(allocations);
        struct buffer buffer;
        size_t size = 0;

        buffer_init(&buffer, &scarce.memory);
        while (!buffer.failed) {
            size = buffer.size;
            buffer_text(&buffer, "0123456789");
        }
        assert_int_equal(buffer.size, size);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(buffer.data[i], '0' + (int)(i % 10));
        }
        scarce.left = 1; /* too late: a piece is missing already */
        buffer_text(&buffer, "more");
        assert_int_equal(buffer.size, size);
        buffer_free(&buffer);
        assert_int_equal(scarce.memory.used, 0);
    }
}

static void table_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    for (int allocations = 0; allocations < 8; allocations++) {
        struct scarce scarce = scarce_memory(allocations);
        struct table table;
        uint32_t count = 0;

        table_init(&table, &scarce.memory);
        while (table_add(&table, count * 31, count)) {
            count++;
        }
        assert_int_equal(table.count, count);
        assert_false(table_reserve(&table, 1));
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(table_find(&table, i * 31, is_index, &i), i);
        }
        scarce.left = 2; /* slots, and where they are */
        assert_true(table_add(&table, count * 31, count));
        table_free(&table);
        assert_int_equal(scarce.memory.used, 0);
    }
}

static void slab_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    for (int allocations = 0; allocations < 12; allocations++) {
        struct scarce scarce = scarce_memory(allocations);
        struct slab slab;
        uint32_t count = 0, index;

        slab_init(&slab, &scarce.memory, 8);
        while ((index = slab_take(&slab)) != NONE) {
            memcpy(slab_at(&slab, index), &index, sizeof index);
            count++;
        }
        assert_int_equal(slab.count, count);
        assert_false(slab_reserve(&slab, 1));
        for (uint32_t i = 0; i < count; i++) {
            assert_memory_equal(slab_at(&slab, i), &i, sizeof i);
        }
        assert_int_equal(slab_next(&slab, count), NONE);
        scarce.left = 2;
        assert_int_equal(slab_take(&slab), count);
        slab_free(&slab);
        assert_int_equal(scarce.memory.used, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_in_use_is_counted),
        cmocka_unit_test(failed_resize_leaves_the_block_and_the_count),
        cmocka_unit_test(buffer_without_memory_keeps_what_it_has),
        cmocka_unit_test(table_without_memory_keeps_what_it_has),
        cmocka_unit_test(slab_without_memory_keeps_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

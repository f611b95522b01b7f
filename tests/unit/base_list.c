/* SPDX-License-Identifier: Apache-2.0
 *
 * The linked list keeps its order whatever is taken out of it. So do the chains through records
 * that agendas are made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/agenda.h"

enum { ITEMS = 6 };

struct item {
    int number;
    struct list link;
};

/* The items still in the list, as bits, in ascending order both ways. */
static unsigned members(const struct list *head)
{
    unsigned forwards = 0, backwards = 0;
    int last = -1;

    for (struct list *at = head->next; at != head; at = at->next) {
        int number = LIST_ENTRY(at, struct item, link)->number;
        assert_true(number > last);
        last = number;
        forwards |= 1U << number;
    }
    for (struct list *at = head->prev; at != head; at = at->prev) {
        backwards |= 1U << LIST_ENTRY(at, struct item, link)->number;
    }
    assert_int_equal(forwards, backwards);
    return forwards;
}

static void empty_list_is_empty(void **state)
{
    struct list head;

    (void)state;
    list_init(&head);
    assert_true(list_empty(&head));
    assert_int_equal(members(&head), 0);
}

/* Every subset of items is taken out, ascending and descending. */
static void list_keeps_its_order_whatever_is_removed(void **state)
{
    (void)state;
    for (unsigned gone = 0; gone < 2U << ITEMS; gone++) {
        bool descending = gone >> ITEMS & 1;
        struct item items[ITEMS];
        struct list head;

        list_init(&head);
        for (int i = 0; i < ITEMS; i++) {
            items[i].number = i;
            list_add_last(&head, &items[i].link);
        }
        for (int i = 0; i < ITEMS; i++) {
            int which = descending ? ITEMS - 1 - i : i;
            if (gone >> which & 1) {
                list_remove(&items[which].link);
            }
        }
        unsigned all = (1U << ITEMS) - 1;
        assert_int_equal(members(&head), all & ~gone);
        assert_int_equal(list_empty(&head), (all & ~gone) == 0);
    }
}

/* Every way to share the items out over two lists: those of the first come before the others. */
static void spliced_lists_keep_their_order(void **state)
{
    (void)state;
    for (int split = 0; split <= ITEMS; split++) {
        for (int to_the_end = 0; to_the_end < 2; to_the_end++) {
            struct item items[ITEMS];
            struct list low, high;

            list_init(&low);
            list_init(&high);
            for (int i = 0; i < ITEMS; i++) {
                items[i].number = i;
                list_add_last(i < split ? &low : &high, &items[i].link);
            }
            if (to_the_end) {
                list_splice_last(&low, &high);
            } else {
                list_splice_first(&high, &low);
            }
            assert_int_equal(members(to_the_end ? &low : &high), (1U << ITEMS) - 1);
            assert_true(list_empty(to_the_end ? &high : &low));
        }
    }
}

static unsigned chained(const struct slab *slab, uint32_t head)
{
    unsigned seen = 0;

    if (head == NONE) {
        return 0;
    }
    uint32_t at = head;
    do {
        const struct timer *timer = slab_at(slab, at);
        const struct timer *next = slab_at(slab, timer->next);
        assert_int_equal(next->prev, at);
        assert_true(timer->next > at || timer->next == head);
        seen |= 1U << at;
        at = timer->next;
    } while (at != head);
    return seen;
}

static void chain_keeps_its_order_whatever_is_removed(void **state)
{
    struct memory memory;
    struct slab slab;

    (void)state;
    memory_init(&memory);
    slab_init(&slab, &memory, sizeof(struct timer));
    for (uint32_t i = 0; i < ITEMS; i++) {
        assert_int_equal(slab_take(&slab), i);
    }
    for (unsigned gone = 0; gone < 1U << ITEMS; gone++) {
        uint32_t head = NONE;
        for (uint32_t i = 0; i < ITEMS; i++) {
            timer_chain_append(&slab, 0, &head, i);
        }
        for (uint32_t i = 0; i < ITEMS; i++) {
            if (gone >> i & 1) {
                timer_chain_remove(&slab, 0, &head, i);
            }
        }
        assert_int_equal(chained(&slab, head), ((1U << ITEMS) - 1) & ~gone);
    }
    slab_free(&slab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_list_is_empty),
        cmocka_unit_test(list_keeps_its_order_whatever_is_removed),
        cmocka_unit_test(spliced_lists_keep_their_order),
        cmocka_unit_test(chain_keeps_its_order_whatever_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

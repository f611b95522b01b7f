/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine without memory: every command is answered all the same, with BUSY, has changed nothing,
 * and is carried out when it comes again with enough. */
#include "journal_fixture.h"

#include "engine/embedded_state.h"

#include <stdlib.h>

/* ---- memory that fails ----------------------------------------------------------------------- */

/* What is left before every allocation fails; what is given back is not counted. */
static unsigned left;

static bool spend(void)
{
    return left > 0 && left-- > 0;
}

static void *failing_resize(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    (void)memory;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return spend() ? realloc(block, new_size) : NULL;
}

static void *failing_zeroed(struct memory *memory, size_t size)
{
    (void)memory;
    return spend() ? calloc(1, size) : NULL;
}

/* Lets so many allocations of replies and of those who wait succeed, and no more. */
static void leave_memory(struct kept *k, unsigned allocations)
{
    struct memory *scratch = &embedded_self(k->engine)->scratch;

    left = allocations;
    scratch->resize = failing_resize;
    scratch->zeroed = failing_zeroed;
}

static void give_memory_back(struct kept *k)
{
    struct memory *scratch = &embedded_self(k->engine)->scratch;
    size_t used = scratch->used;

    memory_init(scratch);
    scratch->used = used;
}

/* Submits the command with one more allocation each time until it is carried out. Gives how often
 * it was refused. */
static unsigned refusals(struct kept *k, const char *words)
{
    unsigned allocations = 0;

    for (;; allocations++) {
        uint64_t before = embedded_digest(k->engine);
        leave_memory(k, allocations);
        struct answer *answer = submit(k, words);
        give_memory_back(k);
        if (answer->times == 0 || answer->code != HF_BUSY) {
            break;
        }
        assert_int_equal(answer->times, 1);
        assert_true(embedded_digest(k->engine) == before);
        assert_true(allocations < 30);
    }
    return allocations;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void in_a_directory_a_command_without_memory_is_answered(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    assert_true(refusals(k, "SEATS.OPEN gala floor 10") > 0);
    flush_engine(k);
    expect_json(k, "SEATS.ZONE gala floor",
                "{\"capacity\":10,\"available\":10,\"reserved\":0,\"confirmed\":0}");
    expect_sound(k);
}

/* A read behind a write that is not on disk yet has to be put off too. */
static void so_is_a_read_behind_a_write(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    struct answer *write = submit(k, "SEATS.OPEN gala floor 10");
    assert_true(refusals(k, "SEATS.ZONE gala floor") > 0);
    assert_int_equal(write->times, 0);
    flush_engine(k);
    assert_int_equal(write->times, 1);
    assert_int_equal(write->code, HF_OK);
}

static void so_is_a_command_that_may_wait(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    assert_true(refusals(k, "SEM.ACQUIRE door a 1 WAIT 60000") > 0);
    struct answer *waiter = submit(k, "SEM.ACQUIRE door b 1 WAIT 60000");
    expect_code(k, "SEM.RELEASE door a", HF_OK);
    assert_int_equal(waiter->times, 1);
    assert_int_equal(waiter->code, HF_OK);
    expect_sound(k);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kept_setup, kept_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_a_directory_a_command_without_memory_is_answered),
        TEST(so_is_a_read_behind_a_write),
        TEST(so_is_a_command_that_may_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

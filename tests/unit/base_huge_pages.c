/* SPDX-License-Identifier: Apache-2.0
 *
 * Huge pages that a thread finds ahead of time: they are as good as any other memory, and there are
 * as many as anybody wants, whether or not the thread is quick enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/huge_pages.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 40 };

static void fill(struct memory *memory, char **blocks)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = memory_zeroed(memory, HUGE_PAGE);
        assert_non_null(blocks[i]);
        assert_int_equal(blocks[i][0], 0);
        assert_memory_equal(blocks[i], blocks[i] + 1, HUGE_PAGE - 1); /* all of it is */
        memset(blocks[i], 0xff, HUGE_PAGE);
    }
}

static void give_back(struct memory *memory, char **blocks)
{
    for (int i = 0; i < BLOCKS; i++) {
        memory_free(memory, blocks[i], HUGE_PAGE);
    }
    assert_int_equal(memory->used, 0);
}

static void blocks_are_zeroed_also_after_they_were_used(void **state)
{
    struct memory memory;
    char *blocks[BLOCKS];

    (void)state;
    memory_init(&memory);
    huge_pages_ahead(&memory, HUGE_PAGE);
    for (int round = 0; round < 3; round++) {
        fill(&memory, blocks);
        give_back(&memory, blocks);
    }
    huge_pages_end(&memory);
    assert_null(memory.ahead);
}

static void blocks_outlive_the_thread(void **state)
{
    struct memory memory;
    char *blocks[BLOCKS];

    (void)state;
    memory_init(&memory);
    huge_pages_ahead(&memory, 0);
    fill(&memory, blocks);
    huge_pages_end(&memory);
    give_back(&memory, blocks);
}

static void thread_that_was_never_needed_ends_too(void **state)
{
    struct memory memory;

    (void)state;
    memory_init(&memory);
    huge_pages_ahead(&memory, SIZE_MAX);
    void *block = memory_zeroed(&memory, 100);
    memory_free(&memory, block, 100);
    huge_pages_end(&memory);
    huge_pages_end(&memory); /* without one it does nothing */
}

/* Whatever the thread has ready: those that it lacks are made where they are needed. */
static void blocks_are_zeroed_when_they_are_wanted_at_once(void **state)
{
    struct memory memory;
    char *blocks[BLOCKS];

    (void)state;
    memory_init(&memory);
    huge_pages_at_once(&memory, true); /* without a thread it does nothing */
    huge_pages_ahead(&memory, HUGE_PAGE);
    for (int round = 0; round < 3; round++) {
        huge_pages_at_once(&memory, round != 1);
        fill(&memory, blocks);
        give_back(&memory, blocks);
    }
    huge_pages_end(&memory);
}

/* A child of fork() has no thread, and finds what it needs itself. */
static void child_does_without_the_thread(void **state)
{
    struct memory memory;
    char *blocks[BLOCKS];
    int status;

    (void)state;
    memory_init(&memory);
    huge_pages_ahead(&memory, 0);
    fill(&memory, blocks);
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            char *more[BLOCKS];
            fill(&memory, more);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    give_back(&memory, blocks);
    huge_pages_end(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed_also_after_they_were_used),
        cmocka_unit_test(blocks_outlive_the_thread),
        cmocka_unit_test(thread_that_was_never_needed_ends_too),
        cmocka_unit_test(blocks_are_zeroed_when_they_are_wanted_at_once),
        cmocka_unit_test(child_does_without_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

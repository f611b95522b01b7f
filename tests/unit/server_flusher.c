/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that waits for the disk: one batch at a time, awaited or not, and none left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/flusher.h"

#include <semaphore.h>

/* An engine whose disk takes until the test lets it go on. */
struct slow_engine {
    struct engine engine;
    sem_t disk;
    sem_t woken;
    unsigned flushed;
};

static void flush_work(struct engine *engine)
{
    struct slow_engine *slow = (struct slow_engine *)engine;

    while (sem_wait(&slow->disk) != 0) {}
    slow->flushed++;
}

static const struct engine_type slow_type = {.flush_work = flush_work};

static void wake(void *context)
{
    sem_post(&((struct slow_engine *)context)->woken);
}

static void begin(struct slow_engine *slow, struct flusher *flusher)
{
    *slow = (struct slow_engine){.engine = {.type = &slow_type}};
    sem_init(&slow->disk, 0, 0);
    sem_init(&slow->woken, 0, 0);
    flusher_start(flusher, wake, slow);
}

static void end(struct slow_engine *slow, struct flusher *flusher)
{
    flusher_stop(flusher);
    sem_destroy(&slow->disk);
    sem_destroy(&slow->woken);
}

static void the_caller_is_woken_when_a_batch_is_done_that_it_did_not_wait_for(void **state)
{
    struct slow_engine slow;
    struct flusher flusher;

    (void)state;
    begin(&slow, &flusher);
    for (unsigned i = 1; i <= 100; i++) {
        flusher_begin(&flusher, &slow.engine);
        assert_false(flusher_wait(&flusher, 0));
        sem_post(&slow.disk);
        while (sem_wait(&slow.woken) != 0) {}
        assert_true(flusher_wait(&flusher, 0));
        assert_int_equal(slow.flushed, i);
    }
    end(&slow, &flusher);
}

static void a_wait_ends_when_its_time_is_over(void **state)
{
    struct slow_engine slow;
    struct flusher flusher;

    (void)state;
    begin(&slow, &flusher);
    flusher_begin(&flusher, &slow.engine);
    assert_false(flusher_wait(&flusher, 1000));
    sem_post(&slow.disk);
    assert_true(flusher_wait(&flusher, -1));
    assert_int_equal(slow.flushed, 1);
    assert_true(flusher_last_ns(&flusher) > 0);
    end(&slow, &flusher);
}

static void the_end_waits_for_the_batch_in_flight(void **state)
{
    struct slow_engine slow;
    struct flusher flusher;

    (void)state;
    begin(&slow, &flusher);
    flusher_begin(&flusher, &slow.engine);
    sem_post(&slow.disk);
    end(&slow, &flusher);
    assert_int_equal(slow.flushed, 1);
}

static void without_a_thread_it_is_done_at_once(void **state)
{
    struct slow_engine slow = {.engine = {.type = &slow_type}};
    struct flusher flusher = {.threaded = false};

    (void)state;
    sem_init(&slow.disk, 0, 1);
    flusher_begin(&flusher, &slow.engine);
    assert_true(flusher_wait(&flusher, 0));
    assert_int_equal(slow.flushed, 1);
    flusher_stop(&flusher);
    sem_destroy(&slow.disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_caller_is_woken_when_a_batch_is_done_that_it_did_not_wait_for),
        cmocka_unit_test(a_wait_ends_when_its_time_is_over),
        cmocka_unit_test(the_end_waits_for_the_batch_in_flight),
        cmocka_unit_test(without_a_thread_it_is_done_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

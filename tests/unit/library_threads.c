/* SPDX-License-Identifier: Apache-2.0
 *
 * One handle, many threads: never more than there is, waiters in the order of arrival, and woken
 * though nobody else calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static int open_handle(void **state)
{
    return hf_open("embedded:", (hf_handle **)state) != HF_OK;
}

/* Whatever the threads did, the state is sound. */
static int close_handle(void **state)
{
    uint64_t findings = 1;
    enum hf_error code = hf_audit(*state, NULL, NULL, &findings);

    hf_close(*state);
    return code != HF_OK || findings != 0;
}

#define THREADS 8

/* ---- a rush ---------------------------------------------------------------------------------- */

#define SEATS 1000

struct buyer {
    hf_handle *handle;
    pthread_t thread;
    int number;
    int granted, refused, other;
};

static void *buy(void *context)
{
    struct buyer *buyer = context;

    for (int i = 0; i < SEATS / 4; i++) { /* together they want twice as much as there is */
        char booking[32], user[32];
        snprintf(booking, sizeof booking, "b-%d-%d", buyer->number, i);
        snprintf(user, sizeof user, "u-%d", i % 50);
        struct hf_seats_reserve_args ask = {HF_TEXT("gala"),  HF_TEXT("floor"),
                                            hf_text(booking), hf_text(user),
                                            .quantity = 1,    .max_per_user = SEATS};
        enum hf_error code = hf_seats_reserve(buyer->handle, &ask, NULL);
        buyer->granted += code == HF_OK;
        buyer->refused += code == HF_INSUFFICIENT_STOCK;
        buyer->other += code != HF_OK && code != HF_INSUFFICIENT_STOCK;
    }
    return NULL;
}

static void a_rush_for_1000_seats_sells_exactly_1000(void **state)
{
    struct hf_seats_open_args open = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = SEATS};
    struct hf_seats_zone_args look = {HF_TEXT("gala"), HF_TEXT("floor")};
    struct hf_seats_zone_reply zone;
    struct buyer buyers[THREADS];
    int granted = 0, refused = 0;
    uint64_t findings = 1;

    assert_int_equal(hf_seats_open(*state, &open, NULL), HF_OK);
    for (int i = 0; i < THREADS; i++) {
        buyers[i] = (struct buyer){.handle = *state, .number = i};
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, buy, &buyers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(buyers[i].thread, NULL);
        granted += buyers[i].granted;
        refused += buyers[i].refused;
        assert_int_equal(buyers[i].other, 0);
    }
    assert_int_equal(granted, SEATS);
    assert_int_equal(refused, SEATS);
    assert_int_equal(hf_seats_zone(*state, &look, &zone), HF_OK);
    assert_int_equal(zone.available, 0);
    assert_int_equal(zone.reserved, SEATS);
    assert_int_equal(hf_audit(*state, NULL, NULL, &findings), HF_OK);
    assert_int_equal(findings, 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct waiter {
    hf_handle *handle;
    pthread_t thread;
    char id[16];
    int64_t limit, wait_ms;
    bool release; /* at once, when it got the slot */
    enum hf_error code;
    struct hf_sem_acquire_reply reply;
    char message[400];
};

static void *acquire(void *context)
{
    struct waiter *waiter = context;
    struct hf_sem_acquire_args args = {HF_TEXT("gpu"), hf_text(waiter->id), .limit = waiter->limit,
                                       .wait_ms = waiter->wait_ms};
    struct hf_sem_release_args leave = {HF_TEXT("gpu"), hf_text(waiter->id)};

    waiter->code = hf_sem_acquire(waiter->handle, &args, &waiter->reply);
    if (waiter->code != HF_OK) {
        strncpy(waiter->message, hf_last_message(), sizeof waiter->message - 1);
    } else if (waiter->release) {
        hf_sem_release(waiter->handle, &leave, NULL);
    }
    return NULL;
}

static void start(struct waiter *waiter, hf_handle *handle, int number, int64_t wait_ms)
{
    *waiter = (struct waiter){.handle = handle, .limit = 1, .wait_ms = wait_ms, .release = true};
    snprintf(waiter->id, sizeof waiter->id, "w-%d", number);
    assert_int_equal(pthread_create(&waiter->thread, NULL, acquire, waiter), 0);
}

static struct hf_sem_stats_reply stats(hf_handle *handle)
{
    struct hf_sem_stats_args args = {HF_TEXT("gpu")};
    struct hf_sem_stats_reply reply;

    assert_int_equal(hf_sem_stats(handle, &args, &reply), HF_OK);
    return reply;
}

/* Until so many stand in line. */
static void await_waiting(hf_handle *handle, int64_t count)
{
    while (stats(handle).waiting != count) {
        sched_yield();
    }
}

static int64_t hold(hf_handle *handle, const char *id, int64_t heartbeat_ms)
{
    struct hf_sem_acquire_args args = {HF_TEXT("gpu"), hf_text(id), .limit = 1,
                                       .heartbeat_ms = heartbeat_ms};
    struct hf_sem_acquire_reply reply;

    assert_int_equal(hf_sem_acquire(handle, &args, &reply), HF_OK);
    return reply.fence;
}

static void let_go(hf_handle *handle, const char *id)
{
    struct hf_sem_release_args args = {HF_TEXT("gpu"), hf_text(id)};
    struct hf_sem_release_reply reply;

    assert_int_equal(hf_sem_release(handle, &args, &reply), HF_OK);
    assert_int_equal(reply.released, 1);
}

static void waiters_get_the_slot_in_the_order_of_arrival(void **state)
{
    struct waiter waiters[THREADS];
    int64_t fence = hold(*state, "holder", 0);

    for (int i = 0; i < THREADS; i++) {
        start(&waiters[i], *state, i, 600000);
        await_waiting(*state, i + 1);
    }
    let_go(*state, "holder");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(waiters[i].thread, NULL);
        assert_int_equal(waiters[i].code, HF_OK);
        assert_int_equal(waiters[i].reply.fence, fence + 1 + i);
        assert_int_equal(waiters[i].reply.in_use, 1);
    }
    assert_int_equal(stats(*state).in_use, 0);
}

static void a_wait_that_runs_out_leaves_no_trace(void **state)
{
    struct waiter waiter;

    int64_t fence = hold(*state, "holder", 0);
    start(&waiter, *state, 0, 30);
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.code, HF_TIMEOUT);
    assert_int_equal(waiter.reply.fence, 0);
    assert_string_not_equal(waiter.message, "");
    assert_int_equal(stats(*state).waiting, 0);
    let_go(*state, "holder");
    assert_int_equal(stats(*state).in_use, 0);
    assert_int_equal(hold(*state, "next", 0), fence + 1); /* nobody took a fence meanwhile */
}

static void each_wait_runs_out_at_its_own_time(void **state)
{
    static const int64_t waits[] = {600000, 20, 600000, 40, 10};
    struct waiter waiters[5];

    hold(*state, "holder", 0);
    for (int i = 0; i < 5; i++) {
        start(&waiters[i], *state, i, waits[i]);
    }
    for (int i = 0; i < 5; i++) {
        if (waits[i] < 1000) {
            pthread_join(waiters[i].thread, NULL);
            assert_int_equal(waiters[i].code, HF_TIMEOUT);
        }
    }
    await_waiting(*state, 2);
    let_go(*state, "holder");
    pthread_join(waiters[0].thread, NULL);
    pthread_join(waiters[2].thread, NULL);
    assert_int_equal(waiters[0].code, HF_OK);
    assert_int_equal(waiters[2].code, HF_OK);
}

static void a_waiter_is_granted_when_the_holder_dies_and_nobody_calls(void **state)
{
    struct waiter waiter;
    int64_t fence = hold(*state, "holder", 50);

    start(&waiter, *state, 0, 600000);
    pthread_join(waiter.thread, NULL); /* nobody but the waiter itself is there to notice */
    assert_int_equal(waiter.code, HF_OK);
    assert_int_equal(waiter.reply.fence, fence + 1);
}

static void a_waiter_learns_of_an_earlier_deadline(void **state)
{
    struct hf_sem_ping_args ping = {HF_TEXT("gpu"), HF_TEXT("holder"), 30, 600000};
    struct hf_sem_ping_reply alive;
    struct waiter waiter;

    hold(*state, "holder", 600000);
    start(&waiter, *state, 0, 600000);
    await_waiting(*state, 1); /* it sleeps for minutes now */
    assert_int_equal(hf_sem_ping(*state, &ping, &alive), HF_OK);
    assert_int_equal(alive.changed_slot, 1);
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.code, HF_OK);
}

static void releasing_one_who_waits_answers_its_call(void **state)
{
    struct waiter waiter;

    hold(*state, "holder", 0);
    start(&waiter, *state, 0, 600000);
    await_waiting(*state, 1);
    let_go(*state, "w-0");
    pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.code, HF_TIMEOUT);
    assert_int_equal(stats(*state).waiting, 0);
}

static void a_second_call_with_the_same_id_takes_the_place_over(void **state)
{
    struct waiter first, other, second;

    hold(*state, "holder", 0);
    start(&first, *state, 0, 600000);
    await_waiting(*state, 1);
    start(&other, *state, 1, 600000);
    await_waiting(*state, 2);
    start(&second, *state, 0, 600000);
    pthread_join(first.thread, NULL);
    assert_int_equal(first.code, HF_TIMEOUT);
    let_go(*state, "holder");
    pthread_join(second.thread, NULL);
    pthread_join(other.thread, NULL);
    assert_int_equal(second.code, HF_OK);
    assert_int_equal(other.code, HF_OK);
    assert_true(second.reply.fence < other.reply.fence);
}

/* ---- everything at once ---------------------------------------------------------------------- */

static void *work(void *context)
{
    struct buyer *worker = context;
    char id[16];

    snprintf(id, sizeof id, "c-%d", worker->number);
    for (int i = 0; i < 200; i++) {
        struct hf_sem_acquire_args slot = {HF_TEXT("gpu"), hf_text(id), .limit = 2,
                                           .wait_ms = 600000};
        struct hf_sem_release_args leave = {HF_TEXT("gpu"), hf_text(id)};
        struct hf_sem_acquire_reply reply = {0};
        struct hf_lock_try_args lock = {HF_TEXT("seat-1"), .ttl_ms = 10};
        struct hf_lock_try_reply locked;
        bool got = hf_sem_acquire(worker->handle, &slot, &reply) == HF_OK;
        worker->granted += got && reply.in_use <= 2;
        if (hf_lock_try(worker->handle, &lock, &locked) == HF_OK) {
            struct hf_lock_unlock_args open = {HF_TEXT("seat-1"), hf_text(locked.lock_id)};
            hf_lock_unlock(worker->handle, &open, NULL);
        }
        hf_sem_release(worker->handle, &leave, NULL);
    }
    return NULL;
}

static void slots_and_locks_survive_a_crowd(void **state)
{
    struct buyer workers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct buyer){.handle = *state, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].granted, 200);
    }
    assert_int_equal(stats(*state).in_use, 0);
    assert_int_equal(stats(*state).waiting, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_handle, close_handle)
    const struct CMUnitTest tests[] = {
        CASE(a_rush_for_1000_seats_sells_exactly_1000),
        CASE(waiters_get_the_slot_in_the_order_of_arrival),
        CASE(a_wait_that_runs_out_leaves_no_trace),
        CASE(each_wait_runs_out_at_its_own_time),
        CASE(a_waiter_is_granted_when_the_holder_dies_and_nobody_calls),
        CASE(a_waiter_learns_of_an_earlier_deadline),
        CASE(releasing_one_who_waits_answers_its_call),
        CASE(a_second_call_with_the_same_id_takes_the_place_over),
        CASE(slots_and_locks_survive_a_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases: kept alive however short the heartbeat, lost when the engine says so, when nothing gets
 * through, or at the end of the TTL, and never a moment after somebody else could have it. On an
 * engine in this process and on a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "library_handle_fixture.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define HEARTBEAT_MS 1000 /* a machine may be busy with other things for a while */
#define LONG_MS 60000

/* What `lost` was told. */
static struct losses {
    atomic_int count;
    char why[400];
    bool releases;               /* the report does that itself, of: */
    _Atomic(hf_lease *) release; /* set when the lease is there, which is lost at any moment */
    enum hf_error released;
    bool held; /* at the time of the report */
} losses;

static void note_loss(void *context, const char *why)
{
    struct losses *noted = context;

    snprintf(noted->why, sizeof noted->why, "%s", why);
    print_message("# lost: %s\n", why); /* shown if the test fails */
    if (noted->releases) {
        hf_lease *lease;
        while ((lease = atomic_load(&noted->release)) == NULL) {
            sched_yield();
        }
        noted->held = hf_lease_held(lease);
        noted->released = hf_lease_release(lease);
    }
    atomic_fetch_add(&noted->count, 1);
}

static void await_loss(void)
{
    while (atomic_load(&losses.count) == 0) {
        sched_yield();
    }
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int setup_local(void **state)
{
    (void)state;
    losses = (struct losses){.why = ""};
    return open_local();
}

static int setup_remote(void **state)
{
    (void)state;
    losses = (struct losses){.why = ""};
    return open_remote();
}

static hf_lease *lease_slot(const char *id, int64_t heartbeat_ms, int64_t ttl_ms, int64_t wait_ms)
{
    struct hf_sem_acquire_args args = {HF_TEXT("gpu"),   hf_text(id),
                                       .limit = 1,       .heartbeat_ms = heartbeat_ms,
                                       .ttl_ms = ttl_ms, .wait_ms = wait_ms};
    struct hf_sem_acquire_reply reply = {0};
    hf_lease *lease;

    assert_int_equal(hf_lease_slot(hf, &args, note_loss, &losses, &lease, &reply), HF_OK);
    assert_int_equal(hf_lease_fence(lease), reply.fence);
    assert_true(hf_lease_held(lease));
    return lease;
}

static hf_lease *lease_lock(int64_t ttl_ms, const char *id)
{
    struct hf_lock_try_args args = {HF_TEXT("seat"), ttl_ms, hf_text(id)};
    hf_lease *lease;

    assert_int_equal(hf_lease_lock(hf, &args, note_loss, &losses, &lease, NULL), HF_OK);
    return lease;
}

static int64_t in_use(void)
{
    struct hf_sem_card_args args = {HF_TEXT("gpu")};
    struct hf_sem_card_reply card;

    assert_int_equal(hf_sem_card(engine, &args, &card), HF_OK);
    return card.in_use;
}

static bool is_locked(void)
{
    struct hf_lock_get_args args = {HF_TEXT("seat")};
    return hf_lock_get(engine, &args, NULL) == HF_OK;
}

/* Takes the slot away behind the holder's back. */
static void take_away(const char *id)
{
    struct hf_sem_release_args args = {HF_TEXT("gpu"), hf_text(id)};
    struct hf_sem_release_reply reply;

    assert_int_equal(hf_sem_release(engine, &args, &reply), HF_OK);
    assert_int_equal(reply.released, 1);
}

/* Lets time pass in the engine: a wait for a slot that stays taken. */
static void spend(int64_t ms)
{
    struct hf_sem_acquire_args first = {HF_TEXT("idle"), HF_TEXT("a"), .limit = 1};
    struct hf_sem_acquire_args second = {HF_TEXT("idle"), HF_TEXT("b"), .limit = 1, .wait_ms = ms};

    assert_int_equal(hf_sem_acquire(engine, &first, NULL), HF_OK);
    assert_int_equal(hf_sem_acquire(engine, &second, NULL), HF_TIMEOUT);
}

/* ---- kept ------------------------------------------------------------------------------------ */

static void a_slot_is_kept_over_many_heartbeats(void **state)
{
    (void)state;
    hf_lease *lease = lease_slot("me", HEARTBEAT_MS, 0, 0);
    spend(3 * HEARTBEAT_MS);
    assert_true(hf_lease_held(lease));
    assert_int_equal(in_use(), 1);
    assert_int_equal(hf_lease_release(lease), HF_OK);
    assert_int_equal(in_use(), 0);
    assert_int_equal(losses.count, 0);
}

static void a_lock_is_kept_over_many_ttls(void **state)
{
    static const char *const ids[] = {"", "mine"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        hf_lease *lease = lease_lock(HEARTBEAT_MS, ids[i]);
        spend(2 * HEARTBEAT_MS);
        assert_true(hf_lease_held(lease));
        assert_true(is_locked());
        assert_int_equal(hf_lease_release(lease), HF_OK);
        assert_false(is_locked());
    }
    assert_int_equal(losses.count, 0);
}

static void many_leases_are_kept_at_once(void **state)
{
    hf_lease *leases[50];
    char id[16];

    (void)state;
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof id, "w-%d", i);
        struct hf_sem_acquire_args args = {HF_TEXT("gpu"), hf_text(id), .limit = 50,
                                           .heartbeat_ms = 4 * HEARTBEAT_MS};
        assert_int_equal(hf_lease_slot(hf, &args, note_loss, &losses, &leases[i], NULL), HF_OK);
    }
    spend(6 * HEARTBEAT_MS);
    assert_int_equal(in_use(), 50);
    for (int i = 0; i < 50; i++) {
        assert_true(hf_lease_held(leases[i]));
        assert_int_equal(hf_lease_release(leases[i]), HF_OK);
    }
    assert_int_equal(in_use(), 0);
}

/* A lock that is held already has less time left than its ttl: the lease sets it anew. */
static void a_lock_that_was_held_before_is_kept_from_now_on(void **state)
{
    struct hf_lock_try_args args = {HF_TEXT("seat"), .ttl_ms = LONG_MS, .id = HF_TEXT("mine")};
    struct hf_lock_get_args get = {HF_TEXT("seat")};
    struct hf_lock_get_reply before, after;

    (void)state;
    assert_int_equal(hf_lock_try(engine, &args, NULL), HF_OK);
    spend(1000); /* more than the machine may be busy with other things below */
    assert_int_equal(hf_lock_get(engine, &get, &before), HF_OK);
    hf_lease *lease = lease_lock(LONG_MS, "mine");
    assert_int_equal(hf_lock_get(engine, &get, &after), HF_OK);
    assert_true(after.ttl_ms > before.ttl_ms);
    assert_int_equal(hf_lease_release(lease), HF_OK);
}

static void a_refusal_leaves_no_lease(void **state)
{
    struct hf_sem_acquire_args slot = {HF_TEXT("gpu"), HF_TEXT("you"), .limit = 1};
    struct hf_lock_try_args lock = {HF_TEXT("seat"), .ttl_ms = LONG_MS};
    hf_lease *mine = lease_slot("me", LONG_MS, 0, 0), *locked = lease_lock(LONG_MS, "");
    hf_lease *lease = mine;

    (void)state;
    assert_int_equal(hf_lease_slot(hf, &slot, NULL, NULL, &lease, NULL), HF_NO_SLOT);
    assert_null(lease);
    lease = mine;
    assert_int_equal(hf_lease_lock(hf, &lock, NULL, NULL, &lease, NULL), HF_LOCKED);
    assert_null(lease);
    slot.id = hf_text("no{good");
    assert_int_equal(hf_lease_slot(hf, &slot, NULL, NULL, &lease, NULL), HF_INVALID_ID);
    assert_int_equal(hf_lease_release(mine), HF_OK);
    assert_int_equal(hf_lease_release(locked), HF_OK);
    assert_int_equal(hf_lease_release(NULL), HF_OK);
}

static void *let_go(void *context)
{
    hf_lease_release(context);
    return NULL;
}

/* The heartbeat counts from the grant, and the TTL: the wait before it does not count. */
static void a_lease_that_waited_begins_with_its_grant(void **state)
{
    pthread_t thread;
    hf_lease *first = lease_slot("first", LONG_MS, 0, 0);

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, let_go, first), 0);
    hf_lease *second = lease_slot("second", HEARTBEAT_MS, 0, LONG_MS);
    pthread_join(thread, NULL);
    assert_int_equal(hf_lease_release(second), HF_OK);
}

/* ---- lost ------------------------------------------------------------------------------------ */

static void a_slot_taken_away_is_lost_at_the_next_sign_of_life(void **state)
{
    int64_t start_ms = now_ms();

    (void)state;
    hf_lease *lease = lease_slot("me", 5000, 0, 0);
    take_away("me");
    await_loss();
    assert_true(now_ms() - start_ms < 4900); /* not when its time would have been over */
    assert_false(hf_lease_held(lease));
    assert_non_null(strstr(losses.why, "not held"));
    assert_int_equal(hf_lease_release(lease), HF_NOT_FOUND);
    assert_non_null(strstr(hf_last_message(), "lost"));
    assert_int_equal(losses.count, 1);
}

static void a_lock_taken_away_is_lost(void **state)
{
    struct hf_lock_unlock_args args = {HF_TEXT("seat"), HF_TEXT("mine")};

    (void)state;
    hf_lease *lease = lease_lock(500, "mine");
    assert_int_equal(hf_lock_unlock(engine, &args, NULL), HF_OK);
    await_loss();
    assert_false(hf_lease_held(lease));
    assert_int_equal(hf_lease_release(lease), HF_NOT_FOUND);
    assert_int_equal(losses.count, 1);
}

static void the_ttl_of_a_slot_ends_it_however_alive(void **state)
{
    int64_t start_ms = now_ms();

    (void)state;
    hf_lease *lease = lease_slot("me", LONG_MS, 300, 0);
    for (bool held = true; held; sched_yield()) {
        int told = atomic_load(&losses.count); /* before the other: both change at any moment */
        held = hf_lease_held(lease);
        assert_false(held && told > 0);
    }
    assert_true(now_ms() - start_ms >= 295 && now_ms() - start_ms < 5000);
    await_loss();
    assert_non_null(strstr(losses.why, "TTL of 300 ms"));
    hf_lease_release(lease);
}

static void a_lost_lease_may_be_released_by_its_report(void **state)
{
    (void)state;
    losses.held = losses.releases = true;
    atomic_store(&losses.release, lease_slot("me", 5 * HEARTBEAT_MS, 0, 0));
    take_away("me");
    await_loss();
    assert_false(losses.held);
    assert_int_equal(losses.released, HF_NOT_FOUND);
}

static void closing_the_handle_ends_its_leases(void **state)
{
    (void)state;
    hf_lease *lease = lease_slot("me", LONG_MS, 0, 0);
    hf_lease *lost = lease_lock(500, "mine");
    struct hf_lock_unlock_args args = {HF_TEXT("seat"), HF_TEXT("mine")};
    assert_int_equal(hf_lock_unlock(engine, &args, NULL), HF_OK);
    await_loss();
    hf_close(hf);
    hf = NULL;
    assert_false(hf_lease_held(lease));
    assert_int_equal(hf_lease_release(lease), HF_NOT_FOUND);
    assert_int_equal(hf_lease_release(lost), HF_NOT_FOUND);
    assert_int_equal(losses.count, 1);
}

/* ---- a server that does not answer ----------------------------------------------------------- */

/* Whoever waits for the slot gets it only after its holder has been told. */
static void the_holder_knows_before_anybody_else_can_have_it(void **state)
{
    struct hf_sem_acquire_args next = {HF_TEXT("gpu"), HF_TEXT("next"), .limit = 1,
                                       .wait_ms = LONG_MS};

    (void)state;
    for (int round = 0; round < 3; round++) {
        struct hf_sem_release_args leave = {HF_TEXT("gpu"), HF_TEXT("next")};
        losses.count = 0;
        hf_lease *lease = lease_slot("me", HEARTBEAT_MS, 0, 0);
        peer_stop(&peer); /* nothing gets through from here on */
        assert_true(hf_lease_held(lease));
        assert_int_equal(hf_sem_acquire(engine, &next, NULL), HF_OK);
        assert_false(hf_lease_held(lease));
        await_loss();
        assert_non_null(strstr(losses.why, "no sign of life got through for 1000 ms: "));
        peer_start(&peer);
        assert_int_equal(hf_lease_release(lease), HF_NOT_FOUND);
        assert_int_equal(hf_sem_release(engine, &leave, NULL), HF_OK);
    }
}

/* One that accepts and never answers holds a sign of life up, but not the clock. */
static void a_server_that_hangs_is_noticed_in_time(void **state)
{
    (void)state;
    hf_lease *lease = lease_slot("me", HEARTBEAT_MS, 0, 0);
    peer.mode = PEER_SILENT; /* it carries signs of life out, but its holder does not know */
    int64_t start_ms = now_ms();
    await_loss();
    assert_true(now_ms() - start_ms < 4000); /* and not only when the URL's timeout is over */
    assert_false(hf_lease_held(lease));
    peer.mode = PEER_GOOD;
    peer_hang_up(&peer);
    assert_int_equal(hf_lease_release(lease), HF_OK); /* it was still there to be given back */
}

static void a_short_absence_is_survived(void **state)
{
    (void)state;
    hf_lease *lease = lease_slot("me", 4 * HEARTBEAT_MS, 0, 0);
    for (int i = 0; i < 2; i++) {
        peer.mode = i % 2 ? PEER_HANG_UP : PEER_GARBAGE;
        spend(HEARTBEAT_MS);
        peer.mode = PEER_GOOD;
        spend(HEARTBEAT_MS);
    }
    assert_true(hf_lease_held(lease));
    assert_int_equal(losses.count, 0);
    assert_int_equal(hf_lease_release(lease), HF_OK);
}

static void a_release_that_cannot_be_sent_frees_the_lease_all_the_same(void **state)
{
    (void)state;
    hf_lease *lease = lease_slot("me", LONG_MS, 0, 0);
    peer_stop(&peer);
    assert_int_equal(hf_lease_release(lease), HF_ENGINE_DOWN);
    peer_start(&peer);
}

int main(void)
{
#define LOCAL(name) cmocka_unit_test_setup_teardown(name, setup_local, teardown_local)
#define REMOTE(name) cmocka_unit_test_setup_teardown(name, setup_remote, teardown_remote)
#define BOTH(name) LOCAL(name), REMOTE(name)
    const struct CMUnitTest tests[] = {
        BOTH(a_slot_is_kept_over_many_heartbeats),
        BOTH(a_lock_is_kept_over_many_ttls),
        BOTH(many_leases_are_kept_at_once),
        BOTH(a_lock_that_was_held_before_is_kept_from_now_on),
        BOTH(a_refusal_leaves_no_lease),
        BOTH(a_lease_that_waited_begins_with_its_grant),
        BOTH(a_slot_taken_away_is_lost_at_the_next_sign_of_life),
        BOTH(a_lock_taken_away_is_lost),
        BOTH(the_ttl_of_a_slot_ends_it_however_alive),
        BOTH(a_lost_lease_may_be_released_by_its_report),
        BOTH(closing_the_handle_ends_its_leases),
        REMOTE(the_holder_knows_before_anybody_else_can_have_it),
        REMOTE(a_server_that_hangs_is_noticed_in_time),
        REMOTE(a_short_absence_is_survived),
        REMOTE(a_release_that_cannot_be_sent_frees_the_lease_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

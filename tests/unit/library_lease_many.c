/* SPDX-License-Identifier: Apache-2.0
 *
 * Twenty thousand leases of one handle: all are kept as long as their engine is healthy, through a
 * short absence of it too, and the handle closes with all of them open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "library_handle_fixture.h"

#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEASES 5000 /* what is instrumented takes many times as long */
#else
#define LEASES 20000
#endif
#define HEARTBEAT_MS 6000

static hf_lease *leases[LEASES];
static atomic_int losses;

static void count_loss(void *context, const char *why)
{
    (void)context;
    if (atomic_fetch_add(&losses, 1) == 0) {
        print_message("# the first loss: %s\n", why);
    }
}

static int setup_local(void **state)
{
    (void)state;
    atomic_store(&losses, 0);
    return open_local();
}

static int setup_remote(void **state)
{
    (void)state;
    atomic_store(&losses, 0);
    return open_remote();
}

static void take_all(void)
{
    char id[16];

    for (int i = 0; i < LEASES; i++) {
        snprintf(id, sizeof id, "w-%d", i);
        struct hf_sem_acquire_args args = {HF_TEXT("gpu"), hf_text(id), .limit = LEASES,
                                           .heartbeat_ms = HEARTBEAT_MS};
        assert_int_equal(hf_lease_slot(hf, &args, count_loss, NULL, &leases[i], NULL), HF_OK);
    }
}

/* Lets time pass in the engine: a wait for a slot that stays taken. */
static void spend(int64_t ms)
{
    struct hf_sem_acquire_args first = {HF_TEXT("idle"), HF_TEXT("a"), .limit = 1};
    struct hf_sem_acquire_args second = {HF_TEXT("idle"), HF_TEXT("b"), .limit = 1, .wait_ms = ms};

    assert_int_equal(hf_sem_acquire(engine, &first, NULL), HF_OK);
    assert_int_equal(hf_sem_acquire(engine, &second, NULL), HF_TIMEOUT);
}

static void assert_all_held(void)
{
    struct hf_sem_card_args args = {HF_TEXT("gpu")};
    struct hf_sem_card_reply card;
    int held = 0;

    for (int i = 0; i < LEASES; i++) {
        held += hf_lease_held(leases[i]);
    }
    assert_int_equal(hf_sem_card(engine, &args, &card), HF_OK);
    assert_int_equal(card.in_use, LEASES);
    assert_int_equal(held, LEASES);
    assert_int_equal(atomic_load(&losses), 0);
}

static void all_are_kept_over_several_heartbeats(void **state)
{
    (void)state;
    take_all();
    spend(HEARTBEAT_MS + HEARTBEAT_MS / 2);
    assert_all_held();
    for (int i = 0; i < LEASES; i++) {
        assert_int_equal(hf_lease_release(leases[i]), HF_OK);
    }
}

/* All of them become due while the server is away, and have to get through when it is back. */
static void all_outlive_an_absence_shorter_than_the_heartbeat(void **state)
{
    (void)state;
    take_all();
    peer_stop(&peer);
    spend(HEARTBEAT_MS / 8);
    peer_start(&peer);
    spend(HEARTBEAT_MS + HEARTBEAT_MS / 2);
    assert_all_held();
    for (int i = 0; i < LEASES; i++) {
        assert_int_equal(hf_lease_release(leases[i]), HF_OK);
    }
}

static void closing_the_handle_ends_them_all(void **state)
{
    (void)state;
    take_all();
    hf_close(hf);
    hf = NULL;
    for (int i = 0; i < LEASES; i++) {
        assert_false(hf_lease_held(leases[i]));
        assert_int_equal(hf_lease_release(leases[i]), HF_NOT_FOUND);
    }
    assert_int_equal(atomic_load(&losses), 0);
}

int main(void)
{
#define LOCAL(name) cmocka_unit_test_setup_teardown(name, setup_local, teardown_local)
#define REMOTE(name) cmocka_unit_test_setup_teardown(name, setup_remote, teardown_remote)
    const struct CMUnitTest tests[] = {
        LOCAL(all_are_kept_over_several_heartbeats),
        REMOTE(all_are_kept_over_several_heartbeats),
        REMOTE(all_outlive_an_absence_shorter_than_the_heartbeat),
        LOCAL(closing_the_handle_ends_them_all),
        REMOTE(closing_the_handle_ends_them_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Time: a clock that steps back stands still and never revives, reorders or loses a hold; how often
 * anybody looks makes no difference, nor does a restart in between. */
#include "core_fixture.h"

#include "core/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a clock that steps back ----------------------------------------------------------------- */

static void a_clock_that_steps_back_does_not_revive_a_booking(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 4 4 TTL 10ms");
    run(f, "SEATS.RESERVE gala floor b2 bob 1 4 TTL 20ms");
    at(f, 1010);
    expect(f, "SEATS.GET gala b1", "0 RESERVATION_NOT_FOUND");
    at(f, 1000);
    expect(f, "SEATS.GET gala b1", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 9 reserved 1 confirmed 0");
    expect(f, "SEATS.USER gala ann", "4 0");
    expect(f, "SEATS.EXTEND gala b2 10ms", "1 1020"); /* from 1010 on, where the clock stands */
    at(f, 1019);
    expect(f, "SEATS.USER gala bob", "1 0");
    expect(f, "SEATS.CONFIRM gala b2", "1 CONFIRMED *");
}

static void a_clock_that_steps_back_does_not_revive_a_quota_hold(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "QUOTA.LIMIT acme 100");
    run(f, "QUOTA.RESERVE acme 60 HOLD h1 TTL 10ms");
    run(f, "QUOTA.RESERVE acme 30 HOLD h2 TTL 20ms");
    at(f, 1010);
    expect(f, "QUOTA.GET acme", "30 100 30");
    at(f, 500);
    expect(f, "QUOTA.COMMIT acme h1", "0 HOLD_NOT_FOUND");
    expect(f, "QUOTA.GET acme", "30 100 30");
    expect(f, "QUOTA.RESERVE acme 5 HOLD h3 TTL 10ms", "1 35 100");
    at(f, 1019);
    expect(f, "QUOTA.GET acme", "35 100 35");
    at(f, 1020);
    expect(f, "QUOTA.GET acme", "0 100 0");
}

static void a_clock_that_steps_back_does_not_reorder_a_semaphores_line(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    expect(f, "SEM.ACQUIRE gpu a 1 HEARTBEAT 10ms", "1 1 1");
    expect(f, "SEM.ACQUIRE gpu b 1 WAIT 10000", "WAIT");
    at(f, 1009);
    expect(f, "SEM.CARD gpu", "1");
    at(f, 10);
    expect(f, "SEM.ACQUIRE gpu c 1 WAIT 10000", "WAIT");
    expect(f, "SEM.QUEUE gpu b 1 1", "1 1");
    expect(f, "SEM.QUEUE gpu c 1 1", "1 2");
    at(f, 1010);
    expect(f, "SEM.PING gpu a 1 1", "0 0");
    expect_wakes(f, "1:1 1 2");
    at(f, 20);
    expect(f, "SEM.PING gpu a 1 1", "0 0");
    expect(f, "SEM.RELEASE gpu b", "1");
    expect_wakes(f, "2:1 1 3");
}

static void a_clock_that_steps_back_does_not_revive_a_lock(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 10ms ID k1");
    run(f, "LOCK.TRY seat-2 20ms ID k2");
    at(f, 1010);
    expect(f, "LOCK.GET seat-1", "nil");
    at(f, 900);
    expect(f, "LOCK.UNLOCK seat-1 k1", "0");
    expect(f, "LOCK.TRY seat-1 10ms ID k3", "k3 3");
    expect(f, "LOCK.GET seat-2", "k2 2 10");
    at(f, 1019);
    expect(f, "LOCK.GET seat-1", "k3 3 1");
}

static void a_clock_that_steps_back_does_not_revive_an_order(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4 TTL 10ms");
    run(f, "STOCK.TAKE shoe o2 bob 3 TTL 20ms");
    at(f, 1010);
    expect(f, "STOCK.SETTLE shoe o1", "0 NOT_FOUND");
    at(f, 0);
    expect(f, "STOCK.SETTLE shoe o1", "0 NOT_FOUND");
    expect(f, "STOCK.GET shoe", "available 7 taken 3 sold 0 loaded 10 shards 1 mode single");
    expect(f, "STOCK.SETTLE shoe o2", "1 7");
}

static void a_clock_that_steps_back_does_not_reorder_a_waiting_room(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "ROOM.JOIN gala ann TTL 10ms");
    run(f, "ROOM.JOIN gala bob");
    at(f, 1010);
    expect(f, "ROOM.POSITION gala bob", "1 1");
    at(f, 1);
    expect(f, "ROOM.POSITION gala ann", "0 NOT_IN_QUEUE");
    expect(f, "ROOM.JOIN gala cat", "1 2 2 *");
    expect(f, "ROOM.JOIN gala ann", "1 3 3 *");
    expect(f, "ROOM.ADMIT gala 9 PASS 10ms", "bob * cat * ann *");
}

static void a_clock_that_steps_back_does_not_revive_an_idempotency_key(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "IDEM.BEGIN k1 f1 TTL 10ms");
    run(f, "IDEM.BEGIN k2 f1");
    run(f, "IDEM.COMPLETE k2 created TTL 20ms");
    at(f, 1010);
    expect(f, "IDEM.COMPLETE k1 late", "0");
    at(f, 1000);
    expect(f, "IDEM.BEGIN k2 f1", "2 COMPLETED created");
    expect(f, "IDEM.BEGIN k1 f2", "1 NEW");
    at(f, 1020);
    at(f, 1019);
    expect(f, "IDEM.BEGIN k2 f1", "2 COMPLETED created");
}

static void a_clock_that_steps_back_delays_expiry_until_it_has_caught_up(void **state)
{
    struct fixture *f = *state;

    at(f, 5000);
    run(f, "LOCK.TRY seat-1 1 ID k1");
    at(f, 1000);
    expect(f, "LOCK.GET seat-1", "k1 1 1000");
    at(f, 4000);
    expect(f, "LOCK.GET seat-1", "k1 1 1000");
    at(f, 5999);
    expect(f, "LOCK.GET seat-1", "k1 1 1");
    at(f, 6000);
    expect(f, "LOCK.GET seat-1", "nil");
}

/* ---- what falls due -------------------------------------------------------------------------- */

static void a_slot_passes_on_at_the_due_time_not_when_somebody_notices(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "SEM.ACQUIRE gpu a 1 HEARTBEAT 10ms");
    run(f, "SEM.QUEUE gpu b 100ms 1");
    run(f, "SEM.QUEUE gpu c 1 1");
    at(f, 1015); /* a was lost at 1010; b's heartbeat counts from then on */
    expect(f, "SEM.STATS gpu", "in_use 1 max 1 waiting 1");
    at(f, 1109);
    expect(f, "SEM.PING gpu c 1 1", "1 0");
    at(f, 1110);
    expect(f, "SEM.PING gpu c 1 1", "0 1");
}

static void all_that_is_due_in_a_millisecond_goes_before_slots_are_handed_on(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "SEM.ACQUIRE gpu a 1 HEARTBEAT 10ms");
    run(f, "SEM.QUEUE gpu b 10ms 1"); /* dies in the same millisecond as a */
    run(f, "SEM.QUEUE gpu c 1 1");
    at(f, 1010);
    expect(f, "SEM.PING gpu b 1 1", "0 0");
    expect(f, "SEM.PING gpu c 1 1", "0 1");
}

static void with_nothing_to_expire_nothing_is_ever_due(void **state)
{
    struct fixture *f = *state;

    assert_true(core_next_due(f->core) == INT64_MAX);
    at(f, 1000);
    run(f, "LOCK.TRY seat-1 1 ID k1");
    assert_true(core_next_due(f->core) <= 2000);
    core_advance(f->core, 2000);
    assert_true(core_next_due(f->core) == INT64_MAX);
}

/* The earliest deadline that any record has. */
static int64_t next_expiry(const struct core *core)
{
    int64_t next = INT64_MAX;

    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        const struct slab *slab = &core->stores[kind].slab;
        for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
            bool timed = core->stores[kind].timed;
            int64_t deadline_ms = timed ? record_deadline_ms(slab_at(slab, i)) : 0;
            next = deadline_ms != 0 && deadline_ms < next ? deadline_ms : next;
        }
    }
    return next;
}

/* ---- random runs over all families ----------------------------------------------------------- */

/* In a form, %d is the number of a scope or an id; TTLs are short, so that much falls due. */
static const char *const forms[] = {
    "SEATS.OPEN e%d z%d 30",
    "SEATS.RESERVE e%d z%d b%d u%d 2 9 TTL %d0ms",
    "SEATS.RESERVE e%d z%d b%d u%d 1 9 SHOW s LIFETIME TTL 40ms",
    "SEATS.CONFIRM e%d b%d PAYMENT a-payment-with-a-long-name",
    "SEATS.RELEASE e%d b%d",
    "SEATS.EXTEND e%d b%d 50ms",
    "SEATS.GET e%d b%d",
    "QUOTA.LIMIT t%d 5%d",
    "QUOTA.RESERVE t%d %d1 HOLD h%d TTL 30ms",
    "QUOTA.RESERVE t%d 3",
    "QUOTA.COMMIT t%d h%d",
    "QUOTA.CANCEL t%d h%d",
    "QUOTA.REFUND t%d 4",
    "QUOTA.SYNC t%d 1%d",
    "SEM.ACQUIRE s%d c%d 2 HEARTBEAT 20ms TTL 60ms WAIT %d0",
    "SEM.ACQUIRE s%d c%d 2 HEARTBEAT 20ms TTL 60ms",
    "SEM.QUEUE s%d c%d 30ms 50ms",
    "SEM.PING s%d c%d 20ms 50ms",
    "SEM.WAKE s%d 3 20ms 50ms",
    "SEM.CONFIRM s%d c%d 2 20ms 50ms",
    "SEM.RELEASE s%d c%d",
    "LOCK.TRY r%d %d0ms ID k%d",
    "LOCK.TRY r%d 30ms",
    "LOCK.EXTEND r%d k%d 40ms",
    "LOCK.UNLOCK r%d k%d",
    "STOCK.LOAD p%d 4%d",
    "STOCK.ADJUST p%d -%d counted",
    "STOCK.TAKE p%d o%d u%d 2 TTL 3%dms",
    "STOCK.SETTLE p%d o%d",
    "STOCK.GIVE p%d o%d",
    "ROOM.JOIN e%d a-user-with-a-rather-long-name-%d TTL 4%dms",
    "ROOM.JOIN e%d u%d MAX 4",
    "ROOM.LEAVE e%d u%d",
    "ROOM.ADMIT e%d 2 PASS 2%dms",
    "IDEM.BEGIN k%d f%d TTL 30ms",
    "IDEM.COMPLETE k%d response-%d TTL 40ms",
    "IDEM.ABORT k%d",
};

#define RUNS 4
#define FORMS (sizeof forms / sizeof forms[0])

static void random_command(unsigned *seed, char words[200])
{
    int n[5];

    for (size_t i = 0; i < 5; i++) {
        n[i] = 1 + rand_r(seed) % (i == 0 ? 2 : 4);
    }
    snprintf(words, 200, forms[(size_t)rand_r(seed) % FORMS], n[0], n[1], n[2], n[3], n[4]);
}

/* Mostly small steps, at times a long one over graces and retry windows, at times one back. */
static int64_t random_step(unsigned *seed)
{
    int what = rand_r(seed) % 60;

    return what == 0 ? rand_r(seed) % 400000 : what == 1 ? -(rand_r(seed) % 20) : rand_r(seed) % 8;
}

static void assert_same_wakes(struct fixture *f, struct fixture *g)
{
    size_t count, other_count;
    const struct wakeup *wakes = core_wakeups(f->core, &count);
    const struct wakeup *others = core_wakeups(g->core, &other_count);

    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(wakes[i].ticket, others[i].ticket);
        assert_int_equal(wakes[i].code, others[i].code);
        assert_int_equal(wakes[i].fence, others[i].fence);
    }
    core_clear_wakeups(f->core);
    core_clear_wakeups(g->core);
}

typedef void between(struct fixture *g, int64_t now_ms, unsigned *seed);

/* The same commands on two cores, with something done to the second one in between. */
static void run_both(unsigned seed, between *meddle)
{
    struct fixture *f, *g;
    unsigned own = seed;
    char words[200];

    fixture_setup((void **)&f);
    fixture_setup((void **)&g);
    for (int i = 0; i < 3000; i++) {
        int64_t now_ms = f->now_ms + random_step(&seed);
        meddle(g, now_ms, &own);
        at(f, now_ms);
        at(g, now_ms);
        random_command(&seed, words);
        run(f, words);
        run(g, words);
        if (strcmp(f->text, g->text) != 0 || core_digest(f->core) != core_digest(g->core)) {
            print_error("command %d, %s: %s, not %s\n", i, words, g->text, f->text);
            fail();
        }
        assert_same_wakes(f, g);
        assert_true(core_next_due(f->core) <= next_expiry(f->core));
        assert_true(core_next_due(g->core) <= next_expiry(g->core));
    }
    fixture_teardown((void **)&f);
    fixture_teardown((void **)&g);
}

static void advance_in_steps(struct fixture *g, int64_t now_ms, unsigned *seed)
{
    for (int64_t t = g->now_ms; t < now_ms; t += 1 + rand_r(seed) % (1 + (now_ms - t) / 3)) {
        core_advance(g->core, t);
    }
}

static void one_jump_and_many_steps_give_the_same_replies_and_digests(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= RUNS; seed++) {
        run_both(seed, advance_in_steps);
    }
}

static void restart_at_times(struct fixture *g, int64_t now_ms, unsigned *seed)
{
    (void)now_ms;
    if (rand_r(seed) % 10 == 0) {
        snapshot_and_restore(g);
    }
}

static void a_restart_at_any_time_gives_the_same_replies_and_digests(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= RUNS; seed++) {
        run_both(seed, restart_at_times);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_clock_that_steps_back_does_not_revive_a_booking),
        CASE(a_clock_that_steps_back_does_not_revive_a_quota_hold),
        CASE(a_clock_that_steps_back_does_not_reorder_a_semaphores_line),
        CASE(a_clock_that_steps_back_does_not_revive_a_lock),
        CASE(a_clock_that_steps_back_does_not_revive_an_order),
        CASE(a_clock_that_steps_back_does_not_reorder_a_waiting_room),
        CASE(a_clock_that_steps_back_does_not_revive_an_idempotency_key),
        CASE(a_clock_that_steps_back_delays_expiry_until_it_has_caught_up),
        CASE(a_slot_passes_on_at_the_due_time_not_when_somebody_notices),
        CASE(all_that_is_due_in_a_millisecond_goes_before_slots_are_handed_on),
        CASE(with_nothing_to_expire_nothing_is_ever_due),
        cmocka_unit_test(one_jump_and_many_steps_give_the_same_replies_and_digests),
        cmocka_unit_test(a_restart_at_any_time_gives_the_same_replies_and_digests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

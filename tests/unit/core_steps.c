/* SPDX-License-Identifier: Apache-2.0
 *
 * Expiry in bounded steps: however far the cleaning up is behind, a command sees its own scope as
 * it is, and in the end the state is the same as if all had been done at once. */
#include "core_fixture.h"

#include "core/state.h"

#include <stdio.h>
#include <stdlib.h>

#define MANY 20000

static int64_t number(struct fixture *f, const char *words, size_t which)
{
    assert_int_equal(run_unaudited(f, words), HF_OK);
    return f->reply.values[which].number;
}

static bool ready(struct fixture *f, const char *first, const char *scope, int64_t budget)
{
    struct hf_bytes words[] = {hf_text(first), hf_text(scope), hf_text("x")};
    struct command command;
    size_t count = strcmp(first, "SEATS.ZONE") == 0 ? 3 : 2;

    assert_int_equal(command_from_words(&command, count, words, NULL), HF_OK);
    return core_ready(f->core, &command, f->now_ms, budget);
}

/* So many holds of two events, of a product and of a tenant, all due in the same millisecond. */
static void fill(struct fixture *f)
{
    char words[200];

    at(f, 1000);
    run_unaudited(f, "SEATS.OPEN gala x 1000000");
    run_unaudited(f, "SEATS.OPEN fair x 1000000");
    run_unaudited(f, "STOCK.LOAD shoe 1000000");
    run_unaudited(f, "QUOTA.LIMIT acme 1000000");
    for (int i = 0; i < MANY; i++) {
        snprintf(words, sizeof words, "SEATS.RESERVE gala x b%d u%d 1 9 TTL 1s", i, i);
        assert_int_equal(run_unaudited(f, words), HF_OK);
        snprintf(words, sizeof words, "STOCK.TAKE shoe o%d u 1 TTL 1s", i);
        assert_int_equal(run_unaudited(f, words), HF_OK);
        snprintf(words, sizeof words, "QUOTA.RESERVE acme 1 HOLD h%d TTL 1s", i);
        assert_int_equal(run_unaudited(f, words), HF_OK);
    }
    run_unaudited(f, "SEATS.RESERVE fair x b u 1 9 TTL 1s");
}

static void what_is_due_is_gone_for_whoever_looks(void **state)
{
    struct fixture *f = *state;

    fill(f);
    at(f, 1999);
    assert_int_equal(number(f, "SEATS.ZONE gala x", 1), 1000000 - MANY);
    at(f, 2000);
    assert_false(core_step(f->core, 2000, 100));
    assert_int_equal(number(f, "SEATS.ZONE fair x", 1), 1000000);
    assert_true(f->core->stores[CORE_BOOKINGS].armed >
                MANY / 2); /* others are still to be cleaned up */
    assert_int_equal(number(f, "SEATS.ZONE gala x", 1), 1000000);
    assert_int_equal(number(f, "STOCK.GET shoe", 0), 1000000);
    assert_int_equal(number(f, "QUOTA.GET acme", 0), 0);
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
}

static void step_is_bounded_and_the_last_says_so(void **state)
{
    struct fixture *f = *state;
    uint64_t steps = 0;

    fill(f);
    at(f, 2000);
    for (uint64_t before = f->core->expired; !core_step(f->core, 2000, 500); steps++) {
        assert_true(f->core->expired - before <= 500);
        before = f->core->expired;
    }
    assert_true(steps >= 3 * MANY / 500);
    assert_true(core_next_due(f->core) > 2000);
    assert_int_equal(f->core->expired, 3 * MANY + 1);
}

static void scope_is_ready_when_its_own_holds_are_cleaned_up(void **state)
{
    struct fixture *f = *state;
    int looks = 0;

    fill(f);
    at(f, 2000);
    assert_true(ready(f, "SEATS.ZONE", "fair", 100));
    assert_true(ready(f, "SEATS.ZONE", "unknown", 100));
    assert_true(ready(f, "SEM.CARD", "gpu", 100));
    while (!ready(f, "STOCK.GET", "shoe", 100)) {
        looks++;
    }
    assert_int_equal(looks, MANY / 100 - 1);
    assert_false(ready(f, "SEATS.ZONE", "gala", 100));
}

/* A grace that ended counts no longer, whether or not its booking is cleaned up. */
static void grace_ends_on_time_for_the_user(void **state)
{
    struct fixture *f = *state;

    fill(f);
    core_advance(f->core, 2000);
    at(f, 2000 + SEATS_USER_GRACE_MS - 1);
    assert_int_equal(number(f, "SEATS.USER gala u19999", 0), 1);
    at(f, 2000 + SEATS_USER_GRACE_MS);
    assert_int_equal(number(f, "SEATS.USER gala u19999", 0), 0);
}

static void retry_window_ends_on_time(void **state)
{
    struct fixture *f = *state;
    char words[200];

    at(f, 1000);
    run_unaudited(f, "STOCK.LOAD shoe 1000000");
    for (int i = 0; i < MANY; i++) {
        snprintf(words, sizeof words, "STOCK.TAKE shoe o%d u 1", i);
        assert_int_equal(run_unaudited(f, words), HF_OK);
        snprintf(words, sizeof words, "STOCK.SETTLE shoe o%d", i);
        assert_int_equal(run_unaudited(f, words), HF_OK);
    }
    at(f, 1000 + RETRY_WINDOW_MS - 1);
    assert_int_equal(run_unaudited(f, "STOCK.SETTLE shoe o19999"), HF_OK);
    at(f, 1000 + RETRY_WINDOW_MS);
    assert_int_equal(run_unaudited(f, "STOCK.SETTLE shoe o19999"), HF_NOT_FOUND);
    assert_true(f->core->stores[CORE_ORDERS].closed_count > MANY / 2);
}

/* ---- semaphores ------------------------------------------------------------------------------ */

static void queue_many(struct fixture *f, int count)
{
    char words[200];

    run_unaudited(f, "SEM.ACQUIRE pool first 1");
    for (int i = 0; i < count; i++) {
        snprintf(words, sizeof words, "SEM.QUEUE pool c%05d 1h 1h", i);
        assert_int_equal(run_unaudited(f, words), HF_OK);
    }
}

static void one_command_hands_out_so_many_slots_and_steps_the_rest(void **state)
{
    struct fixture *f = *state;
    char words[200];

    at(f, 1000);
    queue_many(f, 5000);
    assert_int_equal(number(f, "SEM.WAKE pool 4001 1h 1h", 0), 4000);
    assert_int_equal(f->core->holders, 1 + SEM_GRANTS_AT_ONCE);
    assert_true(core_next_due(f->core) <= 1000);
    assert_false(core_step(f->core, 1000, 100));
    assert_int_equal(f->core->holders, 1 + SEM_GRANTS_AT_ONCE + 100);
    assert_int_equal(number(f, "SEM.CARD pool", 0), 4001); /* nobody sees it half done */
    for (int i = 0; i < 4000; i++) {
        snprintf(words, sizeof words, "SEM.ACQUIRE pool c%05d 4001 HEARTBEAT 1h TTL 1h", i);
        assert_int_equal(number(f, words, 1), i + 2); /* strictly in line */
    }
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
}

/* Somebody whose turn comes behind more than that waits for its answer. */
static void caller_behind_a_long_line_is_answered_by_a_wakeup(void **state)
{
    struct fixture *f = *state;
    size_t count;

    at(f, 1000);
    queue_many(f, 3000);
    assert_int_equal(run_unaudited(f, "SEM.ACQUIRE pool last 9000"), HF_OK);
    assert_true(f->reply.waits);
    core_advance(f->core, 1000);
    const struct wakeup *wakes = core_wakeups(f->core, &count);
    assert_int_equal(count, 1);
    assert_int_equal(wakes[0].ticket, f->reply.ticket);
    assert_int_equal(wakes[0].code, HF_OK);
    assert_int_equal(wakes[0].fence, 3002);
    assert_int_equal(wakes[0].in_use, 3002);
}

static void holders_that_die_together_hand_on_in_steps(void **state)
{
    struct fixture *f = *state, *g;
    char words[200];

    fixture_setup((void **)&g);
    for (int i = 0; i < 3000; i++) {
        for (int k = 0; k < 2; k++) {
            struct fixture *each = k == 0 ? f : g;
            at(each, 1000);
            snprintf(words, sizeof words, "SEM.ACQUIRE pool%d h%d 900 TTL 100ms", i % 7, i / 7);
            assert_int_equal(run_unaudited(each, words), HF_OK);
            snprintf(words, sizeof words, "SEM.ACQUIRE pool%d w%d 900 WAIT 1h TTL 1h", i % 7, i);
            assert_int_equal(run_unaudited(each, words), HF_OK);
        }
    }
    while (!core_step(g->core, 1100, 13)) {}
    core_advance(f->core, 1100);
    assert_int_equal(core_digest(f->core), core_digest(g->core));
    fixture_teardown((void **)&g);
}

/* ---- in the end it is the same --------------------------------------------------------------- */

static void random_command(unsigned *seed, char words[200])
{
    static const char *const forms[] = {
        "SEATS.RESERVE e%d x b%d u%d 1 50 TTL %d00ms",
        "SEATS.RELEASE e%d b%d",
        "SEATS.CONFIRM e%d b%d",
        "SEATS.EXTEND e%d b%d 2s",
        "SEATS.USER e%d u%d",
        "SEATS.ZONE e%d x",
        "QUOTA.RESERVE t%d 1 HOLD h%d TTL 3%d0ms",
        "QUOTA.COMMIT t%d h%d",
        "QUOTA.CANCEL t%d h%d",
        "STOCK.TAKE p%d o%d u 1 TTL 3%d0ms",
        "STOCK.SETTLE p%d o%d",
        "SEM.ACQUIRE s%d c%d 20 HEARTBEAT 1s TTL 2s WAIT 9000",
        "SEM.QUEUE s%d c%d 1s 2s",
        "SEM.RELEASE s%d c%d",
        "LOCK.TRY r%d%d 500ms ID k",
        "LOCK.UNLOCK r%d%d k",
        "ROOM.JOIN e%d u%d TTL 1s",
        "ROOM.ADMIT e%d 3 PASS 500ms",
        "ROOM.POSITION e%d u%d",
        "IDEM.BEGIN k%d%d f TTL 700ms",
    };
    int scope = rand_r(seed) % 3, id = rand_r(seed) % 3000, user = rand_r(seed) % 900;

    snprintf(words, 200, forms[(size_t)rand_r(seed) % (sizeof forms / sizeof forms[0])], scope, id,
             user, 1 + rand_r(seed) % 9);
}

static void open_all(struct fixture *f)
{
    char words[200];

    for (int i = 0; i < 3; i++) {
        snprintf(words, sizeof words, "SEATS.OPEN e%d x 2000", i);
        run_unaudited(f, words);
        snprintf(words, sizeof words, "QUOTA.LIMIT t%d 2000", i);
        run_unaudited(f, words);
        snprintf(words, sizeof words, "STOCK.LOAD p%d 900000", i);
        run_unaudited(f, words);
    }
}

static void assert_same_reply(struct fixture *f, struct fixture *g, const char *words)
{
    if (f->reply.code != g->reply.code || f->reply.count != g->reply.count ||
        f->reply.waits != g->reply.waits) {
        print_error("%s: %s, not %s\n", words, hf_error_name(g->reply.code),
                    hf_error_name(f->reply.code));
        fail();
    }
    for (size_t i = 0; i < f->reply.count; i++) {
        assert_int_equal(f->reply.values[i].number, g->reply.values[i].number);
    }
}

/* One core is always up to date, the other always far behind. */
static void cleaning_up_late_makes_no_difference(void **state)
{
    struct fixture *f = *state, *g;
    unsigned seed = 17;
    char words[200];

    fixture_setup((void **)&g);
    at(f, 100000);
    at(g, 100000);
    open_all(f);
    open_all(g);
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 6000; i++) {
            random_command(&seed, words);
            core_advance(f->core, f->now_ms);
            run_unaudited(f, words);
            run_unaudited(g, words);
            assert_same_reply(f, g, words);
        }
        int64_t next = f->now_ms + (round % 3 == 2 ? 301000 : rand_r(&seed) % 1500);
        at(f, next);
        at(g, next);
    }
    assert_int_equal(core_digest(f->core), core_digest(g->core));
    size_t count, other;
    const struct wakeup *wakes = core_wakeups(f->core, &count);
    const struct wakeup *others = core_wakeups(g->core, &other);
    assert_int_equal(count, other);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(wakes[i].ticket, others[i].ticket);
        assert_int_equal(wakes[i].fence, others[i].fence);
    }
    fixture_teardown((void **)&g);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_due_is_gone_for_whoever_looks),
        TEST(step_is_bounded_and_the_last_says_so),
        TEST(scope_is_ready_when_its_own_holds_are_cleaned_up),
        TEST(grace_ends_on_time_for_the_user),
        TEST(retry_window_ends_on_time),
        TEST(one_command_hands_out_so_many_slots_and_steps_the_rest),
        TEST(caller_behind_a_long_line_is_answered_by_a_wakeup),
        TEST(holders_that_die_together_hand_on_in_steps),
        TEST(cleaning_up_late_makes_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

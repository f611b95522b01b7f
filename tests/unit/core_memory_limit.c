/* SPDX-License-Identifier: Apache-2.0
 *
 * With all the memory in use that may be, nothing new is taken; what exists goes on, and whatever
 * gives back is let through. Nothing that a retry may ask for is forgotten to make room. */
#include "core_fixture.h"

#include "core/state.h"

#include <stdio.h>

static struct fixture *full(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 100");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 9");
    run(f, "SEATS.RESERVE gala floor b2 ann 1 9");
    run(f, "QUOTA.LIMIT acme 100");
    run(f, "QUOTA.LIMIT fresh 100");
    run(f, "QUOTA.RESERVE acme 5 HOLD h1");
    run(f, "STOCK.LOAD shoe 100");
    run(f, "STOCK.TAKE shoe o1 ann 1");
    run(f, "LOCK.TRY seat 10m ID k");
    run(f, "SEM.ACQUIRE gpu a 1");
    run(f, "ROOM.JOIN gala ann");
    run(f, "IDEM.BEGIN key f");
    core_limit_memory(f->core, f->memory.used);
    return f;
}

/* What counts against the limit. */
static size_t taken(const struct fixture *f)
{
    struct core_memory parts;

    core_memory_parts(f->core, &parts);
    return f->memory.used + parts.promised;
}

static void nothing_new_is_taken(void **state)
{
    static const char *const refused[] = {"SEATS.OPEN gala stage 100",
                                          "SEATS.OPEN fair floor 1",
                                          "SEATS.RESERVE gala floor b3 bob 1 9",
                                          "QUOTA.LIMIT other 5",
                                          "QUOTA.RESERVE acme 5 HOLD h2",
                                          "STOCK.LOAD hat 5",
                                          "STOCK.TAKE shoe o2 ann 1",
                                          "LOCK.TRY other 10m",
                                          "SEM.ACQUIRE gpu b 2",
                                          "SEM.QUEUE gpu b 1m 1m",
                                          "ROOM.JOIN gala bob",
                                          "QUOTA.RESERVE fresh 5"};
    struct fixture *f = full(state);

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        expect_unchanged(f, refused[i], "-BUSY");
        assert_non_null(strstr(f->reply.why, "max-memory"));
    }
}

static void what_is_there_goes_on(void **state)
{
    struct fixture *f = full(state);

    expect(f, "SEATS.RESERVE gala floor b1 ann 1 9", "1 98 2 *");
    expect(f, "SEATS.OPEN gala floor 200", "1 198 200");
    expect(f, "SEATS.CONFIRM gala b1", "1 CONFIRMED *");
    expect(f, "QUOTA.RESERVE acme 5", "1 10 100");
    expect(f, "QUOTA.COMMIT acme h1", "1 10 100");
    expect(f, "STOCK.SETTLE shoe o1", "1 99");
    expect(f, "LOCK.EXTEND seat k 20m", "1");
    expect(f, "SEM.PING gpu a 1m 1m", "0 1");
    expect(f, "IDEM.COMPLETE key done", "1");
    expect(f, "SEATS.RELEASE gala b2", "1 SUCCESS 199 0");
    expect(f, "LOCK.UNLOCK seat k", "1");
    expect(f, "SEM.RELEASE gpu a", "1");
    expect(f, "ROOM.LEAVE gala ann", "1");
}

/* A retry finds what it did, however little memory is left for others. */
static void retries_are_answered_for_the_whole_window(void **state)
{
    struct fixture *f = full(state);

    run(f, "STOCK.SETTLE shoe o1");
    run(f, "SEATS.RELEASE gala b1");
    at(f, 1000 + RETRY_WINDOW_MS - 1);
    expect(f, "STOCK.SETTLE shoe o1", "1 99");
    expect(f, "STOCK.TAKE shoe o1 ann 1", "1 99");
    expect(f, "SEATS.RELEASE gala b1", "1 SUCCESS 99 1");
}

static void given_back_memory_is_handed_out_again(void **state)
{
    struct fixture *f = full(state);

    core_limit_memory(f->core, taken(f) + 1);
    expect(f, "SEATS.RESERVE gala floor a-booking-with-an-id-that-needs-room cid 1 9", "1 97 1 *");
    expect(f, "SEATS.RESERVE gala floor b5 bob 1 9", "-BUSY");
    at(f, 1000 + SEATS_TTL_DEFAULT_MS + SEATS_USER_GRACE_MS + RETRY_WINDOW_MS);
    expect(f, "SEATS.RESERVE gala floor b5 bob 1 9", "1 99 1 *");
}

/* ---- answers of requests --------------------------------------------------------------------- */

#define LIMIT ((size_t)8 << 20)
#define ANSWER ((size_t)100 << 10)
#define BLOCK ((size_t)2 << 20) /* that records are allocated in */

static enum hf_error complete(struct fixture *f, int key, size_t size)
{
    static char answer[ANSWER];
    char name[32];
    struct hf_bytes words[] = {hf_text("IDEM.COMPLETE"), {name, 0}, {answer, size}};

    words[1].size = (size_t)snprintf(name, sizeof name, "key-%d", key);
    memset(answer, 'x', size);
    run_words(f, 3, words);
    return f->reply.code;
}

static enum hf_error begin(struct fixture *f, int key)
{
    char words[64];

    snprintf(words, sizeof words, "IDEM.BEGIN key-%d f TTL 10m", key);
    return run_unaudited(f, words);
}

/* A key takes a hundred bytes, its answer up to a mebibyte: without a bound of their own, the
 * answers to what was begun below the limit would go on for ever. */
static void answers_stop_at_an_eighth_above_the_limit(void **state)
{
    struct fixture *f = *state;
    int kept = 0;

    at(f, 1000);
    core_limit_memory(f->core, LIMIT);
    for (int key = 0; key < 1000; key++) {
        assert_int_equal(begin(f, key), HF_OK);
    }
    while (kept < 1000 && complete(f, kept, ANSWER) == HF_OK) {
        kept++;
    }
    assert_in_range(kept, 50, 500);
    assert_non_null(strstr(f->reply.why, "max-memory"));
    assert_true(f->memory.used < LIMIT + LIMIT / 8 + ANSWER + 64);
    assert_int_equal(complete(f, kept, 256), HF_OK); /* promised to each that was begun */
    assert_int_equal(begin(f, 1001), HF_BUSY);
    expect(f, "IDEM.ABORT key-999", "1");
}

/* A request that gives back comes with a key, too. */
static void keys_have_room_above_the_limit(void **state)
{
    struct fixture *f = full(state);

    core_limit_memory(f->core, f->memory.used);
    expect(f, "QUOTA.RESERVE acme 1 HOLD other", "-BUSY");
    expect(f, "IDEM.BEGIN giving-back f", "1 NEW");
    expect(f, "SEATS.RELEASE gala b1", "1 SUCCESS 99 1");
    expect(f, "IDEM.COMPLETE giving-back done", "1");
}

static void every_confirmation_has_been_counted(void **state)
{
    struct fixture *f = *state;
    char words[128];
    int held = 0;

    at(f, 1000);
    core_limit_memory(f->core, LIMIT);
    run(f, "SEATS.OPEN gala floor 1000000");
    do {
        snprintf(words, sizeof words, "SEATS.RESERVE gala floor b%d u%d 1 9", held, held / 4);
    } while (run_unaudited(f, words) == HF_OK && ++held < 1000000);
    assert_in_range(held, 20000, 100000);
    for (int i = 0; i < held; i++) {
        snprintf(words, sizeof words, "SEATS.CONFIRM gala b%d PAYMENT pay-0123456789-%08d", i, i);
        assert_int_equal(run_unaudited(f, words), HF_OK);
    }
    assert_true(f->memory.used < LIMIT + BLOCK);
    struct core_memory parts;
    core_memory_parts(f->core, &parts);
    assert_int_equal(parts.confirmed, held);
}

static void what_is_counted_survives_a_restart(void **state)
{
    struct fixture *f = *state;
    struct core_memory before, after;

    at(f, 1000);
    begin(f, 1);
    begin(f, 2);
    complete(f, 2, 5000);
    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 9");
    core_memory_parts(f->core, &before);
    assert_int_equal(before.answers, 5000);
    assert_true(before.promised > 256);
    snapshot_and_restore(f);
    core_memory_parts(f->core, &after);
    assert_int_equal(after.answers, before.answers);
    assert_int_equal(after.promised, before.promised);
    assert_int_equal(after.limit, 0); /* recovery has none */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_new_is_taken),
        TEST(what_is_there_goes_on),
        TEST(retries_are_answered_for_the_whole_window),
        TEST(given_back_memory_is_handed_out_again),
        TEST(answers_stop_at_an_eighth_above_the_limit),
        TEST(keys_have_room_above_the_limit),
        TEST(every_confirmation_has_been_counted),
        TEST(what_is_counted_survives_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A journal that is long enough for a thread: records are decoded while those before them are
 * applied, in order and each once, over segments, and a refusal names the record that it is about,
 * whichever side finds it. */
#include "journal_fixture.h"

#include "journal/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDS 80000
#define SEGMENT ((int64_t)2 << 20)
#define TEXT 64

/* What a sink has seen. */
struct tap {
    uint64_t decoded, applied;
    uint64_t numbers[JOURNAL_SLOTS]; /* of the records in the slots */
    uint64_t misread, wrong; /* not in order, or not what was written: of each side its own */
    uint64_t damaged_at, refused_at; /* decode() or apply() refuses this one; UINT64_MAX: none */
    enum journal_taken refusal;
};

static void write_text(char text[TEXT], uint64_t number)
{
    memset(text, '.', TEXT);
    snprintf(text, TEXT, "record %" PRIu64, number);
}

static enum journal_taken decode(void *context, uint64_t number, int64_t time_ms,
                                 struct hf_bytes command, char why[256])
{
    struct tap *tap = context;
    char expected[TEXT];

    write_text(expected, number);
    tap->misread += number != tap->decoded || command.size != TEXT ||
                    time_ms != (int64_t)number + 1 || memcmp(command.data, expected, TEXT) != 0;
    tap->decoded++;
    tap->numbers[number % JOURNAL_SLOTS] = number;
    if (number == tap->damaged_at) {
        snprintf(why, 256, "unreadable");
        return JOURNAL_REFUSED;
    }
    return JOURNAL_TAKEN;
}

static uint64_t apply(void *context, uint64_t from, uint64_t to, enum journal_taken *taken,
                      char why[256])
{
    struct tap *tap = context;

    *taken = JOURNAL_TAKEN;
    for (uint64_t i = from; i < to; i++) {
        tap->wrong += i != tap->applied || tap->numbers[i % JOURNAL_SLOTS] != i;
        if (i == tap->refused_at) {
            *taken = tap->refusal;
            snprintf(why, 256, "not to be had");
            return i;
        }
        tap->applied++;
    }
    return to;
}

static struct journal *try_journal(struct kept *k, struct tap *tap, bool *no_memory, char why[256])
{
    static const struct log log = {.level = LOG_ERROR};
    struct journal_options options = {.policy = JOURNAL_NO, .segment_bytes = SEGMENT, .log = &log};
    struct journal_sink sink = {
        .decode = decode, .apply = apply, .no_memory = no_memory, .context = tap};

    *tap = (struct tap){
        .damaged_at = tap->damaged_at, .refused_at = tap->refused_at, .refusal = tap->refusal};
    return journal_open(faulty_storage(k->path, &k->faults, false), &options, &sink, why);
}

/* A directory with all records. */
static int setup(void **state)
{
    struct tap tap = {.damaged_at = UINT64_MAX, .refused_at = UINT64_MAX};
    char why[256], text[TEXT];
    bool no_memory;

    kept_setup(state);
    struct kept *k = *state;
    struct journal *journal = try_journal(k, &tap, &no_memory, why);
    assert_non_null(journal);
    for (uint64_t i = 0; i < RECORDS; i++) {
        write_text(text, i);
        assert_true(journal_reserve(journal, TEXT));
        journal_append(journal, (int64_t)i + 1, (struct hf_bytes){text, TEXT});
        if (i % 1000 == 999) {
            assert_true(journal_take(journal) && journal_flush(journal));
            journal_flushed(journal);
        }
    }
    journal_close(journal);
    return 0;
}

static void records_are_applied_once_and_in_order(void **state)
{
    struct tap tap = {.damaged_at = UINT64_MAX, .refused_at = UINT64_MAX};
    struct kept *k = *state;
    char why[256] = "";
    bool no_memory = false;

    assert_true(count_files(k->path, "journal-") > 2);
    struct journal *journal = try_journal(k, &tap, &no_memory, why);
    assert_non_null(journal);
    assert_int_equal(journal_last(journal), RECORDS);
    journal_close(journal);
    assert_int_equal(tap.decoded, RECORDS);
    assert_int_equal(tap.applied, RECORDS);
    assert_int_equal(tap.wrong + tap.misread, 0);
}

/* Where a record stands: the name of its segment and its byte there. */
static void expect_place(struct kept *k, const char *why, uint64_t number)
{
    struct image image;
    uint64_t first = 1;
    char expected[64];

    image_load(&image, k->path);
    for (size_t i = 0; i < image_count(&image, "journal-"); i++) {
        uint64_t begins = strtoull(image_nth(&image, "journal-", i)->name + 8, NULL, 10);
        first = begins <= number + 1 && begins > first ? begins : first;
    }
    snprintf(expected, sizeof expected, "journal-%020" PRIu64 " at byte %" PRIu64 ":", first,
             SEGMENT_HEADER + (number + 1 - first) * (RECORD_HEADER + TEXT));
    assert_memory_equal(why, expected, strlen(expected));
    image_free(&image);
}

static void a_refusal_names_the_record_that_was_not_taken(void **state)
{
    static const uint64_t places[] = {0, 1, 127, 128, 1023, 1024, 50000, RECORDS - 1};
    struct kept *k = *state;
    char why[256];
    bool no_memory = false;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct tap tap = {
            .damaged_at = UINT64_MAX, .refused_at = places[i], .refusal = JOURNAL_REFUSED};
        assert_null(try_journal(k, &tap, &no_memory, why));
        expect_place(k, why, places[i]);
        assert_non_null(strstr(why, "not to be had"));
        assert_false(no_memory);
        assert_int_equal(tap.applied, places[i]);
        assert_int_equal(tap.wrong + tap.misread, 0);
    }
}

static void want_of_memory_is_told_as_such(void **state)
{
    struct tap tap = {.damaged_at = UINT64_MAX, .refused_at = 50000, .refusal = JOURNAL_NO_MEMORY};
    struct kept *k = *state;
    char why[256];
    bool no_memory = false;

    assert_null(try_journal(k, &tap, &no_memory, why));
    expect_place(k, why, 50000);
    assert_true(no_memory);
    assert_non_null(strstr(why, "memory ran out"));
}

static void a_record_that_cannot_be_decoded_comes_after_those_before_it(void **state)
{
    struct tap tap = {.damaged_at = 60000, .refused_at = UINT64_MAX};
    struct kept *k = *state;
    char why[256];
    bool no_memory = false;

    assert_null(try_journal(k, &tap, &no_memory, why));
    expect_place(k, why, 60000);
    assert_non_null(strstr(why, "unreadable"));
    assert_int_equal(tap.applied, 60000);
    assert_int_equal(tap.wrong + tap.misread, 0);
}

/* Both are wrong, and the side that decodes finds its own first. */
static void of_two_refusals_the_first_record_is_named(void **state)
{
    struct tap tap = {.damaged_at = 60010, .refused_at = 60000, .refusal = JOURNAL_REFUSED};
    struct kept *k = *state;
    char why[256];
    bool no_memory = false;

    assert_null(try_journal(k, &tap, &no_memory, why));
    expect_place(k, why, 60000);
    assert_non_null(strstr(why, "not to be had"));
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* 40,000 bookings and what became of them: enough for a thread to apply the journal, and for
 * another to index a snapshot. */
static void an_engine_comes_back_the_same_from_journal_and_snapshot(void **state)
{
    struct kept *k = *state;
    char words[128];

    remove_directory(k->path);
    make_directory(k->path);
    k->options.segment_bytes = (int64_t)64 << 20;
    open_engine(k);
    expect_code(k, "SEATS.OPEN gala floor 1000000", HF_OK);
    for (unsigned i = 0; i < 40000; i++) {
        k->count = 0;
        snprintf(words, sizeof words, "SEATS.RESERVE gala floor booking-number-%u user-%u 1 9", i,
                 i * 7 % 12000);
        submit(k, words);
        if (i % 3 == 0) {
            snprintf(words, sizeof words, "SEATS.%s gala booking-number-%u",
                     i % 2 == 0 ? "RELEASE" : "CONFIRM", i);
            submit(k, words);
        }
        k->now_ms += i % 16 == 0;
        if (i % 100 == 99) {
            flush_engine(k);
        }
    }
    flush_engine(k);
    uint64_t digest = embedded_digest(k->engine);
    crash_engine(k);
    open_engine(k);
    assert_true(embedded_digest(k->engine) == digest);
    expect_sound(k);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    close_engine(k);
    open_engine(k);
    assert_true(embedded_digest(k->engine) == digest);
    expect_sound(k);
    close_engine(k);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, kept_teardown)
    const struct CMUnitTest tests[] = {
        TEST(records_are_applied_once_and_in_order),
        TEST(a_refusal_names_the_record_that_was_not_taken),
        TEST(want_of_memory_is_told_as_such),
        TEST(a_record_that_cannot_be_decoded_comes_after_those_before_it),
        TEST(of_two_refusals_the_first_record_is_named),
        TEST(an_engine_comes_back_the_same_from_journal_and_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

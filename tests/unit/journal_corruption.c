/* SPDX-License-Identifier: Apache-2.0
 *
 * A small journal, a small snapshot, and everything that can be broken in them. Whatever it is,
 * opening either refuses, naming the file and the place and changing nothing, or gives a state that
 * was once: that of the first so many commands. What a later record proves to have been on disk is
 * never given up. */
#include "journal_fixture.h"

#include "base/crc32c.h"
#include "base/little_endian.h"
#include "journal/record.h"

#include <stdio.h>
#include <stdlib.h>

#define REFUSED (-1)

static uint64_t digests[HISTORY + 1];

/* Two directories of the same history: segments only, and a snapshot with what came after it. */
static struct image journal_only, with_snapshot;

static void record_history(struct kept *k, size_t snapshot_at, struct image *image)
{
    k->now_ms = 0;
    open_engine(k);
    run_history(k, 0, snapshot_at);
    if (snapshot_at < HISTORY) {
        assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    }
    run_history(k, snapshot_at, HISTORY);
    assert_true(embedded_digest(k->engine) == digests[HISTORY]);
    image_load(image, k->path);
    close_engine(k);
    image_store(&(struct image){.count = 0}, k->path);
}

static int make_images(void **state)
{
    history_digests(digests);
    for (size_t i = 0; i < HISTORY; i++) {
        assert_true(digests[i] != digests[i + 1]);
    }
    kept_setup(state);
    record_history(*state, HISTORY, &journal_only);
    record_history(*state, 9, &with_snapshot);
    assert_int_equal(image_count(&journal_only, "journal-"), 3);
    assert_int_equal(image_count(&with_snapshot, "snapshot-"), 1);
    assert_null(image_find(&with_snapshot, "journal-00000000000000000001"));
    return 0;
}

static int free_images(void **state)
{
    image_free(&journal_only);
    image_free(&with_snapshot);
    return kept_teardown(state);
}

/* Opens the directory: REFUSED, or how many commands of the history it has. */
static int outcome(struct kept *k, const struct image *image)
{
    struct image after;

    image_store(image, k->path);
    k->options.log.level = LOG_ERROR;
    k->now_ms = 0; /* time stands where the journal ends */
    if (try_open(k) == HF_OK) {
        int prefix = history_prefix(digests, embedded_digest(k->engine));
        assert_true(prefix >= 0);
        close_engine(k);
        return prefix;
    }
    assert_true(strstr(k->problem.message, "journal-") != NULL ||
                strstr(k->problem.message, "snapshot-") != NULL);
    assert_non_null(strstr(k->problem.message, " at byte "));
    image_load(&after, k->path);
    assert_true(image_equal(image, &after));
    image_free(&after);
    return REFUSED;
}

static void expect_outcome_at(struct kept *k, const struct image *image, int expected,
                              const char *what, size_t where, int line)
{
    int got = outcome(k, image);

    if (got != expected) {
        print_error("%s, %zu: expected %d, got %d (%s)\n", what, where, expected, got,
                    k->problem.message);
        _fail(__FILE__, line);
    }
}
#define expect_outcome(k, image, expected, what, where)                                            \
    expect_outcome_at((k), (image), (expected), (what), (where), __LINE__)

/* The end of the record that is valid at `offset`; 0 if none is. */
static size_t record_end(const struct file *file, size_t offset)
{
    struct journal_record record;
    return record_read((struct hf_bytes){file->data, file->size}, offset, &record)
               ? offset + record.size
               : 0;
}

/* How many records end at or before `offset`, and where the last of all begins and ends. */
static int records_before(const struct file *file, size_t offset, size_t *last, size_t *end)
{
    int count = 0;

    *last = *end = SEGMENT_HEADER;
    for (size_t at = SEGMENT_HEADER, next; (next = record_end(file, at)) > 0; at = next) {
        *last = at;
        *end = next;
        count += next <= offset;
    }
    return count;
}

/* ---- every bit ------------------------------------------------------------------------------- */

/* What flipping a bit in the newest segment must lead to: only the last record is not proven. */
static int expected_of_flip(const struct file *file, bool newest, size_t at)
{
    size_t last, end;

    records_before(file, 0, &last, &end);
    if (!newest || at < last) {
        return REFUSED;
    }
    return at < end ? HISTORY - 1 : HISTORY;
}

static void flip_all(struct kept *k, struct image *image)
{
    size_t segments = image_count(image, "journal-");

    for (size_t i = 0; i < segments; i++) {
        struct file *file = image_nth(image, "journal-", i);
        for (size_t bit = 0; bit < file->size * 8; bit++) {
            int expected = expected_of_flip(file, i + 1 == segments, bit / 8);
            file->data[bit / 8] = (char)(file->data[bit / 8] ^ 1 << bit % 8);
            expect_outcome(k, image, expected, file->name, bit);
            file->data[bit / 8] = (char)(file->data[bit / 8] ^ 1 << bit % 8);
        }
    }
}

static void every_flipped_bit_of_the_journal_is_refused_or_cuts_the_last_record(void **state)
{
    flip_all(*state, &journal_only);
}

static void every_flipped_bit_of_the_journal_after_a_snapshot_is_too(void **state)
{
    flip_all(*state, &with_snapshot);
}

static void every_flipped_bit_of_a_snapshot_is_refused(void **state)
{
    struct file *file = image_nth(&with_snapshot, "snapshot-", 0);

    for (size_t bit = 0; bit < file->size * 8; bit++) {
        file->data[bit / 8] = (char)(file->data[bit / 8] ^ 1 << bit % 8);
        expect_outcome(*state, &with_snapshot, REFUSED, file->name, bit);
        file->data[bit / 8] = (char)(file->data[bit / 8] ^ 1 << bit % 8);
    }
}

/* ---- every length ---------------------------------------------------------------------------- */

/* The newest segment cut anywhere gives what is whole in it. */
static void truncate_all(struct kept *k, struct image *image, int before_newest)
{
    size_t segments = image_count(image, "journal-");

    for (size_t i = 0; i < segments; i++) {
        struct file *file = image_nth(image, "journal-", i);
        size_t full = file->size, last, end;
        for (size_t size = 0; size < full; size++) {
            int expected = i + 1 < segments
                               ? REFUSED
                               : before_newest + records_before(file, size, &last, &end);
            file->size = size;
            expect_outcome(k, image, expected, file->name, size);
            file->size = full;
        }
    }
}

static void every_truncation_of_the_journal_is_refused_or_gives_what_is_whole(void **state)
{
    size_t last, end;
    int count = records_before(image_nth(&journal_only, "journal-", 2), SIZE_MAX, &last, &end);

    truncate_all(*state, &journal_only, HISTORY - count);
}

static void every_truncation_of_the_journal_after_a_snapshot_is_too(void **state)
{
    size_t last, end, newest = image_count(&with_snapshot, "journal-") - 1;
    int count =
        records_before(image_nth(&with_snapshot, "journal-", newest), SIZE_MAX, &last, &end);

    truncate_all(*state, &with_snapshot, HISTORY - count);
}

static void every_truncation_of_a_snapshot_is_refused(void **state)
{
    struct file *file = image_nth(&with_snapshot, "snapshot-", 0);
    size_t full = file->size;

    for (size_t size = 0; size < full; size++) {
        file->size = size;
        expect_outcome(*state, &with_snapshot, REFUSED, file->name, size);
    }
    file->size = full;
}

static void a_snapshot_with_a_byte_too_many_is_refused(void **state)
{
    struct file *file = image_nth(&with_snapshot, "snapshot-", 0);

    file->data[file->size++] = 0; /* there is room for one */
    expect_outcome(*state, &with_snapshot, REFUSED, file->name, file->size);
    file->size--;
}

/* ---- records in the wrong place -------------------------------------------------------------- */

/* Exchanges two neighbouring records. */
static void swap(struct file *file, size_t first, size_t second, size_t end)
{
    char copy[1024];

    assert_true(end - first <= sizeof copy);
    memcpy(copy, file->data + first, end - first);
    memcpy(file->data + first, copy + (second - first), end - second);
    memcpy(file->data + first + (end - second), copy, second - first);
}

static void swapped_records_are_refused(void **state)
{
    for (size_t i = 0; i < 3; i++) {
        struct file *file = image_nth(&journal_only, "journal-", i);
        size_t first = SEGMENT_HEADER, second, end;
        for (; (second = record_end(file, first)) > 0 && (end = record_end(file, second)) > 0;
             first = second) {
            swap(file, first, second, end);
            expect_outcome(*state, &journal_only, REFUSED, file->name, first);
            swap(file, first, first + (end - second), end);
        }
    }
    expect_outcome(*state, &journal_only, HISTORY, "put back", 0);
}

/* Writes a record once more over, or behind, the one after it. */
static void a_repeated_record_is_refused_or_cut(void **state)
{
    for (size_t i = 0; i < 3; i++) {
        struct image image;
        image_copy(&image, &journal_only);
        struct file *file = image_nth(&image, "journal-", i);
        size_t last, end, first = SEGMENT_HEADER, next;
        records_before(file, 0, &last, &end);
        for (; (next = record_end(file, first)) > 0; first = next) {
            size_t size = next - first;
            char *longer = malloc(file->size + size + 1);
            assert_non_null(longer);
            memcpy(longer, file->data, next);
            memcpy(longer + next, file->data + first, size);
            memcpy(longer + next + size, file->data + next, file->size - next);
            char *kept = file->data;
            file->data = longer;
            file->size += size;
            /* Behind the very last one it is a tail like any other; before it, it makes a tail of
             * the last one, which nothing proves. */
            int expected = i < 2 || next < last ? REFUSED : first == last ? HISTORY : HISTORY - 1;
            expect_outcome(*state, &image, expected, file->name, first);
            free(longer);
            file->data = kept;
            file->size -= size;
        }
        image_free(&image);
    }
}

/* ---- files in the wrong place ---------------------------------------------------------------- */

static void a_missing_segment_is_refused_unless_it_is_the_last(void **state)
{
    size_t last, end;
    int newest = records_before(image_nth(&journal_only, "journal-", 2), SIZE_MAX, &last, &end);

    for (size_t i = 0; i < 3; i++) {
        struct image image;
        image_copy(&image, &journal_only);
        image_remove(&image, image_nth(&image, "journal-", i));
        expect_outcome(*state, &image, i < 2 ? REFUSED : HISTORY - newest, "missing", i);
        image_free(&image);
    }
}

static void a_missing_snapshot_is_refused(void **state)
{
    struct image image;

    image_copy(&image, &with_snapshot);
    image_remove(&image, image_nth(&image, "snapshot-", 0));
    expect_outcome(*state, &image, REFUSED, "missing", 0);
    image_free(&image);
}

static void renamed_segments_are_refused(void **state)
{
    for (size_t i = 0; i < 3; i++) {
        struct image image;
        image_copy(&image, &journal_only);
        struct file *file = image_nth(&image, "journal-", i);
        snprintf(file->name, sizeof file->name, "journal-%020d", 77 + (int)i);
        /* The directory is listed by name. */
        struct file moved = *file;
        memmove(file, file + 1, (size_t)(image.files + image.count - file - 1) * sizeof *file);
        image.files[image.count - 1] = moved;
        expect_outcome(*state, &image, REFUSED, "renamed", i);
        image_free(&image);
    }
}

static void segments_with_each_others_names_are_refused(void **state)
{
    for (size_t i = 0; i < 3; i++) {
        struct image image;
        image_copy(&image, &journal_only);
        struct file *a = image_nth(&image, "journal-", i);
        struct file *b = image_nth(&image, "journal-", (i + 1) % 3), copy = *a;
        a->data = b->data;
        a->size = b->size;
        b->data = copy.data;
        b->size = copy.size;
        expect_outcome(*state, &image, REFUSED, "exchanged", i);
        image_free(&image);
    }
}

static void a_renamed_snapshot_is_refused(void **state)
{
    struct image image;

    image_copy(&image, &with_snapshot);
    struct file *file = image_nth(&image, "snapshot-", 0);
    snprintf(file->name, sizeof file->name, "snapshot-%020d", HISTORY);
    expect_outcome(*state, &image, REFUSED, "renamed", 0);
    image_free(&image);
}

/* ---- newer versions -------------------------------------------------------------------------- */

/* Changes the version at offset 8 of a file, with a right checksum at `sum`. */
static void newer(struct kept *k, const struct image *original, const char *prefix, size_t i,
                  size_t sum)
{
    struct image image;

    image_copy(&image, original);
    struct file *file = image_nth(&image, prefix, i);
    put_u32((uint8_t *)file->data + 8, 2);
    put_u32((uint8_t *)file->data + sum, crc32c(0, file->data, sum));
    expect_outcome(k, &image, REFUSED, file->name, i);
    assert_non_null(strstr(k->problem.message, "newer version"));
    assert_non_null(strstr(k->problem.message, file->name));
    image_free(&image);
}

static void files_of_a_newer_version_are_refused(void **state)
{
    for (size_t i = 0; i < 3; i++) {
        newer(*state, &journal_only, "journal-", i, 28);
    }
    newer(*state, &with_snapshot, "snapshot-", 0, 36);
}

/* ---- zeros ----------------------------------------------------------------------------------- */

static void files_replaced_by_zeros_are_refused_or_count_as_never_begun(void **state)
{
    size_t last, end;
    int newest = records_before(image_nth(&journal_only, "journal-", 2), SIZE_MAX, &last, &end);

    for (size_t i = 0; i < 3; i++) {
        struct image image;
        image_copy(&image, &journal_only);
        struct file *file = image_nth(&image, "journal-", i);
        memset(file->data, 0, file->size);
        expect_outcome(*state, &image, i < 2 ? REFUSED : HISTORY - newest, "zeros", i);
        image_free(&image);
    }
    struct image image;
    image_copy(&image, &with_snapshot);
    struct file *file = image_nth(&image, "snapshot-", 0);
    memset(file->data, 0, file->size);
    expect_outcome(*state, &image, REFUSED, "zeros", 3);
    image_free(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_bit_of_the_journal_is_refused_or_cuts_the_last_record),
        cmocka_unit_test(every_flipped_bit_of_the_journal_after_a_snapshot_is_too),
        cmocka_unit_test(every_flipped_bit_of_a_snapshot_is_refused),
        cmocka_unit_test(every_truncation_of_the_journal_is_refused_or_gives_what_is_whole),
        cmocka_unit_test(every_truncation_of_the_journal_after_a_snapshot_is_too),
        cmocka_unit_test(every_truncation_of_a_snapshot_is_refused),
        cmocka_unit_test(a_snapshot_with_a_byte_too_many_is_refused),
        cmocka_unit_test(swapped_records_are_refused),
        cmocka_unit_test(a_repeated_record_is_refused_or_cut),
        cmocka_unit_test(a_missing_segment_is_refused_unless_it_is_the_last),
        cmocka_unit_test(a_missing_snapshot_is_refused),
        cmocka_unit_test(renamed_segments_are_refused),
        cmocka_unit_test(segments_with_each_others_names_are_refused),
        cmocka_unit_test(a_renamed_snapshot_is_refused),
        cmocka_unit_test(files_of_a_newer_version_are_refused),
        cmocka_unit_test(files_replaced_by_zeros_are_refused_or_count_as_never_begun),
    };
    return cmocka_run_group_tests(tests, make_images, free_images);
}

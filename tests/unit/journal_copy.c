/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of a data directory: what is in them, what is said when one cannot be made, and that none
 * is taken for made that is not on disk. And the listing of a directory, from which they start. */
#include "journal_fixture.h"

#include "journal/copy.h"
#include "journal/directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a directory and its copy ---------------------------------------------------------------- */

struct copies {
    struct kept *k;
    char to[64];
    struct faults from_faults, to_faults;
    struct copied copied;
    char why[256];
    int64_t done, total; /* the last progress */
};

static struct copies copies;

/* A snapshot after nine commands, and segments of 300 bytes before and after it. */
static int setup(void **state)
{
    kept_setup(state);
    struct kept *k = *state;
    copies = (struct copies){.k = k};
    make_directory(copies.to);
    open_engine(k);
    run_history(k, 0, 9);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    run_history(k, 9, HISTORY);
    close_engine(k);
    return 0;
}

static int teardown(void **state)
{
    remove_directory(copies.to);
    return kept_teardown(state);
}

static void see_progress(void *context, int64_t done, int64_t total)
{
    (void)context;
    assert_true(done > copies.done && done <= total);
    copies.done = done;
    copies.total = total;
}

static bool copy(void)
{
    struct storage *from = faulty_storage(copies.k->path, &copies.from_faults, false);
    struct storage *to = faulty_storage(copies.to, &copies.to_faults, false);

    copies.done = copies.total = 0;
    snprintf(copies.why, sizeof copies.why, "nothing");
    bool done = copy_data(from, to, see_progress, NULL, &copies.copied, copies.why);
    storage_free(from);
    storage_free(to);
    return done;
}

static void expect_copy(void)
{
    struct kept *k = copies.k;
    struct kept other = {.options = k->options, .now_ms = 0};
    uint64_t digests[HISTORY + 1];

    history_digests(digests);
    snprintf(other.path, sizeof other.path, "%s", copies.to);
    k->now_ms = 0;
    open_engine(&other);
    assert_int_equal(history_prefix(digests, embedded_digest(other.engine)), HISTORY);
    close_engine(&other);
}

static void expect_failure(const char *expected)
{
    if (copy() || strstr(copies.why, expected) == NULL) {
        print_error("got      %s\nexpected %s\n", copies.why, expected);
        fail();
    }
}

/* ---- what is copied -------------------------------------------------------------------------- */

static void a_copy_has_the_snapshot_and_what_follows(void **state)
{
    struct image image;
    int64_t bytes = 0;
    (void)state;

    assert_true(copy());
    uint64_t own = copies.copied.last - HISTORY; /* what the start wrote by itself */
    assert_in_range(own, 0, 1);
    assert_int_equal(copies.copied.snapshot, own + 9);
    image_load(&image, copies.to);
    assert_int_equal(copies.copied.files, image.count);
    for (size_t i = 0; i < image.count; i++) {
        bytes += (int64_t)image.files[i].size;
    }
    assert_int_equal(copies.copied.bytes, bytes);
    image_free(&image);
    assert_true(copies.done >= bytes);
    expect_copy();
}

static void every_file_is_synced_and_the_directory_last(void **state)
{
    (void)state;

    assert_true(copy());
    assert_int_equal(copies.to_faults.count[CALL_SYNC], copies.copied.files);
    assert_int_equal(copies.to_faults.count[CALL_SYNC_DIRECTORY], 1);
}

static void short_writes_and_interruptions_do_not_matter(void **state)
{
    (void)state;

    copies.to_faults = (struct faults){.shortest = 7, .interrupted = true};
    copies.from_faults = copies.to_faults;
    assert_true(copy());
    copies.to_faults = copies.from_faults = (struct faults){.at = 0};
    expect_copy();
}

/* ---- what cannot be copied ------------------------------------------------------------------- */

/* Every call of a kind fails in turn, and each says why. */
static void fail_at_every(enum call call, int code, const char *expected, unsigned at_least)
{
    unsigned at = 1;

    for (;; at++) {
        copies.to_faults = (struct faults){.call = call, .at = at, .code = code};
        bool done = copy();
        if (!copies.to_faults.happened) {
            assert_true(done);
            break;
        }
        assert_false(done);
        if (strstr(copies.why, expected) == NULL) {
            print_error("got      %s\nexpected %s\n", copies.why, expected);
            fail();
        }
    }
    assert_true(at > at_least);
    expect_copy(); /* after all that, one that is made is whole */
    image_store(&(struct image){.count = 0}, copies.to);
}

static void a_failure_of_any_kind_is_named(void **state)
{
    (void)state;

    fail_at_every(CALL_WRITE, -EIO, "cannot be written: Input/output error", 3);
    fail_at_every(CALL_SYNC, -EIO, "cannot be written: Input/output error", 3);
    fail_at_every(CALL_READ, -EIO, "cannot be written: Input/output error", 3);
    fail_at_every(CALL_SYNC_DIRECTORY, -EIO, "the copy: cannot be synced: Input/output error", 1);
    fail_at_every(CALL_OPEN, -EMFILE, "cannot be written: Too many open files", 3);
    fail_at_every(CALL_LIST, -EIO, "the copy: cannot be cleared: Input/output error", 1);
}

static void a_full_disk_is_named_with_what_is_needed_and_free(void **state)
{
    char expected[160];
    (void)state;

    assert_true(copy());
    snprintf(expected, sizeof expected,
             "cannot be written: No space left on device: needs %lld bytes, 77 free; make room "
             "there, or choose another place",
             (long long)copies.total);
    for (unsigned at = 1; at <= 3; at++) {
        copies.to_faults = (struct faults){.call = CALL_WRITE, .at = at, .code = -ENOSPC};
        copies.to_faults.space = (struct storage_space){.free = 77, .total = 1000};
        expect_failure(expected);
    }
}

static void what_cannot_be_read_is_named(void **state)
{
    (void)state;

    copies.from_faults = (struct faults){.call = CALL_READ, .at = 1, .code = -EIO};
    expect_failure(": cannot be read: Input/output error");
    assert_memory_equal(copies.why, "snapshot-000", 12);
    copies.from_faults = (struct faults){.call = CALL_LIST, .at = 1, .code = -EACCES};
    expect_failure("the directory: cannot be read: Permission denied");
}

/* A tail that is torn is cut off the newest segment; of any other it is damage. */
static void a_torn_segment_before_the_newest_is_not_copied(void **state)
{
    struct kept *k = *state;
    struct image image;

    image_load(&image, k->path);
    size_t count = image_count(&image, "journal-");
    assert_true(count >= 2);
    for (size_t i = count - 2; i < count; i++) {
        struct file *file = image_nth(&image, "journal-", i);
        char was = file->data[file->size - 1];
        file->data[file->size - 1] = (char)(was ^ 1);
        write_file(k->path, file->name, file->data, file->size);
        bool newest = i + 1 == count;
        assert_int_equal(copy(), newest);
        assert_true(newest || strstr(copies.why, "damaged") != NULL);
        file->data[file->size - 1] = was;
        write_file(k->path, file->name, file->data, file->size);
    }
    image_free(&image);
}

static void a_journal_that_begins_too_late_is_named(void **state)
{
    struct kept *k = *state;
    struct image image;

    image_load(&image, k->path);
    image_remove(&image, image_nth(&image, "snapshot-", 0));
    image_store(&image, k->path);
    image_free(&image);
    expect_failure("record 1 is missing: the journal begins with ");
}

/* Spoils the copy right before it is read back. */
static void spoil_before_reading(struct faults *faults, enum call call)
{
    struct image image;

    if (call != CALL_READ) {
        return;
    }
    faults->before = NULL;
    image_load(&image, copies.to);
    struct file *file = image_nth(&image, "snapshot-", 0);
    file->data[file->size / 2] ^= 1;
    write_file(copies.to, file->name, file->data, file->size);
    image_free(&image);
}

static void a_copy_that_reads_back_differently_is_none(void **state)
{
    (void)state;

    copies.to_faults.before = spoil_before_reading;
    expect_failure("what was written reads back differently: is the disk good?");
}

/* ---- listing --------------------------------------------------------------------------------- */

static unsigned resizes, resize_fails_at;

static void *failing_resize(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    (void)memory;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return ++resizes == resize_fails_at ? NULL : realloc(block, new_size);
}

#define LISTED 40

/* A listing that is cut short would have the journal begin too late, or remove too little. */
static void a_listing_that_finds_no_memory_is_refused(void **state)
{
    struct kept *k = *state;
    struct memory memory = {.resize = failing_resize};
    struct directory directory;
    char name[SEGMENT_NAME_SIZE];

    image_store(&(struct image){.count = 0}, k->path);
    for (uint64_t i = 1; i <= LISTED; i++) {
        segment_name(LISTED + 1 - i, name);
        write_file(k->path, name, "", 0);
        snprintf(name, sizeof name, "snapshot-%020u", (unsigned)i);
        write_file(k->path, name, "", 0);
    }
    struct storage *storage = faulty_storage(k->path, &k->faults, false);
    for (resize_fails_at = 1;; resize_fails_at++) {
        resizes = 0;
        int code = directory_read_with(storage, &memory, &directory);
        bool failed = resizes >= resize_fails_at;
        assert_int_equal(code, failed ? -ENOMEM : 0);
        if (!failed) {
            break;
        }
        directory_free(&directory);
    }
    assert_true(resize_fails_at > 4);
    assert_int_equal(directory.segments.count, LISTED);
    assert_int_equal(directory.snapshots.count, LISTED);
    for (size_t i = 0; i < LISTED; i++) {
        assert_int_equal(directory.segments.at[i], i + 1);
        assert_int_equal(directory.snapshots.at[i], i + 1);
    }
    directory_free(&directory);
    storage_free(storage);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_has_the_snapshot_and_what_follows),
        TEST(every_file_is_synced_and_the_directory_last),
        TEST(short_writes_and_interruptions_do_not_matter),
        TEST(a_failure_of_any_kind_is_named),
        TEST(a_full_disk_is_named_with_what_is_needed_and_free),
        TEST(what_cannot_be_read_is_named),
        TEST(a_torn_segment_before_the_newest_is_not_copied),
        TEST(a_journal_that_begins_too_late_is_named),
        TEST(a_copy_that_reads_back_differently_is_none),
        TEST(a_listing_that_finds_no_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The room that a journal makes for itself in advance: from small to a whole segment, less where
 * the disk has less, and none where it has none. Only a write that fails is a failure, and says how
 * much was needed and how much there was. */
#include "journal_fixture.h"

#include "journal/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define SEGMENT ((int64_t)64 * 1024)
#define FIRST (SEGMENT / 64 + 1)

static void open_large(struct kept *k)
{
    k->options.segment_bytes = SEGMENT;
    open_engine(k);
}

/* A batch of about `size` bytes or a little more; `i` makes it different from others. */
static void write_bytes(struct kept *k, int i, size_t size)
{
    char words[200];
    struct answer *answer = NULL;

    for (size_t done = 0; done < size; done += 100) {
        snprintf(words, sizeof words, "QUOTA.LIMIT tenant-%045d-%06zu 5", i, done);
        answer = submit(k, words);
    }
    flush_engine(k);
    assert_non_null(answer);
    assert_int_equal(answer->times, 1);
    assert_int_equal(answer->code, HF_OK);
}

static size_t size_of(struct kept *k, size_t segment)
{
    struct image image;

    image_load(&image, k->path);
    struct file *file = image_nth(&image, "journal-", segment);
    assert_non_null(file);
    size_t size = file->size;
    image_free(&image);
    return size;
}

static size_t segments(struct kept *k)
{
    struct image image;

    image_load(&image, k->path);
    size_t count = image_count(&image, "journal-");
    image_free(&image);
    return count;
}

static void expect_all_after_a_start(struct kept *k)
{
    uint64_t digest = embedded_digest(k->engine);

    crash_engine(k);
    open_engine(k);
    assert_true(embedded_digest(k->engine) == digest);
    expect_sound(k);
}

/* ---- growing --------------------------------------------------------------------------------- */

static void a_segment_grows_from_small_to_its_whole_size(void **state)
{
    struct kept *k = *state;
    size_t before = 0;
    unsigned steps = 0;

    open_large(k);
    assert_int_equal(size_of(k, 0), FIRST);
    for (int i = 0; segments(k) == 1; i++) {
        write_bytes(k, i, 300);
        size_t size = size_of(k, 0);
        assert_true(size == before || size <= (before > 0 ? 2 * before : 2 * FIRST) ||
                    size > (size_t)SEGMENT);
        steps += size != before;
        before = size;
    }
    assert_true(before >= (size_t)SEGMENT && before < (size_t)SEGMENT + 1024);
    assert_true(steps <= 9); /* a new size is work for the disk */
    assert_int_equal(k->faults.allocated, SEGMENT);
    assert_int_equal(size_of(k, 1), FIRST);
    expect_all_after_a_start(k);
}

static void a_batch_that_is_larger_than_a_step_gets_its_room(void **state)
{
    struct kept *k = *state;

    open_large(k);
    write_bytes(k, 0, 5000);
    size_t size = size_of(k, 0);
    assert_true(size > 5000 && size <= 20000);
    unsigned asked = k->faults.count[CALL_ALLOCATE];
    assert_int_equal(asked, 2);
    write_bytes(k, 1, 300); /* there is room */
    assert_int_equal(k->faults.count[CALL_ALLOCATE], asked);
    expect_all_after_a_start(k);
}

static void a_start_goes_on_with_the_room_there_is(void **state)
{
    struct kept *k = *state;

    open_large(k);
    write_bytes(k, 0, 5000);
    size_t size = size_of(k, 0);
    close_engine(k);
    k->faults = (struct faults){.at = 0};
    open_engine(k);
    assert_int_equal(k->faults.count[CALL_ALLOCATE], 0);
    assert_int_equal(size_of(k, 0), size);
    write_bytes(k, 1, 300);
    assert_int_equal(k->faults.count[CALL_ALLOCATE], 0);
    for (int i = 2; i < 100; i++) {
        write_bytes(k, i, 300);
    }
    assert_true(size_of(k, 0) >= 2 * size);
    expect_all_after_a_start(k);
}

/* ---- little room ----------------------------------------------------------------------------- */

static void where_there_is_less_room_a_smaller_step_is_taken(void **state)
{
    struct kept *k = *state;

    open_large(k);
    k->faults.allocate_most = SEGMENT * 3 / 4;
    for (int i = 0; i < 200 && k->faults.allocated <= SEGMENT / 2 + 64; i++) {
        write_bytes(k, i, 300);
    }
    assert_true(k->faults.allocated > SEGMENT / 2 + 64);
    assert_true(k->faults.allocated <= SEGMENT * 3 / 4);
    expect_all_after_a_start(k);
}

static void without_room_in_advance_everything_works(void **state)
{
    struct kept *k = *state;
    unsigned batches = 0, asking = 0;

    k->faults.allocate_most = 1;
    open_large(k);
    while (segments(k) < 3) {
        unsigned asked = k->faults.count[CALL_ALLOCATE];
        write_bytes(k, (int)batches++, 100);
        asking += k->faults.count[CALL_ALLOCATE] > asked;
        assert_true(k->faults.count[CALL_ALLOCATE] - asked <= 7);
    }
    assert_int_equal(k->faults.allocated, 0);
    /* It is tried again, but not with every batch. */
    assert_true(asking > 10 && asking < batches / 5);
    expect_all_after_a_start(k);
}

static void any_failure_to_make_room_is_left_to_the_write(void **state)
{
    struct kept *k = *state;

    for (unsigned at = 1; at <= 4; at++) {
        image_store(&(struct image){.count = 0}, k->path);
        k->faults = (struct faults){.call = CALL_ALLOCATE, .at = at, .code = -EIO};
        open_large(k);
        for (int i = 0; i < 40; i++) {
            write_bytes(k, i, 300);
        }
        assert_true(k->faults.happened);
        assert_null(engine_failure(k->engine));
        close_engine(k);
    }
}

/* ---- no room --------------------------------------------------------------------------------- */

static void a_write_without_room_says_what_was_needed_and_what_was_free(void **state)
{
    struct kept *k = *state;
    char said[1024];

    open_large(k);
    k->faults = (struct faults){.call = CALL_WRITE, .at = 1, .code = -ENOSPC};
    k->faults.space = (struct storage_space){.free = 17, .total = 1000};
    capture_begin();
    expect_code(k, "QUOTA.LIMIT acme 5", HF_IOERR);
    assert_int_equal(capture_end(said, sizeof said), 1);
    long long needed = 0, left = 0;
    const char *found = strstr(said, "cannot be written: No space left on device: needs ");
    assert_non_null(found);
    assert_int_equal(sscanf(strstr(found, "needs"), "needs %lld bytes, %lld free", &needed, &left),
                     2);
    assert_true(needed > 32 && needed < 100);
    assert_int_equal(left, 17);
}

static void a_segment_that_cannot_be_begun_says_what_was_needed(void **state)
{
    struct kept *k = *state;

    k->faults = (struct faults){.call = CALL_WRITE, .at = 1, .code = -ENOSPC};
    k->faults.space = (struct storage_space){.free = 5, .total = 1000};
    capture_begin();
    assert_int_equal(try_open(k), HF_IOERR);
    capture_end(NULL, 0);
    assert_non_null(strstr(k->problem.message, "No space left on device: needs 32 bytes, 5 free"));
    k->faults = (struct faults){.at = 0};
    open_engine(k); /* what it left is no hindrance */
}

static void a_segment_that_cannot_be_gone_on_with_says_what_was_needed(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    expect_code(k, "QUOTA.LIMIT acme 5", HF_OK);
    close_engine(k);
    k->faults = (struct faults){.call = CALL_WRITE, .at = 1, .code = -EDQUOT};
    k->faults.space = (struct storage_space){.free = 5, .total = 1000};
    assert_int_equal(try_open(k), HF_IOERR);
    assert_non_null(
        strstr(k->problem.message, "cannot go on with it: Disk quota exceeded: needs "));
    assert_non_null(strstr(k->problem.message, " bytes, 5 free"));
}

static void other_failures_speak_of_no_room(void **state)
{
    char out[STORAGE_WHY_SIZE];
    (void)state;

    assert_string_equal(storage_why(-EIO, 10, 5, out), "Input/output error");
    assert_string_equal(storage_why(-ENOSPC, -1, -1, out), "No space left on device");
    assert_string_equal(storage_why(-ENOSPC, 10, -1, out),
                        "No space left on device: needs 10 bytes");
    assert_string_equal(storage_why(-ENOSPC, -1, 5, out), "No space left on device: 5 free");
    assert_string_equal(
        storage_why(-EFBIG, INT64_MAX, INT64_MAX, out),
        "File too large: needs 9223372036854775807 bytes, 9223372036854775807 free");
}

/* ---- giving it back -------------------------------------------------------------------------- */

static void a_snapshot_replaces_the_newest_segment_whole(void **state)
{
    struct kept *k = *state;

    open_large(k);
    for (int i = 0; i < 4; i++) {
        write_bytes(k, i, 5000);
        assert_true(size_of(k, 0) > 5000);
        assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
        assert_int_equal(segments(k), 1);
        assert_int_equal(size_of(k, 0), FIRST);
    }
    expect_all_after_a_start(k);
    write_bytes(k, 4, 300);
    expect_all_after_a_start(k);
}

static void a_small_segment_is_gone_on_with(void **state)
{
    struct kept *k = *state;

    open_large(k);
    write_bytes(k, 0, 300);
    unsigned opened = k->faults.count[CALL_OPEN];
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    unsigned for_a_snapshot = k->faults.count[CALL_OPEN] - opened;
    write_bytes(k, 1, 5000);
    opened = k->faults.count[CALL_OPEN];
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    assert_true(k->faults.count[CALL_OPEN] - opened > for_a_snapshot);
    expect_all_after_a_start(k);
}

/* What a snapshot that failed was to replace stays, and is replaced by the next. */
static void snapshots_that_fail_cut_once(void **state)
{
    struct kept *k = *state;

    open_large(k);
    write_bytes(k, 0, 5000);
    capture_begin();
    for (int i = 0; i < 3; i++) {
        k->faults.call = CALL_RENAME;
        k->faults.at = k->faults.count[CALL_RENAME] + 1;
        k->faults.code = -EIO;
        assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
        assert_int_equal(segments(k), 2);
    }
    capture_end(NULL, 0);
    expect_all_after_a_start(k);
    k->faults.at = 0;
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    assert_int_equal(segments(k), 1);
    expect_all_after_a_start(k);
}

static void on_a_disk_with_little_room_the_segment_is_gone_on_with(void **state)
{
    struct kept *k = *state;

    open_large(k);
    write_bytes(k, 0, 5000);
    k->faults.space = (struct storage_space){.free = (int64_t)size_of(k, 0), .total = 1 << 30};
    capture_begin();
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK); /* it is not made: see the log */
    capture_end(NULL, 0);
    assert_int_equal(segments(k), 1);
    expect_all_after_a_start(k);
}

/* ---- large records --------------------------------------------------------------------------- */

static void the_largest_record_there_may_be_has_room(void **state)
{
    struct kept *k = *state;
    struct journal_options options = {.segment_bytes = SEGMENT};
    struct journal_sink sink = {.context = NULL};
    char why[256];
    struct journal *journal =
        journal_open(faulty_storage(k->path, &k->faults, false), &options, &sink, why);

    assert_non_null(journal);
    assert_true(journal_reserve(journal, RECORD_MAX - RECORD_HEADER));
    assert_false(journal_reserve(journal, RECORD_MAX - RECORD_HEADER + 1));
    journal_close(journal);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kept_setup, kept_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_segment_grows_from_small_to_its_whole_size),
        TEST(a_batch_that_is_larger_than_a_step_gets_its_room),
        TEST(a_start_goes_on_with_the_room_there_is),
        TEST(where_there_is_less_room_a_smaller_step_is_taken),
        TEST(without_room_in_advance_everything_works),
        TEST(any_failure_to_make_room_is_left_to_the_write),
        TEST(a_write_without_room_says_what_was_needed_and_what_was_free),
        TEST(a_segment_that_cannot_be_begun_says_what_was_needed),
        TEST(a_segment_that_cannot_be_gone_on_with_says_what_was_needed),
        TEST(other_failures_speak_of_no_room),
        TEST(a_snapshot_replaces_the_newest_segment_whole),
        TEST(a_small_segment_is_gone_on_with),
        TEST(snapshots_that_fail_cut_once),
        TEST(on_a_disk_with_little_room_the_segment_is_gone_on_with),
        TEST(the_largest_record_there_may_be_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

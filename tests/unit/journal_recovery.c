/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting again after a crash: what is cut, dropped, removed and passed over, and that everything
 * goes on properly afterwards. */
#include "journal_fixture.h"

#include "journal/record.h"

#include <stdio.h>

static uint64_t digests[HISTORY + 1];

static int setup(void **state)
{
    history_digests(digests);
    return kept_setup(state);
}

static void expect_prefix(struct kept *k, int expected)
{
    assert_int_equal(history_prefix(digests, embedded_digest(k->engine)), expected);
}

/* Opens the directory at the time the journal ends. */
static void reopen(struct kept *k)
{
    k->now_ms = 0;
    open_engine(k);
}

/* Runs the rest of the history from command `from` on, and sees it again after a restart. */
static void go_on(struct kept *k, size_t from)
{
    run_history(k, from, HISTORY);
    uint64_t digest = embedded_digest(k->engine); /* entropy is counted anew: not the history's */
    close_engine(k);
    reopen(k);
    assert_true(embedded_digest(k->engine) == digest);
    expect_sound(k);
}

/* Changes one file of the closed directory. */
static void with_file(struct kept *k, const char *prefix, size_t i,
                      void (*change)(struct image *image, struct file *file))
{
    struct image image;

    image_load(&image, k->path);
    struct file *file = image_nth(&image, prefix, i);
    assert_non_null(file);
    change(&image, file);
    image_store(&image, k->path);
    image_free(&image);
}

/* ---- torn tails ------------------------------------------------------------------------------ */

/* Flips a bit in the last record. */
static void tear(struct image *image, struct file *file)
{
    struct journal_record record;
    size_t at = SEGMENT_HEADER, last = at;
    (void)image;

    for (; record_read((struct hf_bytes){file->data, file->size}, at, &record); at += record.size) {
        last = at;
    }
    assert_true(at > last);
    file->data[last + 33] ^= 1;
}

static void a_torn_tail_is_cut_and_said_in_one_line(void **state)
{
    struct kept *k = *state;
    char text[1024];

    k->options.segment_bytes = 4096;
    reopen(k);
    run_history(k, 0, 5);
    close_engine(k);
    with_file(k, "journal-", 0, tear);
    capture_begin();
    reopen(k);
    assert_int_equal(capture_end(text, sizeof text), 1);
    assert_non_null(strstr(text, "warning: journal-00000000000000000001: a tail of "));
    assert_non_null(strstr(text, " at byte "));
    expect_prefix(k, 4);
    go_on(k, 4);
}

static void nothing_is_said_of_a_journal_that_is_whole(void **state)
{
    struct kept *k = *state;

    capture_begin();
    reopen(k);
    run_history(k, 0, HISTORY);
    crash_engine(k);
    reopen(k);
    assert_int_equal(capture_end(NULL, 0), 0);
    expect_prefix(k, HISTORY);
}

static uint64_t seen;

static enum journal_taken see_record(void *context, uint64_t sequence, int64_t time_ms,
                                     struct hf_bytes command, char why[256])
{
    (void)context, (void)time_ms, (void)command, (void)why;
    seen = sequence;
    return JOURNAL_TAKEN;
}

static void looking_only_changes_nothing(void **state)
{
    static const struct log log = {.level = LOG_INFO};
    struct kept *k = *state;
    struct journal_options options = {.segment_bytes = 8192, .read_only = true, .log = &log};
    struct journal_sink sink = {.record = see_record};
    struct image before, after;
    char why[256] = "";

    k->options.segment_bytes = 4096;
    reopen(k);
    run_history(k, 0, 5);
    close_engine(k);
    with_file(k, "journal-", 0, tear);
    write_file(k->path, "snapshot.tmp", "half", 4);
    struct storage *owner = faulty_storage(k->path, &k->faults, false);
    assert_int_equal(owner->type->lock(owner), 0); /* looking needs no lock */
    image_load(&before, k->path);
    capture_begin();
    struct journal *journal =
        journal_open(faulty_storage(k->path, &k->faults, false), &options, &sink, why);
    assert_non_null(journal);
    assert_int_equal(seen, 5); /* the start, and four commands */
    journal_close(journal);
    storage_free(owner);
    assert_int_equal(capture_end(NULL, 0), 0);
    image_load(&after, k->path);
    assert_true(image_equal(&before, &after));
    image_free(&before);
    image_free(&after);
}

/* ---- want of memory -------------------------------------------------------------------------- */

static enum journal_taken no_room_for_state(void *context, uint64_t sequence, struct reader *state,
                                            char why[256])
{
    (void)context, (void)sequence, (void)state;
    snprintf(why, 256, "not to be told");
    return JOURNAL_NO_MEMORY;
}

static enum journal_taken no_room_for_record(void *context, uint64_t sequence, int64_t time_ms,
                                             struct hf_bytes command, char why[256])
{
    (void)context, (void)sequence, (void)time_ms, (void)command;
    snprintf(why, 256, "not to be told");
    return JOURNAL_NO_MEMORY;
}

static void expect_starved(struct kept *k, const char *file)
{
    static const struct log log = {.level = LOG_INFO};
    struct journal_options options = {.segment_bytes = 1 << 20, .log = &log};
    bool no_memory = false;
    struct journal_sink sink = {
        .state = no_room_for_state, .record = no_room_for_record, .no_memory = &no_memory};
    struct image before, after;
    char why[256] = "";

    image_load(&before, k->path);
    assert_null(journal_open(faulty_storage(k->path, &k->faults, false), &options, &sink, why));
    assert_true(no_memory);
    assert_memory_equal(why, file, strlen(file));
    assert_non_null(strstr(why, "memory ran out"));
    assert_non_null(strstr(why, "start again with more memory"));
    assert_null(strstr(why, "away"));
    assert_null(strstr(why, "backup"));
    image_load(&after, k->path);
    assert_true(image_equal(&before, &after));
    image_free(&before);
    image_free(&after);
}

/* Whoever followed the advice that damage gets would lose what is perfectly well. */
static void want_of_memory_is_no_damage(void **state)
{
    struct kept *k = *state;

    reopen(k);
    run_history(k, 0, HISTORY);
    crash_engine(k);
    expect_starved(k, "journal-");
    reopen(k);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    close_engine(k);
    expect_starved(k, "snapshot-");
    reopen(k);
    expect_prefix(k, HISTORY);
}

/* ---- a segment that was being made ----------------------------------------------------------- */

static void set_size_0(struct image *image, struct file *file)
{
    (void)image;
    file->size = 0;
}

static void set_size_17(struct image *image, struct file *file)
{
    (void)image;
    file->size = 17;
}

static void set_zeros(struct image *image, struct file *file)
{
    (void)image;
    memset(file->data, 0, file->size);
}

/* Half of the header is there, and nothing behind it. */
static void set_torn(struct image *image, struct file *file)
{
    (void)image;
    memset(file->data + 12, 0, file->size - 12);
}

/* The header is there and nothing behind it. */
static void set_begun(struct image *image, struct file *file)
{
    (void)image;
    memset(file->data + SEGMENT_HEADER, 0, file->size - SEGMENT_HEADER);
}

static void a_segment_that_was_being_made_is_dropped(void **state)
{
    static void (*const changes[])(struct image *, struct file *) = {
        set_size_0, set_size_17, set_zeros, set_torn, set_begun};
    struct kept *k = *state;
    struct image image;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        image_store(&(struct image){.count = 0}, k->path);
        reopen(k);
        size_t count = 0, segments = 1;
        while (segments == 1) { /* until the second segment has one record */
            run_history(k, count, count + 1);
            count++;
            image_load(&image, k->path);
            segments = image_count(&image, "journal-");
            image_free(&image);
        }
        close_engine(k);
        with_file(k, "journal-", 1, changes[i]);
        reopen(k);
        expect_prefix(k, (int)count - 1);
        go_on(k, count - 1);
        close_engine(k);
    }
}

static void the_only_segment_being_made_is_dropped_too(void **state)
{
    struct kept *k = *state;

    reopen(k);
    close_engine(k);
    with_file(k, "journal-", 0, set_zeros);
    reopen(k);
    expect_prefix(k, 0);
    go_on(k, 0);
}

static void damage_header(struct image *image, struct file *file)
{
    (void)image;
    file->data[13] ^= 1;
}

/* The header is on disk before the first record is written: a record proves it was whole. */
static void a_damaged_header_before_a_record_is_refused(void **state)
{
    struct kept *k = *state;

    reopen(k);
    run_history(k, 0, 1);
    close_engine(k);
    with_file(k, "journal-", 0, damage_header);
    assert_int_equal(try_open(k), HF_IOERR);
    assert_non_null(strstr(k->problem.message, "journal-00000000000000000001 at byte 0"));
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void damage_end(struct image *image, struct file *file)
{
    (void)image;
    file->data[file->size - 1] ^= 1;
}

static void the_newest_snapshot_is_used_and_older_ones_go(void **state)
{
    struct kept *k = *state;
    struct image old, now;

    reopen(k);
    run_history(k, 0, 4);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    image_load(&old, k->path);
    run_history(k, 4, 9);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    run_history(k, 9, 11);
    close_engine(k);
    /* As if the crash had come before what the second one replaces was removed. */
    for (size_t i = 0; i < old.count; i++) {
        if (strncmp(old.files[i].name, "snapshot-", 9) == 0) {
            write_file(k->path, old.files[i].name, old.files[i].data, old.files[i].size);
        }
    }
    reopen(k);
    expect_prefix(k, 11);
    image_load(&now, k->path);
    assert_int_equal(image_count(&now, "snapshot-"), 1);
    assert_non_null(image_find(&now, "snapshot-00000000000000000010"));
    assert_null(image_find(&now, "journal-00000000000000000001"));
    image_free(&old);
    image_free(&now);
    go_on(k, 11);
}

/* With `keep_all`, everything the second snapshot replaced is still there. */
static void make_two_snapshots(struct kept *k, bool keep_all)
{
    struct image old;

    reopen(k);
    run_history(k, 0, 3);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    run_history(k, 3, 9);
    image_load(&old, k->path);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    run_history(k, 9, 10);
    struct image now;
    image_load(&now, k->path);
    for (size_t i = 0; i < old.count; i++) {
        bool gone = image_find(&now, old.files[i].name) == NULL;
        if (gone && (keep_all || strncmp(old.files[i].name, "snapshot-", 9) == 0)) {
            write_file(k->path, old.files[i].name, old.files[i].data, old.files[i].size);
        }
    }
    image_free(&now);
    image_free(&old);
    crash_engine(k);
    with_file(k, "snapshot-", 1, damage_end);
}

static void a_damaged_snapshot_falls_back_to_an_older_one_and_is_named(void **state)
{
    struct kept *k = *state;
    char text[512];

    make_two_snapshots(k, true);
    capture_begin();
    reopen(k);
    assert_int_equal(capture_end(text, sizeof text), 1);
    assert_non_null(strstr(text, "is damaged; recovered from what is before it"));
    expect_prefix(k, 10);
    go_on(k, 10);
}

static void a_damaged_snapshot_is_refused_if_the_journal_does_not_reach_back(void **state)
{
    struct kept *k = *state;
    struct image before, after;

    make_two_snapshots(k, false);
    image_load(&before, k->path);
    assert_int_equal(try_open(k), HF_IOERR);
    assert_non_null(strstr(k->problem.message, " at byte "));
    image_load(&after, k->path);
    assert_true(image_equal(&before, &after));
    image_free(&before);
    image_free(&after);
}

static void an_unfinished_snapshot_is_removed(void **state)
{
    struct kept *k = *state;
    struct image image;

    reopen(k);
    run_history(k, 0, 3);
    close_engine(k);
    write_file(k->path, "snapshot.tmp", "half", 4);
    reopen(k);
    image_load(&image, k->path);
    assert_null(image_find(&image, "snapshot.tmp"));
    image_free(&image);
    expect_prefix(k, 3);
}

/* ---- what was read must be on disk ----------------------------------------------------------- */

/* The last run may have been killed between a write and its sync: what is read back is in the
 * system's memory, and a power failure would still take it. */
static void what_was_recovered_is_synced_before_it_is_shown(void **state)
{
    struct kept *k = *state;

    reopen(k);
    run_history(k, 0, 3);
    crash_engine(k);
    k->faults = (struct faults){.at = 0};
    reopen(k);
    assert_true(k->faults.count[CALL_SYNC] >= 1);
    assert_true(k->faults.count[CALL_SYNC_DIRECTORY] >= 1);
    assert_int_equal(submit(k, "SEATS.GET gala b1")->times, 1);
}

/* ---- progress -------------------------------------------------------------------------------- */

struct progress {
    unsigned times;
    int64_t done, total;
};

static void see_progress(void *context, int64_t done, int64_t total)
{
    struct progress *progress = context;

    assert_true(done > progress->done && done <= total);
    assert_true(progress->times == 0 || total == progress->total);
    progress->times++;
    progress->done = done;
    progress->total = total;
}

static void progress_adds_up_over_the_segments(void **state)
{
    struct kept *k = *state;
    struct progress progress = {.times = 0};
    struct image image;
    int64_t bytes = 0;

    open_engine(k);
    run_history(k, 0, HISTORY);
    close_engine(k);
    image_load(&image, k->path);
    size_t count = image_count(&image, "journal-");
    for (size_t i = 0; i < count; i++) {
        bytes += (int64_t)image_nth(&image, "journal-", i)->size;
    }
    image_free(&image);
    k->options.progress = see_progress;
    k->options.progress_context = &progress;
    reopen(k);
    assert_true(count >= 3);
    assert_int_equal(progress.times, count); /* of few records each: once a segment */
    assert_int_equal(progress.total, bytes);
    assert_true(progress.done > bytes / 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, kept_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_torn_tail_is_cut_and_said_in_one_line),
        TEST(nothing_is_said_of_a_journal_that_is_whole),
        TEST(looking_only_changes_nothing),
        TEST(want_of_memory_is_no_damage),
        TEST(a_segment_that_was_being_made_is_dropped),
        TEST(the_only_segment_being_made_is_dropped_too),
        TEST(a_damaged_header_before_a_record_is_refused),
        TEST(the_newest_snapshot_is_used_and_older_ones_go),
        TEST(a_damaged_snapshot_falls_back_to_an_older_one_and_is_named),
        TEST(a_damaged_snapshot_is_refused_if_the_journal_does_not_reach_back),
        TEST(an_unfinished_snapshot_is_removed),
        TEST(what_was_recovered_is_synced_before_it_is_shown),
        TEST(progress_adds_up_over_the_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Storage that fails. After the first failed write or sync of the journal nothing is acknowledged
 * and nothing is read, the reason is said once, and nothing is tried again; the next start finds
 * every acknowledged command. What fails beside the journal costs a snapshot, not the engine. */
#include "journal_fixture.h"

#include "journal/record.h"

#include <errno.h>
#include <stdio.h>

/* ---- one failure at every call --------------------------------------------------------------- */

/* What one run came to. */
struct run {
    bool opened;
    size_t acknowledged;           /* commands of the history */
    uint64_t digests[HISTORY + 1]; /* after so many commands, acknowledged or not */
    bool stopped;                  /* the engine failed */
};

/* Garbage behind the last record, and a snapshot that was not finished: work for the next start. */
static void leave_a_mess(struct kept *k)
{
    struct image image;
    struct journal_record record;
    size_t at = SEGMENT_HEADER;

    image_load(&image, k->path);
    struct file *file = image_nth(&image, "journal-", image_count(&image, "journal-") - 1);
    while (record_read((struct hf_bytes){file->data, file->size}, at, &record)) {
        at += record.size;
    }
    assert_true(at + 8 <= file->size);
    memcpy(file->data + at, "garbage!", 8);
    image_store(&image, k->path);
    image_free(&image);
    write_file(k->path, "snapshot.tmp", "half", 4);
}

static void one_command(struct kept *k, struct run *run, size_t i)
{
    k->now_ms = 1000000 + (int64_t)i;
    struct answer *answer = ask(k, history[i]);

    assert_int_equal(answer->times, 1);
    if (run->stopped) {
        assert_int_equal(answer->code, HF_IOERR);
        return;
    }
    run->digests[i + 1] = embedded_digest(k->engine);
    run->stopped = engine_failure(k->engine) != NULL;
    /* With a snapshot in the same flush the failure may come right after the answer. */
    assert_true(answer->code == HF_OK || (answer->code == HF_IOERR && run->stopped));
    run->acknowledged += answer->code == HF_OK;
}

/* The history from a command on, with two snapshots, and a read at the end. */
static void run_with_faults(struct kept *k, struct run *run, size_t from)
{
    run->acknowledged = from;
    run->opened = try_open(k) == HF_OK;
    if (!run->opened) {
        return;
    }
    run->digests[from] = embedded_digest(k->engine);
    run->stopped = engine_failure(k->engine) != NULL;
    for (size_t i = from; i < HISTORY; i++) {
        one_command(k, run, i);
        if (i == 9 || i == 12) {
            enum hf_error code = engine_snapshot(k->engine, &k->problem);
            run->stopped = engine_failure(k->engine) != NULL;
            assert_int_equal(code, run->stopped ? HF_IOERR : HF_OK);
        }
    }
    enum hf_error code = ask(k, "SEATS.ZONE gala floor")->code;
    assert_true(code == HF_IOERR || !run->stopped);
    assert_int_equal(engine_flush_begin(k->engine) && run->stopped, false);
    close_engine(k);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;

    for (; (text = strstr(text, what)) != NULL; text++) {
        count++;
    }
    return count;
}

/* Runs with the fault at its `at`th call. False if there were fewer. */
static bool run_once(struct kept *k, struct faults faults, size_t from)
{
    struct run run = {.opened = false};
    char said[8192];

    image_store(&(struct image){.count = 0}, k->path);
    k->faults = (struct faults){.at = 0};
    if (from > 0) {
        open_engine(k);
        run_history(k, 0, from);
        run.digests[from] = embedded_digest(k->engine);
        close_engine(k);
        leave_a_mess(k);
    }
    k->faults = faults;
    capture_begin();
    run_with_faults(k, &run, from);
    capture_end(said, sizeof said);
    bool happened = k->faults.happened;
    if (run.stopped) {
        assert_int_equal(count_of(said, "nothing more is acknowledged"), 1);
        assert_int_equal(k->faults.syncs_after, 0);
        assert_int_equal(k->faults.writes_after, 0);
    } else {
        assert_true(!run.opened || run.acknowledged == HISTORY);
    }
    k->faults = (struct faults){.at = 0};
    k->now_ms = 0;
    capture_begin();
    enum hf_error code = try_open(k);
    capture_end(NULL, 0);
    if (code != HF_OK) {
        print_error("%s\n", k->problem.message);
        fail();
    }
    uint64_t digest = embedded_digest(k->engine);
    if (run.opened || from > 0) {
        /* The command under way may have happened or not. */
        assert_true(digest == run.digests[run.acknowledged] ||
                    (run.stopped && digest == run.digests[run.acknowledged + 1]));
    }
    expect_sound(k);
    k->now_ms = 1000000 + HISTORY;
    expect_code(k, "QUOTA.LIMIT other 5", HF_OK);
    close_engine(k);
    return happened;
}

static void fail_at_every(struct kept *k, enum call call, int code, unsigned at_least)
{
    static const size_t starts[] = {0, 8};
    unsigned points = 0;

    for (size_t i = 0; i < 2; i++) {
        for (unsigned at = 1;; at++) {
            struct faults faults = {.call = call, .at = at, .code = code};
            if (!run_once(k, faults, starts[i])) {
                break;
            }
            points++;
        }
    }
    assert_true(points >= at_least);
}

static void a_write_that_fails_stops_everything(void **state)
{
    fail_at_every(*state, CALL_WRITE, -EIO, 2 * HISTORY);
}

static void a_full_disk_stops_everything(void **state)
{
    fail_at_every(*state, CALL_WRITE, -ENOSPC, 2 * HISTORY);
}

static void room_that_cannot_be_made_in_advance_loses_nothing(void **state)
{
    fail_at_every(*state, CALL_ALLOCATE, -ENOSPC, 6);
    fail_at_every(*state, CALL_ALLOCATE, -EIO, 6);
}

static void a_sync_that_fails_stops_everything_and_is_not_tried_again(void **state)
{
    fail_at_every(*state, CALL_SYNC, -EIO, 2 * HISTORY);
    fail_at_every(*state, CALL_SYNC, -ENOSPC, 2 * HISTORY);
}

static void a_file_that_cannot_be_opened_loses_nothing(void **state)
{
    fail_at_every(*state, CALL_OPEN, -EMFILE, 5);
}

static void a_directory_that_cannot_be_synced_loses_nothing(void **state)
{
    fail_at_every(*state, CALL_SYNC_DIRECTORY, -EIO, 4);
}

static void a_tail_that_cannot_be_cut_loses_nothing(void **state)
{
    fail_at_every(*state, CALL_TRUNCATE, -EIO, 1);
}

static void what_cannot_be_read_renamed_removed_or_listed_loses_nothing(void **state)
{
    fail_at_every(*state, CALL_READ, -EIO, 3);
    fail_at_every(*state, CALL_RENAME, -EIO, 4);
    fail_at_every(*state, CALL_REMOVE, -EACCES, 3);
    fail_at_every(*state, CALL_LIST, -EIO, 4);
}

/* ---- what the caller sees -------------------------------------------------------------------- */

static void all_of_a_batch_that_fails_are_told(void **state)
{
    struct kept *k = *state;
    struct answer *answers[4];
    char said[1024];

    open_engine(k);
    expect_code(k, "SEATS.OPEN gala floor 10", HF_OK);
    k->faults = (struct faults){.call = CALL_SYNC, .at = 1, .code = -EIO};
    answers[0] = submit(k, "SEATS.RESERVE gala floor b1 ann 1 4");
    answers[1] = submit(k, "SEATS.RESERVE gala floor b2 ann 1 4");
    answers[2] = submit(k, "SEATS.ZONE gala floor");
    capture_begin();
    assert_true(engine_flush_begin(k->engine));
    engine_flush_work(k->engine);
    answers[3] = submit(k, "SEATS.GET gala b1"); /* came while the disk was failing */
    engine_flush_end(k->engine);
    assert_int_equal(capture_end(said, sizeof said), 1);
    assert_non_null(strstr(said, "error: the journal cannot be synced: Input/output error"));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(answers[i]->times, 1);
        assert_int_equal(answers[i]->code, HF_IOERR);
    }
    assert_true(answers[0]->order < answers[1]->order && answers[1]->order < answers[2]->order);
    capture_begin();
    assert_int_equal(submit(k, "SEATS.ZONE gala floor")->code, HF_IOERR);
    assert_int_equal(submit(k, "SEATS.RESERVE gala floor b3 ann 1 4")->code, HF_IOERR);
    assert_false(flush_engine(k));
    engine_turn(k->engine);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_IOERR);
    close_engine(k);
    assert_int_equal(capture_end(NULL, 0), 0);
    assert_int_equal(k->faults.syncs_after, 0);
}

static void a_caller_who_waits_for_a_slot_is_told_too(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    expect_code(k, "SEM.ACQUIRE door a 1", HF_OK);
    struct answer *waiter = ask(k, "SEM.ACQUIRE door b 1 WAIT 60000");
    assert_int_equal(waiter->times, 0);
    k->faults = (struct faults){.call = CALL_WRITE, .at = 1, .code = -EIO};
    capture_begin();
    expect_code(k, "SEATS.OPEN gala floor 10", HF_IOERR);
    engine_turn(k->engine);
    capture_end(NULL, 0);
    assert_int_equal(waiter->times, 1);
    assert_int_equal(waiter->code, HF_IOERR);
}

static void a_failed_snapshot_leaves_the_engine_working(void **state)
{
    static const enum call calls[] = {CALL_OPEN, CALL_WRITE, CALL_SYNC, CALL_READ, CALL_RENAME};
    struct kept *k = *state;
    char said[1024];

    k->options.segment_bytes = 1 << 20; /* so large that no snapshot cuts it */
    open_engine(k);
    for (size_t i = 0; i < 5; i++) {
        run_history(k, i, i + 1);
        k->faults = (struct faults){.call = calls[i], .at = 1, .code = -ENOSPC};
        capture_begin();
        assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
        assert_int_equal(capture_end(said, sizeof said), 1);
        assert_non_null(strstr(said, "no snapshot could be made: No space left on device"));
        assert_true(k->faults.happened);
        assert_null(engine_failure(k->engine));
    }
    run_history(k, 5, 9);
    uint64_t digest = embedded_digest(k->engine);
    capture_begin();
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK); /* and the next one works */
    capture_end(NULL, 0);
    crash_engine(k);
    k->now_ms = 0;
    open_engine(k);
    assert_true(embedded_digest(k->engine) == digest);
}

/* ---- what nobody sees ------------------------------------------------------------------------ */

static void short_writes_and_interruptions_are_invisible(void **state)
{
    static const size_t sizes[] = {1, 3, 7, 31, 64, 0};
    struct kept *k = *state;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct run run = {.opened = false};
        image_store(&(struct image){.count = 0}, k->path);
        k->faults = (struct faults){.shortest = sizes[i], .interrupted = i % 2 == 1};
        capture_begin();
        run_with_faults(k, &run, 0);
        assert_int_equal(capture_end(NULL, 0), 0);
        assert_true(run.opened && !run.stopped && run.acknowledged == HISTORY);
        k->now_ms = 0;
        open_engine(k);
        assert_true(embedded_digest(k->engine) == run.digests[HISTORY]);
        expect_sound(k);
        close_engine(k);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kept_setup, kept_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_write_that_fails_stops_everything),
        TEST(a_full_disk_stops_everything),
        TEST(room_that_cannot_be_made_in_advance_loses_nothing),
        TEST(a_sync_that_fails_stops_everything_and_is_not_tried_again),
        TEST(a_file_that_cannot_be_opened_loses_nothing),
        TEST(a_directory_that_cannot_be_synced_loses_nothing),
        TEST(a_tail_that_cannot_be_cut_loses_nothing),
        TEST(what_cannot_be_read_renamed_removed_or_listed_loses_nothing),
        TEST(all_of_a_batch_that_fails_are_told),
        TEST(a_caller_who_waits_for_a_slot_is_told_too),
        TEST(a_failed_snapshot_leaves_the_engine_working),
        TEST(short_writes_and_interruptions_are_invisible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

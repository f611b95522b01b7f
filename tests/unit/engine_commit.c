/* SPDX-License-Identifier: Apache-2.0
 *
 * Group commit: answers wait for the disk, in order; a batch costs one write and one sync; nothing
 * is written that changed nothing. And snapshots that are made meanwhile. */
#include "journal_fixture.h"

#include "journal/record.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void open_zone(struct kept *k)
{
    open_engine(k);
    expect_code(k, "SEATS.OPEN gala floor 1000", HF_OK);
    k->faults = (struct faults){.at = 0};
}

static struct answer *reserve(struct kept *k, int number)
{
    char words[128];

    snprintf(words, sizeof words, "SEATS.RESERVE gala floor b%d ann 1 1000", number);
    return submit(k, words);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answers_wait_for_the_flush_and_keep_their_order(void **state)
{
    struct kept *k = *state;
    struct answer *answers[5];

    open_zone(k);
    for (int i = 0; i < 5; i++) {
        answers[i] = reserve(k, i);
    }
    assert_true(engine_flush_begin(k->engine));
    engine_flush_work(k->engine);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(answers[i]->times, 0);
    }
    engine_flush_end(k->engine);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(answers[i]->times, 1);
        assert_int_equal(answers[i]->code, HF_OK);
        assert_true(i == 0 || answers[i]->order == answers[i - 1]->order + 1);
    }
    assert_false(engine_flush_begin(k->engine));
}

static void what_comes_during_a_flush_waits_for_the_next(void **state)
{
    struct kept *k = *state;

    open_zone(k);
    struct answer *first = reserve(k, 1);
    assert_true(engine_flush_begin(k->engine));
    struct answer *second = reserve(k, 2);
    engine_flush_work(k->engine);
    struct answer *third = reserve(k, 3);
    engine_flush_end(k->engine);
    assert_int_equal(first->times, 1);
    assert_int_equal(second->times, 0);
    assert_int_equal(third->times, 0);
    assert_true(flush_engine(k));
    assert_int_equal(second->times, 1);
    assert_int_equal(third->times, 1);
    assert_true(second->order < third->order);
    close_engine(k);
    open_engine(k);
    expect_code(k, "SEATS.GET gala b3", HF_OK);
}

static void a_read_waits_if_it_could_show_what_is_not_on_disk(void **state)
{
    struct kept *k = *state;

    open_zone(k);
    assert_int_equal(submit(k, "SEATS.ZONE gala floor")->times, 1);
    struct answer *write = reserve(k, 1);
    struct answer *read = submit(k, "SEATS.GET gala b1");
    struct answer *refused = submit(k, "SEATS.GET gala b2");
    assert_int_equal(write->times + read->times + refused->times, 0);
    flush_engine(k);
    assert_true(write->order < read->order && read->order < refused->order);
    assert_int_equal(read->code, HF_OK);
    assert_int_equal(refused->code, HF_RESERVATION_NOT_FOUND);
    assert_int_equal(submit(k, "SEATS.GET gala b1")->times, 1);
}

static void a_granted_waiter_is_answered_with_the_flush_that_granted(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    expect_code(k, "SEM.ACQUIRE door a 1", HF_OK);
    struct answer *waiter = ask(k, "SEM.ACQUIRE door b 1 WAIT 60000");
    struct answer *release = submit(k, "SEM.RELEASE door a");
    assert_int_equal(waiter->times + release->times, 0);
    flush_engine(k);
    assert_int_equal(waiter->times, 1);
    assert_int_equal(waiter->code, HF_OK);
    assert_int_equal(release->times, 1);
}

static void closing_puts_on_disk_what_is_not_there_yet(void **state)
{
    struct kept *k = *state;

    open_zone(k);
    struct answer *answer = reserve(k, 1);
    close_engine(k);
    assert_int_equal(answer->times, 1);
    assert_int_equal(answer->code, HF_OK);
    open_engine(k);
    expect_code(k, "SEATS.GET gala b1", HF_OK);
}

/* ---- costs ----------------------------------------------------------------------------------- */

static void a_batch_costs_one_write_and_one_sync(void **state)
{
    struct kept *k = *state;

    k->options.segment_bytes = 1 << 20;
    open_zone(k);
    for (int i = 0; i < 50; i++) {
        reserve(k, i);
    }
    assert_int_equal(k->faults.count[CALL_WRITE], 0);
    assert_true(flush_engine(k));
    assert_int_equal(k->faults.count[CALL_WRITE], 1);
    assert_int_equal(k->faults.count[CALL_SYNC], 1);
    assert_int_equal(k->came, 51);
}

static void reads_and_refusals_are_not_written(void **state)
{
    struct kept *k = *state;

    open_zone(k);
    expect_code(k, "SEATS.ZONE gala floor", HF_OK);
    expect_code(k, "SEATS.GET gala b1", HF_RESERVATION_NOT_FOUND);
    expect_code(k, "SEATS.RESERVE gala balcony b1 ann 1 4", HF_ZONE_NOT_FOUND);
    expect_code(k, "SEATS.RESERVE gala floor b1 ann 5 4", HF_USER_LIMIT_EXCEEDED);
    expect_code(k, "SEATS.CONFIRM gala b1", HF_RESERVATION_NOT_FOUND);
    assert_false(engine_flush_begin(k->engine));
    assert_int_equal(k->faults.count[CALL_WRITE], 0);
    assert_int_equal(k->faults.count[CALL_SYNC], 0);
}

static void without_syncs_the_answer_comes_after_the_write(void **state)
{
    struct kept *k = *state;

    k->options.segment_bytes = 1 << 20;
    k->options.policy = JOURNAL_NO;
    open_zone(k);
    struct answer *answer = reserve(k, 1);
    assert_int_equal(answer->times, 0);
    k->now_ms += 5000;
    assert_true(flush_engine(k));
    assert_int_equal(answer->times, 1);
    assert_int_equal(k->faults.count[CALL_WRITE], 1);
    assert_int_equal(k->faults.count[CALL_SYNC], 0);
    crash_engine(k);
    open_engine(k);
    expect_code(k, "SEATS.GET gala b1", HF_OK);
}

static void everysec_syncs_once_a_second(void **state)
{
    struct kept *k = *state;

    k->options.segment_bytes = 1 << 20;
    k->options.policy = JOURNAL_EVERYSEC;
    open_zone(k);
    k->now_ms += 1000;
    flush_engine(k); /* from here on the second is counted */
    k->faults = (struct faults){.at = 0};
    for (int i = 0; i < 40; i++) { /* 100 ms apart: 4 s */
        k->now_ms += 100;
        struct answer *answer = reserve(k, i);
        assert_true(flush_engine(k));
        assert_int_equal(answer->times, 1);
    }
    assert_int_equal(k->faults.count[CALL_WRITE], 40);
    assert_int_equal(k->faults.count[CALL_SYNC], 4);
    reserve(k, 41);
    flush_engine(k);
    k->now_ms += 1000;
    assert_true(engine_idle_ms(k->engine) <= 1000);
    assert_true(flush_engine(k)); /* with nothing new but the sync */
    assert_int_equal(k->faults.count[CALL_SYNC], 5);
}

static void a_reserve_with_uuids_takes_at_most_120_bytes(void **state)
{
    struct kept *k = *state;
    struct image image;
    struct journal_record record;
    char words[256];
    size_t at = SEGMENT_HEADER, count = 0;

    k->options.segment_bytes = 1 << 16;
    k->now_ms = 1900000000000;
    open_engine(k);
    expect_code(k, "SEATS.OPEN 0b0e7a5c-1f0a-4c39-9d43-0d1f6d7a1a01 floor-a 100000", HF_OK);
    for (int i = 0; i < 20; i++) {
        snprintf(words, sizeof words,
                 "SEATS.RESERVE 0b0e7a5c-1f0a-4c39-9d43-0d1f6d7a1a01 floor-a "
                 "5d2f7a5c-1f0a-4c39-9d43-0d1f6d7a1a%02d 91c07a5c-1f0a-4c39-9d43-0d1f6d7a1a%02d "
                 "2 4 TTL 600s",
                 i, i);
        expect_code(k, words, HF_OK);
    }
    image_load(&image, k->path);
    struct file *file = image_nth(&image, "journal-", 0);
    for (; record_read((struct hf_bytes){file->data, file->size}, at, &record); at += record.size) {
        assert_true(count++ == 0 || record.size <= 120);
    }
    assert_int_equal(count, 22); /* the start, the zone, and they */
    image_free(&image);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static int pipe_go[2];
static pid_t parent;

/* Keeps the child that makes a snapshot until the parent has closed the pipe. */
static void hold_child(struct faults *faults, enum call call)
{
    char byte;

    (void)call;
    if (getpid() != parent) {
        faults->before = NULL;
        close(pipe_go[1]);
        (void)!read(pipe_go[0], &byte, 1);
    }
}

static void hold_snapshots(struct kept *k)
{
    assert_int_equal(pipe(pipe_go), 0);
    parent = getpid();
    k->faults.before = hold_child;
}

static void let_go(void)
{
    close(pipe_go[0]);
    close(pipe_go[1]);
}

/* Waits for the child to end, without taking its end away from the engine. */
static void await_child(void)
{
    siginfo_t info;
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
}

static void commands_go_on_while_a_snapshot_is_made(void **state)
{
    struct kept *k = *state;
    enum hf_error code;

    k->forks = true;
    open_engine(k);
    run_history(k, 0, 8);
    size_t before = count_files(k->path, "journal-");
    hold_snapshots(k);
    assert_int_equal(engine_snapshot(k->engine, &k->problem), HF_OK);
    assert_int_equal(engine_snapshot(k->engine, &k->problem), HF_BUSY);
    assert_non_null(strstr(k->problem.message, "under way"));
    run_history(k, 8, HISTORY);
    engine_turn(k->engine);
    assert_int_equal(count_files(k->path, "snapshot-"), 0);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_BUSY);
    let_go();
    await_child();
    k->faults.before = NULL; /* not later: the thread that removes old files looks at it */
    engine_turn(k->engine);
    assert_int_equal(count_files(k->path, "snapshot-00000000000000000009"), 1);
    assert_int_equal(count_files(k->path, "snapshot.tmp"), 0);
    assert_true(before >= 2);
    while ((code = engine_snapshot(k->engine, NULL)) == HF_BUSY) {
        engine_turn(k->engine); /* what it replaces is still being removed */
    }
    assert_int_equal(code, HF_OK);
    assert_int_equal(count_files(k->path, "journal-00000000000000000001"), 0);
    uint64_t digest = embedded_digest(k->engine);
    close_engine(k); /* waits for it */
    assert_int_equal(count_files(k->path, "snapshot-"), 1);
    k->now_ms = 0;
    open_engine(k);
    assert_true(embedded_digest(k->engine) == digest);
    expect_sound(k);
}

static void a_snapshot_puts_what_is_pending_on_disk_first(void **state)
{
    struct kept *k = *state;

    open_zone(k);
    struct answer *answer = reserve(k, 1);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    assert_int_equal(answer->times, 1);
    crash_engine(k);
    open_engine(k);
    expect_code(k, "SEATS.GET gala b1", HF_OK);
}

static void snapshots_come_by_themselves_as_the_journal_grows(void **state)
{
    struct kept *k = *state;

    for (int forks = 0; forks < 2; forks++) {
        image_store(&(struct image){.count = 0}, k->path);
        k->forks = forks == 1;
        k->options.snapshot_bytes = 2000;
        open_zone(k);
        for (int i = 0; i < 500; i++) {
            struct answer *answer = reserve(k, i);
            flush_engine(k);
            assert_int_equal(answer->code, HF_OK);
            engine_turn(k->engine);
        }
        uint64_t digest = embedded_digest(k->engine);
        close_engine(k);
        assert_int_equal(count_files(k->path, "snapshot-"), 1);
        /* Some 30 KB were written in segments of 300 bytes. With a child it depends on how fast it
         * is, so only the last state is looked at. */
        assert_true(forks == 1 || count_files(k->path, "journal-") <= 9);
        k->now_ms = 0;
        open_engine(k);
        assert_true(embedded_digest(k->engine) == digest);
        expect_sound(k);
        close_engine(k);
        k->now_ms = 1000000;
    }
}

static void in_memory_there_is_nothing_to_keep(void **state)
{
    struct kept *k = *state;

    assert_int_equal(embedded_open_with(&k->options, &k->engine, &k->problem), HF_OK);
    assert_int_equal(submit(k, "SEATS.OPEN gala floor 10")->times, 1);
    assert_false(engine_flush_begin(k->engine));
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_INVALID_STATE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kept_setup, kept_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_wait_for_the_flush_and_keep_their_order),
        TEST(what_comes_during_a_flush_waits_for_the_next),
        TEST(a_read_waits_if_it_could_show_what_is_not_on_disk),
        TEST(a_granted_waiter_is_answered_with_the_flush_that_granted),
        TEST(closing_puts_on_disk_what_is_not_there_yet),
        TEST(a_batch_costs_one_write_and_one_sync),
        TEST(reads_and_refusals_are_not_written),
        TEST(without_syncs_the_answer_comes_after_the_write),
        TEST(everysec_syncs_once_a_second),
        TEST(a_reserve_with_uuids_takes_at_most_120_bytes),
        TEST(commands_go_on_while_a_snapshot_is_made),
        TEST(a_snapshot_puts_what_is_pending_on_disk_first),
        TEST(snapshots_come_by_themselves_as_the_journal_grows),
        TEST(in_memory_there_is_nothing_to_keep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

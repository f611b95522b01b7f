/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory has one owner; what becomes of it, of those who waited and of its time when the owner
 * is killed. */
#include "journal_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- one owner ------------------------------------------------------------------------------- */

static void expect_in_use(struct kept *k)
{
    struct embedded_options options = k->options;
    struct faults none = {.at = 0};
    struct engine *engine;
    struct image before, after;

    options.storage = faulty_storage(k->path, &none, false);
    image_load(&before, k->path);
    assert_int_equal(embedded_open_with(&options, &engine, &k->problem), HF_IOERR);
    assert_null(engine);
    assert_string_equal(k->problem.message, "the directory is in use by another process");
    image_load(&after, k->path);
    assert_true(image_equal(&before, &after));
    image_free(&before);
    image_free(&after);
}

static void the_same_process_cannot_open_a_directory_twice(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    expect_code(k, history[0], HF_OK);
    expect_in_use(k);
    expect_code(k, history[1], HF_OK); /* the owner goes on */
    close_engine(k);
    open_engine(k);
}

static size_t open_descriptors(void)
{
    DIR *stream = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(stream);
    while (readdir(stream) != NULL) {
        count++;
    }
    closedir(stream);
    return count;
}

/* Of a directory that was there, that was not, and whose snapshot a child wrote. */
static void a_closed_engine_leaves_nothing_open(void **state)
{
    struct kept *k = *state;
    size_t before = open_descriptors();

    k->forks = true;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rmdir(k->path), 0);
        open_engine(k);
        run_history(k, 0, HISTORY);
        assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
        close_engine(k);
        open_engine(k);
        close_engine(k);
        assert_int_equal(open_descriptors(), before);
        image_store(&(struct image){.count = 0}, k->path);
    }
}

static int pipe_here[2], pipe_go[2];

static void make_pipes(void)
{
    assert_int_equal(pipe(pipe_here), 0);
    assert_int_equal(pipe(pipe_go), 0);
}

/* The parent's ends. */
static void close_child_ends(void)
{
    close(pipe_here[1]);
    close(pipe_go[0]);
}

static void close_parent_ends(void)
{
    close(pipe_here[0]);
    close(pipe_go[1]);
}

static void wait_for_byte(int handle)
{
    char byte;
    if (read(handle, &byte, 1) != 1) {
        abort();
    }
}

static void send_byte(int handle)
{
    if (write(handle, "x", 1) != 1) {
        abort();
    }
}

/* Starts a process that owns the directory, with the first commands of the history done, and does
 * as `then` says until it is killed. */
static pid_t start_owner(struct kept *k, void (*then)(struct kept *k))
{
    make_pipes();
    pid_t owner = fork();
    assert_true(owner >= 0);
    if (owner == 0) {
        close_parent_ends();
        open_engine(k);
        run_history(k, 0, 9);
        then(k);
        _exit(1); /* was to be killed */
    }
    close_child_ends();
    wait_for_byte(pipe_here[0]);
    return owner;
}

static void kill_owner(pid_t owner)
{
    int status;

    assert_int_equal(kill(owner, SIGKILL), 0);
    assert_int_equal(waitpid(owner, &status, 0), owner);
    assert_true(WIFSIGNALED(status));
}

static void just_wait(struct kept *k)
{
    (void)k;
    send_byte(pipe_here[1]);
    wait_for_byte(pipe_go[0]);
}

static void expect_history(struct kept *k, size_t count)
{
    uint64_t digests[HISTORY + 1];

    history_digests(digests);
    assert_int_equal(history_prefix(digests, embedded_digest(k->engine)), count);
    expect_sound(k);
}

static void a_second_process_is_refused_until_the_owner_is_gone(void **state)
{
    struct kept *k = *state;
    pid_t owner = start_owner(k, just_wait);

    expect_in_use(k);
    kill_owner(owner);
    close_parent_ends();
    open_engine(k);
    expect_history(k, 9);
}

/* ---- an orphan ------------------------------------------------------------------------------- */

static pid_t owner_pid;

/* In the child that makes the snapshot: stops before its first call, and goes on when told. */
static void stop_in_child(struct faults *faults, enum call call)
{
    (void)call;
    if (getpid() != owner_pid) {
        faults->before = NULL;
        send_byte(pipe_here[1]);
        wait_for_byte(pipe_go[0]);
    }
}

static void make_snapshot(struct kept *k)
{
    owner_pid = getpid();
    k->faults.before = stop_in_child;
    engine_snapshot(k->engine, NULL);
    for (;;) {
        pause();
    }
}

/* Lets the orphan finish; it ends when nobody has the pipe open any more. */
static void release_orphan(void)
{
    char byte;

    send_byte(pipe_go[1]);
    assert_int_equal(read(pipe_here[0], &byte, 1), 0);
}

static void the_lock_goes_with_the_owner_though_its_snapshot_child_lives(void **state)
{
    struct kept *k = *state;

    k->forks = true;
    kill_owner(start_owner(k, make_snapshot));
    open_engine(k);
    expect_history(k, 9);
    release_orphan();
    close_parent_ends();
    run_history(k, 9, HISTORY);
    uint64_t digest = embedded_digest(k->engine);
    close_engine(k);
    open_engine(k);
    assert_true(embedded_digest(k->engine) == digest);
}

static void release_at_sync(struct faults *faults, enum call call)
{
    if (call == CALL_SYNC) {
        faults->before = NULL;
        release_orphan();
    }
}

/* The orphan gets to its file in the middle of the next owner's snapshot. */
static void an_orphans_snapshot_never_takes_the_place_of_the_owners(void **state)
{
    struct kept *k = *state;

    k->forks = true;
    kill_owner(start_owner(k, make_snapshot));
    k->forks = false;
    open_engine(k);
    run_history(k, 9, HISTORY);
    uint64_t digest = embedded_digest(k->engine);
    k->faults.before = release_at_sync;
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    assert_null(k->faults.before);
    close_parent_ends();
    close_engine(k);
    open_engine(k);
    assert_true(embedded_digest(k->engine) == digest);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void what_fell_due_while_it_was_down_is_expired_at_the_first_command(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    expect_code(k, "SEATS.OPEN gala floor 10", HF_OK);
    expect_code(k, "SEATS.RESERVE gala floor b1 ann 2 4 TTL 5s", HF_OK);
    expect_code(k, "SEATS.RESERVE gala floor b2 ann 1 4 TTL 5001ms", HF_OK);
    crash_engine(k);
    k->now_ms += 5000;
    open_engine(k);
    expect_code(k, "SEATS.GET gala b1", HF_RESERVATION_NOT_FOUND);
    expect_code(k, "SEATS.GET gala b2", HF_OK);
    expect_code(k, "SEATS.RESERVE gala floor b3 bob 9 9", HF_OK);
    expect_sound(k);
}

static void a_clock_before_the_last_runs_time_stands_still(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    expect_code(k, "SEATS.OPEN gala floor 10", HF_OK);
    expect_code(k, "SEATS.RESERVE gala floor b1 ann 2 4 TTL 5s", HF_OK);
    k->now_ms += 6000;
    expect_code(k, "SEATS.RESERVE gala floor b2 bob 2 4 TTL 5s", HF_OK);
    crash_engine(k);
    k->now_ms -= 6000;
    open_engine(k);
    expect_code(k, "SEATS.GET gala b1", HF_RESERVATION_NOT_FOUND);
    expect_code(k, "SEATS.GET gala b2", HF_OK);
    k->now_ms += 10000; /* 4 s after b2 by the old clock */
    expect_code(k, "SEATS.GET gala b2", HF_OK);
    k->now_ms += 1000;
    expect_code(k, "SEATS.GET gala b2", HF_RESERVATION_NOT_FOUND);
}

/* ---- those who waited ------------------------------------------------------------------------ */

static void callers_who_waited_are_gone_after_a_restart(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    expect_code(k, "SEM.ACQUIRE door a 1", HF_OK);
    expect_code(k, "SEM.QUEUE door q 60s 1h", HF_OK);
    assert_int_equal(ask(k, "SEM.ACQUIRE door b 1 WAIT 60000")->times, 0);
    assert_int_equal(ask(k, "SEM.ACQUIRE door c 1 WAIT 60000")->times, 0);
    crash_engine(k);
    for (int i = 0; i < 2; i++) { /* gone for good */
        open_engine(k);
        expect_json(k, "SEM.STATS door", "{\"in_use\":1,\"max\":1,\"waiting\":1}");
        close_engine(k);
    }
    open_engine(k);
    expect_json(k, "SEM.RELEASE door q", "{\"released\":1}");
    assert_int_equal(ask(k, "SEM.ACQUIRE door d 1 WAIT 60000")->times, 0);
    struct answer *waiter = &k->answers[(k->count - 1) % ANSWERS_MAX];
    expect_json(k, "SEM.RELEASE door a", "{\"released\":1}");
    assert_int_equal(waiter->times, 1);
    assert_int_equal(waiter->code, HF_OK);
}

/* A slot that a caller got because time passed was told, so it is kept. */
static void a_slot_granted_by_time_passing_survives_a_crash(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    expect_code(k, "SEM.ACQUIRE door a 1 TTL 1s", HF_OK);
    struct answer *waiter = ask(k, "SEM.ACQUIRE door b 1 WAIT 60000");
    k->now_ms += 1000;
    engine_turn(k->engine);
    flush_engine(k);
    assert_int_equal(waiter->times, 1);
    assert_int_equal(waiter->code, HF_OK);
    crash_engine(k);
    k->now_ms += 1000;
    open_engine(k);
    expect_json(k, "SEM.STATS door", "{\"in_use\":1,\"max\":1,\"waiting\":0}");
    expect_code(k, "SEM.ACQUIRE door c 1", HF_NO_SLOT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kept_setup, kept_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_process_cannot_open_a_directory_twice),
        TEST(a_closed_engine_leaves_nothing_open),
        TEST(a_second_process_is_refused_until_the_owner_is_gone),
        TEST(the_lock_goes_with_the_owner_though_its_snapshot_child_lives),
        TEST(an_orphans_snapshot_never_takes_the_place_of_the_owners),
        TEST(what_fell_due_while_it_was_down_is_expired_at_the_first_command),
        TEST(a_clock_before_the_last_runs_time_stands_still),
        TEST(callers_who_waited_are_gone_after_a_restart),
        TEST(a_slot_granted_by_time_passing_survives_a_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots that fail: no process for them, a parent that is told nothing of its children, a child
 * that is killed or hangs, a disk without room. Each failure is logged with its cause, counted, and
 * tried again for ever; none stands in the way of the engine's end. */
#include "journal_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- fork ------------------------------------------------------------------------------------ */

static bool refuse_fork; /* there is no process to be had */
static bool stop_child;  /* the child stops as soon as it is there, and goes on when told */
static pid_t last_child;

/* In place of the system's. */
pid_t fork(void)
{
    pid_t (*real)(void);

    if (refuse_fork) {
        errno = EAGAIN;
        return -1;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    pid_t child = real();
    if (child == 0 && stop_child) {
        raise(SIGSTOP);
    }
    last_child = child;
    return child;
}

/* Until the child has stopped: the engine must not have asked for it before. */
static void await_stop(void)
{
    siginfo_t info = {.si_pid = 0};

    assert_int_equal(waitid(P_PID, (id_t)last_child, &info, WSTOPPED | WNOWAIT), 0);
    assert_int_equal(info.si_pid, last_child);
}

/* ---- what is asked of it --------------------------------------------------------------------- */

static int setup(void **state)
{
    refuse_fork = stop_child = false;
    signal(SIGCHLD, SIG_DFL);
    kept_setup(state);
    struct kept *k = *state;
    k->forks = true;
    return 0;
}

static int teardown(void **state)
{
    kept_teardown(state);
    signal(SIGCHLD, SIG_DFL);
    return 0;
}

static void see(void *context, const char *name, const char *help, bool grows, double value)
{
    double *found = context;
    (void)help;
    (void)grows;

    if (strcmp(name, "snapshots_total") == 0) {
        found[0] = value;
    } else if (strcmp(name, "snapshot_failures_total") == 0) {
        found[1] = value;
    }
}

static void expect_figures(struct kept *k, unsigned made, unsigned failures)
{
    double found[2] = {-1, -1};

    engine_figures(k->engine, see, found);
    assert_int_equal((int)found[0], made);
    assert_int_equal((int)found[1], failures);
}

/* Takes turns until so many attempts are over, well or badly. */
static void turn_until(struct kept *k, unsigned over)
{
    double found[2] = {0, 0};

    for (int i = 0; i < 10000; i++) {
        engine_turn(k->engine);
        engine_figures(k->engine, see, found);
        if ((unsigned)(found[0] + found[1]) >= over) {
            return;
        }
        poll(NULL, 0, 1);
    }
    fail();
}

static void begin(struct kept *k)
{
    open_engine(k);
    run_history(k, 0, 9);
    assert_int_equal(engine_snapshot(k->engine, &k->problem), HF_OK);
}

/* Begins a snapshot whose child stops before it writes anything, and waits until it has. */
static void begin_stopped(struct kept *k)
{
    stop_child = true;
    begin(k);
    await_stop();
}

/* ---- no process ------------------------------------------------------------------------------ */

static void a_fork_that_fails_is_tried_again_until_one_succeeds(void **state)
{
    static const int delays_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
    struct kept *k = *state;
    char said[1024], expected[128];

    open_engine(k);
    run_history(k, 0, 9);
    refuse_fork = true;
    capture_begin();
    assert_int_equal(engine_snapshot(k->engine, &k->problem), HF_BUSY);
    assert_int_equal(capture_end(said, sizeof said), 1);
    assert_string_equal(k->problem.message,
                        "cannot fork for a snapshot: Resource temporarily unavailable");
    assert_null(engine_failure(k->engine));
    for (size_t i = 0; i < sizeof delays_s / sizeof delays_s[0]; i++) {
        snprintf(expected, sizeof expected,
                 "no snapshot could be made: cannot fork for it: Resource temporarily unavailable; "
                 "failure %zu in a row, the next try is in %d s",
                 i + 1, delays_s[i]);
        assert_non_null(strstr(said, expected));
        expect_figures(k, 0, (unsigned)i + 1);
        assert_true(engine_idle_ms(k->engine) <= delays_s[i] * 1000);
        k->now_ms += delays_s[i] * 1000 - 1;
        engine_turn(k->engine);
        expect_figures(k, 0, (unsigned)i + 1);
        k->now_ms++;
        capture_begin();
        engine_turn(k->engine); /* though nobody submits anything */
        assert_int_equal(capture_end(said, sizeof said), 1);
    }
    assert_int_equal(count_files(k->path, "snapshot.tmp"), 0);
    refuse_fork = false;
    k->now_ms += 60000;
    capture_begin();
    turn_until(k, 10);
    assert_int_equal(capture_end(said, sizeof said), 1);
    assert_non_null(strstr(said, "snapshots can be made again, after 9 that failed"));
    expect_figures(k, 1, 9);
    assert_int_equal(count_files(k->path, "snapshot-"), 1);
}

static void on_demand_it_is_tried_at_once(void **state)
{
    struct kept *k = *state;

    k->options.log.level = LOG_ERROR;
    open_engine(k);
    run_history(k, 0, 9);
    refuse_fork = true;
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_BUSY);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_BUSY);
    expect_figures(k, 0, 2);
    refuse_fork = false;
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    turn_until(k, 3);
    expect_figures(k, 1, 2);
    assert_int_equal(engine_idle_ms(k->engine) == 0, false);
}

static void those_that_come_by_themselves_go_on_after_a_failure(void **state)
{
    struct kept *k = *state;

    k->options.log.level = LOG_ERROR;
    k->options.snapshot_bytes = 500;
    open_engine(k);
    refuse_fork = true;
    run_history(k, 0, 12);
    expect_figures(k, 0, 1); /* not with every batch */
    refuse_fork = false;
    k->now_ms += 1000;
    expect_code(k, "QUOTA.LIMIT other 5", HF_OK);
    turn_until(k, 2);
    expect_figures(k, 1, 1);
}

/* ---- a parent that is told nothing ----------------------------------------------------------- */

static void with_sigchld_ignored_snapshots_are_made(void **state)
{
    struct kept *k = *state;

    signal(SIGCHLD, SIG_IGN);
    begin(k);
    turn_until(k, 1);
    expect_figures(k, 1, 0);
    assert_int_equal(count_files(k->path, "snapshot-"), 1);
}

static void with_sigchld_ignored_a_failure_is_noticed_with_its_cause(void **state)
{
    struct kept *k = *state;
    char said[1024];

    signal(SIGCHLD, SIG_IGN);
    k->options.segment_bytes = 1 << 20; /* so large that no snapshot cuts it */
    open_engine(k);
    run_history(k, 0, 9);
    k->faults = (struct faults){.call = CALL_WRITE, .at = 1, .code = -EROFS};
    capture_begin();
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    turn_until(k, 1);
    assert_int_equal(capture_end(said, sizeof said), 1);
    assert_non_null(strstr(said, "no snapshot could be made: Read-only file system;"));
    expect_figures(k, 0, 1);
}

static void somebody_else_may_have_asked_for_the_child(void **state)
{
    struct kept *k = *state;

    begin(k);
    assert_int_equal(waitpid(last_child, NULL, 0), last_child);
    turn_until(k, 1);
    expect_figures(k, 1, 0);
}

/* ---- a child that does not get there --------------------------------------------------------- */

static void a_child_that_is_killed_is_told_of_and_replaced(void **state)
{
    struct kept *k = *state;
    char said[1024];

    begin_stopped(k);
    assert_int_equal(kill(last_child, SIGKILL), 0);
    capture_begin();
    turn_until(k, 1);
    assert_int_equal(capture_end(said, sizeof said), 1);
    assert_non_null(strstr(said, "its process was killed by signal 9; failure 1 in a row"));
    assert_int_equal(count_files(k->path, "snapshot"), 0);
    stop_child = false;
    k->now_ms += 1000;
    k->options.log.level = LOG_ERROR;
    capture_begin();
    turn_until(k, 2);
    capture_end(NULL, 0);
    expect_figures(k, 1, 1);
}

static void a_child_that_hangs_is_killed_and_replaced(void **state)
{
    struct kept *k = *state;
    char said[1024];

    k->options.snapshot_timeout_ms = 30000;
    begin_stopped(k);
    k->now_ms += 29999;
    engine_turn(k->engine);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_BUSY);
    expect_figures(k, 0, 0);
    k->now_ms++;
    capture_begin();
    turn_until(k, 1);
    assert_int_equal(capture_end(said, sizeof said), 2);
    assert_non_null(strstr(said, "made no progress for 30 s: it is killed"));
    assert_non_null(strstr(said, "it did not come to an end, and was killed; failure 1 in a row"));
    assert_int_equal(waitpid(last_child, NULL, WNOHANG), -1); /* nothing of it is left */
    expect_code(k, history[9], HF_OK);
    stop_child = false;
    k->now_ms += 1000;
    capture_begin();
    turn_until(k, 2);
    capture_end(NULL, 0);
    expect_figures(k, 1, 1);
}

static void a_child_that_gets_on_may_take_as_long_as_it_likes(void **state)
{
    struct kept *k = *state;

    k->options.snapshot_timeout_ms = 30000;
    begin_stopped(k);
    k->now_ms += 29999;
    engine_turn(k->engine);
    assert_int_equal(kill(last_child, SIGCONT), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)last_child, &info, WEXITED | WNOWAIT), 0);
    k->now_ms += 30000; /* the caller comes late, and finds what the child has said meanwhile */
    engine_turn(k->engine);
    expect_figures(k, 1, 0);
}

static void a_child_that_hangs_does_not_keep_the_engine_from_closing(void **state)
{
    struct kept *k = *state;
    char said[1024];

    begin_stopped(k);
    uint64_t digest = embedded_digest(k->engine);
    capture_begin();
    close_engine(k);
    assert_int_equal(capture_end(said, sizeof said), 1);
    assert_non_null(strstr(said, "a snapshot was not finished before the end"));
    assert_int_equal(waitpid(last_child, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_files(k->path, "snapshot"), 0);
    k->now_ms = 0;
    open_engine(k);
    assert_true(embedded_digest(k->engine) == digest);
}

/* ---- no room --------------------------------------------------------------------------------- */

static void expect_no_room(struct kept *k, const char *expected)
{
    char said[1024];

    capture_begin();
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    turn_until(k, 1);
    assert_int_equal(capture_end(said, sizeof said), 1);
    if (strstr(said, expected) == NULL) {
        print_error("%s\n  expected %s\n", said, expected);
        fail();
    }
    assert_int_equal(count_files(k->path, "snapshot.tmp"), 0); /* the journal needs the room */
    assert_null(engine_failure(k->engine));
}

static void a_disk_that_is_full_is_named_with_what_is_needed(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    run_history(k, 0, 9);
    k->faults = (struct faults){.call = CALL_WRITE, .at = 2, .code = -ENOSPC};
    k->faults.space = (struct storage_space){.free = 4000000, .total = 5000000};
    expect_no_room(k, "no snapshot could be made: No space left on device: needs ");
}

/* Or the journal, which ends with the first write that fails, would pay for the snapshot. */
static void a_snapshot_leaves_room_for_the_journal(void **state)
{
    struct kept *k = *state;

    k->options.segment_bytes = 1 << 20; /* so large that no snapshot cuts it */
    open_engine(k);
    run_history(k, 0, 9);
    k->faults.space = (struct storage_space){.free = 1000000, .total = 5000000};
    unsigned writes = k->faults.count[CALL_WRITE];
    expect_no_room(k, " bytes, 1000000 free; failure 1 in a row");
    assert_int_equal(k->faults.count[CALL_WRITE], writes);
    k->faults.space.free = 2000000;
    k->now_ms += 1000;
    capture_begin();
    turn_until(k, 2);
    capture_end(NULL, 0);
    expect_figures(k, 1, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fork_that_fails_is_tried_again_until_one_succeeds),
        TEST(on_demand_it_is_tried_at_once),
        TEST(those_that_come_by_themselves_go_on_after_a_failure),
        TEST(with_sigchld_ignored_snapshots_are_made),
        TEST(with_sigchld_ignored_a_failure_is_noticed_with_its_cause),
        TEST(somebody_else_may_have_asked_for_the_child),
        TEST(a_child_that_is_killed_is_told_of_and_replaced),
        TEST(a_child_that_hangs_is_killed_and_replaced),
        TEST(a_child_that_gets_on_may_take_as_long_as_it_likes),
        TEST(a_child_that_hangs_does_not_keep_the_engine_from_closing),
        TEST(a_disk_that_is_full_is_named_with_what_is_needed),
        TEST(a_snapshot_leaves_room_for_the_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

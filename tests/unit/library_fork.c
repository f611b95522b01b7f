/* SPDX-License-Identifier: Apache-2.0
 *
 * A child of fork() has a copy of its parent's handles. Whatever it does with them is refused, and
 * the parent's journal, lock, connections and leases stay as they are. */
#include "journal_fixture.h"
#include "library_handle_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOOKINGS 50
#define LONG_MS 60000

static char path[64];
static char url[128];
static hf_lease *lease; /* a slot of that handle */

static void take_slot(void)
{
    struct hf_sem_acquire_args args = {HF_TEXT("gpu"), HF_TEXT("me"), .limit = 1,
                                       .heartbeat_ms = LONG_MS};

    assert_int_equal(hf_lease_slot(hf, &args, NULL, NULL, &lease, NULL), HF_OK);
}

static void open_zone(void)
{
    struct hf_seats_open_args args = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = BOOKINGS + 1};

    assert_int_equal(hf_seats_open(hf, &args, NULL), HF_OK);
}

static enum hf_error reserve(hf_handle *handle, int number)
{
    char booking[16];

    snprintf(booking, sizeof booking, "b-%d", number);
    struct hf_seats_reserve_args args = {HF_TEXT("gala"),  HF_TEXT("floor"), hf_text(booking),
                                         HF_TEXT("ann"),   .quantity = 1,    .max_per_user = 1000,
                                         .ttl_ms = LONG_MS};
    return hf_seats_reserve(handle, &args, NULL);
}

static int64_t reserved(hf_handle *handle)
{
    struct hf_seats_zone_args args = {HF_TEXT("gala"), HF_TEXT("floor")};
    struct hf_seats_zone_reply zone;

    assert_int_equal(hf_seats_zone(handle, &args, &zone), HF_OK);
    return zone.capacity - zone.available;
}

static int setup_directory(void **state)
{
    (void)state;
    make_directory(path);
    snprintf(url, sizeof url, "embedded:%s", path);
    return hf_open(url, &hf) != HF_OK;
}

static int setup_memory(void **state)
{
    (void)state;
    return open_local();
}

static int setup_remote(void **state)
{
    (void)state;
    return open_remote();
}

static int teardown_directory(void **state)
{
    teardown_local(state);
    remove_directory(path);
    return 0;
}

/* Runs `body` in a child. */
static void in_child(bool (*body)(void))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        bool good = body();
        fflush(NULL);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static bool is_refused(enum hf_error code)
{
    return code == HF_INVALID_STATE && strstr(hf_last_message(), "fork()") != NULL &&
           strstr(hf_last_message(), "hf_open()") != NULL;
}

/* Everything that takes a handle, and then its end. */
static bool everything_is_refused(void)
{
    struct hf_sem_acquire_args slot = {HF_TEXT("gpu"), HF_TEXT("child"), .limit = 2};
    struct hf_lock_try_args lock = {HF_TEXT("seat"), .ttl_ms = LONG_MS};
    struct hf_bytes words[] = {HF_TEXT("SEATS.ZONE"), HF_TEXT("gala"), HF_TEXT("floor")};
    uint64_t findings;
    struct hf_info info;
    hf_lease *mine;
    hf_reply *reply = NULL;

    bool good = is_refused(reserve(hf, BOOKINGS)) && is_refused(hf_info(hf, &info)) &&
                is_refused(hf_snapshot(hf)) && is_refused(hf_audit(hf, NULL, NULL, &findings)) &&
                is_refused(hf_lease_slot(hf, &slot, NULL, NULL, &mine, NULL)) &&
                is_refused(hf_lease_lock(hf, &lock, NULL, NULL, &mine, NULL)) &&
                is_refused(hf_call(hf, 3, words, &reply)) && hf_reply_count(reply) == 3;
    hf_reply_free(reply);
    good = good && !hf_lease_held(lease) && hf_lease_fence(lease) > 0 &&
           is_refused(hf_lease_release(lease));
    hf_close(hf);
    return good;
}

static void a_child_is_refused_and_does_no_harm(void **state)
{
    uint64_t findings = 1;

    (void)state;
    open_zone();
    take_slot();
    for (int i = 0; i < BOOKINGS; i++) {
        assert_int_equal(reserve(hf, i), HF_OK);
        if (i % 10 == 0) {
            in_child(everything_is_refused);
        }
    }
    assert_int_equal(reserved(hf), BOOKINGS);
    assert_true(hf_lease_held(lease));
    assert_int_equal(hf_audit(hf, NULL, NULL, &findings), HF_OK);
    assert_int_equal(hf_lease_release(lease), HF_OK);
}

/* What was acknowledged before, between and after is read back, and nothing else is. */
static void the_journal_is_the_parents_alone(void **state)
{
    uint64_t findings = 1;

    a_child_is_refused_and_does_no_harm(state);
    hf_close(hf);
    assert_int_equal(hf_open(url, &hf), HF_OK);
    assert_int_equal(reserved(hf), BOOKINGS);
    assert_int_equal(hf_audit(hf, NULL, NULL, &findings), HF_OK);
    assert_int_equal(findings, 0);
}

static bool a_handle_of_its_own_works(void)
{
    hf_handle *own;

    if (hf_open("embedded:", &own) != HF_OK) {
        return false;
    }
    struct hf_seats_open_args args = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = 5};
    bool good = hf_seats_open(own, &args, NULL) == HF_OK && reserve(own, 1) == HF_OK &&
                is_refused(reserve(hf, 1));
    hf_close(own);
    return good;
}

static void a_child_may_open_a_handle_of_its_own(void **state)
{
    (void)state;
    open_zone();
    in_child(a_handle_of_its_own_works);
    assert_int_equal(reserved(hf), 0);
}

static bool the_directory_is_in_use(void)
{
    hf_handle *own;

    hf_close(hf);
    return hf_open(url, &own) == HF_IOERR;
}

static void a_child_that_closes_does_not_unlock(void **state)
{
    (void)state;
    in_child(the_directory_is_in_use);
    in_child(the_directory_is_in_use);
}

/* A child that lives on does not keep the directory from being opened again. */
static void the_lock_ends_with_the_parents_handle(void **state)
{
    int pipes[2], status;
    char byte;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[1]);
        _exit(write(pipes[0], "", 1) == 1 && read(pipes[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(pipes[0]);
    assert_int_equal(read(pipes[1], &byte, 1), 1); /* it runs */
    hf_close(hf);
    enum hf_error code = hf_open(url, &hf);
    close(pipes[1]); /* it ends */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(code, HF_OK);
}

/* The files of the handle, of which there are at least a lock, a directory and a segment, are
 * closed when a program is executed. */
static void an_executed_program_inherits_nothing(void **state)
{
    int files = 0;

    (void)state;
    open_zone();
    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        char link[32], name[256];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t size = flags < 0 ? -1 : readlink(link, name, sizeof name - 1);
        if (size > 0 && strncmp(name, path, strlen(path)) == 0) {
            assert_true(flags & FD_CLOEXEC);
            files++;
        }
    }
    assert_true(files >= 3);
}

int main(void)
{
#define DIRECTORY(name) cmocka_unit_test_setup_teardown(name, setup_directory, teardown_directory)
    const struct CMUnitTest tests[] = {
        DIRECTORY(the_journal_is_the_parents_alone),
        DIRECTORY(a_child_may_open_a_handle_of_its_own),
        DIRECTORY(a_child_that_closes_does_not_unlock),
        DIRECTORY(the_lock_ends_with_the_parents_handle),
        DIRECTORY(an_executed_program_inherits_nothing),
        cmocka_unit_test_setup_teardown(a_child_is_refused_and_does_no_harm, setup_memory,
                                        teardown_local),
        cmocka_unit_test_setup_teardown(a_child_is_refused_and_does_no_harm, setup_remote,
                                        teardown_remote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines that a thread writes to a file: one that may not grow for a while, and one that is switched
 * while it is written. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log_writer.h"

#define STOP_MS 60000

static char first_path[] = "/tmp/holdfast-lines-XXXXXX", second_path[sizeof first_path + 2];
static char text[1 << 20];
static _Atomic int failed_with, recovered;

static size_t say_lost(void *context, char out[LOG_LOST_SIZE], uint64_t count)
{
    (void)context;
    return (size_t)snprintf(out, LOG_LOST_SIZE, "lost %llu\n", (unsigned long long)count);
}

static void note_failing(void *context, int error)
{
    (void)context;
    if (error != 0) {
        failed_with = error;
    } else {
        recovered++;
    }
}

static int open_lines(const char *path)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    return fd;
}

static struct log_writer *begin(size_t room)
{
    struct log_writer *writer =
        log_writer_start(&(struct log_writer_target){.fd = open_lines(first_path),
                                                     .is_file = true,
                                                     .room = room,
                                                     .lost = say_lost,
                                                     .failing = note_failing});

    assert_non_null(writer);
    failed_with = recovered = 0;
    return writer;
}

static void put(struct log_writer *writer, unsigned number)
{
    char line[64];
    size_t size = (size_t)snprintf(line, sizeof line, "line %06u of some length\n", number);

    assert_true(log_writer_put(writer, line, size));
}

static const char *read_lines(const char *path)
{
    FILE *file = fopen(path, "re");

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void limit_files(rlim_t size)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void wait_for(_Atomic int *what)
{
    for (int i = 0; i < STOP_MS && *what == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_not_equal(*what, 0);
}

static int clean(void **state)
{
    (void)state;
    limit_files(RLIM_INFINITY);
    unlink(first_path);
    unlink(second_path);
    return 0;
}

static void all_lines_are_there_in_their_order(void **state)
{
    struct log_writer *writer = begin(1 << 20);
    const char *at;
    uint64_t lost;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        put(writer, i);
    }
    assert_true(log_writer_stop(writer, STOP_MS, &lost));
    assert_int_equal(lost, 0);
    at = read_lines(first_path);
    for (unsigned i = 0; i < 20000; i++) {
        assert_int_equal(strtoul(at + strlen("line "), NULL, 10), i);
        at = strchr(at, '\n') + 1;
    }
    assert_string_equal(at, "");
}

static void a_switch_tears_no_line_and_loses_none(void **state)
{
    struct log_writer *writer = begin(1 << 20);
    unsigned count = 0;

    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        put(writer, i);
        if (i == 5000) {
            log_writer_switch(writer, open_lines(second_path));
        }
    }
    assert_true(log_writer_stop(writer, STOP_MS, NULL));
    for (int file = 0; file < 2; file++) {
        const char *at = read_lines(file == 0 ? first_path : second_path);
        while (*at != '\0') {
            assert_int_equal(strtoul(at + strlen("line "), NULL, 10), count++);
            at = strchr(at, '\n') + 1;
        }
    }
    assert_int_equal(count, 10000);
}

static void what_waits_while_the_disk_is_full_is_written_afterwards(void **state)
{
    struct log_writer *writer = begin(1 << 20);
    struct log_writer_figures figures;
    uint64_t lost;

    (void)state;
    limit_files(100); /* in the middle of a line */
    for (unsigned i = 0; i < 10; i++) {
        put(writer, i);
    }
    wait_for(&failed_with);
    assert_int_equal(failed_with, EFBIG);
    log_writer_look(writer, &figures);
    assert_true(figures.failing);
    limit_files(RLIM_INFINITY);
    wait_for(&recovered);
    assert_true(log_writer_stop(writer, STOP_MS, &lost));
    assert_int_equal(lost, 0);
    const char *at = read_lines(first_path);
    for (unsigned i = 0; i < 10; i++, at = strchr(at, '\n') + 1) {
        assert_int_equal(strtoul(at + strlen("line "), NULL, 10), i);
    }
}

static void what_does_not_fit_is_counted_where_it_is_missing(void **state)
{
    struct log_writer *writer = begin(LOG_LINE_MAX);
    unsigned written = 0, said = 0;
    uint64_t lost;

    (void)state;
    limit_files(0);
    for (unsigned i = 0; i < 5000; i++) {
        put(writer, i);
    }
    wait_for(&failed_with);
    limit_files(RLIM_INFINITY);
    wait_for(&recovered);
    assert_true(log_writer_stop(writer, STOP_MS, &lost));
    assert_true(lost > 0);
    for (const char *at = read_lines(first_path); *at != '\0'; at = strchr(at, '\n') + 1) {
        written += strncmp(at, "line ", 5) == 0;
        said += strncmp(at, "lost ", 5) == 0 ? (unsigned)strtoul(at + 5, NULL, 10) : 0;
    }
    assert_int_equal(said, lost);
    assert_int_equal(written + said, 5000);
}

static void an_end_on_a_full_disk_leaves_whole_lines(void **state)
{
    struct log_writer *writer = begin(1 << 20);
    uint64_t lost;

    (void)state;
    limit_files(100);
    for (unsigned i = 0; i < 10; i++) {
        put(writer, i);
    }
    wait_for(&failed_with);
    assert_true(log_writer_stop(writer, STOP_MS, &lost));
    const char *lines = read_lines(first_path);
    assert_true(strlen(lines) > 0 && lines[strlen(lines) - 1] == '\n');
    assert_int_equal(lost, 10 - strlen(lines) / strlen("line 000000 of some length\n"));
}

static void a_file_on_another_disk_takes_the_place_of_a_full_one(void **state)
{
    struct log_writer *writer = begin(1 << 20);
    uint64_t lost;

    (void)state;
    limit_files(100);
    for (unsigned i = 0; i < 10; i++) {
        put(writer, i);
    }
    wait_for(&failed_with);
    limit_files(RLIM_INFINITY);
    log_writer_switch(writer, open_lines(second_path));
    assert_true(log_writer_stop(writer, STOP_MS, &lost));
    assert_int_equal(lost, 0);
    size_t first = strlen(read_lines(first_path));
    size_t second = strlen(read_lines(second_path));
    assert_int_equal(first + second, 10 * strlen("line 000000 of some length\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_lines_are_there_in_their_order, clean),
        cmocka_unit_test_teardown(a_switch_tears_no_line_and_loses_none, clean),
        cmocka_unit_test_teardown(what_waits_while_the_disk_is_full_is_written_afterwards, clean),
        cmocka_unit_test_teardown(what_does_not_fit_is_counted_where_it_is_missing, clean),
        cmocka_unit_test_teardown(an_end_on_a_full_disk_leaves_whole_lines, clean),
        cmocka_unit_test_teardown(a_file_on_another_disk_takes_the_place_of_a_full_one, clean),
    };
    int fd = mkstemp(first_path);

    close(fd);
    snprintf(second_path, sizeof second_path, "%s.2", first_path);
    signal(SIGXFSZ, SIG_IGN);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said on standard error: one line for each thing worth saying, and the last words of a
 * CHECK() that does not hold. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/log.h"

static int saved = -1;
static FILE *caught;
static char text[4096];

/* From here on, what goes to standard error is caught. */
static void begin_catching(void)
{
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    caught = tmpfile();
    assert_non_null(caught);
    assert_true(dup2(fileno(caught), STDERR_FILENO) >= 0);
}

/* No longer; returns what was caught. */
static const char *caught_text(void)
{
    fflush(stderr);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    rewind(caught);
    text[fread(text, 1, sizeof text - 1, caught)] = '\0';
    fclose(caught);
    return text;
}

static void each_level_has_its_prefix(void **state)
{
    struct log log = {.level = LOG_DEBUG};

    (void)state;
    begin_catching();
    log_line(&log, LOG_DEBUG, "a %d", 1);
    log_line(&log, LOG_INFO, "b %s", "two");
    log_line(&log, LOG_WARNING, "c");
    log_line(&log, LOG_ERROR, "d");
    assert_string_equal(caught_text(), "holdfast: debug: a 1\n"
                                       "holdfast: b two\n"
                                       "holdfast: warning: c\n"
                                       "holdfast: error: d\n");
}

static void what_is_below_the_level_is_not_written(void **state)
{
    struct log log = {.level = LOG_WARNING};

    (void)state;
    begin_catching();
    log_line(&log, LOG_DEBUG, "a");
    log_line(&log, LOG_INFO, "b");
    log_line(&log, LOG_WARNING, "c");
    log_line(&log, LOG_ERROR, "d");
    assert_string_equal(caught_text(), "holdfast: warning: c\nholdfast: error: d\n");
}

static void a_long_line_is_cut_and_still_one_line(void **state)
{
    static char words[4000];
    struct log log = {.level = LOG_INFO};

    (void)state;
    memset(words, 'x', sizeof words - 1);
    begin_catching();
    log_line(&log, LOG_INFO, "%s", words);
    const char *line = caught_text();
    assert_true(strlen(line) > 1000 && strlen(line) < sizeof words);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void as_json_a_line_is_an_object_with_its_time(void **state)
{
    struct log log = {.level = LOG_DEBUG, .json = true};
    int year, month, day, hour, minute, second, ms, end = 0;

    (void)state;
    begin_catching();
    log_line(&log, LOG_WARNING, "disk %d%% full", 90);
    const char *line = caught_text();
    assert_int_equal(sscanf(line,
                            "{\"time\":\"%4d-%2d-%2dT%2d:%2d:%2d.%3dZ\","
                            "\"level\":\"warning\",\"message\":\"disk 90%% full\"}\n%n",
                            &year, &month, &day, &hour, &minute, &second, &ms, &end),
                     7);
    assert_int_equal(end, strlen(line));
    assert_true(year >= 2024 && month >= 1 && month <= 12 && day >= 1 && hour < 24 && minute < 60);
}

static void as_json_each_level_has_its_name(void **state)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    char wanted[32];

    (void)state;
    for (int level = LOG_DEBUG; level <= LOG_ERROR; level++) {
        struct log log = {.level = LOG_DEBUG, .json = true};
        begin_catching();
        log_line(&log, (enum log_level)level, "a");
        snprintf(wanted, sizeof wanted, "\"level\":\"%s\"", names[level]);
        assert_non_null(strstr(caught_text(), wanted));
    }
}

static void as_json_a_message_is_escaped(void **state)
{
    struct log log = {.level = LOG_INFO, .json = true};

    (void)state;
    begin_catching();
    log_line(&log, LOG_INFO, "\"a\\b\"\n\t\x01 \xc3\xa9 \xff \xe2\x82");
    const char *line = caught_text();
    assert_non_null(strstr(line, "\"message\":\"\\\"a\\\\b\\\"\\u000a\\u0009\\u0001 \xc3\xa9 "
                                 "\\ufffd \\ufffd\\ufffd\"}\n"));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void as_json_the_longest_message_fits_however_it_is_escaped(void **state)
{
    static char words[4000], long_text[16384];
    struct log log = {.level = LOG_INFO, .json = true};
    int ends[2];

    (void)state;
    memset(words, '\x01', sizeof words - 1);
    assert_int_equal(pipe(ends), 0);
    int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    log_line(&log, LOG_INFO, "%s", words);
    dup2(before, STDERR_FILENO);
    close(before);
    close(ends[1]);
    ssize_t size = read(ends[0], long_text, sizeof long_text);
    close(ends[0]);
    assert_true(size > 6 * 2000);
    assert_string_equal(long_text + size - 9, "\\u0001\"}\n");
}

/* A socket keeps what was written in one call apart from the next. */
static void a_line_is_written_in_one_piece(void **state)
{
    struct log log = {.level = LOG_INFO};
    char got[64];
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    for (int json = 0; json < 2; json++) {
        log.json = json == 1;
        errno = ENOSPC;
        log_line(&log, LOG_INFO, "a");
        assert_int_equal(errno, ENOSPC);
    }
    dup2(before, STDERR_FILENO);
    close(before);
    assert_int_equal(read(ends[0], got, sizeof got), strlen("holdfast: a\n"));
    assert_memory_equal(got, "holdfast: a\n", strlen("holdfast: a\n"));
    assert_int_equal(read(ends[0], got, sizeof got), sizeof got);
    assert_memory_equal(got, "{\"time\":", 8);
    assert_int_equal(read(ends[0], got, sizeof got), -1);
    close(ends[0]);
    close(ends[1]);
}

static void a_check_that_holds_says_nothing(void **state)
{
    int evaluated = 0;

    (void)state;
    begin_catching();
    CHECK(++evaluated == 1);
    assert_string_equal(caught_text(), "");
    assert_int_equal(evaluated, 1);
}

static void a_check_that_does_not_hold_says_where_and_aborts(void **state)
{
    int status;

    (void)state;
    begin_catching();
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        CHECK(1 + 1 == 3);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    const char *said = caught_text();
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "holdfast: internal check failed: 1 + 1 == 3 at "));
    assert_non_null(strstr(said, "base_log.c:"));
}

/* ---- a thread of its own --------------------------------------------------------------------- */

/* As much as a pipe and the ring take, and more. */
#define MANY 8000

static void *say_many(void *context)
{
    for (int i = 0; i < MANY; i++) {
        log_line(context, LOG_INFO, "line %d, long enough to fill what there is sooner", i);
    }
    return NULL;
}

struct reading {
    int fd;
    unsigned whole, broken, told;
};

/* Counts lines until the other end is closed. */
static void *read_all(void *context)
{
    struct reading *reading = context;
    FILE *file = fdopen(reading->fd, "r");
    char line[512];

    while (fgets(line, sizeof line, file) != NULL) {
        bool timed = line[4] == '-' && line[10] == 'T' && line[23] == 'Z';
        reading->whole += timed && strstr(line, " holdfast: line ") != NULL;
        reading->told += timed && strstr(line, " lines were left out here") != NULL;
        reading->broken += !timed || line[strlen(line) - 1] != '\n';
    }
    fclose(file);
    return NULL;
}

static void nobody_waits_for_a_log_that_is_not_read(void **state)
{
    struct log log = {.level = LOG_INFO};
    pthread_t others[3], reader;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    log_start(&log);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&others[i], NULL, say_many, &log), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(others[i], NULL); /* though nobody has read a line yet */
    }
    struct reading reading = {.fd = ends[0]};
    assert_int_equal(pthread_create(&reader, NULL, read_all, &reading), 0);
    log_stop(&log, 60000);
    dup2(saved, STDERR_FILENO);
    close(saved);
    pthread_join(reader, NULL);
    assert_int_equal(reading.broken, 0);
    assert_true(reading.whole > 1000 && reading.whole < 3 * MANY);
    assert_true(reading.told >= 1);
}

static void the_end_does_not_wait_for_ever(void **state)
{
    struct log log = {.level = LOG_INFO};
    int ends[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork(); /* the thread that is stuck ends with its process */
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        log_start(&log);
        say_many(&log);
        log_stop(&log, 50);
        _exit(7);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    close(ends[0]);
    close(ends[1]);
}

static void a_child_writes_its_own_lines(void **state)
{
    struct log log = {.level = LOG_INFO};

    (void)state;
    begin_catching();
    log_start(&log);
    pid_t child = fork();
    if (child == 0) {
        log_line(&log, LOG_INFO, "of the child");
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    log_line(&log, LOG_INFO, "of the parent");
    log_stop(&log, 60000);
    const char *lines = caught_text();
    assert_non_null(strstr(lines, "holdfast: of the child\n"));
    assert_non_null(strstr(lines, "holdfast: of the parent\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_level_has_its_prefix),
        cmocka_unit_test(what_is_below_the_level_is_not_written),
        cmocka_unit_test(a_long_line_is_cut_and_still_one_line),
        cmocka_unit_test(as_json_a_line_is_an_object_with_its_time),
        cmocka_unit_test(as_json_each_level_has_its_name),
        cmocka_unit_test(as_json_a_message_is_escaped),
        cmocka_unit_test(as_json_the_longest_message_fits_however_it_is_escaped),
        cmocka_unit_test(a_line_is_written_in_one_piece),
        cmocka_unit_test(a_check_that_holds_says_nothing),
        cmocka_unit_test(a_check_that_does_not_hold_says_where_and_aborts),
        cmocka_unit_test(nobody_waits_for_a_log_that_is_not_read),
        cmocka_unit_test(the_end_does_not_wait_for_ever),
        cmocka_unit_test(a_child_writes_its_own_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

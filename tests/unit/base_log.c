/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said on standard error: one line for each thing worth saying, and the last words of a
 * CHECK() that does not hold. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_level_has_its_prefix),
        cmocka_unit_test(what_is_below_the_level_is_not_written),
        cmocka_unit_test(a_long_line_is_cut_and_still_one_line),
        cmocka_unit_test(a_check_that_holds_says_nothing),
        cmocka_unit_test(a_check_that_does_not_hold_says_where_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of `holdfast serve`: where they come from, which place wins, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/options.h"

static struct server_options options;
static struct problem problem;
static char path[] = "/tmp/holdfast-options-XXXXXX";

/* Loads from flags, which end at NULL. */
static enum hf_error load(char *flag, ...)
{
    char *argv[32] = {(char *)"serve"};
    int argc = 1;
    va_list flags;

    va_start(flags, flag);
    for (char *word = flag; word != NULL; word = va_arg(flags, char *)) {
        argv[argc++] = word;
    }
    va_end(flags);
    problem.message[0] = '\0';
    return options_load(&options, argc, argv, &problem);
}

#define LOAD(...) load(__VA_ARGS__, NULL)

static enum hf_error parse(const char *text)
{
    problem.message[0] = '\0';
    return options_parse_file(&options, "h.conf", hf_text(text), &problem);
}

static void write_config(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_says(const char *text)
{
    if (strstr(problem.message, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, problem.message);
    }
}

static int clean(void **state)
{
    (void)state;
    options_free(&options);
    unsetenv("HOLDFAST_CONFIG");
    unsetenv("HOLDFAST_RESP_PORT");
    unsetenv("HOLDFAST_MEMORY");
    unsetenv("HOLDFAST_CHECK_CONFIG");
    return 0;
}

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void without_settings_the_defaults_hold(void **state)
{
    (void)state;
    assert_int_equal(load(NULL), HF_OK);
    assert_string_equal(options.dir, "./holdfast-data");
    assert_false(options.memory);
    assert_string_equal(options.fsync, "always");
    assert_string_equal(options.bind, "127.0.0.1");
    assert_int_equal(options.resp_port, 4653);
    assert_int_equal(options.http_port, 4654);
    assert_string_equal(options.engine, "embedded");
    assert_null(options.ledger);
    assert_null(options.ledger_inventory);
    assert_int_equal(options.ledger_connections, 2);
    assert_int_equal(options.ledger_timeout_ms, 2000);
    assert_int_equal(options.servers, 1);
    assert_int_equal(options.fallback_rate, 50);
    assert_int_equal(options.breaker_window_ms, 10000);
    assert_int_equal(options.breaker_failures, 50);
    assert_int_equal(options.breaker_open_for_ms, 5000);
    assert_int_equal(options.reconcile_every_ms, 5000);
    assert_null(options.auth_file);
    assert_null(options.tls_cert);
    assert_null(options.tls_key);
    assert_null(options.cors_origin);
    assert_int_equal(options.log_level, LOG_INFO);
    assert_false(options.log_json);
    assert_int_equal(options.max_connections, 10000);
    assert_int_equal(options.client_memory_bytes, 32 << 20);
    assert_int_equal(options.request_timeout_ms, 30000);
    assert_int_equal(options.idle_timeout_ms, 75000);
    assert_int_equal(options.max_body_bytes, 1408 << 10);
    assert_int_equal(options.drain_timeout_ms, 10000);
    assert_int_equal(options.slow_ms, 10);
    assert_false(options.check_config);
    assert_int_equal(options.given, 0);
}

static void a_flag_takes_its_value_after_a_space_or_an_equals_sign(void **state)
{
    (void)state;
    assert_int_equal(LOAD("--resp-port", "0", "--http-port=0", "--memory", "--log-format=json",
                          "--log-level", "debug", "--check-config", "--client-memory", "2G",
                          "--request-timeout", "1500ms", "--drain-timeout", "5"),
                     HF_OK);
    assert_int_equal(options.resp_port, 0);
    assert_int_equal(options.http_port, 0);
    assert_true(options.memory);
    assert_null(options.dir);
    assert_true(options.log_json);
    assert_int_equal(options.log_level, LOG_DEBUG);
    assert_true(options.check_config);
    assert_true(options.client_memory_bytes == (int64_t)2 << 30);
    assert_int_equal(options.request_timeout_ms, 1500);
    assert_int_equal(options.drain_timeout_ms, 5000);
}

static void a_size_may_have_its_unit_in_several_ways(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {{"512m", (int64_t)512 << 20},
                 {"512mb", (int64_t)512 << 20},
                 {"512MiB", (int64_t)512 << 20},
                 {"2g", (int64_t)2 << 30},
                 {"2GB", (int64_t)2 << 30},
                 {"3t", (int64_t)3 << 40},
                 {"700k", 700 << 10},
                 {"12345", 12345},
                 {"0", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(LOAD("--max-memory", (char *)cases[i].text), HF_OK);
        assert_true(options.max_memory_bytes == cases[i].bytes);
        options_free(&options);
    }
}

static void the_last_of_two_equal_flags_wins(void **state)
{
    (void)state;
    assert_int_equal(LOAD("--dir", "a", "--dir=b"), HF_OK);
    assert_string_equal(options.dir, "b");
}

static void a_file_has_comments_blanks_and_quotes(void **state)
{
    (void)state;
    assert_int_equal(parse("# settings\n"
                           "\n"
                           "  resp-port=1  # the port\r\n"
                           "dir = \"/var/lib/hold fast#1\" # quoted\n"
                           "\tauth-file\t=\t/etc/a#b\n"
                           "memory = off\n"
                           "log-level = \"error\""),
                     HF_OK);
    assert_int_equal(options.resp_port, 1);
    assert_string_equal(options.dir, "/var/lib/hold fast#1");
    assert_string_equal(options.auth_file, "/etc/a#b");
    assert_false(options.memory);
    assert_int_equal(options.log_level, LOG_ERROR);
}

static void a_mistake_in_a_file_is_named_with_its_line_and_key(void **state)
{
    static const char *const cases[][2] = {
        {"resp-prot = 1", "h.conf:1: there is no setting \"resp-prot\""},
        {"\n\nbind = ::1\nbind = ::1", "h.conf:4: bind is set a second time"},
        {"#\nresp-port = 70000", "h.conf:2: resp-port \"70000\": must be a number from 0 to 65535"},
        {"resp-port", "h.conf:1: \"resp-port\" is not of the form: name = value"},
        {"= 1", "h.conf:1: there is no setting \"\""},
        {"dir =", "h.conf:1: dir has no value"},
        {"dir = # none", "h.conf:1: dir has no value"},
        {"dir = \"\"", "h.conf:1: dir has no value"},
        {"dir = \"/a", "h.conf:1: the value of dir has a double quote"},
        {"dir = \"/a\" b", "h.conf:1: the value of dir has a double quote"},
        {"dir = /a\"b\"", "h.conf:1: the value of dir has a double quote"},
        {"dir = /a\x01", "h.conf:1: a control character"},
        {"config = other", "h.conf:1: only a flag can say \"config\""},
        {"check-config = true", "h.conf:1: only a flag can say \"check-config\""},
        {"memory = perhaps", "h.conf:1: memory \"perhaps\": must be one of false|true"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(cases[i][0]), HF_INVALID_ARGUMENT);
        assert_says(cases[i][1]);
        options_free(&options);
    }
}

static void a_nul_byte_in_a_file_is_refused(void **state)
{
    struct hf_bytes text = HF_TEXT("dir = a\0b");

    (void)state;
    assert_int_equal(options_parse_file(&options, "h.conf", text, &problem), HF_INVALID_ARGUMENT);
    assert_says("h.conf:1: a control character");
}

static void an_empty_file_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(options_parse_file(&options, "h.conf", (struct hf_bytes){NULL, 0}, &problem),
                     HF_OK);
    assert_int_equal(options.given, 0);
}

static void a_flag_beats_the_environment_which_beats_the_file(void **state)
{
    (void)state;
    write_config("resp-port = 1\nhttp-port = 9\n");
    assert_int_equal(LOAD("--config", path), HF_OK);
    assert_int_equal(options.resp_port, 1);
    options_free(&options);

    setenv("HOLDFAST_RESP_PORT", "2", 1);
    setenv("HOLDFAST_CONFIG", path, 1);
    assert_int_equal(load(NULL), HF_OK);
    assert_int_equal(options.resp_port, 2);
    assert_int_equal(options.http_port, 9);
    options_free(&options);

    assert_int_equal(LOAD("--resp-port=3"), HF_OK);
    assert_int_equal(options.resp_port, 3);
    assert_int_equal(options.http_port, 9);
}

static void the_file_of_the_flag_is_read_and_not_that_of_the_environment(void **state)
{
    (void)state;
    write_config("resp-port = 1\n");
    setenv("HOLDFAST_CONFIG", "/nowhere/at/all", 1);
    assert_int_equal(LOAD("--config", path), HF_OK);
    assert_int_equal(options.resp_port, 1);
}

static void a_flag_of_the_file_can_be_taken_back(void **state)
{
    (void)state;
    write_config("memory = true\n");
    assert_int_equal(LOAD("--config", path, "--memory=no", "--dir", "a"), HF_OK);
    assert_false(options.memory);
    assert_string_equal(options.dir, "a");
}

static void an_empty_variable_counts_as_none(void **state)
{
    (void)state;
    setenv("HOLDFAST_RESP_PORT", "", 1);
    setenv("HOLDFAST_CONFIG", "", 1);
    assert_int_equal(load(NULL), HF_OK);
    assert_int_equal(options.resp_port, 4653);
}

static void a_bad_variable_is_named(void **state)
{
    (void)state;
    setenv("HOLDFAST_RESP_PORT", "many", 1);
    assert_int_equal(load(NULL), HF_INVALID_ARGUMENT);
    assert_says("HOLDFAST_RESP_PORT \"many\": must be a number from 0 to 65535");
}

static void checking_is_asked_for_by_a_flag_only(void **state)
{
    (void)state;
    setenv("HOLDFAST_CHECK_CONFIG", "true", 1);
    assert_int_equal(load(NULL), HF_OK);
    assert_false(options.check_config);
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(LOAD("--config", "/nowhere/h.conf"), HF_INVALID_ARGUMENT);
    assert_says("/nowhere/h.conf cannot be read: No such file");
    assert_int_equal(LOAD("--config", "/tmp"), HF_INVALID_ARGUMENT);
    assert_says("/tmp cannot be read: Is a directory");
}

static void an_endless_file_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(LOAD("--config", "/dev/zero"), HF_INVALID_ARGUMENT);
    assert_says("/dev/zero cannot be read: File too large");
}

static void a_bad_flag_is_named_with_what_to_do(void **state)
{
    static char *const cases[][3] = {
        {"--resp-prot", "1",
         "there is no flag --resp-prot (did you mean --resp-port?); `holdfast serve --help`"},
        {"--resp", "1", "there is no flag --resp;"},
        {"now", NULL, "what is \"now\"? serve takes flags only"},
        {"-p", "1", "what is \"-p\"?"},
        {"--", NULL, "there is no flag --;"},
        {"--bind", NULL, "--bind needs a value: --bind ADDRESS"},
        {"--bind", "--memory", "--bind needs a value: --bind ADDRESS"},
        {"--bind=", NULL, "--bind has no value"},
        {"--resp-port", "-1", "--resp-port \"-1\": must be a number from 0 to 65535"},
        {"--resp-port", "1x", "--resp-port \"1x\": must be a number"},
        {"--max-connections", "0", "must be a number from 1 to 1000000"},
        {"--client-memory", "1k",
         "--client-memory \"1k\": must be a size such as 500k, 32m, 2g, "
         "from 1m to 1024g"},
        {"--client-memory", "9223372036854775807g", "must be a size"},
        {"--client-memory", "m", "must be a size"},
        {"--client-memory", "mb", "must be a size"},
        {"--client-memory", "5b", "must be a size"},
        {"--client-memory", "5ib", "must be a size"},
        {"--client-memory", "5mbb", "must be a size"},
        {"--max-memory", "-1", "--max-memory \"-1\": must be a size"},
        {"--max-body", "10", "from 1k to 64m"},
        {"--request-timeout", "1ms",
         "--request-timeout \"1ms\": must be a time such as 500ms, "
         "30s, 10m, 2h, from 100ms to 1h"},
        {"--http-idle-timeout", "2d", "from 0 to 24h"},
        {"--fsync", "sometimes", "--fsync \"sometimes\": must be one of always|everysec|no"},
        {"--fsync", "alway", "must be one of"},
        {"--log-level", "loud", "must be one of debug|info|warning|error"},
        {"--log-format", "xml", "must be one of text|json"},
        {"--memory=maybe", NULL, "--memory \"maybe\": must be one of"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(LOAD(cases[i][0], cases[i][1]), HF_INVALID_ARGUMENT);
        assert_says(cases[i][2]);
    }
}

static void settings_that_do_not_fit_together_are_refused(void **state)
{
    static char *const cases[][3] = {
        {"--tls-cert=c.pem", NULL, "tls-cert \"c.pem\" is of no use alone: TLS needs --tls-key"},
        {"--tls-key=k.pem", NULL, "tls-key \"k.pem\" is of no use alone: TLS needs --tls-cert"},
        {"--memory", "--dir=d", "leave one of them out"},
        {"--engine=redis://h", "--dir=d", "dir is for the engine of this process"},
        {"--engine=redis+cluster://h", "--fsync=always", "fsync is for the engine of this"},
        {"--engine=redis://:secret@h", "--memory", "engine \"redis:\" keeps its data elsewhere"},
        {"--engine=redis://:secret@h", "--max-memory=1g",
         "max-memory is for the engine of this process, and engine \"redis:\" has a limit of its "
         "own: leave max-memory out, and set maxmemory there"},
        {"--engine=embedded:d", "--dir=e", "leave dir out, or the engine"},
        {"--resp-port=7", "--http-port=7", "resp-port and http-port are both 7"},
        {"--engine=mongo://localhost", NULL, "unknown engine \"mongo\""},
        {"--engine=redis://localhost:99999", NULL, "port"},
        {"--engine=redis+tls://localhost", NULL, "rediss://"},
        {"--ledger=oracle://h", NULL, "oracle"},
        {"--memory", "--ledger-inventory=a(b, c)", "ledger-inventory"},
        {"--ledger=sqlite:a.db", "--ledger-inventory=a; DROP TABLE b", "inventory"},
        {"--client-memory=1m", "--max-body=2m", "max-body is 2097152 bytes"},
        {"--cors-origin=shop.example", NULL, "cors-origin \"shop.example\": must be one origin"},
        {"--cors-origin=https://a.b/c", NULL, "without a path"},
        {"--cors-origin=https://", NULL, "must be one origin"},
        {"--bind=shop.example", NULL, "bind \"shop.example\": must be an address"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(LOAD(cases[i][0], cases[i][1]), HF_INVALID_ARGUMENT);
        assert_says(cases[i][2]);
    }
}

static void an_address_that_others_reach_needs_users(void **state)
{
    static char *const beyond[] = {"--bind=0.0.0.0", "--bind=::", "--bind=10.0.0.1",
                                   "--bind=128.0.0.1", "--bind=::ffff:10.0.0.1"};
    static char *const within[] = {"--bind=127.0.0.1", "--bind=127.9.9.9", "--bind=::1",
                                   "--bind=localhost"};

    (void)state;
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        assert_int_equal(LOAD(beyond[i]), HF_INVALID_ARGUMENT);
        assert_says("lets other machines in");
        assert_says("--auth-file FILE");
        assert_int_equal(LOAD(beyond[i], "--auth-file=users"), HF_OK);
        options_free(&options);
    }
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++) {
        assert_int_equal(LOAD(within[i]), HF_OK);
        options_free(&options);
    }
}

static void localhost_is_the_address_it_stands_for(void **state)
{
    (void)state;
    assert_int_equal(LOAD("--bind", "localhost"), HF_OK);
    assert_string_equal(options.bind, "127.0.0.1");
}

static void both_ports_may_be_any_free_one(void **state)
{
    (void)state;
    assert_int_equal(LOAD("--resp-port=0", "--http-port=0"), HF_OK);
}

static void after_a_failure_there_is_nothing_to_free(void **state)
{
    static const struct server_options nothing;

    (void)state;
    assert_int_equal(LOAD("--dir=a", "--auth-file=b", "--tls-cert=c", "--nonsense"),
                     HF_INVALID_ARGUMENT);
    assert_memory_equal(&options, &nothing, sizeof options);
    assert_int_equal(LOAD("--dir=a", "--auth-file=b", "--tls-cert=c"), HF_INVALID_ARGUMENT);
    assert_memory_equal(&options, &nothing, sizeof options);
}

static void the_help_names_each_setting_with_its_default(void **state)
{
    struct memory memory;
    struct buffer out;

    (void)state;
    memory_init(&memory);
    buffer_init(&out, &memory);
    options_help(&out);
    buffer_byte(&out, '\0');
    assert_non_null(strstr(out.data, "    --resp-port PORT\n        "));
    assert_non_null(strstr(out.data, "a free one (4653)\n"));
    assert_non_null(strstr(out.data, "    --fsync always|everysec|no\n"));
    assert_non_null(strstr(out.data, "    --memory\n        "));
    assert_non_null(strstr(out.data, "\n    payment-secret = SECRET\n")); /* no flag: a secret */
    buffer_free(&out);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, clean, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_settings_the_defaults_hold),
        CASE(a_flag_takes_its_value_after_a_space_or_an_equals_sign),
        CASE(a_size_may_have_its_unit_in_several_ways),
        CASE(the_last_of_two_equal_flags_wins),
        CASE(a_file_has_comments_blanks_and_quotes),
        CASE(a_mistake_in_a_file_is_named_with_its_line_and_key),
        CASE(a_nul_byte_in_a_file_is_refused),
        CASE(an_empty_file_says_nothing),
        CASE(a_flag_beats_the_environment_which_beats_the_file),
        CASE(the_file_of_the_flag_is_read_and_not_that_of_the_environment),
        CASE(a_flag_of_the_file_can_be_taken_back),
        CASE(an_empty_variable_counts_as_none),
        CASE(a_bad_variable_is_named),
        CASE(checking_is_asked_for_by_a_flag_only),
        CASE(a_file_that_cannot_be_read_is_an_error),
        CASE(an_endless_file_is_an_error),
        CASE(a_bad_flag_is_named_with_what_to_do),
        CASE(settings_that_do_not_fit_together_are_refused),
        CASE(an_address_that_others_reach_needs_users),
        CASE(localhost_is_the_address_it_stands_for),
        CASE(both_ports_may_be_any_free_one),
        CASE(after_a_failure_there_is_nothing_to_free),
        CASE(the_help_names_each_setting_with_its_default),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}

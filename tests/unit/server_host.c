/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts of requests: those in order and those that are none, and which of them are this server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "server/host.h"

static void hosts_in_order_are_taken_apart(void **state)
{
    static const struct {
        const char *authority, *host;
    } hosts[] = {{"localhost", "localhost"},
                 {"localhost:4654", "localhost"},
                 {"a-b.c_d.example.:65535", "a-b.c_d.example."},
                 {"127.0.0.1:1", "127.0.0.1"},
                 {"[::1]", "[::1]"},
                 {"[::1]:80", "[::1]"},
                 {"a:", "a"},
                 {"[::1]:", "[::1]"},
                 {"[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]"},
                 {"~!$&'()*+;=", "~!$&'()*+;="}};
    struct hf_bytes host;
    (void)state;

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        assert_true(host_split(hf_text(hosts[i].authority), &host));
        assert_true(text_equal(host, hf_text(hosts[i].host)));
    }
}

static void what_is_no_host_is_refused(void **state)
{
    static const char *const bad[] = {
        "",     ":",      ":80",     "a:0",     "a:65536",   "a:123456", "a:8a",     "a:-1",
        "a:+1", "a: 1",   "a:b:c",   "a:1:2",   "::1",       "[",        "[]",       "[::1",
        "::1]", "[::1]]", "[::1]80", "[::1]:x", "[1.2.3.4]", "[v1.a]",   "[::1%lo]", "[::g]",
        "a%41", "%",      "u@a",     "u:p@a:1", "a/b",       "a?b",      "a#b",      "a\\b",
        "a b",  "a,b",    "\"a\"",   "<a>",     "a\x80",     "a{b}"};
    struct hf_bytes host;
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (host_split(hf_text(bad[i]), &host)) {
            fail_msg("%s", bad[i]);
        }
    }
}

static bool ours(const char *host, const char *bind, const char *allowed)
{
    return host_is_ours(hf_text(host), bind, allowed);
}

static void loopback_is_always_ours(void **state)
{
    static const char *const names[] = {
        "localhost", "LocalHost", "localhost.", "app.localhost",     "a.b.LOCALHOST.",
        "127.0.0.1", "127.9.8.7", "[::1]",      "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"};
    (void)state;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(ours(names[i], "127.0.0.1", NULL));
        assert_true(ours(names[i], "::1", NULL));
        assert_true(ours(names[i], "10.1.2.3", "shop.example"));
    }
}

static void other_names_are_not(void **state)
{
    static const char *const names[] = {"evil.example",
                                        "localhost.evil.example",
                                        "localhost.localdomain",
                                        "notlocalhost",
                                        ".localhost.x",
                                        "127.0.0.1.evil.example",
                                        "127.1",
                                        "2130706433",
                                        "0x7f000001",
                                        "0.0.0.0",
                                        "[::]",
                                        "10.1.2.3",
                                        "[fd00::7]",
                                        "shop.example.evil",
                                        "xshop.example",
                                        ".",
                                        "*"};
    (void)state;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (ours(names[i], "127.0.0.1", NULL) || ours(names[i], "::1", "shop.example")) {
            fail_msg("%s", names[i]);
        }
    }
}

static void the_address_that_is_listened_on_is_ours(void **state)
{
    (void)state;
    assert_true(ours("10.1.2.3", "10.1.2.3", NULL));
    assert_false(ours("10.1.2.4", "10.1.2.3", NULL));
    assert_true(ours("[fd00:0::7]", "fd00::7", NULL));
    assert_false(ours("[fd00::8]", "fd00::7", NULL));
    /* All addresses of the machine: any may be one, no name is. */
    assert_true(ours("10.1.2.4", "0.0.0.0", NULL));
    assert_true(ours("[fd00::8]", "::", NULL));
    assert_false(ours("evil.example", "0.0.0.0", NULL));
    assert_false(ours("evil.example", "::", NULL));
}

static void names_may_be_allowed(void **state)
{
    (void)state;
    assert_true(ours("shop.example", "127.0.0.1", "shop.example"));
    assert_true(ours("SHOP.example.", "127.0.0.1", "a.example , Shop.Example."));
    assert_true(ours("[fd00::7]", "127.0.0.1", "a.example,[fd00::7]"));
    assert_true(ours("anything", "127.0.0.1", "*"));
    assert_false(ours("b.shop.example", "127.0.0.1", "shop.example"));
}

static void lists_are_checked(void **state)
{
    static const char *const bad[] = {
        "a.example:80", "http://a.example", "a,,b", ",", "a.example,", "a b", "[::1",
        "u@a",          "*.example*/",      ""};
    struct problem problem;
    (void)state;

    assert_int_equal(host_check_list("a.example, b.example,[::1],10.0.0.1", &problem), HF_OK);
    assert_int_equal(host_check_list("*", &problem), HF_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(host_check_list(bad[i], &problem), HF_INVALID_ARGUMENT);
        assert_non_null(strstr(problem.message, "allowed-hosts"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_in_order_are_taken_apart),
        cmocka_unit_test(what_is_no_host_is_refused),
        cmocka_unit_test(loopback_is_always_ours),
        cmocka_unit_test(other_names_are_not),
        cmocka_unit_test(the_address_that_is_listened_on_is_ours),
        cmocka_unit_test(names_may_be_allowed),
        cmocka_unit_test(lists_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

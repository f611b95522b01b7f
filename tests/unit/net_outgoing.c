/* SPDX-License-Identifier: Apache-2.0
 *
 * Which addresses a request of ours may be sent to, and which URLs a setting may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "net/outgoing.h"

static const struct sockaddr *address_of(const char *text)
{
    static struct sockaddr_storage storage;
    struct sockaddr_in *four = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&storage;

    memset(&storage, 0, sizeof storage);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
        six->sin6_family = AF_INET6;
    }
    return (const struct sockaddr *)&storage;
}

static bool permits(const char *allowed_text, const char *host, const char *address)
{
    struct outgoing_allowed allowed;
    struct problem problem;
    const char *kind;

    assert_int_equal(outgoing_read_allowed(allowed_text, &allowed, &problem), HF_OK);
    return outgoing_permits(&allowed, host, address_of(address), &kind);
}

static void addresses_that_are_not_public_are_told_by_kind(void **state)
{
    static const struct {
        const char *address, *kind;
    } cases[] = {
        {"0.0.0.0", "unspecified"},
        {"10.1.2.3", "private"},
        {"100.64.0.1", "shared (carrier-grade NAT)"},
        {"127.0.0.1", "loopback"},
        {"127.255.255.254", "loopback"},
        {"169.254.169.254", "link-local"},
        {"172.16.0.1", "private"},
        {"172.31.255.255", "private"},
        {"192.168.0.1", "private"},
        {"198.19.255.255", "benchmarking"},
        {"224.0.0.1", "multicast"},
        {"239.255.255.255", "multicast"},
        {"255.255.255.255", "reserved"},
        {"::", "unspecified"},
        {"::1", "loopback"},
        {"::7f00:1", "reserved"},
        {"::ffff:127.0.0.1", "loopback"},
        {"::ffff:10.0.0.1", "private"},
        {"::ffff:8.8.8.8", "reserved"},
        {"64:ff9b::7f00:1", "translated"},
        {"2002:7f00:1::1", "translated"},
        {"2001:0:1::1", "reserved"},
        {"2001:db8::1", "documentation"},
        {"fc00::1", "private"},
        {"fdff::1", "private"},
        {"fe80::1", "link-local"},
        {"febf::1", "link-local"},
        {"fec0::1", "site-local"},
        {"ff02::1", "multicast"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *kind = outgoing_kind(address_of(cases[i].address));
        assert_non_null(kind);
        assert_string_equal(kind, cases[i].kind);
        assert_false(permits("", "shop.example", cases[i].address));
    }
}

static void public_addresses_are_permitted(void **state)
{
    static const char *const cases[] = {"1.1.1.1",         "9.255.255.255", "11.0.0.0",
                                        "100.63.255.255",  "100.128.0.0",   "126.255.255.255",
                                        "128.0.0.0",       "172.15.0.1",    "172.32.0.1",
                                        "223.255.255.255", "2606:4700::1",  "2a00:1450::1"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(outgoing_kind(address_of(cases[i])));
        assert_true(permits(NULL, "shop.example", cases[i]));
    }
}

static void a_url_that_names_an_address_may_go_there_and_nowhere_else(void **state)
{
    (void)state;
    assert_true(permits("", "127.0.0.1", "127.0.0.1"));
    assert_true(permits("", "10.0.0.7", "10.0.0.7"));
    assert_true(permits("", "::1", "::1"));
    assert_true(permits("", "0:0:0:0:0:0:0:1", "::1"));
    assert_true(permits("", "localhost", "127.0.0.1"));
    assert_true(permits("", "LocalHost", "::1"));
    assert_false(permits("", "localhost", "10.0.0.1"));
    assert_false(permits("", "10.0.0.7", "10.0.0.8"));
    assert_false(permits("", "localhost.example", "127.0.0.1"));
}

static void an_address_in_disguise_names_nothing(void **state)
{
    (void)state;
    assert_false(permits("", "127.1", "127.0.0.1"));
    assert_false(permits("", "0x7f000001", "127.0.0.1"));
    assert_false(permits("", "2130706433", "127.0.0.1"));
    assert_false(permits("", "0177.0.0.1", "127.0.0.1"));
    assert_false(permits("", "::ffff:127.0.0.1", "::ffff:127.0.0.1"));
    assert_false(permits("", "::ffff:127.0.0.1", "127.0.0.1"));
}

static void networks_that_are_listed_are_permitted(void **state)
{
    (void)state;
    assert_true(permits("10.0.0.0/8", "shop.example", "10.200.1.1"));
    assert_true(permits(" 192.168.1.7,  10.0.0.0/9 ", "shop.example", "10.127.255.255"));
    assert_true(permits("192.168.1.7", "shop.example", "192.168.1.7"));
    assert_true(permits("fd00::/8", "shop.example", "fd12::1"));
    assert_true(permits("0.0.0.0/0", "shop.example", "127.0.0.1"));
    assert_true(permits("127.0.0.0/8", "127.1", "127.0.0.1"));
    assert_false(permits("10.0.0.0/9", "shop.example", "10.128.0.0"));
    assert_false(permits("192.168.1.7", "shop.example", "192.168.1.8"));
    assert_false(permits("fd00::/8", "shop.example", "fc00::1"));
    assert_false(permits("0.0.0.0/0", "shop.example", "::1"));
}

static void what_is_no_network_is_refused(void **state)
{
    static const char *const cases[] = {"10.0.0.0/33", "10.0.0/8",     "10.0.0.0/-1", "10.0.0.0/",
                                        "fd00::/129",  "shop.example", "10.0.0.0/8;1"};
    struct outgoing_allowed allowed = {.count = 7};
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(outgoing_read_allowed(cases[i], &allowed, &problem), HF_INVALID_ARGUMENT);
        assert_non_null(strstr(problem.message, cases[i]));
        assert_int_equal(allowed.count, 7);
    }
}

static void the_host_of_a_url_is_taken_as_it_is_written(void **state)
{
    static const struct {
        const char *url, *host;
    } cases[] = {
        {"http://shop.example", "shop.example"},
        {"https://shop.example:8443/a/b?c=d", "shop.example"},
        {"HTTP://127.1/", "127.1"},
        {"http://[::ffff:127.0.0.1]:80/x", "::ffff:127.0.0.1"},
        {"http://shop.example?x=a@b", "shop.example"},
    };
    char host[ADDRESS_HOST_SIZE];
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(outgoing_read_url(cases[i].url, host, &problem), HF_OK);
        assert_string_equal(host, cases[i].host);
    }
}

static void other_urls_are_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "shop.example/hook",
        "ftp://shop.example/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://user:secret@shop.example/",
        "http://a@b@c/",
        "http://shop.example:0/",
        "http://shop.example:99999/",
        "http://shop.example/a b",
        "http://shop.example/\n",
        "http://shop.example/#part",
        "http://shop.example\\@127.0.0.1/",
    };
    char host[ADDRESS_HOST_SIZE];
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(outgoing_read_url(cases[i], host, &problem), HF_INVALID_ARGUMENT);
        assert_null(strstr(problem.message, "secret"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_that_are_not_public_are_told_by_kind),
        cmocka_unit_test(public_addresses_are_permitted),
        cmocka_unit_test(a_url_that_names_an_address_may_go_there_and_nowhere_else),
        cmocka_unit_test(an_address_in_disguise_names_nothing),
        cmocka_unit_test(networks_that_are_listed_are_permitted),
        cmocka_unit_test(what_is_no_network_is_refused),
        cmocka_unit_test(the_host_of_a_url_is_taken_as_it_is_written),
        cmocka_unit_test(other_urls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "net/address.h"

#define DEFAULT_PORT 4653

static void a_host_and_its_port_are_split(void **state)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } cases[] = {
        {"localhost", "localhost", DEFAULT_PORT},
        {"localhost:1", "localhost", 1},
        {"10.0.0.1:65535", "10.0.0.1", 65535},
        {"[::1]", "::1", DEFAULT_PORT},
        {"[::1]:4654", "::1", 4654},
        {"a-b.example:80", "a-b.example", 80},
    };
    char host[ADDRESS_HOST_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint16_t port = DEFAULT_PORT;
        assert_true(address_split(hf_text(cases[i].text), host, &port));
        assert_string_equal(host, cases[i].host);
        assert_int_equal(port, cases[i].port);
    }
}

static void what_is_no_address_is_refused_and_changes_nothing(void **state)
{
    static const char *const cases[] = {
        "",
        ":1",
        "a:",
        "a:0",
        "a:65536",
        "a:-1",
        "a:1x",
        "::1",
        "a:b:1",
        "[::1",
        "[]:1",
        "[::1]1",
        "[::1]:",
        "a b:1",
        "a/b",
        "u@a:1",
        "a\n:1",
        "[[::1]]:1",
        "a:99999999999999999999",
    };
    char host[ADDRESS_HOST_SIZE] = "before";
    uint16_t port = DEFAULT_PORT;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (address_split(hf_text(cases[i]), host, &port)) {
            fail_msg("\"%s\" was taken for an address", cases[i]);
        }
        assert_string_equal(host, "before");
        assert_int_equal(port, DEFAULT_PORT);
    }
}

static void a_host_has_at_most_255_characters(void **state)
{
    char text[ADDRESS_HOST_SIZE + 1], host[ADDRESS_HOST_SIZE];
    uint16_t port = DEFAULT_PORT;

    (void)state;
    memset(text, 'a', sizeof text);
    assert_true(address_split((struct hf_bytes){text, 255}, host, &port));
    assert_int_equal(strlen(host), 255);
    assert_false(address_split((struct hf_bytes){text, 256}, host, &port));
}

static void only_this_machine_is_loopback(void **state)
{
    static const char *const within[] = {"127.0.0.1", "127.255.0.1", "::1", "localhost",
                                         "::ffff:127.0.0.1"};
    static const char *const beyond[] = {"0.0.0.0", "::", "126.0.0.1",       "128.0.0.1",
                                         "::2",     "",   "::ffff:10.0.0.1", "localhost.example",
                                         "127.1"};

    (void)state;
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++) {
        assert_true(address_is_loopback(within[i]));
    }
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        assert_false(address_is_loopback(beyond[i]));
    }
}

static void a_name_is_not_numeric(void **state)
{
    (void)state;
    assert_true(address_is_numeric("0.0.0.0"));
    assert_true(address_is_numeric("fe80::1"));
    assert_false(address_is_numeric("localhost"));
    assert_false(address_is_numeric("[::1]"));
    assert_false(address_is_numeric(""));
}

static void an_address_is_named_as_it_is_written(void **state)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(4653)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(65535)};
    struct sockaddr other = {.sa_family = AF_UNSPEC};
    char text[ADDRESS_TEXT_SIZE];

    (void)state;
    inet_pton(AF_INET, "127.0.0.1", &four.sin_addr);
    address_name((struct sockaddr *)&four, text);
    assert_string_equal(text, "127.0.0.1:4653");
    inet_pton(AF_INET6, "1111:2222:3333:4444:5555:6666:7777:8888", &six.sin6_addr);
    address_name((struct sockaddr *)&six, text);
    assert_string_equal(text, "[1111:2222:3333:4444:5555:6666:7777:8888]:65535");
    address_name(&other, text);
    assert_string_equal(text, "?");
}

static void a_socket_knows_both_its_ends(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char listening[ADDRESS_TEXT_SIZE], peer[ADDRESS_TEXT_SIZE];
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    address_of_socket(listener, listening);
    assert_int_equal(strncmp(listening, "127.0.0.1:", 10), 0);
    address_of_peer(listener, peer);
    assert_string_equal(peer, "?");
    getsockname(listener, (struct sockaddr *)&address, &size);
    assert_int_equal(connect(client, (struct sockaddr *)&address, size), 0);
    address_of_peer(client, peer);
    assert_string_equal(peer, listening);
    close(client);
    close(listener);
    address_of_socket(-1, peer);
    assert_string_equal(peer, "?");
}

static void a_socket_of_this_machine_alone_is_named_unix(void **state)
{
    char text[ADDRESS_TEXT_SIZE];
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    address_of_peer(pair[0], text);
    assert_string_equal(text, "unix");
    close(pair[0]);
    close(pair[1]);
}

static uint64_t origin(const char *text)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(4653)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(4653)};

    if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        return address_origin((const struct sockaddr *)&four);
    }
    assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return address_origin((const struct sockaddr *)&six);
}

static void an_origin_is_an_address_or_a_network_of_ipv6(void **state)
{
    struct sockaddr other = {.sa_family = AF_UNIX};

    (void)state;
    assert_true(origin("192.0.2.1") == origin("192.0.2.1"));
    assert_true(origin("192.0.2.1") != origin("192.0.2.2"));
    assert_true(origin("::ffff:192.0.2.1") == origin("192.0.2.1"));
    assert_true(origin("2001:db8:1:2::1") == origin("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    assert_true(origin("2001:db8:1:2::1") != origin("2001:db8:1:3::1"));
    assert_true(origin("::1") != 0 && origin("::1") != origin("127.0.0.1"));
    assert_true(address_origin(&other) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_and_its_port_are_split),
        cmocka_unit_test(what_is_no_address_is_refused_and_changes_nothing),
        cmocka_unit_test(a_host_has_at_most_255_characters),
        cmocka_unit_test(only_this_machine_is_loopback),
        cmocka_unit_test(a_name_is_not_numeric),
        cmocka_unit_test(an_address_is_named_as_it_is_written),
        cmocka_unit_test(an_origin_is_an_address_or_a_network_of_ipv6),
        cmocka_unit_test(a_socket_knows_both_its_ends),
        cmocka_unit_test(a_socket_of_this_machine_alone_is_named_unix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs of Redis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/url.h"

static struct redis_url parse(const char *text)
{
    struct redis_url url;
    struct problem problem = {.message = ""};

    if (redis_url_parse(text, &url, &problem) != HF_OK) {
        fail_msg("%s: %s", text, problem.message);
    }
    return url;
}

static void a_host_alone_has_defaults(void **state)
{
    struct redis_url url = parse("redis://db.example");

    (void)state;
    assert_int_equal(url.kind, REDIS_STANDALONE);
    assert_int_equal(url.host_count, 1);
    assert_string_equal(url.hosts[0].name, "db.example");
    assert_int_equal(url.hosts[0].port, 6379);
    assert_int_equal(url.database, 0);
    assert_string_equal(url.password, "");
    assert_int_equal(url.timeout_ms, 5000);
    assert_int_equal(url.connect_timeout_ms, 5000);
    assert_int_equal(url.queue, 10000);
    assert_string_equal(url.name_space, "");
    assert_true(url.worker);
}

static void user_password_and_database_are_read(void **state)
{
    struct redis_url url = parse("redis://ann:p%40ss/w?rd@[::1]:7000/12");

    (void)state;
    assert_string_equal(url.username, "ann");
    assert_string_equal(url.password, "p@ss/w?rd");
    assert_string_equal(url.hosts[0].name, "::1");
    assert_int_equal(url.hosts[0].port, 7000);
    assert_int_equal(url.database, 12);
    url = parse("redis://:only@h/");
    assert_string_equal(url.username, "");
    assert_string_equal(url.password, "only");
}

static void sentinels_name_a_master(void **state)
{
    struct redis_url url = parse("redis+sentinel://a,b:1,[::2]/mymaster/3?timeout=250");

    (void)state;
    assert_int_equal(url.kind, REDIS_SENTINEL);
    assert_int_equal(url.host_count, 3);
    assert_int_equal(url.hosts[0].port, 26379);
    assert_int_equal(url.hosts[1].port, 1);
    assert_string_equal(url.hosts[2].name, "::2");
    assert_string_equal(url.master, "mymaster");
    assert_int_equal(url.database, 3);
    assert_int_equal(url.timeout_ms, 250);
}

static void clusters_and_redlock_have_hosts(void **state)
{
    struct redis_url url = parse("redis+cluster://:p@a:7000,a:7001,c");

    (void)state;
    assert_int_equal(url.kind, REDIS_CLUSTER);
    assert_int_equal(url.host_count, 3);
    assert_int_equal(url.hosts[2].port, 6379);
    url = parse("redlock://a,b,c/1");
    assert_int_equal(url.kind, REDIS_REDLOCK);
    assert_int_equal(url.database, 1);
}

static void options_are_read(void **state)
{
    struct redis_url url =
        parse("redis://h?timeout=10&connect_timeout=2s&queue=7&namespace=shop&worker=no");

    (void)state;
    assert_int_equal(url.timeout_ms, 10);
    assert_int_equal(url.connect_timeout_ms, 2000);
    assert_int_equal(url.queue, 7);
    assert_string_equal(url.name_space, "shop:");
    assert_false(url.worker);
    url = parse("redis://h?namespace=shop:");
    assert_string_equal(url.name_space, "shop:");
}

static void each_kind_may_be_over_tls(void **state)
{
    static const struct {
        const char *text;
        enum redis_kind kind;
        uint16_t port;
    } cases[] = {
        {"rediss://h", REDIS_STANDALONE, 6379},
        {"rediss+sentinel://h/m", REDIS_SENTINEL, 26379},
        {"rediss+cluster://h", REDIS_CLUSTER, 6379},
        {"redlocks://h", REDIS_REDLOCK, 6379},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct redis_url url = parse(cases[i].text);
        assert_true(url.tls);
        assert_int_equal(url.kind, cases[i].kind);
        assert_int_equal(url.hosts[0].port, cases[i].port);
        assert_string_equal(url.tls_ca, "");
        assert_string_equal(url.tls_cert, "");
        assert_string_equal(url.tls_server_name, "");
    }
    assert_false(parse("redis://h").tls);
    assert_false(parse("redlock://h").tls);
}

static void options_of_tls_and_sentinels_are_decoded(void **state)
{
    struct redis_url url = parse("rediss+sentinel://:p@h/m?tls_ca=/a%20b/ca.pem&tls_cert=c%26.pem&"
                                 "tls_key=k.pem&tls_server_name=redis.example&sentinel_user=w%40x&"
                                 "sentinel_password=a%40b%26c=d");

    (void)state;
    assert_string_equal(url.tls_ca, "/a b/ca.pem");
    assert_string_equal(url.tls_cert, "c&.pem");
    assert_string_equal(url.tls_key, "k.pem");
    assert_string_equal(url.tls_server_name, "redis.example");
    assert_string_equal(url.sentinel_username, "w@x");
    assert_string_equal(url.sentinel_password, "a@b&c=d");
    assert_string_equal(url.password, "p");
}

static void the_last_at_sign_ends_the_secret(void **state)
{
    struct redis_url url = parse("redis://a@b:c@d:e@h");

    (void)state;
    assert_string_equal(url.username, "a@b");
    assert_string_equal(url.password, "c@d:e");
    assert_string_equal(url.hosts[0].name, "h");
    url = parse("redis://%3a%40%2f:%25@h");
    assert_string_equal(url.username, ":@/");
    assert_string_equal(url.password, "%");
}

/* Each of them one byte below and at what is too long. */
static void the_longest_that_fits_is_read_and_no_more(void **state)
{
    static const struct {
        const char *before, *behind;
        size_t longest;
    } cases[] = {
        {"redis://", "", 255},
        {"redis://:", "@h", 512},
        {"redis://", ":p@h", 128},
        {"redis+sentinel://h/", "", 128},
        {"redis://h?namespace=", "", 63},
        {"rediss://h?tls_ca=", "", 512},
        {"rediss://h?tls_key=k&tls_cert=", "", 512},
        {"rediss://h?tls_server_name=", "", 255},
        {"redis+sentinel://h/m?sentinel_password=", "", 512},
        {"redis+sentinel://h/m?sentinel_password=x&sentinel_user=", "", 128},
    };
    char text[700];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t more = 0; more <= 1; more++) {
            struct redis_url url;
            size_t size = strlen(cases[i].before), length = cases[i].longest + more;
            memcpy(text, cases[i].before, size);
            memset(text + size, 'x', length);
            strcpy(text + size + length, cases[i].behind);
            assert_int_equal(redis_url_parse(text, &url, NULL),
                             more == 0 ? HF_OK : HF_INVALID_ARGUMENT);
        }
    }
}

static void numbers_are_read_up_to_their_limits(void **state)
{
    struct redis_url url = parse("redis://h:65535/2147483647?timeout=3600s&queue=1000000");

    (void)state;
    assert_int_equal(url.hosts[0].port, 65535);
    assert_int_equal(url.database, INT32_MAX);
    assert_int_equal(url.timeout_ms, 3600000);
    assert_int_equal(url.queue, 1000000);
    assert_int_equal(redis_url_parse("redis://h:65536", &url, NULL), HF_INVALID_ARGUMENT);
    assert_int_equal(redis_url_parse("redis://h/2147483648", &url, NULL), HF_INVALID_ARGUMENT);
    assert_int_equal(redis_url_parse("redis://h?timeout=9", &url, NULL), HF_INVALID_ARGUMENT);
    assert_int_equal(redis_url_parse("redis://h?timeout=3600001", &url, NULL), HF_INVALID_ARGUMENT);
    assert_int_equal(redis_url_parse("redis://h?timeout=99999999999999999999h", &url, NULL),
                     HF_INVALID_ARGUMENT);
    assert_int_equal(redis_url_parse("redis://h?queue=0", &url, NULL), HF_INVALID_ARGUMENT);
    assert_int_equal(redis_url_parse("redis://h?queue=1000001", &url, NULL), HF_INVALID_ARGUMENT);
}

static void of_an_option_given_twice_the_last_counts(void **state)
{
    struct redis_url url = parse("redis://h?queue=1&queue=2&");

    (void)state;
    assert_int_equal(url.queue, 2);
}

static void brackets_are_for_addresses_and_closed(void **state)
{
    static const char *const cases[] = {
        "redis://[::1",   "redis://::1]", "redis://[]",   "redis://[::1]x",
        "redis://[::1]:", "redis://a b",  "redis://a\tb", "redis://h:",
    };
    struct redis_url url;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (redis_url_parse(cases[i], &url, NULL) != HF_INVALID_ARGUMENT) {
            fail_msg("%s was read", cases[i]);
        }
    }
}

static void what_is_wrong_is_named_and_the_password_is_not(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"redis+tls://:hush@h", "rediss://"},
        {"redlocks://:hush@a,a", "redlocks://["},
        {"rediss://:hush@h?tls_ca=", "tls_ca is not"},
        {"rediss://:hush@h?tls_ca=%zz", "tls_ca is not"},
        {"redis://:hush@h?tls_ca=/ca.pem", "with TLS"},
        {"redis://:hush@h?tls_server_name=x", "with TLS"},
        {"rediss://:hush@h?tls_cert=/c.pem", "need each other"},
        {"rediss://:hush@h?tls_key=/hush.pem", "need each other"},
        {"rediss://:hush@h?tls_verify=no", "always verified"},
        {"redis+sentinel://h/m?sentinel_password=", "sentinel_password is not"},
        {"redis+sentinel://h/m?sentinel_user=ann", "needs a sentinel_password"},
        {"redis+sentinel://h:1/m?sentinel_password=a@hush", "%40"},
        {"redis://h?sentinel_password=hush", "with sentinels"},
        {"redis+cluster://h?sentinel_user=hush", "with sentinels"},
        {"memcached://h", "redis+cluster://"},
        {"redis://", "host"},
        {"redis://:hush@", "host"},
        {"redis://:hush@h:0", "port"},
        {"redis://:hush@h:99999", "port"},
        {"redis://:hush@a,b", "more than one host"},
        {"redis+cluster://:hush@a,", "host"},
        {"redis+cluster://:hush@a,,b", "host"},
        {"redis+cluster://:hush@a,b,a", "twice"},
        {"redis+cluster://:hush@a/1", "database 0"},
        {"redis+cluster://:hush@1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "16 hosts"},
        {"redis+sentinel://:hush@a", "name of the master"},
        {"redis+sentinel://:hush@a/m/x", "database"},
        {"redis://:hush@h/-1", "database"},
        {"redis://:hush@h/1/2", "database"},
        {"redis://hush@h", "colon"},
        {"redis://:@h", "password is empty"},
        {"redis://u:hush%zz@h", "password cannot"},
        {"redis://u%0:hush@h", "user"},
        {"redis://:hush@h?timeout=9", "timeout is not"},
        {"redis://:hush@h?connect_timeout=2h", "connect_timeout is not"},
        {"redis://:hush@h?queue=0", "queue is not"},
        {"redis://:hush@h?namespace=a{b", "namespace is not"},
        {"redis://:hush@h?worker=maybe", "worker is not"},
        {"redis://:hush@h?speed=9", "option"},
        {"redis://:hush@h?timeout", "timeout is not"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct redis_url url;
        struct problem problem = {.message = ""};
        assert_int_equal(redis_url_parse(cases[i].text, &url, &problem), HF_INVALID_ARGUMENT);
        if (strstr(problem.message, cases[i].says) == NULL ||
            strstr(problem.message, "hush") != NULL) {
            fail_msg("%s: %s", cases[i].text, problem.message);
        }
    }
}

static void it_is_shown_without_secrets(void **state)
{
    char shown[256];
    struct redis_url url = parse("redis://ann:hush@[::1]:7000/12?namespace=x");

    (void)state;
    redis_url_show(&url, shown, sizeof shown);
    assert_string_equal(shown, "redis://[::1]:7000/12");
    url = parse("redis+sentinel://:hush@a,b/m");
    redis_url_show(&url, shown, sizeof shown);
    assert_string_equal(shown, "redis+sentinel://a:26379,b:26379/m/0");
    url = parse("redis+cluster://:hush@a,b");
    redis_url_show(&url, shown, sizeof shown);
    assert_string_equal(shown, "redis+cluster://a:6379,b:6379");
    redis_url_show(&url, shown, 20);
    assert_string_equal(shown, "redis+cluster://a:6");
    url = parse("rediss+sentinel://:hush@a/m?sentinel_password=hush&tls_ca=/x");
    redis_url_show(&url, shown, sizeof shown);
    assert_string_equal(shown, "rediss+sentinel://a:26379/m/0");
    url = parse("redlocks://a");
    redis_url_show(&url, shown, sizeof shown);
    assert_string_equal(shown, "redlocks://a:6379/0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_alone_has_defaults),
        cmocka_unit_test(user_password_and_database_are_read),
        cmocka_unit_test(sentinels_name_a_master),
        cmocka_unit_test(clusters_and_redlock_have_hosts),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(each_kind_may_be_over_tls),
        cmocka_unit_test(options_of_tls_and_sentinels_are_decoded),
        cmocka_unit_test(the_last_at_sign_ends_the_secret),
        cmocka_unit_test(the_longest_that_fits_is_read_and_no_more),
        cmocka_unit_test(numbers_are_read_up_to_their_limits),
        cmocka_unit_test(of_an_option_given_twice_the_last_counts),
        cmocka_unit_test(brackets_are_for_addresses_and_closed),
        cmocka_unit_test(what_is_wrong_is_named_and_the_password_is_not),
        cmocka_unit_test(it_is_shown_without_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

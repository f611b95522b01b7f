/* SPDX-License-Identifier: Apache-2.0
 *
 * From method and path to a command or an endpoint, and the ids that carry their scope. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "server/http/generated_id.h"
#include "server/http/router.h"

static struct router router;
static struct route_match match;
static char path[512];

static int setup(void **state)
{
    (void)state;
    router_init(&router);
    return 0;
}

static bool decoded; /* the arguments of the path that was found last */

static enum route_found find(const char *method, const char *text)
{
    snprintf(path, sizeof path, "%s", text);
    enum route_found found = router_find(&router, method, path, strlen(path), &match);
    decoded = found == ROUTE_FOUND && router_take_args(&match, path, strlen(path));
    return found;
}

static void is_arg(size_t i, const char *name, const char *value)
{
    assert_true(i < match.count);
    assert_true(text_equal(match.args[i].name, hf_text(name)));
    assert_true(text_equal(match.args[i].text, hf_text(value)));
}

/* The path of a route with every {argument} replaced by a-0, a-1, … */
static void fill_in(const char *route, char *out)
{
    int number = 0;

    for (; *route != '\0'; route++) {
        if (*route == '{') {
            out += sprintf(out, "a-%d", number++);
            route = strchr(route, '}');
        } else {
            *out++ = *route;
        }
    }
    *out = '\0';
}

static void every_route_of_the_table_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        char text[256];
        if (spec->route == NULL) {
            continue;
        }
        fill_in(spec->route, text);
        assert_int_equal(find(spec->method, text), ROUTE_FOUND);
        assert_int_equal(match.route->endpoint, ENDPOINT_COMMAND);
        assert_ptr_equal(match.route->spec, spec);
        assert_false(match.route->alias);
        bool in_path = strchr(spec->route, '{') != NULL;
        assert_int_equal(match.count > 0, in_path);
        assert_true(in_path || spec->required == 0 || spec == &command_table[SAGA_WAKE]);
        if (in_path) {
            is_arg(0, spec->args[0].field, "a-0");
        }
        if (spec->alias != NULL) {
            fill_in(spec->alias, text);
            assert_int_equal(find(spec->method, text), ROUTE_FOUND);
            assert_ptr_equal(match.route->spec, spec);
            assert_true(match.route->alias);
        }
    }
}

/* What a route calls its arguments is what the row calls them. */
static void arguments_of_paths_are_fields_of_their_rows(void **state)
{
    (void)state;
    for (size_t r = 0; r < router.count; r++) {
        const struct route *route = &router.routes[r];
        for (size_t i = 0; i < route->segment_count && route->spec != NULL; i++) {
            bool known = !(route->args & 1U << i);
            for (size_t a = 0; a < route->spec->arg_count; a++) {
                known |= text_equal(hf_text(route->spec->args[a].field), route->segments[i]);
            }
            assert_true(known);
        }
    }
}

static void arguments_are_decoded(void **state)
{
    (void)state;
    assert_int_equal(find("GET", "/v1/events/a%2Fb/zones/%C3%A9+%25"), ROUTE_FOUND);
    is_arg(0, "event", "a/b");
    is_arg(1, "zone", "\xc3\xa9+%");
    assert_int_equal(find("GET", "/v1/quotas/"), ROUTE_FOUND);
    is_arg(0, "tenant", "");
}

static void bad_escapes_are_refused(void **state)
{
    static const char *const bad[] = {"/v1/quotas/%", "/v1/quotas/%4", "/v1/quotas/%zz",
                                      "/v1/quotas/%4g", "/v1/quotas/a%"};
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(find("GET", bad[i]), ROUTE_FOUND);
        assert_false(decoded);
    }
}

static void unknown_paths_are_unknown(void **state)
{
    static const char *const unknown[] = {"/v1",
                                          "/v1/",
                                          "/v2/info",
                                          "/v1/info/",
                                          "//v1/info",
                                          "/v1//info",
                                          "/v1/%69nfo",
                                          "/V1/info",
                                          "/livez/",
                                          "/v1/quotas",
                                          "/v1/quotas/t/x",
                                          "/v1/events/e/bookings/b/confirm/x",
                                          "/1/2/3/4/5/6/7/8/9/10/11/12/13/14"};
    (void)state;

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_int_equal(find("GET", unknown[i]), ROUTE_UNKNOWN);
        assert_int_equal(find("OPTIONS", unknown[i]), ROUTE_UNKNOWN);
    }
}

static const char *allowed(void)
{
    static char text[128];
    struct memory memory;
    struct buffer out;

    memory_init(&memory);
    buffer_init(&out, &memory);
    router_allowed(match.allowed, &out);
    snprintf(text, sizeof text, "%.*s", (int)out.size, out.data);
    buffer_free(&out);
    return text;
}

static void other_methods_are_told_which_there_are(void **state)
{
    (void)state;
    assert_int_equal(find("DELETE", "/v1/locks/r"), ROUTE_OTHER);
    assert_string_equal(allowed(), "GET, HEAD, OPTIONS");
    assert_int_equal(find("PATCH", "/v1/audit"), ROUTE_OTHER);
    assert_string_equal(allowed(), "POST, OPTIONS");
    assert_int_equal(find("OPTIONS", "/v1/events/e/queue/admit"), ROUTE_OPTIONS);
    assert_string_equal(allowed(), "GET, HEAD, POST, DELETE, OPTIONS");
    assert_int_equal(find("GET", "*"), ROUTE_UNKNOWN);
    assert_int_equal(find("OPTIONS", "*"), ROUTE_OPTIONS);
    assert_string_equal(allowed(), "GET, HEAD, POST, PUT, DELETE, OPTIONS");
}

static void a_word_comes_before_an_argument(void **state)
{
    (void)state;
    assert_int_equal(find("POST", "/v1/events/e/queue/admit"), ROUTE_FOUND);
    assert_int_equal(command_id(match.route->spec), ROOM_ADMIT);
    assert_int_equal(find("GET", "/v1/events/e/queue/admit"), ROUTE_FOUND);
    assert_int_equal(command_id(match.route->spec), ROOM_POSITION);
    assert_int_equal(find("HEAD", "/v1/events/e/queue/ann/stream"), ROUTE_FOUND);
    assert_int_equal(match.route->endpoint, ENDPOINT_POSITION);
}

/* ---- ids that carry their scope -------------------------------------------------------------- */

static void a_made_id_carries_its_scope(void **state)
{
    uint8_t entropy[GENERATED_ID_ENTROPY];
    char id[HF_ID_SIZE], scope[HF_ID_SIZE];
    struct hf_bytes found;
    (void)state;

    memset(entropy, 0xff, sizeof entropy);
    size_t size = generated_id_carrying(entropy, hf_text("gala.2031"), id);
    assert_true(
        text_equal((struct hf_bytes){id, size}, hf_text("ZZZZZZZZZZZZZZZZZZZZZZZZZ7.gala.2031")));
    assert_true(text_is_id((struct hf_bytes){id, size}));
    assert_true(generated_id_scope((struct hf_bytes){id, size}, &found));
    assert_true(text_equal(found, hf_text("gala.2031")));
    memset(scope, 'e', sizeof scope);
    size_t most = HF_ID_MAX - GENERATED_ID_DIGITS - 1;
    assert_int_equal(generated_id_carrying(entropy, (struct hf_bytes){scope, most}, id), HF_ID_MAX);
    assert_int_equal(generated_id_carrying(entropy, (struct hf_bytes){scope, most + 1}, id), 0);
}

static void every_bit_makes_another_id(void **state)
{
    char ids[129][HF_ID_SIZE];
    (void)state;

    for (size_t i = 0; i <= 128; i++) {
        uint8_t entropy[GENERATED_ID_ENTROPY] = {0};
        if (i < 128) {
            entropy[i / 8] = (uint8_t)(1U << i % 8);
        }
        assert_int_equal(generated_id_carrying(entropy, hf_text("e"), ids[i]),
                         GENERATED_ID_DIGITS + 2);
        for (size_t j = 0; j < i; j++) {
            assert_memory_not_equal(ids[i], ids[j], GENERATED_ID_DIGITS);
        }
    }
}

static void other_ids_carry_none(void **state)
{
    static const char *const others[] = {"",
                                         "b-1",
                                         "ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
                                         "ZZZZZZZZZZZZZZZZZZZZZZZZZZ.",
                                         "ZZZZZZZZZZZZZZZZZZZZZZZZZ.gala",
                                         "ZZZZZZZZZZZZZZZZZZZZZZZZZZ-gala",
                                         "zZZZZZZZZZZZZZZZZZZZZZZZZZ.gala",
                                         "ZZZZZZZZZZUZZZZZZZZZZZZZZZ.gala",
                                         "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"};
    struct hf_bytes scope;
    (void)state;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(generated_id_scope(hf_text(others[i]), &scope));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_of_the_table_is_found),
        cmocka_unit_test(arguments_of_paths_are_fields_of_their_rows),
        cmocka_unit_test(arguments_are_decoded),
        cmocka_unit_test(bad_escapes_are_refused),
        cmocka_unit_test(unknown_paths_are_unknown),
        cmocka_unit_test(other_methods_are_told_which_there_are),
        cmocka_unit_test(a_word_comes_before_an_argument),
        cmocka_unit_test(a_made_id_carries_its_scope),
        cmocka_unit_test(every_bit_makes_another_id),
        cmocka_unit_test(other_ids_carry_none),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}

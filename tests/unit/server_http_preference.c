/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client would like: by Prefer (RFC 7240) that a command waits, and by Accept (RFC 9110)
 * that a refusal comes in the form of RFC 9457. */
#include "server_http_fixture.h"

#include "server/http/http_preference.h"

static void wait_is_found_among_other_preferences(void **state)
{
    static const struct {
        const char *prefer;
        int64_t seconds; /* -1: none */
    } cases[] = {
        {"wait=10", 10},
        {"WAIT=10", 10},
        {"wait = 10", 10},
        {"wait=\"10\"", 10},
        {"wait=0", 0},
        {"respond-async, wait=7", 7},
        {"respond-async;x=\"a,wait=3;b\" ,\twait=8; y=1", 8},
        {"x=\"\\\",wait=3\", wait=4", 4},
        {"wait=1, wait=2", 1},
        {"wait=99999999999999999999", INT64_MAX},
        {"", -1},
        {",,", -1},
        {"wait", -1},
        {"wait=", -1},
        {"wait=soon", -1},
        {"wait=1.5", -1},
        {"wait=-1", -1},
        {"waits=1", -1},
        {"x;wait=1", -1},
        {"\"wait=1", -1},
        {"return=minimal", -1},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t seconds = -1;
        bool found = http_prefers_wait(hf_text(cases[i].prefer), &seconds);
        assert_int_equal(found, cases[i].seconds >= 0);
        if (found) {
            assert_int_equal(seconds, cases[i].seconds);
        }
    }
}

static void the_quality_of_a_name_in_a_list(void **state)
{
    static const struct {
        const char *list;
        int quality; /* of gzip */
    } cases[] = {
        {"gzip", 1000},    {"GZip", 1000},         {"deflate, gzip;q=0.25, br", 250},
        {"gzip ; q=0", 0}, {"gzip;q=1.000", 1000}, {"gzip;level=9;q=0.5", 500},
        {"", 0},           {",,;q=1", 0},          {"*", 0},
        {"x-gzip, br", 0}, {"gzips", 0},           {"\"gzip", 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(http_quality(hf_text(cases[i].list), "GZIP"), cases[i].quality);
    }
}

static void a_command_that_can_wait_does(void **state)
{
    (void)state;
    expect(0, "POST", "/v1/semaphores/s/acquire", "{\"id\":\"a\",\"limit\":1}", 200, "in_use");
    ask(1, "POST", "/v1/semaphores/s/acquire", "Prefer: wait=600\r\n",
        "{\"id\":\"b\",\"limit\":1}");
    assert_string_equal(fixture.heard, "");
    expect(0, "POST", "/v1/semaphores/s/release", "{\"id\":\"a\"}", 200, "1");
    heard(1);
    assert_int_equal(status(), 200);
    assert_string_equal(header("Preference-Applied"), "wait=600");
}

static void what_the_body_says_goes_before(void **state)
{
    (void)state;
    expect(0, "POST", "/v1/semaphores/s/acquire", "{\"id\":\"a\",\"limit\":1}", 200, "in_use");
    ask(1, "POST", "/v1/semaphores/s/acquire", "Prefer: wait=600\r\n",
        "{\"id\":\"b\",\"limit\":1,\"wait_ms\":0}");
    assert_int_equal(status(), 429);
    assert_string_equal(header("Preference-Applied"), "");
}

static void more_than_the_bound_is_the_bound(void **state)
{
    (void)state;
    ask(0, "POST", "/v1/semaphores/s/acquire", "Prefer: wait=99999999999\r\n", "{\"limit\":1}");
    assert_int_equal(status(), 200);
    assert_string_equal(header("Preference-Applied"), "wait=2592000");
}

static void others_take_no_notice(void **state)
{
    (void)state;
    ask(0, "PUT", "/v1/quotas/t", "Prefer: wait=10\r\n", "{\"limit\":1}");
    assert_int_equal(status(), 200);
    assert_string_equal(header("Preference-Applied"), "");
    ask(0, "GET", "/livez", "Prefer: wait=10\r\n", NULL);
    assert_int_equal(status(), 200);
    assert_string_equal(header("Preference-Applied"), "");
    ask(0, "POST", "/v1/semaphores/s/acquire", "Prefer: wait=1.5\r\n", "{\"limit\":1}");
    assert_int_equal(status(), 200);
    assert_string_equal(header("Preference-Applied"), "");
}

/* ---- refusals in the form of RFC 9457 -------------------------------------------------------- */

static void a_problem_is_asked_for_by_name(void **state)
{
    static const struct {
        const char *accept;
        bool problem;
    } cases[] = {
        {"application/problem+json", true},
        {"Application/Problem+JSON", true},
        {"application/json, application/problem+json", true},
        {"application/problem+json;q=0.9, application/json;q=0.8", true},
        {"application/problem+json; charset=\"a,b;c\"; q=1", true},
        {"application/problem+json;q=0.5, application/json", false},
        {"application/problem+json;q=0", false},
        {"application/problem+json;q=0.000", false},
        {"application/problem+json;q=0.001", true},
        {"application/problem+json;q=nonsense", true},
        {"application/json", false},
        {"application/*", false},
        {"*/*", false},
        {"text/html, */*;q=0.1", false},
        {"\"application/problem+json\"", false},
        {"application/problem+jsonx", false},
        {"", false},
        {";;,,;q", false},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(http_accepts_problem(hf_text(cases[i].accept)), cases[i].problem);
    }
}

#define PROBLEM "Accept: application/problem+json, application/json;q=0.9\r\n"

static void a_refusal_becomes_a_problem(void **state)
{
    (void)state;
    ask(0, "GET", "/v1/events/gala/zones/none", PROBLEM, NULL);
    assert_int_equal(status(), 404);
    assert_string_equal(header("Content-Type"), "application/problem+json");
    assert_string_equal(
        body(), "{\"type\":\"urn:holdfast:error:ZONE_NOT_FOUND\",\"title\":"
                "\"no such zone\",\"status\":404,\"detail\":\"no such zone; event \\\"gala\\\", "
                "zone \\\"none\\\"\","
                "\"code\":\"ZONE_NOT_FOUND\"}");
    ask(0, "POST", "/v1/nowhere", PROBLEM, "{}");
    assert_int_equal(status(), 404);
    assert_non_null(strstr(body(), "\"code\":\"NOT_FOUND\""));
    assert_non_null(strstr(body(), "\"detail\":\"no such path"));
    ask(0, "PUT", "/v1/quotas/t", PROBLEM, "{\"limit\":\"many\"}");
    assert_int_equal(status(), 400);
    assert_non_null(strstr(body(), "\"detail\":\"limit \\\"many\\\" is not a number\""));
    ask(0, "GET", "/v1/events/gala/queue/ann/stream", PROBLEM, NULL);
    assert_int_equal(status(), 404);
    assert_string_equal(header("Content-Type"), "application/problem+json");
}

static void what_is_replayed_does_too(void **state)
{
    (void)state;
    expect(0, "PUT", "/v1/events/gala/zones/floor", "{\"capacity\":1}", 200, "capacity");
    for (int i = 0; i < 2; i++) {
        ask(0, "POST", "/v1/events/gala/bookings", PROBLEM "Idempotency-Key: k\r\n",
            "{\"zone_id\":\"floor\",\"user_id\":\"ann\",\"quantity\":2,\"max_per_user\":4}");
        assert_int_equal(status(), 409);
        assert_string_equal(header("Content-Type"), "application/problem+json");
        assert_string_equal(header("Idempotency-Replayed"), i == 0 ? "" : "true");
        assert_non_null(strstr(body(), "\"code\":\"INSUFFICIENT_STOCK\""));
    }
    ask(0, "POST", "/v1/events/gala/bookings", "Idempotency-Key: k\r\n",
        "{\"zone_id\":\"floor\",\"user_id\":\"ann\",\"quantity\":2,\"max_per_user\":4}");
    assert_string_equal(header("Content-Type"), "application/json");
    assert_non_null(strstr(body(), "{\"error\":{\"code\":\"INSUFFICIENT_STOCK\""));
}

static void what_is_no_refusal_stays_as_it_is(void **state)
{
    (void)state;
    ask(0, "PUT", "/v1/quotas/t", PROBLEM, "{\"limit\":1}");
    assert_int_equal(status(), 200);
    assert_string_equal(header("Content-Type"), "application/json");
    fixture.server.state = SERVER_LOADING;
    ask(0, "GET", "/readyz", PROBLEM, NULL);
    assert_int_equal(status(), 503);
    assert_string_equal(header("Content-Type"), "text/plain; charset=utf-8");
    assert_string_equal(header("Retry-After"), "1");
    fixture.server.state = SERVER_READY;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_is_found_among_other_preferences),
        cmocka_unit_test(the_quality_of_a_name_in_a_list),
        cmocka_unit_test_setup_teardown(a_command_that_can_wait_does, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(what_the_body_says_goes_before, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(more_than_the_bound_is_the_bound, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(others_take_no_notice, fixture_setup, fixture_teardown),
        cmocka_unit_test(a_problem_is_asked_for_by_name),
        cmocka_unit_test_setup_teardown(a_refusal_becomes_a_problem, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(what_is_replayed_does_too, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_refusal_stays_as_it_is, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests with an Idempotency-Key: carried out once, answered as often as they come. */
#include "server_http_fixture.h"

#define KEY "Idempotency-Key: k-1\r\n"
#define PATH "/v1/events/gala/bookings"
#define BOOKING "{\"zone_id\":\"floor\",\"user_id\":\"ann\",\"quantity\":2,\"max_per_user\":4}"

static void open_zone(const char *capacity)
{
    char text[64];

    snprintf(text, sizeof text, "{\"capacity\":%s}", capacity);
    expect(0, "PUT", "/v1/events/gala/zones/floor", text, 200, "available");
}

static void the_same_request_gets_the_same_answer(void **state)
{
    char first[512];
    (void)state;

    open_zone("10");
    ask(0, "POST", PATH, KEY, BOOKING);
    assert_int_equal(status(), 201);
    assert_string_equal(header("Idempotency-Replayed"), "");
    snprintf(first, sizeof first, "%s", body());
    for (int i = 0; i < 3; i++) {
        ask(i, "POST", PATH, KEY, BOOKING);
        assert_int_equal(status(), 201);
        assert_string_equal(header("Idempotency-Replayed"), "true");
        assert_string_equal(body(), first);
    }
    expect(0, "GET", "/v1/events/gala/zones/floor", NULL, 200, "\"reserved\":2");
}

static void a_key_is_for_one_request(void **state)
{
    (void)state;
    open_zone("10");
    ask(0, "POST", PATH, KEY, BOOKING);
    ask(0, "POST", PATH, KEY, BOOKING " ");
    assert_int_equal(status(), 422);
    ask(0, "POST", "/v1/events/gala/queue", KEY, BOOKING);
    assert_int_equal(status(), 400); /* nor would it be a request of that path */
    ask(0, "POST", "/v1/events/gala/queue", KEY, "{\"user_id\":\"ann\"}");
    assert_int_equal(status(), 422);
    assert_non_null(strstr(body(), "KEY_REUSED"));
}

static void a_refusal_for_good_is_kept(void **state)
{
    (void)state;
    open_zone("1");
    ask(0, "POST", PATH, KEY, BOOKING);
    assert_int_equal(status(), 409);
    open_zone("10");
    ask(0, "POST", PATH, KEY, BOOKING);
    assert_int_equal(status(), 409);
    assert_string_equal(header("Idempotency-Replayed"), "true");
    assert_non_null(strstr(body(), "INSUFFICIENT_STOCK"));
}

static void a_refusal_to_be_put_right_is_not(void **state)
{
    (void)state;
    expect(0, "PUT", "/v1/quotas/t", "{\"limit\":1}", 200, "limit");
    ask(0, "POST", "/v1/quotas/t/reserve", KEY, "{\"amount\":5}");
    assert_int_equal(status(), 429);
    expect(0, "PUT", "/v1/quotas/t", "{\"limit\":9}", 200, "limit");
    ask(0, "POST", "/v1/quotas/t/reserve", KEY, "{\"amount\":5}");
    assert_int_equal(status(), 200);
    ask(0, "POST", "/v1/quotas/t/reserve", KEY, "{\"amount\":5}");
    assert_string_equal(header("Idempotency-Replayed"), "true");
    expect(0, "GET", "/v1/quotas/t", NULL, 200, "\"used\":5");
}

/* The key is taken by somebody who has not come back yet. */
static void a_request_under_way_is_not_begun_again(void **state)
{
    (void)state;
    expect(0, "POST", "/v1/semaphores/s/acquire", "{\"id\":\"a\",\"limit\":1}", 200, "in_use");
    ask(1, "POST", "/v1/semaphores/s/acquire", KEY, "{\"limit\":1,\"wait_ms\":90000}");
    assert_string_equal(fixture.heard, "");
    ask(2, "POST", "/v1/semaphores/s/acquire", KEY, "{\"limit\":1,\"wait_ms\":90000}");
    assert_int_equal(status(), 409);
    assert_non_null(strstr(body(), "IN_PROGRESS"));
    expect(0, "POST", "/v1/semaphores/s/release", "{\"id\":\"a\"}", 200, "1");
    heard(1);
    assert_int_equal(status(), 200);
    ask(2, "POST", "/v1/semaphores/s/acquire", KEY, "{\"limit\":1,\"wait_ms\":90000}");
    assert_int_equal(status(), 200);
    assert_string_equal(header("Idempotency-Replayed"), "true");
}

/* Without a key, a slot whose taker never heard of it goes on to the next; with one, it is kept. */
static void what_a_key_stands_for_is_not_taken_back(void **state)
{
    (void)state;
    ask(1, "POST", "/v1/semaphores/s/acquire", KEY, "{\"limit\":1}");
    session_close(&fixture.clients[1], false);
    session_free(&fixture.clients[1]);
    fixture.is_open[1] = false;
    expect(0, "GET", "/v1/semaphores/s", NULL, 200, "\"in_use\":1");
    ask(2, "POST", "/v1/semaphores/s/acquire", KEY, "{\"limit\":1}");
    assert_int_equal(status(), 200);
    assert_string_equal(header("Idempotency-Replayed"), "true");
}

/* Should the server stop between the command and the storing of its answer, the request is carried
 * out again: the id that the server makes is the same, so that it finds what the first one did. */
static void doing_it_again_makes_the_same_id(void **state)
{
    char first[HF_ID_SIZE], again[HF_ID_SIZE], other[HF_ID_SIZE];

    open_zone("10");
    ask(0, "POST", PATH, KEY, BOOKING);
    assert_int_equal(sscanf(body(), "{\"booking_id\":\"%128[^\"]", first), 1);
    fixture_teardown(state);
    fixture_setup(state);
    open_zone("10");
    ask(0, "POST", PATH, KEY, BOOKING);
    assert_int_equal(sscanf(body(), "{\"booking_id\":\"%128[^\"]", again), 1);
    assert_string_equal(again, first);
    ask(0, "POST", PATH, "Idempotency-Key: k-2\r\n", BOOKING);
    assert_int_equal(sscanf(body(), "{\"booking_id\":\"%128[^\"]", other), 1);
    assert_string_not_equal(other, first);
}

/* Asks with the header field as it stands, and returns the status. */
static int ask_with(const char *key)
{
    char line[1024];

    snprintf(line, sizeof line, "Idempotency-Key: %s\r\n", key);
    ask(0, "POST", PATH, line, BOOKING);
    return status();
}

static void keys_have_bounds(void **state)
{
    static const char *const bad[] = {"",        "two words",    "\"",      "\"\"",
                                      "\"open",  "\"a\"b",       "\"a\" b", "\"\\a\"",
                                      "\"a\\\"", "\"\xc3\xa9\"", "\xff"};
    char key[300];
    (void)state;

    open_zone("10");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(ask_with(bad[i]), 400);
        assert_non_null(strstr(body(), "INVALID_ID"));
    }
    snprintf(key, sizeof key, "%0256d", 1);
    assert_int_equal(ask_with(key), 400);
    expect(0, "GET", "/v1/events/gala/zones/floor", NULL, 200, "\"reserved\":0");
}

/* `same` is the key `one` again, and `other` is another. */
static void expect_two_keys(const char *one, const char *same, const char *other)
{
    open_zone("10");
    assert_int_equal(ask_with(one), 201);
    assert_string_equal(header("Idempotency-Replayed"), "");
    assert_int_equal(ask_with(same), 201);
    assert_string_equal(header("Idempotency-Replayed"), "true");
    assert_int_equal(ask_with(other), 201);
    assert_string_equal(header("Idempotency-Replayed"), "");
}

static void a_key_may_be_long(void **state)
{
    char one[300], other[300];
    (void)state;

    snprintf(one, sizeof one, "%0255d", 1);
    snprintf(other, sizeof other, "%0255d", 2);
    expect_two_keys(one, one, other);
}

static void a_key_in_quotes_is_the_bare_one(void **state)
{
    (void)state;
    expect_two_keys("\"8e03978e\"", "8e03978e", "\"8e03978f\"");
}

static void a_key_in_quotes_may_have_spaces(void **state)
{
    (void)state;
    expect_two_keys("\"a \\\"b\\\" {c} \\\\\"", "\"a \\\"b\\\" {c} \\\\\"", "\"a \\\"b\\\" {c} \"");
}

/* What the server does itself is no command: its key counts for nothing, whatever comes of it. */
static void routes_that_are_no_commands_take_no_notice_of_a_key(void **state)
{
    (void)state;
    fixture_authenticate();
    ask(0, "POST", "/v1/audit", KEY, "");
    assert_int_equal(status(), 401);
    for (int i = 0; i < 2; i++) {
        ask(0, "POST", "/v1/audit", KEY "Authorization: Bearer pen\r\n", "");
        assert_int_equal(status(), 403);
        ask(0, "POST", "/v1/snapshot", KEY "Authorization: Bearer root\r\n", "");
        assert_int_equal(status(), 409); /* the engine keeps no directory */
        assert_string_equal(header("Idempotency-Replayed"), "");
    }
    fixture.server.state = SERVER_FAILED;
    ask(0, "POST", "/v1/audit", KEY "Authorization: Bearer root\r\n", "");
    assert_int_equal(status(), 503);
    fixture.server.state = SERVER_READY;
}

static void users_do_not_share_keys(void **state)
{
    (void)state;
    open_zone("10");
    fixture_authenticate();
    ask(0, "POST", PATH, KEY "Authorization: Bearer pen\r\n", BOOKING);
    assert_int_equal(status(), 201);
    ask(0, "POST", PATH, KEY "Authorization: Bearer root\r\n", BOOKING);
    assert_int_equal(status(), 201);
    assert_string_equal(header("Idempotency-Replayed"), "");
    ask(0, "POST", PATH, KEY "Authorization: Bearer pen\r\n", BOOKING);
    assert_string_equal(header("Idempotency-Replayed"), "true");
    ask(0, "POST", PATH, KEY "Authorization: Bearer eye\r\n", BOOKING);
    assert_int_equal(status(), 403);
    ask(0, "POST", PATH, KEY, BOOKING);
    assert_int_equal(status(), 401);
}

/* The header means nothing to what changes nothing, or is safe to repeat. */
static void other_methods_take_no_notice(void **state)
{
    (void)state;
    ask(0, "PUT", "/v1/quotas/t", KEY, "{\"limit\":1}");
    assert_int_equal(status(), 200);
    ask(0, "PUT", "/v1/quotas/t", KEY, "{\"limit\":2}");
    assert_int_equal(status(), 200);
    ask(0, "POST", "/v1/audit", KEY, "");
    assert_int_equal(status(), 200);
    ask(0, "POST", "/v1/nothing", KEY, "");
    assert_int_equal(status(), 404);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_request_gets_the_same_answer),
        TEST(a_key_is_for_one_request),
        TEST(a_refusal_for_good_is_kept),
        TEST(a_refusal_to_be_put_right_is_not),
        TEST(a_request_under_way_is_not_begun_again),
        TEST(what_a_key_stands_for_is_not_taken_back),
        TEST(doing_it_again_makes_the_same_id),
        TEST(keys_have_bounds),
        TEST(a_key_may_be_long),
        TEST(a_key_in_quotes_is_the_bare_one),
        TEST(a_key_in_quotes_may_have_spaces),
        TEST(routes_that_are_no_commands_take_no_notice_of_a_key),
        TEST(users_do_not_share_keys),
        TEST(other_methods_take_no_notice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

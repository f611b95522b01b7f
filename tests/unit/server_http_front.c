/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests and their answers, without sockets: routes, statuses, headers, who may do what. */
#include "server_http_fixture.h"

#include "server/http/http_parser.h"

#define BOOKING "{\"zone_id\":\"floor\",\"user_id\":\"ann\",\"quantity\":2,\"max_per_user\":4"

static void open_zone(void)
{
    expect(0, "PUT", "/v1/events/gala/zones/floor", "{\"capacity\":10}", 200,
           "{\"available\":10,\"capacity\":10}");
}

/* ---- commands -------------------------------------------------------------------------------- */

static void a_booking_goes_its_way(void **state)
{
    (void)state;
    open_zone();
    expect(0, "POST", "/v1/events/gala/bookings", BOOKING ",\"booking_id\":\"b-1\"}", 201,
           "{\"booking_id\":\"b-1\",\"remaining\":8,\"user_reserved\":2,\"expires_at\":");
    expect(0, "GET", "/v1/events/gala/bookings/b-1", NULL, 200, "\"status\":\"reserved\"");
    expect(0, "POST", "/v1/events/gala/bookings/b-1/extend", "{\"ttl_seconds\":900}", 200,
           "expires_at_ms");
    expect(0, "POST", "/v1/events/gala/bookings/b-1/confirm", "{\"payment_id\":\"p\"}", 200,
           "\"CONFIRMED\"");
    expect(0, "POST", "/v1/events/gala/bookings", BOOKING ",\"booking_id\":\"b-1\"}", 201,
           "\"expires_at\":0,\"status\":\"confirmed\"");
    expect(0, "POST", "/v1/events/gala/bookings/b-1/cancel", "", 409, "INVALID_STATE");
    expect(0, "GET", "/v1/events/gala/zones/floor", NULL, 200, "\"confirmed\":2");
}

static void an_id_that_the_server_made_is_enough(void **state)
{
    char id[HF_ID_SIZE], path[256];
    (void)state;

    open_zone();
    expect(0, "POST", "/v1/events/gala/bookings", BOOKING "}", 201, ".gala\",\"remaining\":8");
    assert_int_equal(sscanf(body(), "{\"booking_id\":\"%128[^\"]", id), 1);
    snprintf(path, sizeof path, "/v1/bookings/%s", id);
    expect(0, "GET", path, NULL, 200, "\"user_id\":\"ann\"");
    snprintf(path, sizeof path, "/v1/bookings/%s/extend", id);
    expect(0, "POST", path, "{\"ttl_seconds\":\"10m\"}", 200, "expires_at_ms");
    snprintf(path, sizeof path, "/v1/bookings/%s/cancel", id);
    expect(0, "POST", path, "{\"user_id\":\"bob\"}", 409, "NOT_OWNER");
    expect(0, "POST", path, "{\"user_id\":\"ann\"}", 200, "\"available\":10");
    snprintf(path, sizeof path, "/v1/bookings/%s/confirm", id);
    expect(0, "POST", path, "", 404, "RESERVATION_NOT_FOUND");
    expect(0, "GET", "/v1/bookings/b-1", NULL, 404, "RESERVATION_NOT_FOUND");
}

static void an_event_may_be_too_long_to_be_carried(void **state)
{
    char path[256], event[103];
    (void)state;

    memset(event, 'e', sizeof event - 1);
    event[sizeof event - 1] = '\0';
    snprintf(path, sizeof path, "/v1/events/%s/bookings", event);
    expect(0, "POST", path, BOOKING "}", 400, "INVALID_ID");
    expect(0, "POST", path, BOOKING ",\"booking_id\":\"b\"}", 404, "ZONE_NOT_FOUND");
}

static void refusals_have_the_status_of_their_code(void **state)
{
    (void)state;
    expect(0, "PUT", "/v1/quotas/t", "{\"limit\":5}", 200, "{\"used\":0,\"limit\":5}");
    expect(0, "POST", "/v1/quotas/t/reserve", "{\"amount\":9}", 429, "QUOTA_EXCEEDED");
    assert_string_equal(header("Retry-After"), "5");
    expect(0, "POST", "/v1/quotas/t/refund", "{\"amount\":9}", 200, "{\"used\":0}");
    expect(0, "POST", "/v1/locks/r/lock", "{\"ttl_seconds\":9,\"lock_id\":\"l\"}", 200, "\"l\"");
    expect(0, "POST", "/v1/locks/r/lock", "{\"ttl_seconds\":9}", 409, "LOCKED");
    assert_string_equal(header("Retry-After"), "1");
    expect(0, "GET", "/v1/locks/other", NULL, 404, "NOT_FOUND");
    assert_string_equal(header("Retry-After"), "");
    expect(0, "GET", "/v1/events/e/queue/ann", NULL, 404, "NOT_IN_QUEUE");
    expect(0, "POST", "/v1/events/e/queue", "{\"user_id\":\"ann\"}", 201, "\"position\":1");
    expect(0, "POST", "/v1/events/e/queue", "{\"user_id\":\"ann\"}", 409, "ALREADY_IN_QUEUE");
    expect(0, "POST", "/v1/events/e/queue/admit", "{\"count\":2}", 200, "[{\"user\":\"ann\"");
    expect(0, "DELETE", "/v1/events/e/queue/ann", NULL, 200, "{\"left\":0}");
    expect(0, "PUT", "/v1/products/p", "{\"quantity\":3,\"policy\":\"steal\"}", 200, "3");
    expect(0, "PUT", "/v1/products/p", "{\"quantity\":3,\"policy\":\"other\"}", 400,
           "INVALID_ARGUMENT");
}

static void requests_are_checked(void **state)
{
    (void)state;
    open_zone();
    expect(0, "POST", "/v1/events/gala/bookings", BOOKING ",\"colour\":1}", 400, "colour");
    expect(0, "POST", "/v1/events/gala/bookings", BOOKING ",\"event\":\"gala\"}", 400, "repeated");
    expect(0, "POST", "/v1/events/gala/bookings", BOOKING ",\"quantity\":2}", 400, "twice");
    expect(0, "POST", "/v1/events/gala/bookings", "{\"zone_id\":\"floor\"}", 400, "missing");
    expect(0, "POST", "/v1/events/gala/bookings", BOOKING, 400, "not JSON");
    expect(0, "POST", "/v1/events/gala/bookings", BOOKING ",\"lifetime\":true}", 201, "remaining");
    expect(0, "PUT", "/v1/events/gala/zones/floor", "{\"capacity\":true}", 400, "number");
    expect(0, "PUT", "/v1/events/gala/zones/floor", "{\"capacity\":\"many\"}", 400,
           "INVALID_ARGUMENT");
    expect(0, "PUT", "/v1/events/gala/zones/floor", "{\"capacity\":-1}", 400, "INVALID_QUANTITY");
    expect(0, "PUT", "/v1/events/a%20b/zones/floor", "{\"capacity\":1}", 400, "INVALID_ID");
    expect(0, "PUT", "/v1/events/%zz/zones/floor", "{\"capacity\":1}", 400, "escape");
    expect(0, "PUT", "/v1/events/gala/zones/z?capacity=1", "{}", 400, "query");
    expect(0, "DELETE", "/v1/events/gala/queue/ann?colour=red", NULL, 400, "colour");
    expect(0, "DELETE", "/v1/events/gala/queue/ann", "{}", 400, "takes no body");
    expect(0, "GET", "/v1/events/gala/zones/floor?x=1", NULL, 400, "unknown field");
    expect(0, "GET", "/v1/events/gala/zones/floor?", NULL, 200, "capacity");
    expect(0, "GET", "/v1/events/gala/zones/floor", "{}", 400, "no body");
    say(0, "POST /v1/quotas/t/commit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
           "Content-Type: text/plain\r\n\r\n{}");
    assert_int_equal(status(), 415);
    assert_string_equal(header("Connection"), "");
}

static void a_wait_is_answered_when_it_is_over(void **state)
{
    (void)state;
    expect(0, "POST", "/v1/semaphores/s/acquire", "{\"id\":\"a\",\"limit\":1}", 200,
           "{\"id\":\"a\",\"in_use\":1,\"fence\":");
    ask(1, "POST", "/v1/semaphores/s/acquire", "X-Request-Id: w\r\n",
        "{\"limit\":1,\"wait_ms\":60000}");
    assert_string_equal(fixture.heard, "");
    /* What comes meanwhile waits for its turn. */
    assert_string_equal(say(1, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
    expect(0, "POST", "/v1/semaphores/s/release", "{\"id\":\"a\"}", 200, "{\"released\":1}");
    heard(1);
    assert_int_equal(status(), 200);
    assert_string_equal(header("X-Request-Id"), "w");
    assert_non_null(strstr(body(), "\"in_use\":1"));
    expect(2, "POST", "/v1/semaphores/s/acquire", "{\"limit\":1}", 429, "NO_SLOT");
    ask(2, "POST", "/v1/semaphores/s/acquire", "", "{\"limit\":1,\"wait_ms\":10}");
    wait_to_hear(2);
    assert_int_equal(status(), 408);
    assert_non_null(strstr(body(), "TIMEOUT"));
}

/* ---- the server's own ------------------------------------------------------------------------ */

static void the_server_tells_about_itself(void **state)
{
    (void)state;
    expect(0, "GET", "/livez", NULL, 200, "alive");
    expect(0, "GET", "/readyz", NULL, 200, "ready");
    expect(0, "GET", "/", NULL, 200, "/v1/openapi.json");
    expect(0, "GET", "/v1/info", NULL, 200, "\"state\":\"ready\"");
    expect(0, "GET", "/v1/openapi.json", NULL, 200, "3.0.3");
    expect(0, "GET", "/metrics", NULL, 200, "# TYPE");
    expect(0, "POST", "/v1/audit", "", 200, "{\"list\":[],\"findings\":0}");
    expect(0, "POST", "/v1/snapshot", "", 409, "INVALID_STATE");
}

static void a_server_that_is_not_ready_says_so(void **state)
{
    struct server *server = &fixture.server;
    struct engine *engine = server->engine;
    (void)state;

    server->state = SERVER_LOADING;
    server->engine = NULL;
    server->loaded = 10;
    server->load_total = 40;
    expect(0, "GET", "/livez", NULL, 200, "alive");
    expect(0, "GET", "/readyz", NULL, 503, "loading: 10 of 40 bytes");
    expect(0, "GET", "/v1/quotas/t", NULL, 503, "LOADING");
    expect(0, "POST", "/v1/audit", "", 503, "LOADING");
    server->engine = engine;
    server->state = SERVER_FAILED;
    expect(0, "GET", "/readyz", NULL, 503, "failed");
    server->state = SERVER_DRAINING;
    fixture_reopen(0);
    expect(0, "GET", "/v1/quotas/t", NULL, 200, "used");
    assert_string_equal(header("Connection"), "close");
    assert_true(fixture.clients[0].closing);
}

static void other_methods_and_paths(void **state)
{
    (void)state;
    expect(0, "GET", "/v1/nothing", NULL, 404, "NOT_FOUND");
    expect(0, "PATCH", "/v1/quotas/t", NULL, 405, "error");
    assert_string_equal(header("Allow"), "GET, HEAD, PUT, DELETE, OPTIONS");
    expect(0, "OPTIONS", "/v1/quotas/t", NULL, 204, "");
    assert_string_equal(header("Allow"), "GET, HEAD, PUT, DELETE, OPTIONS");
    assert_string_equal(header("Content-Length"), "");
    expect(0, "OPTIONS", "*", NULL, 204, "");
    expect(0, "HEAD", "/livez", NULL, 200, "");
    assert_string_equal(header("Content-Length"), "6");
    assert_string_equal(body(), "");
}

/* ---- connections ----------------------------------------------------------------------------- */

static void answers_come_in_order(void **state)
{
    const char *first, *second;
    (void)state;

    say(0, "GET /v1/quotas/a HTTP/1.1\r\nHost: localhost\r\n\r\nPUT /v1/quotas/a HTTP/1.1\r\nHost: "
           "localhost\r\n"
           "Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"limit\":7}"
           "GET /v1/quotas/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
           "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    first = strstr(fixture.heard, "{\"used\":0,\"limit\":0,\"held\":0}");
    assert_non_null(first);
    second = strstr(first, "{\"used\":0,\"limit\":7,\"held\":0}");
    assert_non_null(second);
    assert_null(strstr(second, "alive"));
    assert_non_null(strstr(fixture.heard, "Connection: close\r\n"));
    assert_true(fixture.clients[0].closing);
}

static void old_clients_are_told_that_it_goes_on(void **state)
{
    (void)state;
    say(0, "GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_string_equal(header("Connection"), "keep-alive");
    assert_false(fixture.clients[0].closing);
    say(0, "GET /livez HTTP/1.0\r\n\r\n");
    assert_string_equal(header("Connection"), "close");
    assert_true(fixture.clients[0].closing);
}

static void a_broken_request_ends_the_connection(void **state)
{
    (void)state;
    say(0, "GET / HTTP/1.1\r\nHost : x\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(status(), 400);
    assert_string_equal(header("Connection"), "close");
    assert_null(strstr(fixture.heard, "alive"));
    assert_int_equal(fixture.server.metrics.malformed, 1);
    say(1, "POST /v1/audit HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(status(), 411);
}

static void a_slow_request_is_given_up(void **state)
{
    (void)state;
    say(0, "GET /livez HTT");
    assert_true(fixture.clients[0].partial);
    front_http.timed_out(&fixture.clients[0]);
    heard(0);
    assert_int_equal(status(), 408);
    assert_true(fixture.clients[0].closing);
    assert_false(fixture.clients[1].partial);
    front_http.timed_out(&fixture.clients[1]);
    assert_string_equal(heard(1), "");
    assert_true(fixture.clients[1].closing);
}

static void a_client_may_ask_before_it_sends(void **state)
{
    (void)state;
    say(0, "PUT /v1/quotas/t HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Expect: 100-continue\r\nContent-Length: 11\r\n\r\n");
    assert_string_equal(fixture.heard, "HTTP/1.1 100 Continue\r\n\r\n");
    say(0, "{\"limit\":7}");
    assert_int_equal(status(), 200);
}

static void every_answer_has_an_id(void **state)
{
    char first[128];
    (void)state;

    ask(0, "GET", "/livez", "", NULL);
    snprintf(first, sizeof first, "%s", header("X-Request-Id"));
    assert_true(strlen(first) > 0);
    ask(0, "GET", "/livez", "", NULL);
    assert_string_not_equal(header("X-Request-Id"), first);
    ask(0, "GET", "/nothing", "X-Request-Id: mine-1\r\n", NULL);
    assert_string_equal(header("X-Request-Id"), "mine-1");
    ask(0, "GET", "/livez", "X-Request-Id: two words\r\n", NULL);
    assert_string_not_equal(header("X-Request-Id"), "two words");
    assert_int_equal(strlen(header("Date")), 29);
}

static void an_idle_connection_costs_little(void **state)
{
    size_t before;
    (void)state;

    for (int i = 1; i < CLIENTS; i++) {
        fixture_leave(i);
    }
    heard(0);
    buffer_free(&fixture.clients[0].out);
    before = fixture.server.memory.used;
    fixture_reopen(1);
    for (int i = 0; i < 3; i++) {
        ask(1, "PUT", "/v1/quotas/t", "X-Long: ...................................\r\n",
            "{\"limit\":7}");
    }
    buffer_free(&fixture.clients[1].out);
    assert_true(fixture.server.memory.used - before < 1280);
}

/* ---- who may do what ------------------------------------------------------------------------- */

static void each_request_says_who_asks(void **state)
{
    (void)state;
    fixture_authenticate();
    expect(0, "GET", "/livez", NULL, 200, "alive");
    expect(0, "GET", "/v1/openapi.json", NULL, 200, "3.0.3");
    expect(0, "GET", "/v1/quotas/t", NULL, 401, "UNAUTHORIZED");
    assert_string_equal(header("WWW-Authenticate"), "Bearer");
    ask(0, "GET", "/v1/quotas/t", "Authorization: Bearer eye\r\n", NULL);
    assert_int_equal(status(), 200);
    ask(0, "GET", "/v1/quotas/t", "authorization: bearer eye\r\n", NULL);
    assert_int_equal(status(), 200);
    expect(0, "GET", "/v1/quotas/t", NULL, 401, "UNAUTHORIZED");
    ask(0, "GET", "/v1/quotas/t", "Authorization: Bearer nobody\r\n", NULL);
    assert_int_equal(status(), 401);
    ask(0, "GET", "/v1/quotas/t", "Authorization: Digest eye\r\n", NULL);
    assert_int_equal(status(), 401);
    ask(0, "GET", "/v1/quotas/t", "Authorization: Basic ZXllOmV5ZQ==\r\n", NULL); /* eye:eye */
    assert_int_equal(status(), 200);
    ask(0, "GET", "/v1/quotas/t", "Authorization: Basic !!!\r\n", NULL);
    assert_int_equal(status(), 401);
    assert_true(fixture.clients[0].who.role == ROLE_NONE);
}

static void roles_are_what_they_are(void **state)
{
    (void)state;
    fixture_authenticate();
    ask(0, "PUT", "/v1/quotas/t", "Authorization: Bearer eye\r\n", "{\"limit\":1}");
    assert_int_equal(status(), 403);
    ask(0, "PUT", "/v1/quotas/t", "Authorization: Bearer pen\r\n", "{\"limit\":1}");
    assert_int_equal(status(), 200);
    ask(0, "POST", "/v1/audit", "Authorization: Bearer pen\r\n", "");
    assert_int_equal(status(), 403);
    ask(0, "POST", "/v1/audit", "Authorization: Bearer root\r\n", "");
    assert_int_equal(status(), 200);
    ask(0, "GET", "/metrics", "Authorization: Bearer eye\r\n", NULL);
    assert_int_equal(status(), 200);
    expect(0, "GET", "/metrics", NULL, 401, "UNAUTHORIZED");
    expect(0, "GET", "/v1/feed", NULL, 401, "UNAUTHORIZED");
}

static void a_reload_ends_what_was_known(void **state)
{
    (void)state;
    fixture_authenticate();
    ask(0, "GET", "/v1/quotas/t", "Authorization: Bearer eye\r\n", NULL);
    assert_int_equal(status(), 200);
    auth_free(fixture.server.auth);
    struct problem problem;
    fixture.server.auth = auth_parse(
        "test",
        hf_text("x read sha256:0000000000000000000000000000000000000000000000000000000000000000\n"),
        &problem);
    assert_non_null(fixture.server.auth);
    fixture.clients[0].who.role = ROLE_NONE; /* as the loop does */
    ask(0, "GET", "/v1/quotas/t", "Authorization: Bearer eye\r\n", NULL);
    assert_int_equal(status(), 401);
}

static void strangers_send_little(void **state)
{
    (void)state;
    fixture_authenticate();
    say(0, "POST /v1/payments/callback HTTP/1.1\r\nHost: localhost\r\n"
           "Content-Length: 20000\r\n\r\n");
    assert_int_equal(status(), 413);
    say(1, "PUT /v1/quotas/t HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer pen\r\n"
           "Content-Length: 20000\r\n\r\n");
    assert_string_equal(fixture.heard, "");
}

/* What a request is refused with, and whether its connection goes on. */
static void is_refused(int client, const char *request, int expected, bool closes)
{
    say(client, request);
    assert_int_equal(status(), expected);
    assert_string_equal(header("Connection"), closes ? "close" : "");
    assert_int_equal(fixture.clients[client].closing, closes);
}

/* Nothing but the head is looked at before it is known who asks, and that they may. */
static void the_role_comes_before_body_and_ids(void **state)
{
    (void)state;
#define PUT_QUOTA "PUT /v1/quotas/t HTTP/1.1\r\nHost: localhost\r\n"
#define EYE "Authorization: Bearer eye\r\n"
    fixture_authenticate();
    is_refused(0, PUT_QUOTA "Content-Length: 5\r\n\r\nhello", 401, false);
    is_refused(0, PUT_QUOTA "Content-Length: 0\r\n\r\n", 401, false);
    is_refused(0, PUT_QUOTA "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 401, false);
    is_refused(0, PUT_QUOTA EYE "Content-Length: 5\r\n\r\nhello", 403, false);
    is_refused(0,
               "POST /v1/quotas/a%20b%zz/reserve HTTP/1.1\r\nHost: localhost\r\n"
               "Idempotency-Key: a b\r\nContent-Length: 5\r\n\r\nhello",
               401, false);
    ask(0, "GET", "/v1/quotas/t", EYE, NULL);
    assert_int_equal(status(), 200);
    is_refused(0, PUT_QUOTA "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n", 401, true);
    is_refused(1, PUT_QUOTA "Content-Length: 20000\r\n\r\n", 401, true);
    is_refused(2, PUT_QUOTA EYE "Content-Length: 2000000\r\n\r\n", 403, true);
#undef PUT_QUOTA
#undef EYE
}

/* A body that was not waited for may be wrong, too, which is too late to be told. */
static void a_body_that_is_passed_over_can_be_malformed(void **state)
{
    (void)state;
    fixture_authenticate();
    say(0, "PUT /v1/quotas/t HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_int_equal(status(), 401);
    assert_false(fixture.clients[0].closing);
    say(0, "zz\r\n");
    assert_string_equal(fixture.heard, "");
    assert_true(fixture.clients[0].closing);
}

/* ---- pages of other sites -------------------------------------------------------------------- */

static void pages_of_other_sites_stay_outside(void **state)
{
    (void)state;
    ask(0, "POST", "/v1/audit", "Origin: https://evil.example\r\n", "");
    assert_int_equal(status(), 403);
    ask(0, "POST", "/v1/audit", "Origin: null\r\n", "");
    assert_int_equal(status(), 403);
    ask(0, "POST", "/v1/audit", "Origin: http://localhost\r\n", "");
    assert_int_equal(status(), 200);
    ask(0, "GET", "/livez", "Origin: https://evil.example\r\n", NULL);
    assert_int_equal(status(), 200);
    assert_string_equal(header("Access-Control-Allow-Origin"), "");
}

static void one_site_may_be_let_in(void **state)
{
    (void)state;
    free(fixture.options.cors_origin);
    fixture.options.cors_origin = strdup("https://shop.example");
    ask(0, "OPTIONS", "/v1/audit",
        "Origin: https://shop.example\r\nAccess-Control-Request-Method: POST\r\n", NULL);
    assert_int_equal(status(), 204);
    assert_string_equal(header("Access-Control-Allow-Origin"), "https://shop.example");
    assert_string_equal(header("Access-Control-Allow-Methods"), "POST, OPTIONS");
    assert_non_null(strstr(header("Access-Control-Allow-Headers"), "Idempotency-Key"));
    ask(0, "POST", "/v1/audit", "Origin: https://shop.example\r\n", "");
    assert_int_equal(status(), 200);
    assert_string_equal(header("Vary"), "Origin");
    ask(0, "POST", "/v1/audit", "Origin: https://evil.example\r\n", "");
    assert_int_equal(status(), 403);
    assert_string_equal(header("Access-Control-Allow-Origin"), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_booking_goes_its_way),
        TEST(an_id_that_the_server_made_is_enough),
        TEST(an_event_may_be_too_long_to_be_carried),
        TEST(refusals_have_the_status_of_their_code),
        TEST(requests_are_checked),
        TEST(a_wait_is_answered_when_it_is_over),
        TEST(the_server_tells_about_itself),
        TEST(a_server_that_is_not_ready_says_so),
        TEST(other_methods_and_paths),
        TEST(answers_come_in_order),
        TEST(old_clients_are_told_that_it_goes_on),
        TEST(a_broken_request_ends_the_connection),
        TEST(a_slow_request_is_given_up),
        TEST(a_client_may_ask_before_it_sends),
        TEST(every_answer_has_an_id),
        TEST(an_idle_connection_costs_little),
        TEST(each_request_says_who_asks),
        TEST(roles_are_what_they_are),
        TEST(a_reload_ends_what_was_known),
        TEST(strangers_send_little),
        TEST(the_role_comes_before_body_and_ids),
        TEST(a_body_that_is_passed_over_can_be_malformed),
        TEST(pages_of_other_sites_stay_outside),
        TEST(one_site_may_be_let_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

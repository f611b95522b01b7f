/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events: the feed of all that happens, and somebody's place in line. */
#include "server_http_fixture.h"

static void has(const char *text)
{
    if (strstr(fixture.heard, text) == NULL) {
        fail_msg("no \"%s\" in \"%s\"", text, fixture.heard);
    }
}

static void has_not(const char *text)
{
    if (strstr(fixture.heard, text) != NULL) {
        fail_msg("\"%s\" in \"%s\"", text, fixture.heard);
    }
}

static void set_limit(const char *tenant, int limit)
{
    char path[64], text[64];

    snprintf(path, sizeof path, "/v1/quotas/%s", tenant);
    snprintf(text, sizeof text, "{\"limit\":%d}", limit);
    expect(0, "PUT", path, text, 200, "limit");
}

/* The number of the last event heard. */
static long long last_id(void)
{
    long long id = 0;

    for (const char *at = fixture.heard; (at = strstr(at, "id: ")) != NULL; at++) {
        id = atoll(at + 4);
    }
    assert_true(id > 0);
    return id;
}

/* ---- the feed -------------------------------------------------------------------------------- */

static void listeners_hear_what_is_done(void **state)
{
    (void)state;
    ask(1, "GET", "/v1/feed", "", NULL);
    assert_int_equal(status(), 200);
    assert_string_equal(header("Content-Type"), "text/event-stream; charset=utf-8");
    assert_string_equal(header("Connection"), "close");
    assert_string_equal(header("Content-Length"), "");
    assert_false(fixture.clients[1].closing);
    set_limit("t", 7);
    heard(1);
    has("event: QUOTA.LIMIT\ndata: {\"time_ms\":");
    has("\"command\":\"QUOTA.LIMIT\",\"args\":{\"tenant\":\"t\",\"limit\":7},"
        "\"reply\":{\"used\":0,\"limit\":7}}\n\n");
    /* Neither what only reads nor what was refused. */
    expect(0, "GET", "/v1/quotas/t", NULL, 200, "limit");
    expect(0, "POST", "/v1/quotas/t/reserve", "{\"amount\":9}", 429, "QUOTA");
    assert_string_equal(heard(1), "");
    /* A listener only listens. */
    assert_string_equal(say(1, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
}

static void listeners_hear_what_falls_due(void **state)
{
    (void)state;
    ask(1, "GET", "/v1/feed?scope=seat%2D1", "", NULL);
    expect(0, "POST", "/v1/locks/seat-1/lock", "{\"ttl_seconds\":\"10ms\",\"lock_id\":\"l\"}", 200,
           "l");
    heard(1);
    has("LOCK.TRY");
    wait_to_hear(1);
    has("event: lock_expired\n");
    has("\"scope\":\"seat-1\"");
}

static void a_listener_may_choose_a_scope(void **state)
{
    (void)state;
    ask(1, "GET", "/v1/feed?scope=a", "", NULL);
    set_limit("a", 1);
    set_limit("b", 2);
    set_limit("ab", 3);
    heard(1);
    has("\"tenant\":\"a\"");
    has_not("\"tenant\":\"b\"");
    has_not("\"tenant\":\"ab\"");
    expect(0, "GET", "/v1/feed?scope=", NULL, 400, "scope");
    expect(0, "GET", "/v1/feed?colour=a", NULL, 400, "scope");
    expect(0, "GET", "/v1/feed?scope=a&x=y", NULL, 400, "scope");
}

static void a_listener_that_comes_back_misses_nothing(void **state)
{
    char headers[64];
    (void)state;

    ask(1, "GET", "/v1/feed", "", NULL);
    set_limit("t", 1);
    heard(1);
    long long first = last_id();
    fixture_leave(1);
    set_limit("t", 2);
    set_limit("t", 3);
    fixture_reopen(1);
    snprintf(headers, sizeof headers, "Last-Event-ID: %lld\r\n", first);
    ask(1, "GET", "/v1/feed", headers, NULL);
    has_not("\"limit\":1}");
    has("\"limit\":2}");
    has("\"limit\":3}");
    has_not("missed");
    assert_int_equal(last_id(), first + 2);
}

static void what_is_gone_is_counted(void **state)
{
    char headers[64];
    (void)state;

    ask(1, "GET", "/v1/feed?scope=none", "", NULL);
    ask(2, "GET", "/v1/feed", "", NULL);
    set_limit("t", 1);
    heard(2);
    long long first = last_id();
    fixture_leave(2);
    for (int i = 0; i < FEED_KEPT + 5; i++) {
        set_limit("t", 1000 + i);
    }
    fixture_reopen(2);
    snprintf(headers, sizeof headers, "Last-Event-ID: %lld\r\n", first);
    say(2, "");
    static char bytes[256];
    snprintf(bytes, sizeof bytes, "GET /v1/feed HTTP/1.1\r\nHost: localhost\r\n%s\r\n", headers);
    session_feed(&fixture.clients[2], bytes, strlen(bytes));
    const struct buffer *out = &fixture.clients[2].out;
    assert_non_null(memmem(out->data, out->size, "event: missed\ndata: {\"count\":5}\n\n", 33));
    assert_null(memmem(out->data, out->size, "\"limit\":1004}", 13));
    assert_non_null(memmem(out->data, out->size, "\"limit\":1005}", 13));
    assert_non_null(memmem(out->data, out->size, "\"limit\":2028}", 13));
}

static void numbers_of_another_time_are_known_as_such(void **state)
{
    (void)state;
    ask(1, "GET", "/v1/feed", "Last-Event-ID: 17\r\n", NULL);
    has("event: missed\ndata: {\"count\":null}\n\n");
    ask(2, "GET", "/v1/feed", "Last-Event-ID: what?\r\n", NULL);
    has("event: missed\ndata: {\"count\":null}\n\n");
}

/* The clock that numbers begin with may have been ahead in the run before. */
static void numbers_that_were_not_given_yet_are_known_as_such(void **state)
{
    (void)state;
    ask(1, "GET", "/v1/feed", "Last-Event-ID: 18000000000000000000\r\n", NULL);
    has("event: missed\ndata: {\"count\":null}\n\n");
}

static void a_slow_listener_loses_entries_and_is_told(void **state)
{
    struct session *slow = &fixture.clients[1];
    (void)state;

    ask(1, "GET", "/v1/feed", "", NULL);
    for (int i = 0; slow->out.size <= FEED_BACKLOG_MAX; i++) {
        set_limit("t", i);
    }
    size_t size = slow->out.size;
    assert_true(size < FEED_BACKLOG_MAX + FEED_ENTRY_MAX);
    for (int i = 0; i < 2 * FEED_KEPT; i++) {
        set_limit("t", i);
    }
    assert_int_equal(slow->out.size, size);
    slow->out.size = slow->firm = 0;
    front_http.tick(slow);
    assert_memory_equal(slow->out.data, "event: missed\ndata: {\"count\":", 29);
}

static void long_entries_are_shortened(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        char user[64];
        snprintf(user, sizeof user, "{\"user_id\":\"user-%030d\"}", i);
        expect(0, "POST", "/v1/events/e/queue", user, 201, "position");
    }
    ask(1, "GET", "/v1/feed", "", NULL);
    expect(0, "POST", "/v1/events/e/queue/admit", "{\"count\":200}", 200, "pass");
    heard(1);
    has("\"command\":\"ROOM.ADMIT\",\"scope\":\"e\",\"left_out\":true}");
}

static void there_are_only_so_many_listeners(void **state)
{
    (void)state;
    fixture.server.feed.listener_count += FEED_LISTENERS_MAX;
    expect(1, "GET", "/v1/feed", NULL, 503, "listeners");
    fixture.server.feed.listener_count -= FEED_LISTENERS_MAX;
    expect(1, "HEAD", "/v1/feed", NULL, 200, "");
    assert_true(fixture.clients[1].closing);
    assert_int_equal(fixture.server.feed.listener_count, 0);
}

static void nothing_is_kept_when_nobody_listens(void **state)
{
    struct server *server = &fixture.server;
    (void)state;

    set_limit("t", 1);
    assert_false(feed_wanted(&server->feed));
    ask(1, "GET", "/v1/feed", "", NULL);
    assert_true(feed_wanted(&server->feed));
    assert_true(server->feed.collecting);
    fixture_leave(1);
    feed_turn(&server->feed, server->engine, clock_nanoseconds());
    assert_true(feed_wanted(&server->feed));
    feed_turn(&server->feed, server->engine, clock_nanoseconds() + FEED_LINGER_NS + 1000000000);
    assert_false(feed_wanted(&server->feed));
    assert_false(server->feed.collecting);
}

static void who_may_no_longer_listen_is_cut_off(void **state)
{
    (void)state;
    fixture_authenticate();
    ask(1, "GET", "/v1/feed", "Authorization: Bearer root\r\n", NULL);
    assert_int_equal(status(), 200);
    front_http.tick(&fixture.clients[1]);
    assert_false(fixture.clients[1].closing);
    fixture.clients[1].who.role = ROLE_NONE;
    front_http.tick(&fixture.clients[1]);
    assert_true(fixture.clients[1].closing);
}

/* ---- a place in line ------------------------------------------------------------------------- */

static void join(const char *user)
{
    char text[64];

    snprintf(text, sizeof text, "{\"user_id\":\"%s\"}", user);
    expect(0, "POST", "/v1/events/e/queue", text, 201, "position");
}

static void who_waits_hears_of_each_step(void **state)
{
    (void)state;
    join("ann");
    join("bob");
    ask(1, "GET", "/v1/events/e/queue/bob/stream", "", NULL);
    assert_int_equal(status(), 200);
    has("event: position\ndata: {\"position\":2,\"total\":2,\"estimated_wait_s\":null,"
        "\"in_waiting_room\":1,\"refresh_s\":5}\n\n");
    expect(0, "DELETE", "/v1/events/e/queue/ann", NULL, 200, "1");
    wait_to_hear(1);
    has("event: position\ndata: {\"position\":1,\"total\":1,");
    ask(2, "GET", "/v1/events/e/queue/bob/stream", "", NULL);
    expect(0, "POST", "/v1/events/e/queue/admit", "{\"count\":1}", 200, "bob");
    for (int i = 1; i <= 2; i++) { /* at once, and both of them; the pass is not for everybody */
        heard(i);
        has("event: admitted\ndata: {}\n\n");
        assert_true(fixture.clients[i].closing);
    }
    assert_false(feed_wanted(&fixture.server.feed));
}

/* Asks for ann's stream with a token, which is joined and admitted meanwhile, and listens. */
static void hear_of_admission(int client, const char *token)
{
    char path[128];

    snprintf(path, sizeof path, "/v1/events/e/queue/ann/stream?token=%s", token);
    ask(client, "GET", path, "", NULL);
    assert_int_equal(status(), 200);
    has("event: position\n");
}

static void the_pass_is_for_who_shows_the_token(void **state)
{
    char token[64], pass[128];
    (void)state;

    expect(0, "POST", "/v1/events/e/queue", "{\"user_id\":\"ann\"}", 201, "token");
    const char *at = strstr(fixture.heard, "\"token\":\"");
    assert_non_null(at);
    snprintf(token, sizeof token, "%.32s", at + 9);
    hear_of_admission(1, token);
    hear_of_admission(2, "0123456789abcdef0123456789abcdef");
    expect(0, "POST", "/v1/events/e/room/tick", "{}", 200, "ann");
    at = strstr(fixture.heard, "\"pass\":\"");
    assert_non_null(at);
    snprintf(pass, sizeof pass, "event: admitted\ndata: {\"pass\":\"%.32s\"}\n\n", at + 8);
    wait_to_hear(1);
    assert_string_equal(fixture.heard, pass);
    wait_to_hear(2);
    assert_string_equal(fixture.heard, "event: admitted\ndata: {}\n\n");
    assert_true(fixture.clients[1].closing && fixture.clients[2].closing);
    assert_false(feed_wanted(&fixture.server.feed));
    snprintf(pass, sizeof pass, "/v1/events/e/queue/ann/stream?token=%s", token);
    ask(3, "GET", pass, "", NULL); /* who comes late gets it, too */
    has("event: admitted\ndata: {\"pass\":\"");
    expect(0, "GET", "/v1/events/e/queue/ann/stream?tokens=1", NULL, 400, "token=");
}

static void who_left_is_told_so(void **state)
{
    (void)state;
    join("ann");
    ask(1, "GET", "/v1/events/e/queue/ann/stream", "", NULL);
    expect(0, "DELETE", "/v1/events/e/queue/ann", NULL, 200, "1");
    wait_to_hear(1);
    assert_string_equal(fixture.heard, "event: gone\ndata: {}\n\n");
    assert_true(fixture.clients[1].closing);
}

static void who_is_not_in_line_gets_an_answer_like_others(void **state)
{
    (void)state;
    expect(1, "GET", "/v1/events/e/queue/ann/stream", NULL, 404, "NOT_IN_QUEUE");
    assert_false(fixture.clients[1].closing);
    expect(1, "GET", "/v1/events/e/queue/a%20b/stream", NULL, 400, "INVALID_ID");
    expect(1, "GET", "/livez", NULL, 200, "alive");
}

static void a_watcher_may_leave_at_any_time(void **state)
{
    (void)state;
    join("ann");
    for (int i = 1; i < CLIENTS; i++) {
        ask(i, "GET", "/v1/events/e/queue/ann/stream", "", NULL);
        assert_int_equal(status(), 200);
    }
    fixture_leave(2);
    expect(0, "POST", "/v1/events/e/queue/admit", "{\"count\":1}", 200, "ann");
    fixture_leave(1);
    heard(3);
    has("admitted");
}

static void streams_end_with_the_server(void **state)
{
    (void)state;
    join("ann");
    ask(1, "GET", "/v1/events/e/queue/ann/stream", "", NULL);
    ask(2, "GET", "/v1/feed", "", NULL);
    fixture.server.state = SERVER_DRAINING;
    front_http.tick(&fixture.clients[1]);
    front_http.tick(&fixture.clients[2]);
    assert_true(fixture.clients[1].closing);
    assert_true(fixture.clients[2].closing);
    front_http.tick(&fixture.clients[1]);
}

/* Nobody may hear of what did not get to disk. */
static void what_was_lost_is_not_told(void **state)
{
    struct problem problem = {.code = HF_IOERR, .message = "lost"};
    struct session *listener = &fixture.clients[1];
    (void)state;

    ask(1, "GET", "/v1/feed", "", NULL);
    char request[] =
        "PUT /v1/quotas/t HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 11\r\n\r\n{\"limit\":7}";
    session_feed(&fixture.clients[0], request, strlen(request));
    assert_true(listener->answers > 0);
    assert_int_equal(listener->firm, 0);
    listener->out.size = listener->firm;
    listener->front->refuse(listener, &problem);
    assert_true(listener->closing);
    struct session *writer = &fixture.clients[0];
    writer->out.size = writer->firm;
    fixture.server.state = SERVER_FAILED;
    writer->front->refuse(writer, &problem);
    writer->front->refuse(writer, &problem);
    assert_true(writer->closing);
    assert_string_equal(heard(1), "");
    heard(0);
    assert_int_equal(status(), 503);
    assert_null(strstr(body(), "HTTP/1.1"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(listeners_hear_what_is_done),
        TEST(listeners_hear_what_falls_due),
        TEST(a_listener_may_choose_a_scope),
        TEST(a_listener_that_comes_back_misses_nothing),
        TEST(what_is_gone_is_counted),
        TEST(numbers_of_another_time_are_known_as_such),
        TEST(numbers_that_were_not_given_yet_are_known_as_such),
        TEST(a_slow_listener_loses_entries_and_is_told),
        TEST(long_entries_are_shortened),
        TEST(there_are_only_so_many_listeners),
        TEST(nothing_is_kept_when_nobody_listens),
        TEST(who_may_no_longer_listen_is_cut_off),
        TEST(who_waits_hears_of_each_step),
        TEST(the_pass_is_for_who_shows_the_token),
        TEST(who_left_is_told_so),
        TEST(who_is_not_in_line_gets_an_answer_like_others),
        TEST(a_watcher_may_leave_at_any_time),
        TEST(streams_end_with_the_server),
        TEST(what_was_lost_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

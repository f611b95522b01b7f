/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "redis_fake.h"

#define PATIENCE_MS 10000
#define TRIES_MAX 5
#define TURNS_MIN 20 /* on a busy machine the time may be over after a single turn */

/* ---- the server ------------------------------------------------------------------------------ */

struct saying {
    uv_write_t write;
    char bytes[];
};

static void said(uv_write_t *write, int status)
{
    (void)status;
    free(write->data);
}

void fake_say(struct fake_session *session, const char *resp, size_t size)
{
    struct saying *saying = malloc(sizeof *saying + size);
    uv_buf_t bytes;

    memcpy(saying->bytes, resp, size);
    saying->write.data = saying;
    bytes = uv_buf_init(saying->bytes, (unsigned)size);
    uv_write(&saying->write, (uv_stream_t *)&session->tcp, &bytes, 1, said);
}

bool fake_is(const redisReply *command, const char *word)
{
    return strcasecmp(command->element[0]->str, word) == 0;
}

static void note_auth(struct fake_redis *redis, const redisReply *command)
{
    size_t used = 0;

    for (size_t i = 0; i < command->elements; i++) {
        used += (size_t)snprintf(redis->auth + used, sizeof redis->auth - used, "%s%s",
                                 i > 0 ? " " : "", command->element[i]->str);
    }
}

/* What every SCRIPT LOAD is answered with. Only the script that looks what the user may run is
 * called by that. */
#define LOADED "0123456789012345678901234567890123456789"

static bool is_greeting(const redisReply *command)
{
    static const char *const words[] = {"AUTH", "SELECT", "PING", "ROLE", "SCRIPT"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (fake_is(command, words[i])) {
            return true;
        }
    }
    return fake_is(command, "EVALSHA") && strcmp(command->element[1]->str, LOADED) == 0;
}

static const char *answer_greeting(struct fake_redis *redis, struct fake_session *session,
                                   const redisReply *command)
{
    bool greets = is_greeting(command);

    if (!greets || redis->refuses != NULL) {
        return greets ? redis->refuses : NULL;
    }
    if (fake_is(command, "ROLE")) {
        const char *role = redis->role != NULL ? redis->role : "master";
        snprintf(redis->said, sizeof redis->said, "*1\r\n$%zu\r\n%s\r\n", strlen(role), role);
        return redis->said;
    }
    if (fake_is(command, "AUTH")) {
        note_auth(redis, command);
        session->authenticated = true;
    }
    if (fake_is(command, "SCRIPT")) {
        redis->loads++;
        return "$40\r\n" LOADED "\r\n";
    }
    return "+OK\r\n";
}

static void note(struct fake_redis *redis, const redisReply *command)
{
    size_t used = strlen(redis->log);

    redis->commands++;
    snprintf(redis->log + used, sizeof redis->log - used, "%s ", command->element[0]->str);
}

static void obey(struct fake_session *session, const redisReply *command)
{
    struct fake_redis *redis = session->redis;

    if (redis->silent) {
        return;
    }
    const char *answer = answer_greeting(redis, session, command);
    if (answer == NULL) {
        note(redis, command);
        answer = redis->answer != NULL ? redis->answer(redis, session, command) : "+OK\r\n";
    }
    if (answer != NULL && session->open) {
        fake_say(session, answer, strlen(answer));
    }
}

static void session_closed(uv_handle_t *handle)
{
    struct fake_session *session = handle->data;

    redisReaderFree(session->reader);
    session->redis = NULL;
}

static void session_close(struct fake_session *session)
{
    if (session->redis != NULL && session->open) {
        session->open = false;
        uv_close((uv_handle_t *)&session->tcp, session_closed);
    }
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    static char bytes[1 << 16];

    (void)handle;
    (void)suggested;
    *room = uv_buf_init(bytes, sizeof bytes);
}

static void have_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
    struct fake_session *session = stream->data;
    void *command = NULL;

    if (size < 0) {
        session_close(session);
        return;
    }
    redisReaderFeed(session->reader, bytes->base, (size_t)size);
    while (session->open && redisReaderGetReply(session->reader, &command) == REDIS_OK &&
           command != NULL) {
        obey(session, command);
        freeReplyObject(command);
    }
}

static void accept_one(uv_stream_t *listener, int status)
{
    struct fake_redis *redis = listener->data;
    struct fake_session *session = redis->sessions;

    assert_int_equal(status, 0);
    while (session->redis != NULL) {
        session++;
        assert_true(session < redis->sessions + FAKE_SESSIONS_MAX);
    }
    session->redis = redis;
    session->open = true;
    session->authenticated = false;
    session->reader = redisReaderCreate();
    uv_tcp_init(redis->loop, &session->tcp);
    session->tcp.data = session;
    uv_accept(listener, (uv_stream_t *)&session->tcp);
    uv_read_start((uv_stream_t *)&session->tcp, give_room, have_read);
    redis->connections++;
}

void fake_listen(struct fake *fake, struct fake_redis *redis)
{
    struct sockaddr_in address;
    int size = sizeof address;

    redis->loop = &fake->loop;
    uv_tcp_init(redis->loop, &redis->listener);
    redis->listener.data = redis;
    uv_ip4_addr("127.0.0.1", redis->port, &address);
    assert_int_equal(uv_tcp_bind(&redis->listener, (const struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&redis->listener, 16, accept_one), 0);
    uv_tcp_getsockname(&redis->listener, (struct sockaddr *)&address, &size);
    redis->port = ntohs(address.sin_port);
    redis->listens = true;
}

void fake_close(struct fake_redis *redis)
{
    if (redis->listens) {
        redis->listens = false;
        uv_close((uv_handle_t *)&redis->listener, NULL);
        uv_run(redis->loop, UV_RUN_NOWAIT);
    }
}

void fake_hang_up(struct fake_redis *redis)
{
    for (size_t i = 0; i < FAKE_SESSIONS_MAX; i++) {
        session_close(&redis->sessions[i]);
    }
}

/* ---- the client ------------------------------------------------------------------------------ */

static void ready(void *context, const struct problem *problem)
{
    struct fake *fake = context;

    assert_false(fake->ready);
    fake->ready = true;
    if (problem != NULL) {
        fake->problem = *problem;
    }
}

void fake_open(struct fake *fake, const char *format)
{
    struct redis_url url;
    struct problem problem;
    char text[FAKE_TEXT_SIZE];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, fake->redis[0].port, fake->redis[1].port,
             fake->redis[2].port, fake->redis[3].port);
#pragma GCC diagnostic pop
    assert_int_equal(redis_url_parse(text, &url, &problem), HF_OK);
    struct redis_client_options options = {.url = &url,
                                           .loop = &fake->loop,
                                           .log = {.level = LOG_ERROR + 1},
                                           .ready = ready,
                                           .context = fake};
    fake->client = redis_client_open(&options);
    assert_non_null(fake->client);
    assert_false(fake->ready);
}

static bool is_ready(void *context)
{
    return ((struct fake *)context)->ready;
}

void fake_open_ready(struct fake *fake, const char *url)
{
    fake_open(fake, url);
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_OK);
}

static void call_done(struct redis_request *request, enum redis_fate fate, const redisReply *reply,
                      const struct problem *problem)
{
    struct fake_call *call = (struct fake_call *)request;

    assert_true((reply != NULL) == (fate == REDIS_ANSWERED));
    assert_true((problem != NULL) == (fate != REDIS_ANSWERED));
    call->done++;
    call->fate = fate;
    call->code = problem != NULL ? problem->code : HF_OK;
    call->integer = reply != NULL ? reply->integer : 0;
    const char *text = problem != NULL ? problem->message : reply->str;
    snprintf(call->message, sizeof call->message, "%s", text != NULL ? text : "");
    for (size_t i = 0, used = 0; text == NULL && i < reply->elements; i++) {
        used += (size_t)snprintf(call->message + used, sizeof call->message - used, "%s%lld",
                                 i > 0 ? " " : "", reply->element[i]->integer);
    }
}

void fake_send(struct fake *fake, struct fake_call *call, const char *words)
{
    char text[FAKE_TEXT_SIZE], body[FAKE_TEXT_SIZE] = "", *rest = text;
    size_t count = 0, used = 0;

    snprintf(text, sizeof text, "%s", words);
    for (const char *word; (word = strsep(&rest, " ")) != NULL; count++) {
        used +=
            (size_t)snprintf(body + used, sizeof body - used, "$%zu\r\n%s\r\n", strlen(word), word);
    }
    assert_true(used + 8 < sizeof call->bytes);
    call->request.size = (size_t)snprintf(call->bytes, sizeof call->bytes, "*%zu\r\n", count);
    memcpy(call->bytes + call->request.size, body, used);
    call->request.size += used;
    call->request.bytes = call->bytes;
    call->request.done = call_done;
    call->done = 0;
    redis_client_send(fake->client, &call->request);
    assert_int_equal(call->done, 0);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void tick(uv_timer_t *timer)
{
    (void)timer;
}

void fake_until(struct fake *fake, bool (*condition)(void *context), void *context)
{
    uv_timer_t timer;
    uint64_t start_ms;

    uv_update_time(&fake->loop);
    start_ms = uv_now(&fake->loop);
    uv_timer_init(&fake->loop, &timer);
    uv_timer_start(&timer, tick, 5, 5);
    while (!condition(context)) {
        uv_run(&fake->loop, UV_RUN_ONCE);
        assert_true(uv_now(&fake->loop) - start_ms < PATIENCE_MS);
    }
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&fake->loop, UV_RUN_NOWAIT);
}

static bool is_done(void *context)
{
    return ((struct fake_call *)context)->done > 0;
}

void fake_until_done(struct fake *fake, struct fake_call *call)
{
    fake_until(fake, is_done, call);
    assert_int_equal(call->done, 1);
}

void fake_ask(struct fake *fake, struct fake_call *call, const char *words)
{
    for (int tries = 0; tries == 0 || (call->fate == REDIS_UNKNOWN && tries < TRIES_MAX); tries++) {
        fake_send(fake, call, words);
        fake_until_done(fake, call);
    }
}

struct wake {
    uv_loop_t *loop;
    uint64_t at_ms;
};

static bool is_time(void *context)
{
    const struct wake *wake = context;
    return uv_now(wake->loop) >= wake->at_ms;
}

void fake_turn_for(struct fake *fake, uint64_t duration_ms)
{
    struct wake wake = {.loop = &fake->loop};

    uv_update_time(&fake->loop);
    wake.at_ms = uv_now(&fake->loop) + duration_ms;
    fake_until(fake, is_time, &wake);
    for (int i = 0; i < TURNS_MIN; i++) {
        uv_run(&fake->loop, UV_RUN_NOWAIT);
    }
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int fake_setup(void **state)
{
    struct fake *fake = calloc(1, sizeof *fake);

    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&fake->loop);
    for (size_t i = 0; i < 4; i++) {
        fake_listen(fake, &fake->redis[i]);
    }
    *state = fake;
    return 0;
}

static void closed(void *context)
{
    ((struct fake *)context)->closed = true;
}

static bool is_closed(void *context)
{
    return ((struct fake *)context)->closed;
}

int fake_teardown(void **state)
{
    struct fake *fake = *state;

    if (fake->client != NULL) {
        redis_client_close(fake->client, closed, fake);
        fake_until(fake, is_closed, fake);
    }
    for (size_t i = 0; i < 4; i++) {
        fake_close(&fake->redis[i]);
        fake_hang_up(&fake->redis[i]);
    }
    uv_run(&fake->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fake->loop), 0);
    free(fake);
    return 0;
}

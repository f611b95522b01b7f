/* SPDX-License-Identifier: Apache-2.0 */
#include "server_http_fixture.h"

#include <openssl/sha.h>
#include <time.h>

struct fixture fixture;

static void release(struct session *session)
{
    (void)session; /* fixture_leave() frees it */
}

int fixture_setup(void **state)
{
    char *argv[] = {"serve", "--memory", NULL};
    struct engine_options none = {.log = {.level = LOG_ERROR}};
    struct engine *engine;
    struct problem problem;
    (void)state;

    assert_int_equal(options_load(&fixture.options, 2, argv, &problem), HF_OK);
    server_init(&fixture.server, &fixture.options);
    fixture.server.release = release;
    assert_int_equal(engine_open("embedded:", &none, &engine, &problem), HF_OK);
    server_attach(&fixture.server, engine);
    for (int i = 0; i < CLIENTS; i++) {
        fixture.is_open[i] = false;
        fixture_reopen(i);
    }
    return 0;
}

void fixture_leave(int client)
{
    if (fixture.is_open[client]) {
        session_close(&fixture.clients[client], true);
        session_free(&fixture.clients[client]);
        fixture.is_open[client] = false;
    }
}

void fixture_reopen(int client)
{
    fixture_leave(client);
    fixture.is_open[client] = session_open(&fixture.clients[client], &fixture.server, &front_http);
    assert_true(fixture.is_open[client]);
}

int fixture_teardown(void **state)
{
    (void)state;
    for (int i = 0; i < CLIENTS; i++) {
        fixture_leave(i);
    }
    server_free(&fixture.server);
    options_free(&fixture.options);
    return 0;
}

static void write_user(struct buffer *out, const char *name, const char *role)
{
    uint8_t digest[32];

    SHA256((const unsigned char *)name, strlen(name), digest);
    buffer_format(out, "%s %s sha256:", name, role);
    for (size_t i = 0; i < sizeof digest; i++) {
        buffer_format(out, "%02x", digest[i]);
    }
    buffer_byte(out, '\n');
}

void fixture_authenticate(void)
{
    struct memory memory;
    struct buffer text;
    struct problem problem;

    memory_init(&memory);
    buffer_init(&text, &memory);
    write_user(&text, "root", "admin");
    write_user(&text, "pen", "write");
    write_user(&text, "eye", "read");
    fixture.server.auth = auth_parse("test", (struct hf_bytes){text.data, text.size}, &problem);
    assert_non_null(fixture.server.auth);
    buffer_free(&text);
    for (int i = 0; i < CLIENTS; i++) {
        fixture_reopen(i);
    }
}

/* What the loop does at the end of each turn, without the sending. */
static void turn(void)
{
    struct server *server = &fixture.server;

    while (!list_empty(&server->resumed)) {
        struct session *session = LIST_ENTRY(server->resumed.next, struct session, resumed);
        list_remove(&session->resumed);
        session->is_resumed = false;
        session_feed(session, "", 0);
    }
    server_commit(server);
    while (!list_empty(&server->touched)) {
        struct session *session = LIST_ENTRY(server->touched.next, struct session, touched);
        list_remove(&session->touched);
        session->is_touched = false;
    }
}

const char *heard(int client)
{
    struct buffer *out = &fixture.clients[client].out;

    turn();
    assert_true(out->size < sizeof fixture.heard);
    memcpy(fixture.heard, out->data != NULL ? out->data : "", out->size);
    fixture.heard[out->size] = '\0';
    out->size = fixture.clients[client].firm = 0;
    return fixture.heard;
}

const char *say(int client, const char *bytes)
{
    size_t size = strlen(bytes);

    for (size_t used = 0; used < size;) {
        size_t step = session_feed(&fixture.clients[client], bytes + used, size - used);
        turn();
        if (step == 0) {
            break;
        }
        used += step;
    }
    return heard(client);
}

const char *ask(int client, const char *method, const char *path, const char *headers,
                const char *request)
{
    static char bytes[65536];
    int size = snprintf(bytes, sizeof bytes, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s", method,
                        path, headers);

    if (request != NULL) {
        size +=
            snprintf(bytes + size, sizeof bytes - (size_t)size,
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(request));
    }
    snprintf(bytes + size, sizeof bytes - (size_t)size, "\r\n%s", request != NULL ? request : "");
    return say(client, bytes);
}

int status(void)
{
    assert_memory_equal(fixture.heard, "HTTP/1.1 ", 9);
    return atoi(fixture.heard + 9);
}

const char *body(void)
{
    const char *found = strstr(fixture.heard, "\r\n\r\n");

    assert_non_null(found);
    return found + 4;
}

const char *header(const char *name)
{
    static char value[512];
    char line[128];
    const char *found;

    snprintf(line, sizeof line, "\r\n%s: ", name);
    found = strstr(fixture.heard, line);
    if (found == NULL || found > body()) {
        return "";
    }
    found += strlen(line);
    snprintf(value, sizeof value, "%.*s", (int)strcspn(found, "\r"), found);
    return value;
}

void expect(int client, const char *method, const char *path, const char *request, int code,
            const char *answer)
{
    ask(client, method, path, "", request);
    if (fixture.heard[0] == '\0' || status() != code || strstr(body(), answer) == NULL) {
        fail_msg("%s %s %s: not %d %s but %s", method, path, request != NULL ? request : "", code,
                 answer, fixture.heard);
    }
    char length[32];
    snprintf(length, sizeof length, "%zu", strlen(body()));
    if (strcmp(method, "HEAD") != 0 && code != 204) {
        assert_string_equal(header("Content-Length"), length);
    }
}

const char *wait_to_hear(int client)
{
    for (int i = 0; i < 500 && fixture.clients[client].out.size == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        for (int c = 0; c < CLIENTS; c++) {
            if (fixture.is_open[c] && fixture.clients[c].wants_ticks) {
                fixture.clients[c].front->tick(&fixture.clients[c]);
            }
        }
        turn();
    }
    return heard(client);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's stream against a listener in the same thread: what is written arrives in one piece and
 * is counted, what comes is handed on, an end is told once, and the memory is free in the end. */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/client_stream.h"

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define LARGE ((size_t)16 << 20)

struct scene {
    uv_loop_t loop;
    uv_prepare_t prepare;
    struct client_streams streams;
    struct client_stream stream;
    int listener, peer; /* -1: none */
    uint16_t port;
    unsigned opened, failed, freed;
    char why[128];
    char input[64];
    size_t input_size;
};

static struct scene *scene;

static void on_opened(struct client_stream *stream)
{
    assert_ptr_equal(stream, &scene->stream);
    scene->opened++;
}

static void on_input(struct client_stream *stream, const char *data, size_t size)
{
    (void)stream;
    assert_int_equal(scene->failed, 0);
    assert_true(scene->input_size + size < sizeof scene->input);
    memcpy(scene->input + scene->input_size, data, size);
    scene->input_size += size;
}

static void on_failed(struct client_stream *stream, const char *why)
{
    (void)stream;
    scene->failed++;
    strncpy(scene->why, why, sizeof scene->why - 1);
}

static void on_freed(struct client_stream *stream)
{
    (void)stream;
    scene->freed++;
}

static const struct client_stream_events events = {
    .opened = on_opened, .input = on_input, .failed = on_failed, .freed = on_freed};

/* ---- a loop that has no room ----------------------------------------------------------------- */

static bool no_room; /* for another descriptor */

int __real_uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd);
int __wrap_uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd);

int __wrap_uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd)
{
    return no_room ? UV_ENOSPC : __real_uv_poll_init(loop, poll, fd);
}

/* ---- the listener ---------------------------------------------------------------------------- */

static void listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    scene->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(scene->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(scene->listener, 8), 0);
    getsockname(scene->listener, (struct sockaddr *)&address, &size);
    scene->port = ntohs(address.sin_port);
}

static void hang_up(void)
{
    close(scene->peer);
    scene->peer = -1;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_prepare(uv_prepare_t *prepare)
{
    (void)prepare;
    client_streams_flush(&scene->streams);
}

static int begin(void **state)
{
    (void)state;
    scene = calloc(1, sizeof *scene);
    scene->peer = -1;
    listen_somewhere();
    uv_loop_init(&scene->loop);
    client_streams_init(&scene->streams, &scene->loop);
    uv_prepare_init(&scene->loop, &scene->prepare);
    uv_prepare_start(&scene->prepare, on_prepare);
    return 0;
}

static int end(void **state)
{
    (void)state;
    uv_close((uv_handle_t *)&scene->prepare, NULL);
    uv_close((uv_handle_t *)&scene->streams.idle, NULL);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    assert_int_equal(scene->streams.memory.used, 0);
    close(scene->listener);
    if (scene->peer >= 0) {
        hang_up();
    }
    free(scene);
    return 0;
}

/* Turns the loop until the condition holds, which it does within the test's time. */
#define RUN_UNTIL(condition)                                                                       \
    while (!(condition)) {                                                                         \
        uv_run(&scene->loop, UV_RUN_ONCE);                                                         \
    }

static void connect_to(const char *host)
{
    client_stream_open(&scene->stream, &scene->streams, host, scene->port, &events);
}

/* The listener's end of the connection. */
static void take_connection(void)
{
    RUN_UNTIL(scene->opened > 0);
    scene->peer = accept(scene->listener, NULL, NULL);
    assert_true(scene->peer >= 0);
}

static void close_it(void)
{
    assert_int_equal(scene->freed, 0);
    client_stream_close(&scene->stream);
    assert_int_equal(scene->freed, 0); /* not from inside of it */
    RUN_UNTIL(scene->freed > 0);
    assert_int_equal(scene->streams.alive, 0);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void what_a_turn_writes_arrives_in_one_piece(void **state)
{
    char got[64];

    (void)state;
    connect_to("127.0.0.1");
    buffer_text(client_stream_out(&scene->stream), "before it is open,");
    take_connection();
    buffer_text(client_stream_out(&scene->stream), " and after");
    assert_int_equal(client_stream_written(&scene->stream), 28);
    RUN_UNTIL(client_stream_sent(&scene->stream) == 28);
    assert_int_equal(recv(scene->peer, got, sizeof got, 0), 28);
    assert_memory_equal(got, "before it is open, and after", 28);
    close_it();
    assert_int_equal(scene->failed, 0);
}

static void it_counts_what_the_system_took(void **state)
{
    char *block = calloc(1, 1 << 20);
    size_t got = 0;

    (void)state;
    connect_to("127.0.0.1");
    take_connection();
    for (size_t i = 0; i < LARGE; i += (size_t)1 << 20) {
        memset(block, (int)('a' + (i >> 20)), (size_t)1 << 20);
        buffer_bytes(client_stream_out(&scene->stream), block, (size_t)1 << 20);
    }
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    uint64_t sent = client_stream_sent(&scene->stream);
    assert_int_equal(client_stream_written(&scene->stream), LARGE);
    assert_in_range(sent, 1, LARGE - 1);
    while (got < LARGE) {
        ssize_t size = recv(scene->peer, block, (size_t)1 << 20, MSG_DONTWAIT);
        for (ssize_t i = 0; i < size; i++, got++) {
            if (block[i] != (char)('a' + (got >> 20))) {
                fail_msg("byte %zu is out of order", got);
            }
        }
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(client_stream_sent(&scene->stream), LARGE);
    assert_int_equal(client_stream_written(&scene->stream), LARGE);
    assert_int_equal(scene->stream.out.capacity, 0); /* which had grown too large to be retained */
    close_it();
    free(block);
}

static void the_end_of_the_server_is_told_once(void **state)
{
    (void)state;
    connect_to("127.0.0.1");
    take_connection();
    assert_int_equal(send(scene->peer, "goodbye", 7, 0), 7);
    hang_up();
    RUN_UNTIL(scene->failed > 0);
    assert_int_equal(scene->input_size, 7);
    assert_memory_equal(scene->input, "goodbye", 7);
    assert_string_equal(scene->why, "the server closed the connection");
    client_stream_fail(&scene->stream, "again");
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_int_equal(scene->failed, 1);
    close_it();
}

static void what_came_before_a_reset_is_read(void **state)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    (void)state;
    connect_to("127.0.0.1");
    take_connection();
    assert_int_equal(send(scene->peer, "too many", 8, 0), 8);
    setsockopt(scene->peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    hang_up();
    RUN_UNTIL(scene->failed > 0);
    assert_int_equal(scene->input_size, 8);
    assert_string_equal(scene->why, "connection reset by peer");
    close_it();
}

static void a_refused_connection_is_told_from_the_loop(void **state)
{
    (void)state;
    close(scene->listener);
    connect_to("127.0.0.1");
    buffer_text(client_stream_out(&scene->stream), "for nobody");
    assert_int_equal(scene->failed, 0);
    RUN_UNTIL(scene->failed > 0);
    assert_string_equal(scene->why, "connection refused");
    assert_int_equal(scene->opened, 0);
    assert_int_equal(client_stream_sent(&scene->stream), 0);
    assert_int_equal(client_stream_written(&scene->stream), 10);
    close_it();
    scene->listener = socket(AF_INET, SOCK_STREAM, 0);
}

/* Of the addresses that the name has, one may not be listened on: the next is tried. */
static void a_name_is_looked_up(void **state)
{
    (void)state;
    connect_to("localhost");
    take_connection();
    assert_int_equal(scene->opened, 1);
    close_it();
}

static void it_can_be_closed_at_any_time(void **state)
{
    (void)state;
    connect_to("localhost"); /* while its name is looked up */
    close_it();
    scene->freed = 0;
    connect_to("127.0.0.1"); /* while it connects */
    close_it();
    assert_int_equal(scene->opened, 0);
    assert_int_equal(scene->failed, 0);
}

static void it_can_fail_while_its_name_is_looked_up(void **state)
{
    (void)state;
    connect_to("localhost");
    client_stream_fail(&scene->stream, "too late");
    assert_string_equal(scene->why, "too late");
    RUN_UNTIL(!scene->stream.looking_up); /* and is closed only then */
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_int_equal(scene->failed, 1);
    assert_int_equal(scene->opened, 0);
    close_it();
}

static void without_room_on_the_loop_it_fails(void **state)
{
    (void)state;
    no_room = true;
    connect_to("127.0.0.1");
    no_room = false;
    RUN_UNTIL(scene->failed > 0);
    assert_string_equal(scene->why, "no space left on device");
    close_it();
}

static void without_room_on_the_loop_none_is_accepted(void **state)
{
    struct stream stream;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    (void)state;
    no_room = true;
    assert_false(stream_accept(&stream, &scene->loop, fd, NULL, NULL));
    no_room = false;
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_a_turn_writes_arrives_in_one_piece),
        CASE(it_counts_what_the_system_took),
        CASE(the_end_of_the_server_is_told_once),
        CASE(what_came_before_a_reset_is_read),
        CASE(a_refused_connection_is_told_from_the_loop),
        CASE(a_name_is_looked_up),
        CASE(it_can_be_closed_at_any_time),
        CASE(it_can_fail_while_its_name_is_looked_up),
        CASE(without_room_on_the_loop_it_fails),
        CASE(without_room_on_the_loop_none_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

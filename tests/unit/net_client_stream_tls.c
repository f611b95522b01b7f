/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's stream over TLS, against a server in the same thread that is OpenSSL itself: nothing
 * is sent before the server has proved who it is, all arrives in order however full the socket is,
 * and whatever ends it is told in words. */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include <cmocka.h>

#include "base/problem.h"
#include "net/client_stream.h"
#include "tls_fixture.h"

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define LARGE ((size_t)8 << 20)
#define BLOCK ((size_t)64 << 10)

struct scene {
    uv_loop_t loop;
    uv_prepare_t prepare;
    struct client_streams streams;
    struct client_stream stream;
    int listener, peer; /* -1: none */
    uint16_t port;
    SSL_CTX *context;
    SSL *ssl; /* of the peer; NULL: none yet */
    unsigned opened, failed, freed;
    char why[192];
    size_t input_size; /* each byte of it was the one expected */
};

static struct scene *scene;

/* What is sent is told by its place, so that a byte that is missing or doubled is seen. */
static char byte_at(size_t place)
{
    return (char)(place * 7919 >> 8);
}

static void fill(char *block, size_t place)
{
    for (size_t i = 0; i < BLOCK; i++) {
        block[i] = byte_at(place + i);
    }
}

static void expect(const char *data, size_t size, size_t place)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] != byte_at(place + i)) {
            fail_msg("byte %zu is out of order", place + i);
        }
    }
}

static void on_opened(struct client_stream *stream)
{
    assert_ptr_equal(stream, &scene->stream);
    scene->opened++;
}

static void on_input(struct client_stream *stream, const char *data, size_t size)
{
    (void)stream;
    assert_int_equal(scene->opened, 1);
    expect(data, size, scene->input_size);
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

/* ---- beginning and end ----------------------------------------------------------------------- */

static void on_prepare(uv_prepare_t *prepare)
{
    (void)prepare;
    client_streams_flush(&scene->streams);
}

static void listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    scene->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(scene->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(scene->listener, 8), 0);
    getsockname(scene->listener, (struct sockaddr *)&address, &size);
    scene->port = ntohs(address.sin_port);
}

static int begin(void **state)
{
    struct problem problem;

    (void)state;
    signal(SIGPIPE, SIG_IGN); /* OpenSSL's own sockets raise it */
    scene = calloc(1, sizeof *scene);
    scene->peer = -1;
    listen_somewhere();
    scene->context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate_file(scene->context, tls_files.cert, SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(scene->context, tls_files.key, SSL_FILETYPE_PEM);
    uv_loop_init(&scene->loop);
    client_streams_init(&scene->streams, &scene->loop);
    scene->streams.tls = tls_client(&(struct tls_client_options){.ca = tls_files.cert}, &problem);
    assert_non_null(scene->streams.tls);
    uv_prepare_init(&scene->loop, &scene->prepare);
    uv_prepare_start(&scene->prepare, on_prepare);
    return 0;
}

static void hang_up(void)
{
    SSL_free(scene->ssl);
    scene->ssl = NULL;
    close(scene->peer);
    scene->peer = -1;
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
    SSL_CTX_free(scene->context);
    tls_free(scene->streams.tls);
    free(scene);
    return 0;
}

/* Turns the loop until the condition holds, which it does within the test's time. The loop does
 * not wait: the other end is in this thread. */
#define RUN_UNTIL(condition)                                                                       \
    while (!(condition)) {                                                                         \
        uv_run(&scene->loop, UV_RUN_NOWAIT);                                                       \
    }

static void connect_to(const char *host)
{
    static const struct client_stream_events events = {
        .opened = on_opened, .input = on_input, .failed = on_failed, .freed = on_freed};

    client_stream_open(&scene->stream, &scene->streams, host, scene->port, &events);
}

static void close_it(void)
{
    client_stream_close(&scene->stream);
    RUN_UNTIL(scene->freed > 0);
    assert_int_equal(scene->streams.alive, 0);
}

/* The server's end, with the handshake still to come. */
static void take_connection(void)
{
    scene->peer = accept(scene->listener, NULL, NULL);
    assert_true(scene->peer >= 0);
    fcntl(scene->peer, F_SETFL, O_NONBLOCK);
    scene->ssl = SSL_new(scene->context);
    SSL_set_fd(scene->ssl, scene->peer);
    SSL_set_accept_state(scene->ssl);
}

static void shake_hands(void)
{
    take_connection();
    while (SSL_do_handshake(scene->ssl) != 1 || scene->opened == 0) {
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void it_is_open_once_the_server_has_proved_who_it_is(void **state)
{
    char block[BLOCK], got[64];

    (void)state;
    fill(block, 0);
    connect_to("127.0.0.1");
    buffer_bytes(client_stream_out(&scene->stream), block, 20);
    take_connection();
    RUN_UNTIL(scene->stream.state == CLIENT_STREAM_HANDSHAKE);
    for (int i = 0; i < 20; i++) {
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(scene->opened, 0);
    assert_int_equal(client_stream_sent(&scene->stream), 0);
    assert_int_equal(client_stream_written(&scene->stream), 20);
    while (SSL_do_handshake(scene->ssl) != 1) {
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    RUN_UNTIL(client_stream_sent(&scene->stream) == 20);
    assert_int_equal(scene->opened, 1);
    assert_int_equal(SSL_read(scene->ssl, got, sizeof got), 20);
    assert_memory_equal(got, block, 20);
    assert_int_equal(SSL_write(scene->ssl, block, 30), 30);
    RUN_UNTIL(scene->input_size == 30);
    close_it();
    assert_int_equal(SSL_read(scene->ssl, got, sizeof got), 0);
    assert_int_equal(SSL_get_shutdown(scene->ssl), SSL_RECEIVED_SHUTDOWN); /* it said goodbye */
}

static void a_socket_that_is_full_is_waited_for(void **state)
{
    char *block = malloc(BLOCK);
    size_t got = 0;

    (void)state;
    connect_to("127.0.0.1");
    shake_hands();
    for (size_t place = 0; place < LARGE; place += BLOCK) {
        fill(block, place);
        buffer_bytes(client_stream_out(&scene->stream), block, BLOCK);
    }
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_in_range(client_stream_sent(&scene->stream), 1, LARGE - 1);
    while (got < LARGE) {
        int size = SSL_read(scene->ssl, block, (int)BLOCK);
        if (size > 0) {
            expect(block, (size_t)size, got);
            got += (size_t)size;
        }
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(client_stream_sent(&scene->stream), LARGE);
    assert_int_equal(scene->failed, 0);
    close_it();
    free(block);
}

/* The server changes its keys and wants ours changed, too, which makes reading write. */
static void keys_may_change_meanwhile(void **state)
{
    size_t got = 0;

    (void)state;
    connect_to("127.0.0.1");
    shake_hands();
    while (got < 10) {
        char byte = byte_at(got);
        assert_int_equal(SSL_key_update(scene->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_int_equal(SSL_write(scene->ssl, &byte, 1), 1);
        buffer_bytes(client_stream_out(&scene->stream), &byte, 1);
        RUN_UNTIL(scene->input_size > got && client_stream_sent(&scene->stream) > got);
        assert_int_equal(SSL_read(scene->ssl, &byte, 1), 1);
        expect(&byte, 1, got++);
    }
    assert_int_equal(scene->failed, 0);
    close_it();
}

static void all_that_comes_is_handed_on(void **state)
{
    char *block = malloc(BLOCK);
    size_t sent = 0;

    (void)state;
    connect_to("127.0.0.1");
    shake_hands();
    SSL_set_mode(scene->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    while (sent < LARGE) {
        fill(block, sent);
        int size = SSL_write(scene->ssl, block, (int)BLOCK);
        sent += size > 0 ? (size_t)size : 0;
        if (size <= 0) {
            uv_run(&scene->loop, UV_RUN_NOWAIT);
        }
    }
    RUN_UNTIL(scene->input_size == LARGE);
    close_it();
    free(block);
}

static void another_server_than_the_one_asked_for_is_not_talked_to(void **state)
{
    (void)state;
    scene->streams.tls_name = "other.test";
    connect_to("127.0.0.1");
    buffer_text(client_stream_out(&scene->stream), "secret");
    take_connection();
    while (scene->failed == 0) {
        SSL_do_handshake(scene->ssl);
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    assert_non_null(strstr(scene->why, "its certificate is not for other.test"));
    assert_int_equal(scene->opened, 0);
    assert_int_equal(client_stream_sent(&scene->stream), 0);
    close_it();
}

static void the_name_to_be_proved_may_be_another_than_the_host(void **state)
{
    (void)state;
    scene->streams.tls_name = "hold.test";
    connect_to("127.0.0.1");
    shake_hands();
    assert_string_equal(SSL_get_servername(scene->ssl, TLSEXT_NAMETYPE_host_name), "hold.test");
    close_it();
}

static void a_server_without_tls_is_told(void **state)
{
    (void)state;
    connect_to("127.0.0.1");
    take_connection();
    assert_int_equal(send(scene->peer, "-ERR unknown command\r\n", 22, 0), 22);
    RUN_UNTIL(scene->failed > 0);
    assert_non_null(strstr(scene->why, "it does not speak TLS"));
    close_it();
}

static void an_end_is_told_before_and_after_the_handshake(void **state)
{
    (void)state;
    connect_to("127.0.0.1");
    take_connection();
    RUN_UNTIL(scene->stream.state == CLIENT_STREAM_HANDSHAKE);
    shutdown(scene->peer, SHUT_RDWR);
    RUN_UNTIL(scene->failed > 0);
    assert_int_equal(scene->opened, 0);
    close_it();
    hang_up();

    scene->failed = scene->freed = 0;
    connect_to("127.0.0.1");
    shake_hands();
    SSL_shutdown(scene->ssl); /* and no more: the socket stays open */
    RUN_UNTIL(scene->failed > 0);
    assert_string_equal(scene->why, "the server closed the connection");
    close_it();
}

/* A server of TLS 1.3 refuses a client once that has begun to write; what it says of it comes
 * before the reset that ends the writing. */
static void why_we_are_refused_is_read_though_writing_fails(void **state)
{
    char *block = calloc(1, BLOCK);

    (void)state;
    SSL_CTX_set_verify(scene->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    connect_to("127.0.0.1");
    for (size_t place = 0; place < LARGE; place += BLOCK) {
        buffer_bytes(client_stream_out(&scene->stream), block, BLOCK);
    }
    take_connection();
    while (scene->opened == 0) {
        SSL_do_handshake(scene->ssl);
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    while (SSL_get_error(scene->ssl, SSL_do_handshake(scene->ssl)) == SSL_ERROR_WANT_READ) {}
    hang_up(); /* with much left unread, which resets the connection */
    RUN_UNTIL(scene->failed > 0);
    assert_non_null(strstr(scene->why, "it wants a certificate of ours"));
    close_it();
    free(block);
}

static void it_can_be_closed_in_the_middle_of_the_handshake(void **state)
{
    (void)state;
    connect_to("127.0.0.1");
    RUN_UNTIL(scene->stream.state == CLIENT_STREAM_HANDSHAKE);
    close_it();
    assert_int_equal(scene->opened + scene->failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_is_open_once_the_server_has_proved_who_it_is),
        CASE(a_socket_that_is_full_is_waited_for),
        CASE(keys_may_change_meanwhile),
        CASE(all_that_comes_is_handed_on),
        CASE(another_server_than_the_one_asked_for_is_not_talked_to),
        CASE(the_name_to_be_proved_may_be_another_than_the_host),
        CASE(a_server_without_tls_is_told),
        CASE(an_end_is_told_before_and_after_the_handshake),
        CASE(why_we_are_refused_is_read_though_writing_fails),
        CASE(it_can_be_closed_in_the_middle_of_the_handshake),
    };

    return cmocka_run_group_tests(tests, tls_files_make, tls_files_remove);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP client against a peer that sends whatever a case tells it to: what was answered, what
 * was certainly not sent and what is unknown are kept apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "net/http_client.h"

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
#define PATIENCE_MS 60000

/* A peer that accepts connections, reads one request each and sends `answer`. */
struct scene {
    struct http_client *client;
    int listener, woken;
    uint16_t port;
    pthread_t thread;
    const char *answer; /* NULL: reads and says nothing; "": closes at once */
    size_t answer_size;
    char *large; /* an answer that is allocated; or NULL */
    char seen[8192];
    unsigned done;
};

static struct scene *scene;

static void send_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        data += sent;
        size -= (size_t)sent;
    }
}

static void *serve(void *context)
{
    struct scene *peer = context;
    int fd;

    while ((fd = accept(peer->listener, NULL, NULL)) >= 0) {
        size_t size = 0;
        ssize_t got = 1;
        while (strstr(peer->seen, "\r\n\r\n") == NULL && got > 0) {
            got = recv(fd, peer->seen + size, sizeof peer->seen - 1 - size, 0);
            size += got > 0 ? (size_t)got : 0;
            peer->seen[size] = '\0';
        }
        if (peer->answer == NULL) {
            char byte;
            while (recv(fd, &byte, 1, 0) > 0) {}
        } else {
            send_all(fd, peer->answer, peer->answer_size);
            shutdown(fd, SHUT_WR);
        }
        close(fd);
    }
    return NULL;
}

static void wake(void *context)
{
    struct scene *woken = context;
    assert_int_equal(eventfd_write(woken->woken, 1), 0);
}

static int begin(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct problem problem;

    (void)state;
    scene = calloc(1, sizeof *scene);
    scene->woken = eventfd(0, EFD_CLOEXEC);
    scene->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(scene->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(scene->listener, 16), 0);
    assert_int_equal(getsockname(scene->listener, (struct sockaddr *)&address, &size), 0);
    scene->port = ntohs(address.sin_port);
    struct http_client_options options = {.wake = wake, .wake_context = scene, .parallel = 2};
    assert_int_equal(http_client_open(&options, &scene->client, &problem), HF_OK);
    return 0;
}

/* What a case has set must be there before the peer's thread looks at it. */
static void answer_with(const char *answer, size_t size)
{
    scene->answer = answer;
    scene->answer_size = size;
    assert_int_equal(pthread_create(&scene->thread, NULL, serve, scene), 0);
}

/* Waits until the peer has read all that was sent to it, and ends it. */
static void end_peer(void)
{
    shutdown(scene->listener, SHUT_RDWR);
    if (scene->thread != 0) {
        pthread_join(scene->thread, NULL);
        scene->thread = 0;
    }
}

/* What the peer was sent; it accepts nobody after this. */
static const char *seen(void)
{
    end_peer();
    return scene->seen;
}

static int end(void **state)
{
    (void)state;
    http_client_close(scene->client);
    end_peer();
    close(scene->listener);
    close(scene->woken);
    free(scene->large); /* the peer has sent it, or given up */
    free(scene);
    return 0;
}

static char body[HTTP_ANSWER_MAX + 1];

static void on_done(struct http_exchange *request, void *context)
{
    (void)context;
    memcpy(body, request->body.data, request->body.size);
    body[request->body.size] = '\0';
    scene->done++;
}

static void await(unsigned count)
{
    while (scene->done < count) {
        struct pollfd poll_fd = {.fd = scene->woken, .events = POLLIN};
        eventfd_t value;
        assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
        assert_int_equal(eventfd_read(scene->woken, &value), 0);
        http_client_turn(scene->client);
    }
}

/* Sends a request to a host at the peer's port, and waits for its end. */
static enum http_fate ask(struct http_exchange *request, const char *scheme, const char *host)
{
    static char url[256];

    snprintf(url, sizeof url, "%s://%s:%u/hook", scheme, host, scene->port);
    request->method = request->method != NULL ? request->method : "POST";
    request->url = url;
    request->done = on_done;
    http_client_send(scene->client, request);
    await(scene->done + 1);
    assert_int_equal(http_client_pending(scene->client), 0);
    return request->fate;
}

static enum http_fate answered_with(struct http_exchange *request, const char *answer)
{
    answer_with(answer, answer != NULL ? strlen(answer) : 0);
    return ask(request, "http", "127.0.0.1");
}

static void an_answer_comes_with_status_and_body(void **state)
{
    struct http_exchange request = {.headers = {"webhook-id: 7", "content-type: text/plain"},
                                    .content = hf_text("{\"a\":1}")};

    (void)state;
    assert_int_equal(answered_with(&request, OK), HTTP_ANSWERED);
    assert_int_equal(request.status, 200);
    assert_string_equal(body, "hi");
    assert_non_null(strstr(seen(), "POST /hook HTTP/1.1\r\n"));
    assert_non_null(strstr(seen(), "webhook-id: 7\r\n"));
    assert_non_null(strstr(seen(), "content-type: text/plain\r\n"));
    assert_non_null(strstr(seen(), "Content-Length: 7\r\n"));
    assert_null(strstr(seen(), "Expect"));
}

static void a_get_has_no_content(void **state)
{
    struct http_exchange request = {.method = "GET"};

    (void)state;
    assert_int_equal(answered_with(&request, OK), HTTP_ANSWERED);
    assert_non_null(strstr(seen(), "GET /hook HTTP/1.1\r\n"));
    assert_null(strstr(seen(), "Content-Length"));
}

static void a_redirect_is_an_answer_and_not_followed(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};

    (void)state;
    assert_int_equal(answered_with(&request, "HTTP/1.1 307 Elsewhere\r\nLocation: /other\r\n"
                                             "Content-Length: 0\r\nConnection: close\r\n\r\n"),
                     HTTP_ANSWERED);
    assert_int_equal(request.status, 307);
    assert_null(strstr(seen(), "/other"));
}

static void when_to_come_again_is_told(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};

    (void)state;
    assert_int_equal(answered_with(&request, "HTTP/1.1 503 Busy\r\nRetry-After: 17\r\n"
                                             "Content-Length: 0\r\nConnection: close\r\n\r\n"),
                     HTTP_ANSWERED);
    assert_int_equal(request.status, 503);
    assert_int_equal(request.retry_after_s, 17);
}

static void a_connection_that_is_cut_leaves_it_unknown(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};

    (void)state;
    assert_int_equal(answered_with(&request, ""), HTTP_UNKNOWN);
    assert_true(request.why[0] != '\0');
}

static void half_an_answer_leaves_it_unknown(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};

    (void)state;
    assert_int_equal(
        answered_with(&request, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"),
        HTTP_UNKNOWN);
}

static void what_is_no_http_leaves_it_unknown(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};

    (void)state;
    assert_int_equal(answered_with(&request, "SSH-2.0-whatever\r\n\r\n"), HTTP_UNKNOWN);
}

static void silence_leaves_it_unknown(void **state)
{
    struct http_exchange request = {.content = hf_text("{}"), .timeout_ms = 300};

    (void)state;
    assert_int_equal(answered_with(&request, NULL), HTTP_UNKNOWN);
}

/* An answer with a body of so many bytes. */
static char *large_answer(size_t size)
{
    char *answer = scene->large = malloc(size + 128);

    assert_non_null(answer);
    int head = sprintf(answer,
                       "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", size);
    memset(answer + head, 'x', size);
    answer[(size_t)head + size] = '\0';
    return answer;
}

static void a_large_answer_is_taken_up_to_the_bound(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};
    char *answer = large_answer(HTTP_ANSWER_MAX);

    (void)state;
    assert_int_equal(answered_with(&request, answer), HTTP_ANSWERED);
    assert_int_equal(strlen(body), HTTP_ANSWER_MAX);
}

static void too_large_an_answer_leaves_it_unknown(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};
    char *answer = large_answer(HTTP_ANSWER_MAX + 1);

    (void)state;
    assert_int_equal(answered_with(&request, answer), HTTP_UNKNOWN);
    assert_non_null(strstr(request.why, "65536"));
}

static void the_size_does_not_matter_if_the_body_does_not(void **state)
{
    struct http_exchange request = {.content = hf_text("{}"), .ignore_body = true};
    char *answer = large_answer(HTTP_ANSWER_MAX * 4);

    (void)state;
    assert_int_equal(answered_with(&request, answer), HTTP_ANSWERED);
    assert_int_equal(request.status, 200);
}

static void too_many_headers_leave_it_unknown(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};
    static char answer[HTTP_ANSWER_MAX * 2];
    size_t size = (size_t)sprintf(answer, "HTTP/1.1 200 OK\r\n");

    (void)state;
    while (size < HTTP_ANSWER_MAX + 4096) {
        size += (size_t)sprintf(answer + size, "x-filler: %01000d\r\n", 0);
    }
    sprintf(answer + size, "\r\n");
    assert_int_equal(answered_with(&request, answer), HTTP_UNKNOWN);
}

static void a_refused_connection_means_not_sent(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};

    (void)state;
    /* Nobody listens any more, and nobody else has got the port: it is still bound. */
    shutdown(scene->listener, SHUT_RDWR);
    assert_int_equal(ask(&request, "http", "127.0.0.1"), HTTP_NOT_SENT);
    assert_true(request.why[0] != '\0');
}

static void a_peer_without_tls_means_not_sent(void **state)
{
    struct http_exchange request = {.content = hf_text("{\"card\":4111}")};

    (void)state;
    answer_with("HTTP/1.1 400 Bad\r\n\r\n\r\n\r\n", 24);
    /* The peer reads until an empty line that never comes; it is the timeout that ends it, or
     * the greeting that is none. */
    request.timeout_ms = 500;
    assert_int_equal(ask(&request, "https", "127.0.0.1"), HTTP_NOT_SENT);
    assert_null(strstr(seen(), "card"));
}

static void disguised_addresses_are_refused_before_they_are_connected_to(void **state)
{
    static const char *const hosts[] = {"127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]",
                                        "0"};

    (void)state;
    answer_with(OK, strlen(OK));
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct http_exchange request = {.content = hf_text("{}")};
        assert_int_equal(ask(&request, "http", hosts[i]), HTTP_NOT_SENT);
        assert_non_null(strstr(request.why, "outgoing-allow"));
    }
    assert_string_equal(seen(), "");
}

static void a_header_that_would_be_two_is_not_sent(void **state)
{
    static const char *const headers[] = {"webhook-id: a\r\nX-Evil: 1", "webhook-id: a\nb",
                                          "webhook-id: \x7f", "webhook-id: a\tb"};

    (void)state;
    answer_with(OK, strlen(OK));
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct http_exchange request = {.content = hf_text("{}"), .headers = {headers[i]}};
        assert_int_equal(ask(&request, "http", "127.0.0.1"), HTTP_NOT_SENT);
        assert_non_null(strstr(request.why, "control character"));
    }
    assert_string_equal(seen(), "");
}

static void bad_urls_are_not_sent(void **state)
{
    struct http_exchange request = {.content = hf_text("{}")};

    (void)state;
    assert_int_equal(ask(&request, "ftp", "127.0.0.1"), HTTP_NOT_SENT);
    assert_int_equal(ask(&request, "http", "user:pw@127.0.0.1"), HTTP_NOT_SENT);
    assert_null(strstr(request.why, "pw"));
}

static void more_than_fit_wait_for_their_turn(void **state)
{
    static struct http_exchange requests[20];
    char url[64];

    (void)state;
    memset(requests, 0, sizeof requests);
    answer_with(OK, strlen(OK));
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", scene->port);
    for (size_t i = 0; i < 20; i++) {
        requests[i].method = "GET";
        requests[i].url = url;
        requests[i].done = on_done;
        requests[i].timeout_ms = PATIENCE_MS;
        http_client_send(scene->client, &requests[i]);
    }
    await(20);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(requests[i].fate, HTTP_ANSWERED);
    }
}

static void closing_cuts_off_what_is_in_flight(void **state)
{
    struct http_exchange silent = {.method = "GET", .done = on_done}, waiting[3] = {silent};
    char url[64];

    (void)state;
    answer_with(NULL, 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", scene->port);
    for (size_t i = 0; i < 3; i++) {
        waiting[i] = silent;
        waiting[i].url = url;
        http_client_send(scene->client, &waiting[i]);
    }
    assert_int_equal(http_client_pending(scene->client), 3);
    http_client_close(scene->client);
    scene->client = NULL;
    assert_int_equal(scene->done, 0);
}

static void files_and_networks_are_checked_when_it_is_opened(void **state)
{
    struct http_client_options no_file = {.ca_file = "/nowhere/ca.pem"},
                               no_network = {.allowed = "10.0.0.0/99"};
    struct http_client *client = NULL;
    struct problem problem;

    (void)state;
    assert_int_equal(http_client_open(&no_file, &client, &problem), HF_INVALID_ARGUMENT);
    assert_non_null(strstr(problem.message, "/nowhere/ca.pem"));
    assert_int_equal(http_client_open(&no_network, &client, &problem), HF_INVALID_ARGUMENT);
    assert_null(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_answer_comes_with_status_and_body),
        CASE(a_get_has_no_content),
        CASE(a_redirect_is_an_answer_and_not_followed),
        CASE(when_to_come_again_is_told),
        CASE(a_connection_that_is_cut_leaves_it_unknown),
        CASE(half_an_answer_leaves_it_unknown),
        CASE(what_is_no_http_leaves_it_unknown),
        CASE(silence_leaves_it_unknown),
        CASE(a_large_answer_is_taken_up_to_the_bound),
        CASE(too_large_an_answer_leaves_it_unknown),
        CASE(the_size_does_not_matter_if_the_body_does_not),
        CASE(too_many_headers_leave_it_unknown),
        CASE(a_refused_connection_means_not_sent),
        CASE(a_peer_without_tls_means_not_sent),
        CASE(disguised_addresses_are_refused_before_they_are_connected_to),
        CASE(a_header_that_would_be_two_is_not_sent),
        CASE(bad_urls_are_not_sent),
        CASE(more_than_fit_wait_for_their_turn),
        CASE(closing_cuts_off_what_is_in_flight),
        CASE(files_and_networks_are_checked_when_it_is_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

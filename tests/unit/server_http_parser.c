/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of HTTP/1.1: the good ones are read as they were meant, the ambiguous ones are refused,
 * and it makes no difference where the bytes were cut on their way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/http/http_parser.h"

#define MAX_BODY 64

static struct memory memory;
static struct http_parser parser;
static struct buffer told;

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    buffer_init(&told, &memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buffer_free(&told);
    assert_int_equal(memory.used, 0);
    return 0;
}

/* "POST /a?b 1.1 keep [Host=x] body\n": a request in one line. */
static void tell_request(void)
{
    static const char *const names[HEADER_COUNT] = {"Host", "CL",     "TE",   NULL,  "CT",
                                                    "Auth", "Expect", "Org",  "Key", "Id",
                                                    "Last", "Accept", "Pref", "Ask", "AskH"};
    const struct http_request *request = &parser.request;

    buffer_format(&told, "%s %.*s?%.*s 1.%u %s [", request->method_name, (int)request->path_size,
                  request->path, (int)request->query.size, request->query.data, request->minor,
                  request->keep_alive ? "keep" : "close");
    for (int i = 0; i < HEADER_COUNT; i++) {
        if (request->headers[i].data != NULL && i != HEADER_CONNECTION) {
            buffer_format(&told, "%s=%.*s;", names[i], (int)request->headers[i].size,
                          request->headers[i].data);
        }
    }
    buffer_format(&told, "] %.*s\n", (int)request->body.size, request->body.data);
}

/* Feeds a piece; false once the input is found broken. */
static bool feed(const char *data, size_t size)
{
    while (size > 0) {
        /* Exactly so many bytes, so that a sanitizer sees who reads beyond. */
        char *copy = malloc(size);
        size_t used;
        assert_non_null(copy);
        memcpy(copy, data, size);
        enum http_event event = http_parser_feed(&parser, copy, size, &used);
        bool head = event == HTTP_HAS_HEAD;
        if (head) {
            event = http_parser_body(&parser);
        }
        free(copy);
        assert_true(used <= size);
        data += used;
        size -= used;
        if (event == HTTP_IS_BROKEN) {
            buffer_format(&told, "%d\n", parser.status);
            assert_non_null(parser.why);
            return false;
        }
        if (event == HTTP_NEEDS_CONTINUE) {
            buffer_text(&told, "100\n");
        } else if (event == HTTP_HAS_REQUEST) {
            tell_request();
            http_parser_next(&parser);
        } else {
            assert_true(size == 0 || head);
        }
    }
    return true;
}

static void begin(void)
{
    buffer_clear(&told);
    http_parser_init(&parser, &memory);
    parser.max_body = MAX_BODY;
}

static const char *end(void)
{
    http_parser_free(&parser);
    buffer_byte(&told, 0);
    return told.data;
}

/* What comes of the input in one piece, in pieces of one byte, and cut in two at every place. */
static void expect(const char *input, size_t size, const char *expected)
{
    begin();
    feed(input, size);
    assert_string_equal(end(), expected);
    begin();
    for (size_t i = 0; i < size && feed(input + i, 1); i++) {}
    assert_string_equal(end(), expected);
    for (size_t cut = 1; cut < size; cut++) {
        begin();
        if (feed(input, cut)) {
            feed(input + cut, size - cut);
        }
        assert_string_equal(end(), expected);
    }
}

#define EXPECT(literal, expected) expect(literal, sizeof(literal) - 1, expected)

static void requests_are_read_as_they_were_meant(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /? 1.1 keep [Host=x;] \n");
    EXPECT("GET /a/b?c=d&e HTTP/1.1\r\nHost:x:4654\r\nAccept: a\r\nAccept: b\r\n\r\n",
           "GET /a/b?c=d&e 1.1 keep [Host=x:4654;Accept=a;] \n");
    EXPECT("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
           "POST /p? 1.1 keep [Host=x;CL=5;] hello\n");
    EXPECT("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
           "POST /p? 1.1 keep [Host=x;CL=0;] \n");
    EXPECT("PUT /p HTTP/1.1\r\nhOsT: x\r\nIDEMPOTENCY-KEY:  k 1 \t\r\ncontent-length: 1\r\n\r\nx",
           "PUT /p? 1.1 keep [Host=x;CL=1;Key=k 1;] x\n");
    EXPECT("DELETE /p HTTP/1.1\r\nHost: [::1]:80\r\nX-Other: \xc3\xa9\r\nX-Request-Id:\r\n\r\n",
           "DELETE /p? 1.1 keep [Host=[::1]:80;Id=;] \n");
    EXPECT("GET /%41 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
           "GET /%41? 1.1 close [Host=x;] \n");
    EXPECT("GET / HTTP/1.0\r\n\r\n", "GET /? 1.0 close [] \n");
    EXPECT("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET /? 1.0 keep [] \n");
    EXPECT("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /? 1.1 keep [Host=x;] \n");
    EXPECT("HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD /h? 1.1 keep [Host=x;] \n");
}

static void a_target_may_be_absolute_or_a_star(void **state)
{
    (void)state;
    EXPECT("GET http://h:1/p?q HTTP/1.1\r\nHost: x\r\n\r\n", "GET /p?q 1.1 keep [Host=h:1;] \n");
    EXPECT("GET HTTPS://h HTTP/1.1\r\nHost: x\r\n\r\n", "GET /? 1.1 keep [Host=h;] \n");
    EXPECT("GET http://h?q=1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /?q=1 1.1 keep [Host=h;] \n");
    EXPECT("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS *? 1.1 keep [Host=x;] \n");
    EXPECT("GET * HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET p HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET /#f HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("CONNECT h:443 HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
}

static void chunks_are_put_together(void **state)
{
    (void)state;
#define CHUNKED "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    EXPECT(CHUNKED "5\r\nhello\r\n1;a=b\r\n!\r\n0\r\n\r\n",
           "POST /? 1.1 keep [Host=x;TE=chunked;] hello!\n");
    EXPECT(CHUNKED "0\r\n\r\n", "POST /? 1.1 keep [Host=x;TE=chunked;] \n");
    EXPECT(CHUNKED "00a\r\n0123456789\r\n00;x\r\nHost: y\r\nX: z\r\n\r\nGET / HTTP/1.1\r\nHost: "
                   "w\r\n\r\n",
           "POST /? 1.1 keep [Host=x;TE=chunked;] 0123456789\nGET /? 1.1 keep [Host=w;] \n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
           "POST /? 1.1 keep [Host=x;TE=CHUNKED;] \n");
}

static void bad_chunks_are_refused(void **state)
{
    (void)state;
    EXPECT(CHUNKED "5\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "5\r\nhello\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "5\r\nhello0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "5\r\nhello!\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "5 \r\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED " 5\r\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "0x5\r\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "+5\r\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "-1\r\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "\r\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "g\r\n", "400\n");
    EXPECT(CHUNKED "11111111111111111\r\n", "400\n");
    EXPECT(CHUNKED "5;a\x01\r\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "5;a\nhello\r\n0\r\n\r\n", "400\n");
    EXPECT(CHUNKED "0\r\nX: y\n\r\n", "400\n");
    EXPECT(CHUNKED "0\r\n folded\r\n\r\n", "400\n");
    EXPECT(CHUNKED "0\r\n\rX", "400\n");
    EXPECT(CHUNKED "41\r\n", "413\n");
    EXPECT(CHUNKED "ffffffffffffffff\r\n", "413\n");
}

static void many_chunks_are_bounded_together(void **state)
{
    (void)state;
    EXPECT(CHUNKED "20\r\n01234567890123456789012345678901\r\n"
                   "20\r\n01234567890123456789012345678901\r\n1\r\nx\r\n",
           "413\n");
}

/* Two programs that read these differently would see two different requests. */
static void what_could_be_read_in_two_ways_is_refused(void **state)
{
    (void)state;
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
           "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
           "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5 5\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", "400\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
           "Transfer-Encoding: chunked\r\n\r\n",
           "400\n");
    EXPECT("POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", "400\n");
}

static void other_codings_are_not_understood(void **state)
{
    static const char *const codings[] = {"gzip, chunked", "chunked, gzip", "xchunked",
                                          "identity",      "chunked,",      "chunked\x0b",
                                          "\"chunked\""};
    (void)state;

    for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++) {
        char input[256];
        snprintf(input, sizeof input, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: %s\r\n\r\n",
                 codings[i]);
        begin();
        assert_false(feed(input, strlen(input)));
        assert_true(parser.status == 400 || parser.status == 501);
        end();
    }
}

static void lines_end_in_CR_LF_and_nothing_else(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.1\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\n\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\n\n", "400\n");
    EXPECT("\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\rHost: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\rY: z\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\n\rX", "400\n");
    EXPECT("GET / HTTP/1.1\r\r\nHost: x\r\n\r\n", "400\n");
}

static void fields_are_well_formed(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\n Host: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost : x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost\t: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\n: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nA\xc3: c\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nA: b\x7f\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nA\0: b\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", "400\n");
}

static void the_request_line_has_three_words(void **state)
{
    (void)state;
    EXPECT("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET /  HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1 \r\nHost: x\r\n\r\n", "400\n");
    EXPECT(" GET / HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET /\x80 HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET /\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("G@T / HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET\0 / HTTP/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("get / HTTP/1.1\r\nHost: x\r\n\r\n", "501\n");
    EXPECT("BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "501\n");
    EXPECT("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\nHost: x\r\n\r\n", "501\n");
    EXPECT("\x16\x03\x01\x02", "400\n"); /* TLS, to a port without */
    EXPECT("*1\r\n$4\r\nPING\r\n", "400\n");
}

static void other_versions_are_told_apart_from_nonsense(void **state)
{
    (void)state;
    EXPECT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505\n");
    EXPECT("GET / HTTP/2.0\r\nHost: x\r\n\r\n", "505\n");
    EXPECT("GET / HTTP/1.2\r\nHost: x\r\n\r\n", "505\n");
    EXPECT("GET / HTTP/0.9\r\nHost: x\r\n\r\n", "505\n");
    EXPECT("GET / HTTP/11.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.10\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET / http/1.1\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET / ICE/1.0\r\nHost: x\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1,1\r\nHost: x\r\n\r\n", "400\n");
}

static void a_body_has_a_length_that_fits(void **state)
{
    (void)state;
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\n\r\n", "411\n");
    EXPECT("PUT / HTTP/1.1\r\nHost: x\r\n\r\n", "411\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65\r\n\r\n", "413\n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxxGET /2 HTTP/1.1\r\nHost: "
           "y\r\n\r\n",
           "GET /? 1.1 keep [Host=x;CL=2;] xx\nGET /2? 1.1 keep [Host=y;] \n");
    EXPECT("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
           "GET /2 HTTP/1.1\r\nHost: y\r\n\r\n",
           "GET /? 1.1 keep [Host=x;] \nGET /2? 1.1 keep [Host=y;] \n");
}

static void a_client_that_asks_is_told_to_go_on(void **state)
{
    (void)state;
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
           "100\nPOST /? 1.1 keep [Host=x;CL=2;Expect=100-continue;] ok\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 0\r\n\r\n",
           "POST /? 1.1 keep [Host=x;CL=0;Expect=100-Continue;] \n");
    EXPECT("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
           "POST /? 1.0 close [CL=2;Expect=100-continue;] ok\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\nok", "417\n");
    EXPECT("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99\r\n\r\n",
           "413\n");
}

static void requests_may_follow_each_other(void **state)
{
    (void)state;
    EXPECT("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: "
           "1\r\n\r\nx\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n",
           "GET /1? 1.1 keep [Host=x;] \nPOST /2? 1.1 keep [Host=x;CL=1;] x\n"
           "GET /3? 1.1 keep [Host=x;] \n400\n");
}

/* What is a byte too long, and what is not. */
static void heads_are_bounded(void **state)
{
    static char input[3 * HTTP_HEAD_MAX];
    (void)state;

    for (int over = 0; over <= 1; over++) {
        size_t size = (size_t)sprintf(input, "GET /");
        memset(input + size, 'a', (size_t)(HTTP_TARGET_MAX - 1 + over));
        size += (size_t)(HTTP_TARGET_MAX - 1 + over);
        size += (size_t)sprintf(input + size, " HTTP/1.1\r\nHost: x\r\n\r\n");
        begin();
        assert_true(feed(input, size) == !over);
        assert_true(!over || parser.status == 414);
        end();
    }
    for (int over = 0; over <= 1; over++) {
        size_t size = (size_t)sprintf(input, "GET / HTTP/1.1\r\nHost: x\r\nA: ");
        size_t fill = (size_t)(HTTP_HEAD_MAX - 4 + over) - size;
        memset(input + size, 'a', fill);
        size += fill;
        size += (size_t)sprintf(input + size, "\r\n\r\n");
        begin();
        assert_true(feed(input, size) == !over);
        assert_true(!over || parser.status == 431);
        end();
    }
}

static void an_idle_connection_keeps_little(void **state)
{
    static const char large[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n";
    char body[3000];
    (void)state;

    memset(body, 'x', sizeof body);
    begin();
    parser.max_body = sizeof body;
    assert_true(feed(large, sizeof large - 1));
    assert_true(http_parser_partial(&parser));
    assert_true(feed(body, sizeof body));
    assert_false(http_parser_partial(&parser));
    buffer_free(&told);
    assert_int_equal(memory.used, 0);
    assert_true(sizeof parser < 640);
    end();
}

static struct memory failing;
static unsigned allowed;

static void *fail_later(struct memory *from, void *block, size_t old_size, size_t new_size)
{
    (void)from;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return allowed-- > 0 ? realloc(block, new_size) : NULL;
}

static void without_memory_a_request_is_refused(void **state)
{
    static const char input[] = "POST /a/long/enough/path HTTP/1.1\r\nHost: somewhere.example\r\n"
                                "Content-Length: 5\r\n\r\nhello";
    (void)state;

    for (unsigned i = 0; i < 3; i++) {
        allowed = i;
        failing = (struct memory){.resize = fail_later};
        buffer_clear(&told);
        http_parser_init(&parser, &failing);
        parser.max_body = MAX_BODY;
        if (!feed(input, sizeof input - 1)) {
            assert_int_equal(parser.status, 503);
        }
        http_parser_free(&parser);
        assert_int_equal(failing.used, 0);
    }
}

/* A parser that has lost the thread stays that way. */
static void a_broken_connection_stays_broken(void **state)
{
    size_t used;
    (void)state;

    begin();
    assert_false(feed("\x01", 1));
    assert_int_equal(http_parser_feed(&parser, "GET / HTTP/1.1\r\n", 16, &used), HTTP_IS_BROKEN);
    assert_int_equal(used, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_read_as_they_were_meant),
        cmocka_unit_test(a_target_may_be_absolute_or_a_star),
        cmocka_unit_test(chunks_are_put_together),
        cmocka_unit_test(bad_chunks_are_refused),
        cmocka_unit_test(many_chunks_are_bounded_together),
        cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
        cmocka_unit_test(other_codings_are_not_understood),
        cmocka_unit_test(lines_end_in_CR_LF_and_nothing_else),
        cmocka_unit_test(fields_are_well_formed),
        cmocka_unit_test(the_request_line_has_three_words),
        cmocka_unit_test(other_versions_are_told_apart_from_nonsense),
        cmocka_unit_test(a_body_has_a_length_that_fits),
        cmocka_unit_test(a_client_that_asks_is_told_to_go_on),
        cmocka_unit_test(requests_may_follow_each_other),
        cmocka_unit_test(heads_are_bounded),
        cmocka_unit_test(an_idle_connection_keeps_little),
        cmocka_unit_test(without_memory_a_request_is_refused),
        cmocka_unit_test(a_broken_connection_stays_broken),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

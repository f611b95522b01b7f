/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a request: the lexer checks every byte, llhttp takes the head apart, and what the
 * front needs of it is kept. */
#include "server/http/http_parser.h"

#include "base/check.h"
#include "base/text.h"
#include "server/host.h"

#include <strings.h>

enum { READ_HEAD, READ_NOTHING, READ_BODY, READ_CHUNKS, READ_DONE, READ_BROKEN };

/* ---- what llhttp tells ----------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool may_repeat; /* a list; the first is the one we look at */
} header_table[HEADER_COUNT] = {
    [HEADER_HOST] = {"Host", false},
    [HEADER_CONTENT_LENGTH] = {"Content-Length", false},
    [HEADER_TRANSFER_ENCODING] = {"Transfer-Encoding", false},
    [HEADER_CONNECTION] = {"Connection", true},
    [HEADER_CONTENT_TYPE] = {"Content-Type", false},
    [HEADER_AUTHORIZATION] = {"Authorization", false},
    [HEADER_EXPECT] = {"Expect", false},
    [HEADER_ORIGIN] = {"Origin", false},
    [HEADER_IDEMPOTENCY_KEY] = {"Idempotency-Key", false},
    [HEADER_REQUEST_ID] = {"X-Request-Id", false},
    [HEADER_LAST_EVENT_ID] = {"Last-Event-ID", false},
    [HEADER_ACCEPT] = {"Accept", true},
    [HEADER_PREFER] = {"Prefer", true},
    [HEADER_WEBHOOK_ID] = {"webhook-id", false},
    [HEADER_WEBHOOK_TIMESTAMP] = {"webhook-timestamp", false},
    [HEADER_WEBHOOK_SIGNATURE] = {"webhook-signature", false},
    [HEADER_ASKED_METHOD] = {"Access-Control-Request-Method", false},
    [HEADER_ASKED_HEADERS] = {"Access-Control-Request-Headers", true},
    [HEADER_ACCEPT_ENCODING] = {"Accept-Encoding", true},
    [HEADER_IF_NONE_MATCH] = {"If-None-Match", true},
};

/* All of a span lies in one buffer, so that its pieces are next to each other. */
static void extend(struct http_parser *parser, const char *at, size_t size)
{
    if (parser->span.size == 0) {
        parser->span.data = at;
    }
    parser->span.size = (size_t)(at + size - parser->span.data);
}

static int on_span(llhttp_t *llhttp, const char *at, size_t size)
{
    struct http_parser *parser = llhttp->data;

    extend(parser, at, size);
    return 0;
}

static int on_url_complete(llhttp_t *llhttp)
{
    struct http_parser *parser = llhttp->data;

    parser->request.path = (char *)parser->head.data + (parser->span.data - parser->head.data);
    parser->request.path_size = parser->span.size;
    parser->span = (struct hf_bytes){"", 0};
    return 0;
}

static int on_name_complete(llhttp_t *llhttp)
{
    struct http_parser *parser = llhttp->data;
    unsigned i = 0;

    while (i < HEADER_COUNT &&
           (strncasecmp(parser->span.data, header_table[i].name, parser->span.size) != 0 ||
            header_table[i].name[parser->span.size] != '\0')) {
        i++;
    }
    parser->header = (enum http_header)i;
    parser->span = (struct hf_bytes){"", 0};
    return 0;
}

/* A list of words, in as many fields as the client likes. */
static void read_connection(struct http_parser *parser, struct hf_bytes value)
{
    for (size_t at = 0, end; at <= value.size; at = end + 1) {
        const char *comma = at < value.size ? memchr(value.data + at, ',', value.size - at) : NULL;
        end = comma != NULL ? (size_t)(comma - value.data) : value.size;
        struct hf_bytes word = text_trim((struct hf_bytes){value.data + at, end - at});
        parser->closes |= text_is_word(word, "CLOSE");
        parser->keeps |= text_is_word(word, "KEEP-ALIVE");
    }
}

static int on_value_complete(llhttp_t *llhttp)
{
    struct http_parser *parser = llhttp->data;
    struct hf_bytes value = parser->span;

    parser->span = (struct hf_bytes){"", 0};
    if (parser->header == HEADER_COUNT) {
        return 0;
    }
    if (parser->header == HEADER_CONNECTION) {
        read_connection(parser, value);
    }
    value = text_trim(value);
    struct hf_bytes *known = &parser->request.headers[parser->header];
    if (known->data == NULL) {
        *known = value;
    } else if (!header_table[parser->header].may_repeat) {
        parser->repeated = true;
    }
    return 0;
}

static int on_headers_complete(llhttp_t *llhttp)
{
    struct http_parser *parser = llhttp->data;

    parser->request.method = (llhttp_method_t)llhttp->method;
    parser->request.method_name = llhttp_method_name(parser->request.method);
    parser->request.minor = llhttp->http_minor;
    parser->request.keep_alive = !parser->closes && (llhttp->http_minor > 0 || parser->keeps);
    llhttp->upgrade = 0; /* we never do */
    return 0;
}

static const llhttp_settings_t callbacks = {
    .on_url = on_span,
    .on_url_complete = on_url_complete,
    .on_header_field = on_span,
    .on_header_field_complete = on_name_complete,
    .on_header_value = on_span,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_headers_complete,
};

/* ---- one after the other --------------------------------------------------------------------- */

/* From the first byte of a request. Most connections are idle most of the time: they keep
 * nothing. */
static void start_over(struct http_parser *parser)
{
    buffer_free(&parser->head);
    buffer_free(&parser->body);
    http_lexer_head(&parser->lexer);
    parser->state = READ_HEAD;
    parser->chunked = parser->continues = parser->skips = parser->repeated = false;
    parser->closes = parser->keeps = false;
    parser->body_left = 0;
    parser->request = (struct http_request){.path = NULL};
}

/* ---- the head -------------------------------------------------------------------------------- */

static enum http_event broken(struct http_parser *parser, int status, const char *why)
{
    parser->state = READ_BROKEN;
    parser->status = status;
    parser->why = why;
    return HTTP_IS_BROKEN;
}

/* Says no to the head, with the same effect. */
static bool refuse(struct http_parser *parser, int status, const char *why)
{
    broken(parser, status, why);
    return false;
}

/* Turns the target into path and query: "/path?query", "http://host/path?query" or "*". The host of
 * an absolute one counts instead of Host. */
static bool split_target(struct http_parser *parser)
{
    struct http_request *request = &parser->request;
    char *at = request->path, *end = at + request->path_size;

    if (memchr(at, '#', request->path_size) != NULL) {
        return refuse(parser, 400, "a fragment in the target");
    }
    size_t scheme = strncasecmp(at, "http://", 7) == 0    ? 7
                    : strncasecmp(at, "https://", 8) == 0 ? 8
                                                          : 0;
    if (scheme > 0) {
        for (at += scheme; at < end && *at != '/' && *at != '?';) {
            at++;
        }
        const char *host = request->path + scheme;
        request->headers[HEADER_HOST] = (struct hf_bytes){host, (size_t)(at - host)};
        if (at == end || *at == '?') {
            /* No path: it is "/", for which the byte after the host, a ? or the space before the
             * version, has room. */
            request->path = at;
            request->path_size = 1;
            request->query = (struct hf_bytes){at + 1, at == end ? 0 : (size_t)(end - at - 1)};
            *at = '/';
            return true;
        }
    } else if (*at != '/' && !(request->method == HTTP_OPTIONS && end - at == 1 && *at == '*')) {
        return refuse(parser, 400, "the target is not a path");
    }
    char *mark = memchr(at, '?', (size_t)(end - at));
    request->path = at;
    request->path_size = (size_t)((mark != NULL ? mark : end) - at);
    if (mark != NULL) {
        request->query = (struct hf_bytes){mark + 1, (size_t)(end - mark - 1)};
    }
    return true;
}

/* Host has to be there and in order, also where an absolute target replaces it. */
static bool check_host(struct http_parser *parser)
{
    struct hf_bytes authority = parser->request.headers[HEADER_HOST], host;

    if (authority.data == NULL) {
        return parser->request.minor == 0 || refuse(parser, 400, "no Host");
    }
    return host_split(authority, &host) || refuse(parser, 400, "Host is not HOST or HOST:PORT");
}

/* How long the body is: what two programs must never see differently. */
static bool check_framing(struct http_parser *parser)
{
    const struct http_request *request = &parser->request;
    struct hf_bytes length = request->headers[HEADER_CONTENT_LENGTH];
    struct hf_bytes coding = request->headers[HEADER_TRANSFER_ENCODING];
    int64_t size = 0;

    if (coding.data != NULL) {
        if (length.data != NULL || request->minor == 0) {
            return refuse(parser, 400, "Transfer-Encoding with Content-Length, or in HTTP/1.0");
        }
        if (!text_is_word(coding, "CHUNKED")) {
            return refuse(parser, 501, "Transfer-Encoding can only be chunked");
        }
        parser->chunked = true;
        return true;
    }
    if (length.data == NULL) {
        bool needed = request->method == HTTP_POST || request->method == HTTP_PUT;
        return !needed || refuse(parser, 411, "Content-Length is missing");
    }
    if (length.size > 18 || !text_to_integer(length, &size) || size < 0 || length.data[0] == '-') {
        return refuse(parser, 400, "Content-Length is not a number");
    }
    parser->body_left = (uint64_t)size;
    return true;
}

static bool has_body(const struct http_parser *parser)
{
    return parser->chunked || parser->body_left > 0;
}

static bool check_expect(struct http_parser *parser)
{
    struct hf_bytes expect = parser->request.headers[HEADER_EXPECT];

    if (expect.data == NULL || parser->request.minor == 0) {
        return true;
    }
    if (!text_is_word(expect, "100-CONTINUE")) {
        return refuse(parser, 417, "Expect can only be 100-continue");
    }
    parser->continues = has_body(parser);
    return true;
}

static enum http_event done(struct http_parser *parser)
{
    if (parser->skips) {
        start_over(parser);
        return HTTP_NEEDS_MORE;
    }
    if (parser->body.failed) {
        return broken(parser, 503, "out of memory");
    }
    parser->state = READ_DONE;
    parser->request.body = (struct hf_bytes){parser->body.data, parser->body.size};
    return HTTP_HAS_REQUEST;
}

/* Tabs around the value of a field are spaces as well (RFC 9110, 5.5), which llhttp does not know
 * everywhere. */
static void space_tabs(struct buffer *head)
{
    char *end = head->data + head->size;

    for (char *at = head->data; (at = memchr(at, '\t', (size_t)(end - at))) != NULL;) {
        char *start = at, *stop = at;
        while (start[-1] == ' ') { /* the request line is before it, which has no tab */
            start--;
        }
        while (*stop == '\t' || *stop == ' ') { /* a CR is behind it */
            stop++;
        }
        if (start[-1] == ':' || *stop == '\r') {
            memset(start, ' ', (size_t)(stop - start));
        }
        at = stop;
    }
}

static enum http_event head_done(struct http_parser *parser)
{
    space_tabs(&parser->head);
    llhttp_init(&parser->llhttp, HTTP_REQUEST, &callbacks);
    parser->llhttp.data = parser;
    parser->span = (struct hf_bytes){"", 0};
    llhttp_errno_t error = llhttp_execute(&parser->llhttp, parser->head.data, parser->head.size);
    if (error == HPE_INVALID_METHOD) {
        return broken(parser, 501, "there is no such method");
    }
    if (error != HPE_OK || parser->request.path == NULL || parser->request.method_name == NULL) {
        const char *why = llhttp_get_error_reason(&parser->llhttp);
        return broken(parser, 400, why != NULL && *why != '\0' ? why : "malformed request");
    }
    if (parser->repeated) {
        return broken(parser, 400, "a header field that can be there once is there twice");
    }
    if (!check_host(parser) || !split_target(parser) || !check_host(parser) ||
        !check_framing(parser) || !check_expect(parser)) {
        return HTTP_IS_BROKEN;
    }
    parser->state = READ_NOTHING;
    return HTTP_HAS_HEAD;
}

static enum http_event read_head(struct http_parser *parser, const char *data, size_t size,
                                 size_t *used)
{
    int status = http_lexer_feed(&parser->lexer, data, size, used);

    if (status != 0) {
        return broken(parser, status, parser->lexer.why);
    }
    buffer_bytes(&parser->head, data, *used);
    if (parser->head.failed) {
        return broken(parser, 503, "out of memory");
    }
    return http_lexer_done(&parser->lexer) ? head_done(parser) : HTTP_NEEDS_MORE;
}

/* ---- the body -------------------------------------------------------------------------------- */

enum http_event http_parser_body(struct http_parser *parser)
{
    CHECK(parser->state == READ_NOTHING);
    if (!has_body(parser)) {
        return done(parser);
    }
    if (parser->body_left > parser->max_body) {
        return broken(parser, 413, "the body is too large");
    }
    parser->state = parser->chunked ? READ_CHUNKS : READ_BODY;
    if (parser->chunked) {
        http_lexer_chunks(&parser->lexer, parser->max_body, parser->skips ? NULL : &parser->body);
    }
    bool continues = parser->continues;
    parser->continues = false;
    return continues ? HTTP_NEEDS_CONTINUE : HTTP_NEEDS_MORE;
}

static enum http_event read_body(struct http_parser *parser, const char *data, size_t size,
                                 size_t *used)
{
    *used = parser->body_left < size ? (size_t)parser->body_left : size;
    if (!parser->skips) {
        buffer_bytes(&parser->body, data, *used);
    }
    parser->body_left -= *used;
    return parser->body_left == 0 ? done(parser) : HTTP_NEEDS_MORE;
}

static enum http_event read_chunks(struct http_parser *parser, const char *data, size_t size,
                                   size_t *used)
{
    int status = http_lexer_feed(&parser->lexer, data, size, used);

    if (status != 0) {
        return broken(parser, status, parser->lexer.why);
    }
    if (!http_lexer_done(&parser->lexer)) {
        return parser->body.failed ? broken(parser, 503, "out of memory") : HTTP_NEEDS_MORE;
    }
    CHECK(parser->skips || parser->body.failed || parser->body.size == parser->lexer.body);
    return done(parser);
}

/* ---- all ------------------------------------------------------------------------------------- */

void http_parser_init(struct http_parser *parser, struct memory *memory)
{
    *parser = (struct http_parser){.state = READ_HEAD};
    buffer_init(&parser->head, memory);
    buffer_init(&parser->body, memory);
    http_lexer_head(&parser->lexer);
}

void http_parser_free(struct http_parser *parser)
{
    buffer_free(&parser->head);
    buffer_free(&parser->body);
}

void http_parser_drop_body(struct http_parser *parser)
{
    buffer_free(&parser->body);
    parser->request.body = (struct hf_bytes){NULL, 0};
}

bool http_parser_can_skip(const struct http_parser *parser)
{
    return parser->state != READ_NOTHING ||
           (!parser->continues && parser->body_left <= parser->max_body);
}

void http_parser_next(struct http_parser *parser)
{
    if (parser->state != READ_NOTHING || !has_body(parser)) {
        start_over(parser);
        return;
    }
    bool can = http_parser_can_skip(parser);
    buffer_free(&parser->head);
    parser->request = (struct http_request){.path = NULL};
    parser->skips = true;
    parser->state = READ_BROKEN;
    if (can) {
        parser->state = READ_NOTHING;
        http_parser_body(parser);
    }
}

bool http_parser_partial(const struct http_parser *parser)
{
    return parser->state == READ_BODY || parser->state == READ_CHUNKS ||
           (parser->state == READ_HEAD && parser->head.size > 0);
}

enum http_event http_parser_feed(struct http_parser *parser, const char *data, size_t size,
                                 size_t *used)
{
    enum http_event event = HTTP_NEEDS_MORE;

    *used = 0;
    while (event == HTTP_NEEDS_MORE && *used < size) {
        size_t step = 0;
        switch (parser->state) {
        case READ_HEAD:
            event = read_head(parser, data + *used, size - *used, &step);
            break;
        case READ_BODY:
            event = read_body(parser, data + *used, size - *used, &step);
            break;
        case READ_CHUNKS:
            event = read_chunks(parser, data + *used, size - *used, &step);
            break;
        case READ_NOTHING:
            return HTTP_HAS_HEAD;
        case READ_DONE:
            return HTTP_HAS_REQUEST;
        default:
            return HTTP_IS_BROKEN;
        }
        *used += step;
    }
    return event;
}

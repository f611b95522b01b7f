/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a request: the lexer checks every byte of a head, which is then taken apart where its
 * spaces, colons and line ends are, and what the front needs of it is kept. */
#include "server/http/http_parser.h"

#include "base/check.h"
#include "base/text.h"
#include "server/host.h"

#include <strings.h>

enum { READ_HEAD, READ_NOTHING, READ_BODY, READ_CHUNKS, READ_DONE, READ_BROKEN };

/* ---- names ----------------------------------------------------------------------------------- */

#define NAMED(text) .name = text, .size = sizeof(text) - 1

static const struct {
    const char *name;
    size_t size;
    bool may_repeat; /* a list; the first is the one we look at */
} header_table[HEADER_COUNT] = {
    [HEADER_HOST] = {NAMED("Host")},
    [HEADER_CONTENT_LENGTH] = {NAMED("Content-Length")},
    [HEADER_TRANSFER_ENCODING] = {NAMED("Transfer-Encoding")},
    [HEADER_CONNECTION] = {NAMED("Connection"), .may_repeat = true},
    [HEADER_CONTENT_TYPE] = {NAMED("Content-Type")},
    [HEADER_AUTHORIZATION] = {NAMED("Authorization")},
    [HEADER_EXPECT] = {NAMED("Expect")},
    [HEADER_ORIGIN] = {NAMED("Origin")},
    [HEADER_IDEMPOTENCY_KEY] = {NAMED("Idempotency-Key")},
    [HEADER_REQUEST_ID] = {NAMED("X-Request-Id")},
    [HEADER_LAST_EVENT_ID] = {NAMED("Last-Event-ID")},
    [HEADER_ACCEPT] = {NAMED("Accept"), .may_repeat = true},
    [HEADER_PREFER] = {NAMED("Prefer"), .may_repeat = true},
    [HEADER_WEBHOOK_ID] = {NAMED("webhook-id")},
    [HEADER_WEBHOOK_TIMESTAMP] = {NAMED("webhook-timestamp")},
    [HEADER_WEBHOOK_SIGNATURE] = {NAMED("webhook-signature")},
    [HEADER_ASKED_METHOD] = {NAMED("Access-Control-Request-Method")},
    [HEADER_ASKED_HEADERS] = {NAMED("Access-Control-Request-Headers"), .may_repeat = true},
    [HEADER_ACCEPT_ENCODING] = {NAMED("Accept-Encoding"), .may_repeat = true},
    [HEADER_IF_NONE_MATCH] = {NAMED("If-None-Match"), .may_repeat = true},
    [HEADER_TRACEPARENT] = {NAMED("traceparent"), .may_repeat = true},
    [HEADER_TRACESTATE] = {NAMED("tracestate"), .may_repeat = true},
};

/* All that HTTP knows, those we take first. Any other is no method. */
static const struct {
    const char *name;
    size_t size;
    enum http_method method;
} method_table[] = {
    {NAMED("GET"), HTTP_GET},          {NAMED("POST"), HTTP_POST},
    {NAMED("PUT"), HTTP_PUT},          {NAMED("DELETE"), HTTP_DELETE},
    {NAMED("HEAD"), HTTP_HEAD},        {NAMED("OPTIONS"), HTTP_OPTIONS},
    {NAMED("ACL"), HTTP_OTHER},        {NAMED("BIND"), HTTP_OTHER},
    {NAMED("CHECKOUT"), HTTP_OTHER},   {NAMED("CONNECT"), HTTP_OTHER},
    {NAMED("COPY"), HTTP_OTHER},       {NAMED("LINK"), HTTP_OTHER},
    {NAMED("LOCK"), HTTP_OTHER},       {NAMED("M-SEARCH"), HTTP_OTHER},
    {NAMED("MERGE"), HTTP_OTHER},      {NAMED("MKACTIVITY"), HTTP_OTHER},
    {NAMED("MKCALENDAR"), HTTP_OTHER}, {NAMED("MKCOL"), HTTP_OTHER},
    {NAMED("MOVE"), HTTP_OTHER},       {NAMED("NOTIFY"), HTTP_OTHER},
    {NAMED("PATCH"), HTTP_OTHER},      {NAMED("PROPFIND"), HTTP_OTHER},
    {NAMED("PROPPATCH"), HTTP_OTHER},  {NAMED("PURGE"), HTTP_OTHER},
    {NAMED("REBIND"), HTTP_OTHER},     {NAMED("REPORT"), HTTP_OTHER},
    {NAMED("SEARCH"), HTTP_OTHER},     {NAMED("SOURCE"), HTTP_OTHER},
    {NAMED("SUBSCRIBE"), HTTP_OTHER},  {NAMED("TRACE"), HTTP_OTHER},
    {NAMED("UNBIND"), HTTP_OTHER},     {NAMED("UNLINK"), HTTP_OTHER},
    {NAMED("UNLOCK"), HTTP_OTHER},     {NAMED("UNSUBSCRIBE"), HTTP_OTHER},
};

static bool read_method(struct http_request *request, struct hf_bytes name)
{
    for (size_t i = 0; i < sizeof method_table / sizeof method_table[0]; i++) {
        if (method_table[i].size == name.size &&
            memcmp(method_table[i].name, name.data, name.size) == 0) {
            request->method = method_table[i].method;
            request->method_name = method_table[i].name;
            return true;
        }
    }
    return false;
}

static enum http_header find_header(struct hf_bytes name)
{
    unsigned i = 0;

    while (i < HEADER_COUNT && (header_table[i].size != name.size ||
                                strncasecmp(name.data, header_table[i].name, name.size) != 0)) {
        i++;
    }
    return (enum http_header)i;
}

/* ---- fields ---------------------------------------------------------------------------------- */

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

static void take_field(struct http_parser *parser, struct hf_bytes name, struct hf_bytes value)
{
    enum http_header header = find_header(name);

    if (header == HEADER_COUNT) {
        return;
    }
    if (header == HEADER_CONNECTION) {
        read_connection(parser, value);
    }
    struct hf_bytes *known = &parser->request.headers[header];
    if (known->data == NULL) {
        *known = text_trim(value);
    } else if (header == HEADER_TRACEPARENT) {
        *known = (struct hf_bytes){"", 0}; /* which of two it is part of is not known */
    } else if (!header_table[header].may_repeat) {
        parser->repeated = true;
    }
}

/* Where the next `c` is, which the lexer has seen. */
static char *find(const struct buffer *head, const char *from, char c)
{
    char *found = memchr(from, c, (size_t)(head->data + head->size - from));

    CHECK(found != NULL);
    return found;
}

/* Takes a head apart that the lexer found to be METHOD TARGET HTTP/1.x and fields, a line each.
 * False if there is no such method. */
static bool take_apart(struct http_parser *parser)
{
    static const char version[] = " HTTP/1.1\r\n";
    struct http_request *request = &parser->request;
    const struct buffer *head = &parser->head;
    char *at = head->data + (head->data[0] == '\r' ? 2 : 0); /* an empty line may stand before it */
    char *end = find(head, at, ' ');

    if (!read_method(request, (struct hf_bytes){at, (size_t)(end - at)})) {
        return false;
    }
    request->path = end + 1;
    end = find(head, request->path, ' ');
    request->path_size = (size_t)(end - request->path);
    request->minor = (unsigned)(end[sizeof version - 4] - '0');
    for (at = end + sizeof version - 1; *at != '\r'; at = end + 2) {
        const char *colon = find(head, at, ':');
        end = find(head, colon, '\r');
        take_field(parser, (struct hf_bytes){at, (size_t)(colon - at)},
                   (struct hf_bytes){colon + 1, (size_t)(end - colon - 1)});
    }
    request->keep_alive = !parser->closes && (request->minor > 0 || parser->keeps);
    return true;
}

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

/* Host has to be there and in order, also where an absolute target replaces it. */
static bool check_host(struct http_parser *parser)
{
    struct http_request *request = &parser->request;
    struct hf_bytes authority = request->headers[HEADER_HOST];

    if (authority.data == NULL) {
        return request->minor == 0 || refuse(parser, 400, "no Host");
    }
    return host_split(authority, &request->host) ||
           refuse(parser, 400, "Host is not HOST or HOST:PORT");
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
        if (!check_host(parser)) {
            return false;
        }
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

/* A body ends where its chunks end: chunked is the last coding, and there once (RFC 9112, 6.1 and
 * 6.3). Another one before it would have to be undone, which we cannot. */
static bool check_coding(struct http_parser *parser, struct hf_bytes coding)
{
    const char *end = coding.data + coding.size;
    const char *first = coding.size > 0 ? memchr(coding.data, ',', coding.size) : NULL;

    if (first != NULL) {
        const char *last = (const char *)memrchr(coding.data, ',', coding.size) + 1;
        bool twice =
            text_is_word((struct hf_bytes){coding.data, (size_t)(first - coding.data)}, "CHUNKED");
        bool ends =
            text_is_word(text_trim((struct hf_bytes){last, (size_t)(end - last)}), "CHUNKED");
        return ends && !twice ? refuse(parser, 501, "Transfer-Encoding can only be chunked")
                              : refuse(parser, 400, "chunked is not the last coding, once");
    }
    if (coding.size == 0) {
        return refuse(parser, 501, "Transfer-Encoding can only be chunked");
    }
    parser->chunked = text_is_word(coding, "CHUNKED");
    return parser->chunked || refuse(parser, 400, "Transfer-Encoding does not end in chunked");
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
        return check_coding(parser, coding);
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

static enum http_event head_done(struct http_parser *parser)
{
    if (!take_apart(parser)) {
        return broken(parser, 501, "there is no such method");
    }
    if (parser->repeated) {
        return broken(parser, 400, "a header field that can be there once is there twice");
    }
    if (!check_host(parser) || !split_target(parser) || !check_framing(parser) ||
        !check_expect(parser)) {
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

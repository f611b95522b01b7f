/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes in, requests of HTTP/1.1 out. http_lexer.c looks at the bytes first and lets nothing past
 * that could be read in two ways, so that the head only has to be taken apart. No socket, no
 * session. */
#ifndef SERVER_HTTP_HTTP_PARSER_H
#define SERVER_HTTP_HTTP_PARSER_H

#include "base/buffer.h"
#include "server/http/http_lexer.h"

/* The methods anybody here takes; HTTP_OTHER is one that HTTP knows and we do not take. */
enum http_method {
    HTTP_OTHER,
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_OPTIONS
};

/* The header fields anybody here looks at. */
enum http_header {
    HEADER_HOST, /* or what an absolute target says instead */
    HEADER_CONTENT_LENGTH,
    HEADER_TRANSFER_ENCODING,
    HEADER_CONNECTION,
    HEADER_CONTENT_TYPE,
    HEADER_AUTHORIZATION,
    HEADER_EXPECT,
    HEADER_ORIGIN,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_REQUEST_ID,
    HEADER_LAST_EVENT_ID,
    HEADER_ACCEPT,
    HEADER_PREFER,
    HEADER_WEBHOOK_ID,
    HEADER_WEBHOOK_TIMESTAMP,
    HEADER_WEBHOOK_SIGNATURE,
    HEADER_ASKED_METHOD,  /* Access-Control-Request-Method */
    HEADER_ASKED_HEADERS, /* Access-Control-Request-Headers */
    HEADER_ACCEPT_ENCODING,
    HEADER_IF_NONE_MATCH,
    HEADER_TRACEPARENT,
    HEADER_TRACESTATE,
    HEADER_COUNT
};

struct http_request {
    enum http_method method;
    const char *method_name; /* static */
    char *path;              /* may be written to; begins with /, or is * alone */
    size_t path_size;
    struct hf_bytes query;                 /* what follows the ? */
    struct hf_bytes headers[HEADER_COUNT]; /* data is NULL where there is none */
    struct hf_bytes host;                  /* of HEADER_HOST, without the port */
    struct hf_bytes body;
    unsigned minor; /* of HTTP/1.x */
    bool keep_alive;
};

struct http_parser {
    struct http_lexer lexer;
    struct buffer head, body;
    uint64_t max_body;  /* the caller's to set, before http_parser_body() */
    uint64_t body_left; /* of a body of known length */
    uint8_t state;
    bool chunked;       /* the body comes in chunks */
    bool continues;     /* the client waits for a go-ahead before it sends the body */
    bool skips;         /* the request was answered before its body came, which is passed over */
    bool repeated;      /* a field that may be there once was there twice */
    bool closes, keeps; /* what Connection says */
    struct http_request request;
    int status;      /* the HTTP status of a broken request's answer */
    const char *why; /* what is wrong with the request; static */
};

enum http_event {
    HTTP_NEEDS_MORE,
    HTTP_HAS_HEAD,       /* all of `request` but the body: http_parser_body() goes on with that, and
                          * http_parser_next() without it */
    HTTP_NEEDS_CONTINUE, /* answer 100, then go on */
    HTTP_HAS_REQUEST,    /* `request` is whole, and stays until http_parser_next() */
    HTTP_IS_BROKEN /* answer `status`, and close: where the next request begins is not known */
};

void http_parser_init(struct http_parser *parser, struct memory *memory);
void http_parser_free(struct http_parser *parser);

/* The body of the request is needed no more. */
void http_parser_drop_body(struct http_parser *parser);

/* Takes bytes up to the next event; *used says how many. */
enum http_event http_parser_feed(struct http_parser *parser, const char *data, size_t size,
                                 size_t *used);

/* The body of the request that has its head is wanted. It may be there already, as none is. */
enum http_event http_parser_body(struct http_parser *parser);

/* The request is dealt with: gives its memory back, and waits for the next. A body that was not
 * asked for is passed over. */
void http_parser_next(struct http_parser *parser);

/* Can the next request be found behind a body that nobody asked for? Not if the client may not send
 * it at all, and not if it is too large to wait for. */
bool http_parser_can_skip(const struct http_parser *parser);

/* Has it begun to read a request that is not whole yet? */
bool http_parser_partial(const struct http_parser *parser);

#endif

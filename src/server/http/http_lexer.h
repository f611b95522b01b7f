/* SPDX-License-Identifier: Apache-2.0
 *
 * A strict look at the bytes of an HTTP request, before the parser that understands them. The
 * parser forgives what old clients got wrong; two programs that forgive differently can be made to
 * see two different requests in the same bytes. So only what RFC 9112 has a rule for gets past
 * here: lines end in CR LF and nothing else, there is one space where one is due, a field line
 * begins with its name, the colon follows the name, and there are no control characters. */
#ifndef SERVER_HTTP_HTTP_LEXER_H
#define SERVER_HTTP_HTTP_LEXER_H

#include "base/buffer.h"

#define HTTP_METHOD_MAX 32
#define HTTP_TARGET_MAX 8192
#define HTTP_HEAD_MAX 16384     /* request line and fields, or fields behind the last chunk */
#define HTTP_CHUNK_LINE_MAX 256 /* a chunk's size and what may stand behind it */

struct http_lexer {
    uint8_t state;
    uint32_t at;         /* bytes of the method, the target, the version or the chunk's line */
    uint32_t fields;     /* bytes of the head so far */
    uint64_t left;       /* bytes of this chunk that are to come */
    uint64_t body, most; /* bytes of all chunks so far, and how many there may be */
    struct buffer *out;  /* where the bytes of chunks go; NULL: nowhere */
    const char *why;     /* of a failure; static */
};

/* From the first byte of a request; a single empty line may stand before it. */
void http_lexer_head(struct http_lexer *lexer);
/* From the first byte of a chunked body, of at most `most` bytes, which go to `out`. */
void http_lexer_chunks(struct http_lexer *lexer, uint64_t most, struct buffer *out);

/* Looks at bytes up to the end of the head or body; *used says how many that were, the bad one
 * included. Returns 0, or the status that tells the client what is wrong. */
int http_lexer_feed(struct http_lexer *lexer, const char *data, size_t size, size_t *used);

#define HTTP_LEXER_DONE UINT8_MAX /* the state at the end */
static inline bool http_lexer_done(const struct http_lexer *lexer)
{
    return lexer->state == HTTP_LEXER_DONE;
}

#endif

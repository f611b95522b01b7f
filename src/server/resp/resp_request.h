/* SPDX-License-Identifier: Apache-2.0
 *
 * A request in RESP, read from the start of some bytes: an array of bulk strings, or words on a
 * line of their own ("inline"), where "double" and 'single' quotes keep words together. It keeps
 * nothing between calls, so that it makes no difference how the bytes were cut up on their way. */
#ifndef SERVER_RESP_RESP_REQUEST_H
#define SERVER_RESP_RESP_REQUEST_H

#include "holdfast.h"

#define RESP_WORDS_MAX 1024
#define RESP_INLINE_MAX ((size_t)16 << 10)

/* What a client may send. */
struct resp_limits {
    size_t words;
    size_t word_bytes;
    size_t request_bytes; /* all of it */
};

enum resp_result {
    RESP_INCOMPLETE, /* more bytes are needed */
    RESP_REQUEST,    /* `used` bytes made `count` words; 0 words are nothing to answer */
    RESP_MALFORMED,  /* `problem` says why; there is no way to go on */
};

struct resp_request {
    size_t used;
    size_t count;
    const char *problem;                   /* static */
    struct hf_bytes words[RESP_WORDS_MAX]; /* views of the bytes, or of `line` */
    char line[RESP_INLINE_MAX];            /* words of a line, without their quotes */
};

enum resp_result resp_request(const char *data, size_t size, const struct resp_limits *limits,
                              struct resp_request *request);

#endif

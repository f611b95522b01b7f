/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP front: answers do not depend on how the bytes were cut up. The input: see converse(). */
#include "conversation.h"
#include "fuzz.h"

/* Answers carry the time of day. And of several faults in one request the first that is seen is
 * named, which may be another when more is seen at once. */
static void tidy(struct buffer *said)
{
    static const char field[] = "\r\nDate: ", bad[] = "HTTP/1.1 400 ";
    char *from = said->data;
    char *at = said->data, *end = said->data + said->size;

    while (said->size > 0 &&
           (at = memmem(at, (size_t)(end - at), field, sizeof field - 1)) != NULL) {
        for (at += sizeof field - 1; at < end && *at != '\r'; at++) {
            *at = '-';
        }
    }
    while (said->size > 0 &&
           (at = memmem(from, (size_t)(end - from), bad, sizeof bad - 1)) != NULL) {
        from = at + sizeof bad - 1;
    }
    if (from != said->data) {
        said->size = (size_t)(from - said->data);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* These tell of memory, times and connections. */
    static const char *const figures[] = {"metrics", "info", "%6", "%4", "%2", "%5", "%7"};

    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (mentions(data, size, figures[i])) {
            return -1;
        }
    }
    converse(&front_http, data, size, tidy);
    return 0;
}

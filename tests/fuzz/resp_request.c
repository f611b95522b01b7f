/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of RESP requests: what it says of a beginning agrees with what it says of the
 * whole. The first byte chooses the limits. */
#include "base/check.h"
#include "fuzz.h"
#include "server/resp/resp_request.h"

#include <stdlib.h>

static const struct resp_limits limits[] = {
    {.words = 4, .word_bytes = 16, .request_bytes = 64},
    {.words = 10, .word_bytes = 16 << 10, .request_bytes = 10 * (16 << 10) + 512},
    {.words = RESP_WORDS_MAX, .word_bytes = 1 << 20, .request_bytes = 1 << 20},
};

static void check_words(const struct resp_request *request, const char *data, size_t size)
{
    for (size_t i = 0; i < request->count; i++) {
        const char *word = request->words[i].data, *end = word + request->words[i].size;
        bool in_line = word >= request->line && end <= request->line + sizeof request->line;
        CHECK(in_line || (word >= data && end <= data + size));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct resp_request whole, part;

    if (size == 0) {
        return 0;
    }
    const struct resp_limits *limit = &limits[*data % (sizeof limits / sizeof limits[0])];
    const char *text = (const char *)data + 1;
    size--;
    enum resp_result result = resp_request(text, size, limit, &whole);
    if (result == RESP_REQUEST) {
        CHECK(whole.used > 0 && whole.used <= size && whole.used <= limit->request_bytes);
        CHECK(whole.count <= limit->words);
        check_words(&whole, text, size);
    }
    for (size_t cut = 0; cut < size && cut < 512; cut++) {
        char *copy = malloc(cut + 1); /* of its own, so that reading past it is seen */
        CHECK(copy != NULL);
        memcpy(copy, text, cut);
        switch (resp_request(copy, cut, limit, &part)) {
        case RESP_INCOMPLETE:
            CHECK(result != RESP_REQUEST || cut < whole.used);
            break;
        case RESP_REQUEST:
            CHECK(result == RESP_REQUEST && part.used == whole.used && part.count == whole.count);
            break;
        case RESP_MALFORMED:
            CHECK(result == RESP_MALFORMED);
            break;
        }
        free(copy);
    }
    return 0;
}

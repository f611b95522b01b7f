/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of an HTTP request: what we take, llhttp takes as well, and reads in the same way. What
 * is refused here may be anything: we are the stricter ones. */
#include "base/check.h"
#include "base/text.h"
#include "fuzz.h"
#include "llhttp_view.h"
#include "server/http/http_parser.h"

#include <strings.h>

/* The fields that decide where a request ends and whom it is for. */
static const struct {
    enum http_header header;
    const char *name;
} compared[] = {
    {HEADER_HOST, "Host"},
    {HEADER_CONTENT_LENGTH, "Content-Length"},
    {HEADER_TRANSFER_ENCODING, "Transfer-Encoding"},
    {HEADER_CONTENT_TYPE, "Content-Type"},
    {HEADER_AUTHORIZATION, "Authorization"},
    {HEADER_EXPECT, "Expect"},
    {HEADER_ORIGIN, "Origin"},
    {HEADER_IDEMPOTENCY_KEY, "Idempotency-Key"},
};

static struct hf_bytes first_of(const struct llhttp_view *view, const char *name)
{
    for (size_t i = 0; i < view->count; i++) {
        if (view->fields[i].name.size == strlen(name) &&
            strncasecmp(view->fields[i].name.data, name, strlen(name)) == 0) {
            return text_trim(view->fields[i].value);
        }
    }
    return (struct hf_bytes){NULL, 0};
}

static void compare_target(const struct http_request *request, struct hf_bytes target)
{
    if (target.data[0] != '/') {
        return; /* a host comes first, which has cases of its own */
    }
    size_t mark = request->query.data != NULL ? 1 : 0;
    CHECK(request->path_size + mark + request->query.size == target.size);
    CHECK(memcmp(request->path, target.data, request->path_size) == 0);
    CHECK(text_equal(
        request->query,
        (struct hf_bytes){target.data + target.size - request->query.size, request->query.size}));
}

static void compare(const struct http_parser *parser, const struct llhttp_view *view)
{
    const struct http_request *request = &parser->request;

    CHECK(strcmp(request->method_name, view->method) == 0);
    CHECK(request->minor == view->minor);
    CHECK(parser->chunked == view->chunked);
    CHECK(parser->chunked || parser->body_left == view->content_length);
    compare_target(request, view->target);
    for (size_t i = view->target.data[0] == '/' ? 0 : 1; i < sizeof compared / sizeof compared[0];
         i++) {
        struct hf_bytes ours = request->headers[compared[i].header];
        struct hf_bytes theirs = first_of(view, compared[i].name);
        CHECK((ours.data == NULL) == (theirs.data == NULL) && text_equal(ours, theirs));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory memory;
    struct http_parser parser;
    struct llhttp_view view;
    size_t used;

    /* llhttp does not know everywhere that a tab is a space, and has targets of CONNECT apart. */
    if (memchr(data, '\t', size) != NULL || (size >= 7 && memcmp(data, "CONNECT", 7) == 0)) {
        return -1;
    }
    memory_init(&memory);
    http_parser_init(&parser, &memory);
    if (http_parser_feed(&parser, (const char *)data, size, &used) == HTTP_HAS_HEAD) {
        const char *wrong = llhttp_view_read(&view, (struct hf_bytes){(const char *)data, used});
        if (wrong == NULL || view.count < LLHTTP_FIELDS_MAX) {
            CHECK(wrong == NULL);
            compare(&parser, &view);
        }
    }
    http_parser_free(&parser);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The dashboard's files, out of the program: the page for browsers, and what it is made of under
 * names that change with their bytes, so that they may be kept forever. Nothing in the page is
 * inline and nothing comes from elsewhere, and its policy says so to the browser. */
#include "server/http/http.h"

#include "server/http/http_preference.h"
#include "server/page/page.h"

#include <stdio.h>

#define PAGE_POLICY                                                                                \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "           \
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "                    \
    "frame-ancestors 'none'\r\n"                                                                   \
    "X-Frame-Options: DENY\r\nCross-Origin-Opener-Policy: same-origin\r\n"

/* Has the client this very file already? */
static bool is_known(const struct session *session, const struct page_file *file)
{
    struct hf_bytes known = http_request_of(session)->headers[HEADER_IF_NONE_MATCH];

    return known.data != NULL &&
           memmem(known.data, known.size, file->etag, strlen(file->etag)) != NULL;
}

static void send(struct session *session, const struct page_file *file, const char *more)
{
    struct hf_bytes coding = http_request_of(session)->headers[HEADER_ACCEPT_ENCODING];
    bool zipped = coding.data != NULL && http_quality(coding, "GZIP") > 0;
    bool known = is_known(session, file);
    const struct hf_bytes *body = zipped ? &file->gzip : &file->plain;
    size_t start = session->out.size;
    char fields[1024];

    snprintf(
        fields, sizeof fields,
        "%s%sETag: W/%s\r\nVary: Accept, Accept-Encoding\r\nX-Content-Type-Options: nosniff\r\n"
        "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n",
        more, zipped && !known ? "Content-Encoding: gzip\r\n" : "", file->etag);
    if (!known) {
        buffer_bytes(&session->out, body->data, body->size);
    }
    http_respond(session, start,
                 &(struct http_answer){.status = known ? 304 : 200,
                                       .type = known ? NULL : file->type,
                                       .fields = fields});
    http_finish(session);
    session_answered(session);
}

bool http_page(struct session *session)
{
    struct hf_bytes accept = http_request_of(session)->headers[HEADER_ACCEPT];
    const struct page_file *page = page_find((struct hf_bytes){"", 0});

    if (page == NULL || accept.data == NULL || http_quality(accept, "TEXT/HTML") == 0) {
        return false;
    }
    send(session, page, "Cache-Control: no-cache\r\n" PAGE_POLICY);
    return true;
}

void http_page_asset(struct session *session)
{
    struct hf_bytes name = http_of(session)->match.args[0].text;
    const struct page_file *file = name.size > 0 ? page_find(name) : NULL;

    if (file == NULL) {
        http_respond_error(session, 404, 0, "the dashboard has no such file");
        http_finish(session);
        return;
    }
    send(session, file, "Cache-Control: public, max-age=31536000, immutable\r\n");
}

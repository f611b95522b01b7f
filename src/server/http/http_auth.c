/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is asking: each request carries its own Authorization. Most carry the same as the one before
 * it on their connection, which costs one comparison. */
#include "server/http/http.h"

#include "base/base64.h"
#include "base/text.h"
#include "server/audit_log.h"

#include <strings.h>

/* A header that is longer is looked at anew each time. */
#define KNOWN_MAX 1024

static bool has_scheme(struct hf_bytes header, const char *scheme, struct hf_bytes *rest)
{
    size_t size = strlen(scheme);

    if (header.size <= size || strncasecmp(header.data, scheme, size) != 0 ||
        header.data[size] != ' ') {
        return false;
    }
    *rest = (struct hf_bytes){header.data + size + 1, header.size - size - 1};
    while (rest->size > 0 && rest->data[0] == ' ') {
        rest->data++;
        rest->size--;
    }
    return true;
}

static bool ask_by_password(struct session *session, struct hf_bytes coded)
{
    char text[AUTH_NAME_SIZE + AUTH_PASSWORD_MAX + 8];
    ptrdiff_t size = base64_read(coded, text, sizeof text);
    const char *colon = size > 0 ? memchr(text, ':', (size_t)size) : NULL;

    if (colon == NULL) {
        return false;
    }
    struct hf_bytes user = {text, (size_t)(colon - text)};
    session_authenticate(session, &user,
                         (struct hf_bytes){colon + 1, (size_t)(text + size - colon - 1)});
    explicit_bzero(text, sizeof text);
    return true;
}

static void forget(struct session *session)
{
    struct http *http = http_of(session);

    if (http->known.size > 0) {
        explicit_bzero(http->known.data, http->known.size);
    }
    buffer_free(&http->known);
    session->who = (struct identity){.role = ROLE_NONE};
}

static void refuse(struct session *session, const char *why)
{
    struct problem problem;

    forget(session);
    problem_set(&problem, HF_UNAUTHORIZED, "%s", why);
    http_answer_problem(session, &problem);
    session_answered(session);
}

void http_identified(struct session *session, bool right)
{
    struct http *http = http_of(session);
    struct hf_bytes header = http_request_of(session)->headers[HEADER_AUTHORIZATION];

    if (!right) {
        refuse(session, "this is nobody's token or password");
        return;
    }
    if (header.size <= KNOWN_MAX) {
        buffer_clear(&http->known);
        buffer_bytes(&http->known, header.data, header.size);
        if (http->known.failed) {
            buffer_free(&http->known);
        }
    }
    http->step = STEP_KNOWN;
}

void http_identify(struct session *session)
{
    struct http *http = http_of(session);
    struct hf_bytes header = http_request_of(session)->headers[HEADER_AUTHORIZATION], rest;

    http->step = STEP_KNOWN;
    if (session->server->auth == NULL) {
        return;
    }
    if (header.data == NULL) {
        forget(session); /* the user of the request before on this connection */
        return;
    }
    if (session->who.role != ROLE_NONE && http->known.size > 0 &&
        text_equal(header, (struct hf_bytes){http->known.data, http->known.size})) {
        return;
    }
    forget(session);
    http->step = STEP_KNOWING;
    if (has_scheme(header, "Bearer", &rest)) {
        session_authenticate(session, NULL, rest);
    } else if (!has_scheme(header, "Basic", &rest) || !ask_by_password(session, rest)) {
        audit_log_refused(session, HF_UNAUTHORIZED);
        refuse(session, "Authorization is neither Bearer TOKEN nor Basic USER:PASSWORD");
    }
}

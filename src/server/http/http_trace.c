/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client says of its request: X-Request-Id, traceparent and tracestate. What is not exactly
 * of its form is ignored, and never sent back or written anywhere. */
#include "server/http/http.h"

#include <stdio.h>

static void copy(char *out, struct hf_bytes text)
{
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
}

void http_describe(const struct session *session, uint64_t *number, struct trace_request *out)
{
    const struct hf_bytes *headers = http_request_of(session)->headers;

    *number = http_of(session)->requests + 1;
    if (trace_request_is_valid(headers[HEADER_REQUEST_ID])) {
        copy(out->id, headers[HEADER_REQUEST_ID]);
    } else { /* one that no other request has: the start of the server, the session, its request */
        snprintf(out->id, sizeof out->id, "%llx-%llx-%llx",
                 (unsigned long long)session->server->started_ns, (unsigned long long)session->id,
                 (unsigned long long)*number);
    }
    if (headers[HEADER_TRACEPARENT].data != NULL &&
        trace_read(headers[HEADER_TRACEPARENT], &out->trace) &&
        headers[HEADER_TRACESTATE].data != NULL &&
        trace_state_is_valid(headers[HEADER_TRACESTATE])) {
        copy(out->state, headers[HEADER_TRACESTATE]);
    }
}

const char *http_asked(const struct session *session)
{
    const struct route *route = http_of(session)->match.route;

    return route == NULL                         ? NULL
           : route->endpoint == ENDPOINT_COMMAND ? route->spec->name
                                                 : route->path;
}

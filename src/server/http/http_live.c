/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /v1/live: the server's figures once a second, as server-sent events. All streams are sent the
 * same text, which is written once (server/page/live.h). */
#include "server/http/http.h"

#define LIVE_MAX 256                         /* so many may watch */
#define LIVE_BACKLOG_MAX ((size_t)64 << 10)  /* one that has not taken so much gets no more yet */
#define STUCK_NS (UINT64_C(60) * 1000000000) /* one that takes nothing for so long is not there */

struct http_live {
    uint64_t sent_ns;  /* made_ns of the figures that it was sent last */
    uint64_t taken_ns; /* when it last had room for more */
};

static bool start(struct session *session)
{
    struct http *http = http_of(session);

    http_respond(session, session->out.size,
                 &(struct http_answer){
                     .status = 200, .type = "text/event-stream; charset=utf-8", .streams = true});
    session->answers++;
    if (session->closing) { /* HEAD: this is all that was asked */
        http_finish(session);
        return false;
    }
    return http->live != NULL;
}

void http_live(struct session *session)
{
    struct http *http = http_of(session);
    struct live *live = &http->shared->live;

    if (http_request_of(session)->query.size > 0) {
        session_refuse(session, HF_INVALID_ARGUMENT, "the figures take no argument");
        return;
    }
    if (live->watchers < LIVE_MAX) {
        http->live = memory_zeroed(&session->server->memory, sizeof *http->live);
    }
    if (http->live == NULL) {
        http_respond_error(session, 503, 0,
                           live->watchers < LIVE_MAX ? "out of memory" : "too many watch already");
        http_finish(session);
        return;
    }
    live_watch(live);
    http->live->taken_ns = clock_nanoseconds();
    if (!start(session)) {
        http_live_close(session);
        return;
    }
    http->step = STEP_STREAMING;
    session_want_ticks(session);
    buffer_text(&session->out, "retry: 1000\n\n");
    http_live_tick(session);
}

void http_live_close(struct session *session)
{
    struct http *http = http_of(session);

    if (http->live != NULL) {
        live_leave(&http->shared->live);
        memory_free(&session->server->memory, http->live, sizeof *http->live);
        http->live = NULL;
    }
}

void http_live_tick(struct session *session)
{
    struct http_live *mine = http_of(session)->live;
    struct live *live = &http_of(session)->shared->live;
    struct server *server = session->server;
    uint64_t now_ns = clock_nanoseconds();

    if (session->closing) {
        return;
    }
    bool takes = session->out.size <= LIVE_BACKLOG_MAX;
    mine->taken_ns = takes ? now_ns : mine->taken_ns;
    if (server->state >= SERVER_DRAINING || now_ns - mine->taken_ns > STUCK_NS ||
        (server->auth != NULL && session->who.role < ROLE_READ)) {
        http_stream_end(session);
        return;
    }
    if (!takes || !live_refresh(live, server, now_ns) || mine->sent_ns == live->made_ns) {
        return;
    }
    mine->sent_ns = live->made_ns;
    buffer_bytes(&session->out, live->text.data, live->text.size);
    session->answers++; /* what the figures tell may not be on disk yet */
    session_touch(session);
    if (session->out.failed) {
        http_stream_end(session);
    }
}

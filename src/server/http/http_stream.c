/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events: the feed of all that happens, and a user's position in a waiting room. A
 * stream goes on until its connection ends, or its reason does. */
#include "server/http/http.h"

#include "base/text.h"

#define SECOND_NS UINT64_C(1000000000)
#define HEARTBEAT_NS (15 * SECOND_NS)
#define STUCK_NS (60 * SECOND_NS) /* a client that takes nothing for so long is not there */
#define POSITION_BACKLOG_MAX ((size_t)64 << 10)

struct http_stream {
    struct session *session; /* NULL: it is over, and only the answer to a question is waited for */
    struct server *server;
    enum role needed;
    bool is_visitor, watched, asking;
    bool admitted; /* by the feed; whether the token is right is yet to be asked */
    uint64_t wrote_ns, asked_ns, taken_ns;
    int64_t position, total; /* as last sent */
    char token[HF_ID_SIZE];  /* that the client showed; empty: none */
    struct feed_listener listener;
    struct feed_visitor visitor;
};

static struct http_stream *make(struct session *session, enum role needed)
{
    struct http_stream *stream = memory_zeroed(&session->server->memory, sizeof *stream);

    if (stream == NULL) {
        http_respond_error(session, 503, 0, "out of memory");
        http_finish(session);
        return NULL;
    }
    stream->session = session;
    stream->server = session->server;
    stream->needed = needed;
    stream->wrote_ns = stream->asked_ns = stream->taken_ns = clock_nanoseconds();
    stream->listener.session = session;
    stream->visitor.session = session;
    return stream;
}

static void discard(struct http_stream *stream)
{
    memory_free(&stream->server->memory, stream, sizeof *stream);
}

/* The head of the answer; the session is a stream from now on. False for HEAD, which is all that
 * was asked. */
static bool start(struct session *session, struct http_stream *stream)
{
    struct http *http = http_of(session);

    http_respond(session, session->out.size,
                 &(struct http_answer){
                     .status = 200, .type = "text/event-stream; charset=utf-8", .streams = true});
    session->answers++;
    if (session->closing) {
        discard(stream);
        http_finish(session);
        return false;
    }
    http->stream = stream;
    http->step = STEP_STREAMING;
    session_want_ticks(session);
    return true;
}

void http_stream_end(struct session *session)
{
    struct http_stream *stream = http_of(session)->stream;

    if (stream != NULL && stream->watched) {
        feed_unwatch(&session->server->feed, &stream->visitor);
        stream->watched = false;
    }
    session->closing = true;
    http_of(session)->answered_last = true;
    session_touch(session);
}

/* Something was written to `out`. */
static void wrote(struct http_stream *stream)
{
    stream->wrote_ns = clock_nanoseconds();
    stream->session->answers++; /* what it tells of may not be on disk yet */
    session_touch(stream->session);
    if (stream->session->out.failed) { /* for want of memory an event is missing */
        http_stream_end(stream->session);
    }
}

void http_stream_close(struct session *session)
{
    struct http_stream *stream = http_of(session)->stream;

    if (stream == NULL) {
        return;
    }
    if (stream->watched) {
        feed_unwatch(&session->server->feed, &stream->visitor);
    } else if (!stream->is_visitor) {
        feed_leave(&session->server->feed, &stream->listener, clock_nanoseconds());
    }
    stream->session = NULL;
    if (!stream->asking) {
        discard(stream);
    }
}

/* ---- the feed -------------------------------------------------------------------------------- */

/* The one argument that a stream takes: "scope=" or "token=", and an id. */
static bool read_argument(struct session *session, struct hf_bytes name, char id[HF_ID_SIZE])
{
    struct hf_bytes query = http_request_of(session)->query;
    char text[HF_ID_MAX * 3];
    size_t size = query.size > name.size ? query.size - name.size : 0;

    id[0] = '\0';
    if (query.size == 0) {
        return true;
    }
    if (size == 0 || size > sizeof text || memcmp(query.data, name.data, name.size) != 0) {
        return false;
    }
    memcpy(text, query.data + name.size, size);
    if (memchr(text, '&', size) != NULL || !router_decode(text, &size, true) ||
        !text_is_id((struct hf_bytes){text, size})) {
        return false;
    }
    memcpy(id, text, size);
    id[size] = '\0';
    return true;
}

/* An engine that does not report what happens without a command: a listener would otherwise take
 * the silence of the feed for nothing having happened. */
static void tell_limits(struct session *session)
{
    const struct engine *engine = session->server->engine;

    if (engine != NULL && !engine_has_events(engine)) {
        buffer_text(&session->out,
                    "event: limits\ndata: {\"commands\":\"of this server\",\"expiries\":false,"
                    "\"because\":\"the state is in Redis: what other servers and programs do, and "
                    "what falls due, is not reported here\"}\n\n");
    }
}

void http_stream_feed(struct session *session)
{
    struct hf_bytes last = http_request_of(session)->headers[HEADER_LAST_EVENT_ID];
    char scope[HF_ID_SIZE];
    int64_t after = -1;

    if (!read_argument(session, (struct hf_bytes)HF_TEXT("scope="), scope)) {
        session_refuse(session, HF_INVALID_ARGUMENT, "the feed takes one argument: scope=ID");
        return;
    }
    if (last.size > 0 && (!text_to_integer(last, &after) || after < 0)) {
        after = 0; /* none of ours: something was missed */
    }
    if (session->server->feed.listener_count == FEED_LISTENERS_MAX) {
        http_respond_error(session, 503, 0, "too many listeners");
        http_finish(session);
        return;
    }
    struct http_stream *stream = make(session, ROLE_ADMIN);
    if (stream == NULL || !start(session, stream)) {
        return;
    }
    memcpy(stream->listener.scope, scope, sizeof scope);
    buffer_text(&session->out, "retry: 1000\n\n");
    tell_limits(session);
    if (!feed_listen(&session->server->feed, &stream->listener,
                     after < 0 ? UINT64_MAX : (uint64_t)after)) {
        stream->is_visitor = true; /* it is no listener, so that it need not leave */
        http_stream_end(session);
    }
}

/* ---- a position in line ---------------------------------------------------------------------- */

static const struct hf_bytes token_name = HF_TEXT("token=");

static enum hf_error ask(struct command *command, struct hf_bytes event, struct hf_bytes user,
                         const char *token, struct problem *problem)
{
    struct hf_room_position_args args = {.event = event, .user = user, .token = hf_text(token)};

    return command_from_struct(command, &command_table[ROOM_POSITION], &args, problem);
}

void http_stream_position(struct session *session)
{
    const struct route_match *match = &http_of(session)->match;
    char token[HF_ID_SIZE];
    struct command command;
    struct problem problem;

    if (!read_argument(session, token_name, token)) {
        session_refuse(session, HF_INVALID_ARGUMENT,
                       "the stream takes one argument: token=, and what ROOM.JOIN answered");
    } else if (ask(&command, match->args[0].text, match->args[1].text, token, &problem) != HF_OK) {
        session_refuse(session, problem.code, "%s", problem.message);
    } else {
        http_submit(session, &command, STEP_RUNNING);
    }
}

/* Is the reply that of a user who was admitted, to a client that showed the right token? */
static bool is_admitted(const struct reply *reply)
{
    return reply->code == HF_OK && reply->count == command_table[ROOM_POSITION].field_count;
}

static void tell_position(struct http_stream *stream, const struct reply *reply)
{
    struct buffer *out = &stream->session->out;

    stream->position = reply->values[0].number;
    stream->total = reply->values[1].number;
    buffer_text(out, "event: position\ndata: ");
    reply_to_json_all(reply, &command_table[ROOM_POSITION], out);
    buffer_text(out, "\n\n");
    wrote(stream);
}

/* The last event: admitted, with the pass for a client that showed the token. */
static void tell_admitted(struct http_stream *stream, const struct reply *reply)
{
    struct buffer *out = &stream->session->out;

    buffer_text(out, "event: admitted\ndata: {");
    if (is_admitted(reply)) {
        buffer_text(out, "\"pass\":");
        json_text(out, reply_bytes(reply, reply->count - 1));
    }
    buffer_text(out, "}\n\n");
    wrote(stream);
    http_stream_end(stream->session);
}

/* The feed has seen the admission. The engine is asked in the next tick, in which no other command
 * is being answered, whether the token is right. */
static void note_admitted(struct feed_visitor *visitor)
{
    static const struct reply unproven = {.code = HF_NOT_IN_QUEUE};
    struct http_stream *stream = http_of(visitor->session)->stream;

    stream->watched = false;
    if (stream->token[0] == '\0') {
        tell_admitted(stream, &unproven);
    } else {
        stream->admitted = true;
    }
}

static void watch(struct session *session, struct http_stream *stream, const struct reply *reply)
{
    if (is_admitted(reply)) {
        tell_admitted(stream, reply);
        return;
    }
    stream->watched = feed_watch(&session->server->feed, &stream->visitor);
    tell_position(stream, reply);
    if (!stream->watched) {
        http_stream_end(session);
    }
}

void http_stream_begin(struct session *session, const struct reply *reply)
{
    const struct route_match *match = &http_of(session)->match;
    size_t from = session->out.size;

    if (reply->code != HF_OK) {
        reply_to_json(reply, session->spec, &session->out);
        http_respond(session, from,
                     &(struct http_answer){.status = hf_error_status(reply->code),
                                           .code = reply->code,
                                           .type = HTTP_JSON});
        http_finish(session);
        return;
    }
    struct http_stream *stream = make(session, ROLE_READ);
    if (stream == NULL) {
        return;
    }
    stream->is_visitor = true;
    stream->visitor.admitted = note_admitted;
    memcpy(stream->visitor.event, match->args[0].text.data, match->args[0].text.size);
    memcpy(stream->visitor.user, match->args[1].text.data, match->args[1].text.size);
    read_argument(session, token_name, stream->token);
    if (start(session, stream)) {
        watch(session, stream, reply);
    }
}

static void position_answered(void *context, const struct reply *reply)
{
    struct http_stream *stream = context;

    bool here = stream->admitted && (reply->code == HF_OK || reply->code == HF_NOT_IN_QUEUE);
    bool elsewhere = stream->watched && is_admitted(reply); /* through another server */

    stream->asking = false;
    if (stream->session == NULL) {
        discard(stream);
    } else if (here || elsewhere) {
        tell_admitted(stream, reply);
    } else if (!stream->watched) {
        return; /* admitted meanwhile */
    } else if (reply->code == HF_NOT_IN_QUEUE) {
        buffer_text(&stream->session->out, "event: gone\ndata: {}\n\n");
        wrote(stream);
        http_stream_end(stream->session);
    } else if (reply->code == HF_OK && (reply->values[0].number != stream->position ||
                                        reply->values[1].number != stream->total)) {
        tell_position(stream, reply);
    }
}

/* ---- now and then ---------------------------------------------------------------------------- */

/* The more there are, the less often each is looked after: ten thousand, every second or so. */
static uint64_t pause_ns(const struct server *server)
{
    return SECOND_NS / 5 + (uint64_t)server->feed.visitor_slab.count * 100000;
}

static void look_after_visitor(struct http_stream *stream, uint64_t now_ns)
{
    struct server *server = stream->server;
    struct command command;

    bool due =
        stream->admitted || (stream->watched && now_ns - stream->asked_ns >= pause_ns(server));
    if (!due || stream->asking || server->engine == NULL ||
        stream->session->out.size > POSITION_BACKLOG_MAX) {
        return;
    }
    stream->asked_ns = now_ns;
    if (ask(&command, hf_text(stream->visitor.event), hf_text(stream->visitor.user), stream->token,
            NULL) == HF_OK) {
        stream->asking = true;
        engine_submit(server->engine, &command, position_answered, stream);
    }
}

void http_stream_tick(struct session *session)
{
    struct http_stream *stream = http_of(session)->stream;
    struct server *server = session->server;
    uint64_t now_ns = clock_nanoseconds();

    if (stream == NULL || session->closing) {
        return;
    }
    size_t most = stream->is_visitor ? POSITION_BACKLOG_MAX : FEED_BACKLOG_MAX;
    stream->taken_ns = session->out.size <= most ? now_ns : stream->taken_ns;
    if (server->state >= SERVER_DRAINING || now_ns - stream->taken_ns > STUCK_NS ||
        (server->auth != NULL && session->who.role < stream->needed)) {
        http_stream_end(session);
        return;
    }
    if (now_ns - stream->wrote_ns >= HEARTBEAT_NS && session->out.size <= most) {
        buffer_text(&session->out, ": still here\n\n");
        wrote(stream);
    }
    if (stream->is_visitor) {
        look_after_visitor(stream, now_ns);
    } else {
        feed_catch_up(&server->feed, &stream->listener);
    }
}

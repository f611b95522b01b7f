/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/1.1: reads requests, takes each through its steps (http.h) and answers it. Knows no command
 * by name: the router says which row a path stands for, and the row does the rest. */
#include "server/http/http.h"

#include "base/check.h"
#include "server/host.h"

#include <stdio.h>

/* Before anybody has shown who they are. No command needs more. */
#define STRANGER_BODY_MAX ((uint64_t)16 << 10)

/* ---- one request ----------------------------------------------------------------------------- */

static void set_max_body(struct session *session)
{
    struct http *http = http_of(session);
    uint64_t most = (uint64_t)session->server->options->max_body_bytes;
    bool stranger = session->server->auth != NULL && session->who.role == ROLE_NONE;

    http->parser.max_body = stranger && most > STRANGER_BODY_MAX ? STRANGER_BODY_MAX : most;
}

void http_finish(struct session *session)
{
    struct http *http = http_of(session);

    if (http->idempotency != NULL) {
        http_idempotency_close(session);
    }
    http_parser_next(&http->parser);
    http->requests++;
    http->made_size = 0;
    http->preferred_wait_s = 0;
    session->prepaid = false;
    http->step = STEP_READING;
    set_max_body(session);
}

void http_answer_problem(struct session *session, const struct problem *problem)
{
    size_t start = session->out.size;

    problem_to_json(problem, &session->out);
    http_respond(session, start,
                 &(struct http_answer){.status = hf_error_status(problem->code),
                                       .code = problem->code,
                                       .type = HTTP_JSON});
    http_finish(session);
}

static void answer_error(struct session *session, int status, unsigned allowed, const char *why)
{
    http_respond_error(session, status, allowed, why);
    http_finish(session);
}

static void answer_options(struct session *session, unsigned allowed)
{
    http_respond(session, session->out.size,
                 &(struct http_answer){.status = 204, .allowed = allowed});
    http_finish(session);
    session_answered(session);
}

/* A page of another site can make a browser send us things, though it may not read what we answer:
 * unless that site was allowed in, nothing is done for it. */
static bool is_foreign(const struct session *session)
{
    const struct http_request *request = http_request_of(session);
    struct hf_bytes origin = request->headers[HEADER_ORIGIN];
    struct hf_bytes host = request->headers[HEADER_HOST];
    const char *allowed = session->server->options->cors_origin;

    if (origin.data == NULL || request->method == HTTP_GET || request->method == HTTP_HEAD) {
        return false;
    }
    if (allowed != NULL &&
        (strcmp(allowed, "*") == 0 ||
         (strlen(allowed) == origin.size && memcmp(allowed, origin.data, origin.size) == 0))) {
        return false;
    }
    const char *scheme_end = memmem(origin.data, origin.size, "://", 3);
    size_t scheme = scheme_end != NULL ? (size_t)(scheme_end - origin.data) + 3 : origin.size;
    return origin.size - scheme != host.size || host.size == 0 ||
           memcmp(origin.data + scheme, host.data, host.size) != 0;
}

/* Is the request for a host that is not this server? Where nobody is asked who they are, the pages
 * of a site whose name leads here would otherwise be let in: see host.h. */
static bool is_misdirected(const struct session *session)
{
    const struct server_options *options = session->server->options;
    struct hf_bytes host = http_request_of(session)->host;

    if ((session->server->auth != NULL && options->allowed_hosts == NULL) || host.data == NULL) {
        return false;
    }
    return !host_is_ours(host, options->bind, options->allowed_hosts);
}

static void refuse_host(struct session *session)
{
    struct hf_bytes host = http_request_of(session)->headers[HEADER_HOST];
    char why[MESSAGE_SIZE];

    snprintf(why, sizeof why,
             "Host \"%.*s\" is not this server: it is asked by a loopback name or the address it "
             "listens on, or by a name in allowed-hosts",
             (int)(host.size < 64 ? host.size : 64), host.data);
    answer_error(session, 421, 0, why);
}

/* What the route takes; ROLE_NONE: anybody may ask. */
static enum role needed_role(const struct route *route)
{
    return route->endpoint == ENDPOINT_COMMAND ? session_needed_role(route->spec)
                                               : http_endpoint_role(route->endpoint);
}

/* The head of a request is there, and nothing else is looked at. */
static void begin_request(struct session *session)
{
    struct http *http = http_of(session);
    struct http_request *request = &http->parser.request;

    request->keep_alive = request->keep_alive && !session->only_health;
    if (is_misdirected(session)) {
        refuse_host(session);
        return;
    }
    switch (router_find(&http->shared->router, request->method_name, request->path,
                        request->path_size, &http->match)) {
    case ROUTE_UNKNOWN:
        answer_error(session, 404, 0, "no such path: GET / lists them");
        return;
    case ROUTE_OTHER:
        answer_error(session, 405, http->match.allowed, "the path takes other methods");
        return;
    case ROUTE_OPTIONS:
        answer_options(session, http->match.allowed);
        return;
    case ROUTE_FOUND:
        break;
    }
    if (session->only_health && !http_endpoint_is_health(http->match.route->endpoint)) {
        server_refused(session->server, session->peer);
        answer_error(session, 503, 0,
                     "too many connections, see max-connections: only /livez and /readyz "
                     "answer");
    } else if (is_foreign(session)) {
        answer_error(session, 403, 0, "a page of another site; see cors-origin");
    } else if (needed_role(http->match.route) == ROLE_NONE) {
        http->step = STEP_KNOWN;
    } else {
        http_identify(session);
    }
}

static void take_event(struct session *session, enum http_event event)
{
    struct http *http = http_of(session);

    switch (event) {
    case HTTP_NEEDS_MORE:
        break;
    case HTTP_NEEDS_CONTINUE:
        http_respond_continue(session);
        break;
    case HTTP_HAS_HEAD:
        begin_request(session);
        break;
    case HTTP_HAS_REQUEST:
        http->step = STEP_WHOLE;
        break;
    case HTTP_IS_BROKEN:
        session->server->metrics.malformed++;
        session->closing = true;
        if (http->parser.skips) { /* of a body whose request is answered */
            http->answered_last = true;
            session_touch(session);
        } else {
            answer_error(session, http->parser.status, 0, http->parser.why);
        }
        break;
    }
}

/* Who asks is known: on to the body, if they may. */
static void ask_for_body(struct session *session)
{
    struct http *http = http_of(session);
    enum role needed = needed_role(http->match.route);

    if (needed == ROLE_NONE || session_allows(session, needed)) {
        http->step = STEP_READING;
        set_max_body(session);
        take_event(session, http_parser_body(&http->parser));
    }
}

/* The whole request is there. */
static void carry_out(struct session *session)
{
    struct http *http = http_of(session);
    struct http_request *request = &http->parser.request;
    bool is_command = http->match.route->endpoint == ENDPOINT_COMMAND;

    /* What the server does itself may be asked for twice. */
    if (is_command && http_has_key(request) && http->idempotency == NULL &&
        !http_idempotency_open(session)) {
        return;
    }
    if (http->match.count == 0 &&
        !router_take_args(&http->match, request->path, request->path_size)) {
        answer_error(session, 400, 0, "a bad % escape in the path");
        return;
    }
    if (!is_command) {
        http_endpoint(session);
    } else if (http->idempotency != NULL) {
        http_idempotency_begin(session);
    } else {
        http_run(session);
    }
}

/* The step that is ours to take. */
static void go_on(struct session *session)
{
    switch (http_of(session)->step) {
    case STEP_KNOWN:
        ask_for_body(session);
        break;
    case STEP_WHOLE:
        carry_out(session);
        break;
    case STEP_BEGUN:
        http_run(session);
        break;
    default: /* no other step is the front's to take */
        CHECK(http_of(session)->step == STEP_RAN);
        http_idempotency_end(session);
    }
}

/* ---- the front ------------------------------------------------------------------------------- */

static struct http_shared *take_shared(struct server *server)
{
    if (server->http == NULL) {
        server->http = memory_zeroed(&server->memory, sizeof *server->http);
        if (server->http == NULL) {
            return NULL;
        }
        router_init(&server->http->router);
        random_init(&server->http->random);
        live_init(&server->http->live, &server->memory);
    }
    server->http->sessions++;
    return server->http;
}

static void give_shared(struct server *server)
{
    if (--server->http->sessions == 0) {
        memory_free(&server->memory, server->http, sizeof *server->http);
        server->http = NULL;
    }
}

static bool http_open(struct session *session)
{
    struct memory *memory = &session->server->memory;
    struct http *http = memory_zeroed(memory, sizeof *http);

    if (http == NULL) {
        return false;
    }
    http->shared = take_shared(session->server);
    if (http->shared == NULL) {
        memory_free(memory, http, sizeof *http);
        return false;
    }
    http_parser_init(&http->parser, memory);
    buffer_init(&http->known, memory);
    session->state = http;
    set_max_body(session);
    return true;
}

static size_t http_memory(const struct session *session)
{
    const struct http *http = http_of(session);
    return http->parser.head.capacity + http->parser.body.capacity + http->known.capacity;
}

static void http_close(struct session *session)
{
    struct http *http = http_of(session);

    http_stream_close(session);
    http_live_close(session);
    /* What waits in a line leaves it. What was asked of an engine elsewhere may well be done: its
     * key stays taken until that is over for sure. */
    if (session_queues(session) && http->step == STEP_RUNNING && http->idempotency != NULL) {
        http_idempotency_give_up(session);
    }
    if (http->idempotency != NULL) {
        http_idempotency_close(session);
    }
    http_parser_free(&http->parser);
    if (http->known.size > 0) {
        explicit_bzero(http->known.data, http->known.size);
    }
    buffer_free(&http->known);
    give_shared(session->server);
    memory_free(&session->server->memory, http, sizeof *http);
    session->state = NULL;
}

static size_t http_feed(struct session *session, const char *data, size_t size)
{
    struct http *http = http_of(session);
    size_t used = 0;

    while (!session_stopped(session) && http->step != STEP_STREAMING) {
        if (http->step != STEP_READING) {
            go_on(session);
        } else if (used == size || (used > 0 && session_spent(session))) {
            break;
        } else {
            size_t taken = 0;
            enum http_event event =
                http_parser_feed(&http->parser, data + used, size - used, &taken);
            used += taken;
            take_event(session, event);
        }
    }
    session->partial = http->step == STEP_READING && http_parser_partial(&http->parser);
    /* Nothing more is understood of one that is closing, or listened to of one that listens. */
    return session->closing || http->step == STEP_STREAMING ? size : used;
}

static void http_answer(struct session *session, const struct reply *reply)
{
    struct http *http = http_of(session);
    size_t start = session->out.size;

    switch (http->step) {
    case STEP_BEGINNING:
        http_idempotency_begun(session, reply);
        return;
    case STEP_ENDING:
        http_idempotency_ended(session);
        return;
    default:
        break;
    }
    if (http->idempotency != NULL) {
        http_idempotency_ran(session, reply, NULL);
    } else if (http->match.route->endpoint == ENDPOINT_POSITION) {
        http_stream_begin(session, reply);
    } else if (http->match.route->endpoint == ENDPOINT_CALLBACK) {
        http_callback_answered(session, reply);
    } else {
        int status = http_write_reply(session, reply, &session->out);
        http_respond(
            session, start,
            &(struct http_answer){.status = status, .code = reply->code, .type = HTTP_JSON});
        http_finish(session);
    }
}

static void http_refuse(struct session *session, const struct problem *problem)
{
    struct http *http = http_of(session);

    if (http->answered_last && session->out.size != session->firm) {
        return; /* the first of several answers that were taken back said it for all */
    }
    if (http->step == STEP_STREAMING) {
        http_stream_end(session);
    } else if (http->step == STEP_ENDING) {
        http_idempotency_ended(
            session); /* it was carried out; that this could not be kept is another matter */
    } else if (http->idempotency != NULL &&
               (http->step == STEP_BEGUN || http->step == STEP_RUNNING)) {
        http_idempotency_ran(session, NULL, problem);
    } else {
        http_answer_problem(session, problem);
    }
}

static void http_tick(struct session *session)
{
    if (http_of(session)->live != NULL) {
        http_live_tick(session);
    } else {
        http_stream_tick(session);
    }
}

static void http_timed_out(struct session *session)
{
    struct http *http = http_of(session);

    if (http->step == STEP_READING) {
        bool partial = http_parser_partial(&http->parser) && !http->parser.skips;
        session->closing = true;
        if (partial) {
            answer_error(session, 408, 0, "the request did not come in time");
        }
        session_touch(session);
    }
}

const struct front front_http = {
    .name = "http",
    .wants_tls = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 49\r\n"
                 "Connection: close\r\n\r\nthis port speaks TLS: ask again with https://...\n",
    .has_health = true,
    .sorry = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
             "Connection: close\r\n\r\n",
    .open = http_open,
    .close = http_close,
    .feed = http_feed,
    .answer = http_answer,
    .refuse = http_refuse,
    .authenticated = http_identified,
    .audited = http_audited,
    .timed_out = http_timed_out,
    .memory = http_memory,
    .tick = http_tick,
    .describe = http_describe,
    .asked = http_asked,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the HTTP front share, http_*.c. A session has one request at a time, which goes
 * through these steps; in those marked * the engine or another thread has the word.
 *
 *     READING ──head──> route ──> KNOWING* ──> KNOWN ──> role ──> READING, the body
 *                         └─> answered                     └─> answered
 *
 *     READING ──body──> WHOLE ──> RUNNING* ──> answered, READING
 *                         ├─> STREAMING, to the end of the session
 *                         └─> with an Idempotency-Key:
 *
 *     WHOLE ──> BEGINNING* ──new──> BEGUN ──> RUNNING* ──> RAN ──> ENDING* ──> answered, READING
 *                   └─────────── done before, or going on ──────────────────────┘
 *
 * Nothing but the head of a request is looked at before it is known who asks, and that they may:
 * what is wrong with the body, the ids or the key is told to nobody else. */
#ifndef SERVER_HTTP_HTTP_H
#define SERVER_HTTP_HTTP_H

#include "base/random.h"
#include "server/http/http_parser.h"
#include "server/http/router.h"
#include "server/page/live.h"
#include "server/server.h"
#include "server/session_trace.h"

#include <time.h>

enum http_step {
    STEP_READING,
    STEP_KNOWING,
    STEP_KNOWN,
    STEP_WHOLE,
    STEP_RUNNING,
    STEP_BEGINNING,
    STEP_BEGUN,
    STEP_RAN,
    STEP_ENDING,
    STEP_STREAMING
};

/* What all HTTP sessions of a server use: the first makes it, the last frees it. */
struct http_shared {
    unsigned sessions;
    struct router router;
    struct random random;
    time_t date_second;
    char date[40]; /* "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" */
    struct live live;
};

struct http_idempotency;
struct http_live;
struct http_stream;

struct http {
    struct http_shared *shared;
    struct http_parser parser;
    enum http_step step;
    uint32_t requests;  /* answered so far */
    bool answered_last; /* nothing can be said any more */
    struct route_match match;
    struct buffer known; /* the Authorization that session->who was found by */
    struct http_idempotency *idempotency;
    struct http_stream *stream;
    struct http_live *live;   /* of a stream that is one of figures */
    int64_t preferred_wait_s; /* that the command waits because of Prefer; 0: it does not */
    size_t made_size;
    char
        made[HF_ID_SIZE]; /* the id of the command in flight, if the row says that it is answered */
};

static inline struct http *http_of(const struct session *session)
{
    return session->state;
}

static inline const struct http_request *http_request_of(const struct session *session)
{
    return &http_of(session)->parser.request;
}

/* The request is answered: on to the next. */
void http_finish(struct session *session);
/* What is wrong becomes the answer. */
void http_answer_problem(struct session *session, const struct problem *problem);

/* ---- http_response.c: writing answers -------------------------------------------------------- */

#define HTTP_JSON "application/json"
#define HTTP_TEXT "text/plain; charset=utf-8"

struct http_answer {
    int status;
    enum hf_error code; /* of a refusal: whether trying later helps */
    const char *type;   /* NULL: there is no body */
    unsigned allowed;   /* methods, if the answer names them */
    bool replayed;      /* sent before, under the same key */
    bool streams;       /* the body goes on until the connection ends */
    const char *fields; /* lines of the head in place of "Cache-Control: no-store"; NULL: that */
};

/* Puts the head in front of the body, which is all of `out` from `start` on. */
void http_respond(struct session *session, size_t start, const struct http_answer *answer);
/* An error of HTTP's own, which has no row in the list of errors. */
void http_respond_error(struct session *session, int status, unsigned allowed, const char *why);
void http_respond_continue(struct session *session);
/* "201 Created"; NULL if it is no status of ours. */
const char *http_status_line(int status);

/* ---- http_trace.c: which request it is ------------------------------------------------------- */

void http_describe(const struct session *session, uint64_t *number, struct trace_request *out);
const char *http_asked(const struct session *session);

/* ---- http_auth.c: who is asking -------------------------------------------------------------- */

/* STEP_KNOWN now or, by way of STEP_KNOWING, later; or the request is answered. */
void http_identify(struct session *session);
void http_identified(struct session *session, bool right);

/* ---- http_command.c: requests that are commands ---------------------------------------------- */

/* What a request asks for. Its texts are views of the request and of `json`, which is to be
 * released after use. False if the request has been refused. */
struct json_fields;
bool http_command(struct session *session, struct command *command, struct json_fields *json);
/* Carries out a command, whose answer belongs to this step. If the engine cannot take it in this
 * turn, the request stays at the step where it is, which is taken again in the next. */
void http_submit(struct session *session, struct command *command, enum http_step step);
/* Carries out the request's command. */
void http_run(struct session *session);
/* The status of a reply, and its body at the end of `out`. */
int http_write_reply(struct session *session, const struct reply *reply, struct buffer *out);
/* Is the id that the client gave or the server made put in front of the reply, which does not have
 * it itself? */
bool http_adds_id(const struct command_spec *spec);

/* What an audit found. */
void http_audited(struct session *session, uint64_t count, struct hf_bytes findings);

/* ---- http_idempotency.c: requests with an Idempotency-Key ------------------------------------ */

static inline bool http_has_key(const struct http_request *request)
{
    return request->method == HTTP_POST && request->headers[HEADER_IDEMPOTENCY_KEY].data != NULL;
}

/* Of a request that has a key, before the ids of the path are decoded, which changes it. False if
 * the request has been answered. */
bool http_idempotency_open(struct session *session);
void http_idempotency_close(struct session *session);
/* The steps of its own. */
void http_idempotency_begin(struct session *session);
void http_idempotency_begun(struct session *session, const struct reply *reply);
void http_idempotency_ran(struct session *session, const struct reply *reply,
                          const struct problem *problem);
void http_idempotency_end(struct session *session);
void http_idempotency_ended(struct session *session);
/* The client left while its command waits, which will not be carried out: the key is free. */
void http_idempotency_give_up(struct session *session);
/* Random bytes for an id, the same whenever the request is carried out again. */
void http_idempotency_entropy(const struct session *session, uint8_t *entropy, size_t size);

/* ---- http_endpoints.c: the server's own ------------------------------------------------------ */

void http_endpoint(struct session *session);
/* Does it tell how the server is? */
bool http_endpoint_is_health(enum endpoint endpoint);
/* What it takes to ask; ROLE_NONE: anybody may. */
enum role http_endpoint_role(enum endpoint endpoint);

/* ---- http_callback.c: messages of the payment peer ------------------------------------------- */

void http_callback(struct session *session);
void http_callback_answered(struct session *session, const struct reply *reply);

/* ---- http_stream.c: server-sent events ------------------------------------------------------- */

void http_stream_feed(struct session *session);
void http_stream_position(struct session *session);
/* The first answer to where a user stands. */
void http_stream_begin(struct session *session, const struct reply *reply);
void http_stream_tick(struct session *session);
void http_stream_end(struct session *session);
/* The session is over. */
void http_stream_close(struct session *session);

/* ---- http_live.c: the figures of the dashboard, as server-sent events ------------------------ */

void http_live(struct session *session);
void http_live_tick(struct session *session);
void http_live_close(struct session *session);

/* ---- http_page.c: the dashboard's files ------------------------------------------------------ */

/* The page, for a browser. False if it is no browser that asks, or there is no page in the
 * program. */
bool http_page(struct session *session);
void http_page_asset(struct session *session);

#endif

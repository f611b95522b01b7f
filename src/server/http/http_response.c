/* SPDX-License-Identifier: Apache-2.0
 *
 * The heads of answers, written without a format string: they are most of a short answer. */
#include "server/http/http.h"

#include "base/check.h"
#include "base/error.h"
#include "command/reply.h"
#include "server/http/http_preference.h"
#include "server/session_access.h"

#include <jansson.h>

/* ---- pieces ---------------------------------------------------------------------------------- */

#define HEAD_SIZE 2048
#define ORIGIN_MAX 512

struct head {
    size_t size;
    char text[HEAD_SIZE];
};

/* Inlined, so that a text whose size is known is moved and not copied by a call. */
static inline __attribute__((always_inline)) void put(struct head *head, const char *text,
                                                      size_t size)
{
    CHECK(size <= HEAD_SIZE - head->size);
    memcpy(head->text + head->size, text, size);
    head->size += size;
}

#define NO_STORE "Cache-Control: no-store\r\n"
#define PUT(head, literal) put(head, literal, sizeof(literal) - 1)

static void put_number(struct head *head, int64_t number)
{
    char text[21];
    put(head, text, decimal_write(text, number));
}

static void put_hex(struct head *head, uint64_t number)
{
    char text[16];
    size_t size = 0;

    do {
        text[sizeof text - ++size] = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number > 0);
    put(head, text + sizeof text - size, size);
}

const char *http_status_line(int status)
{
    static const struct {
        int status;
        const char *line;
    } lines[] = {
        {200, "200 OK"},
        {201, "201 Created"},
        {202, "202 Accepted"},
        {204, "204 No Content"},
        {304, "304 Not Modified"},
        {400, "400 Bad Request"},
        {401, "401 Unauthorized"},
        {402, "402 Payment Required"},
        {403, "403 Forbidden"},
        {404, "404 Not Found"},
        {405, "405 Method Not Allowed"},
        {408, "408 Request Timeout"},
        {409, "409 Conflict"},
        {411, "411 Length Required"},
        {413, "413 Content Too Large"},
        {414, "414 URI Too Long"},
        {415, "415 Unsupported Media Type"},
        {417, "417 Expectation Failed"},
        {421, "421 Misdirected Request"},
        {422, "422 Unprocessable Content"},
        {429, "429 Too Many Requests"},
        {431, "431 Request Header Fields Too Large"},
        {500, "500 Internal Server Error"},
        {501, "501 Not Implemented"},
        {503, "503 Service Unavailable"},
        {505, "505 HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].status == status) {
            return lines[i].line;
        }
    }
    return NULL;
}

static void put_status(struct head *head, int status)
{
    const char *line = http_status_line(status);

    PUT(head, "HTTP/1.1 ");
    if (line != NULL) {
        put(head, line, strlen(line));
    } else {
        put_number(head, status);
        PUT(head, " "); /* of another list than ours: without a phrase */
    }
    PUT(head, "\r\n");
}

static void two(char *out, int number)
{
    out[0] = (char)('0' + number / 10);
    out[1] = (char)('0' + number % 10);
}

/* The same for a whole second, and for all sessions. */
static void put_date(struct head *head, struct http_shared *shared)
{
    static const char pattern[] = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    static const char days[] = "SunMonTueWedThuFriSat",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t now = time(NULL);

    _Static_assert(sizeof pattern <= sizeof shared->date, "room for it");
    if (shared->date_second != now || shared->date[0] == '\0') {
        struct tm tm;
        gmtime_r(&now, &tm);
        memcpy(shared->date, pattern, sizeof pattern);
        memcpy(shared->date + 6, days + 3 * tm.tm_wday, 3);
        two(shared->date + 11, tm.tm_mday);
        memcpy(shared->date + 14, months + 3 * tm.tm_mon, 3);
        two(shared->date + 18, (tm.tm_year + 1900) / 100 % 100);
        two(shared->date + 20, tm.tm_year % 100);
        two(shared->date + 23, tm.tm_hour);
        two(shared->date + 26, tm.tm_min);
        two(shared->date + 29, tm.tm_sec);
        shared->date_second = now;
    }
    put(head, shared->date, sizeof pattern - 1);
}

/* As http_describe() has it, and without a format string. */
static void put_request_id(struct head *head, struct session *session)
{
    struct hf_bytes id = http_request_of(session)->headers[HEADER_REQUEST_ID];

    PUT(head, "X-Request-Id: ");
    if (trace_request_is_valid(id)) {
        put(head, id.data, id.size);
    } else {
        put_hex(head, session->server->started_ns);
        PUT(head, "-");
        put_hex(head, session->id);
        PUT(head, "-");
        put_hex(head, http_of(session)->requests + 1);
    }
    PUT(head, "\r\n");
}

static void put_allowed(struct head *head, const char *name, unsigned allowed,
                        struct memory *memory)
{
    struct buffer list;

    buffer_init(&list, memory);
    router_allowed(allowed, &list);
    put(head, name, strlen(name));
    put(head, list.data, list.size);
    PUT(head, "\r\n");
    buffer_free(&list);
}

/* Pages of another site may read the answers only if the settings allow it. */
static void put_cors(struct head *head, const struct session *session,
                     const struct http_answer *answer)
{
    const char *allowed = session->server->options->cors_origin;
    struct hf_bytes origin = http_request_of(session)->headers[HEADER_ORIGIN];
    bool any = allowed != NULL && strcmp(allowed, "*") == 0;

    if (allowed == NULL || origin.data == NULL || origin.size > ORIGIN_MAX ||
        (!any &&
         (origin.size != strlen(allowed) || memcmp(origin.data, allowed, origin.size) != 0))) {
        return;
    }
    PUT(head, "Access-Control-Allow-Origin: ");
    put(head, any ? "*" : allowed, any ? 1 : origin.size);
    PUT(head, "\r\nVary: Origin\r\n"
              "Access-Control-Expose-Headers: X-Request-Id, Idempotency-Replayed, "
              "Preference-Applied, Retry-After\r\n");
    if (answer->status == 204) {
        put_allowed(head, "Access-Control-Allow-Methods: ", answer->allowed,
                    &session->server->memory);
        PUT(head, "Access-Control-Allow-Headers: Authorization, Content-Type, Idempotency-Key, "
                  "Last-Event-ID, Prefer, X-Request-Id, traceparent, "
                  "tracestate\r\nAccess-Control-Max-Age: 600\r\n");
    }
}

/* What the body is, and how long. */
static void put_body_fields(struct head *head, const char *type, const struct http_answer *answer,
                            size_t size)
{
    const char *fields = answer->fields;

    if (type != NULL && strcmp(type, HTTP_JSON) == 0 && fields == NULL) { /* as most answers are */
        PUT(head, "Content-Type: " HTTP_JSON "\r\n" NO_STORE);
    } else {
        if (type != NULL) {
            PUT(head, "Content-Type: ");
            put(head, type, strlen(type));
            PUT(head, "\r\n");
        }
        fields = fields != NULL ? fields : type != NULL ? NO_STORE : "";
        put(head, fields, strlen(fields));
    }
    if (!answer->streams && answer->status != 204 && answer->status != 304) {
        PUT(head, "Content-Length: ");
        put_number(head, (int64_t)size);
        PUT(head, "\r\n");
    }
}

static void put_connection(struct head *head, const struct session *session, bool streams)
{
    const struct http_request *request = http_request_of(session);

    if (session->closing || streams) {
        PUT(head, "Connection: close\r\n");
    } else if (request->minor == 0 && request->path != NULL) {
        PUT(head, "Connection: keep-alive\r\n");
    }
}

static void put_rest(struct head *head, struct session *session, const struct http_answer *answer)
{
    int retry_s =
        answer->code == HF_RATE_LIMITED ? session_retry_s(session) : error_retry_s(answer->code);

    if (answer->status == 401) {
        PUT(head, "WWW-Authenticate: Bearer\r\n");
    }
    if (retry_s > 0) {
        PUT(head, "Retry-After: ");
        put_number(head, retry_s);
        PUT(head, "\r\n");
    }
    if (answer->allowed != 0) {
        put_allowed(head, "Allow: ", answer->allowed, &session->server->memory);
    }
    if (answer->replayed) {
        PUT(head, "Idempotency-Replayed: true\r\n");
    }
    if (http_of(session)->preferred_wait_s > 0) {
        PUT(head, "Preference-Applied: wait=");
        put_number(head, http_of(session)->preferred_wait_s);
        PUT(head, "\r\n");
    }
    put_cors(head, session, answer);
    put_connection(head, session, answer->streams);
    PUT(head, "\r\n");
}

/* ---- problems -------------------------------------------------------------------------------- */

#define HTTP_PROBLEM "application/problem+json"

/* Does the client want refusals as RFC 9457 has them? */
static bool wants_problem(const struct session *session, const struct http_answer *answer)
{
    struct hf_bytes accept = http_request_of(session)->headers[HEADER_ACCEPT];

    return answer->status >= 400 && answer->type != NULL && strcmp(answer->type, HTTP_JSON) == 0 &&
           accept.data != NULL && http_accepts_problem(accept);
}

/* Puts a refusal, which is all of `out` from `start` on, into the other form. It is read for that,
 * because one that is replayed is known by its text alone. False if it is none. */
static bool to_problem(struct buffer *out, size_t start, int status)
{
    json_error_t error;
    json_t *root = json_loadb(out->data + start, out->size - start, 0, &error);
    const json_t *refusal = json_object_get(root, "error");
    const char *code = json_string_value(json_object_get(refusal, "code"));
    const char *message = json_string_value(json_object_get(refusal, "message"));

    if (code != NULL && message != NULL) {
        out->size = start;
        buffer_format(out, "{\"type\":\"urn:holdfast:error:%s\",\"title\":", code);
        json_text(out, hf_text(error_text(error_from_name(hf_text(code)))));
        buffer_format(out, ",\"status\":%d,\"detail\":", status);
        json_text(out, hf_text(message));
        buffer_format(out, ",\"code\":\"%s\"}", code);
    }
    json_decref(root);
    return code != NULL && message != NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* There is no memory for the answer: all that can be done is to hang up. */
static void give_up(struct session *session, size_t start)
{
    session->out.failed = false;
    session->out.size = start;
    session->closing = true;
    http_of(session)->answered_last = true;
}

void http_respond(struct session *session, size_t start, const struct http_answer *answer)
{
    struct buffer *out = &session->out;
    const struct http_request *request = http_request_of(session);
    bool silent = request->method == HTTP_HEAD && request->path != NULL;
    struct head head;

    if (answer->streams ? silent
                        : !request->keep_alive || session->server->state >= SERVER_DRAINING ||
                              !http_parser_can_skip(&http_of(session)->parser)) {
        session->closing = true;
    }
    const char *type = wants_problem(session, answer) && to_problem(out, start, answer->status)
                           ? HTTP_PROBLEM
                           : answer->type;
    if (out->failed) {
        give_up(session, start);
        return;
    }
    size_t size = out->size - start;
    head.size = 0;
    put_status(&head, answer->status);
    put_date(&head, http_of(session)->shared);
    put_body_fields(&head, type, answer, size);
    put_request_id(&head, session);
    put_rest(&head, session, answer);
    if (!buffer_reserve(out, head.size)) {
        give_up(session, start);
        return;
    }
    memmove(out->data + start + head.size, out->data + start, silent ? 0 : size);
    memcpy(out->data + start, head.text, head.size);
    out->size = start + head.size + (silent ? 0 : size);
    http_of(session)->answered_last = session->closing;
    session_touch(session);
}

void http_respond_error(struct session *session, int status, unsigned allowed, const char *why)
{
    size_t start = session->out.size;
    struct problem problem;
    enum hf_error code = status == 404                                     ? HF_NOT_FOUND
                         : status == 413 || status == 414 || status == 431 ? HF_PAYLOAD_TOO_LARGE
                         : status == 408                                   ? HF_TIMEOUT
                         : status == 403 || status == 421                  ? HF_FORBIDDEN
                         : status == 503                                   ? HF_BUSY
                                                                           : HF_INVALID_ARGUMENT;

    problem_set(&problem, code, "%s", why);
    problem_to_json(&problem, &session->out);
    http_respond(session, start,
                 &(struct http_answer){
                     .status = status, .code = code, .type = HTTP_JSON, .allowed = allowed});
    session_answered(session);
}

void http_respond_continue(struct session *session)
{
    buffer_text(&session->out, "HTTP/1.1 100 Continue\r\n\r\n");
    session_touch(session);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of the server itself, rather than of its engine. */
#include "server/http/http.h"

#include "base/check.h"
#include "server/audit_log.h"
#include "server/http/openapi.h"
#include "server/session_access.h"

/* An audit that finds more lists no more. */
#define FINDINGS_MAX 1000

static void respond(struct session *session, size_t start, int status, const char *type)
{
    http_respond(session, start,
                 &(struct http_answer){
                     .status = status, .code = status == 503 ? HF_LOADING : HF_OK, .type = type});
    http_finish(session);
    session_answered(session);
}

/* ---- how it is doing ------------------------------------------------------------------------- */

static void answer_livez(struct session *session)
{
    size_t start = session->out.size;

    buffer_text(&session->out, "alive\n");
    respond(session, start, 200, HTTP_TEXT);
    session_shows_nothing(session, start);
}

static void answer_readyz(struct session *session)
{
    const struct server *server = session->server;
    size_t start = session->out.size;
    bool away = server->engine != NULL && engine_is_away(server->engine);
    const char *unready = server->engine != NULL ? engine_unready(server->engine) : NULL;

    bool ready = server->state == SERVER_READY && !away && unready == NULL;
    if (server->state == SERVER_READY && unready != NULL) {
        buffer_format(&session->out, "not ready: %s", unready);
    } else {
        buffer_text(&session->out, server_state_name(server->state));
    }
    if (away) {
        buffer_text(&session->out, ": the engine cannot be reached");
    }
    if (server->state == SERVER_LOADING) {
        buffer_format(&session->out, ": %lld of %lld bytes", (long long)server->loaded,
                      (long long)server->load_total);
    }
    buffer_byte(&session->out, '\n');
    const char *ledger = server->engine != NULL ? service_status(server->engine) : NULL;
    if (ledger != NULL) {
        buffer_format(&session->out, "%s\n", ledger);
    }
    respond(session, start, ready ? 200 : 503, HTTP_TEXT);
    session_shows_nothing(session, start);
}

static void answer_metrics(struct session *session)
{
    size_t start = session->out.size;

    metrics_write(&session->server->metrics, session->server, &session->out);
    respond(session, start, 200, "text/plain; version=0.0.4; charset=utf-8");
}

/* What the engine carries; null with the reason where that is not known. */
static void write_carried(struct server *server, struct buffer *out)
{
    struct hf_info info;
    const char *unknown = server_info(server, &info);

    if (unknown != NULL) {
        buffer_text(out, ",\"memory_bytes\":null,\"holds\":null,\"waiting\":null,"
                         "\"expired\":null,\"memory_limit_bytes\":null,"
                         "\"bookings_confirmed\":null,\"unknown_because\":");
        json_text(out, hf_text(unknown));
        return;
    }
    buffer_format(out, ",\"memory_bytes\":%llu,\"holds\":%llu,\"waiting\":%llu,\"expired\":%llu",
                  (unsigned long long)info.memory_bytes, (unsigned long long)info.holds,
                  (unsigned long long)info.waiting, (unsigned long long)info.expired);
    buffer_format(out, ",\"memory_limit_bytes\":%llu,\"bookings_confirmed\":%llu",
                  (unsigned long long)server_figure(server, "memory_limit_bytes"),
                  (unsigned long long)server_figure(server, "bookings_confirmed"));
}

static void answer_info(struct session *session)
{
    struct server *server = session->server;
    struct buffer *out = &session->out;
    size_t start = out->size;

    buffer_format(out, "{\"version\":\"%s\",\"engine\":", hf_version());
    json_text(out, hf_text(server_engine_name(server)));
    buffer_text(out, ",\"ledger\":");
    const char *ledger = server->engine != NULL ? service_ledger_name(server->engine) : NULL;
    if (ledger != NULL) {
        json_text(out, hf_text(ledger));
    } else {
        buffer_text(out, "null");
    }
    buffer_format(out,
                  ",\"state\":\"%s\",\"uptime_seconds\":%llu,\"connections\":%zu,"
                  "\"client_memory_bytes\":%zu",
                  server_state_name(server->state),
                  (unsigned long long)((clock_nanoseconds() - server->started_ns) / 1000000000),
                  server->session_count, server->memory.used);
    write_carried(server, out);
    buffer_byte(out, '}');
    respond(session, start, 200, HTTP_JSON);
}

/* ---- who is asking --------------------------------------------------------------------------- */

static void write_scopes(struct buffer *out, const struct access *access)
{
    for (size_t i = 0; i < access->scope_count; i++) {
        const struct access_scope *scope = &access->scopes[i];
        buffer_text(out, i > 0 ? "," : "");
        json_text(out, (struct hf_bytes){scope->text.data, scope->text.size + scope->is_prefix});
    }
}

static void write_families(struct buffer *out, const struct access *access)
{
    const char *comma = "";

    for (enum family family = FAMILY_NONE + 1; family < FAMILY_COUNT; family++) {
        if (access_has_family(access, family)) {
            buffer_format(out, "%s\"%s\"", comma, family_name(family));
            comma = ",";
        }
    }
}

/* What the user is kept to; null where that is nothing. */
static void write_access(struct buffer *out, const struct access *access)
{
    static const struct access none = {.by_scope = false};

    access = access != NULL ? access : &none;
    buffer_text(out, access->by_scope ? ",\"scopes\":[" : ",\"scopes\":null");
    if (access->by_scope) {
        write_scopes(out, access);
        buffer_byte(out, ']');
    }
    buffer_text(out, access->by_family ? ",\"families\":[" : ",\"families\":null");
    if (access->by_family) {
        write_families(out, access);
        buffer_byte(out, ']');
    }
    if (access->by_rate) {
        buffer_format(out, ",\"rate\":\"%llu/%c\",\"burst\":%llu", (unsigned long long)access->rate,
                      access->unit, (unsigned long long)access->burst);
    } else {
        buffer_text(out, ",\"rate\":null,\"burst\":null");
    }
}

/* Without users, everybody is nobody in particular, and may do everything. */
static void answer_me(struct session *session)
{
    struct buffer *out = &session->out;
    size_t start = out->size;
    bool open = session->server->auth == NULL;

    buffer_text(out, "{\"name\":");
    if (open) {
        buffer_text(out, "null");
    } else {
        json_text(out, hf_text(session->who.name));
    }
    buffer_format(out, ",\"role\":\"%s\",\"sign_in\":%s",
                  role_name(open ? ROLE_ADMIN : session->who.role), open ? "false" : "true");
    write_access(out, session->who.access);
    buffer_byte(out, '}');
    respond(session, start, 200, HTTP_JSON);
}

/* ---- what it offers -------------------------------------------------------------------------- */

static void answer_index(struct session *session)
{
    const struct router *router = &http_of(session)->shared->router;
    struct buffer *out = &session->out;
    size_t start = out->size;

    if (http_page(session)) {
        return;
    }
    buffer_format(out, "Holdfast %s\n\n", hf_version());
    for (size_t i = 0; i < router->count; i++) {
        buffer_format(out, "%-6s %-48s %s\n", router->routes[i].method_name, router->routes[i].path,
                      router->routes[i].help);
    }
    respond(session, start, 200, HTTP_TEXT);
}

static void answer_openapi(struct session *session)
{
    size_t start = session->out.size;

    openapi_write(&http_of(session)->shared->router, &session->out);
    respond(session, start, 200, HTTP_JSON);
}

/* ---- audit and snapshot ---------------------------------------------------------------------- */

/* Is there an engine to be asked? Refuses otherwise. */
static bool has_engine(struct session *session)
{
    const struct server *server = session->server;

    if (server->engine == NULL || server->state == SERVER_FAILED) {
        session_refuse(session, server->engine == NULL ? HF_LOADING : HF_IOERR, "the server is %s",
                       server_state_name(server->state));
        return false;
    }
    return true;
}

static void answer_audit(struct session *session)
{
    if (has_engine(session)) {
        http_of(session)->step = STEP_RUNNING;
        session_audit(session);
    }
}

void http_audited(struct session *session, uint64_t count, struct hf_bytes findings)
{
    size_t start = session->out.size, listed = 0;

    buffer_text(&session->out, "{\"list\":[");
    while (findings.size > 0 && listed < FINDINGS_MAX) {
        struct hf_bytes finding = next_finding(&findings);
        buffer_text(&session->out, listed++ > 0 ? "," : "");
        json_text(&session->out, finding);
    }
    buffer_text(&session->out, "],\"findings\":");
    buffer_decimal(&session->out, (int64_t)count);
    buffer_byte(&session->out, '}');
    http_respond(session, start, &(struct http_answer){.status = 200, .type = HTTP_JSON});
    http_finish(session);
}

static void answer_snapshot(struct session *session)
{
    struct problem problem = {.code = HF_OK};
    size_t start = session->out.size;

    if (!has_engine(session)) {
        return;
    }
    server_settle(session->server);
    enum hf_error code = engine_snapshot(session->server->engine, &problem);
    audit_log_act(session, "SNAPSHOT", NULL, code);
    if (code != HF_OK) {
        session_refuse(session, problem.code, "%s", problem.message);
        return;
    }
    buffer_text(&session->out, "{\"status\":\"begun\"}");
    respond(session, start, 202, HTTP_JSON);
}

/* ---- which ----------------------------------------------------------------------------------- */

static const struct {
    enum role needed; /* ROLE_NONE: anybody may ask */
    void (*answer)(struct session *session);
    const char *whole; /* what it is called, if it concerns all there is; NULL: it does not, or
                        * shows nobody what is not theirs */
} endpoints[] = {
    [ENDPOINT_INDEX] = {ROLE_NONE, answer_index},
    [ENDPOINT_LIVEZ] = {ROLE_NONE, answer_livez},
    [ENDPOINT_READYZ] = {ROLE_NONE, answer_readyz},
    [ENDPOINT_METRICS] = {ROLE_READ, answer_metrics},
    [ENDPOINT_INFO] = {ROLE_READ, answer_info},
    [ENDPOINT_OPENAPI] = {ROLE_NONE, answer_openapi},
    [ENDPOINT_AUDIT] = {ROLE_ADMIN, answer_audit, "an audit"},
    [ENDPOINT_SNAPSHOT] = {ROLE_ADMIN, answer_snapshot, "a snapshot"},
    [ENDPOINT_FEED] = {ROLE_ADMIN, http_stream_feed},
    [ENDPOINT_POSITION] = {ROLE_READ, http_stream_position},
    [ENDPOINT_CALLBACK] = {ROLE_NONE, http_callback},
    [ENDPOINT_ME] = {ROLE_READ, answer_me},
    [ENDPOINT_LIVE] = {ROLE_READ, http_live},
    [ENDPOINT_ASSET] = {ROLE_NONE, http_page_asset},
};

bool http_endpoint_is_health(enum endpoint endpoint)
{
    return endpoint == ENDPOINT_LIVEZ || endpoint == ENDPOINT_READYZ;
}

enum role http_endpoint_role(enum endpoint endpoint)
{
    CHECK(endpoint != ENDPOINT_COMMAND);
    return endpoints[endpoint].needed;
}

/* May this client ask for it, and not too often? Refuses otherwise. */
static bool accepts(struct session *session, enum endpoint endpoint)
{
    const char *whole = endpoints[endpoint].whole;
    struct problem problem;

    if (!session_allows(session, endpoints[endpoint].needed) ||
        (whole != NULL && !session_reaches_all(session, whole))) {
        return false;
    }
    if (!session_pays_server(session, &problem)) {
        session_refuse(session, problem.code, "%s", problem.message);
        return false;
    }
    return true;
}

void http_endpoint(struct session *session)
{
    enum endpoint endpoint = http_of(session)->match.route->endpoint;

    CHECK(endpoint != ENDPOINT_COMMAND);
    if (endpoints[endpoint].needed == ROLE_NONE || accepts(session, endpoint)) {
        endpoints[endpoint].answer(session);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that are commands: path, query and body become the fields of the row that the route
 * names, and the reply becomes the body of the answer. */
#include "server/http/http.h"

#include "base/error.h"
#include "base/text.h"
#include "server/http/json.h"
#include "server/http/generated_id.h"
#include "server/http/http_preference.h"

/* ---- fields ---------------------------------------------------------------------------------- */

/* All that a request says, whichever part of it says it. */
struct fields {
    size_t count;
    struct command_field at[JSON_FIELDS_MAX + ROUTE_ARGS_MAX + 3];
};

static void add_text(struct fields *fields, const char *name, struct hf_bytes text)
{
    fields->at[fields->count++] = (struct command_field){.name = hf_text(name), .text = text};
}

static bool has(const struct fields *fields, const char *name)
{
    struct hf_bytes wanted = hf_text(name);

    for (size_t i = 0; i < fields->count; i++) {
        if (text_equal(fields->at[i].name, wanted)) {
            return true;
        }
    }
    return false;
}

/* name=value&name=value, decoded in place. */
static enum hf_error read_query(struct hf_bytes query, struct fields *fields,
                                struct problem *problem)
{
    char *at = (char *)query.data, *end = at + query.size;

    while (at < end) {
        char *stop = memchr(at, '&', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        char *equals = memchr(at, '=', (size_t)(stop - at));
        char *value = equals != NULL ? equals + 1 : stop;
        size_t name_size = (size_t)((equals != NULL ? equals : stop) - at);
        size_t value_size = (size_t)(stop - value);
        if (!router_decode(at, &name_size, true) || !router_decode(value, &value_size, true)) {
            return problem_set(problem, HF_INVALID_ARGUMENT, "a bad %% escape in the query");
        }
        if (fields->count == JSON_FIELDS_MAX) {
            return problem_set(problem, HF_INVALID_ARGUMENT, "too many arguments in the query");
        }
        fields->at[fields->count++] = (struct command_field){
            .name = {at, name_size}, .text = {value, value_size}, .is_bare = true};
        at = stop + 1;
    }
    return HF_OK;
}

/* GET and DELETE say what they want in the query, the others in the body. */
static enum hf_error read_fields(const struct http_request *request,
                                 const struct command_spec *spec, struct json_fields *json,
                                 struct fields *fields, struct problem *problem)
{
    bool bare = request->method == HTTP_GET || request->method == HTTP_HEAD ||
                request->method == HTTP_DELETE;

    json->root = NULL;
    json->blob = NULL;
    if (bare && request->body.size > 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s takes no body: its arguments stand in the query",
                           request->method_name);
    }
    if (bare) {
        return read_query(request->query, fields, problem);
    }
    if (request->query.size > 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s takes its arguments in the body, not in the query",
                           request->method_name);
    }
    enum hf_error code = json_read(json, request->body, problem);
    if (code == HF_OK) {
        code = json_read_blob(json, spec, problem);
    }
    if (code == HF_OK) {
        memcpy(fields->at, json->fields, json->count * sizeof json->fields[0]);
        fields->count = json->count;
    }
    return code;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static void get_entropy(struct session *session, uint8_t entropy[GENERATED_ID_ENTROPY])
{
    struct http *http = http_of(session);

    if (http->idempotency != NULL) {
        http_idempotency_entropy(session, entropy, GENERATED_ID_ENTROPY);
    } else {
        random_bytes(&http->shared->random, entropy, GENERATED_ID_ENTROPY);
    }
}

/* Makes the id that the caller left to us. The scope is the first argument of the path. */
static enum hf_error make_id(struct session *session, struct fields *fields,
                             struct problem *problem)
{
    struct http *http = http_of(session);
    const struct command_spec *spec = http->match.route->spec;
    const struct arg_spec *arg = &spec->args[spec->made - 1];
    uint8_t entropy[GENERATED_ID_ENTROPY];

    if (has(fields, arg->field)) {
        return HF_OK;
    }
    get_entropy(session, entropy);
    http->made_size = spec->carries
                          ? generated_id_carrying(entropy, http->match.args[0].text, http->made)
                          : generated_id_plain(entropy, http->made);
    if (http->made_size == 0) {
        return problem_set(problem, HF_INVALID_ID,
                           "%s is too long for an id that carries it: give a %s",
                           spec->args[0].field, arg->field);
    }
    add_text(fields, arg->field, (struct hf_bytes){http->made, http->made_size});
    return HF_OK;
}

/* On a route without a scope, the id carries it. */
static enum hf_error find_scope(const struct route_match *match, struct fields *fields,
                                struct problem *problem)
{
    const struct command_spec *spec = match->route->spec;
    struct hf_bytes scope;

    if (!generated_id_scope(match->args[0].text, &scope)) {
        return problem_set(problem, spec->alias_code, "%s: an id that the server did not make",
                           error_text(spec->alias_code));
    }
    add_text(fields, spec->args[0].field, scope);
    return HF_OK;
}

/* The id stands in the answer, whether the client or the server made it; after the call the
 * command's texts are gone. */
static void remember_id(struct http *http, const struct command *command)
{
    if (command->spec->made != 0) {
        const struct arg_spec *arg = &command->spec->args[command->spec->made - 1];
        struct hf_bytes id;
        memcpy(&id, command_arg(command, arg), sizeof id);
        memmove(http->made, id.data, id.size);
        http->made_size = id.size;
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* A command that can wait does so for as long as Prefer says, unless its own field says how long.
 * More than the command's bound is taken as the bound: it is what the client would like, no
 * more. */
static void prefer_wait(struct http *http, struct fields *fields)
{
    const struct command_spec *spec = http->match.route->spec;
    struct hf_bytes prefer = http->parser.request.headers[HEADER_PREFER];
    int64_t seconds;

    http->preferred_wait_s = 0;
    if (prefer.data == NULL || !http_prefers_wait(prefer, &seconds)) {
        return;
    }
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (arg->type == ARG_WAIT && !has(fields, arg->field)) {
            http->preferred_wait_s = seconds < arg->max / 1000 ? seconds : arg->max / 1000;
            fields->at[fields->count++] = (struct command_field){
                .name = hf_text(arg->field), .number = http->preferred_wait_s * 1000};
            return;
        }
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum hf_error build(struct session *session, struct command *command,
                           struct json_fields *json, struct problem *problem)
{
    const struct route_match *match = &http_of(session)->match;
    struct fields fields;
    fields.count = 0; /* the rest is filled in as it comes */
    enum hf_error code =
        read_fields(http_request_of(session), match->route->spec, json, &fields, problem);

    if (code == HF_OK && match->route->alias) {
        code = find_scope(match, &fields, problem);
    }
    for (size_t i = 0; i < match->count && code == HF_OK; i++) {
        fields.at[fields.count++] = match->args[i];
    }
    if (code == HF_OK && match->route->spec->made != 0) {
        code = make_id(session, &fields, problem);
    }
    if (code == HF_OK) {
        prefer_wait(http_of(session), &fields);
        code = command_from_fields(command, match->route->spec, fields.count, fields.at, problem);
    }
    return code;
}

bool http_command(struct session *session, struct command *command, struct json_fields *json)
{
    const struct http_request *request = http_request_of(session);
    struct problem problem;

    json->root = NULL;
    json->blob = NULL;
    if (request->body.size > 0 && !json_is_type(request->headers[HEADER_CONTENT_TYPE])) {
        http_respond_error(session, 415, 0, "the body must be application/json");
        http_finish(session);
        return false;
    }
    if (build(session, command, json, &problem) == HF_OK) {
        remember_id(http_of(session), command);
        return true;
    }
    json_release(json);
    metrics_refused(&session->server->metrics, command_id(http_of(session)->match.route->spec),
                    problem.code);
    session_refuse(session, problem.code, "%s", problem.message);
    return false;
}

void http_submit(struct session *session, struct command *command, enum http_step step)
{
    enum http_step before = http_of(session)->step;

    http_of(session)->step = step; /* the answer may come at once */
    if (!session_submit(session, command)) {
        http_of(session)->step = before;
    }
}

void http_run(struct session *session)
{
    struct command command;
    struct json_fields json;

    if (http_command(session, &command, &json)) {
        http_submit(session, &command, STEP_RUNNING);
        json_release(&json);
        if (session->waits) {
            http_parser_drop_body(&http_of(session)->parser); /* its texts are needed no more */
        }
    }
}

bool http_adds_id(const struct command_spec *spec)
{
    for (size_t i = 0; spec->made != 0 && i < spec->field_count; i++) {
        if (strcmp(spec->fields[i].name, spec->args[spec->made - 1].field) == 0) {
            return false;
        }
    }
    return spec->made != 0;
}

int http_write_reply(struct session *session, const struct reply *reply, struct buffer *out)
{
    struct http *http = http_of(session);
    const struct command_spec *spec = http->match.route->spec;

    if (reply->code != HF_OK) {
        reply_to_json_all(reply, spec, out);
        return hf_error_status(reply->code);
    }
    bool adds = http->made_size > 0 && http_adds_id(spec);
    if (adds) {
        buffer_text(out, "{\"");
        buffer_text(out, spec->args[spec->made - 1].field);
        buffer_text(out, "\":");
        json_text(out, (struct hf_bytes){http->made, http->made_size});
    }
    size_t start = out->size;
    reply_to_json_all(reply, spec, out);
    if (adds && !out->failed) {
        out->data[start] = ','; /* goes on with the object begun above */
    }
    return spec->created ? 201 : spec->accepted ? 202 : 200;
}

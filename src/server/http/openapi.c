/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of all routes for programs, made from the table of commands. */
#include "server/http/openapi.h"

#include "base/text.h"
#include "command/help.h"
#include "command/words.h"
#include "server/http/generated_id.h"
#include "server/http/openapi_parts.h"

/* ---- where arguments stand ------------------------------------------------------------------- */

static bool in_path(const struct route *route, const struct arg_spec *arg)
{
    for (size_t i = 0; i < route->segment_count; i++) {
        if (route->args & 1U << i && text_equal(route->segments[i], hf_text(arg->field))) {
            return true;
        }
    }
    return false;
}

/* On an alias the id carries the first argument. */
static bool in_body(const struct route *route, size_t i)
{
    return !in_path(route, &route->spec->args[i]) && !(route->alias && i == 0);
}

static bool has_query(const struct route *route)
{
    return route->method == METHOD_GET || route->method == METHOD_DELETE;
}

/* The row's example; on an alias with an id such as the server makes. `made` has room for it. */
static struct command example(const struct route *route, char made[HF_ID_SIZE])
{
    static const uint8_t entropy[GENERATED_ID_ENTROPY] = {0x48, 0x6f, 0x6c, 0x64};
    struct command command = help_example(route->spec);
    struct hf_bytes scope, id = {made, 0};

    if (route->alias) {
        memcpy(&scope, command_arg(&command, &route->spec->args[0]), sizeof scope);
        id.size = generated_id_carrying(entropy, scope, made);
        memcpy((char *)&command.args + route->spec->args[1].offset, &id, sizeof id);
    }
    return command;
}

/* An argument in the path or in the query. */
static void write_argument(struct buffer *out, const struct route *route, size_t i, bool path,
                           const struct command *command)
{
    const struct arg_spec *arg = &route->spec->args[i];

    buffer_text(out, "{\"name\":");
    openapi_text(out, arg->field);
    buffer_format(out, ",\"in\":\"%s\",\"required\":%s,\"schema\":", path ? "path" : "query",
                  arg->keyword == NULL ? "true" : "false");
    openapi_schema(out, route->spec, i);
    if (command_says(command, arg)) {
        buffer_text(out, ",\"example\":");
        command_arg_to_json(command, arg, out);
    }
    buffer_byte(out, '}');
}

static void command_parameters(struct buffer *out, const struct route *route)
{
    char made[HF_ID_SIZE];
    struct command command = example(route, made);
    const char *comma = "";

    for (size_t i = 0; i < route->spec->arg_count; i++) {
        bool path = in_path(route, &route->spec->args[i]);
        if (path || (has_query(route) && in_body(route, i))) {
            buffer_text(out, comma);
            write_argument(out, route, i, path, &command);
            comma = ",";
        }
    }
    if (route->spec->flags & COMMAND_WAITS) {
        buffer_text(out, comma);
        buffer_text(out, "{\"$ref\":\"#/components/parameters/PreferWait\"}");
        comma = ",";
    }
    if (route->method == METHOD_POST) {
        buffer_text(out, comma);
        buffer_text(out, "{\"$ref\":\"#/components/parameters/IdempotencyKey\"}");
    }
}

static void write_parameters(struct buffer *out, const struct route *route)
{
    buffer_text(out, ",\"parameters\":[");
    if (route->spec != NULL) {
        command_parameters(out, route);
    } else if (route->endpoint == ENDPOINT_POSITION) {
        buffer_text(out, "{\"name\":\"event\",\"in\":\"path\",\"required\":true,"
                         "\"schema\":{\"type\":\"string\"}},"
                         "{\"name\":\"user\",\"in\":\"path\",\"required\":true,"
                         "\"schema\":{\"type\":\"string\"}}");
    } else if (route->endpoint == ENDPOINT_ASSET) {
        buffer_text(out, "{\"name\":\"name\",\"in\":\"path\",\"required\":true,"
                         "\"schema\":{\"type\":\"string\"}}");
    } else if (route->endpoint == ENDPOINT_FEED) {
        buffer_text(out, "{\"name\":\"scope\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}},"
                         "{\"name\":\"Last-Event-ID\",\"in\":\"header\","
                         "\"schema\":{\"type\":\"string\"}}");
    }
    buffer_byte(out, ']');
}

static void write_required(struct buffer *out, const struct route *route)
{
    const char *comma = "";

    for (size_t i = 0; i < route->spec->required; i++) {
        bool blob = route->spec->args[i].type == ARG_BLOB; /* it has two names */
        if (in_body(route, i) && i + 1 != route->spec->made && !blob) {
            buffer_text(out, *comma == '\0' ? ",\"required\":[" : comma);
            openapi_text(out, route->spec->args[i].field);
            comma = ",";
        }
    }
    buffer_text(out, *comma == '\0' ? "" : "]");
}

/* A blob that has to be there comes under one of its two names. */
static void write_either(struct buffer *out, const struct route *route)
{
    for (size_t i = 0; i < route->spec->required; i++) {
        const char *name = route->spec->args[i].field;
        if (route->spec->args[i].type == ARG_BLOB) {
            buffer_format(out,
                          ",\"oneOf\":[{\"required\":[\"%s\"]},"
                          "{\"required\":[\"%s" JSON_BASE64 "\"]}]",
                          name, name);
        }
    }
}

static void write_body_example(struct buffer *out, const struct route *route)
{
    char made[HF_ID_SIZE];
    struct command command = example(route, made);
    struct buffer target;

    buffer_init(&target, out->memory);
    command_to_request(&command, route->alias, &target, out);
    out->failed |= target.failed;
    buffer_free(&target);
}

static void write_body(struct buffer *out, const struct route *route)
{
    const char *comma = "";
    bool needed = false;

    for (size_t i = 0; i < route->spec->required; i++) {
        needed |= in_body(route, i) && i + 1 != route->spec->made;
    }
    buffer_format(out,
                  ",\"requestBody\":{\"required\":%s,\"content\":{\"application/json\":"
                  "{\"schema\":{\"type\":\"object\",\"additionalProperties\":false,"
                  "\"properties\":{",
                  needed ? "true" : "false");
    for (size_t i = 0; i < route->spec->arg_count; i++) {
        if (in_body(route, i)) {
            buffer_text(out, comma);
            openapi_key(out, route->spec->args[i].field);
            openapi_schema(out, route->spec, i);
            if (route->spec->args[i].type == ARG_BLOB) {
                openapi_coded(out, route->spec->args[i].field);
            }
            comma = ",";
        }
    }
    buffer_byte(out, '}');
    write_required(out, route);
    write_either(out, route);
    buffer_text(out, "},\"example\":");
    write_body_example(out, route);
    buffer_text(out, "}}}");
}

/* ---- answers --------------------------------------------------------------------------------- */

static void write_success(struct buffer *out, const struct route *route)
{
    const struct command_spec *spec = route->spec;
    const char *type = route->endpoint == ENDPOINT_INDEX || route->endpoint == ENDPOINT_LIVEZ ||
                               route->endpoint == ENDPOINT_READYZ ||
                               route->endpoint == ENDPOINT_METRICS ||
                               route->endpoint == ENDPOINT_ASSET
                           ? "text/plain"
                       : route->endpoint == ENDPOINT_FEED || route->endpoint == ENDPOINT_POSITION ||
                               route->endpoint == ENDPOINT_LIVE
                           ? "text/event-stream"
                           : "application/json";

    buffer_format(out, "\"%d\":{\"description\":",
                  route->endpoint == ENDPOINT_SNAPSHOT || route->endpoint == ENDPOINT_CALLBACK ? 202
                  : spec != NULL && spec->created                                              ? 201
                  : spec != NULL && spec->accepted                                             ? 202
                                                   : 200);
    openapi_text(out, spec != NULL && spec->reply_note != NULL ? spec->reply_note : "Done");
    buffer_format(out, ",\"content\":{\"%s\":{\"schema\":", type);
    if (spec == NULL) {
        buffer_text(out, strcmp(type, "application/json") == 0 ? "{\"type\":\"object\"}"
                                                               : "{\"type\":\"string\"}");
    } else {
        openapi_reply_schema(out, spec);
    }
    buffer_text(out, "}}}");
}

static void write_answers(struct buffer *out, const struct route *route)
{
    buffer_text(out, ",\"responses\":{");
    write_success(out, route);
    if (route->spec != NULL) {
        openapi_refusals(out, route);
    }
    buffer_text(out, ",\"default\":{\"$ref\":\"#/components/responses/Error\"}}");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_open(enum endpoint endpoint)
{
    return endpoint == ENDPOINT_INDEX || endpoint == ENDPOINT_LIVEZ ||
           endpoint == ENDPOINT_READYZ || endpoint == ENDPOINT_OPENAPI ||
           endpoint == ENDPOINT_ASSET;
}

static void write_operation(struct buffer *out, const struct route *route)
{
    buffer_byte(out, '"');
    for (const char *at = route->method_name; *at != '\0'; at++) {
        buffer_byte(out, (uint8_t)(*at - 'A' + 'a'));
    }
    buffer_text(out, "\":{\"summary\":");
    openapi_text(out, route->help);
    if (route->spec != NULL) {
        const char *name = route->spec->name;
        buffer_format(out, ",\"operationId\":\"%s%s\",\"tags\":[\"%.*s\"]", name,
                      route->alias ? ".MADE" : "", (int)strcspn(name, "."), name);
    } else {
        buffer_text(out, ",\"tags\":[\"SERVER\"]");
    }
    buffer_text(out, is_open(route->endpoint) ? ",\"security\":[]" : "");
    write_parameters(out, route);
    if (route->spec != NULL && !has_query(route)) {
        write_body(out, route);
    }
    write_answers(out, route);
    buffer_byte(out, '}');
}

/* Each path once, with all its methods. */
static void write_paths(struct buffer *out, const struct router *router)
{
    const char *comma = "";

    for (size_t i = 0; i < router->count; i++) {
        const char *path = router->routes[i].path, *inner = "";
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen |= strcmp(router->routes[j].path, path) == 0;
        }
        if (seen) {
            continue;
        }
        buffer_text(out, comma);
        openapi_key(out, path);
        buffer_byte(out, '{');
        for (size_t j = i; j < router->count; j++) {
            if (strcmp(router->routes[j].path, path) == 0) {
                buffer_text(out, inner);
                write_operation(out, &router->routes[j]);
                inner = ",";
            }
        }
        buffer_byte(out, '}');
        comma = ",";
    }
}

/* The header fields that a request may have. */
static void write_header_fields(struct buffer *out)
{
    buffer_text(out, "\"parameters\":{\"IdempotencyKey\":{\"name\":\"Idempotency-Key\","
                     "\"in\":\"header\",\"description\":\"1 to 255 characters, bare or in double "
                     "quotes. The same key and request again get the same answer, and nothing is "
                     "done twice\",\"schema\":{\"type\":\"string\",\"minLength\":1}},"
                     "\"PreferWait\":{\"name\":\"Prefer\",\"in\":\"header\",\"description\":"
                     "\"wait=SECONDS: wait so long for the outcome, unless wait_ms says "
                     "otherwise\",\"schema\":{\"type\":\"string\"},\"example\":\"wait=10\"}}");
}

/* A refusal as RFC 9457 has it, for those whose Accept names it. */
static void write_problem(struct buffer *out)
{
    buffer_text(out, ",\"Problem\":{\"type\":\"object\",\"required\":[\"type\",\"title\","
                     "\"status\",\"detail\",\"code\"],\"properties\":{\"type\":{\"type\":"
                     "\"string\",\"format\":\"uri\"},\"title\":{\"type\":\"string\"},\"status\":{"
                     "\"type\":\"integer\"},\"detail\":{\"type\":\"string\"},\"code\":{\"type\":"
                     "\"string\"}}}");
}

static void write_components(struct buffer *out)
{
    buffer_text(out, "\"components\":{\"securitySchemes\":{\"bearer\":{\"type\":\"http\","
                     "\"scheme\":\"bearer\"},\"basic\":{\"type\":\"http\",\"scheme\":\"basic\"}},");
    write_header_fields(out);
    buffer_text(out, ",\"responses\":{\"Error\":{\"description\":\"Refused\",\"content\":{"
                     "\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}},"
                     "\"application/problem+json\":{\"schema\":{\"$ref\":"
                     "\"#/components/schemas/Problem\"}}}}");
    openapi_common_refusals(out);
    buffer_text(out, "},\"schemas\":{\"Error\":{\"type\":\"object\","
                     "\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":\"object\","
                     "\"required\":[\"code\",\"message\"],\"properties\":{\"message\":{\"type\":"
                     "\"string\"},\"code\":{\"type\":\"string\",\"enum\":[");
    for (int code = HF_OK + 1; code < HF_ERROR_COUNT; code++) {
        if (code != HF_ERR) { /* INVALID_ARGUMENT, in JSON */
            buffer_text(out, code == HF_OK + 1 ? "" : ",");
            openapi_text(out, hf_error_name((enum hf_error)code));
        }
    }
    buffer_text(out, "]}}}}}");
    write_problem(out);
    buffer_text(out, "}}");
}

void openapi_write(const struct router *router, struct buffer *out)
{
    buffer_text(out, "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"Holdfast\",\"version\":");
    openapi_text(out, HF_VERSION);
    buffer_text(out, ",\"description\":\"Hands out scarce things, never more than there are\"},"
                     "\"security\":[{},{\"bearer\":[]},{\"basic\":[]}],\"paths\":{");
    write_paths(out, router);
    buffer_text(out, "},");
    write_components(out);
    buffer_byte(out, '}');
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of all routes for programs, made from the table of commands. */
#include "server/http/openapi.h"

#include "base/text.h"
#include "command/reply.h"

static void text(struct buffer *out, const char *value)
{
    json_text(out, hf_text(value));
}

static void key(struct buffer *out, const char *name)
{
    text(out, name);
    buffer_byte(out, ':');
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void number_schema(struct buffer *out, int64_t min, int64_t max)
{
    buffer_format(out,
                  "\"type\":\"integer\",\"format\":\"int64\",\"minimum\":%lld,\"maximum\":%lld",
                  (long long)min, (long long)max);
}

static void text_schema(struct buffer *out, int64_t min, int64_t max)
{
    buffer_format(out, "\"type\":\"string\",\"minLength\":%lld,\"maxLength\":%lld", (long long)min,
                  (long long)max);
}

/* A bare number in `unit_ms`, or a text with a unit. */
static void duration_schema(struct buffer *out, const struct arg_spec *arg, int64_t unit_ms)
{
    buffer_text(out, "\"oneOf\":[{");
    number_schema(out, (arg->min + unit_ms - 1) / unit_ms, arg->max / unit_ms);
    buffer_text(out, "},{\"type\":\"string\",\"pattern\":\"^[0-9]+(ms|s|m|h)?$\"}]");
    buffer_format(out, ",\"description\":\"%s, or a text with a unit: 1500ms, 30s, 10m, 2h\"",
                  unit_ms == 1 ? "Milliseconds" : "Seconds");
    if (arg->keyword != NULL && arg->default_value % unit_ms == 0) {
        buffer_format(out, ",\"default\":%lld", (long long)(arg->default_value / unit_ms));
    }
}

static void choice_schema(struct buffer *out, const struct arg_spec *arg)
{
    buffer_text(out, "\"type\":\"string\",\"enum\":[");
    for (const char *at = arg->choices; *at != '\0';) {
        size_t size = strcspn(at, "|");
        buffer_text(out, at == arg->choices ? "" : ",");
        json_text(out, (struct hf_bytes){at, size});
        at += size + (at[size] == '|');
    }
    buffer_text(out, "],\"default\":");
    json_text(out, (struct hf_bytes){arg->choices, strcspn(arg->choices, "|")});
}

static void schema(struct buffer *out, const struct arg_spec *arg)
{
    buffer_byte(out, '{');
    switch (arg->type) {
    case ARG_ID:
    case ARG_TEXT:
    case ARG_BLOB:
        text_schema(out, arg->min, arg->max);
        break;
    case ARG_COUNT:
    case ARG_AMOUNT:
        number_schema(out, arg->min, arg->max);
        if (arg->keyword != NULL && !arg->zero_counts) {
            buffer_format(out, ",\"default\":%lld", (long long)arg->default_value);
        }
        break;
    case ARG_DURATION:
        duration_schema(out, arg, 1000);
        break;
    case ARG_WAIT:
        duration_schema(out, arg, 1);
        break;
    case ARG_CHOICE:
        choice_schema(out, arg);
        break;
    case ARG_FLAG:
        buffer_text(out, "\"type\":\"boolean\",\"default\":false");
        break;
    }
    buffer_byte(out, '}');
}

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

/* Where the method has no body, what is not in the path is in the query. */
static bool is_bare(const struct route *route)
{
    return route->method == METHOD_GET || route->method == METHOD_DELETE;
}

static void write_query(struct buffer *out, const struct route *route, const char *comma)
{
    for (size_t i = 0; route->spec != NULL && i < route->spec->arg_count; i++) {
        if (is_bare(route) && in_body(route, i)) {
            buffer_text(out, comma);
            buffer_text(out, "{\"name\":");
            text(out, route->spec->args[i].field);
            buffer_format(out, ",\"in\":\"query\",\"required\":%s,\"schema\":",
                          i < route->spec->required ? "true" : "false");
            schema(out, &route->spec->args[i]);
            buffer_byte(out, '}');
            comma = ",";
        }
    }
}

static void write_parameters(struct buffer *out, const struct route *route)
{
    const char *comma = "";

    buffer_text(out, ",\"parameters\":[");
    for (size_t i = 0; i < route->segment_count; i++) {
        if (route->args & 1U << i) {
            buffer_text(out, comma);
            buffer_text(out, "{\"name\":");
            json_text(out, route->segments[i]);
            buffer_text(out, ",\"in\":\"path\",\"required\":true,\"schema\":{");
            text_schema(out, 1, HF_ID_MAX);
            buffer_text(out, "}}");
            comma = ",";
        }
    }
    write_query(out, route, comma);
    if (route->method == METHOD_POST && route->spec != NULL) {
        buffer_text(out, comma);
        buffer_text(out, "{\"$ref\":\"#/components/parameters/IdempotencyKey\"}");
    }
    if (route->endpoint == ENDPOINT_FEED) {
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
            text(out, route->spec->args[i].field);
            comma = ",";
        }
    }
    buffer_text(out, *comma == '\0' ? "" : "]");
}

/* Another field beside that of a blob: its bytes in base 64. */
static void write_coded(struct buffer *out, const char *name)
{
    buffer_format(out,
                  ",\"%s" JSON_BASE64 "\":{\"type\":\"string\",\"format\":\"byte\","
                  "\"description\":\"%s in base 64, in place of it, if it is no UTF-8\"}",
                  name, name);
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
            key(out, route->spec->args[i].field);
            schema(out, &route->spec->args[i]);
            if (route->spec->args[i].type == ARG_BLOB) {
                write_coded(out, route->spec->args[i].field);
            }
            comma = ",";
        }
    }
    buffer_byte(out, '}');
    write_required(out, route);
    write_either(out, route);
    buffer_text(out, "}}}}");
}

/* ---- answers --------------------------------------------------------------------------------- */

static void write_fields(struct buffer *out, const struct command_spec *spec)
{
    const char *comma = "";

    buffer_text(out, "{\"type\":\"object\",\"properties\":{");
    if (spec->made != 0) {
        key(out, spec->args[spec->made - 1].field);
        buffer_text(out, "{\"type\":\"string\"}");
        comma = ",";
    }
    for (size_t i = 0; i < spec->field_count; i++) {
        buffer_text(out, comma);
        key(out, spec->fields[i].name);
        buffer_text(out, spec->fields[i].is_text ? "{\"type\":\"string\"}"
                                                 : "{\"type\":\"integer\",\"format\":\"int64\"}");
        if (spec->fields[i].is_blob) {
            write_coded(out, spec->fields[i].name);
        }
        comma = ",";
    }
    buffer_text(out, "}}");
}

static void write_success(struct buffer *out, const struct route *route)
{
    const struct command_spec *spec = route->spec;
    const char *type = route->endpoint == ENDPOINT_INDEX || route->endpoint == ENDPOINT_LIVEZ ||
                               route->endpoint == ENDPOINT_READYZ ||
                               route->endpoint == ENDPOINT_METRICS
                           ? "text/plain"
                       : route->endpoint == ENDPOINT_FEED || route->endpoint == ENDPOINT_POSITION
                           ? "text/event-stream"
                           : "application/json";

    buffer_format(out, "\"%d\":{\"description\":\"Done\",\"content\":{\"%s\":{\"schema\":",
                  route->endpoint == ENDPOINT_SNAPSHOT ? 202
                  : spec != NULL && spec->created      ? 201
                                                       : 200,
                  type);
    if (spec == NULL) {
        buffer_text(out, strcmp(type, "application/json") == 0 ? "{\"type\":\"object\"}"
                                                               : "{\"type\":\"string\"}");
    } else if (spec->shape == REPLY_PAIRS) {
        buffer_text(out, "{\"type\":\"array\",\"items\":");
        write_fields(out, spec);
        buffer_byte(out, '}');
    } else if (spec->shape == REPLY_PAGE) {
        buffer_text(out, "{\"type\":\"object\",\"required\":[\"cursor\",\"items\"],"
                         "\"properties\":{\"cursor\":{\"type\":\"string\",\"description\":"
                         "\"The after of the next page; empty at the end\"},"
                         "\"items\":{\"type\":\"array\",\"items\":");
        write_fields(out, spec);
        buffer_text(out, "}}}");
    } else {
        write_fields(out, spec);
    }
    buffer_text(out, "}}}");
}

static void write_answers(struct buffer *out, const struct route *route)
{
    static const int statuses[] = {400, 401, 403, 404, 408, 409, 422, 429, 503};

    buffer_text(out, ",\"responses\":{");
    write_success(out, route);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0] && route->spec != NULL; i++) {
        bool keyed = route->method == METHOD_POST, waits = route->spec->flags & COMMAND_WAITS;
        if ((statuses[i] != 422 || keyed) && (statuses[i] != 408 || waits)) {
            buffer_format(out, ",\"%d\":{\"$ref\":\"#/components/responses/Error\"}", statuses[i]);
        }
    }
    buffer_text(out, ",\"default\":{\"$ref\":\"#/components/responses/Error\"}}");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_open(enum endpoint endpoint)
{
    return endpoint == ENDPOINT_INDEX || endpoint == ENDPOINT_LIVEZ ||
           endpoint == ENDPOINT_READYZ || endpoint == ENDPOINT_OPENAPI;
}

static void write_operation(struct buffer *out, const struct route *route)
{
    buffer_byte(out, '"');
    for (const char *at = route->method_name; *at != '\0'; at++) {
        buffer_byte(out, (uint8_t)(*at - 'A' + 'a'));
    }
    buffer_text(out, "\":{\"summary\":");
    text(out, route->help);
    if (route->spec != NULL) {
        const char *name = route->spec->name;
        buffer_format(out, ",\"operationId\":\"%s%s\",\"tags\":[\"%.*s\"]", name,
                      route->alias ? ".MADE" : "", (int)strcspn(name, "."), name);
    } else {
        buffer_text(out, ",\"tags\":[\"SERVER\"]");
    }
    buffer_text(out, is_open(route->endpoint) ? ",\"security\":[]" : "");
    write_parameters(out, route);
    if (route->spec != NULL && !is_bare(route)) {
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
        key(out, path);
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

static void write_components(struct buffer *out)
{
    buffer_text(out,
                "\"components\":{\"securitySchemes\":{\"bearer\":{\"type\":\"http\","
                "\"scheme\":\"bearer\"},\"basic\":{\"type\":\"http\",\"scheme\":\"basic\"}},"
                "\"parameters\":{\"IdempotencyKey\":{\"name\":\"Idempotency-Key\","
                "\"in\":\"header\",\"description\":\"The same key and request again get the same "
                "answer, and nothing is done twice\",\"schema\":{\"type\":\"string\","
                "\"minLength\":1,\"maxLength\":122}}},\"responses\":{\"Error\":{\"description\":"
                "\"Refused\",\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\","
                "\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":\"object\","
                "\"required\":[\"code\",\"message\"],\"properties\":{\"message\":{\"type\":"
                "\"string\"},\"code\":{\"type\":\"string\",\"enum\":[");
    for (int code = HF_OK + 1; code < HF_ERROR_COUNT; code++) {
        if (code != HF_ERR) { /* INVALID_ARGUMENT, in JSON */
            buffer_text(out, code == HF_OK + 1 ? "" : ",");
            text(out, hf_error_name((enum hf_error)code));
        }
    }
    buffer_text(out, "]}}}}}}}}}}");
}

void openapi_write(const struct router *router, struct buffer *out)
{
    buffer_text(out, "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"Holdfast\",\"version\":");
    text(out, HF_VERSION);
    buffer_text(out, ",\"description\":\"Hands out scarce things, never more than there are\"},"
                     "\"security\":[{},{\"bearer\":[]},{\"basic\":[]}],\"paths\":{");
    write_paths(out, router);
    buffer_text(out, "},");
    write_components(out);
    buffer_byte(out, '}');
}

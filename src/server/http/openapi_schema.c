/* SPDX-License-Identifier: Apache-2.0
 *
 * What OpenAPI says of values: the schema of an argument by its type, of a reply by its row. */
#include "server/http/http.h"
#include "server/http/openapi_parts.h"

void openapi_text(struct buffer *out, const char *value)
{
    json_text(out, hf_text(value));
}

void openapi_key(struct buffer *out, const char *name)
{
    openapi_text(out, name);
    buffer_byte(out, ':');
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void number_schema(struct buffer *out, int64_t min, int64_t max)
{
    buffer_format(out,
                  "\"type\":\"integer\",\"format\":\"int64\",\"minimum\":%lld,\"maximum\":%lld",
                  (long long)min, (long long)max);
}

void openapi_text_schema(struct buffer *out, int64_t min, int64_t max)
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
    if (arg_has_default(arg) && arg->default_value % unit_ms == 0) {
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

static void write_type(struct buffer *out, const struct arg_spec *arg)
{
    switch (arg->type) {
    case ARG_ID:
    case ARG_TEXT:
    case ARG_BLOB:
        openapi_text_schema(out, arg->min, arg->max);
        break;
    case ARG_COUNT:
    case ARG_AMOUNT:
        number_schema(out, arg->min, arg->max);
        if (arg_has_default(arg)) {
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
}

void openapi_schema(struct buffer *out, const struct command_spec *spec, size_t i)
{
    const struct arg_spec *arg = &spec->args[i];

    buffer_byte(out, '{');
    write_type(out, arg);
    buffer_text(out, ",\"description\":\"");
    buffer_text(out, spec->meanings[i]);
    if (arg->type == ARG_DURATION || arg->type == ARG_WAIT) {
        buffer_format(out, "; %s, or a text with a unit: 1500ms, 30s, 10m, 2h",
                      arg->type == ARG_WAIT ? "milliseconds" : "seconds");
    }
    buffer_text(out, "\"}");
}

/* Another field beside that of a blob: its bytes in base 64. */
void openapi_coded(struct buffer *out, const char *name)
{
    buffer_format(out,
                  ",\"%s" JSON_BASE64 "\":{\"type\":\"string\",\"format\":\"byte\","
                  "\"description\":\"%s in base 64, in place of it, if it is no UTF-8\"}",
                  name, name);
}

/* ---- replies --------------------------------------------------------------------------------- */

static void write_fields(struct buffer *out, const struct command_spec *spec)
{
    const char *comma = "";

    buffer_text(out, "{\"type\":\"object\",\"properties\":{");
    if (http_adds_id(spec)) {
        openapi_key(out, spec->args[spec->made - 1].field);
        buffer_text(out, "{\"type\":\"string\"}");
        comma = ",";
    }
    for (size_t i = 0; i < spec->field_count; i++) {
        buffer_text(out, comma);
        openapi_key(out, spec->fields[i].name);
        buffer_text(out, spec->fields[i].is_text   ? "{\"type\":\"string\"}"
                         : spec->fields[i].guessed ? "{\"type\":\"integer\",\"format\":\"int64\","
                                                     "\"nullable\":true}"
                                                   : "{\"type\":\"integer\",\"format\":\"int64\"}");
        if (spec->fields[i].is_blob) {
            openapi_coded(out, spec->fields[i].name);
        }
        comma = ",";
    }
    buffer_text(out, "}}");
}

void openapi_reply_schema(struct buffer *out, const struct command_spec *spec)
{
    if (spec->shape == REPLY_PAIRS) {
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
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What OpenAPI says of refusals: for each status of a route the codes that come with it, and when.
 * The row has those of the command, this file those of the front and of the server. */
#include "command/help.h"
#include "server/http/openapi_parts.h"

/* Which routes have it. */
enum reach { ALL, WITH_BODY, WITH_KEY };

static const struct {
    enum hf_error code;
    enum reach reach;
    const char *cause;
} common[] = {
    {HF_INVALID_ARGUMENT, ALL, "a field is missing, unknown, given twice or of another type"},
    {HF_UNAUTHORIZED, ALL, "no user, or not with this password or token"},
    {HF_FORBIDDEN, ALL,
     "the user has not the role for it, or is kept to other scopes or families; or the page's "
     "origin is not allowed"},
    {HF_TIMEOUT, ALL,
     "the engine did not answer in time: it may have happened, try again with the "
     "same id"},
    {HF_IN_PROGRESS, WITH_KEY, "the first request with this Idempotency-Key is in flight"},
    {HF_INVALID_STATE, WITH_KEY, "the answer to this Idempotency-Key was too long to be kept"},
    {HF_PAYLOAD_TOO_LARGE, WITH_BODY, "the body is longer than the server takes"},
    {HF_KEY_REUSED, WITH_KEY, "the Idempotency-Key was used for another request"},
    {HF_RATE_LIMITED, ALL, "the user asks more often than its rate allows"},
    {HF_INTERNAL, ALL, "a defect of the server"},
    {HF_IOERR, ALL, "the data directory failed"},
    {HF_READONLY, ALL, "the server does not take writes"},
    {HF_LOADING, ALL, "the server is still loading"},
    {HF_BUSY, ALL, "out of memory or too much to do"},
    {HF_ENGINE_DOWN, ALL, "the engine does not answer"},
};

#define COMMON (sizeof common / sizeof common[0])

static bool reaches(const struct route *route, enum reach reach)
{
    bool body = route->method == METHOD_POST || route->method == METHOD_PUT;

    return reach == ALL || (reach == WITH_BODY && body) ||
           (reach == WITH_KEY && route->method == METHOD_POST);
}

/* What the command itself, or its alias, refuses with this code for. */
static void own_causes(struct buffer *out, const struct route *route, enum hf_error code)
{
    size_t start = out->size;

    help_cause(route->spec, code, true, out);
    if (route->alias && code == route->spec->alias_code) {
        buffer_text(out, out->size > start ? "; " : "");
        buffer_text(out, "the id is not one that the server made");
    }
}

/* What the server refuses with this code for, on this route, or with NULL on any. */
static void common_causes(struct buffer *out, const struct route *route, enum hf_error code,
                          bool first)
{
    for (size_t i = 0; i < COMMON; i++) {
        if (common[i].code == code && (route == NULL || reaches(route, common[i].reach))) {
            buffer_text(out, first ? "" : "; ");
            buffer_text(out, common[i].cause);
            first = false;
        }
    }
}

/* The refusals of one status: "CODE: cause. CODE: cause", and "CODE","CODE". */
struct refusals {
    int status;
    bool own; /* one of them is of the command itself */
    struct buffer causes, codes;
};

static void collect(struct refusals *refusals, const struct route *route)
{
    struct buffer *causes = &refusals->causes, *codes = &refusals->codes;

    buffer_clear(causes);
    buffer_clear(codes);
    refusals->own = false;
    for (int i = HF_OK + 1; i < HF_ERROR_COUNT; i++) {
        enum hf_error code = (enum hf_error)i;
        size_t start = causes->size;
        if (hf_error_status(code) != refusals->status || code == HF_ERR) {
            continue; /* ERR is INVALID_ARGUMENT in JSON */
        }
        buffer_format(causes, "%s%s: ", start == 0 ? "" : ". ", hf_error_name(code));
        size_t named = causes->size;
        if (route != NULL) {
            own_causes(causes, route, code);
        }
        bool own = causes->size > named;
        common_causes(causes, route, code, !own);
        if (causes->size == named) {
            causes->size = start;
            continue;
        }
        refusals->own |= own;
        buffer_text(codes, codes->size == 0 ? "" : ",");
        openapi_text(codes, hf_error_name(code));
    }
}

static void write_response(struct buffer *out, const struct refusals *refusals)
{
    buffer_text(out, "{\"description\":");
    json_text(out, (struct hf_bytes){refusals->causes.data, refusals->causes.size});
    buffer_text(out, ",\"content\":{\"application/json\":{\"schema\":{\"allOf\":[{\"$ref\":"
                     "\"#/components/schemas/Error\"},{\"properties\":{\"error\":{"
                     "\"properties\":{\"code\":{\"enum\":[");
    buffer_bytes(out, refusals->codes.data, refusals->codes.size);
    buffer_text(out, "]}}}}}]}},\"application/problem+json\":{\"schema\":{\"$ref\":"
                     "\"#/components/schemas/Problem\"}}}}");
}

/* Is it the first code of its status? */
static bool is_first(enum hf_error code)
{
    for (int i = HF_OK + 1; i < (int)code; i++) {
        if (hf_error_status((enum hf_error)i) == hf_error_status(code)) {
            return false;
        }
    }
    return true;
}

/* A member for each status: of a route; or with NULL of what any route may answer, to refer to. */
static void write_statuses(struct buffer *out, const struct route *route)
{
    struct refusals refusals;

    buffer_init(&refusals.causes, out->memory);
    buffer_init(&refusals.codes, out->memory);
    for (int i = HF_OK + 1; i < HF_ERROR_COUNT; i++) {
        refusals.status = hf_error_status((enum hf_error)i);
        if (!is_first((enum hf_error)i)) {
            continue;
        }
        collect(&refusals, route);
        if (refusals.codes.size == 0) {
            continue;
        }
        buffer_format(out, ",\"%d\":", refusals.status);
        if (route == NULL || refusals.own) {
            write_response(out, &refusals);
        } else {
            buffer_format(out, "{\"$ref\":\"#/components/responses/%d\"}", refusals.status);
        }
    }
    out->failed |= refusals.causes.failed || refusals.codes.failed;
    buffer_free(&refusals.causes);
    buffer_free(&refusals.codes);
}

void openapi_refusals(struct buffer *out, const struct route *route)
{
    write_statuses(out, route);
}

void openapi_common_refusals(struct buffer *out)
{
    write_statuses(out, NULL);
}

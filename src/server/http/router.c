/* SPDX-License-Identifier: Apache-2.0
 *
 * Which route a path and a method stand for. The table of commands gives the routes. */
#include "server/http/router.h"

#include "base/check.h"
#include "base/text.h"

/* ---- building it ----------------------------------------------------------------------------- */

static const struct {
    enum endpoint endpoint;
    const char *method, *path, *help;
} own_routes[] = {
    {ENDPOINT_INDEX, "GET", "/",
     "The dashboard, for a browser; what can be asked, in plain text, for all others"},
    {ENDPOINT_LIVEZ, "GET", "/livez", "Is the process alive?"},
    {ENDPOINT_READYZ, "GET", "/readyz", "Can it serve? 503 while it loads, stops or has failed"},
    {ENDPOINT_METRICS, "GET", "/metrics", "Figures for Prometheus"},
    {ENDPOINT_INFO, "GET", "/v1/info", "Version, state and what the engine carries"},
    {ENDPOINT_OPENAPI, "GET", "/v1/openapi.json", "This interface, as OpenAPI 3.0"},
    {ENDPOINT_AUDIT, "POST", "/v1/audit", "Recompute every total and list what does not add up"},
    {ENDPOINT_SNAPSHOT, "POST", "/v1/snapshot", "Begin a snapshot of the state"},
    {ENDPOINT_FEED, "GET", "/v1/feed", "All that happens, as server-sent events"},
    {ENDPOINT_POSITION, "GET", "/v1/events/{event}/queue/{user}/stream",
     "A user's place in line, as server-sent events"},
    {ENDPOINT_CALLBACK, "POST", "/v1/payments/callback",
     "A signed message of the payment peer: a payment has an outcome"},
    {ENDPOINT_ME, "GET", "/v1/me", "Who is asking, and what they may"},
    {ENDPOINT_LIVE, "GET", "/v1/live", "The server's figures once a second, as server-sent events"},
    {ENDPOINT_ASSET, "GET", "/assets/{name}", "A file of the dashboard"},
};

static const struct {
    enum route_method method;
    const char *name;
} methods[] = {
    {METHOD_GET, "GET"}, {METHOD_POST, "POST"}, {METHOD_PUT, "PUT"}, {METHOD_DELETE, "DELETE"}};

#define METHODS (sizeof methods / sizeof methods[0])

static unsigned method_bit(const char *name)
{
    for (size_t i = 0; i < METHODS; i++) {
        if (strcmp(methods[i].name, name) == 0) {
            return methods[i].method;
        }
    }
    return 0;
}

/* The segments of a path, those after each slash; more than there is room for are only counted. */
static size_t split(const char *path, size_t size, struct hf_bytes segments[ROUTE_SEGMENTS_MAX])
{
    size_t count = 0;

    for (size_t at = 1, next; at <= size; at = next + 1) {
        const char *slash = at < size ? memchr(path + at, '/', size - at) : NULL;
        next = slash != NULL ? (size_t)(slash - path) : size;
        if (count < ROUTE_SEGMENTS_MAX) {
            segments[count] = (struct hf_bytes){path + at, next - at};
        }
        count++;
    }
    return count;
}

static struct route *add(struct router *router, enum endpoint endpoint, const char *method,
                         const char *path, const char *help)
{
    CHECK(router->count < ROUTES_MAX);
    struct route *route = &router->routes[router->count++];
    *route = (struct route){.endpoint = endpoint,
                            .method = (enum route_method)method_bit(method),
                            .method_name = method,
                            .path = path,
                            .help = help};
    route->segment_count = split(path, strlen(path), route->segments);
    CHECK(route->method != 0 && route->segment_count <= ROUTE_SEGMENTS_MAX);
    for (size_t i = 0; i < route->segment_count; i++) {
        struct hf_bytes *segment = &route->segments[i];
        if (segment->size > 0 && segment->data[0] == '{') {
            *segment = (struct hf_bytes){segment->data + 1, segment->size - 2};
            route->args |= 1U << i;
        }
    }
    return route;
}

void router_init(struct router *router)
{
    router->count = 0;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        if (spec->route != NULL) {
            add(router, ENDPOINT_COMMAND, spec->method, spec->route, spec->help)->spec = spec;
        }
        if (spec->alias != NULL) {
            struct route *route =
                add(router, ENDPOINT_COMMAND, spec->method, spec->alias, spec->help);
            route->spec = spec;
            route->alias = true;
        }
    }
    for (size_t i = 0; i < sizeof own_routes / sizeof own_routes[0]; i++) {
        add(router, own_routes[i].endpoint, own_routes[i].method, own_routes[i].path,
            own_routes[i].help);
    }
}

/* ---- using it -------------------------------------------------------------------------------- */

bool router_decode(char *text, size_t *size, bool form)
{
    size_t to = 0;

    for (size_t from = 0; from < *size; from++) {
        char c = text[from];
        if (c == '%') {
            if (*size - from < 3 || text_hex_digit(text[from + 1]) < 0 ||
                text_hex_digit(text[from + 2]) < 0) {
                return false;
            }
            c = (char)(text_hex_digit(text[from + 1]) << 4 | text_hex_digit(text[from + 2]));
            from += 2;
        } else if (c == '+' && form) {
            c = ' ';
        }
        text[to++] = c;
    }
    *size = to;
    return true;
}

/* Words are compared as they stand: a path that is written another way is another path, to us as
 * to a proxy in front of us that guards some of them. */
static bool fits(const struct route *route, size_t count, const struct hf_bytes *segments)
{
    if (route->segment_count != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!(route->args & 1U << i) && !text_equal(route->segments[i], segments[i])) {
            return false;
        }
    }
    return true;
}

bool router_take_args(struct route_match *match, char *path, size_t size)
{
    const struct route *route = match->route;
    struct hf_bytes segments[ROUTE_SEGMENTS_MAX];

    CHECK(split(path, size, segments) == route->segment_count);
    match->count = 0;
    for (size_t i = 0; i < route->segment_count; i++) {
        if (!(route->args & 1U << i)) {
            continue;
        }
        CHECK(match->count < ROUTE_ARGS_MAX);
        struct command_field *arg = &match->args[match->count++];
        char *text = path + (segments[i].data - path);
        size_t text_size = segments[i].size;
        if (!router_decode(text, &text_size, false)) {
            return false;
        }
        *arg = (struct command_field){.name = route->segments[i], .text = {text, text_size}};
    }
    return true;
}

enum route_found router_find(const struct router *router, const char *method, const char *path,
                             size_t size, struct route_match *match)
{
    struct hf_bytes segments[ROUTE_SEGMENTS_MAX] = {{NULL, 0}};
    size_t count = size > 0 && path[0] == '/' ? split(path, size, segments) : 0;
    unsigned wanted = strcmp(method, "HEAD") == 0 ? METHOD_GET : method_bit(method);
    bool asks = strcmp(method, "OPTIONS") == 0, all = asks && size == 1 && path[0] == '*';

    *match = (struct route_match){.route = NULL};
    for (size_t i = 0; i < router->count && match->route == NULL; i++) {
        const struct route *route = &router->routes[i];
        if (all || (count <= ROUTE_SEGMENTS_MAX && fits(route, count, segments))) {
            match->allowed |= route->method;
            match->route = route->method == wanted ? route : NULL;
        }
    }
    if (match->allowed == 0) {
        return ROUTE_UNKNOWN;
    }
    if (match->route == NULL) {
        return asks ? ROUTE_OPTIONS : ROUTE_OTHER;
    }
    return ROUTE_FOUND;
}

void router_allowed(unsigned allowed, struct buffer *out)
{
    for (size_t i = 0; i < METHODS; i++) {
        if (allowed & methods[i].method) {
            buffer_text(out, methods[i].name);
            buffer_text(out, methods[i].method == METHOD_GET ? ", HEAD, " : ", ");
        }
    }
    buffer_text(out, "OPTIONS");
}

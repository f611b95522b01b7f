/* SPDX-License-Identifier: Apache-2.0
 *
 * From a method and a path to what they stand for: a command, by the routes in the table of
 * commands, or something of the server's own. */
#ifndef SERVER_HTTP_ROUTER_H
#define SERVER_HTTP_ROUTER_H

#include "base/buffer.h"
#include "command/command.h"

#define ROUTES_MAX 128
#define ROUTE_SEGMENTS_MAX 8
#define ROUTE_ARGS_MAX 3

enum endpoint {
    ENDPOINT_COMMAND, /* the row is in the route */
    ENDPOINT_INDEX,
    ENDPOINT_LIVEZ,
    ENDPOINT_READYZ,
    ENDPOINT_METRICS,
    ENDPOINT_INFO,
    ENDPOINT_OPENAPI,
    ENDPOINT_AUDIT,
    ENDPOINT_SNAPSHOT,
    ENDPOINT_FEED,
    ENDPOINT_POSITION, /* a user's position in a waiting room, as a stream */
    ENDPOINT_CALLBACK, /* a message of the payment peer */
    ENDPOINT_ME,       /* who is asking */
    ENDPOINT_LIVE,     /* the figures of the dashboard, as a stream */
    ENDPOINT_ASSET,    /* a file of the dashboard */
};

enum route_method { METHOD_GET = 1, METHOD_POST = 2, METHOD_PUT = 4, METHOD_DELETE = 8 };

struct route {
    enum endpoint endpoint;
    enum route_method method;
    const char *method_name;
    const char *path; /* "/v1/quotas/{tenant}" */
    const char *help;
    const struct command_spec *spec; /* of ENDPOINT_COMMAND */
    bool alias;                      /* its id carries the scope */
    size_t segment_count;
    unsigned args;                                /* a bit for each segment that is an argument */
    struct hf_bytes segments[ROUTE_SEGMENTS_MAX]; /* the text, or the argument's name */
};

struct router {
    size_t count;
    struct route routes[ROUTES_MAX];
};

void router_init(struct router *router);

enum route_found {
    ROUTE_FOUND,
    ROUTE_UNKNOWN, /* 404 */
    ROUTE_OTHER,   /* 405: the path is known, with other methods */
    ROUTE_OPTIONS  /* asked what can be asked */
};

struct route_match {
    const struct route *route;
    unsigned allowed; /* methods the path has */
    size_t count;
    struct command_field args[ROUTE_ARGS_MAX];
};

/* HEAD is found as GET. */
enum route_found router_find(const struct router *router, const char *method, const char *path,
                             size_t size, struct route_match *match);

/* Decodes the arguments of the path that was found, in place. False for a malformed % escape. */
bool router_take_args(struct route_match *match, char *path, size_t size);

/* "GET, HEAD, OPTIONS", the value of Allow. */
void router_allowed(unsigned allowed, struct buffer *out);

/* Turns %41 into A in place; with `form` also + into a space. False for % and no two digits. */
bool router_decode(char *text, size_t *size, bool form);

#endif

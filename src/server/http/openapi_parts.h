/* SPDX-License-Identifier: Apache-2.0
 *
 * What the description of the HTTP interface is made of; openapi.c puts it together. */
#ifndef SERVER_HTTP_OPENAPI_PARTS_H
#define SERVER_HTTP_OPENAPI_PARTS_H

#include "command/reply.h"
#include "server/http/router.h"

void openapi_text(struct buffer *out, const char *value);
/* The name of a member, with its colon. */
void openapi_key(struct buffer *out, const char *name);

/* The members of a text's schema, without braces. */
void openapi_text_schema(struct buffer *out, int64_t min, int64_t max);
/* Of an argument of a row: type, bounds, default and what it is. */
void openapi_schema(struct buffer *out, const struct command_spec *spec, size_t i);
/* The member beside that of a blob, for its bytes in base 64, with a comma in front. */
void openapi_coded(struct buffer *out, const char *name);
/* Of what a command answers. */
void openapi_reply_schema(struct buffer *out, const struct command_spec *spec);

/* The refusals of a route that is a command: a member for each status, with a comma in front. */
void openapi_refusals(struct buffer *out, const struct route *route);
/* Those of any route, for components/responses, to which openapi_refusals() refers. */
void openapi_common_refusals(struct buffer *out);

#endif

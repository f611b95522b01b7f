/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP interface described for programs: OpenAPI 3.0.3, from the table of commands. */
#ifndef SERVER_HTTP_OPENAPI_H
#define SERVER_HTTP_OPENAPI_H

#include "server/http/router.h"

void openapi_write(const struct router *router, struct buffer *out);

#endif

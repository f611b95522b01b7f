/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the user that we are may run every command that scripts call. Redis looks at that command
 * by command: a script that may do most of it would be ended in the middle, with half of it done.
 * So a connection begins with a script that calls each of them in a way that changes nothing, and
 * is not used if one is refused. */
#ifndef REDIS_CLIENT_NODE_ACCESS_H
#define REDIS_CLIENT_NODE_ACCESS_H

#include "base/buffer.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>

struct redis_node;

/* Loads the script that looks, and runs it by the SHA-1 that the load was answered with. Its answer
 * is an error if a command is missing. */
void node_access_load(struct buffer *out);
void node_access_run(const struct redis_node *node, struct buffer *out, const char *sha);
/* Otherwise it is the policy by which a Redis with maxmemory deletes keys: the log warns of it. */
void node_access_answered(const struct redis_node *node, const redisReply *policy);

/* Is it the error of a command that a script may not run, or no longer? */
bool node_access_is_missing(const char *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a script returned to the reply of a command. */
#ifndef REDIS_SCRIPT_SCRIPT_REPLY_H
#define REDIS_SCRIPT_SCRIPT_REPLY_H

#include "command/reply.h"

#include <hiredis/hiredis.h>

/* Fills in a reply by the row of its command. What the row has no room for is INTERNAL: a client
 * that guessed would report seats to its caller that it was never given. */
void script_reply_read(struct reply *reply, const struct command_spec *spec,
                       const redisReply *from);

/* Adds the items of a page to those that the reply has already. False if they are malformed, or
 * when there is no memory. */
bool script_reply_add_items(struct reply *reply, const struct command_spec *spec,
                            const redisReply *from);

/* Element i of an array as a number, also if it came as text; false if it is none. */
bool script_reply_number(const redisReply *from, size_t i, int64_t *number);

#endif

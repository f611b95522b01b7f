/* SPDX-License-Identifier: Apache-2.0
 *
 * A command's own copy, which outlives what the command was decoded from. */
#ifndef COMMAND_COPY_H
#define COMMAND_COPY_H

#include "base/buffer.h"
#include "command/command.h"

/* Copies a command into `to` and its texts into `texts`, in place of what that held; the texts of
 * the copy are views of it. False when there is no memory: then `to` is not to be used. */
bool command_copy(struct command *to, const struct command *from, struct buffer *texts);

#endif

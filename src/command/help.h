/* SPDX-License-Identifier: Apache-2.0
 *
 * What the table has to say to people: usage lines, `holdfast help COMMAND`, docs/commands.md. */
#ifndef COMMAND_HELP_H
#define COMMAND_HELP_H

#include "base/buffer.h"
#include "command/command.h"

/* "SEATS.OPEN event zone capacity" */
void help_usage(const struct command_spec *spec, struct buffer *out);
/* All there is to say about one command, for a terminal. */
void help_command(const struct command_spec *spec, struct buffer *out);
/* One line a command. */
void help_list(struct buffer *out);
/* docs/commands.md */
void help_markdown(struct buffer *out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the table has to say to people: usage lines, `holdfast help COMMAND`, docs/commands.md. */
#ifndef COMMAND_HELP_H
#define COMMAND_HELP_H

#include "base/buffer.h"
#include "command/command.h"

/* ---- parts, for whoever writes a page -------------------------------------------------------- */

/* "SEATS.OPEN event zone capacity" */
void help_usage(const struct command_spec *spec, struct buffer *out);
/* "duration, 10 ms to 720 h; default 600 s" */
void help_type(const struct arg_spec *arg, struct buffer *out);
/* "[1, available, capacity]" */
void help_reply(const struct command_spec *spec, struct buffer *out);
/* What the form of the reply does not show, in sentences; nothing if there is nothing. */
void help_reply_notes(const struct command_spec *spec, struct buffer *out);
/* Its keys on a cluster, with spaces between. */
void help_keys(const struct command_spec *spec, struct buffer *out);

/* Every code with which it refuses a well-formed request, each once; those of its own first.
 * Gives how many. */
size_t help_refusals(const struct command_spec *spec, enum hf_error codes[HF_ERROR_COUNT]);
/* When it refuses with this one of them; arguments are called as help_label() does. */
void help_cause(const struct command_spec *spec, enum hf_error code, bool fields,
                struct buffer *out);
/* An argument as a command line has it, or with `fields` as JSON does. */
const char *help_label(const struct arg_spec *arg, bool fields);

/* The row's example, checked. */
struct command help_example(const struct command_spec *spec);
/* The same for curl: "curl localhost:4654/v1/quotas/acme". */
void help_curl(const struct command_spec *spec, struct buffer *out);

/* ---- pages ----------------------------------------------------------------------------------- */

/* All there is to say about one command, for a terminal. */
void help_command(const struct command_spec *spec, struct buffer *out);
/* One line a command. */
void help_list(struct buffer *out);
/* docs/commands.md */
void help_markdown(struct buffer *out);

#endif

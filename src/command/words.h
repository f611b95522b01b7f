/* SPDX-License-Identifier: Apache-2.0
 *
 * A command written out again, by its row of the table: the way back from command_from_words() and
 * command_from_fields().
 * What was left out when it was given, or was given its default, is left out. What is shown to
 * people, as words or as an object, has no secret in it either. */
#ifndef COMMAND_WORDS_H
#define COMMAND_WORDS_H

#include "base/buffer.h"
#include "command/command.h"

/* As one would type it: SEATS.OPEN gala floor 500. A word is quoted as `holdfast call` reads it;
 * in quotes, a byte that is no printable text is \xNN. */
void command_to_words(const struct command *command, struct buffer *out);

/* An object of the arguments by their JSON names: {"event":"gala","zone":"floor","capacity":500}.
 * Bytes that are no UTF-8 are given in hexadecimal, under the name with "_hex" behind it. */
void command_to_json(const struct command *command, struct buffer *out);

/* The same for the audit log: without what proves a right, and without blobs. */
void command_to_record(const struct command *command, struct buffer *out);

/* Has an argument to be written at all, and its value as JSON. */
bool command_says(const struct command *command, const struct arg_spec *arg);
void command_arg_to_json(const struct command *command, const struct arg_spec *arg,
                         struct buffer *out);

/* As an HTTP client sends it to the row's route, or to its alias. `target`: the path, and of a GET
 * or DELETE the query; `body`: for the other methods an object of what is not in the path. */
void command_to_request(const struct command *command, bool alias, struct buffer *target,
                        struct buffer *body);

/* As a client sends it: a RESP array of bulk strings. */
void command_to_resp(const struct command *command, struct buffer *out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A command as bytes, for the journal.
 *
 *     version     1 byte, BINARY_VERSION
 *     command     varint: the row's number in files
 *     arguments   varint: how many follow; those a newer row has more get their defaults
 *     argument    number: zigzag varint. flag: 1 byte, 0 or 1.
 *                 text: varint size * 2, then the bytes; or varint 1, then the 16 bytes of a UUID
 *     entropy     16 bytes, only if the row wants it
 *
 * A valid record
 *   1. is of a known version and names a known command,
 *   2. has no more arguments than the row, and every required one,
 *   3. passes the same checks as a request, or has a scope of the server's own (command_from_own),
 *   4. ends exactly where the last part ends. */
#ifndef COMMAND_BINARY_H
#define COMMAND_BINARY_H

#include "base/buffer.h"
#include "command/command.h"

#define BINARY_VERSION 1

/* Where decoding keeps the text of UUIDs; must live as long as the command. */
struct binary_scratch {
    char uuids[COMMAND_ARGS_MAX][36];
};

void command_to_binary(const struct command *command, struct buffer *out);

/* Fails if the bytes are no valid record: with ERR, or with the code of the check that an argument
 * did not pass. The command's texts are views of `data` and of
 * `scratch`. */
enum hf_error command_from_binary(struct command *command, struct hf_bytes data,
                                  struct binary_scratch *scratch, struct problem *problem);

#endif

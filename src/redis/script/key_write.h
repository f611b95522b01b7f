/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of keys and the arguments of scripts, made from a command by its row. */
#ifndef REDIS_SCRIPT_KEY_WRITE_H
#define REDIS_SCRIPT_KEY_WRITE_H

#include "base/buffer.h"
#include "command/command.h"

/* How keys are named here. */
struct key_style {
    const char *name_space; /* in front of all; may be empty */
    bool cluster;           /* with the scope in braces, as the hash tag */
    const char *counter;    /* instead of "main" in the keys of a product; NULL: main */
};

void key_write(struct buffer *out, enum key_id key, const struct command *command,
               const struct key_style *style);

/* One word of the row's script_args. */
void script_arg_write(struct buffer *out, struct hf_bytes word, const struct command *command);

/* Seconds, with as many decimals as it takes: "600", "1.5". */
void seconds_write(struct buffer *out, int64_t ms);

#endif

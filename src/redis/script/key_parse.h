/* SPDX-License-Identifier: Apache-2.0
 *
 * From the name of a key back to what it was made from. */
#ifndef REDIS_SCRIPT_KEY_PARSE_H
#define REDIS_SCRIPT_KEY_PARSE_H

#include "base/buffer.h"
#include "command/command.h"

#define KEY_PARTS_MAX 2

/* What stands for the arguments in a key of this form, such as "zone:totals:{$event}:$zone"; false
 * if the key is not of that form. The counter of a product is part of its name: "shoes_main". */
bool key_parse(const char *form, struct hf_bytes key, struct hf_bytes parts[KEY_PARTS_MAX]);

/* The same the other way round. */
void key_fill(struct buffer *out, const char *name_space, const char *form,
              const struct hf_bytes parts[KEY_PARTS_MAX]);

/* What is behind the namespace; false if the key is not in it. */
bool key_in_space(const char *name_space, struct hf_bytes *key);

/* Splits "shoes_3" at its last underscore; false if it has none with something on both sides. */
bool key_split_counter(struct hf_bytes name, struct hf_bytes *product, struct hf_bytes *counter);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What LIST lists on Redis: the kinds, the keys that show that something is there, and its name in
 * them. */
#ifndef REDIS_SCRIPT_LISTED_KIND_H
#define REDIS_SCRIPT_LISTED_KIND_H

#include "redis/script/key_parse.h"
#include "redis/script/script_env.h"

#define LISTED_KEYS_MAX 3

/* What is listed, by which keys, and who tells of it: a command, or look_inside.lua, which is given
 * the keys that show nothing, too. Where several show it a thing may have any of them, and the
 * totals say which one counts. */
struct listed_kind {
    const char *name;
    unsigned showing, count; /* of the keys */
    enum key_id keys[LISTED_KEYS_MAX];
    enum command_id totals;
};

/* One name that a step found. */
struct found_name {
    uint64_t hash;
    unsigned key;                         /* which of the kind's keys it was found by */
    struct hf_bytes parts[KEY_PARTS_MAX]; /* views of its text */
    size_t size;
    char text[2 * HF_ID_SIZE]; /* as it is listed */
};

/* The kind of a name, which is that of one. */
const struct listed_kind *listed_kind_named(struct hf_bytes name);

/* What a key names, if it is one of those that show something of the kind. The views of its parts
 * are the caller's to set when the name is where it stays. */
bool listed_kind_read(const struct listed_kind *kind, const struct script_env *env,
                      struct hf_bytes key, struct found_name *name);

/* The pattern of all keys of the kind: what their forms begin with, behind the namespace. */
void listed_kind_pattern(const struct listed_kind *kind, const struct script_env *env,
                         struct buffer *out);

#endif

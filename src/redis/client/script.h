/* SPDX-License-Identifier: Apache-2.0
 *
 * The scripts of lua/, put together at build time by tools/assemble-lua. */
#ifndef REDIS_CLIENT_SCRIPT_H
#define REDIS_CLIENT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

struct script {
    const char *name; /* "reserve_seats" */
    const char *sha1; /* as EVALSHA wants it: 40 hex digits */
    const char *text;
    const struct script *batch; /* carries out several calls of this one; NULL: none does */
    char operation;             /* what this one is called there */
    bool told_behind;           /* wants to know that others of its scope are in flight before it */
    bool leads;                 /* may answer AGAIN for other reasons than what is due */
};

/* Sorted by name. */
extern const struct script script_table[];
extern const size_t script_count;

/* The script with this name; there must be one. */
const struct script *script_find(const char *name);

#endif

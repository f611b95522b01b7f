/* SPDX-License-Identifier: Apache-2.0
 *
 * The last commands that took long to carry out: not to wait for, nor to sync. */
#ifndef SERVER_SLOWLOG_H
#define SERVER_SLOWLOG_H

#include "command/command.h"

#define SLOWLOG_ENTRIES 128
#define SLOWLOG_TEXT 160

struct slow_entry {
    uint64_t id;
    int64_t time_s;        /* since the epoch */
    uint64_t microseconds; /* how long it took */
    char peer[64];
    char text[SLOWLOG_TEXT]; /* the command as one would type it, cut short */
};

struct slowlog {
    struct slow_entry entries[SLOWLOG_ENTRIES]; /* a ring */
    uint64_t count;   /* entries made so far, the overwritten ones included */
    uint64_t cleared; /* those before this one are forgotten */
};

void slowlog_add(struct slowlog *slowlog, const struct command *command, const char *peer,
                 uint64_t nanoseconds);

/* How many are kept. */
size_t slowlog_size(const struct slowlog *slowlog);
/* The i-th newest. */
const struct slow_entry *slowlog_entry(const struct slowlog *slowlog, size_t i);
void slowlog_clear(struct slowlog *slowlog);

#endif

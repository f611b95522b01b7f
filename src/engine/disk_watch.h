/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches the room on the file system of the data directory, so that the operator learns of it
 * before the first write fails, which is the end of the engine. */
#ifndef ENGINE_DISK_WATCH_H
#define ENGINE_DISK_WATCH_H

#include "base/log.h"
#include "journal/journal.h"

struct disk_watch {
    struct journal *journal;
    const struct log *log;
    int64_t least_bytes; /* less than this is too little; 0: nothing is */
    bool polled;
    int64_t polled_ms;
    bool known; /* the storage knows how much room there is */
    struct storage_space space;
    bool low;
    char why[192]; /* if it is low */
};

/* `journal` and `log` are borrowed. */
void disk_watch_init(struct disk_watch *watch, struct journal *journal, const struct log *log,
                     int64_t least_bytes);

/* Polls the file system, at most once a second; `now_ms` counts from an arbitrary start. Says
 * so in the log when there gets to be too little room, and when there is enough again. */
void disk_watch_poll(struct disk_watch *watch, int64_t now_ms);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Polls the room that is left for the data about once a second, and warns once when it falls
 * below the limit and once when it is back. */
#include "engine/disk_watch.h"

#include <inttypes.h>
#include <stdio.h>

#define POLL_MS 1000
#define PART 4   /* of the file system: a small one need not have more than this free */
#define BEYOND 8 /* once low, it is enough again when there is this part more than the least */

void disk_watch_init(struct disk_watch *watch, struct journal *journal, const struct log *log,
                     int64_t least_bytes)
{
    *watch = (struct disk_watch){.journal = journal, .log = log, .least_bytes = least_bytes};
}

/* Room that the journal has made in advance is free for the journal. */
static void judge(struct disk_watch *watch)
{
    const struct storage_space *space = &watch->space;
    int64_t least =
        watch->least_bytes < space->total / PART ? watch->least_bytes : space->total / PART;
    int64_t room = space->free + journal_spare(watch->journal);
    bool low = room < (watch->low ? least + least / BEYOND : least);

    snprintf(watch->why, sizeof watch->why,
             "%" PRId64
             " bytes are left on the file system of the data directory, fewer than %" PRId64
             "; make room",
             room, least);
    if (low && !watch->low) {
        log_line(watch->log, LOG_WARNING, "%s", watch->why);
    } else if (!low && watch->low) {
        log_line(watch->log, LOG_INFO,
                 "%" PRId64
                 " bytes are left on the file system of the data directory: enough again",
                 room);
    }
    watch->low = low;
}

void disk_watch_poll(struct disk_watch *watch, int64_t now_ms)
{
    struct storage *storage = journal_storage(watch->journal);

    if (storage->type->space == NULL || (watch->polled && now_ms - watch->polled_ms < POLL_MS)) {
        return;
    }
    watch->polled = true;
    watch->polled_ms = now_ms;
    watch->known = storage->type->space(storage, &watch->space) == 0;
    if (watch->known) {
        judge(watch);
    }
}

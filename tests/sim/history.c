/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include "disk.h"

#include <stdlib.h>
#include <string.h>

void history_free(struct history *history)
{
    free(history->deeds);
    free(history->bytes);
    *history = (struct history){.count = 0};
}

void history_add(struct history *history, int64_t time_ms, struct hf_bytes command)
{
    history->deeds =
        disk_room(history->deeds, history->count, &history->capacity, sizeof *history->deeds);
    history->deeds[history->count++] = (struct deed){time_ms, history->used, command.size};
    history->bytes = disk_room(history->bytes, history->used + command.size, &history->room, 1);
    memcpy(history->bytes + history->used, command.data, command.size);
    history->used += command.size;
}

void history_copy(struct history *to, const struct history *from)
{
    history_cut(to, 0);
    for (size_t i = 1; i <= from->count; i++) {
        history_add(to, from->deeds[i - 1].time_ms, history_command(from, i));
    }
}

void history_cut(struct history *history, size_t count)
{
    if (count < history->count) {
        history->used = history->deeds[count].offset;
        history->count = count;
    }
}

struct hf_bytes history_command(const struct history *history, uint64_t number)
{
    const struct deed *deed = &history->deeds[number - 1];
    return (struct hf_bytes){history->bytes + deed->offset, deed->size};
}

bool history_is(const struct history *history, uint64_t number, int64_t time_ms,
                struct hf_bytes command)
{
    struct hf_bytes own = history_command(history, number);

    return history->deeds[number - 1].time_ms == time_ms && own.size == command.size &&
           memcmp(own.data, command.data, own.size) == 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the journal of a world ought to hold: every command that was carried out and changed
 * something, with its time, from the first on, and the engine's own records between them. Record N
 * of the journal is number N of these. */
#ifndef SIM_HISTORY_H
#define SIM_HISTORY_H

#include "base/buffer.h"

struct deed {
    int64_t time_ms;
    size_t offset, size; /* in bytes */
};

struct history {
    struct deed *deeds;
    size_t count, capacity;
    char *bytes;
    size_t used, room;
};

void history_free(struct history *history);
void history_copy(struct history *to, const struct history *from);
void history_add(struct history *history, int64_t time_ms, struct hf_bytes command);
/* Forgets all after the first `count`. */
void history_cut(struct history *history, size_t count);
/* Number 1 is the first. */
bool history_is(const struct history *history, uint64_t number, int64_t time_ms,
                struct hf_bytes command);
struct hf_bytes history_command(const struct history *history, uint64_t number);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Records in the slots of a sink, offered to the thread that applies them a few at a time. */
#include "journal/replay.h"

#define OFFERED_AT_ONCE 128

_Static_assert(JOURNAL_SLOTS % OFFERED_AT_ONCE == 0 && JOURNAL_SLOTS >= 2 * OFFERED_AT_ONCE,
               "some slots are filled while others are emptied");

static void apply_some(void *context, uint64_t from, uint64_t to)
{
    struct replay *replay = context;
    struct replay_end *end = &replay->end;

    if (end->taken == JOURNAL_TAKEN) {
        uint64_t stopped =
            replay->sink->apply(replay->sink->context, from, to, &end->taken, end->why);
        if (end->taken != JOURNAL_TAKEN) {
            end->offset = replay->offsets[stopped % JOURNAL_SLOTS];
        }
    }
}

void replay_begin(struct replay *replay, const struct journal_sink *sink, bool alone)
{
    *replay = (struct replay){.sink = sink};
    follower_begin(&replay->follower, alone || sink->decode == NULL, apply_some, replay);
}

enum journal_taken replay_add(struct replay *replay, const struct journal_record *record,
                              size_t offset, char why[256])
{
    const struct journal_sink *sink = replay->sink;

    if (sink->decode == NULL) {
        return sink->record(sink->context, record->sequence, record->time_ms, record->command, why);
    }
    replay->offsets[replay->added % JOURNAL_SLOTS] = offset;
    enum journal_taken taken =
        sink->decode(sink->context, replay->added, record->time_ms, record->command, why);
    if (taken != JOURNAL_TAKEN) {
        return taken;
    }
    replay->added++;
    if (replay->added % OFFERED_AT_ONCE == 0) {
        follower_offer(&replay->follower, replay->added);
        if (replay->added >= JOURNAL_SLOTS) { /* the next ones go where these were */
            follower_wait(&replay->follower, replay->added + OFFERED_AT_ONCE - JOURNAL_SLOTS);
        }
    }
    return JOURNAL_TAKEN;
}

void replay_settle(struct replay *replay, struct replay_end *end)
{
    follower_offer(&replay->follower, replay->added);
    follower_wait(&replay->follower, replay->added);
    *end = replay->end;
}

void replay_end(struct replay *replay)
{
    follower_end(&replay->follower);
}

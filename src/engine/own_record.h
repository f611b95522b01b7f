/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a journal that are the engine's own and no command (command/binary.h). Their first
 * byte, which is no version of a command, tells them apart:
 *
 *     'T'  tick: time has passed, up to the time of the record, and a client may have seen what
 *          fell due in it. Nothing follows.
 *     'S'  start: a run begins, or goes on with another offset.
 *              boot     16 bytes; all zero if it is not known
 *              offset   zigzag varint: the engine's time minus the time since that boot, in ms
 *              fence    zigzag varint: every later fence is greater
 *
 * A valid record has every number within its bounds and ends exactly where its last part ends. */
#ifndef ENGINE_OWN_RECORD_H
#define ENGINE_OWN_RECORD_H

#include "base/buffer.h"
#include "base/clock.h"

enum own_kind { OWN_TICK = 'T', OWN_START = 'S' };

struct own_record {
    enum own_kind kind;
    struct clock_run run; /* OWN_START */
    int64_t fence;        /* OWN_START */
};

#define OWN_RECORD_MAX 64 /* bytes */

bool own_record_is(struct hf_bytes bytes);
void own_record_encode(const struct own_record *record, struct buffer *out);
/* False if the bytes are no valid record. */
bool own_record_decode(struct own_record *record, struct hf_bytes bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Examines one segment or snapshot file for `holdfast journal` and for copies. */
#include "journal/examine.h"

#include "journal/directory.h"
#include "journal/record.h"
#include "journal/snapshot.h"

#define READINGS 8 /* of a file that is different each time */

/* Bytes from `end` on, without the zeros behind them. */
static int64_t size_of_tail(struct hf_bytes file, size_t end)
{
    size_t size = file.size;

    while (size > end && file.data[size - 1] == 0) {
        size--;
    }
    return (int64_t)(size - end);
}

static void examine_header(struct hf_bytes file, bool newest, enum segment_check check,
                           struct examined *examined)
{
    if (check == SEGMENT_NEWER) {
        examined->state = EXAMINED_NEWER;
        examined->end = 8;
    } else if (newest && check != SEGMENT_GOOD && record_none_left(file, SEGMENT_HEADER)) {
        examined->state = EXAMINED_UNBEGUN;
    } else {
        examined->state = EXAMINED_DAMAGED;
    }
}

static void examine_records(struct hf_bytes file, uint64_t number, bool newest,
                            struct examined *examined)
{
    struct segment_header header;
    struct journal_record record;
    size_t end = SEGMENT_HEADER;
    enum segment_check check = segment_header_read(file, &header);

    *examined = (struct examined){.first = number, .last = number - 1};
    if (check != SEGMENT_GOOD || header.first != number) {
        examine_header(file, newest, check, examined);
        return;
    }
    for (uint32_t chain = header.chain;
         record_read(file, end, &record) && record.sequence == examined->last + 1 &&
         record.chain == chain;
         chain = record.checksum) {
        examined->last = record.sequence;
        end += record.size;
    }
    examined->end = (int64_t)end;
    examined->torn = size_of_tail(file, end);
    if (examined->torn > 0) {
        bool damaged = !newest || record_was_durable(file, end, examined->last + 1);
        examined->state = damaged ? EXAMINED_DAMAGED : EXAMINED_TORN;
    }
}

int examine_segment(struct storage *storage, uint64_t number, bool newest, struct buffer *bytes,
                    struct examined *examined)
{
    struct examined before = {.first = 0};
    char name[SEGMENT_NAME_SIZE];

    segment_name(number, name);
    for (int reading = 0; reading < READINGS; reading++) {
        buffer_clear(bytes);
        int code = storage_read_file(storage, name, bytes);
        if (code != 0) {
            return code;
        }
        examine_records((struct hf_bytes){bytes->data, bytes->size}, number, newest, examined);
        bool again = reading > 0 && before.state == examined->state && before.end == examined->end;
        if (examined->state == EXAMINED_GOOD || again) {
            break;
        }
        before = *examined;
    }
    return 0;
}

int examine_snapshot(struct storage *storage, uint64_t number, struct buffer *bytes,
                     struct examined *examined)
{
    struct snapshot_header header;
    struct hf_bytes state;
    char name[SNAPSHOT_NAME_SIZE];

    snapshot_name(number, name);
    buffer_clear(bytes);
    int code = storage_read_file(storage, name, bytes);
    if (code != 0) {
        return code;
    }
    *examined = (struct examined){.first = number, .last = number};
    enum snapshot_check check =
        snapshot_read((struct hf_bytes){bytes->data, bytes->size}, &header, &state);
    if (check == SNAPSHOT_NEWER) {
        examined->state = EXAMINED_NEWER;
        examined->end = 8;
    } else if (check == SNAPSHOT_DAMAGED || header.sequence != number) {
        examined->state = EXAMINED_DAMAGED;
    } else {
        examined->end = (int64_t)bytes->size;
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Examines one segment or snapshot file for `holdfast journal` and for copies. */
#include "journal/survey.h"

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
                           struct survey *survey)
{
    if (check == SEGMENT_NEWER) {
        survey->state = SURVEY_NEWER;
        survey->end = 8;
    } else if (newest && check != SEGMENT_GOOD && record_none_left(file, SEGMENT_HEADER)) {
        survey->state = SURVEY_UNBEGUN;
    } else {
        survey->state = SURVEY_DAMAGED;
    }
}

static void examine_segment(struct hf_bytes file, uint64_t number, bool newest,
                            struct survey *survey)
{
    struct segment_header header;
    struct journal_record record;
    size_t end = SEGMENT_HEADER;
    enum segment_check check = segment_header_read(file, &header);

    *survey = (struct survey){.first = number, .last = number - 1};
    if (check != SEGMENT_GOOD || header.first != number) {
        examine_header(file, newest, check, survey);
        return;
    }
    for (uint32_t chain = header.chain;
         record_read(file, end, &record) && record.sequence == survey->last + 1 &&
         record.chain == chain;
         chain = record.checksum) {
        survey->last = record.sequence;
        end += record.size;
    }
    survey->end = (int64_t)end;
    survey->torn = size_of_tail(file, end);
    if (survey->torn > 0) {
        bool damaged = !newest || record_was_durable(file, end, survey->last + 1);
        survey->state = damaged ? SURVEY_DAMAGED : SURVEY_TORN;
    }
}

int survey_segment(struct storage *storage, uint64_t number, bool newest, struct buffer *bytes,
                   struct survey *survey)
{
    struct survey before = {.first = 0};
    char name[SEGMENT_NAME_SIZE];

    segment_name(number, name);
    for (int reading = 0; reading < READINGS; reading++) {
        buffer_clear(bytes);
        int code = storage_read_file(storage, name, bytes);
        if (code != 0) {
            return code;
        }
        examine_segment((struct hf_bytes){bytes->data, bytes->size}, number, newest, survey);
        bool again = reading > 0 && before.state == survey->state && before.end == survey->end;
        if (survey->state == SURVEY_GOOD || again) {
            break;
        }
        before = *survey;
    }
    return 0;
}

int survey_snapshot(struct storage *storage, uint64_t number, struct buffer *bytes,
                    struct survey *survey)
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
    *survey = (struct survey){.first = number, .last = number};
    enum snapshot_check check =
        snapshot_read((struct hf_bytes){bytes->data, bytes->size}, &header, &state);
    if (check == SNAPSHOT_NEWER) {
        survey->state = SURVEY_NEWER;
        survey->end = 8;
    } else if (check == SNAPSHOT_DAMAGED || header.sequence != number) {
        survey->state = SURVEY_DAMAGED;
    } else {
        survey->end = (int64_t)bytes->size;
    }
    return 0;
}

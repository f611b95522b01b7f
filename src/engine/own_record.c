/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of the records that no command makes: a start, and a tick of time. */
#include "engine/own_record.h"

#include "base/limits.h"

bool own_record_is(struct hf_bytes bytes)
{
    return bytes.size > 0 && (bytes.data[0] == OWN_TICK || bytes.data[0] == OWN_START);
}

void own_record_encode(const struct own_record *record, struct buffer *out)
{
    buffer_byte(out, (uint8_t)record->kind);
    if (record->kind == OWN_START) {
        buffer_bytes(out, record->run.boot, sizeof record->run.boot);
        buffer_signed(out, record->run.offset_ms);
        buffer_signed(out, record->fence);
    }
}

static bool decode_start(struct own_record *record, struct reader *reader)
{
    const uint8_t *boot = reader_bytes(reader, CLOCK_BOOT_BYTES);

    if (boot == NULL) {
        return false;
    }
    memcpy(record->run.boot, boot, CLOCK_BOOT_BYTES);
    record->run.offset_ms = reader_signed(reader);
    record->fence = reader_signed(reader);
    return record->run.offset_ms >= -CLOCK_MAX_MS && record->run.offset_ms <= CLOCK_MAX_MS &&
           record->fence >= 0 && record->fence <= HF_INTEGER_MAX;
}

bool own_record_decode(struct own_record *record, struct hf_bytes bytes)
{
    struct reader reader;

    *record = (struct own_record){.kind = OWN_TICK};
    if (!own_record_is(bytes)) {
        return false;
    }
    reader_init(&reader, bytes.data, bytes.size);
    record->kind = (enum own_kind)reader_byte(&reader);
    bool good = record->kind == OWN_TICK || decode_start(record, &reader);
    return good && !reader.failed && reader_left(&reader) == 0;
}

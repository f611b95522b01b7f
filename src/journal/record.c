/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes and reads records and segment headers, and tells a torn tail from damage. */
#include "journal/record.h"

#include "base/crc32c.h"
#include "base/little_endian.h"

static const char magic[8] = "HFJOURN\n";

/* ---- segments -------------------------------------------------------------------------------- */

void segment_header_write(const struct segment_header *header, struct buffer *out)
{
    uint8_t bytes[SEGMENT_HEADER] = {0};

    memcpy(bytes, magic, sizeof magic);
    put_u32(bytes + 8, JOURNAL_VERSION);
    put_u32(bytes + 12, header->chain);
    put_u64(bytes + 16, header->first);
    put_u32(bytes + 28, crc32c(0, bytes, 28));
    buffer_bytes(out, bytes, sizeof bytes);
}

enum segment_check segment_header_read(struct hf_bytes file, struct segment_header *header)
{
    if (file.size < SEGMENT_HEADER ||
        record_none_left((struct hf_bytes){file.data, SEGMENT_HEADER}, 0)) {
        return SEGMENT_SHORT;
    }
    if (memcmp(file.data, magic, sizeof magic) != 0 ||
        get_u32(file.data + 28) != crc32c(0, file.data, 28)) {
        return SEGMENT_DAMAGED;
    }
    if (get_u32(file.data + 8) != JOURNAL_VERSION) {
        return SEGMENT_NEWER;
    }
    header->chain = get_u32(file.data + 12);
    header->first = get_u64(file.data + 16);
    return SEGMENT_GOOD;
}

/* ---- records --------------------------------------------------------------------------------- */

void record_write(struct journal_record *record, struct buffer *out)
{
    uint8_t header[RECORD_HEADER];
    uint32_t length = (uint32_t)(RECORD_HEADER - 8 + record->command.size);

    put_u32(header, length);
    put_u64(header + 8, record->sequence);
    put_u32(header + 16, record->chain);
    put_u32(header + 20, record->undurable);
    put_u64(header + 24, (uint64_t)record->time_ms);
    uint32_t crc = crc32c(crc32c(0, header, 4), header + 8, RECORD_HEADER - 8);
    record->checksum = crc32c(crc, record->command.data, record->command.size);
    put_u32(header + 4, record->checksum);
    record->size = 8 + (size_t)length;
    buffer_bytes(out, header, sizeof header);
    buffer_bytes(out, record->command.data, record->command.size);
}

bool record_read(struct hf_bytes file, size_t offset, struct journal_record *record)
{
    if (offset > file.size || file.size - offset < RECORD_HEADER + 1) {
        return false;
    }
    const char *at = file.data + offset;
    uint32_t length = get_u32(at);
    if (length <= RECORD_HEADER - 8 || length > RECORD_MAX || length > file.size - offset - 8) {
        return false;
    }
    record->checksum = get_u32(at + 4);
    if (crc32c(crc32c(0, at, 4), at + 8, length) != record->checksum) {
        return false;
    }
    record->sequence = get_u64(at + 8);
    record->chain = get_u32(at + 16);
    record->undurable = get_u32(at + 20);
    record->time_ms = (int64_t)get_u64(at + 24);
    record->command = (struct hf_bytes){at + RECORD_HEADER, length - (RECORD_HEADER - 8)};
    record->size = 8 + (size_t)length;
    return true;
}

bool record_none_left(struct hf_bytes file, size_t offset)
{
    for (size_t i = offset; i < file.size; i++) {
        if (file.data[i] != 0) {
            return false;
        }
    }
    return true;
}

bool record_was_durable(struct hf_bytes file, size_t offset, uint64_t sequence)
{
    for (size_t at = offset; at + RECORD_HEADER < file.size; at++) {
        /* The numbers are compared first: they are wrong almost everywhere, and cheaper. */
        uint64_t number = get_u64(file.data + at + 8);
        uint32_t undurable = get_u32(file.data + at + 20);
        struct journal_record later;
        if (number > sequence && number - sequence > undurable && number - sequence <= file.size &&
            record_read(file, at, &later)) {
            return true;
        }
    }
    return false;
}

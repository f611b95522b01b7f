/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a journal, and the segments they stand in. All numbers are little-endian.
 *
 * Segment: a file "journal-SSSSSSSSSSSSSSSSSSSS", where S is the sequence number of its first
 * record in 20 decimal digits.
 *
 *     offset  size
 *          0     8   magic "HFJOURN\n"
 *          8     4   version, JOURNAL_VERSION
 *         12     4   chain: the checksum of the record before the first, in the segment before
 *         16     8   sequence number of the first record
 *         24     4   0
 *         28     4   crc32c over the 28 bytes before
 *         32         records, then zeros to the end of the file, or the end
 *
 * Record:
 *
 *          0     4   length: bytes from offset 8 to the end of the record
 *          4     4   crc32c over the length and all from offset 8
 *          8     8   sequence number
 *         16     4   chain: the checksum (offset 4) of the record before
 *         20     4   how many records before this one were not known to be on disk by then
 *         24     8   time in ms
 *         32         the command (command/binary.h), or the engine's own (engine/own_record.h)
 *
 * A record is valid if
 *   1. it has a length of at least 25 and at most RECORD_MAX, and ends within the file,
 *   2. its checksum is right,
 *   3. its sequence number is one more than that of the record before,
 *   4. its chain is the checksum of the record before.
 *
 * Where a record is not valid, the journal ends or is damaged:
 *   5. if nothing but zeros follows, or the file ends, the journal ends there;
 *   6. if any later record, that is valid by 1 and 2, says that this one was on disk already (by
 *      its sequence number and the number at offset 20), or if another segment follows, it is
 *      damage;
 *   7. otherwise it is a tail torn by a crash, whose commands were never answered, and is cut;
 *   8. a newest segment whose header is not whole, with nothing but zeros behind it, was never
 *      begun and is removed: a header is on disk before the first record is written. */
#ifndef JOURNAL_RECORD_H
#define JOURNAL_RECORD_H

#include "base/buffer.h"

#define JOURNAL_VERSION 1
#define SEGMENT_HEADER 32
#define RECORD_HEADER 32
#define RECORD_MAX ((uint32_t)4 << 20)

struct segment_header {
    uint32_t chain;
    uint64_t first;
};

void segment_header_write(const struct segment_header *header, struct buffer *out);

enum segment_check {
    SEGMENT_GOOD,
    SEGMENT_SHORT,   /* ends, or is zero, before the header does */
    SEGMENT_DAMAGED, /* magic or checksum wrong */
    SEGMENT_NEWER,   /* of a version we do not read */
};
enum segment_check segment_header_read(struct hf_bytes file, struct segment_header *header);

struct journal_record {
    uint64_t sequence;
    uint32_t chain;    /* checksum of the record before */
    uint32_t checksum; /* its own */
    uint32_t undurable;
    int64_t time_ms;
    struct hf_bytes command; /* a view of the file */
    size_t size;             /* of the whole record */
};

/* Appends a record; fills in checksum and size. */
void record_write(struct journal_record *record, struct buffer *out);

/* The record at an offset, checked by conditions 1 and 2. */
bool record_read(struct hf_bytes file, size_t offset, struct journal_record *record);

/* Is there nothing but zeros from an offset on? */
bool record_none_left(struct hf_bytes file, size_t offset);

/* Condition 6: looks for a record behind `offset` that proves that number `sequence` was on disk.
 */
bool record_was_durable(struct hf_bytes file, size_t offset, uint64_t sequence);

#endif

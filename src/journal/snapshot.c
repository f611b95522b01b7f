/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a snapshot under a temporary name, reads it back, and gives it its name when it is known
 * to be right. */
#include "journal/snapshot.h"

#include "base/crc32c.h"
#include "base/little_endian.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define TEMPORARY "snapshot.tmp"

static const char magic[8] = "HFSNAPS\n";

void snapshot_name(uint64_t sequence, char out[SNAPSHOT_NAME_SIZE])
{
    snprintf(out, SNAPSHOT_NAME_SIZE, "snapshot-%020" PRIu64, sequence);
}

static void write_header(const struct snapshot_header *header, struct hf_bytes state,
                         uint8_t out[SNAPSHOT_HEADER])
{
    memcpy(out, magic, sizeof magic);
    put_u32(out + 8, SNAPSHOT_FILE_VERSION);
    put_u32(out + 12, header->chain);
    put_u64(out + 16, header->sequence);
    put_u64(out + 24, state.size);
    put_u32(out + 32, crc32c(0, state.data, state.size));
    put_u32(out + 36, crc32c(0, out, 36));
}

enum snapshot_check snapshot_read(struct hf_bytes file, struct snapshot_header *header,
                                  struct hf_bytes *state)
{
    const uint8_t *at = (const uint8_t *)file.data;

    if (file.size < SNAPSHOT_HEADER || memcmp(at, magic, sizeof magic) != 0 ||
        get_u32(at + 36) != crc32c(0, at, 36)) {
        return SNAPSHOT_DAMAGED;
    }
    if (get_u32(at + 8) != SNAPSHOT_FILE_VERSION) {
        return SNAPSHOT_NEWER;
    }
    header->chain = get_u32(at + 12);
    header->sequence = get_u64(at + 16);
    *state = (struct hf_bytes){file.data + SNAPSHOT_HEADER, file.size - SNAPSHOT_HEADER};
    bool whole =
        get_u64(at + 24) == state->size && get_u32(at + 32) == crc32c(0, state->data, state->size);
    return whole ? SNAPSHOT_GOOD : SNAPSHOT_DAMAGED;
}

/* Synced piece by piece: the journal's own syncs, which callers wait for, then never queue behind
 * more than one of them. */
#define PIECE ((size_t)1 << 20)

static void tell(const struct snapshot_progress *progress)
{
    if (progress != NULL) {
        progress->tell(progress->context);
    }
}

static int write_file(struct storage *storage, int handle, const uint8_t *header,
                      struct hf_bytes state, const struct snapshot_progress *progress)
{
    int code = storage_write_all(storage, handle, 0, header, SNAPSHOT_HEADER);

    for (size_t at = 0; at < state.size && code == 0; at += PIECE) {
        size_t size = state.size - at < PIECE ? state.size - at : PIECE;
        code = storage_write_all(storage, handle, (int64_t)(SNAPSHOT_HEADER + at), state.data + at,
                                 size);
        code = code != 0 ? code : storage->type->sync(storage, handle);
        tell(progress);
    }
    return code;
}

/* What a reader will find, piece by piece: the whole must not be in memory twice. */
static int check_file(struct storage *storage, int handle, const uint8_t *header,
                      struct hf_bytes state, const struct snapshot_progress *progress)
{
    uint8_t piece[65536];
    size_t total = SNAPSHOT_HEADER + state.size;

    for (size_t at = 0; at < total;) {
        int64_t got = storage->type->read(storage, handle, (int64_t)at, piece, sizeof piece);
        if (got == -EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? (int)got : -EILSEQ;
        }
        if (at / PIECE != (at + (size_t)got) / PIECE) {
            tell(progress);
        }
        for (size_t i = 0; i < (size_t)got;) {
            bool head = at < SNAPSHOT_HEADER;
            const void *expected = head ? (const void *)(header + at)
                                        : (const void *)(state.data + (at - SNAPSHOT_HEADER));
            size_t run = (head ? SNAPSHOT_HEADER : total) - at;
            run = run < (size_t)got - i ? run : (size_t)got - i;
            if (run == 0 || memcmp(piece + i, expected, run) != 0) {
                return -EILSEQ;
            }
            i += run;
            at += run;
        }
    }
    return 0;
}

int snapshot_create(struct storage *storage)
{
    int handle = storage->type->open(storage, TEMPORARY, STORAGE_CREATE);

    if (handle == -EEXIST) { /* one that did not get finished */
        int code = storage->type->remove(storage, TEMPORARY);
        handle = code != 0 ? code : storage->type->open(storage, TEMPORARY, STORAGE_CREATE);
    }
    return handle;
}

int snapshot_write(struct storage *storage, int handle, const struct snapshot_header *header,
                   struct hf_bytes state, const struct snapshot_progress *progress)
{
    uint8_t bytes[SNAPSHOT_HEADER];

    write_header(header, state, bytes);
    int code = write_file(storage, handle, bytes, state, progress);
    return code != 0 ? code : check_file(storage, handle, bytes, state, progress);
}

void snapshot_discard(struct storage *storage)
{
    storage->type->remove(storage, TEMPORARY);
}

int snapshot_publish(struct storage *storage, uint64_t sequence)
{
    char name[SNAPSHOT_NAME_SIZE];

    snapshot_name(sequence, name);
    int code = storage->type->rename(storage, TEMPORARY, name);
    return code != 0 ? code : storage->type->sync_directory(storage);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a snapshot under a temporary name, reads it back, and gives it its name when it is known
 * to be right. A file is read, and checked, a part at a time: large states are in memory once. */
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

static void tell(const struct snapshot_progress *progress)
{
    if (progress != NULL) {
        progress->tell(progress->context);
    }
}

static void put_header(const struct snapshot_header *header, uint8_t out[SNAPSHOT_HEADER])
{
    memcpy(out, magic, sizeof magic);
    put_u32(out + 8, SNAPSHOT_FILE_VERSION);
    put_u32(out + 12, header->chain);
    put_u64(out + 16, header->sequence);
    put_u64(out + 24, header->state_size);
    put_u32(out + 32, header->state_crc);
    put_u32(out + 36, crc32c(0, out, 36));
}

static enum snapshot_check get_header(const uint8_t *at, struct snapshot_header *header)
{
    if (memcmp(at, magic, sizeof magic) != 0 || get_u32(at + 36) != crc32c(0, at, 36)) {
        return SNAPSHOT_DAMAGED;
    }
    *header = (struct snapshot_header){.chain = get_u32(at + 12),
                                       .sequence = get_u64(at + 16),
                                       .state_size = get_u64(at + 24),
                                       .state_crc = get_u32(at + 32)};
    return get_u32(at + 8) == SNAPSHOT_FILE_VERSION ? SNAPSHOT_GOOD : SNAPSHOT_NEWER;
}

enum snapshot_check snapshot_read(struct hf_bytes file, struct snapshot_header *header,
                                  struct hf_bytes *state)
{
    if (file.size < SNAPSHOT_HEADER) {
        return SNAPSHOT_DAMAGED;
    }
    enum snapshot_check check = get_header((const uint8_t *)file.data, header);
    if (check != SNAPSHOT_GOOD) {
        return check;
    }
    *state = (struct hf_bytes){file.data + SNAPSHOT_HEADER, file.size - SNAPSHOT_HEADER};
    bool whole = header->state_size == state->size &&
                 header->state_crc == crc32c(0, state->data, state->size);
    return whole ? SNAPSHOT_GOOD : SNAPSHOT_DAMAGED;
}

/* ---- reading, a part at a time --------------------------------------------------------------- */

#define PART ((size_t)256 << 10)

/* Reads as much of `size` as there is; a negative errno if that fails. */
static int64_t read_part(struct storage *storage, int handle, int64_t offset, void *data,
                         size_t size)
{
    size_t done = 0;

    while (done < size) {
        int64_t got = storage->type->read(storage, handle, offset + (int64_t)done,
                                          (char *)data + done, size - done);
        if (got == -EINTR) {
            continue;
        }
        if (got < 0) {
            return got;
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    return (int64_t)done;
}

/* Goes over the state once, a part at a time. Is it what the header says, and nothing behind it? */
static int check_state(struct storage *storage, int handle, struct buffer *window,
                       const struct snapshot_header *header,
                       const struct snapshot_progress *progress, bool *right)
{
    uint64_t done = 0;
    uint32_t crc = 0;
    int64_t got;

    if (!buffer_reserve(window, PART)) {
        return -ENOMEM;
    }
    while ((got = read_part(storage, handle, (int64_t)(SNAPSHOT_HEADER + done), window->data,
                            PART)) > 0) {
        crc = crc32c(crc, window->data, (size_t)got);
        done += (uint64_t)got;
        tell(progress);
    }
    *right = done == header->state_size && crc == header->state_crc;
    return (int)got;
}

/* Keeps what is left of the window and fills it up from the file. */
static bool read_more(struct reader *reader, size_t size)
{
    struct snapshot_file *file = (struct snapshot_file *)reader; /* its first member */
    struct buffer *window = &file->window;
    size_t left = (size_t)(reader->end - reader->at);
    size_t wanted = size > PART ? size : PART;

    wanted = wanted < left + reader->beyond ? wanted : left + reader->beyond;
    memmove(window->data, reader->at, left);
    window->size = left;
    if (!buffer_reserve(window, wanted - left)) {
        file->code = -ENOMEM;
        return false;
    }
    int64_t got =
        read_part(file->storage, file->handle, file->offset, window->data + left, wanted - left);
    if (got < (int64_t)(wanted - left)) {
        file->code = got < 0 ? (int)got : -EILSEQ;
        return false;
    }
    file->offset += got;
    if (file->was_read != NULL) {
        file->was_read(file->context, file->offset);
    }
    reader->at = (const uint8_t *)window->data;
    reader->end = reader->at + wanted;
    reader->beyond -= (size_t)got;
    return true;
}

static int open_checked(struct snapshot_file *file, struct snapshot_header *header,
                        enum snapshot_check *check)
{
    uint8_t bytes[SNAPSHOT_HEADER];
    bool right = false;
    int64_t got = read_part(file->storage, file->handle, 0, bytes, sizeof bytes);

    if (got < 0) {
        return (int)got;
    }
    *check = got < SNAPSHOT_HEADER ? SNAPSHOT_DAMAGED : get_header(bytes, header);
    if (*check != SNAPSHOT_GOOD) {
        return 0;
    }
    int code = check_state(file->storage, file->handle, &file->window, header, NULL, &right);
    if (code == 0 && right) {
        reader_init(&file->state, file->window.data, 0);
        file->state.beyond = header->state_size;
        file->state.more = read_more;
        file->offset = SNAPSHOT_HEADER;
    }
    *check = right ? SNAPSHOT_GOOD : SNAPSHOT_DAMAGED;
    return code;
}

int snapshot_open(struct storage *storage, const char *name, struct snapshot_file *file,
                  struct snapshot_header *header, enum snapshot_check *check)
{
    *file = (struct snapshot_file){.storage = storage};
    file->handle = storage->type->open(storage, name, STORAGE_READ);
    if (file->handle < 0) {
        return file->handle;
    }
    memory_init(&file->memory);
    buffer_init(&file->window, &file->memory);
    int code = open_checked(file, header, check);
    if (code != 0) {
        snapshot_close(file);
    }
    return code;
}

void snapshot_close(struct snapshot_file *file)
{
    buffer_free(&file->window);
    file->storage->type->close(file->storage, file->handle);
}

/* ---- writing --------------------------------------------------------------------------------- */

int snapshot_create(struct storage *storage)
{
    int handle = storage->type->open(storage, TEMPORARY, STORAGE_CREATE);

    if (handle == -EEXIST) { /* one that did not get finished */
        int code = storage->type->remove(storage, TEMPORARY);
        handle = code != 0 ? code : storage->type->open(storage, TEMPORARY, STORAGE_CREATE);
    }
    return handle;
}

/* Synced piece by piece: the journal's own syncs, which callers wait for, then never queue behind
 * more than one of them. */
#define SYNCED_AT_ONCE ((int64_t)1 << 20)

static void sync_some(struct snapshot_writer *writer, int64_t most)
{
    if (writer->code == 0 && writer->at - writer->synced > most) {
        writer->code = writer->storage->type->sync(writer->storage, writer->handle);
        writer->synced = writer->at;
        tell(writer->progress);
    }
}

bool snapshot_write_piece(struct snapshot_writer *writer, struct hf_bytes piece)
{
    if (writer->code == 0) {
        writer->code =
            storage_write_all(writer->storage, writer->handle, writer->at, piece.data, piece.size);
        writer->at += (int64_t)piece.size;
        sync_some(writer, SYNCED_AT_ONCE - 1);
    }
    return writer->code == 0;
}

void snapshot_write_header(struct snapshot_writer *writer, const struct snapshot_header *header)
{
    uint8_t bytes[SNAPSHOT_HEADER];

    put_header(header, bytes);
    snapshot_write_piece(writer, (struct hf_bytes){(const char *)bytes, sizeof bytes});
}

/* What a reader will find. */
static int check_file(struct snapshot_writer *writer, const struct snapshot_header *header,
                      struct buffer *window)
{
    uint8_t expected[SNAPSHOT_HEADER], found[SNAPSHOT_HEADER];
    bool right = false;
    int64_t got = read_part(writer->storage, writer->handle, 0, found, sizeof found);

    put_header(header, expected);
    if (got < 0) {
        return (int)got;
    }
    if (got < SNAPSHOT_HEADER || memcmp(found, expected, sizeof found) != 0) {
        return -EILSEQ;
    }
    int code =
        check_state(writer->storage, writer->handle, window, header, writer->progress, &right);
    return code != 0 ? code : right ? 0 : -EILSEQ;
}

int snapshot_write_end(struct snapshot_writer *writer, const struct snapshot_header *header)
{
    struct memory memory;
    struct buffer window;

    sync_some(writer, 0);
    if (writer->code == 0) {
        memory_init(&memory);
        buffer_init(&window, &memory);
        writer->code = check_file(writer, header, &window);
        buffer_free(&window);
    }
    return writer->code;
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

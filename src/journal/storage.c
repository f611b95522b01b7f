/* SPDX-License-Identifier: Apache-2.0
 *
 * What every storage shares: whole files read and written, and why an operation failed in words. */
#include "journal/storage.h"

#include <inttypes.h>
#include <stdio.h>

void storage_free(struct storage *storage)
{
    if (storage != NULL) {
        storage->type->free(storage);
    }
}

/* ---- room ------------------------------------------------------------------------------------ */

int64_t storage_free_bytes(struct storage *storage)
{
    struct storage_space space;

    return storage->type->space != NULL && storage->type->space(storage, &space) == 0 ? space.free
                                                                                      : -1;
}

bool storage_is_full(int code)
{
    return code == -ENOSPC || code == -EDQUOT || code == -EFBIG;
}

const char *storage_error(int code)
{
    return code == -ELOOP              ? "it is a symbolic link, which is not followed"
           : code == STORAGE_IRREGULAR ? "it is not a regular file"
                                       : strerror(-code);
}

const char *storage_why(int code, int64_t needed, int64_t free_bytes, char out[STORAGE_WHY_SIZE])
{
    char need[48] = "", room[48] = "";

    if (storage_is_full(code) && needed >= 0) {
        snprintf(need, sizeof need, ": needs %" PRId64 " bytes", needed);
    }
    if (storage_is_full(code) && free_bytes >= 0) {
        snprintf(room, sizeof room, "%s%" PRId64 " free", needed >= 0 ? ", " : ": ", free_bytes);
    }
    snprintf(out, STORAGE_WHY_SIZE, "%.60s%s%s", storage_error(code), need, room);
    return out;
}

/* ---- whole files ----------------------------------------------------------------------------- */

int storage_write_all(struct storage *storage, int handle, int64_t offset, const void *data,
                      size_t size)
{
    const char *at = data;

    while (size > 0) {
        int64_t written = storage->type->write(storage, handle, offset, at, size);
        if (written == -EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? (int)written : -EIO;
        }
        at += written;
        offset += written;
        size -= (size_t)written;
    }
    return 0;
}

int64_t storage_file_size(struct storage *storage, const char *name)
{
    int handle = storage->type->open(storage, name, STORAGE_READ);

    if (handle < 0) {
        return handle;
    }
    int64_t size = storage->type->size(storage, handle);
    storage->type->close(storage, handle);
    return size;
}

static int read_all(struct storage *storage, int handle, struct buffer *out)
{
    int64_t left = storage->type->size(storage, handle), offset = 0;

    if (left < 0) {
        return (int)left;
    }
    if (!buffer_reserve(out, (size_t)left)) {
        return -ENOMEM;
    }
    while (left > 0) {
        int64_t got =
            storage->type->read(storage, handle, offset, out->data + out->size, (size_t)left);
        if (got == -EINTR) {
            continue;
        }
        if (got < 0) {
            return (int)got;
        }
        if (got == 0) {
            break; /* shorter than it was a moment ago */
        }
        out->size += (size_t)got;
        offset += got;
        left -= got;
    }
    return 0;
}

int storage_read_file(struct storage *storage, const char *name, struct buffer *out)
{
    int handle = storage->type->open(storage, name, STORAGE_READ);

    if (handle < 0) {
        return handle;
    }
    int code = read_all(storage, handle, out);
    storage->type->close(storage, handle);
    return code;
}

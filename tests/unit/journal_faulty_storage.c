/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory of the system behind a layer that counts the calls and lets one of them fail. */
#include "journal_fixture.h"

#include <errno.h>
#include <stdlib.h>

struct faulty {
    struct storage storage;
    struct storage *inner;
    struct faults *faults;
    struct storage_type type; /* of its own: `forked` may be missing */
};

static struct storage *inner(struct storage *storage)
{
    return ((struct faulty *)storage)->inner;
}

/* 0, or the code this call is to fail with. */
static int count(struct storage *storage, enum call call)
{
    struct faults *faults = ((struct faulty *)storage)->faults;

    faults->count[call]++;
    if (faults->happened) {
        faults->syncs_after += call == CALL_SYNC;
        faults->writes_after += call == CALL_WRITE;
    }
    if (faults->before != NULL) {
        faults->before(faults, call);
    }
    if (faults->at > 0 && call == faults->call && faults->count[call] == faults->at) {
        faults->happened = true;
        return faults->code;
    }
    return 0;
}

/* 0, or -EINTR; *size is what may be done at once. */
static int64_t disturb(struct storage *storage, size_t *size)
{
    struct faults *faults = ((struct faulty *)storage)->faults;

    if (faults->interrupted && faults->turn++ % 2 == 0) {
        return -EINTR;
    }
    if (faults->shortest > 0 && *size > faults->shortest) {
        *size = faults->shortest;
    }
    return 0;
}

static int faulty_list(struct storage *storage, storage_name *name, void *context)
{
    int code = count(storage, CALL_LIST);
    return code != 0 ? code : inner(storage)->type->list(inner(storage), name, context);
}

static int faulty_open(struct storage *storage, const char *name, enum storage_mode mode)
{
    int code = count(storage, CALL_OPEN);
    return code != 0 ? code : inner(storage)->type->open(inner(storage), name, mode);
}

static void faulty_close(struct storage *storage, int handle)
{
    inner(storage)->type->close(inner(storage), handle);
}

static int64_t faulty_read(struct storage *storage, int handle, int64_t offset, void *data,
                           size_t size)
{
    int64_t code = count(storage, CALL_READ);
    code = code != 0 ? code : disturb(storage, &size);
    return code != 0 ? code
                     : inner(storage)->type->read(inner(storage), handle, offset, data, size);
}

static int64_t faulty_write(struct storage *storage, int handle, int64_t offset, const void *data,
                            size_t size)
{
    int64_t code = count(storage, CALL_WRITE);
    code = code != 0 ? code : disturb(storage, &size);
    return code != 0 ? code
                     : inner(storage)->type->write(inner(storage), handle, offset, data, size);
}

static int64_t faulty_size(struct storage *storage, int handle)
{
    return inner(storage)->type->size(inner(storage), handle);
}

static int faulty_truncate(struct storage *storage, int handle, int64_t size)
{
    int code = count(storage, CALL_TRUNCATE);
    return code != 0 ? code : inner(storage)->type->truncate(inner(storage), handle, size);
}

static int faulty_allocate(struct storage *storage, int handle, int64_t size)
{
    struct faults *faults = ((struct faulty *)storage)->faults;
    int code = count(storage, CALL_ALLOCATE);

    if (code == 0 && faults->allocate_most > 0 && size > faults->allocate_most) {
        code = -ENOSPC;
    }
    if (code == 0 && size > faults->allocated) {
        faults->allocated = size;
    }
    return code != 0 ? code : inner(storage)->type->allocate(inner(storage), handle, size);
}

static int faulty_space(struct storage *storage, struct storage_space *space)
{
    struct faults *faults = ((struct faulty *)storage)->faults;

    faults->spaces++;
    if (faults->space.total == 0) {
        return inner(storage)->type->space(inner(storage), space);
    }
    *space = faults->space;
    return 0;
}

static int64_t faulty_age_ms(struct storage *storage, int handle)
{
    return inner(storage)->type->age_ms(inner(storage), handle);
}

static int faulty_sync(struct storage *storage, int handle)
{
    int code = count(storage, CALL_SYNC);
    return code != 0 ? code : inner(storage)->type->sync(inner(storage), handle);
}

static int faulty_rename(struct storage *storage, const char *from, const char *to)
{
    int code = count(storage, CALL_RENAME);
    return code != 0 ? code : inner(storage)->type->rename(inner(storage), from, to);
}

static int faulty_remove(struct storage *storage, const char *name)
{
    int code = count(storage, CALL_REMOVE);
    return code != 0 ? code : inner(storage)->type->remove(inner(storage), name);
}

static int faulty_sync_directory(struct storage *storage)
{
    int code = count(storage, CALL_SYNC_DIRECTORY);
    return code != 0 ? code : inner(storage)->type->sync_directory(inner(storage));
}

static int faulty_lock(struct storage *storage)
{
    return inner(storage)->type->lock(inner(storage));
}

static void faulty_forked(struct storage *storage)
{
    inner(storage)->type->forked(inner(storage));
}

static void faulty_free(struct storage *storage)
{
    storage_free(inner(storage));
    free(storage);
}

static const struct storage_type faulty_type = {
    .list = faulty_list,
    .open = faulty_open,
    .close = faulty_close,
    .read = faulty_read,
    .write = faulty_write,
    .size = faulty_size,
    .truncate = faulty_truncate,
    .allocate = faulty_allocate,
    .sync = faulty_sync,
    .rename = faulty_rename,
    .remove = faulty_remove,
    .sync_directory = faulty_sync_directory,
    .lock = faulty_lock,
    .space = faulty_space,
    .age_ms = faulty_age_ms,
    .forked = faulty_forked,
    .free = faulty_free,
};

struct storage *faulty_storage(const char *path, struct faults *faults, bool forks)
{
    struct faulty *faulty = calloc(1, sizeof *faulty);

    assert_non_null(faulty);
    assert_int_equal(storage_posix(path, true, &faulty->inner), 0);
    faulty->faults = faults;
    faulty->type = faulty_type;
    if (!forks) {
        faulty->type.forked = NULL;
    }
    faulty->storage.type = &faulty->type;
    return &faulty->storage;
}

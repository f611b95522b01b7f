/* SPDX-License-Identifier: Apache-2.0
 *
 * Wraps a storage and drops every write to it. A file that is created has a handle that leads
 * nowhere. */
#include "journal/storage_read_only.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define NOWHERE INT_MAX /* the handle of a file that was "created" */

struct read_only {
    struct storage storage;
    struct storage *under;
};

static struct storage *under(struct storage *storage)
{
    return ((struct read_only *)storage)->under;
}

/* ---- what is passed on ----------------------------------------------------------------------- */

static int pass_list(struct storage *storage, storage_name *name, void *context)
{
    return under(storage)->type->list(under(storage), name, context);
}

static int pass_open(struct storage *storage, const char *name, enum storage_mode mode)
{
    if (mode == STORAGE_CREATE) {
        return NOWHERE;
    }
    return under(storage)->type->open(under(storage), name, STORAGE_READ);
}

static void pass_close(struct storage *storage, int handle)
{
    if (handle != NOWHERE) {
        under(storage)->type->close(under(storage), handle);
    }
}

static int64_t pass_read(struct storage *storage, int handle, int64_t offset, void *data,
                         size_t size)
{
    if (handle == NOWHERE) {
        return 0;
    }
    return under(storage)->type->read(under(storage), handle, offset, data, size);
}

static int64_t pass_size(struct storage *storage, int handle)
{
    return handle == NOWHERE ? 0 : under(storage)->type->size(under(storage), handle);
}

static int pass_space(struct storage *storage, struct storage_space *space)
{
    const struct storage_type *type = under(storage)->type;
    return type->space == NULL ? -ENOSYS : type->space(under(storage), space);
}

static void pass_free(struct storage *storage)
{
    storage_free(under(storage));
    free(storage);
}

/* ---- what is forgotten ----------------------------------------------------------------------- */

static int64_t forget_write(struct storage *storage, int handle, int64_t offset, const void *data,
                            size_t size)
{
    (void)storage;
    (void)handle;
    (void)offset;
    (void)data;
    return (int64_t)size;
}

static int forget_resize(struct storage *storage, int handle, int64_t size)
{
    (void)storage;
    (void)handle;
    (void)size;
    return 0;
}

static int forget_sync(struct storage *storage, int handle)
{
    (void)storage;
    (void)handle;
    return 0;
}

static int forget_rename(struct storage *storage, const char *from, const char *to)
{
    (void)storage;
    (void)from;
    (void)to;
    return 0;
}

static int forget_remove(struct storage *storage, const char *name)
{
    (void)storage;
    (void)name;
    return 0;
}

static int nothing(struct storage *storage)
{
    (void)storage;
    return 0;
}

static const struct storage_type read_only_type = {
    .list = pass_list,
    .open = pass_open,
    .close = pass_close,
    .read = pass_read,
    .write = forget_write,
    .size = pass_size,
    .truncate = forget_resize,
    .allocate = forget_resize,
    .sync = forget_sync,
    .rename = forget_rename,
    .remove = forget_remove,
    .sync_directory = nothing,
    .lock = nothing,
    .space = pass_space,
    .free = pass_free,
};

struct storage *storage_read_only(struct storage *beneath)
{
    struct read_only *read_only = malloc(sizeof *read_only);

    if (read_only == NULL) {
        storage_free(beneath);
        return NULL;
    }
    *read_only = (struct read_only){.storage = {&read_only_type}, .under = beneath};
    return &read_only->storage;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The disk as a `struct storage`. */
#include "disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct view {
    struct storage storage;
    struct sim_disk *disk;
    bool holds_lock;
};

static struct sim_disk *disk_of(struct storage *storage)
{
    return ((struct view *)storage)->disk;
}

static struct file *file_of(struct sim_disk *disk, int handle)
{
    if (handle < 0 || handle >= HANDLES_MAX || !disk->handles[handle].open) {
        abort();
    }
    return &disk->files[disk->handles[handle].file];
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static bool happens(struct sim_disk *disk, unsigned per_mille)
{
    return per_mille > 0 && disk->dice != NULL && dice_chance(disk->dice, per_mille);
}

/* Every operation that changes something begins here: 0, or why it fails. */
static int begin(struct sim_disk *disk, unsigned per_mille)
{
    if (disk->left == 0) {
        return -EIO;
    }
    if (disk->left != UINT64_MAX) {
        disk->left--;
    }
    if (!happens(disk, per_mille)) {
        return 0;
    }
    disk->injected++;
    return dice_chance(disk->dice, 500) ? -EIO : -ENOSPC;
}

/* How many bytes a read or write gets done; or -EINTR. */
static int64_t how_many(struct sim_disk *disk, size_t size)
{
    if (happens(disk, disk->faults.interrupt)) {
        return -EINTR;
    }
    if (size > 1 && happens(disk, disk->faults.short_count)) {
        return (int64_t)(1 + dice_below(disk->dice, size - 1));
    }
    return (int64_t)size;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void add_change(struct file *file, struct change change, const void *data)
{
    if (data != NULL) {
        change.data = malloc(change.size);
        if (change.data == NULL) {
            abort();
        }
        memcpy(change.data, data, change.size);
    }
    file->changes = disk_room(file->changes, file->count, &file->capacity, sizeof *file->changes);
    file->changes[file->count++] = change;
    file_apply(&file->current, &change);
}

static void add_move(struct sim_disk *disk, struct move move)
{
    disk->moves =
        disk_room(disk->moves, disk->move_count, &disk->move_capacity, sizeof *disk->moves);
    disk->moves[disk->move_count++] = move;
    entries_move(&disk->current, &move);
}

static int sim_open(struct storage *storage, const char *name, enum storage_mode mode)
{
    struct sim_disk *disk = disk_of(storage);
    size_t file = entries_find(&disk->current, name);
    int handle = 0;

    if (disk->left == 0) {
        return -EIO;
    }
    if (mode == STORAGE_CREATE) {
        int code = file != SIZE_MAX ? -EEXIST : begin(disk, disk->faults.name_error);
        if (code != 0) {
            return code;
        }
        struct move move = {.kind = MOVE_CREATE, .file = file = disk_add_file(disk)};
        snprintf(move.to, sizeof move.to, "%s", name);
        add_move(disk, move);
    }
    if (file == SIZE_MAX) {
        return -ENOENT;
    }
    while (disk->handles[handle].open) {
        if (++handle == HANDLES_MAX) {
            abort(); /* somebody does not close */
        }
    }
    disk->handles[handle].open = true;
    disk->handles[handle].file = file;
    return handle;
}

static void sim_close(struct storage *storage, int handle)
{
    file_of(disk_of(storage), handle);
    disk_of(storage)->handles[handle].open = false;
}

static int64_t sim_read(struct storage *storage, int handle, int64_t offset, void *data,
                        size_t size)
{
    struct sim_disk *disk = disk_of(storage);
    const struct content *content = &file_of(disk, handle)->current;
    size_t at = (size_t)offset;

    if (disk->left == 0) {
        return -EIO;
    }
    if (at >= content->size) {
        return 0;
    }
    int64_t count = how_many(disk, size < content->size - at ? size : content->size - at);
    if (count > 0) {
        memcpy(data, content->data + at, (size_t)count);
    }
    return count;
}

/* What is written is whole sectors, which matters where a part of one was taken for written. */
static void write_sectors(struct sim_disk *disk, struct file *file, size_t offset, const void *data,
                          size_t size)
{
    if (disk->faults.forgetful) {
        size_t end = (offset + size + SECTOR - 1) / SECTOR * SECTOR;
        content_write(&file->current, offset, data, size);
        offset = offset / SECTOR * SECTOR;
        size = (end < file->current.size ? end : file->current.size) - offset;
        data = file->current.data + offset;
    }
    add_change(file, (struct change){CHANGE_WRITE, offset, size, NULL}, data);
}

static int64_t sim_write(struct storage *storage, int handle, int64_t offset, const void *data,
                         size_t size)
{
    struct sim_disk *disk = disk_of(storage);
    struct file *file = file_of(disk, handle);
    int64_t count = disk->left == 0 ? 0 : how_many(disk, size);

    if (count < 0) {
        return count;
    }
    int code = begin(disk, disk->faults.write_error);
    if (code != 0 && disk->left > 0) { /* some of it may have been done before it failed */
        count = (int64_t)dice_below(disk->dice, size);
    }
    if (count > 0 && (disk->left > 0 || code == 0)) {
        write_sectors(disk, file, (size_t)offset, data, (size_t)count);
    }
    return code != 0 ? code : count;
}

static int64_t sim_size(struct storage *storage, int handle)
{
    struct sim_disk *disk = disk_of(storage);
    return disk->left == 0 ? -EIO : (int64_t)file_of(disk, handle)->current.size;
}

static int sim_truncate(struct storage *storage, int handle, int64_t size)
{
    struct sim_disk *disk = disk_of(storage);
    int code = begin(disk, disk->faults.write_error);

    if (code == 0) {
        add_change(file_of(disk, handle), (struct change){CHANGE_SIZE, (size_t)size, 0, NULL},
                   NULL);
    }
    return code;
}

static int sim_allocate(struct storage *storage, int handle, int64_t size)
{
    if (size <= sim_size(storage, handle)) {
        return begin(disk_of(storage), 0);
    }
    return sim_truncate(storage, handle, size);
}

/* A sync that failed has got some of it done; the system may take the rest for done, too. */
static void sync_badly(struct sim_disk *disk, struct file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        file_land(&file->durable, &file->changes[i], 500, disk->dice);
    }
    file_forget_changes(file);
}

static int sim_sync(struct storage *storage, int handle)
{
    struct sim_disk *disk = disk_of(storage);
    struct file *file = file_of(disk, handle);
    int code = begin(disk, disk->faults.sync_error);

    if (code != 0) {
        if (disk->left > 0 && disk->faults.forgetful) {
            sync_badly(disk, file);
        }
        return code;
    }
    for (size_t i = 0; i < file->count; i++) {
        file_apply(&file->durable, &file->changes[i]);
    }
    file_forget_changes(file);
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int move_name(struct storage *storage, struct move move, const char *from, const char *to)
{
    struct sim_disk *disk = disk_of(storage);
    int code = begin(disk, disk->faults.name_error);

    move.file = entries_find(&disk->current, from);
    if (code == 0 && move.file == SIZE_MAX) {
        code = -ENOENT;
    }
    if (code == 0) {
        snprintf(move.from, sizeof move.from, "%s", from);
        snprintf(move.to, sizeof move.to, "%s", to);
        add_move(disk, move);
    }
    return code;
}

static int sim_rename(struct storage *storage, const char *from, const char *to)
{
    return move_name(storage, (struct move){.kind = MOVE_RENAME}, from, to);
}

static int sim_remove(struct storage *storage, const char *name)
{
    return move_name(storage, (struct move){.kind = MOVE_REMOVE}, name, "");
}

static int sim_sync_directory(struct storage *storage)
{
    struct sim_disk *disk = disk_of(storage);
    int code = begin(disk, disk->faults.sync_error);

    for (size_t i = 0; i < disk->move_count && code == 0; i++) {
        entries_move(&disk->durable, &disk->moves[i]);
    }
    disk->move_count = code == 0 ? 0 : disk->move_count;
    return code;
}

static int sim_list(struct storage *storage, storage_name *name, void *context)
{
    struct sim_disk *disk = disk_of(storage);

    for (size_t i = 0; i < disk->current.count && disk->left > 0; i++) {
        name(context, disk->current.at[i].name);
    }
    return disk->left > 0 ? 0 : -EIO;
}

/* ---- views ----------------------------------------------------------------------------------- */

static int sim_lock(struct storage *storage)
{
    struct view *view = (struct view *)storage;

    if (view->disk->left == 0) {
        return -EIO;
    }
    if (view->disk->locked) {
        return -EAGAIN;
    }
    view->holds_lock = view->disk->locked = true;
    return 0;
}

static void sim_free(struct storage *storage)
{
    struct view *view = (struct view *)storage;

    if (view->holds_lock) {
        view->disk->locked = false;
    }
    free(view);
}

static const struct storage_type sim_type = {
    .list = sim_list,
    .open = sim_open,
    .close = sim_close,
    .read = sim_read,
    .write = sim_write,
    .size = sim_size,
    .truncate = sim_truncate,
    .allocate = sim_allocate,
    .sync = sim_sync,
    .rename = sim_rename,
    .remove = sim_remove,
    .sync_directory = sim_sync_directory,
    .lock = sim_lock,
    .forked = NULL,
    .free = sim_free,
};

struct storage *sim_storage(struct sim_disk *disk)
{
    struct view *view = malloc(sizeof *view);

    if (view == NULL) {
        abort();
    }
    *view = (struct view){.storage = {&sim_type}, .disk = disk};
    return &view->storage;
}

/* ---- disks ----------------------------------------------------------------------------------- */

struct sim_disk *sim_disk_new(void)
{
    struct sim_disk *disk = calloc(1, sizeof *disk);

    if (disk == NULL) {
        abort();
    }
    disk->left = UINT64_MAX;
    return disk;
}

void sim_disk_free(struct sim_disk *disk)
{
    if (disk == NULL) {
        return;
    }
    for (size_t i = 0; i < disk->file_count; i++) {
        file_forget_changes(&disk->files[i]);
        free(disk->files[i].changes);
        free(disk->files[i].durable.data);
        free(disk->files[i].current.data);
    }
    free(disk->files);
    free(disk->durable.at);
    free(disk->current.at);
    free(disk->moves);
    free(disk);
}

void sim_disk_faults(struct sim_disk *disk, const struct sim_faults *faults, struct dice *dice)
{
    disk->faults = faults != NULL ? *faults : (struct sim_faults){.write_error = 0};
    disk->dice = faults != NULL ? dice : NULL;
}

uint64_t sim_disk_injected(const struct sim_disk *disk)
{
    return disk->injected;
}

void sim_disk_stop_after(struct sim_disk *disk, uint64_t operations)
{
    disk->left = operations;
}

bool sim_disk_stopped(const struct sim_disk *disk)
{
    return disk->left == 0;
}

void sim_disk_restart(struct sim_disk *disk)
{
    disk->left = UINT64_MAX;
    disk->locked = false;
    memset(disk->handles, 0, sizeof disk->handles);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a simulated disk: contents, files, names. */
#include "disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *disk_room(void *block, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return block;
    }
    *capacity = count * 2 > 16 ? count * 2 : 16;
    block = realloc(block, *capacity * size);
    if (block == NULL) {
        abort();
    }
    return block;
}

/* ---- contents -------------------------------------------------------------------------------- */

void content_resize(struct content *content, size_t size)
{
    content->data = disk_room(content->data, size, &content->capacity, 1);
    if (size > content->size) {
        memset(content->data + content->size, 0, size - content->size);
    }
    content->size = size;
}

void content_write(struct content *content, size_t offset, const char *data, size_t size)
{
    if (offset + size > content->size) {
        content_resize(content, offset + size);
    }
    memcpy(content->data + offset, data, size);
}

void content_copy(struct content *to, const struct content *from)
{
    to->size = 0;
    content_resize(to, from->size);
    if (from->size > 0) {
        memcpy(to->data, from->data, from->size);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

size_t disk_add_file(struct sim_disk *disk)
{
    disk->files =
        disk_room(disk->files, disk->file_count, &disk->file_capacity, sizeof *disk->files);
    disk->files[disk->file_count] = (struct file){.count = 0};
    return disk->file_count++;
}

void file_forget_changes(struct file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        free(file->changes[i].data);
    }
    file->count = 0;
}

void file_apply(struct content *content, const struct change *change)
{
    if (change->kind == CHANGE_WRITE) {
        content_write(content, change->offset, change->data, change->size);
    } else {
        content_resize(content, change->offset);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

size_t entries_find(const struct entries *entries, const char *name)
{
    for (size_t i = 0; i < entries->count; i++) {
        if (strcmp(entries->at[i].name, name) == 0) {
            return entries->at[i].file;
        }
    }
    return SIZE_MAX;
}

void entries_remove(struct entries *entries, const char *name)
{
    for (size_t i = 0; i < entries->count; i++) {
        if (strcmp(entries->at[i].name, name) == 0) {
            entries->at[i] = entries->at[--entries->count];
            return;
        }
    }
}

void entries_set(struct entries *entries, const char *name, size_t file)
{
    entries_remove(entries, name);
    entries->at = disk_room(entries->at, entries->count, &entries->capacity, sizeof *entries->at);
    struct entry *entry = &entries->at[entries->count++];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->file = file;
}

void entries_move(struct entries *entries, const struct move *move)
{
    if (move->kind != MOVE_CREATE && entries_find(entries, move->from) == move->file) {
        entries_remove(entries, move->from);
    }
    if (move->kind != MOVE_REMOVE) {
        entries_set(entries, move->to, move->file);
    }
}

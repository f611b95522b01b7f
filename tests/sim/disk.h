/* SPDX-License-Identifier: Apache-2.0
 *
 * What a simulated disk is made of; for storage_sim.c and crash.c only. */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "storage_sim.h"

#define SECTOR 512
#define NAME_SIZE 48
#define HANDLES_MAX 64

struct content {
    char *data;
    size_t size, capacity;
};

/* A change of a file that was not synced. */
struct change {
    enum { CHANGE_WRITE, CHANGE_SIZE } kind;
    size_t offset; /* of a write; the new size of the other */
    size_t size;
    char *data;
};

struct file {
    struct content durable, current;
    struct change *changes;
    size_t count, capacity;
};

struct entry {
    char name[NAME_SIZE];
    size_t file;
};

struct entries {
    struct entry *at;
    size_t count, capacity;
};

/* A change of the directory that was not synced. */
struct move {
    enum { MOVE_CREATE, MOVE_RENAME, MOVE_REMOVE } kind;
    size_t file;
    char from[NAME_SIZE], to[NAME_SIZE];
};

struct sim_disk {
    struct file *files;
    size_t file_count, file_capacity;
    struct entries durable, current;
    struct move *moves;
    size_t move_count, move_capacity;

    struct {
        bool open;
        size_t file;
    } handles[HANDLES_MAX];
    bool locked;
    uint64_t left; /* operations until it stops */
    struct sim_faults faults;
    struct dice *dice; /* NULL: nothing goes wrong */
    uint64_t injected;
};

/* As realloc() of an array that is full: aborts when there is no memory. */
void *disk_room(void *block, size_t count, size_t *capacity, size_t size);

void content_resize(struct content *content, size_t size);
void content_write(struct content *content, size_t offset, const char *data, size_t size);
void content_copy(struct content *to, const struct content *from);

size_t entries_find(const struct entries *entries, const char *name); /* or SIZE_MAX */
void entries_set(struct entries *entries, const char *name, size_t file);
void entries_remove(struct entries *entries, const char *name);
void entries_move(struct entries *entries, const struct move *move);

size_t disk_add_file(struct sim_disk *disk);
void file_forget_changes(struct file *file);
void file_apply(struct content *content, const struct change *change);
/* Each sector of a write by itself, `share` of 1000 of them. */
void file_land(struct content *content, const struct change *change, unsigned share,
               struct dice *dice);

#endif

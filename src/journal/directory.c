/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists a data directory and sorts its files by what their names say. */
#include "journal/directory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS 20

void segment_name(uint64_t first, char out[SEGMENT_NAME_SIZE])
{
    snprintf(out, SEGMENT_NAME_SIZE, "journal-%020" PRIu64, first);
}

/* "journal-" and 20 digits, or not of this kind. */
static bool parse(const char *name, const char *prefix, uint64_t *number)
{
    size_t size = strlen(prefix);

    if (strncmp(name, prefix, size) != 0 || strlen(name + size) != DIGITS ||
        strspn(name + size, "0123456789") != DIGITS) {
        return false;
    }
    errno = 0;
    *number = strtoull(name + size, NULL, 10);
    return errno == 0;
}

static void add(struct directory *directory, struct numbers *numbers, uint64_t number)
{
    if (numbers->count == numbers->capacity) {
        size_t capacity = numbers->capacity ? numbers->capacity * 2 : 16;
        uint64_t *more = memory_resize(&directory->memory, numbers->at,
                                       numbers->capacity * sizeof *more, capacity * sizeof *more);
        if (more == NULL) {
            directory->failed = true;
            return;
        }
        numbers->at = more;
        numbers->capacity = capacity;
    }
    numbers->at[numbers->count++] = number;
}

static void see(void *context, const char *name)
{
    struct directory *directory = context;
    uint64_t number;

    if (parse(name, "journal-", &number)) {
        add(directory, &directory->segments, number);
    } else if (parse(name, "snapshot-", &number)) {
        add(directory, &directory->snapshots, number);
    } else if (strcmp(name, "snapshot.tmp") == 0) {
        directory->temporary = true;
    }
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort(struct numbers *numbers)
{
    if (numbers->count > 1) {
        qsort(numbers->at, numbers->count, sizeof(*numbers->at), ascending);
    }
}

int directory_read_with(struct storage *storage, const struct memory *memory,
                        struct directory *directory)
{
    *directory = (struct directory){.memory = *memory};
    int code = storage->type->list(storage, see, directory);
    if (code == 0 && directory->failed) {
        code = -ENOMEM;
    }
    sort(&directory->segments);
    sort(&directory->snapshots);
    return code;
}

int directory_read(struct storage *storage, struct directory *directory)
{
    struct memory memory;

    memory_init(&memory);
    return directory_read_with(storage, &memory, directory);
}

static void free_numbers(struct directory *directory, struct numbers *numbers)
{
    memory_free(&directory->memory, numbers->at, numbers->capacity * sizeof numbers->at[0]);
    *numbers = (struct numbers){.count = 0};
}

void directory_free(struct directory *directory)
{
    free_numbers(directory, &directory->segments);
    free_numbers(directory, &directory->snapshots);
}

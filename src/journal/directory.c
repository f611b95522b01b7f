/* SPDX-License-Identifier: Apache-2.0 */
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

static bool add(struct numbers *numbers, uint64_t number)
{
    if (numbers->count == numbers->capacity) {
        size_t capacity = numbers->capacity ? numbers->capacity * 2 : 16;
        uint64_t *more = realloc(numbers->at, capacity * sizeof(*more));
        if (more == NULL) {
            return false;
        }
        numbers->at = more;
        numbers->capacity = capacity;
    }
    numbers->at[numbers->count++] = number;
    return true;
}

static void see(void *context, const char *name)
{
    struct directory *directory = context;
    uint64_t number;

    if (parse(name, "journal-", &number)) {
        directory->failed |= !add(&directory->segments, number);
    } else if (parse(name, "snapshot-", &number)) {
        directory->failed |= !add(&directory->snapshots, number);
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

int directory_read(struct storage *storage, struct directory *directory)
{
    *directory = (struct directory){.temporary = false};
    int code = storage->type->list(storage, see, directory);
    if (code == 0 && directory->failed) {
        code = -ENOMEM;
    }
    sort(&directory->segments);
    sort(&directory->snapshots);
    return code;
}

void directory_free(struct directory *directory)
{
    free(directory->segments.at);
    free(directory->snapshots.at);
    *directory = (struct directory){.temporary = false};
}

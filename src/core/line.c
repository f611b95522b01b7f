/* SPDX-License-Identifier: Apache-2.0 */
#include "core/line.h"

#include "base/check.h"

#include <string.h>

#define CAPACITY_FIRST 8

static void count_add(struct line *line, uint32_t place, uint32_t difference)
{
    for (uint32_t i = place + 1; i <= line->capacity; i += i & (0 - i)) {
        line->tree[i - 1] += difference; /* unsigned: adding UINT32_MAX takes one away */
    }
}

/* Those present move together to the front of `slots`, in order. */
static void close_up(struct line *line, uint32_t *slots, line_moved *moved, void *context)
{
    uint32_t count = 0;

    for (uint32_t place = line->first; place < line->next; place++) {
        uint32_t index = line->slots[place];
        if (index != NONE) {
            slots[count] = index;
            moved(context, index, count++);
        }
    }
    CHECK(count == line->count);
    line->first = 0;
    line->next = count;
}

static void rebuild_tree(struct line *line)
{
    memset(line->tree, 0, line->capacity * sizeof(*line->tree));
    for (uint32_t i = 1; i <= line->capacity; i++) {
        uint32_t parent = i + (i & (0 - i));
        line->tree[i - 1] += i <= line->next ? 1 : 0;
        if (parent <= line->capacity) {
            line->tree[parent - 1] += line->tree[i - 1];
        }
    }
}

bool line_reserve(struct line *line, struct memory *memory, line_moved *moved, void *context)
{
    if (line->next < line->capacity) {
        return true;
    }
    if (line->capacity > 0 && line->count <= line->capacity / 2) {
        close_up(line, line->slots, moved, context);
        rebuild_tree(line);
        return true;
    }
    uint32_t capacity = line->capacity ? line->capacity * 2 : CAPACITY_FIRST;
    if (capacity > RECORDS_MAX) {
        return false;
    }
    size_t size = capacity * sizeof(uint32_t);
    uint32_t *slots = memory_get(memory, size);
    uint32_t *tree = slots ? memory_get(memory, size) : NULL;
    if (tree == NULL) {
        memory_free(memory, slots, size);
        return false;
    }
    struct line old = *line;
    close_up(line, slots, moved, context);
    line->slots = slots;
    line->tree = tree;
    line->capacity = capacity;
    rebuild_tree(line);
    memory_free(memory, old.slots, old.capacity * sizeof(*old.slots));
    memory_free(memory, old.tree, old.capacity * sizeof(*old.tree));
    return true;
}

uint32_t line_join(struct line *line, uint32_t index)
{
    CHECK(line->next < line->capacity);
    uint32_t place = line->next++;
    line->slots[place] = index;
    line->count++;
    count_add(line, place, 1);
    return place;
}

void line_leave(struct line *line, uint32_t place)
{
    CHECK(place < line->next && line->slots[place] != NONE);
    line->slots[place] = NONE;
    line->count--;
    count_add(line, place, UINT32_MAX);
}

uint32_t line_first(struct line *line)
{
    while (line->first < line->next && line->slots[line->first] == NONE) {
        line->first++;
    }
    return line->first < line->next ? line->slots[line->first] : NONE;
}

uint32_t line_position(const struct line *line, uint32_t place)
{
    uint32_t count = 0;

    for (uint32_t i = place + 1; i > 0; i -= i & (0 - i)) {
        count += line->tree[i - 1];
    }
    return count;
}

uint32_t line_walk(const struct line *line, uint32_t *place)
{
    while (*place < line->next) {
        uint32_t index = line->slots[(*place)++];
        if (index != NONE) {
            return index;
        }
    }
    return NONE;
}

void line_free(struct line *line, struct memory *memory)
{
    memory_free(memory, line->slots, line->capacity * sizeof(*line->slots));
    memory_free(memory, line->tree, line->capacity * sizeof(*line->tree));
    *line = (struct line){0};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Places and the numbers of parts wrap around; differences between them do not matter beyond half
 * their range, which line_reserve() sees to. */
#include "core/line.h"

#include "base/check.h"

#include <string.h>

/* Part numbers have so many values, and a line spans at most half of them. */
#define PART_NUMBERS (UINT32_C(1) << (32 - LINE_PART_BITS))
#define PARTS_MAX (PART_NUMBERS / 2)

/* A ring for more parts than this, of which so small a share is in use, is halved. */
#define RING_SMALL 8
#define RING_ROOMY 4

static uint32_t part_of(uint32_t place)
{
    return place >> LINE_PART_BITS;
}

static uint32_t ring(const struct line *line, uint32_t part)
{
    return part & (line->capacity - 1);
}

/* How many parts lie between the first and one behind it. */
static uint32_t parts_before(const struct line *line, uint32_t part)
{
    return (part - line->first) & (PART_NUMBERS - 1);
}

static uint32_t blocks(uint32_t capacity)
{
    return (capacity + LINE_BLOCK - 1) / LINE_BLOCK;
}

static void count_add(struct line *line, uint32_t at, int difference)
{
    line->counts[at] = (uint8_t)(line->counts[at] + difference);
    line->sums[at / LINE_BLOCK] += (uint32_t)difference;
    line->count += (uint32_t)difference;
}

static void free_ring(struct line *line, struct memory *memory)
{
    memory_free(memory, line->parts, line->capacity * sizeof(*line->parts));
    memory_free(memory, line->counts, line->capacity);
    memory_free(memory, line->sums, blocks(line->capacity) * sizeof(*line->sums));
}

/* Puts the parts into a ring of another size. */
static bool resize_ring(struct line *line, struct memory *memory, uint32_t capacity)
{
    struct line more = {.capacity = capacity, .first = line->first, .next = line->next};
    uint32_t parts = capacity < line->capacity ? capacity : line->capacity;

    more.parts = memory_zeroed(memory, more.capacity * sizeof(*more.parts));
    more.counts = memory_zeroed(memory, more.capacity);
    more.sums = memory_zeroed(memory, blocks(more.capacity) * sizeof(*more.sums));
    if (more.parts == NULL || more.counts == NULL || more.sums == NULL) {
        free_ring(&more, memory);
        return false;
    }
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t part = line->first + i, from = ring(line, part), to = ring(&more, part);
        more.parts[to] = line->parts[from];
        count_add(&more, to, line->counts[from]);
    }
    free_ring(line, memory);
    *line = more;
    return true;
}

/* Gives up a ring that is far larger than the line; without memory it stays as it is. */
static void shrink_ring(struct line *line, struct memory *memory)
{
    uint32_t parts = parts_before(line, part_of(line->next)) + 1, capacity = line->capacity;

    while (capacity > RING_SMALL && parts <= capacity / RING_ROOMY) {
        capacity /= 2;
    }
    if (capacity < line->capacity) {
        resize_ring(line, memory, capacity);
    }
}

bool line_reserve(struct line *line, struct memory *memory)
{
    uint32_t part = part_of(line->next), span = parts_before(line, part);

    if (span >= PARTS_MAX ||
        (span >= line->capacity &&
         !resize_ring(line, memory, line->capacity ? line->capacity * 2 : 1))) {
        return false;
    }
    struct line_part **at = &line->parts[ring(line, part)];
    if (*at == NULL) {
        *at = memory_zeroed(memory, sizeof(**at));
    }
    return *at != NULL;
}

uint32_t line_join(struct line *line, uint32_t index)
{
    uint32_t place = line->next++, at = ring(line, part_of(place));
    struct line_part *part = line->parts[at];

    CHECK(part != NULL && line->counts[at] < LINE_PART);
    part->records[place % LINE_PART] = index;
    part->present |= UINT64_C(1) << place % LINE_PART;
    count_add(line, at, 1);
    return place;
}

void line_leave(struct line *line, struct memory *memory, uint32_t place)
{
    uint32_t at = ring(line, part_of(place));
    struct line_part *part = line->parts[at];

    CHECK(part != NULL && part->present >> place % LINE_PART & 1);
    part->present &= ~(UINT64_C(1) << place % LINE_PART);
    count_add(line, at, -1);
    if (line->counts[at] > 0 || part_of(place) == part_of(line->next)) {
        return; /* the last part is used on */
    }
    memory_free(memory, part, sizeof *part);
    line->parts[at] = NULL;
    while (line->first != part_of(line->next) && line->counts[ring(line, line->first)] == 0) {
        line->first = (line->first + 1) & (PART_NUMBERS - 1);
    }
    shrink_ring(line, memory);
}

/* How many stand in so many parts from the first on. */
static uint32_t count_parts(const struct line *line, uint32_t parts)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < parts;) {
        uint32_t at = ring(line, line->first + i);
        bool whole = at % LINE_BLOCK == 0 && parts - i >= LINE_BLOCK;
        count += whole ? line->sums[at / LINE_BLOCK] : line->counts[at];
        i += whole ? LINE_BLOCK : 1;
    }
    return count;
}

uint32_t line_position(const struct line *line, uint32_t place)
{
    if (place + 1 == line->next) {
        return line->count;
    }
    const struct line_part *part = line->parts[ring(line, part_of(place))];
    uint32_t count = count_parts(line, parts_before(line, part_of(place)));
    uint64_t upto = UINT64_MAX >> (LINE_PART - 1 - place % LINE_PART);
    return count + (uint32_t)__builtin_popcountll(part->present & upto);
}

/* How many parts, from the first on, stand wholly before a position; *before is how many records
 * they have. */
static uint32_t parts_until(const struct line *line, uint32_t position, uint32_t *before)
{
    uint32_t parts = 0;

    for (*before = 0;;) {
        uint32_t at = ring(line, line->first + parts);
        bool whole = at % LINE_BLOCK == 0 && line->capacity - parts >= LINE_BLOCK &&
                     *before + line->sums[at / LINE_BLOCK] < position;
        if (!whole && *before + line->counts[at] >= position) {
            return parts;
        }
        *before += whole ? line->sums[at / LINE_BLOCK] : line->counts[at];
        parts += whole ? LINE_BLOCK : 1;
        CHECK(parts < line->capacity);
    }
}

uint32_t line_place(const struct line *line, uint32_t position)
{
    uint32_t before;

    CHECK(position > 0 && position <= line->count);
    uint32_t part = line->first + parts_until(line, position, &before);
    uint64_t present = line->parts[ring(line, part)]->present;
    for (uint32_t i = before + 1; i < position; i++) {
        present &= present - 1;
    }
    return (part << LINE_PART_BITS) + (uint32_t)__builtin_ctzll(present);
}

static uint32_t *record_at(const struct line *line, uint32_t place)
{
    struct line_part *part = line->parts[ring(line, part_of(place))];

    CHECK(part != NULL && part->present >> place % LINE_PART & 1);
    return &part->records[place % LINE_PART];
}

uint32_t line_at(const struct line *line, uint32_t place)
{
    return *record_at(line, place);
}

void line_swap(struct line *line, uint32_t place, uint32_t other)
{
    uint32_t *first = record_at(line, place), *second = record_at(line, other);
    uint32_t index = *first;

    *first = *second;
    *second = index;
}

uint32_t line_start(const struct line *line)
{
    return line->first << LINE_PART_BITS;
}

uint32_t line_walk(const struct line *line, uint32_t *place)
{
    while (line->count > 0 && *place != line->next) {
        const struct line_part *part = line->parts[ring(line, part_of(*place))];
        uint64_t rest = part == NULL ? 0 : part->present >> *place % LINE_PART;
        if (rest != 0) {
            *place += (uint32_t)__builtin_ctzll(rest) + 1;
            return part->records[(*place - 1) % LINE_PART];
        }
        if (part_of(*place) == part_of(line->next)) {
            break;
        }
        *place = (part_of(*place) + 1) << LINE_PART_BITS;
    }
    return NONE;
}

uint32_t line_first(const struct line *line)
{
    uint32_t place = line_start(line);

    return line_walk(line, &place);
}

void line_free(struct line *line, struct memory *memory)
{
    for (uint32_t i = 0; i < line->capacity; i++) {
        memory_free(memory, line->parts[i], sizeof(**line->parts));
    }
    free_ring(line, memory);
    *line = (struct line){0};
}

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

static struct line_sum plus(struct line_sum a, struct line_sum b)
{
    return (struct line_sum){a.count + b.count, a.weight + b.weight};
}

/* Adds to the sums of a part, of its block and of the line. */
static void sum_add(struct line *line, uint32_t at, struct line_sum more)
{
    line->part_sums[at] = plus(line->part_sums[at], more);
    line->block_sums[at / LINE_BLOCK] = plus(line->block_sums[at / LINE_BLOCK], more);
    line->count += more.count;
    line->weight += more.weight;
}

static void sum_subtract(struct line *line, uint32_t at, struct line_sum less)
{
    CHECK(line->part_sums[at].count >= less.count && line->part_sums[at].weight >= less.weight);
    /* Unsigned numbers wrap: adding what is missing to 2^n takes away. */
    sum_add(line, at, (struct line_sum){0 - less.count, 0 - less.weight});
}

static void free_ring(struct line *line, struct memory *memory)
{
    memory_free(memory, line->parts, line->capacity * sizeof(*line->parts));
    memory_free(memory, line->part_sums, line->capacity * sizeof(*line->part_sums));
    memory_free(memory, line->block_sums, blocks(line->capacity) * sizeof(*line->block_sums));
}

/* Puts the parts into a ring of another size. */
static bool resize_ring(struct line *line, struct memory *memory, uint32_t capacity)
{
    struct line more = {.capacity = capacity, .first = line->first, .next = line->next};
    uint32_t parts = capacity < line->capacity ? capacity : line->capacity;

    more.parts = memory_zeroed(memory, more.capacity * sizeof(*more.parts));
    more.part_sums = memory_zeroed(memory, more.capacity * sizeof(*more.part_sums));
    more.block_sums = memory_zeroed(memory, blocks(more.capacity) * sizeof(*more.block_sums));
    if (more.parts == NULL || more.part_sums == NULL || more.block_sums == NULL) {
        free_ring(&more, memory);
        return false;
    }
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t part = line->first + i, from = ring(line, part), to = ring(&more, part);
        more.parts[to] = line->parts[from];
        sum_add(&more, to, line->part_sums[from]);
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

uint32_t line_join(struct line *line, uint32_t index, uint16_t weight)
{
    uint32_t place = line->next++, at = ring(line, part_of(place));
    struct line_part *part = line->parts[at];

    CHECK(part != NULL && line->part_sums[at].count < LINE_PART);
    part->records[place % LINE_PART] = index;
    part->weights[place % LINE_PART] = weight;
    part->present |= UINT64_C(1) << place % LINE_PART;
    sum_add(line, at, (struct line_sum){1, weight});
    return place;
}

void line_leave(struct line *line, struct memory *memory, uint32_t place)
{
    uint32_t at = ring(line, part_of(place));
    struct line_part *part = line->parts[at];

    CHECK(part != NULL && part->present >> place % LINE_PART & 1);
    part->present &= ~(UINT64_C(1) << place % LINE_PART);
    sum_subtract(line, at, (struct line_sum){1, part->weights[place % LINE_PART]});
    if (line->part_sums[at].count > 0 || part_of(place) == part_of(line->next)) {
        return; /* the last part is used on */
    }
    memory_free(memory, part, sizeof *part);
    line->parts[at] = NULL;
    while (line->first != part_of(line->next) &&
           line->part_sums[ring(line, line->first)].count == 0) {
        line->first = (line->first + 1) & (PART_NUMBERS - 1);
    }
    shrink_ring(line, memory);
}

/* Sums parts up from the first on, most of them by the block, as long as they are before `end` and
 * their weight is at most `most`. *parts is how many they were. */
static struct line_sum sum_parts(const struct line *line, uint32_t end, uint64_t most,
                                 uint32_t *parts)
{
    struct line_sum sum = {0};
    uint32_t i = 0;

    while (i < end) {
        uint32_t at = ring(line, line->first + i);
        bool whole = at % LINE_BLOCK == 0 && end - i >= LINE_BLOCK &&
                     sum.weight + line->block_sums[at / LINE_BLOCK].weight <= most;
        struct line_sum next = whole ? line->block_sums[at / LINE_BLOCK] : line->part_sums[at];
        if (sum.weight + next.weight > most) {
            break;
        }
        sum = plus(sum, next);
        i += whole ? LINE_BLOCK : 1;
    }
    *parts = i;
    return sum;
}

/* Adds the records of one part that stand at a place of `mask`, from the first on, as long as the
 * weight is at most `most`. */
static struct line_sum sum_records(struct line_sum sum, const struct line_part *part, uint64_t mask,
                                   uint64_t most)
{
    for (uint64_t rest = part->present & mask; rest != 0; rest &= rest - 1) {
        uint16_t weight = part->weights[__builtin_ctzll(rest)];
        if (sum.weight + weight > most) {
            break;
        }
        sum = plus(sum, (struct line_sum){1, weight});
    }
    return sum;
}

struct line_sum line_upto(const struct line *line, uint32_t place)
{
    uint32_t parts;

    if (place + 1 == line->next) {
        return (struct line_sum){line->count, line->weight};
    }
    struct line_sum sum = sum_parts(line, parts_before(line, part_of(place)), UINT64_MAX, &parts);
    return sum_records(sum, line->parts[ring(line, part_of(place))],
                       UINT64_MAX >> (LINE_PART - 1 - place % LINE_PART), UINT64_MAX);
}

uint32_t line_position(const struct line *line, uint32_t place)
{
    return line_upto(line, place).count;
}

struct line_sum line_fitting(const struct line *line, uint64_t most)
{
    uint32_t end = parts_before(line, part_of(line->next)) + 1, parts;

    if (line->weight <= most) {
        return (struct line_sum){line->count, line->weight};
    }
    struct line_sum sum = sum_parts(line, end, most, &parts);
    const struct line_part *part = line->parts[ring(line, line->first + parts)];
    CHECK(part != NULL); /* it weighs too much to be empty */
    return sum_records(sum, part, UINT64_MAX, most);
}

/* How many parts, from the first on, stand wholly before a position; *before is how many records
 * they have. */
static uint32_t parts_until(const struct line *line, uint32_t position, uint32_t *before)
{
    uint32_t parts = 0;

    for (*before = 0;;) {
        uint32_t at = ring(line, line->first + parts);
        bool whole = at % LINE_BLOCK == 0 && line->capacity - parts >= LINE_BLOCK &&
                     *before + line->block_sums[at / LINE_BLOCK].count < position;
        if (!whole && *before + line->part_sums[at].count >= position) {
            return parts;
        }
        *before += whole ? line->block_sums[at / LINE_BLOCK].count : line->part_sums[at].count;
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

static uint16_t weight_at(const struct line *line, uint32_t place)
{
    return line->parts[ring(line, part_of(place))]->weights[place % LINE_PART];
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

    CHECK(weight_at(line, place) == weight_at(line, other));
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

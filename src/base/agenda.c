/* SPDX-License-Identifier: Apache-2.0
 *
 * The radix tree behind agenda.h. A node of level k has a slot for each value of the deadline's
 * digit k (6 bits from bit 6k on); all its deadlines share the digits above, its prefix. A node
 *   1. has at least one occupied slot,
 *   2. has children of the level right below its own,
 *   3. of level 0 holds buckets only, each of one deadline,
 *   4. that is the top has more than one occupied slot, or a bucket in the one it has.
 *
 * The top is of the lowest level that tells its records apart. A deadline that lies outside puts
 * nodes above it, one a level; those are promised when the top is made, so that there is always
 * memory for them. */
#include "base/agenda.h"

#include "base/check.h"

#include <string.h>

#define DIGIT_BITS 6
#define SLOTS (1 << DIGIT_BITS)
#define LEVELS 8
#define LEVEL_MAX (LEVELS - 1)

/* What a slot holds is a record, the first of a bucket, or with this bit a node. */
#define NODE_BIT (~(UINT32_MAX >> 1))
#define MANY UINT8_MAX /* of a bucket that could not be split: not counted any more */

_Static_assert(RECORDS_MAX <= NODE_BIT, "the bit is free in the index of a record");
_Static_assert(AGENDA_TIME_MAX >> (LEVELS * DIGIT_BITS) == 1, "digits for every deadline");
_Static_assert(AGENDA_BUCKET_MAX < MANY, "a bucket is split before it is not counted");

struct agenda_node {
    uint64_t occupied;          /* a bit a slot */
    int64_t prefix;             /* the digits above those of its level */
    const struct agenda *owner; /* of a node of level 0, so that a hint can be checked */
    uint32_t level;
    uint32_t spare;
    uint32_t slots[SLOTS];
    uint8_t sizes[SLOTS]; /* of the buckets, above level 0 */
};

/* ---- chains ---------------------------------------------------------------------------------- */

static struct timer *link_at(const struct slab *slab, size_t offset, uint32_t index)
{
    return (struct timer *)((char *)slab_at(slab, index) + offset);
}

static struct timer *timer_at(const struct agenda_pool *pool, uint32_t index)
{
    return link_at(pool->records, pool->offset, index);
}

void timer_chain_append(const struct slab *slab, size_t offset, uint32_t *head, uint32_t index)
{
    struct timer *timer = link_at(slab, offset, index);

    if (*head == NONE) {
        timer->next = timer->prev = index;
        *head = index;
        return;
    }
    struct timer *first = link_at(slab, offset, *head);
    timer->next = *head;
    timer->prev = first->prev;
    link_at(slab, offset, first->prev)->next = index;
    first->prev = index;
}

void timer_chain_remove(const struct slab *slab, size_t offset, uint32_t *head, uint32_t index)
{
    struct timer *timer = link_at(slab, offset, index);

    if (timer->next == index) {
        *head = NONE;
        return;
    }
    link_at(slab, offset, timer->prev)->next = timer->next;
    link_at(slab, offset, timer->next)->prev = timer->prev;
    if (*head == index) {
        *head = timer->next;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void agenda_pool_init(struct agenda_pool *pool, struct memory *memory, const struct slab *records,
                      size_t offset)
{
    *pool = (struct agenda_pool){.records = records, .offset = offset};
    slab_init(&pool->nodes, memory, sizeof(struct agenda_node));
}

void agenda_pool_free(struct agenda_pool *pool)
{
    slab_free(&pool->nodes);
}

static bool is_node(uint32_t entry)
{
    return entry & NODE_BIT && entry != NONE;
}

static struct agenda_node *node_at(const struct agenda_pool *pool, uint32_t entry)
{
    return slab_at(&pool->nodes, entry & ~NODE_BIT);
}

static unsigned digit(int64_t time_ms, uint32_t level)
{
    return (unsigned)(time_ms >> (level * DIGIT_BITS)) & (SLOTS - 1);
}

static int64_t prefix_of(int64_t time_ms, uint32_t level)
{
    return time_ms >> ((level + 1) * DIGIT_BITS);
}

/* When a slot of a node begins. */
static int64_t slot_begins(const struct agenda_node *node, unsigned slot)
{
    return (node->prefix << DIGIT_BITS | (int64_t)slot) << (node->level * DIGIT_BITS);
}

/* The level of the highest digit that is not 0. */
static uint32_t level_of_difference(int64_t difference)
{
    return (63 - (uint32_t)__builtin_clzll((uint64_t)difference)) / DIGIT_BITS;
}

static bool covers(const struct agenda_node *node, int64_t time_ms)
{
    return prefix_of(time_ms, node->level) == node->prefix;
}

/* How many nodes may come to stand above a top of this level. */
static uint32_t nodes_above(uint32_t level)
{
    return LEVEL_MAX - level;
}

/* There is room for so many nodes beside those that are promised, which the slab keeps free. */
static bool nodes_spare(struct agenda_pool *pool, uint32_t count)
{
    return slab_reserve(&pool->nodes, pool->nodes.kept + count);
}

static uint32_t new_node(struct agenda_pool *pool, const struct agenda *owner, int64_t time_ms,
                         uint32_t level)
{
    uint32_t index = slab_take(&pool->nodes);

    CHECK(index != NONE); /* spared or promised */
    struct agenda_node *node = slab_at(&pool->nodes, index);
    node->level = level;
    node->owner = level == 0 ? owner : NULL;
    node->prefix = prefix_of(time_ms, level);
    memset(node->slots, 0xff, sizeof node->slots);
    return index | NODE_BIT;
}

static void bucket_add(struct agenda_pool *pool, struct agenda_node *node, unsigned slot,
                       uint32_t index)
{
    timer_chain_append(pool->records, pool->offset, &node->slots[slot], index);
    node->occupied |= UINT64_C(1) << slot;
    if (node->level > 0) {
        node->sizes[slot] = (uint8_t)(node->sizes[slot] + (node->sizes[slot] < MANY));
    }
}

static void give_node(struct agenda_pool *pool, uint32_t entry)
{
    node_at(pool, entry)->owner = NULL; /* no hint leads here any more */
    slab_give(&pool->nodes, entry & ~NODE_BIT);
}

/* The node that a hint names, if it is still one of level 0 of this agenda; or NULL. Its block may
 * have been freed meanwhile. */
static struct agenda_node *hinted(const struct agenda_pool *pool, const struct agenda *agenda,
                                  uint32_t hint)
{
    if (hint == 0 || !slab_stands(&pool->nodes, hint - 1)) {
        return NULL;
    }
    struct agenda_node *node = slab_at(&pool->nodes, hint - 1);
    return node->owner == agenda ? node : NULL;
}

/* The node that was added to last, if it has the time, too. */
static struct agenda_node *hinted_last(const struct agenda_pool *pool, const struct agenda *agenda,
                                       int64_t time_ms)
{
    struct agenda_node *node = hinted(pool, agenda, agenda->last);

    return node != NULL && covers(node, time_ms) ? node : NULL;
}

/* ---- splitting buckets ----------------------------------------------------------------------- */

/* The lowest level that tells the records of a bucket apart. */
static uint32_t level_of_bucket(const struct agenda_pool *pool, uint32_t head)
{
    int64_t first = timer_at(pool, head)->deadline_ms;
    int64_t differs = 0;

    for (uint32_t at = timer_at(pool, head)->next; at != head; at = timer_at(pool, at)->next) {
        differs |= timer_at(pool, at)->deadline_ms ^ first;
    }
    return differs == 0 ? 0 : level_of_difference(differs);
}

/* Puts the records of a bucket into a new node of a level, and that in their place; they keep their
 * order. */
static void split(struct agenda_pool *pool, const struct agenda *agenda, uint32_t *at,
                  uint32_t level)
{
    uint32_t head = *at, last = timer_at(pool, head)->prev;
    uint32_t entry = new_node(pool, agenda, timer_at(pool, head)->deadline_ms, level);
    struct agenda_node *node = node_at(pool, entry);

    for (uint32_t index = head, next;; index = next) {
        struct timer *timer = timer_at(pool, index);
        next = timer->next;
        bucket_add(pool, node, digit(timer->deadline_ms, level), index);
        if (index == last) {
            break;
        }
    }
    *at = entry;
}

/* Splits the only bucket of an agenda, if there is memory for all that may come to stand above. */
static bool split_top(struct agenda_pool *pool, struct agenda *agenda)
{
    uint32_t level = level_of_bucket(pool, agenda->top);

    if (!nodes_spare(pool, nodes_above(level) + 1)) {
        return false;
    }
    pool->nodes.kept += nodes_above(level);
    split(pool, agenda, &agenda->top, level);
    return true;
}

/* Splits a bucket of a node into the level below, if there is memory. */
static bool split_slot(struct agenda_pool *pool, const struct agenda *agenda,
                       struct agenda_node *node, unsigned slot)
{
    CHECK(node->level > 0);
    if (!nodes_spare(pool, 1)) {
        return false;
    }
    split(pool, agenda, &node->slots[slot], node->level - 1);
    node->sizes[slot] = 0;
    return true;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Puts a node above the top. */
static void raise_top(struct agenda_pool *pool, struct agenda *agenda)
{
    int64_t inside_ms = slot_begins(node_at(pool, agenda->top), 0);
    uint32_t level = node_at(pool, agenda->top)->level + 1;

    CHECK(level <= LEVEL_MAX && pool->nodes.kept > 0);
    pool->nodes.kept--;
    uint32_t entry = new_node(pool, agenda, inside_ms, level);
    struct agenda_node *node = node_at(pool, entry);
    node->slots[digit(inside_ms, level)] = agenda->top;
    node->occupied = UINT64_C(1) << digit(inside_ms, level);
    agenda->top = entry;
}

/* Adds a record to the bucket that its deadline belongs to, under a node that has its prefix. */
static void add_under(struct agenda_pool *pool, struct agenda *agenda, uint32_t index,
                      int64_t deadline_ms)
{
    uint32_t entry = agenda->top;
    struct agenda_node *node = node_at(pool, entry);
    unsigned slot = digit(deadline_ms, node->level);

    while (is_node(node->slots[slot])) {
        entry = node->slots[slot];
        node = node_at(pool, entry);
        slot = digit(deadline_ms, node->level);
    }
    bucket_add(pool, node, slot, index);
    if (node->level == 0) {
        agenda->last = (entry & ~NODE_BIT) + 1;
    } else if (node->sizes[slot] > AGENDA_BUCKET_MAX) {
        split_slot(pool, agenda, node, slot);
    }
}

/* Does a time come no earlier than all that the first node can have? What is added through the
 * other hint does: that node was there when the first one was found, or was made here. */
static bool is_behind_first(const struct agenda_pool *pool, const struct agenda *agenda,
                            int64_t time_ms)
{
    const struct agenda_node *node = hinted(pool, agenda, agenda->first);

    return node != NULL && time_ms >= slot_begins(node, 0);
}

void agenda_add(struct agenda_pool *pool, struct agenda *agenda, uint32_t index,
                int64_t deadline_ms)
{
    struct timer *timer = timer_at(pool, index);

    CHECK(timer->deadline_ms == 0 && deadline_ms > 0 && deadline_ms < AGENDA_TIME_MAX);
    timer->deadline_ms = deadline_ms;
    struct agenda_node *node = hinted_last(pool, agenda, deadline_ms);
    if (node != NULL) {
        agenda->count++;
        timer_chain_append(pool->records, pool->offset, &node->slots[digit(deadline_ms, 0)], index);
        node->occupied |= UINT64_C(1) << digit(deadline_ms, 0);
        return;
    }
    if (agenda->count++ == 0) {
        agenda->top = NONE;
    }
    if (agenda->first != 0 && !is_behind_first(pool, agenda, deadline_ms)) {
        agenda->first = 0;
    }
    if (!is_node(agenda->top)) {
        timer_chain_append(pool->records, pool->offset, &agenda->top, index);
        if (agenda->count > AGENDA_BUCKET_MAX) {
            split_top(pool, agenda);
        }
        return;
    }
    while (!covers(node_at(pool, agenda->top), deadline_ms)) {
        raise_top(pool, agenda);
    }
    add_under(pool, agenda, index, deadline_ms);
}

/* ---- removing -------------------------------------------------------------------------------- */

/* The nodes from the top to a bucket, so that those that become empty can be given back. */
struct path {
    uint32_t entries[LEVELS];
    unsigned depth;
    unsigned slot; /* of the last one */
};

/* The path to the bucket of a time; the top is a node. */
static struct path path_to(const struct agenda_pool *pool, const struct agenda *agenda,
                           int64_t time_ms)
{
    struct path path = {.entries = {agenda->top}};

    for (;;) {
        const struct agenda_node *node = node_at(pool, path.entries[path.depth]);
        path.slot = digit(time_ms, node->level);
        if (!is_node(node->slots[path.slot])) {
            return path;
        }
        path.entries[++path.depth] = node->slots[path.slot];
    }
}

/* Gives a top back that tells nothing apart because all stands under one node below. */
static void lower_top(struct agenda_pool *pool, struct agenda *agenda)
{
    for (;;) {
        const struct agenda_node *node = node_at(pool, agenda->top);
        uint32_t only = node->slots[__builtin_ctzll(node->occupied)];
        if ((node->occupied & (node->occupied - 1)) != 0 || !is_node(only)) {
            return;
        }
        pool->nodes.kept++; /* before the node is given back, and maybe freed with its block */
        give_node(pool, agenda->top);
        agenda->top = only;
    }
}

/* Gives back the nodes of a path, from its end on, that have nothing left. */
static void prune(struct agenda_pool *pool, struct agenda *agenda, const struct path *path)
{
    for (unsigned depth = path->depth;; depth--) {
        struct agenda_node *node = node_at(pool, path->entries[depth]);
        if (node->occupied != 0) {
            lower_top(pool, agenda);
            return;
        }
        uint32_t level = node->level;
        int64_t inside_ms = slot_begins(node, 0);
        give_node(pool, path->entries[depth]);
        if (depth == 0) {
            CHECK(pool->nodes.kept >= nodes_above(level));
            pool->nodes.kept -= nodes_above(level);
            agenda->top = NONE;
            return;
        }
        struct agenda_node *parent = node_at(pool, path->entries[depth - 1]);
        unsigned slot = digit(inside_ms, parent->level);
        parent->slots[slot] = NONE;
        parent->occupied &= ~(UINT64_C(1) << slot);
    }
}

static void bucket_remove(struct agenda_pool *pool, struct agenda *agenda, const struct path *path,
                          uint32_t index)
{
    struct agenda_node *node = node_at(pool, path->entries[path->depth]);
    unsigned slot = path->slot;

    timer_chain_remove(pool->records, pool->offset, &node->slots[slot], index);
    if (node->slots[slot] == NONE) {
        node->sizes[slot] = 0;
        node->occupied &= ~(UINT64_C(1) << slot);
        prune(pool, agenda, path);
    } else if (node->level > 0 && node->sizes[slot] < MANY) {
        node->sizes[slot]--;
    }
}

/* Takes a record out of a node of level 0 that keeps others in the same slot. */
static bool remove_quickly(struct agenda_pool *pool, struct agenda_node *node, uint32_t index,
                           int64_t deadline_ms)
{
    if (node == NULL || timer_at(pool, index)->next == index) {
        return false;
    }
    timer_chain_remove(pool->records, pool->offset, &node->slots[digit(deadline_ms, 0)], index);
    return true;
}

static void disarm(struct agenda_pool *pool, struct agenda *agenda, uint32_t index)
{
    timer_at(pool, index)->deadline_ms = 0;
    agenda->count--;
}

void agenda_remove(struct agenda_pool *pool, struct agenda *agenda, uint32_t index)
{
    int64_t deadline_ms = timer_at(pool, index)->deadline_ms;

    CHECK(deadline_ms != 0 && agenda->count > 0);
    if (remove_quickly(pool, hinted_last(pool, agenda, deadline_ms), index, deadline_ms)) {
        disarm(pool, agenda, index);
        return;
    }
    if (is_node(agenda->top)) {
        struct path path = path_to(pool, agenda, deadline_ms);
        bucket_remove(pool, agenda, &path, index);
    } else {
        timer_chain_remove(pool->records, pool->offset, &agenda->top, index);
    }
    disarm(pool, agenda, index);
}

/* ---- the earliest ---------------------------------------------------------------------------- */

/* The first of the earliest in a bucket. */
static uint32_t bucket_first(const struct agenda_pool *pool, uint32_t head)
{
    uint32_t first = head;

    for (uint32_t at = timer_at(pool, head)->next; at != head; at = timer_at(pool, at)->next) {
        if (timer_at(pool, at)->deadline_ms < timer_at(pool, first)->deadline_ms) {
            first = at;
        }
    }
    return first;
}

static bool is_alone(const struct agenda_pool *pool, uint32_t head)
{
    return timer_at(pool, head)->next == head;
}

/* The record is armed for at most now_ms: takes it out. */
static uint32_t take_if_due(struct agenda_pool *pool, struct agenda *agenda,
                            const struct path *path, uint32_t index, int64_t now_ms,
                            int64_t *deadline_ms)
{
    if (timer_at(pool, index)->deadline_ms > now_ms) {
        return NONE;
    }
    *deadline_ms = timer_at(pool, index)->deadline_ms;
    if (path != NULL) {
        bucket_remove(pool, agenda, path, index);
    } else {
        timer_chain_remove(pool->records, pool->offset, &agenda->top, index);
    }
    disarm(pool, agenda, index);
    return index;
}

/* The first of a bucket of level 0 that has the earliest timers and keeps others; or NONE. */
static uint32_t pop_quickly(struct agenda_pool *pool, struct agenda *agenda, int64_t now_ms,
                            int64_t *deadline_ms)
{
    struct agenda_node *node = hinted(pool, agenda, agenda->first);

    if (node == NULL) {
        return NONE;
    }
    unsigned slot = (unsigned)__builtin_ctzll(node->occupied);
    uint32_t index = node->slots[slot];
    if (slot_begins(node, slot) > now_ms || is_alone(pool, index)) {
        return NONE;
    }
    *deadline_ms = timer_at(pool, index)->deadline_ms;
    timer_chain_remove(pool->records, pool->offset, &node->slots[slot], index);
    disarm(pool, agenda, index);
    return index;
}

uint32_t agenda_pop(struct agenda_pool *pool, struct agenda *agenda, int64_t now_ms,
                    int64_t *deadline_ms)
{
    if (agenda->count == 0) {
        return NONE;
    }
    if (!is_node(agenda->top)) {
        return take_if_due(pool, agenda, NULL, bucket_first(pool, agenda->top), now_ms,
                           deadline_ms);
    }
    uint32_t index = pop_quickly(pool, agenda, now_ms, deadline_ms);
    if (index != NONE) {
        return index;
    }
    struct path path = {.entries = {agenda->top}};
    for (;;) {
        struct agenda_node *node = node_at(pool, path.entries[path.depth]);
        path.slot = (unsigned)__builtin_ctzll(node->occupied);
        if (slot_begins(node, path.slot) > now_ms) {
            return NONE;
        }
        uint32_t entry = node->slots[path.slot];
        if (!is_node(entry)) {
            if (node->level == 0) {
                agenda->first = (path.entries[path.depth] & ~NODE_BIT) + 1;
            }
            if (node->level == 0 || is_alone(pool, entry)) {
                return take_if_due(pool, agenda, &path, entry, now_ms, deadline_ms);
            }
            if (!split_slot(pool, agenda, node, path.slot)) {
                return take_if_due(pool, agenda, &path, bucket_first(pool, entry), now_ms,
                                   deadline_ms);
            }
            entry = node->slots[path.slot];
        }
        path.entries[++path.depth] = entry;
    }
}

int64_t agenda_next(const struct agenda_pool *pool, const struct agenda *agenda)
{
    uint32_t entry = agenda->top, level = LEVEL_MAX;

    if (agenda->count == 0) {
        return AGENDA_NEVER;
    }
    while (is_node(entry)) {
        const struct agenda_node *node = node_at(pool, entry);
        entry = node->slots[__builtin_ctzll(node->occupied)];
        level = node->level;
    }
    /* All of a bucket of the lowest level have the same deadline. */
    return timer_at(pool, level == 0 ? entry : bucket_first(pool, entry))->deadline_ms;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Records by place, in a tree of bitmaps. */
#include "core/roster.h"

#include "base/check.h"

#define FAN_BITS 6
#define FAN (1U << FAN_BITS)
#define LEAF_BITS_FIRST 1 /* of the first leaf, which grows with its records */

struct roster_leaf {
    uint64_t used;
    uint32_t records[];
};

struct branch {
    uint64_t used; /* children that are there */
    uint64_t full; /* children without a free place */
    void *children[FAN];
};

static size_t leaf_size(unsigned bits)
{
    return sizeof(struct roster_leaf) + (sizeof(uint32_t) << bits);
}

static uint64_t bit(unsigned i)
{
    return UINT64_C(1) << i;
}

/* How many places a subtree of whole leaves has. */
static uint64_t places(unsigned height)
{
    return UINT64_C(1) << (FAN_BITS * height);
}

static uint64_t capacity(const struct roster *roster)
{
    return roster->height == 0   ? 0
           : roster->height == 1 ? bit(roster->leaf_bits)
                                 : places(roster->height);
}

/* Which child of a branch at this height has the place. */
static unsigned child_of(unsigned height, uint64_t place)
{
    return (unsigned)(place >> (FAN_BITS * (height - 1))) & (FAN - 1);
}

static bool is_full(const void *node, unsigned height)
{
    return height == 1 ? ~((const struct roster_leaf *)node)->used == 0
                       : ~((const struct branch *)node)->full == 0;
}

static bool is_empty(const void *node, unsigned height)
{
    return height == 1 ? ((const struct roster_leaf *)node)->used == 0
                       : ((const struct branch *)node)->used == 0;
}

static size_t node_size(unsigned height)
{
    return height == 1 ? leaf_size(FAN_BITS) : sizeof(struct branch);
}

/* The leaf that has the place; NULL if there is none. */
static struct roster_leaf *leaf_at(const struct roster *roster, uint64_t place)
{
    void *node = roster->root;

    if (place >= capacity(roster)) {
        return NULL;
    }
    for (unsigned height = roster->height; height > 1 && node != NULL; height--) {
        node = ((struct branch *)node)->children[child_of(height, place)];
    }
    return node;
}

/* ---- growing --------------------------------------------------------------------------------- */

/* The first leaf, or one with twice the room. */
static bool grow_leaf(struct roster *roster, struct memory *memory)
{
    unsigned bits = roster->height == 0 ? LEAF_BITS_FIRST : roster->leaf_bits + 1U;
    size_t before = roster->height == 0 ? 0 : leaf_size(roster->leaf_bits);
    struct roster_leaf *leaf = memory_resize(memory, roster->root, before, leaf_size(bits));

    if (leaf == NULL) {
        return false;
    }
    if (roster->height == 0) {
        leaf->used = 0;
    }
    roster->root = leaf;
    roster->height = 1;
    roster->leaf_bits = (uint8_t)bits;
    return true;
}

static bool grow(struct roster *roster, struct memory *memory)
{
    if (roster->height == 0 || (roster->height == 1 && roster->leaf_bits < FAN_BITS)) {
        return grow_leaf(roster, memory);
    }
    struct branch *branch = memory_zeroed(memory, sizeof *branch);
    if (branch == NULL) {
        return false;
    }
    branch->used = 1;
    branch->full = is_full(roster->root, roster->height);
    branch->children[0] = roster->root;
    roster->root = branch;
    roster->height++;
    return true;
}

/* ---- coming and going ------------------------------------------------------------------------ */

static bool put_below(void **node, unsigned height, struct memory *memory, uint64_t place,
                      uint32_t index)
{
    if (*node == NULL && (*node = memory_zeroed(memory, node_size(height))) == NULL) {
        return false;
    }
    unsigned child = child_of(height, place);
    if (height == 1) {
        struct roster_leaf *leaf = *node;
        if (leaf->used & bit(child)) {
            return false;
        }
        leaf->used |= bit(child);
        leaf->records[child] = index;
        return true;
    }
    struct branch *branch = *node;
    bool put = put_below(&branch->children[child], height - 1, memory, place, index);
    if (branch->children[child] != NULL) {
        branch->used |= bit(child);
        branch->full |= is_full(branch->children[child], height - 1) ? bit(child) : 0;
    }
    return put;
}

/* Frees a node that nobody is in any more. */
static void prune(void **node, unsigned height, struct memory *memory)
{
    if (*node != NULL && is_empty(*node, height)) {
        memory_free(memory, *node, node_size(height));
        *node = NULL;
    }
}

/* Takes what stands at a place away, and every node of its way that is empty then. */
static void remove_below(void **node, unsigned height, struct memory *memory, uint64_t place)
{
    unsigned child = child_of(height, place);

    CHECK(*node != NULL);
    if (height == 1) {
        ((struct roster_leaf *)*node)->used &= ~bit(child);
    } else {
        struct branch *branch = *node;
        if (branch->children[child] != NULL) {
            remove_below(&branch->children[child], height - 1, memory, place);
        }
        branch->full &= ~bit(child);
        branch->used &= branch->children[child] != NULL ? ~UINT64_C(0) : ~bit(child);
    }
    prune(node, height, memory);
}

/* Nobody there: all of it is free. Only the first part in use: the tree is lower. */
static void shrink(struct roster *roster, struct memory *memory)
{
    while (roster->height > 1 && roster->root != NULL) {
        struct branch *branch = roster->root;
        if (branch->used != 1) {
            return;
        }
        roster->root = branch->children[0];
        memory_free(memory, branch, sizeof *branch);
        roster->height--;
        roster->leaf_bits = FAN_BITS;
    }
    if (roster->root == NULL) {
        *roster = (struct roster){.root = NULL};
    }
}

bool roster_put(struct roster *roster, struct memory *memory, uint32_t place, uint32_t index)
{
    roster->open = NULL; /* what was found may be full then, or moved as it grows */
    while (place >= capacity(roster)) {
        if (!grow(roster, memory)) {
            return false;
        }
    }
    if (!put_below(&roster->root, roster->height, memory, place, index)) {
        return false;
    }
    roster->count++;
    return true;
}

static uint64_t lowest_free(const struct roster *roster)
{
    const void *node = roster->root;
    uint64_t place = 0;

    for (unsigned height = roster->height; height > 1 && node != NULL; height--) {
        const struct branch *branch = node;
        unsigned child = (unsigned)__builtin_ctzll(~branch->full);
        place += child * places(height - 1);
        node = branch->children[child];
    }
    return node == NULL
               ? place
               : place + (unsigned)__builtin_ctzll(~((const struct roster_leaf *)node)->used);
}

/* The lowest free place is in this leaf, of 64 places: it is found there until the leaf is full. */
static void note_open(struct roster *roster, struct roster_leaf *leaf, uint64_t place)
{
    bool whole = roster->height > 1 || roster->leaf_bits == FAN_BITS;

    roster->open = whole ? leaf : NULL;
    roster->open_place = (uint32_t)place & ~(FAN - 1);
}

static uint32_t add_slowly(struct roster *roster, struct memory *memory, uint32_t index)
{
    roster->open = NULL;
    if (roster->count == capacity(roster) && !grow(roster, memory)) {
        return NONE;
    }
    uint64_t place = lowest_free(roster);
    CHECK(place < RECORDS_MAX);
    struct roster_leaf *leaf = leaf_at(roster, place);
    uint64_t used = leaf != NULL ? leaf->used | bit(child_of(1, place)) : ~UINT64_C(0);
    if (~used != 0) { /* nothing above the leaf changes */
        leaf->used = used;
        leaf->records[child_of(1, place)] = index;
        roster->count++;
        note_open(roster, leaf, place);
        return (uint32_t)place;
    }
    if (!roster_put(roster, memory, (uint32_t)place, index)) {
        if (roster->height > 1) { /* nodes that were made on the way */
            remove_below(&roster->root, roster->height, memory, place);
            shrink(roster, memory);
        }
        return NONE;
    }
    return (uint32_t)place;
}

uint32_t roster_add(struct roster *roster, struct memory *memory, uint32_t index)
{
    struct roster_leaf *leaf = roster->open;
    uint64_t used = leaf != NULL ? leaf->used | (leaf->used + 1) : ~UINT64_C(0);

    if (~used == 0) {
        return add_slowly(roster, memory, index);
    }
    unsigned child = (unsigned)__builtin_ctzll(~leaf->used);
    leaf->used = used;
    leaf->records[child] = index;
    roster->count++;
    return roster->open_place + child;
}

void roster_remove(struct roster *roster, struct memory *memory, uint32_t place)
{
    struct roster_leaf *in = leaf_at(roster, place);
    uint64_t left = in != NULL ? in->used & ~bit(child_of(1, place)) : 0;

    CHECK(in != NULL && in->used != left);
    roster->count--;
    if (place < roster->open_place) {
        roster->open = NULL; /* a lower place is free */
    }
    if (left != 0 && ~in->used != 0) { /* nothing above the leaf changes */
        in->used = left;
        return;
    }
    roster->open = NULL;
    if (roster->height == 1) {
        struct roster_leaf *leaf = roster->root;
        leaf->used &= ~bit(place);
        if (leaf->used == 0) {
            memory_free(memory, leaf, leaf_size(roster->leaf_bits));
            roster->root = NULL;
        }
    } else {
        remove_below(&roster->root, roster->height, memory, place);
    }
    shrink(roster, memory);
}

/* ---- looking --------------------------------------------------------------------------------- */

uint32_t roster_at(const struct roster *roster, uint32_t place)
{
    const struct roster_leaf *leaf = leaf_at(roster, place);
    unsigned child = child_of(1, place);

    return leaf != NULL && leaf->used & bit(child) ? leaf->records[child] : NONE;
}

/* The first record at or behind a place of a subtree; NONE if there is none. */
static uint32_t next_below(const void *node, unsigned height, uint64_t *place)
{
    unsigned child = (unsigned)(*place >> (FAN_BITS * (height - 1)));
    uint64_t used = height == 1 ? ((const struct roster_leaf *)node)->used
                                : ((const struct branch *)node)->used;

    for (; child < FAN && used >> child != 0; child++) {
        unsigned skip = (unsigned)__builtin_ctzll(used >> child);
        uint64_t start = (child + skip) * places(height - 1);
        uint64_t inside = *place > start ? *place - start : 0;
        child += skip;
        if (height == 1) {
            *place = child;
            return ((const struct roster_leaf *)node)->records[child];
        }
        uint32_t index =
            next_below(((const struct branch *)node)->children[child], height - 1, &inside);
        if (index != NONE) {
            *place = start + inside;
            return index;
        }
    }
    return NONE;
}

uint32_t roster_next(const struct roster *roster, uint32_t *place)
{
    uint64_t at = *place;

    if (at >= capacity(roster)) {
        return NONE;
    }
    uint32_t index = next_below(roster->root, roster->height, &at);
    *place = index != NONE ? (uint32_t)at : *place;
    return index;
}

uint32_t roster_end(const struct roster *roster)
{
    const void *node = roster->root;
    uint64_t place = 0;

    for (unsigned height = roster->height; height > 1; height--) {
        const struct branch *branch = node;
        unsigned child = 63 - (unsigned)__builtin_clzll(branch->used);
        place += child * places(height - 1);
        node = branch->children[child];
    }
    return node == NULL
               ? 0
               : (uint32_t)(place + 64 -
                            (unsigned)__builtin_clzll(((const struct roster_leaf *)node)->used));
}

/* ---- the end --------------------------------------------------------------------------------- */

static void free_below(void *node, unsigned height, struct memory *memory)
{
    for (unsigned i = 0; height > 1 && i < FAN; i++) {
        if (((struct branch *)node)->children[i] != NULL) {
            free_below(((struct branch *)node)->children[i], height - 1, memory);
        }
    }
    memory_free(memory, node, node_size(height));
}

void roster_free(struct roster *roster, struct memory *memory)
{
    if (roster->height == 1) {
        memory_free(memory, roster->root, leaf_size(roster->leaf_bits));
    } else if (roster->height > 1) {
        free_below(roster->root, roster->height, memory);
    }
    *roster = (struct roster){.root = NULL};
}

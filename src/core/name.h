/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids in little room. Up to 16 bytes stand in place, a UUID in canonical text is kept as its 16
 * bytes, anything else on the heap. */
#ifndef CORE_NAME_H
#define CORE_NAME_H

#include "base/memory.h"
#include "holdfast.h"

#define NAME_INLINE 16 /* bytes kept in place */
#define NAME_UUID 17   /* kinds up to NAME_INLINE are the length in place */
#define NAME_FAR 18

struct name {
    union {
        uint64_t words[2];
        uint8_t bytes[NAME_INLINE];
        struct {
            const char *data;
            uint64_t size;
        } far;
    };
    uint8_t kind;
};

_Static_assert(sizeof(struct name) == 24, "a name is three words");

/* Of a text; a far name borrows it. */
struct name name_view(struct hf_bytes text);
/* Of the 16 bytes of a UUID. */
struct name name_uuid(const uint8_t bytes[NAME_INLINE]);

/* Makes a borrowed far name its own. False, and still borrowed, when there is no memory. */
bool name_own(struct memory *memory, struct name *name);
void name_free(struct memory *memory, struct name *name);

static inline bool name_same(const struct name *a, const struct name *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    if (a->kind == NAME_FAR) {
        return a->far.size == b->far.size && memcmp(a->far.data, b->far.data, a->far.size) == 0;
    }
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

/* Writes the text, without a NUL, and returns its length. */
size_t name_write(const struct name *name, char out[HF_ID_MAX]);

/* The same, as a text that stands in `out`. */
static inline struct hf_bytes name_text(const struct name *name, char out[HF_ID_MAX])
{
    size_t size = name_write(name, out);
    return (struct hf_bytes){out, size};
}

/* Both halves of the full product, folded: every input bit reaches every output bit. */
static inline uint64_t name_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t name_far_hash(const uint64_t key[2], const struct name *name);

/* A hash under a secret key, so that nobody can choose ids that collide. */
static inline uint32_t name_hash(const uint64_t key[2], uint32_t scope, const struct name *name)
{
    uint64_t mixed = name->kind == NAME_FAR
                         ? name_far_hash(key, name)
                         : name_fold(name->words[0] ^ key[0], name->words[1] ^ key[1]);
    uint64_t tail = ((uint64_t)scope << 8 | name->kind) ^ key[0];
    return (uint32_t)(name_fold(mixed ^ tail, key[1] | 1) >> 16);
}

#endif

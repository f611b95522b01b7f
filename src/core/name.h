/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids in little room. Up to 16 bytes stand in place, a UUID in canonical text is kept as its 16
 * bytes, anything else on the heap. */
#ifndef CORE_NAME_H
#define CORE_NAME_H

#include "base/memory.h"
#include "base/uuid.h"
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

/* The same in a function. */
struct name name_view_long(struct hf_bytes text);

/* Up to sixteen bytes, and 0 behind them. No call and no loop: ids of this size are everywhere. */
static inline __attribute__((always_inline)) void name_load(uint64_t words[2], const char *data,
                                                            size_t size)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t first, last;

    if (size >= 8) { /* the last eight may overlap the first */
        memcpy(&words[0], data, 8);
        memcpy(&words[1], data + size - 8, 8);
        words[1] = size < 16 ? words[1] >> (8 * (15 - size)) >> 8 : words[1];
        return;
    }
    words[0] = words[1] = 0;
    if (size >= 4) {
        memcpy(&first, data, 4);
        memcpy(&last, data + size - 4, 4);
        words[0] = first | (uint64_t)last << (8 * (size - 4));
    } else if (size > 0) {
        words[0] = (uint8_t)data[0] | (uint64_t)(uint8_t)data[size / 2] << (8 * (size / 2)) |
                   (uint64_t)(uint8_t)data[size - 1] << (8 * (size - 1));
    }
#else
    words[0] = words[1] = 0;
    memcpy(words, data, size);
#endif
}

/* Of a text longer than NAME_INLINE, which a far name borrows. */
static inline __attribute__((always_inline)) void name_read_long(struct name *name,
                                                                 struct hf_bytes text)
{
    if (uuid_read(text.data, text.size, name->bytes)) {
        name->kind = NAME_UUID;
    } else {
        name->kind = NAME_FAR;
        name->far.data = text.data;
        name->far.size = text.size;
    }
}

/* Of a text; a far name borrows it. */
static inline __attribute__((always_inline)) struct name name_view(struct hf_bytes text)
{
    struct name name;

    if (text.size > NAME_INLINE) {
        return name_view_long(text);
    }
    name_load(name.words, text.data, text.size);
    name.kind = (uint8_t)text.size;
    return name;
}

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

/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids in little room. Up to 16 bytes stand in place, a UUID in canonical text is kept as its 16
 * bytes, anything else on the heap. */
#ifndef CORE_NAME_H
#define CORE_NAME_H

#include "base/memory.h"
#include "holdfast.h"

#define NAME_PLACE 16 /* bytes kept in place */
#define NAME_UUID 17  /* kinds up to NAME_PLACE are the length in place */
#define NAME_FAR 18

struct name {
    union {
        uint64_t words[2];
        uint8_t bytes[NAME_PLACE];
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
struct name name_uuid(const uint8_t bytes[NAME_PLACE]);

/* Makes a borrowed far name its own. False, and still borrowed, when there is no memory. */
bool name_own(struct memory *memory, struct name *name);
void name_free(struct memory *memory, struct name *name);

bool name_same(const struct name *a, const struct name *b);

/* Writes the text, without a NUL, and returns its length. */
size_t name_write(const struct name *name, char out[HF_ID_MAX]);

/* A hash under a secret key, so that nobody can choose ids that collide. */
uint32_t name_hash(const uint64_t key[2], uint32_t scope, const struct name *name);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes, owns, compares and writes names in their three forms: inline, UUID, far. */
#include "core/name.h"

#include "base/check.h"

#include <string.h>

struct name name_view_long(struct hf_bytes text)
{
    struct name name;

    name_read_long(&name, text);
    return name;
}

struct name name_uuid(const uint8_t bytes[NAME_INLINE])
{
    struct name name = {.kind = NAME_UUID};

    memcpy(name.bytes, bytes, NAME_INLINE);
    return name;
}

bool name_own(struct memory *memory, struct name *name)
{
    if (name->kind != NAME_FAR) {
        return true;
    }
    char *copy = memory_get(memory, name->far.size);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, name->far.data, name->far.size);
    name->far.data = copy;
    return true;
}

void name_free(struct memory *memory, struct name *name)
{
    if (name->kind == NAME_FAR) {
        memory_free(memory, (char *)(uintptr_t)name->far.data, name->far.size);
    }
    *name = (struct name){.words = {0, 0}};
}

size_t name_write(const struct name *name, char out[HF_ID_MAX])
{
    if (name->kind == NAME_UUID) {
        uuid_write(name->bytes, out);
        return UUID_TEXT;
    }
    if (name->kind == NAME_FAR) {
        CHECK(name->far.size <= HF_ID_MAX);
        memcpy(out, name->far.data, name->far.size);
        return name->far.size;
    }
    memcpy(out, name->bytes, NAME_INLINE);
    return name->kind;
}

uint64_t name_far_hash(const uint64_t key[2], const struct name *name)
{
    uint64_t hash = name->far.size;

    for (uint64_t i = 0; i < name->far.size; i += 16) {
        uint64_t part[2] = {0, 0};
        uint64_t left = name->far.size - i;
        memcpy(part, name->far.data + i, left < 16 ? left : 16);
        hash = name_fold(hash ^ part[0] ^ key[0], part[1] ^ key[1]);
    }
    return hash;
}

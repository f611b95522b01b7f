/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads keys by their form: which parts of a name stand for which arguments. */
#include "redis/script/key_parse.h"

#include "base/check.h"
#include "base/text.h"

#include <string.h>

/* What a part is not: empty, or cut in a wrong place. */
static bool is_part(struct hf_bytes part)
{
    return part.size > 0 && memchr(part.data, '{', part.size) == NULL &&
           memchr(part.data, '}', part.size) == NULL;
}

/* How much of `rest` a part takes: up to the end of the form if nothing but fixed text follows, or
 * up to the first place where that text stands. */
static bool part_size(const char *behind, struct hf_bytes rest, size_t *size)
{
    size_t fixed = strcspn(behind, "$");

    if (behind[fixed] == '\0') {
        *size = rest.size - fixed;
        return rest.size > fixed;
    }
    const char *at = memmem(rest.data, rest.size, behind, fixed);
    *size = at != NULL ? (size_t)(at - rest.data) : 0;
    return at != NULL;
}

bool key_parse(const char *form, struct hf_bytes key, struct hf_bytes parts[KEY_PARTS_MAX])
{
    size_t count = 0;

    while (*form != '\0') {
        if (*form != '$') {
            if (key.size == 0 || *key.data != *form) {
                return false;
            }
            form++;
            key = (struct hf_bytes){key.data + 1, key.size - 1};
            continue;
        }
        form += 1 + strspn(form + 1, "abcdefghijklmnopqrstuvwxyz_");
        struct hf_bytes part = {key.data, 0};
        if (!part_size(form, key, &part.size) || !is_part(part)) {
            return false;
        }
        CHECK(count < KEY_PARTS_MAX);
        parts[count++] = part;
        key = (struct hf_bytes){key.data + part.size, key.size - part.size};
    }
    return key.size == 0;
}

bool key_in_space(const char *name_space, struct hf_bytes *key)
{
    size_t size = strlen(name_space);

    if (key->size <= size || memcmp(key->data, name_space, size) != 0) {
        return false;
    }
    *key = (struct hf_bytes){key->data + size, key->size - size};
    return true;
}

bool key_split_counter(struct hf_bytes name, struct hf_bytes *product, struct hf_bytes *counter)
{
    size_t at = name.size;

    while (at > 0 && name.data[at - 1] != '_') {
        at--;
    }
    if (at < 2 || at == name.size) {
        return false;
    }
    *product = (struct hf_bytes){name.data, at - 1};
    *counter = (struct hf_bytes){name.data + at, name.size - at};
    return true;
}

void key_fill(struct buffer *out, const char *name_space, const char *form,
              const struct hf_bytes parts[KEY_PARTS_MAX])
{
    size_t count = 0;

    buffer_text(out, name_space);
    while (*form != '\0') {
        size_t fixed = strcspn(form, "$");
        buffer_bytes(out, form, fixed);
        form += fixed;
        if (*form == '$') {
            CHECK(count < KEY_PARTS_MAX);
            buffer_bytes(out, parts[count].data, parts[count].size);
            count++;
            form += 1 + strspn(form + 1, "abcdefghijklmnopqrstuvwxyz_");
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids in Crockford's base 32, of random bytes, and the scope that such an id may carry. */
#include "server/http/generated_id.h"

#include "base/uuid.h"

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* Five bits at a time; the last digit has the three that are left. */
static void write_digits(const uint8_t entropy[GENERATED_ID_ENTROPY], char *out)
{
    unsigned bits = 0, have = 0;
    size_t from = 0;

    for (size_t i = 0; i < GENERATED_ID_DIGITS; i++) {
        if (have < 5) {
            bits |= (from < GENERATED_ID_ENTROPY ? (unsigned)entropy[from] : 0U) << have;
            from++;
            have += 8;
        }
        out[i] = digits[bits & 31];
        bits >>= 5;
        have -= 5;
    }
}

size_t generated_id_carrying(const uint8_t entropy[GENERATED_ID_ENTROPY], struct hf_bytes scope,
                             char out[HF_ID_SIZE])
{
    if (GENERATED_ID_DIGITS + 1 + scope.size > HF_ID_MAX) {
        return 0;
    }
    write_digits(entropy, out);
    out[GENERATED_ID_DIGITS] = '.';
    memcpy(out + GENERATED_ID_DIGITS + 1, scope.data, scope.size);
    return GENERATED_ID_DIGITS + 1 + scope.size;
}

size_t generated_id_plain(const uint8_t entropy[GENERATED_ID_ENTROPY], char out[HF_ID_SIZE])
{
    uint8_t bytes[UUID_BYTES];

    _Static_assert(UUID_BYTES == GENERATED_ID_ENTROPY, "a UUID is made of as much");
    memcpy(bytes, entropy, sizeof bytes);
    uuid_from_random(bytes);
    uuid_write(bytes, out);
    return UUID_TEXT;
}

bool generated_id_scope(struct hf_bytes id, struct hf_bytes *scope)
{
    if (id.size <= GENERATED_ID_DIGITS + 1 || id.data[GENERATED_ID_DIGITS] != '.') {
        return false;
    }
    for (size_t i = 0; i < GENERATED_ID_DIGITS; i++) {
        if (id.data[i] == '\0' || strchr(digits, id.data[i]) == NULL) {
            return false;
        }
    }
    *scope =
        (struct hf_bytes){id.data + GENERATED_ID_DIGITS + 1, id.size - GENERATED_ID_DIGITS - 1};
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * SipHash-2-4 as its authors, Aumasson and Bernstein, describe it. */
#include "base/siphash.h"

static uint64_t load(const uint8_t *bytes, size_t size)
{
    uint64_t word = 0;

    for (size_t i = 0; i < size; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void rounds(uint64_t v[4], int count)
{
    while (count-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

uint64_t siphash(const uint8_t key[SIPHASH_KEY], const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint64_t low = load(key, 8), high = load(key + 8, 8);
    uint64_t v[4] = {low ^ UINT64_C(0x736f6d6570736575), high ^ UINT64_C(0x646f72616e646f6d),
                     low ^ UINT64_C(0x6c7967656e657261), high ^ UINT64_C(0x7465646279746573)};
    size_t i = 0;

    for (; i + 8 <= size; i += 8) {
        absorb(v, load(bytes + i, 8));
    }
    absorb(v, load(bytes + i, size - i) | (uint64_t)size << 56);
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

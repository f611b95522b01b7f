/* SPDX-License-Identifier: Apache-2.0
 *
 * Random bytes from the system, fetched in blocks so that a call rarely enters the kernel. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint8_t pool[512];
    size_t left;
};

void random_init(struct random *random);
void random_bytes(struct random *random, void *out, size_t size);

#endif

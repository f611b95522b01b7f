/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of random bytes from the system, refilled when it is used up. */
#include "base/random.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

void random_init(struct random *random)
{
    random->left = 0;
}

static void refill(struct random *random)
{
    size_t got = 0;

    while (got < sizeof random->pool) {
        ssize_t size = getrandom(random->pool + got, sizeof random->pool - got, 0);
        CHECK(size >= 0 || errno == EINTR);
        got += size > 0 ? (size_t)size : 0;
    }
    random->left = sizeof random->pool;
}

void random_bytes(struct random *random, void *out, size_t size)
{
    CHECK(size <= sizeof random->pool);
    if (random->left < size) {
        refill(random);
    }
    random->left -= size;
    memcpy(out, random->pool + random->left, size);
    memset(random->pool + random->left, 0, size); /* a byte is used once and not kept */
}

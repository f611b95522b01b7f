/* SPDX-License-Identifier: Apache-2.0
 *
 * The RESP front: answers do not depend on how the bytes were cut up. The input: see converse(). */
#include "conversation.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* These tell of memory, times and connections. */
    static const char *const figures[] = {"INFO", "CLIENT", "SLOWLOG"};

    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (mentions(data, size, figures[i])) {
            return -1;
        }
    }
    converse(&front_resp, data, size, NULL);
    return 0;
}

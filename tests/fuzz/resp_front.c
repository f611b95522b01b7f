/* SPDX-License-Identifier: Apache-2.0
 *
 * The RESP front: answers do not depend on how the bytes were cut up. The input: see converse().
 * With TRANSACTION in its first byte, what follows the head is sent between a MULTI and an EXEC. */
#include "base/check.h"
#include "conversation.h"
#include "fuzz.h"

#include <stdlib.h>

/* The same input with the two lines around what is sent. */
static void transact(const uint8_t *data, size_t size)
{
    static const char begin[] = "MULTI\r\n", end[] = "\r\nEXEC\r\n";
    uint8_t *text = malloc(size + sizeof begin + sizeof end);
    uint8_t *at = text;

    CHECK(text != NULL);
    memcpy(at, data, CONVERSATION_HEAD);
    at += CONVERSATION_HEAD;
    memcpy(at, begin, sizeof begin - 1);
    at += sizeof begin - 1;
    memcpy(at, data + CONVERSATION_HEAD, size - CONVERSATION_HEAD);
    at += size - CONVERSATION_HEAD;
    memcpy(at, end, sizeof end - 1);
    at += sizeof end - 1;
    converse(&front_resp, text, (size_t)(at - text), NULL);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* These tell of memory, times and connections. */
    static const char *const figures[] = {"INFO", "CLIENT", "SLOWLOG"};

    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (mentions(data, size, figures[i])) {
            return -1;
        }
    }
    if (size >= CONVERSATION_HEAD && data[0] & TRANSACTION) {
        transact(data, size);
    } else {
        converse(&front_resp, data, size, NULL);
    }
    return 0;
}

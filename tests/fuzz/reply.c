/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server answers, as a client reads it. The first byte chooses the command. What is whole
 * stays whole, of a part more is wanted, and nothing is believed. */
#include "base/check.h"
#include "command/reply.h"
#include "fuzz.h"

#include <stdlib.h>

static enum resp_state read_reply(const struct command_spec *spec, const char *data, size_t size,
                                  size_t *used, struct buffer *again)
{
    struct memory memory;
    struct reply reply;
    char *copy = malloc(size + 1); /* of its own, so that reading past it is seen */

    CHECK(copy != NULL);
    memcpy(copy, data, size);
    memory_init(&memory);
    CHECK(reply_init(&reply, &memory));
    enum resp_state state = reply_from_resp(&reply, spec, (struct hf_bytes){copy, size}, used);
    if (state == RESP_DONE) {
        CHECK(*used > 0 && *used <= size);
        if (again != NULL) {
            reply_to_resp(&reply, spec, 2, again);
            reply_to_json(&reply, spec, again);
        }
    } else if (state == RESP_MORE) {
        CHECK(*used > size);
    }
    reply_free(&reply);
    CHECK(memory.used == 0);
    free(copy);
    return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory memory;
    struct buffer again;
    size_t used = 0, part;

    if (size == 0) {
        return 0;
    }
    const struct command_spec *spec = &command_table[*data % COMMAND_COUNT];
    const char *text = (const char *)data + 1;
    size--;
    memory_init(&memory);
    buffer_init(&again, &memory);
    enum resp_state state = read_reply(spec, text, size, &used, &again);
    for (size_t cut = 0; cut < size && cut < 256; cut++) {
        enum resp_state of_part = read_reply(spec, text, cut, &part, NULL);
        if (state == RESP_DONE) {
            CHECK(cut < used ? of_part == RESP_MORE && part <= used : of_part == RESP_DONE);
        } else if (state == RESP_MORE) {
            CHECK(of_part == RESP_MORE);
        }
    }
    part = 0;
    resp_skip((struct hf_bytes){text, size}, &part);
    buffer_free(&again);
    return 0;
}

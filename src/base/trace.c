/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads, checks and writes what names a request and its trace. Whatever comes from outside is
 * either exactly of the form that the standard says, or ignored. */
#include "base/trace.h"

#include "base/text.h"

#define VERSION_END 2
#define ID_AT 3
#define PARENT_AT 36
#define FLAGS_AT 53
#define PARENT_LENGTH (TRACE_PARENT_SIZE - 1)
/* Those that the standard has a meaning for: sampled, and random. */
#define FLAGS_KNOWN 0x03
#define FLAG_SAMPLED 0x01

_Static_assert(FLAGS_AT + 2 == PARENT_LENGTH, "the flags stand last");

/* Small letters only, as the standard says. */
static bool read_hex(const char *text, uint8_t *out, size_t size)
{
    for (size_t i = 0; i < 2 * size; i++) {
        int digit = text[i] >= 'A' && text[i] <= 'F' ? -1 : text_hex_digit(text[i]);
        if (digit < 0) {
            return false;
        }
        out[i / 2] = (uint8_t)(i % 2 == 0 ? digit << 4 : out[i / 2] | digit);
    }
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    uint8_t all = 0;

    for (size_t i = 0; i < size; i++) {
        all |= bytes[i];
    }
    return all == 0;
}

bool trace_read(struct hf_bytes text, struct trace_parent *trace)
{
    struct trace_parent read = {.flags = 0};
    uint8_t version;

    if (text.size < PARENT_LENGTH || !read_hex(text.data, &version, 1) || version == 0xff ||
        (text.size > PARENT_LENGTH && (version == 0 || text.data[PARENT_LENGTH] != '-'))) {
        return false;
    }
    if (text.data[VERSION_END] != '-' || text.data[PARENT_AT - 1] != '-' ||
        text.data[FLAGS_AT - 1] != '-' || !read_hex(text.data + ID_AT, read.id, sizeof read.id) ||
        !read_hex(text.data + PARENT_AT, read.parent, sizeof read.parent) ||
        !read_hex(text.data + FLAGS_AT, &read.flags, 1) || is_zero(read.id, sizeof read.id) ||
        is_zero(read.parent, sizeof read.parent)) {
        return false;
    }
    read.flags &= FLAGS_KNOWN;
    *trace = read;
    return true;
}

/* key=value: a key begins with a small letter or a digit; a value has neither comma nor equals
 * sign, which the caller has seen to. */
static bool is_member(struct hf_bytes member)
{
    const char *equals = memchr(member.data, '=', member.size);
    size_t size = equals != NULL ? (size_t)(equals - member.data) : 0;

    for (size_t i = 0; i < size; i++) {
        char c = member.data[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!word && (i == 0 || strchr("_-*/@", c) == NULL)) {
            return false;
        }
    }
    return size > 0 && size + 1 < member.size &&
           memchr(equals + 1, '=', member.size - size - 1) == NULL;
}

bool trace_state_is_valid(struct hf_bytes state)
{
    size_t start = 0;

    if (state.size == 0 || state.size > TRACE_STATE_MAX) {
        return false;
    }
    for (size_t i = 0; i <= state.size; i++) {
        if (i < state.size && (state.data[i] < ' ' || state.data[i] > '~')) {
            return false;
        }
        if (i == state.size || state.data[i] == ',') {
            struct hf_bytes member = text_trim((struct hf_bytes){state.data + start, i - start});
            if (member.size > 0 && !is_member(member)) {
                return false;
            }
            start = i + 1;
        }
    }
    return true;
}

bool trace_request_is_valid(struct hf_bytes id)
{
    for (size_t i = 0; i < id.size; i++) {
        if (id.data[i] <= ' ' || id.data[i] > '~') {
            return false;
        }
    }
    return id.size >= 1 && id.size <= TRACE_REQUEST_MAX;
}

void trace_derive(const uint8_t key[SIPHASH_KEY], const void *data, size_t size,
                  struct trace_parent *trace)
{
    uint64_t first = siphash(key, data, size), parts[3];

    for (uint64_t i = 0; i < 3; i++) {
        uint64_t seed[2] = {first, i};
        parts[i] = siphash(key, seed, sizeof seed) | 1; /* no id is all zeros */
    }
    memcpy(trace->id, parts, sizeof trace->id);
    memcpy(trace->parent, &parts[2], sizeof trace->parent);
    trace->flags = FLAG_SAMPLED;
}

static char *write_hex(char *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        *out++ = "0123456789abcdef"[bytes[i] >> 4];
        *out++ = "0123456789abcdef"[bytes[i] & 15];
    }
    return out;
}

void trace_write_id(const struct trace_parent *trace, char out[TRACE_ID_SIZE])
{
    *write_hex(out, trace->id, sizeof trace->id) = '\0';
}

void trace_write(const struct trace_parent *trace, char out[TRACE_PARENT_SIZE])
{
    memcpy(out, "00-", ID_AT);
    *write_hex(out + ID_AT, trace->id, sizeof trace->id) = '-';
    *write_hex(out + PARENT_AT, trace->parent, sizeof trace->parent) = '-';
    *write_hex(out + FLAGS_AT, &trace->flags, 1) = '\0';
}

void trace_continue(const struct trace_parent *trace, struct random *random,
                    char out[TRACE_PARENT_SIZE])
{
    struct trace_parent next = *trace;

    do {
        random_bytes(random, next.parent, sizeof next.parent);
    } while (is_zero(next.parent, sizeof next.parent));
    trace_write(&next, out);
}

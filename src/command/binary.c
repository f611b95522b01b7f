/* SPDX-License-Identifier: Apache-2.0
 *
 * A command to bytes and back, by its row. The format stands in binary.h. */
#include "command/binary.h"

#include "base/uuid.h"

_Static_assert(sizeof((struct binary_scratch *)NULL)->uuids[0] == UUID_TEXT, "room for a UUID");

static void encode_text(struct buffer *out, struct hf_bytes text)
{
    uint8_t uuid[UUID_BYTES];

    if (uuid_read(text.data, text.size, uuid)) {
        buffer_varint(out, 1);
        buffer_bytes(out, uuid, sizeof uuid);
    } else {
        buffer_varint(out, (uint64_t)text.size * 2);
        buffer_bytes(out, text.data, text.size);
    }
}

void command_to_binary(const struct command *command, struct buffer *out)
{
    const struct command_spec *spec = command->spec;

    buffer_byte(out, BINARY_VERSION);
    buffer_varint(out, spec->number);
    buffer_varint(out, spec->arg_count);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        const void *member = command_arg(command, arg);
        if (arg_is_text(arg)) {
            encode_text(out, *(const struct hf_bytes *)member);
        } else if (arg->type == ARG_FLAG) {
            buffer_byte(out, *(const bool *)member);
        } else {
            buffer_signed(out, *(const int64_t *)member);
        }
    }
    if (spec->flags & COMMAND_RANDOM) {
        buffer_bytes(out, command->entropy, sizeof command->entropy);
    }
}

static struct hf_bytes decode_text(struct reader *reader, char *scratch)
{
    uint64_t head = reader_varint(reader);

    if (head == 1) {
        const uint8_t *uuid = reader_bytes(reader, UUID_BYTES);
        if (uuid == NULL) {
            return (struct hf_bytes){NULL, 0};
        }
        uuid_write(uuid, scratch);
        return (struct hf_bytes){scratch, UUID_TEXT};
    }
    if (head % 2 == 1) {
        reader->failed = true;
        return (struct hf_bytes){NULL, 0};
    }
    const uint8_t *bytes = reader_bytes(reader, head / 2);
    return (struct hf_bytes){(const char *)bytes, bytes ? head / 2 : 0};
}

static void decode_arg(struct reader *reader, const struct arg_spec *arg, void *member,
                       char *scratch)
{
    if (arg_is_text(arg)) {
        *(struct hf_bytes *)member = decode_text(reader, scratch);
    } else if (arg->type == ARG_FLAG) {
        uint8_t flag = reader_byte(reader);
        *(bool *)member = flag == 1;
        reader->failed |= flag > 1;
    } else {
        *(int64_t *)member = reader_signed(reader);
    }
}

enum hf_error command_from_binary(struct command *command, struct hf_bytes data,
                                  struct binary_scratch *scratch, struct problem *problem)
{
    struct reader reader;
    union command_args args = {0};

    reader_init(&reader, data.data, data.size);
    uint8_t version = reader_byte(&reader);
    const struct command_spec *spec = command_by_number(reader_varint(&reader));
    uint64_t count = reader_varint(&reader);
    if (version != BINARY_VERSION || spec == NULL || count > spec->arg_count ||
        count < spec->required) {
        return problem_set(problem, HF_ERR,
                           "not a command of this version: version %u, %llu arguments", version,
                           (unsigned long long)count);
    }
    for (size_t i = 0; i < count; i++) {
        decode_arg(&reader, &spec->args[i], (char *)&args + spec->args[i].offset,
                   scratch->uuids[i]);
    }
    const uint8_t *entropy =
        spec->flags & COMMAND_RANDOM ? reader_bytes(&reader, COMMAND_ENTROPY) : NULL;
    if (reader.failed || reader_left(&reader) != 0) {
        return problem_set(problem, HF_ERR, "malformed record of %s", spec->name);
    }
    enum hf_error code = command_from_own(command, spec, &args, problem);
    if (code == HF_OK && entropy != NULL) {
        memcpy(command->entropy, entropy, COMMAND_ENTROPY);
    }
    return code;
}

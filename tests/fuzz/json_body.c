/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of an HTTP request: JSON or refused, and then a command or refused. The first byte
 * chooses the command. */
#include "base/check.h"
#include "command/binary.h"
#include "fuzz.h"
#include "server/http/json.h"

static void check_command(const struct command *command)
{
    struct memory memory;
    struct buffer bytes;
    struct binary_scratch scratch;
    struct command again;

    /* What is accepted can be written to the journal and read back. */
    memory_init(&memory);
    buffer_init(&bytes, &memory);
    command_to_binary(command, &bytes);
    CHECK(command_from_binary(&again, (struct hf_bytes){bytes.data, bytes.size}, &scratch, NULL) ==
          HF_OK);
    CHECK(again.spec == command->spec);
    buffer_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_fields fields;
    struct problem problem = {.code = HF_OK};
    struct command command;

    if (size == 0) {
        return 0;
    }
    const struct command_spec *spec = &command_table[*data % COMMAND_COUNT];
    struct hf_bytes body = {(const char *)data + 1, size - 1};
    if (json_read(&fields, body, &problem) != HF_OK) {
        CHECK(problem.code != HF_OK && problem.message[0] != '\0');
        return 0;
    }
    CHECK(fields.count <= JSON_FIELDS_MAX);
    if (command_from_fields(&command, spec, fields.count, fields.fields, &problem) == HF_OK) {
        check_command(&command);
    } else {
        CHECK(problem.code != HF_OK);
    }
    json_release(&fields);
    json_is_type(body);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A command out of a line: "SEATS.ZONE gala floor". To be included behind cmocka.h. */
#ifndef COMMAND_FIXTURE_H
#define COMMAND_FIXTURE_H

#include "command/command.h"

/* Its texts are views of the line. Fails where the line is no command. */
static inline struct command command_of(const char *line)
{
    struct hf_bytes words[16];
    struct command command;
    size_t count = 0;

    for (const char *at = line; *at != '\0' && count < 16; count++) {
        size_t size = strcspn(at, " ");
        words[count] = (struct hf_bytes){at, size};
        at += size + (at[size] == ' ');
    }
    assert_int_equal(command_from_words(&command, count, words, NULL), HF_OK);
    return command;
}

#endif

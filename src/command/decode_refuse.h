/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said to a client whose words or fields make no command: the argument, its value and the
 * bound. It is apart from decode.c, so that the path of a valid command carries none of it. */
#ifndef COMMAND_DECODE_REFUSE_H
#define COMMAND_DECODE_REFUSE_H

#include "command/command.h"

/* How the client names the arguments of a command. */
enum naming {
    BY_WORD,  /* "TTL" for a keyword argument, "quantity" for a positional one */
    BY_FIELD, /* as in JSON */
};

const char *decode_label(const struct arg_spec *arg, enum naming naming);

/* How many words the arguments can take: a keyword two, a flag one. */
size_t decode_most_words(const struct command_spec *spec);

/* At most this much of a bad value is repeated in a message, by "%.*s". */
#define DECODE_SHOWN_MAX 48
#define DECODE_SHOWN(bytes) DECODE_SHOWN_MAX, decode_shown((char[DECODE_SHOWN_MAX + 1]){""}, bytes)
/* A NUL byte would end the value for printf(), and have "PING\0" called an unknown PING. */
const char *decode_shown(char out[DECODE_SHOWN_MAX + 1], struct hf_bytes bytes);

/* Each of the rest says what is wrong and returns its code. A number beyond its bounds, a text that
 * is no number, and one that is no id: */
enum hf_error decode_refuse_number(const struct arg_spec *arg, enum naming naming, int64_t number,
                                   struct problem *problem);
enum hf_error decode_refuse_digits(const struct arg_spec *arg, enum naming naming,
                                   struct hf_bytes text, struct problem *problem);
enum hf_error decode_refuse_id(const struct arg_spec *arg, enum naming naming, struct hf_bytes text,
                               struct problem *problem);
/* A name, a keyword and a field that do not exist: */
enum hf_error decode_unknown_command(struct hf_bytes name, struct problem *problem);
enum hf_error decode_unknown_keyword(const struct command_spec *spec, struct hf_bytes word,
                                     struct problem *problem);
enum hf_error decode_unknown_field(const struct command_spec *spec, struct hf_bytes name,
                                   struct problem *problem);
/* Too few or too many words, and required fields that were not given: */
enum hf_error decode_wrong_count(const struct command_spec *spec, size_t count,
                                 struct problem *problem);
enum hf_error decode_missing_fields(const struct command_spec *spec, unsigned given,
                                    struct problem *problem);

#endif

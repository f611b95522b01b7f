/* SPDX-License-Identifier: Apache-2.0
 *
 * How a row of the table is written: the command and the member of its struct, then what is
 * different from the member's name. Only table.c and the rows use these words. */
#ifndef COMMAND_ROW_H
#define COMMAND_ROW_H

#include "command/command.h"

#define AT(command, member) offsetof(struct hf_##command##_args, member)

/* Positional arguments. */
#define ID(command, member, json)                                                                  \
    {                                                                                              \
        .name = #member, .field = json, .type = ARG_ID, .offset = AT(command, member), .min = 1,   \
        .max = HF_ID_MAX                                                                           \
    }
#define BEARER(command, member, json)                                                              \
    {                                                                                              \
        .name = #member, .field = json, .type = ARG_ID, .offset = AT(command, member), .min = 1,   \
        .max = HF_ID_MAX, .bearer = true                                                           \
    }
#define COUNT(command, member, low, high)                                                          \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_COUNT, .offset = AT(command, member),       \
        .min = low, .max = high                                                                    \
    }
#define AMOUNT(command, member, low)                                                               \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_AMOUNT, .offset = AT(command, member),      \
        .min = low, .max = HF_INTEGER_MAX                                                          \
    }
#define DURATION(command, member, label)                                                           \
    {                                                                                              \
        .name = label, .field = label "_seconds", .type = ARG_DURATION,                            \
        .offset = AT(command, member), .min = HF_TTL_MIN_MS, .max = HF_TTL_MAX_MS                  \
    }
#define TEXT(command, member, low, high)                                                           \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_TEXT, .offset = AT(command, member),        \
        .min = low, .max = high                                                                    \
    }
#define CHOICE(command, member, list)                                                              \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_CHOICE, .choices = list,                    \
        .offset = AT(command, member)                                                              \
    }
#define BLOB(command, member, high)                                                                \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_BLOB, .offset = AT(command, member),        \
        .max = high                                                                                \
    }

/* Optional ones, by keyword. */
#define OPTIONAL_ID(command, member, word, label, json)                                            \
    {                                                                                              \
        .name = label, .field = json, .keyword = word, .type = ARG_ID,                             \
        .offset = AT(command, member), .min = 1, .max = HF_ID_MAX                                  \
    }
#define OPTIONAL_BEARER(command, member, word, label, json)                                        \
    {                                                                                              \
        .name = label, .field = json, .keyword = word, .type = ARG_ID,                             \
        .offset = AT(command, member), .min = 1, .max = HF_ID_MAX, .bearer = true                  \
    }
#define OPTIONAL_COUNT(command, member, word, low, high, standard)                                 \
    {                                                                                              \
        .name = "n", .field = #member, .keyword = word, .type = ARG_COUNT,                         \
        .offset = AT(command, member), .min = low, .max = high, .default_value = standard          \
    }
#define OPTIONAL_TEXT(command, member, word, label, high)                                          \
    {                                                                                              \
        .name = label, .field = #member, .keyword = word, .type = ARG_TEXT,                        \
        .offset = AT(command, member), .max = high                                                 \
    }
#define OPTIONAL_SECRET(command, member, word, label, high)                                        \
    {                                                                                              \
        .name = label, .field = #member, .keyword = word, .type = ARG_TEXT,                        \
        .offset = AT(command, member), .max = high, .secret = true                                 \
    }
#define OPTIONAL_TIME(command, member, word)                                                       \
    {                                                                                              \
        .name = "ms", .field = #member, .keyword = word, .type = ARG_COUNT,                        \
        .offset = AT(command, member), .max = HF_INTEGER_MAX                                       \
    }
#define OPTIONAL_AMOUNT(command, member, word)                                                     \
    {                                                                                              \
        .name = "n", .field = #member, .keyword = word, .type = ARG_AMOUNT,                        \
        .offset = AT(command, member), .max = HF_INTEGER_MAX                                       \
    }
#define OPTIONAL_DURATION(command, member, word, json, standard)                                   \
    {                                                                                              \
        .name = "s", .field = json, .keyword = word, .type = ARG_DURATION,                         \
        .offset = AT(command, member), .min = HF_TTL_MIN_MS, .max = HF_TTL_MAX_MS,                 \
        .default_value = standard                                                                  \
    }
#define OPTIONAL_WAIT(command, member, word)                                                       \
    {                                                                                              \
        .name = "ms", .field = "wait_ms", .keyword = word, .type = ARG_WAIT,                       \
        .offset = AT(command, member), .max = HF_TTL_MAX_MS                                        \
    }
#define OPTIONAL_CHOICE(command, member, word, list)                                               \
    {                                                                                              \
        .name = list, .field = #member, .keyword = word, .type = ARG_CHOICE, .choices = list,      \
        .offset = AT(command, member)                                                              \
    }
#define FLAG(command, member, word)                                                                \
    {                                                                                              \
        .name = #member, .field = #member, .keyword = word, .type = ARG_FLAG,                      \
        .offset = AT(command, member), .max = 1                                                    \
    }

/* How a list is asked for a page: behind the cursor that the page before ended with, so many at
 * most. They stand last. */
#define PAGE(command)                                                                              \
    OPTIONAL_TEXT(command, after, "AFTER", "cursor", HF_CURSOR_MAX),                               \
        OPTIONAL_COUNT(command, count, "COUNT", 1, HF_PAGE_MAX, PAGE_DEFAULT)

/* Replies. */
#define NUMBER(type, member)                                                                       \
    {                                                                                              \
        .name = #member, .offset = offsetof(struct hf_##type, member)                              \
    }
#define QUIET_NUMBER(type, member)                                                                 \
    {                                                                                              \
        .name = #member, .quiet = true, .offset = offsetof(struct hf_##type, member)               \
    }
/* A number that may be unknown, which is -1. */
#define GUESS(type, member)                                                                        \
    {                                                                                              \
        .name = #member, .guessed = true, .offset = offsetof(struct hf_##type, member)             \
    }
#define QUIET_GUESS(type, member)                                                                  \
    {                                                                                              \
        .name = #member, .quiet = true, .guessed = true,                                           \
        .offset = offsetof(struct hf_##type, member)                                               \
    }
#define LATE_WORD(type, member)                                                                    \
    {                                                                                              \
        .name = #member, .is_text = true, .quiet = true, .late = true,                             \
        .offset = offsetof(struct hf_##type, member),                                              \
        .size = sizeof(((struct hf_##type *)0)->member)                                            \
    }
#define QUIET_WORD(type, member)                                                                   \
    {                                                                                              \
        .name = #member, .is_text = true, .quiet = true,                                           \
        .offset = offsetof(struct hf_##type, member),                                              \
        .size = sizeof((struct hf_##type *)NULL)->member                                           \
    }
#define WORD(type, member)                                                                         \
    {                                                                                              \
        .name = #member, .is_text = true, .offset = offsetof(struct hf_##type, member),            \
        .size = sizeof((struct hf_##type *)NULL)->member                                           \
    }

#define SECRET_WORD(type, member)                                                                  \
    {                                                                                              \
        .name = #member, .is_text = true, .secret = true,                                          \
        .offset = offsetof(struct hf_##type, member),                                              \
        .size = sizeof((struct hf_##type *)NULL)->member                                           \
    }
#define QUIET_SECRET_WORD(type, member)                                                            \
    {                                                                                              \
        .name = #member, .is_text = true, .quiet = true, .secret = true,                           \
        .offset = offsetof(struct hf_##type, member),                                              \
        .size = sizeof((struct hf_##type *)NULL)->member                                           \
    }

/* What people read. All but BEFORE and .reply_note stand in every row. */
#define EXAMPLE(line) .example = (line)
#define BEFORE(...)                                                                                \
    .before = (const char *const[])                                                                \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define REFUSALS(...)                                                                              \
    .refusals = (const struct refusal[])                                                           \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            HF_OK, NULL                                                                            \
        }                                                                                          \
    }
#define NO_REFUSALS                                                                                \
    .refusals = (const struct refusal[])                                                           \
    {                                                                                              \
        {                                                                                          \
            HF_OK, NULL                                                                            \
        }                                                                                          \
    }
#define MEANINGS(...)                                                                              \
    .meanings = (const char *const[]){__VA_ARGS__},                                                \
    .meaning_count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

#define ARGS(command, positional, ...)                                                             \
    .args = (const struct arg_spec[]){__VA_ARGS__}, .required = (positional),                      \
    .arg_count = sizeof((const struct arg_spec[]){__VA_ARGS__}) / sizeof(struct arg_spec),         \
    .args_size = sizeof(struct hf_##command##_args)
#define ANSWER(form, type, ...)                                                                    \
    .shape = form, .fields = (const struct reply_field[]){__VA_ARGS__},                            \
    .field_count = sizeof((const struct reply_field[]){__VA_ARGS__}) / sizeof(struct reply_field), \
    .reply_size = sizeof(struct hf_##type)
#define HTTP(verb, path) .method = (verb), .route = (path)
#define ALIAS(path, code) .alias = (path), .alias_code = (code)
#define SCRIPT(file, words, ...) .script = (file), .script_args = (words), .keys = {__VA_ARGS__}

#define READS COMMAND_READS
#define WRITES COMMAND_WRITES
#define RANDOM COMMAND_RANDOM
#define WAITS COMMAND_WAITS
#define CLOSES COMMAND_CLOSES
#define GIVES_BACK COMMAND_GIVES_BACK
#define SERVICE COMMAND_SERVICE
#define ADMIN COMMAND_ADMIN

#endif

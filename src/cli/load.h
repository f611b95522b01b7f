/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of values, each line a command, and where its commands go. */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "cli/csv.h"
#include "command/reply.h"

struct load {
    const char *file; /* as messages name it */
    struct hf_bytes text;
    struct csv csv;

    /* From the header: the command that every line is, and the argument of each column. */
    const struct command_spec *spec;
    const struct arg_spec *columns[CSV_FIELDS_MAX];
    size_t column_count;

    uint64_t lines, answered, refused;
    int exit_code;
    bool stopped; /* it makes no sense to send any more */
};

/* The command of the next line, which has been checked before; false at the end. Its texts are
 * valid until the next. */
bool load_next(struct load *load, struct command *command, size_t *line);

/* A line was answered. */
void load_answered(struct load *load, size_t line, const struct reply *reply);

/* The server is gone, or of no more use: says so, and that no answer to this line came. */
void load_broke(struct load *load, size_t line, const char *why);

/* ---- load_send.c ----------------------------------------------------------------------------- */

/* Sends all lines. False, and why, if it could not even begin. */
bool load_to_server(struct load *load, const char *url, struct problem *problem);
bool load_to_engine(struct load *load, const char *url, struct problem *problem);

#endif

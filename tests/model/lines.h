/* SPDX-License-Identifier: Apache-2.0
 *
 * What the drivers of the model test and of the conformance suite read and write.
 *
 * In:  now_ms, then the words of a command, separated by tabs, bytes outside [A-Za-z0-9_.:-]
 *      as %XX.
 * Out: [reply, wakes], one line a command, both as JSON. A refusal is [0,"CODE"], a malformed
 *      request {"error":"ERR"}, a command that waits "WAIT", a list {"items":[…]} with all that its
 *      pages have from the first to the last. wakes has [line, reply] for each
 *      command that waited and is answered now; line counts the commands from 1. */
#ifndef MODEL_LINES_H
#define MODEL_LINES_H

#include "command/command.h"
#include "command/reply.h"

#include <stdio.h>

#define LINE_WORDS_MAX 64

/* The next line of standard input without its end, or NULL. Before it has to wait for more, all
 * that was answered so far is sent. */
char *line_next(void);

/* Splits and decodes a line in place; returns the number of words. */
size_t line_split(char *line, struct hf_bytes *words, size_t max);

void put_text(FILE *out, struct hf_bytes text);
void put_refusal(FILE *out, enum hf_error code);
void put_reply(FILE *out, const struct reply *reply, const struct command_spec *spec);

/* A list on its way from page to page; all zero at first. */
struct walk {
    size_t items;
    bool begun;
    char cursor[HF_CURSOR_SIZE];
};

/* As put_reply(), but for a list that is not at its end: true, and the command asks for the next
 * page. */
bool put_page(FILE *out, struct walk *walk, const struct reply *reply, struct command *command);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of settings: for the files that read and check them, and for the tests that compare the
 * documentation with it. */
#ifndef SERVER_OPTIONS_TABLE_H
#define SERVER_OPTIONS_TABLE_H

#include "base/text.h"
#include "server/options.h"

#define SETTING_LABEL_SIZE 160
/* A text in a message, or its beginning: for "%.*s". */
#define SHOWN(text) (int)((text).size < 64 ? (text).size : 64), (text).data

enum setting_kind {
    KIND_TEXT,     /* char * */
    KIND_CHOICE,   /* char *: one of a few words */
    KIND_FLAG,     /* bool */
    KIND_COUNT,    /* int64_t */
    KIND_SIZE,     /* int64_t bytes: a number, or with k, m, g */
    KIND_DURATION, /* int64_t ms: seconds, or with ms, s, m, h */
    KIND_LEVEL,    /* enum log_level, in the order of the choices */
    KIND_FORMAT,   /* bool: the second of two choices */
    KIND_CONFIG,   /* not kept: the file that has the others */
};

enum setting_source { FLAG = 1, ENVIRONMENT = 2, IN_FILE = 4, ANYWHERE = 7 };

struct setting {
    const char *name;
    enum setting_kind kind;
    const char *value; /* what stands for the value in the help, or the choices: a|b */
    const char *preset;
    int64_t min, max;
    size_t offset;
    const char *help;
    unsigned sources; /* where it may be set: enum setting_source */
};

extern const struct setting setting_table[];
extern const size_t setting_count;

/* NULL if there is none of this name. */
const struct setting *setting_find(struct hf_bytes name);

/* What may have been meant by a name that no setting has; `before` is "--" for a flag. */
const char *setting_hint(struct hf_bytes name, const char *before, char hint[TEXT_HINT_SIZE]);

/* Of server_options.given. */
uint64_t setting_bit(const struct setting *setting);

/* "HOLDFAST_RESP_PORT" */
void setting_variable(const struct setting *setting, char out[SETTING_LABEL_SIZE]);

/* Sets one value, after checking it. `label` says where it comes from: "--resp-port",
 * "holdfast.conf:3: resp-port". */
enum hf_error setting_set(struct server_options *options, const struct setting *setting,
                          const char *label, struct hf_bytes value, struct problem *problem);

/* Replaces a text of the options. */
enum hf_error setting_set_text(char **member, struct hf_bytes value, struct problem *problem);

/* Frees what the value is made of. */
void setting_free(struct server_options *options, const struct setting *setting);

/* ---- parts of options_load() ----------------------------------------------------------------- */

/* Sets what a file says: options_file.c. */
enum hf_error options_read_file(struct server_options *options, const char *path,
                                struct problem *problem);
/* Do all of them fit together? They are all set: options_check.c. */
enum hf_error options_check(struct server_options *options, struct problem *problem);
/* Is the data kept where the engine's URL says, and not by the settings for it? */
bool options_are_elsewhere(const struct server_options *options);

#endif

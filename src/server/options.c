/* SPDX-License-Identifier: Apache-2.0
 *
 * The three sources that settings come from: options_file.c, the environment and flags. What they
 * come to is checked in options_check.c. */
#include "server/options.h"

#include "base/text.h"
#include "server/options_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VARIABLE_PREFIX "HOLDFAST_"

/* ---- flags and environment ------------------------------------------------------------------- */

/* The setting of the flag at argv[*at], and moves on to the next; NULL if it is no flag, or has no
 * value. */
static const struct setting *next_flag(int argc, char **argv, int *at, struct hf_bytes *value,
                                       struct problem *problem)
{
    const char *word = argv[(*at)++];
    char hint[TEXT_HINT_SIZE];

    if (strncmp(word, "--", 2) != 0) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "what is \"%.64s\"? serve takes flags only; `holdfast serve --help` lists them",
                    word);
        return NULL;
    }
    struct hf_bytes name = hf_text(word + 2);
    size_t equals = strcspn(name.data, "=");
    bool attached = equals < name.size;
    *value = hf_text(attached ? word + 2 + equals + 1 : "true");
    name.size = equals;
    const struct setting *setting = setting_find(name);
    if (setting == NULL) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "there is no flag --%.*s%s; `holdfast serve --help` lists them", SHOWN(name),
                    setting_hint(name, "--", hint));
    } else if (!(setting->sources & FLAG)) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "%s is a secret, which the list of processes would show: put it into the file "
                    "of --config or the environment",
                    setting->name);
        return NULL;
    } else if (!attached && setting->kind != KIND_FLAG) {
        if (*at == argc || strncmp(argv[*at], "--", 2) == 0) {
            problem_set(problem, HF_INVALID_ARGUMENT, "--%s needs a value: --%s %s", setting->name,
                        setting->name, setting->value);
            return NULL;
        }
        *value = hf_text(argv[(*at)++]);
    }
    return setting;
}

static enum hf_error read_flags(struct server_options *options, int argc, char **argv,
                                struct problem *problem)
{
    enum hf_error code = HF_OK;

    for (int at = 1; code == HF_OK && at < argc;) {
        struct hf_bytes value;
        char label[SETTING_LABEL_SIZE];
        const struct setting *setting = next_flag(argc, argv, &at, &value, problem);
        if (setting == NULL) {
            return HF_INVALID_ARGUMENT;
        }
        snprintf(label, sizeof label, "--%s", setting->name);
        code = setting_set(options, setting, label, value, problem);
    }
    return code;
}

/* A variable that is empty counts as not there. */
static enum hf_error read_environment(struct server_options *options, struct problem *problem)
{
    enum hf_error code = HF_OK;

    for (size_t i = 0; code == HF_OK && i < setting_count; i++) {
        char name[SETTING_LABEL_SIZE];
        setting_variable(&setting_table[i], name);
        const char *value = setting_table[i].sources & ENVIRONMENT ? getenv(name) : NULL;
        if (value != NULL && *value != '\0') {
            code = setting_set(options, &setting_table[i], name, hf_text(value), problem);
        }
    }
    return code;
}

/* A short name is near to many: then only a single slip counts. */
static bool is_near(const struct text_guess *guess)
{
    return guess->nearest != NULL && guess->distance > 0 &&
           (guess->distance == 1 || guess->given.size >= 8);
}

static void name_stranger(struct hf_bytes name, struct buffer *out)
{
    char spelt[SETTING_LABEL_SIZE], meant[SETTING_LABEL_SIZE];
    struct text_guess guess = {.given = {spelt, name.size - strlen(VARIABLE_PREFIX)}};

    if (guess.given.size >= sizeof spelt) {
        return;
    }
    for (size_t i = 0; i < guess.given.size; i++) { /* as settings are spelt */
        char c = name.data[strlen(VARIABLE_PREFIX) + i];
        spelt[i] = c == '_' ? '-' : c;
    }
    for (size_t i = 0; i < setting_count; i++) {
        if (setting_table[i].sources & ENVIRONMENT) {
            text_guess_try(&guess, setting_table[i].name);
        }
    }
    if (is_near(&guess)) {
        setting_variable(setting_find(hf_text(guess.nearest)), meant);
        buffer_format(out,
                      "holdfast: there is no setting %.*s (did you mean %s?): the variable is "
                      "passed over\n",
                      SHOWN(name), meant);
    }
}

void options_strangers(struct buffer *out)
{
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        if (text_starts_with(*at, VARIABLE_PREFIX)) {
            name_stranger((struct hf_bytes){*at, strcspn(*at, "=")}, out);
        }
    }
}

/* The file that has the settings, which must be known before the others are read. */
static enum hf_error find_config(int argc, char **argv, const char **path, struct problem *problem)
{
    const char *variable = getenv("HOLDFAST_CONFIG");

    *path = variable != NULL && *variable != '\0' ? variable : NULL;
    for (int at = 1; at < argc;) {
        struct hf_bytes value;
        const struct setting *setting = next_flag(argc, argv, &at, &value, problem);
        if (setting == NULL) {
            return HF_INVALID_ARGUMENT;
        }
        *path = setting->kind == KIND_CONFIG ? value.data : *path;
    }
    return HF_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Has this setting nothing to say, so that it has no default either? */
static bool is_idle(const struct server_options *options, size_t offset)
{
    return offset == offsetof(struct server_options, dir)
               ? options->memory || options_are_elsewhere(options)
               : offset == offsetof(struct server_options, fsync) && options_are_elsewhere(options);
}

static enum hf_error fill_in(struct server_options *options, struct problem *problem)
{
    enum hf_error code = HF_OK;
    uint64_t given = options->given;

    for (size_t i = 0; code == HF_OK && i < setting_count; i++) {
        const struct setting *setting = &setting_table[i];
        bool wanted = !is_idle(options, setting->offset);
        if (setting->preset != NULL && wanted && !(given & setting_bit(setting))) {
            code = setting_set(options, setting, setting->name, hf_text(setting->preset), problem);
        }
    }
    options->given = given;
    return code;
}

enum hf_error options_load(struct server_options *options, int argc, char **argv,
                           struct problem *problem)
{
    const char *path;

    *options = (struct server_options){.dir = NULL};
    enum hf_error code = find_config(argc, argv, &path, problem);
    if (code == HF_OK && path != NULL) {
        code = options_read_file(options, path, problem);
    }
    code = code == HF_OK ? read_environment(options, problem) : code;
    code = code == HF_OK ? read_flags(options, argc, argv, problem) : code;
    code = code == HF_OK ? fill_in(options, problem) : code;
    code = code == HF_OK ? options_check(options, problem) : code;
    if (code != HF_OK) {
        options_free(options);
    }
    return code;
}

void options_free(struct server_options *options)
{
    for (size_t i = 0; i < setting_count; i++) {
        setting_free(options, &setting_table[i]);
    }
    *options = (struct server_options){.dir = NULL};
}

void options_help(struct buffer *out)
{
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &setting_table[i];
        bool flag = setting->sources & FLAG; /* or else it is a line of the file, or a variable */
        buffer_format(out, "    %s%s%s%s\n        %s", flag ? "--" : "", setting->name,
                      setting->value == NULL ? ""
                      : flag                 ? " "
                                             : " = ",
                      setting->value ? setting->value : "", setting->help);
        if (setting->preset != NULL) {
            buffer_format(out, " (%s)", setting->preset);
        }
        buffer_byte(out, '\n');
    }
}

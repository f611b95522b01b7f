/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings from a file: a line each, name = value, with # for comments. */
#include "base/file.h"
#include "base/text.h"
#include "server/options_table.h"

#include <stdio.h>

#define FILE_SIZE_MAX ((size_t)64 << 10)

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct hf_bytes trim(struct hf_bytes text)
{
    while (text.size > 0 && is_blank(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && is_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* Where `c` stands, or the size of the text. */
static size_t position(struct hf_bytes text, char c)
{
    const char *found = text.size > 0 ? memchr(text.data, c, text.size) : NULL;
    return found ? (size_t)(found - text.data) : text.size;
}

/* The value of a line: as it stands up to a comment, or what is between two double quotes. */
static bool read_value(struct hf_bytes text, struct hf_bytes *value)
{
    *value = trim(text);
    if (value->size > 0 && value->data[0] == '"') {
        struct hf_bytes inside = {value->data + 1, value->size - 1};
        size_t end = position(inside, '"');
        if (end == inside.size) {
            return false;
        }
        struct hf_bytes rest =
            trim((struct hf_bytes){inside.data + end + 1, inside.size - end - 1});
        *value = (struct hf_bytes){inside.data, end};
        return rest.size == 0 || rest.data[0] == '#';
    }
    for (size_t i = 0; i < value->size; i++) {
        if (value->data[i] == '#' && (i == 0 || is_blank(value->data[i - 1]))) {
            *value = trim((struct hf_bytes){value->data, i});
        }
    }
    return position(*value, '"') == value->size;
}

static bool has_control(struct hf_bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c < ' ' && !is_blank(text.data[i])) || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* `where` is "file:line", `seen` the settings of the lines before. */
static enum hf_error parse_line(struct server_options *options, const char *where,
                                struct hf_bytes line, uint64_t *seen, struct problem *problem)
{
    size_t equals = position(line, '=');
    struct hf_bytes key = trim((struct hf_bytes){line.data, equals}), value;
    char label[SETTING_LABEL_SIZE], hint[TEXT_HINT_SIZE];

    if (has_control(line)) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s: a control character", where);
    }
    if (equals == line.size) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: \"%.*s\" is not of the form: name = value", where, SHOWN(line));
    }
    const struct setting *setting = setting_find(key);
    if (setting == NULL || !(setting->sources & IN_FILE)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: %s \"%.*s\"%s; `holdfast serve --help` "
                           "lists the settings",
                           where, setting ? "only a flag can say" : "there is no setting",
                           SHOWN(key), setting ? "" : setting_hint(key, "", hint));
    }
    if (*seen & setting_bit(setting)) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s: %s is set a second time", where,
                           setting->name);
    }
    *seen |= setting_bit(setting);
    if (!read_value((struct hf_bytes){line.data + equals + 1, line.size - equals - 1}, &value)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: the value of %s has a double quote without its other, or something "
                           "after it",
                           where, setting->name);
    }
    snprintf(label, sizeof label, "%s: %s", where, setting->name);
    return setting_set(options, setting, label, value, problem);
}

enum hf_error options_parse_file(struct server_options *options, const char *name,
                                 struct hf_bytes text, struct problem *problem)
{
    enum hf_error code = HF_OK;
    uint64_t seen = 0;

    for (unsigned number = 1; code == HF_OK && text.size > 0; number++) {
        size_t end = position(text, '\n');
        struct hf_bytes line = trim((struct hf_bytes){text.data, end});
        size_t used = end + (end < text.size);
        char where[SETTING_LABEL_SIZE - 32];

        text.data += used;
        text.size -= used;
        if (line.size > 0 && line.data[0] != '#') {
            /* The end of a long path tells more than its beginning. */
            size_t size = strlen(name), most = sizeof where - 16;
            snprintf(where, sizeof where, "%s:%u", size > most ? name + size - most : name, number);
            code = parse_line(options, where, line, &seen, problem);
        }
    }
    return code;
}

enum hf_error options_read_file(struct server_options *options, const char *path,
                                struct problem *problem)
{
    struct memory memory;
    struct buffer text;
    enum hf_error code;

    memory_init(&memory);
    buffer_init(&text, &memory);
    int error = file_read(path, FILE_SIZE_MAX, &text, NULL);
    if (error != 0) {
        code = problem_set(problem, HF_INVALID_ARGUMENT,
                           "the settings in %.128s cannot be read: %s", path, strerror(-error));
    } else {
        code = options_parse_file(options, path, (struct hf_bytes){text.data, text.size}, problem);
    }
    buffer_free(&text);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading what a line of the file of users has behind the secret: scopes=, families=, rate= and
 * burst=. */
#include "server/access.h"

#include "base/text.h"

#include <stdlib.h>

#define SECOND_NS UINT64_C(1000000000)
#define SHOWN_MAX 64 /* bytes of a word that a message shows */

static int shown(struct hf_bytes text)
{
    return (int)(text.size < SHOWN_MAX ? text.size : SHOWN_MAX);
}

/* The part up to the next comma, taken off the list. */
static struct hf_bytes next_part(struct hf_bytes *list)
{
    const char *comma = memchr(list->data, ',', list->size);
    struct hf_bytes part = {list->data, comma ? (size_t)(comma - list->data) : list->size};
    size_t used = part.size + (comma != NULL);

    list->data += used;
    list->size -= used;
    return part;
}

static size_t count_parts(struct hf_bytes list)
{
    size_t count = 1;

    for (size_t i = 0; i < list.size; i++) {
        count += list.data[i] == ',';
    }
    return count;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* One name, or the beginning of names. An empty beginning is all of them: then there is no limit.
 */
static bool read_scope(struct access *access, struct hf_bytes part)
{
    struct access_scope *scope = &access->scopes[access->scope_count++];

    scope->is_prefix = part.size > 0 && part.data[part.size - 1] == '*';
    scope->text = (struct hf_bytes){part.data, part.size - scope->is_prefix};
    if (scope->is_prefix && scope->text.size == 0) {
        access->by_scope = false;
        return true;
    }
    return text_is_id(scope->text) && memchr(scope->text.data, '*', scope->text.size) == NULL;
}

static enum hf_error read_scopes(struct access *access, struct hf_bytes list,
                                 struct problem *problem)
{
    size_t count = count_parts(list);

    if (count > ACCESS_SCOPES_MAX) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "scopes= has %zu names: at most %d", count,
                           ACCESS_SCOPES_MAX);
    }
    access->scopes_text = calloc(1, list.size + 1);
    access->scopes = calloc(count, sizeof *access->scopes);
    if (access->scopes_text == NULL || access->scopes == NULL) {
        return problem_set(problem, HF_BUSY, "no memory for the scopes");
    }
    memcpy(access->scopes_text, list.data, list.size);
    access->by_scope = true;
    for (struct hf_bytes rest = hf_text(access->scopes_text); count > 0; count--) {
        struct hf_bytes part = next_part(&rest);
        if (!read_scope(access, part)) {
            return problem_set(problem, HF_INVALID_ARGUMENT,
                               "\"%.*s\" in scopes= is neither a name nor the beginning of one "
                               "and a *: shop:*,gala",
                               shown(part), part.data);
        }
    }
    return HF_OK;
}

/* ---- families -------------------------------------------------------------------------------- */

static enum hf_error read_families(struct access *access, struct hf_bytes list,
                                   struct problem *problem)
{
    access->by_family = true;
    for (size_t count = count_parts(list); count > 0; count--) {
        struct hf_bytes part = next_part(&list);
        enum family family = family_find(part);
        if (family == FAMILY_NONE) {
#define X(name) #name " "
            return problem_set(
                problem, HF_INVALID_ARGUMENT,
                "\"%.*s\" in families= is none: with commas between them, of " FAMILY_LIST(X),
                shown(part), part.data);
#undef X
        }
        access->families |= 1U << family;
    }
    return HF_OK;
}

/* ---- rate ------------------------------------------------------------------------------------ */

static uint64_t unit_ns(char unit)
{
    return SECOND_NS * (unit == 'h' ? 3600U : unit == 'm' ? 60U : 1U);
}

static bool read_count(struct hf_bytes text, uint64_t *count)
{
    int64_t number;

    if (!text_to_integer(text, &number) || number < 1 || number > ACCESS_RATE_MAX) {
        return false;
    }
    *count = (uint64_t)number;
    return true;
}

static enum hf_error read_rate(struct access *access, struct hf_bytes text, struct problem *problem)
{
    struct hf_bytes number = text;

    access->unit = 's';
    if (text.size > 2 && text.data[text.size - 2] == '/') {
        access->unit = text.data[text.size - 1];
        number.size -= 2;
    }
    if (strchr("smh", access->unit) == NULL || access->unit == '\0' ||
        !read_count(number, &access->rate)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "rate=%.*s is no rate: 1 to %d in a second, a minute or an hour: "
                           "100/s, 100/m, 100/h",
                           shown(text), text.data, ACCESS_RATE_MAX);
    }
    access->by_rate = true;
    return HF_OK;
}

static enum hf_error read_burst(struct access *access, struct hf_bytes text,
                                struct problem *problem)
{
    if (!read_count(text, &access->burst)) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "burst=%.*s is no number of 1 to %d",
                           shown(text), text.data, ACCESS_RATE_MAX);
    }
    return HF_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool has_scopes(const struct access *access)
{
    return access->scopes_text != NULL;
}

static bool has_families(const struct access *access)
{
    return access->by_family;
}

static bool has_rate(const struct access *access)
{
    return access->by_rate;
}

static bool has_burst(const struct access *access)
{
    return access->burst > 0;
}

static const struct {
    const char *name;
    bool (*is_there)(const struct access *access);
    enum hf_error (*read)(struct access *access, struct hf_bytes value, struct problem *problem);
} words[] = {
    {"scopes", has_scopes, read_scopes},
    {"families", has_families, read_families},
    {"rate", has_rate, read_rate},
    {"burst", has_burst, read_burst},
};

bool access_is_word(struct hf_bytes word)
{
    const char *equals = word.size > 0 ? memchr(word.data, '=', word.size) : NULL;

    return equals != NULL && equals > word.data;
}

enum hf_error access_read(struct access *access, struct hf_bytes word, struct problem *problem)
{
    const char *equals = memchr(word.data, '=', word.size);
    struct hf_bytes name = {word.data, equals != NULL ? (size_t)(equals - word.data) : word.size};

    for (size_t i = 0; equals != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (text_equal(name, hf_text(words[i].name))) {
            struct hf_bytes value = {equals + 1, word.size - name.size - 1};
            return words[i].is_there(access) ? problem_set(problem, HF_INVALID_ARGUMENT,
                                                           "%s= is there twice", words[i].name)
                                             : words[i].read(access, value, problem);
        }
    }
    return problem_set(problem, HF_INVALID_ARGUMENT,
                       "\"%.*s\" is none of scopes=, families=, rate= and burst=", shown(name),
                       name.data);
}

enum hf_error access_complete(struct access *access, uint64_t now_ns, struct problem *problem)
{
    if (access->burst > 0 && !access->by_rate) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "burst= makes no sense without rate=");
    }
    if (access->by_rate) {
        uint64_t period_ns = unit_ns(access->unit);
        access->burst = access->burst > 0 ? access->burst : access->rate;
        bucket_init(&access->bucket, access->rate, period_ns, access->burst * period_ns, now_ns);
    }
    return HF_OK;
}

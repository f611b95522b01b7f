/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of header fields: items with a comma between them, parameters with a semicolon, texts in
 * quotes in which neither counts. */
#include "server/http/http_preference.h"

#include "base/text.h"

/* Takes what stands before the next separator that is not in quotes. False at the end. */
static bool next_part(struct hf_bytes *rest, char separator, struct hf_bytes *part)
{
    bool quoted = false;
    size_t i = 0;

    if (rest->data == NULL) {
        return false;
    }
    for (; i < rest->size && (quoted || rest->data[i] != separator); i++) {
        if (quoted && rest->data[i] == '\\' && i + 1 < rest->size) {
            i++;
        } else if (rest->data[i] == '"') {
            quoted = !quoted;
        }
    }
    *part = text_trim((struct hf_bytes){rest->data, i});
    bool more = i < rest->size;
    *rest = (struct hf_bytes){more ? rest->data + i + 1 : NULL, more ? rest->size - i - 1 : 0};
    return true;
}

/* "name=value" or "name"; the value without its quotes, if it has any. */
static void split_pair(struct hf_bytes part, struct hf_bytes *name, struct hf_bytes *value)
{
    const char *equals = part.size > 0 ? memchr(part.data, '=', part.size) : NULL;
    size_t size = equals != NULL ? (size_t)(equals - part.data) : part.size;

    *name = text_trim((struct hf_bytes){part.data, size});
    *value = (struct hf_bytes){NULL, 0};
    if (equals != NULL) {
        *value = text_trim((struct hf_bytes){equals + 1, part.size - size - 1});
    }
    if (value->size >= 2 && value->data[0] == '"' && value->data[value->size - 1] == '"') {
        *value = (struct hf_bytes){value->data + 1, value->size - 2};
    }
}

bool http_prefers_wait(struct hf_bytes prefer, int64_t *seconds)
{
    struct hf_bytes item, pair, name, value;

    while (next_part(&prefer, ',', &item)) {
        if (next_part(&item, ';', &pair)) {
            split_pair(pair, &name, &value);
            if (text_is_word(name, "WAIT") && value.size > 0) {
                return text_to_integer(value, seconds) && *seconds >= 0;
            }
        }
    }
    return false;
}

/* Thousandths of a quality: "0", "0.25", "1.000". What is not of that form is as good as 1. */
static int quality(struct hf_bytes value)
{
    int total = 0, factor = 1000;

    for (size_t i = 0; i < value.size; i++) {
        char c = value.data[i];
        if (i == 1 && c == '.') {
            continue;
        }
        if (c < '0' || c > '9' || i > 4) {
            return 1000;
        }
        total += (c - '0') * factor;
        factor /= 10;
    }
    return value.size > 0 && total <= 1000 ? total : 1000;
}

int http_quality(struct hf_bytes list, const char *name)
{
    struct hf_bytes item, part, key, value;
    int found = 0;

    while (next_part(&list, ',', &item)) {
        int wanted = 1000;
        if (!next_part(&item, ';', &part)) {
            continue;
        }
        bool named = text_is_word(part, name);
        while (next_part(&item, ';', &part)) {
            split_pair(part, &key, &value);
            wanted = text_is_word(key, "Q") ? quality(value) : wanted;
        }
        found = named ? wanted : found;
    }
    return found;
}

bool http_accepts_problem(struct hf_bytes accept)
{
    int problem = http_quality(accept, "APPLICATION/PROBLEM+JSON");

    return problem > 0 && problem >= http_quality(accept, "APPLICATION/JSON");
}

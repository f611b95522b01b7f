/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of things that LIST lists on Redis, and how their names are read from keys. */
#include "redis/script/listed_kind.h"

#include "base/text.h"

static const struct listed_kind listed_kinds[] = {
    {"events", 1, 3, {KEY_SEATS_ZONES, KEY_SEATS_BOOKINGS, KEY_SEATS_DUE}, COMMAND_COUNT},
    {"zones", 1, 1, {KEY_ZONE_TOTALS}, SEATS_ZONE},
    {"tenants", 2, 2, {KEY_QUOTA_LIMIT, KEY_QUOTA_USED}, QUOTA_GET},
    {"semaphores", 2, 2, {KEY_SEM_SLOTS, KEY_SEM_LINE}, SEM_STATS},
    {"locks", 1, 1, {KEY_LOCK}, LOCK_GET},
    {"products", 1, 1, {KEY_STOCK_TOTALS}, STOCK_GET},
    {"rooms", 3, 3, {KEY_QUEUE_ROOM, KEY_QUEUE_DUE, KEY_QUEUE_PASSES}, COMMAND_COUNT},
    {"keys", 1, 1, {KEY_IDEM}, COMMAND_COUNT},
};

const struct listed_kind *listed_kind_named(struct hf_bytes name)
{
    const struct listed_kind *kind = listed_kinds;

    while (!text_equal(name, hf_text(kind->name))) {
        kind++;
    }
    return kind;
}

bool listed_kind_read(const struct listed_kind *kind, const struct script_env *env,
                      struct hf_bytes key, struct found_name *name)
{
    struct hf_bytes parts[KEY_PARTS_MAX] = {{"", 0}, {"", 0}}, counter;

    if (!key_in_space(env->url.name_space, &key)) {
        return false;
    }
    for (unsigned i = 0; i < kind->showing; i++) {
        if (!key_parse(key_form(kind->keys[i], script_env_is_cluster(env)), key, parts)) {
            continue;
        }
        if (kind->totals == STOCK_GET && (!key_split_counter(parts[0], &parts[0], &counter) ||
                                          !text_equal(counter, hf_text("main")))) {
            return false;
        }
        if (!text_is_id(parts[0]) || (parts[1].size > 0 && !text_is_id(parts[1]))) {
            return false;
        }
        name->key = i;
        memcpy(name->text, parts[0].data, parts[0].size);
        name->size = parts[0].size;
        if (parts[1].size > 0) {
            name->text[name->size] = ' '; /* which is in no id */
            memcpy(name->text + name->size + 1, parts[1].data, parts[1].size);
            name->size += 1 + parts[1].size;
        }
        name->parts[0].size = parts[0].size;
        name->parts[1].size = parts[1].size;
        return true;
    }
    return false;
}

void listed_kind_pattern(const struct listed_kind *kind, const struct script_env *env,
                         struct buffer *out)
{
    bool cluster = script_env_is_cluster(env);
    const char *form = key_form(kind->keys[0], cluster);
    size_t size = strcspn(form, "$");

    for (unsigned i = 1; i < kind->showing; i++) {
        const char *other = key_form(kind->keys[i], cluster);
        size_t same = 0;
        while (same < size && form[same] == other[same]) {
            same++;
        }
        size = same;
    }
    for (const char *at = env->url.name_space; *at != '\0'; at++) {
        if (strchr("*?[]^\\", *at) != NULL) {
            buffer_byte(out, '\\');
        }
        buffer_byte(out, (uint8_t)*at);
    }
    buffer_bytes(out, form, size);
    buffer_byte(out, '*');
}

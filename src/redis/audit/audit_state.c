/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the audit share: names and their sums, keys, scans, findings. */
#include "redis/audit/audit_state.h"

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SCAN_COUNT "1000"
#define PAUSE_MS 50
#define TRIES 3

enum hf_error audit_init(struct audit *audit, const struct redis_url *url, struct problem *problem)
{
    struct random random;

    memory_init(&audit->memory);
    random_init(&random);
    random_bytes(&random, audit->hash_key, sizeof audit->hash_key);
    for (enum audit_kind kind = 0; kind < AUDIT_KIND_COUNT; kind++) {
        slab_init(&audit->names[kind].slab, &audit->memory, sizeof(struct audit_name));
        table_init(&audit->names[kind].table, &audit->memory);
    }
    for (size_t i = 0; i < KEYS_AT_A_TIME; i++) {
        buffer_init(&audit->keys[i], &audit->memory);
    }
    buffer_init(&audit->line, &audit->memory);
    return audit_reader_open(&audit->reader, url, problem);
}

void audit_free(struct audit *audit)
{
    audit_reader_close(&audit->reader);
    for (enum audit_kind kind = 0; kind < AUDIT_KIND_COUNT; kind++) {
        EACH_NAMED(audit, kind, i)
        {
            struct audit_name *named = named_at(audit, kind, i);
            memory_free(&audit->memory, named->text, named->size);
        }
        slab_free(&audit->names[kind].slab);
        table_free(&audit->names[kind].table);
    }
    for (size_t i = 0; i < KEYS_AT_A_TIME; i++) {
        buffer_free(&audit->keys[i]);
    }
    buffer_free(&audit->line);
}

void audit_pause(struct audit *audit)
{
    audit_reader_pause(&audit->reader, PAUSE_MS);
}

static void out_of_memory(struct audit *audit)
{
    audit_reader_fail(&audit->reader, HF_BUSY, "not enough memory for the audit");
}

/* ---- names ----------------------------------------------------------------------------------- */

struct audit_wanted {
    const struct audit_names *names;
    uint32_t parent;
    struct hf_bytes text;
};

static bool is_wanted(const void *context, uint32_t index)
{
    const struct audit_wanted *wanted = context;
    const struct audit_name *named = slab_at(&wanted->names->slab, index);

    return named->parent == wanted->parent && text_equal(named_text(named), wanted->text);
}

static uint32_t find_or_add(struct audit *audit, enum audit_kind kind, uint32_t parent,
                            struct hf_bytes text)
{
    struct audit_names *names = &audit->names[kind];
    uint32_t hash = (uint32_t)siphash(audit->hash_key, text.data, text.size) + parent;
    struct audit_wanted wanted = {names, parent, text};
    uint32_t index = table_find(&names->table, hash, is_wanted, &wanted);

    if (index != NONE) {
        return index;
    }
    char *copy = memory_get(&audit->memory, text.size);
    if (copy == NULL || !table_reserve(&names->table, 1) ||
        (index = slab_take(&names->slab)) == NONE) {
        memory_free(&audit->memory, copy, text.size);
        out_of_memory(audit);
        return NONE;
    }
    memcpy(copy, text.data, text.size);
    *(struct audit_name *)slab_at(&names->slab, index) = (struct audit_name){
        .text = copy,
        .size = text.size,
        .hash = hash,
        .parent = parent,
        .children = {NONE, NONE},
        .next = NONE,
    };
    CHECK(table_add(&names->table, hash, index));
    return index;
}

struct audit_name *audit_name(struct audit *audit, enum audit_kind kind, struct hf_bytes text,
                              uint32_t *index)
{
    *index = find_or_add(audit, kind, NONE, text);
    return *index != NONE ? named_at(audit, kind, *index) : NULL;
}

struct audit_name *audit_child(struct audit *audit, enum audit_kind parent_kind, uint32_t parent,
                               unsigned which, enum audit_kind kind, struct hf_bytes text)
{
    uint32_t known = audit->names[kind].slab.count;
    uint32_t index = find_or_add(audit, kind, parent, text);

    if (index == NONE) {
        return NULL;
    }
    struct audit_name *named = named_at(audit, kind, index);
    if (audit->names[kind].slab.count > known) {
        struct audit_name *owner = named_at(audit, parent_kind, parent);
        named->next = owner->children[which];
        owner->children[which] = index;
    }
    return named;
}

/* ---- sets ------------------------------------------------------------------------------------ */

void audit_text_set_init(struct audit_text_set *set, struct audit *audit)
{
    *set = (struct audit_text_set){.audit = audit};
    table_init(&set->table, &audit->memory);
}

void audit_text_set_free(struct audit_text_set *set)
{
    table_free(&set->table);
    memory_free(&set->audit->memory, set->hashes, set->capacity * sizeof *set->hashes);
}

struct wanted_hash {
    const struct audit_text_set *set;
    uint64_t hash;
};

static bool is_wanted_hash(const void *context, uint32_t index)
{
    const struct wanted_hash *wanted = context;
    return wanted->set->hashes[index] == wanted->hash;
}

bool audit_text_set_add(struct audit_text_set *set, struct hf_bytes text)
{
    uint64_t hash = siphash(set->audit->hash_key, text.data, text.size);
    struct wanted_hash wanted = {set, hash};

    if (table_find(&set->table, (uint32_t)hash, is_wanted_hash, &wanted) != NONE) {
        return false;
    }
    if (set->count == set->capacity) {
        uint32_t capacity = set->capacity > 0 ? 2 * set->capacity : 1024;
        uint64_t *hashes = memory_resize(&set->audit->memory, set->hashes,
                                         set->capacity * sizeof *hashes, capacity * sizeof *hashes);
        if (hashes == NULL) {
            out_of_memory(set->audit);
            return true;
        }
        set->hashes = hashes;
        set->capacity = capacity;
    }
    set->hashes[set->count] = hash;
    if (!table_add(&set->table, (uint32_t)hash, set->count)) {
        out_of_memory(set->audit);
        return true;
    }
    set->count++;
    return true;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const char *form_of(const struct audit *audit, enum key_id key)
{
    return key_form(key, audit->reader.url->kind == REDIS_CLUSTER);
}

struct hf_bytes audit_key(struct audit *audit, enum key_id key, struct hf_bytes first,
                          struct hf_bytes second)
{
    struct buffer *text = &audit->keys[audit->next_key++ % KEYS_AT_A_TIME];

    buffer_clear(text);
    key_fill(text, audit->reader.url->name_space, form_of(audit, key),
             (struct hf_bytes[]){first, second});
    if (text->failed) {
        out_of_memory(audit);
        return hf_text("");
    }
    return (struct hf_bytes){text->data, text->size};
}

bool audit_parse_key(const struct audit *audit, struct hf_bytes text, enum key_id *key,
                     struct hf_bytes parts[KEY_PARTS_MAX])
{
    if (!key_in_space(audit->reader.url->name_space, &text)) {
        return false;
    }
    for (*key = KEY_NONE + 1; *key < KEY_COUNT; (*key)++) {
        if (key_parse(form_of(audit, *key), text, parts)) {
            return true;
        }
    }
    return false;
}

/* Keys that begin as this one does: its namespace, and what its form has before the first part. */
static void write_pattern(struct audit *audit, enum key_id key, struct buffer *out)
{
    const char *form = key != KEY_NONE ? form_of(audit, key) : "";

    for (const char *at = audit->reader.url->name_space; *at != '\0'; at++) {
        if (strchr("*?[]^\\", *at) != NULL) {
            buffer_byte(out, '\\');
        }
        buffer_byte(out, (uint8_t)*at);
    }
    buffer_bytes(out, form, strcspn(form, "${"));
    buffer_byte(out, '*');
    if (out->failed) {
        out_of_memory(audit);
    }
}

static void scan_master(struct audit *audit, size_t master, struct hf_bytes pattern,
                        audit_take *take, void *context)
{
    char cursor[24] = "0";

    do {
        AUDIT_ASK(&audit->reader, master, hf_text("SCAN"), hf_text(cursor), hf_text("MATCH"),
                  pattern, hf_text("COUNT"), hf_text(SCAN_COUNT));
        redisReply *reply = audit_reader_answer(&audit->reader, master);
        if (reply == NULL) {
            return;
        }
        if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
            reply->element[0]->len >= sizeof cursor) {
            audit_reader_fail(&audit->reader, HF_ENGINE_DOWN,
                              "redis %s does not let its keys be seen: %s",
                              audit->reader.names[master],
                              reply->type == REDIS_REPLY_ERROR ? reply->str : "a strange answer");
        } else {
            memcpy(cursor, reply->element[0]->str, reply->element[0]->len + 1);
            take(audit, master, reply->element[1], context);
        }
        freeReplyObject(reply);
    } while (audit_goes_on(audit) && strcmp(cursor, "0") != 0);
}

void audit_scan(struct audit *audit, enum key_id key, audit_take *take, void *context)
{
    struct buffer pattern;

    buffer_init(&pattern, &audit->memory);
    write_pattern(audit, key, &pattern);
    for (size_t i = 0; i < audit->reader.count && audit_goes_on(audit); i++) {
        scan_master(audit, i, (struct hf_bytes){pattern.data, pattern.size}, take, context);
    }
    buffer_free(&pattern);
}

void audit_members(struct audit *audit, enum key_id key, struct hf_bytes scope, audit_take *take,
                   void *context)
{
    size_t master = audit_reader_owner(&audit->reader, KEY1(audit, key, scope));

    for (int64_t start = 0; audit_goes_on(audit); start += AUDIT_PAGE) {
        char from[21], to[21];
        struct hf_bytes first = {from, decimal_write(from, start)};
        struct hf_bytes last = {to, decimal_write(to, start + AUDIT_PAGE - 1)};
        AUDIT_ASK(&audit->reader, master, hf_text("ZRANGE"), KEY1(audit, key, scope), first, last);
        redisReply *members = audit_answer(audit, master);
        size_t count = members != NULL ? members->elements : 0;
        if (count > 0) {
            take(audit, master, members, context);
        }
        freeReplyObject(members);
        if (count < AUDIT_PAGE) {
            return;
        }
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

struct hf_bytes audit_reply_text(const redisReply *reply)
{
    return (struct hf_bytes){reply->str, reply->len};
}

bool audit_reply_is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING;
}

bool audit_reply_integer(const redisReply *reply, int64_t otherwise, int64_t *number)
{
    if (reply->type == REDIS_REPLY_INTEGER) {
        *number = reply->integer;
        return true;
    }
    *number = otherwise;
    return reply->type == REDIS_REPLY_NIL ||
           (audit_reply_is_text(reply) && text_to_integer(audit_reply_text(reply), number));
}

bool audit_reply_time(const redisReply *reply, int64_t *ms)
{
    int64_t seconds, micros;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !audit_reply_integer(reply->element[0], 0, &seconds) ||
        !audit_reply_integer(reply->element[1], 0, &micros)) {
        return false;
    }
    *ms = seconds * 1000 + micros / 1000;
    return true;
}

redisReply *audit_answer(struct audit *audit, size_t master)
{
    redisReply *reply = audit_reader_answer(&audit->reader, master);

    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        audit->unread = true;
        freeReplyObject(reply);
        return NULL;
    }
    return reply;
}

bool audit_replies_equal(const redisReply *a, const redisReply *b)
{
    if (a->type != b->type || a->integer != b->integer || a->elements != b->elements ||
        a->len != b->len || (a->len > 0 && memcmp(a->str, b->str, a->len) != 0)) {
        return false;
    }
    for (size_t i = 0; i < a->elements; i++) {
        if (!audit_replies_equal(a->element[i], b->element[i])) {
            return false;
        }
    }
    return true;
}

/* ---- findings -------------------------------------------------------------------------------- */

void audit_finding(struct audit *audit, const char *what, struct hf_bytes name, const char *of,
                   struct hf_bytes scope, const char *format, ...)
{
    char text[512];
    va_list args;

    audit->findings++;
    if (audit->report == NULL) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buffer_clear(&audit->line);
    buffer_format(&audit->line, "%s ", what);
    buffer_bytes(&audit->line, name.data, name.size);
    if (of != NULL) {
        buffer_format(&audit->line, " of %s ", of);
        buffer_bytes(&audit->line, scope.data, scope.size);
    }
    buffer_text(&audit->line, ": ");
    buffer_text(&audit->line, text);
    buffer_byte(&audit->line, '\0');
    audit->report(audit->context, audit->line.failed ? "out of memory" : audit->line.data);
}

void audit_each(struct audit *audit, enum audit_kind kind, const char *what,
                void (*check)(struct audit *audit, uint32_t index))
{
    EACH_NAMED(audit, kind, i)
    {
        audit->unread = false;
        for (unsigned tries = 0; tries < TRIES && audit_goes_on(audit); tries++) {
            if (tries > 0) {
                audit_pause(audit);
                audit_reader_refresh(&audit->reader);
            }
            audit->unread = false;
            check(audit, i);
            if (!audit->unread) {
                break;
            }
        }
        if (audit->unread && audit_goes_on(audit)) {
            struct hf_bytes name = named_text(named_at(audit, kind, i));
            audit_finding(audit, what, name, NULL, name,
                          "cannot be read: one of its keys is not of the kind it should be, or its "
                          "slot is being moved");
        }
    }
}

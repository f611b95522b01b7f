/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys and script each family has, which commands set deadlines, and the table of scopes with
 * their next visits. A scope is forgotten when no hold of it is left; the sweep finds it again. */
#include "redis/worker/worker_scopes.h"

#include "base/check.h"
#include "base/text.h"
#include "redis/script/key_write.h"
#include "redis/script/key_parse.h"

#include <string.h>

/* ---- families -------------------------------------------------------------------------------- */

/* The script that gives back what is due in a scope, and its keys. */
static const struct {
    const char *script;
    enum key_id due; /* the sorted set of deadlines, by which the sweep finds scopes */
    bool counters;   /* a scope's name ends with a counter of the product */
    enum key_id keys[COMMAND_KEYS_MAX + 1];
} families[WORKER_FAMILY_COUNT] = {
    [WORKER_FAMILY_SEATS] = {"reclaim_seats", KEY_SEATS_DUE, false, {KEY_SEATS_DUE}},
    [WORKER_FAMILY_PLAIN_SEATS] = {"reclaim_seats",
                                   KEY_SEATS_DUE_PLAIN,
                                   false,
                                   {KEY_SEATS_DUE_PLAIN}},
    [WORKER_FAMILY_QUOTA] = {"reclaim_quota", KEY_QUOTA_DUE, false, {KEYS_OF_QUOTA}},
    [WORKER_FAMILY_STOCK] = {"reclaim_stock", KEY_STOCK_DUE, true, {KEYS_OF_STOCK}},
    [WORKER_FAMILY_QUEUE] = {"reclaim_queue", KEY_QUEUE_DUE, false, {KEY_QUEUE, KEY_QUEUE_DUE}},
};

/* The family whose deadlines a command's keys include; WORKER_FAMILY_COUNT: none. */
static enum worker_family family_of(const struct command_spec *spec)
{
    for (size_t k = 0; k < COMMAND_KEYS_MAX && spec->keys[k] != KEY_NONE; k++) {
        for (enum worker_family family = 0; family < WORKER_FAMILY_COUNT; family++) {
            if (spec->keys[k] == families[family].due) {
                return family;
            }
        }
    }
    return WORKER_FAMILY_COUNT;
}

static bool is_ttl(const struct arg_spec *arg)
{
    return arg->type == ARG_DURATION &&
           (arg->keyword != NULL ? strcmp(arg->keyword, "TTL") : strcmp(arg->name, "ttl")) == 0;
}

/* Is the id given without which an argument makes no sense? QUOTA.RESERVE has a TTL only with a
 * HOLD. */
static bool is_needed_given(const struct command *command, const struct arg_spec *arg)
{
    const struct command_spec *spec = command->spec;

    for (size_t i = 0; arg->needs != NULL && i < spec->arg_count; i++) {
        const struct arg_spec *other = &spec->args[i];
        if (other->keyword != NULL && strcmp(other->keyword, arg->needs) == 0) {
            const void *member = command_arg(command, other);
            return ((const struct hf_bytes *)member)->size > 0;
        }
    }
    return true;
}

enum worker_family worker_scopes_deadline(const struct command *command, int64_t *in_ms)
{
    const struct command_spec *spec = command->spec;
    enum worker_family family =
        spec->flags & COMMAND_WRITES ? family_of(spec) : WORKER_FAMILY_COUNT;

    if (spec->flags & COMMAND_CLOSES) {
        *in_ms = 0; /* the worker goes on with what one call left */
        return family;
    }
    for (size_t i = 0; family != WORKER_FAMILY_COUNT && i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (is_ttl(arg) && is_needed_given(command, arg)) {
            memcpy(in_ms, command_arg(command, arg), sizeof *in_ms);
            return family;
        }
    }
    return WORKER_FAMILY_COUNT;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Can a scope of this family have that name? */
static bool is_name(enum worker_family family, struct hf_bytes name)
{
    struct hf_bytes product, counter;

    if (!families[family].counters) {
        return text_is_id(name);
    }
    return key_split_counter(name, &product, &counter) && text_is_id(product) &&
           counter.size <= WORKER_SCOPE_COUNTER_MAX;
}

bool worker_scopes_parse(const struct worker_scopes *scopes, struct hf_bytes key,
                         enum worker_family *family, struct hf_bytes *name)
{
    bool cluster = script_env_is_cluster(scopes->env);
    struct hf_bytes parts[KEY_PARTS_MAX];

    if (!key_in_space(scopes->env->url.name_space, &key)) {
        return false;
    }
    for (enum worker_family i = 0; i < WORKER_FAMILY_COUNT; i++) {
        if (key_parse(key_form(families[i].due, cluster), key, parts)) {
            *family = i;
            *name = parts[0];
            return is_name(i, parts[0]);
        }
    }
    return false;
}

static size_t key_count(enum worker_family family)
{
    size_t count = 0;

    while (families[family].keys[count] != KEY_NONE) {
        count++;
    }
    return count;
}

/* The scope of the commands that a visit may meet: what the calls of a product go by is its name
 * alone, without the counter behind it. */
static struct hf_bytes scope_of_commands(const struct worker_scope *scope)
{
    static const char main_counter[] = "_main";
    size_t suffix = sizeof main_counter - 1, size = scope->size;

    if (scope->family == WORKER_FAMILY_STOCK && size > suffix &&
        memcmp(scope->name + size - suffix, main_counter, suffix) == 0) {
        size -= suffix;
    }
    return (struct hf_bytes){scope->name, size};
}

void worker_scopes_write_call(const struct worker_scopes *scopes, const struct worker_scope *scope,
                              struct script_call *call, int64_t limit)
{
    const struct script_env *env = scopes->env;
    bool cluster = script_env_is_cluster(env);
    struct hf_bytes parts[KEY_PARTS_MAX] = {{scope->name, scope->size}};
    struct buffer *text = &scopes->env->scratch;
    size_t count = key_count(scope->family);

    script_call_begin(call, families[scope->family].script, count, 1);
    call->request.scope = scope_of_commands(scope);
    call->request.unordered = true;
    for (size_t i = 0; i < count; i++) {
        buffer_clear(text);
        key_fill(text, env->url.name_space, key_form(families[scope->family].keys[i], cluster),
                 parts);
        if (text->failed) {
            call->bytes.failed = true;
            return;
        }
        struct hf_bytes key = {text->data, text->size};
        call->request.slot = cluster ? redis_slot(key) : -1;
        script_call_text(call, key);
    }
    script_call_number(call, limit);
}

/* ---- the scopes ------------------------------------------------------------------------------ */

void worker_scopes_init(struct worker_scopes *scopes, struct script_env *env)
{
    *scopes = (struct worker_scopes){.env = env};
    random_bytes(&env->random, scopes->hash_key, sizeof scopes->hash_key);
    slab_init(&scopes->slab, &env->memory, (sizeof(struct worker_scope) + 7) / 8 * 8);
    table_init(&scopes->table, &env->memory);
    agenda_pool_init(&scopes->pool, &env->memory, &scopes->slab,
                     offsetof(struct worker_scope, timer));
}

void worker_scopes_free(struct worker_scopes *scopes)
{
    table_free(&scopes->table);
    agenda_pool_free(&scopes->pool);
    slab_free(&scopes->slab);
}

/* What is_wanted() compares a scope with. */
struct worker_scope_name {
    const struct worker_scopes *scopes;
    enum worker_family family;
    struct hf_bytes name;
};

static bool is_wanted(const void *context, uint32_t index)
{
    const struct worker_scope_name *wanted = context;
    const struct worker_scope *scope = worker_scope_at(wanted->scopes, index);

    return scope->family == wanted->family && scope->size == wanted->name.size &&
           memcmp(scope->name, wanted->name.data, scope->size) == 0;
}

/* The scope with this name, added if there are fewer than `max`; NONE if there is no room. */
static uint32_t find_or_add(struct worker_scopes *scopes, enum worker_family family,
                            struct hf_bytes name, uint32_t max)
{
    uint32_t hash = (uint32_t)siphash(scopes->hash_key, name.data, name.size) + family;
    struct worker_scope_name wanted = {scopes, family, name};
    uint32_t index = table_find(&scopes->table, hash, is_wanted, &wanted);

    if (index != NONE || scopes->slab.count >= max || name.size > WORKER_SCOPE_NAME_MAX ||
        !table_reserve(&scopes->table, 1)) {
        return index;
    }
    index = slab_take(&scopes->slab);
    if (index == NONE) {
        return NONE;
    }
    struct worker_scope *scope = worker_scope_at(scopes, index);
    scope->hash = hash;
    scope->family = (uint8_t)family;
    scope->size = (uint8_t)name.size;
    memcpy(scope->name, name.data, name.size);
    CHECK(table_add(&scopes->table, hash, index));
    return index;
}

/* Is a visit in flight? A scope is either visited or waits for its next visit. */
static bool is_visited(const struct worker_scope *scope)
{
    return scope->timer.deadline_ms == 0;
}

/* Moves the visit that a scope waits for to that time, unless it is earlier. */
static void hurry(struct worker_scopes *scopes, uint32_t index, int64_t at_ms)
{
    struct worker_scope *scope = worker_scope_at(scopes, index);

    if (scope->timer.deadline_ms > at_ms) {
        agenda_remove(&scopes->pool, &scopes->agenda, index);
        agenda_add(&scopes->pool, &scopes->agenda, index, at_ms);
    }
}

void worker_scopes_note(struct worker_scopes *scopes, enum worker_family family,
                        struct hf_bytes name, int64_t at_ms)
{
    uint32_t known = scopes->slab.count;
    uint32_t index = find_or_add(scopes, family, name, WORKER_SCOPES_MAX);

    if (index == NONE) {
        return;
    }
    struct worker_scope *scope = worker_scope_at(scopes, index);
    at_ms += worker_scope_delay_ms(scope);
    if (scopes->slab.count > known) {
        agenda_add(&scopes->pool, &scopes->agenda, index, at_ms);
    } else if (!is_visited(scope)) {
        hurry(scopes, index, at_ms);
    } else if (scope->noted_ms == 0 || scope->noted_ms > at_ms) {
        scope->noted_ms = at_ms;
    }
}

void worker_scopes_found(struct worker_scopes *scopes, enum worker_family family,
                         struct hf_bytes name, int64_t now_ms, int64_t soon_ms)
{
    uint32_t known = scopes->slab.count;
    uint32_t index = find_or_add(scopes, family, name, WORKER_SCOPES_MAX + WORKER_SCOPES_FOUND_MAX);

    if (index == NONE) {
        return;
    }
    struct worker_scope *scope = worker_scope_at(scopes, index);
    if (scopes->slab.count > known) {
        agenda_add(&scopes->pool, &scopes->agenda, index, now_ms);
    } else if (!is_visited(scope) && scope->timer.deadline_ms > soon_ms) {
        hurry(scopes, index, now_ms);
    } else {
        return;
    }
    scopes->found += !scope->found;
    scope->found = true;
}

uint32_t worker_scopes_next(struct worker_scopes *scopes, int64_t now_ms)
{
    int64_t at_ms;
    uint32_t index = agenda_pop(&scopes->pool, &scopes->agenda, now_ms, &at_ms);

    if (index != NONE) {
        worker_scope_at(scopes, index)->noted_ms = 0;
    }
    return index;
}

void worker_scopes_visited(struct worker_scopes *scopes, uint32_t index, int64_t now_ms,
                           int64_t at_ms)
{
    struct worker_scope *scope = worker_scope_at(scopes, index);
    bool at_once = at_ms != 0 && at_ms <= now_ms;

    CHECK(is_visited(scope));
    if (!at_once) {
        scopes->found -= scope->found;
        scope->found = false;
    }
    if (scope->noted_ms != 0 && (at_ms == 0 || scope->noted_ms < at_ms)) {
        at_ms = scope->noted_ms;
    }
    if (at_once || (at_ms != 0 && scopes->slab.count <= WORKER_SCOPES_MAX)) {
        agenda_add(&scopes->pool, &scopes->agenda, index, at_ms);
        return;
    }
    table_remove(&scopes->table, scope->hash, index);
    slab_give(&scopes->slab, index);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * LIST as a walk over the keys of all masters, one after the other, with SCAN: each thing that is
 * listed has one key that says that it is there. Then the totals are asked for, one by one, by the
 * family's own command: what is due is not there.
 *
 * A step is shown as a whole: how far one reaches depends on how many keys there are on its way,
 * so the same step taken again need not find the same. One that found more names than a page has
 * room for is taken again with fewer keys.
 *
 * A cursor is "MASTER.SCAN.LAST": which master by the checksum of its name, where its SCAN stands,
 * and, if the least step there is found more names than the page had room for, the hash of the last
 * one shown. The names of a step are shown in the order of their hashes, so that it goes on behind
 * it. */
#include "redis/script/list_scopes.h"

#include "base/check.h"
#include "base/crc32c.h"
#include "base/resp_write.h"
#include "base/siphash.h"
#include "base/text.h"
#include "redis/script/listed_kind.h"
#include "redis/script/script_reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SCAN_COUNT 1000 /* keys that Redis looks at in a step */
#define SCAN_STEPS 10   /* of one page, if they find nothing */
#define SCAN_CURSOR_SIZE 24

struct listing {
    struct pending_command *pending;
    const struct listed_kind *kind;
    struct redis_request request;
    struct buffer bytes;
    struct reply totals;
    struct command ask; /* for the totals of a name */
    unsigned steps;
    bool ended;
    uint32_t master;
    char scan[SCAN_CURSOR_SIZE], next_scan[SCAN_CURSOR_SIZE];
    int64_t scan_count; /* keys to look at in this step */
    uint64_t last;      /* hash of the last name shown of this step, or 0 */
    struct found_name *names;
    size_t count, at;
    int64_t shown;
};

static const struct hf_list_args *args_of(const struct listing *listing)
{
    return &listing->pending->command.args.list;
}

static struct script_env *env_of(const struct listing *listing)
{
    return listing->pending->call.env;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void free_listing(struct listing *listing)
{
    buffer_free(&listing->bytes);
    reply_free(&listing->totals);
    free(listing->names);
    free(listing);
}

static void refuse(struct listing *listing, const struct problem *problem)
{
    struct pending_command *pending = listing->pending;

    free_listing(listing);
    pending_refuse(pending, problem);
}

static void refuse_memory(struct listing *listing)
{
    refuse(listing, &(struct problem){HF_BUSY, "out of memory for the list"});
}

/* The page as it stands, with the cursor for the next. */
static void finish(struct listing *listing)
{
    struct pending_command *pending = listing->pending;
    char cursor[HF_CURSOR_SIZE] = "";

    if (!listing->ended) {
        snprintf(cursor, sizeof cursor, "%08" PRIx32 ".%s.%016" PRIx64, listing->master,
                 listing->scan, listing->last);
    }
    if (!reply_set_cursor(&pending->reply, hf_text(cursor))) {
        refuse_memory(listing);
        return;
    }
    free_listing(listing);
    pending_finish(pending);
}

/* ---- masters --------------------------------------------------------------------------------- */

struct master_choice {
    uint32_t from;
    struct redis_node *node; /* the one with the least number that is not below `from` */
    uint32_t number;
};

static void consider(void *context, struct redis_node *node)
{
    struct master_choice *choice = context;
    const char *name = redis_node_name(node);
    uint32_t number = crc32c(0, name, strlen(name));

    if (number >= choice->from && (choice->node == NULL || number < choice->number)) {
        choice->node = node;
        choice->number = number;
    }
}

static void scan(struct listing *listing);

/* A step is done: on to the next one, of this master or of another. */
static void move_on(struct listing *listing)
{
    struct master_choice choice = {.from = listing->master + 1};

    memcpy(listing->scan, listing->next_scan, sizeof listing->scan);
    listing->last = 0;
    listing->scan_count = SCAN_COUNT;
    if (strcmp(listing->scan, "0") == 0) {
        redis_client_masters(env_of(listing)->client, consider, &choice);
        listing->ended = choice.node == NULL || listing->master == UINT32_MAX;
        listing->master = choice.number;
    }
    if (listing->ended || listing->shown > 0 || listing->steps >= SCAN_STEPS) {
        finish(listing);
    } else {
        scan(listing);
    }
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void show_next(struct listing *listing);

/* Sets a field of the last item. Those that LIST does not have are passed over. */
static bool set_field(struct reply *reply, const char *name, const struct value *value,
                      struct hf_bytes text)
{
    const struct command_spec *spec = &command_table[LIST];

    for (size_t i = 1; i < spec->field_count; i++) {
        size_t at = reply->count - spec->field_count + i;
        if (strcmp(spec->fields[i].name, name) != 0) {
            continue;
        }
        if (value->kind == VALUE_NUMBER) {
            reply->values[at] = *value;
        } else if (value->kind == VALUE_TEXT) {
            if (text.size >= spec->fields[i].size || !reply_reserve(reply, 1, text.size)) {
                return false;
            }
            reply_set_text(reply, at, text);
        }
    }
    return true;
}

/* An item with its name, and nothing else yet. */
static bool begin_item(struct reply *reply, const struct found_name *name)
{
    const struct command_spec *spec = &command_table[LIST];

    if (!reply_reserve(reply, spec->field_count, name->size)) {
        return false;
    }
    reply_text(reply, name->text, name->size);
    for (size_t i = 1; i < spec->field_count; i++) {
        reply_absent(reply);
    }
    return true;
}

/* A field of the totals by its name; 0 if it is missing. */
static int64_t total(const struct listing *listing, const char *name)
{
    const struct command_spec *spec = &command_table[listing->kind->totals];

    for (size_t i = 0; i < listing->totals.count; i++) {
        if (strcmp(spec->fields[i].name, name) == 0) {
            return listing->totals.values[i].number;
        }
    }
    return 0;
}

/* Is there anything, and is it this key that shows it? */
static bool is_there(const struct listing *listing)
{
    unsigned key = listing->names[listing->at].key;

    switch (listing->kind->totals) {
    case QUOTA_GET: /* the limit shows a tenant that has one, else what is used */
        return key == 0 ? total(listing, "limit") > 0
                        : total(listing, "limit") == 0 && total(listing, "used") > 0;
    case SEM_STATS: /* the slots show a semaphore in use, else the line */
        return key == 0 ? total(listing, "in_use") > 0
                        : total(listing, "in_use") == 0 && total(listing, "waiting") > 0;
    default:
        return true;
    }
}

static bool add_zone(const struct listing *listing, const struct found_name *name)
{
    struct reply *reply = &listing->pending->reply;
    struct value text = {.kind = VALUE_TEXT};

    return listing->kind->totals != SEATS_ZONE ||
           (set_field(reply, "event_id", &text, name->parts[0]) &&
            set_field(reply, "zone_id", &text, name->parts[1]));
}

static bool add_totals(struct listing *listing)
{
    const struct command_spec *spec = &command_table[listing->kind->totals];
    const struct found_name *name = &listing->names[listing->at];
    struct reply *reply = &listing->pending->reply;

    if (!begin_item(reply, name) || !add_zone(listing, name)) {
        return false;
    }
    for (size_t i = 0; i < listing->totals.count; i++) {
        const struct value *value = &listing->totals.values[i];
        struct hf_bytes text =
            value->kind == VALUE_TEXT ? reply_bytes(&listing->totals, i) : hf_text("");
        if (!set_field(reply, spec->fields[i].name, value, text)) {
            return false;
        }
    }
    listing->shown++;
    return true;
}

static bool add_fields(struct listing *listing, const redisReply *from)
{
    struct reply *reply = &listing->pending->reply;

    if (from->type != REDIS_REPLY_ARRAY || from->elements < 2) {
        return true; /* nothing is there */
    }
    if (!begin_item(reply, &listing->names[listing->at])) {
        return false;
    }
    for (size_t i = 0; i + 1 < from->elements; i += 2) {
        const redisReply *field = from->element[i + 1];
        bool is_text = field->type == REDIS_REPLY_STRING;
        struct value value = {.kind = is_text ? VALUE_TEXT : VALUE_NUMBER,
                              .number = is_text ? 0 : field->integer};
        struct hf_bytes text = is_text ? (struct hf_bytes){field->str, field->len} : hf_text("");
        if (!set_field(reply, from->element[i]->str, &value, text)) {
            return false;
        }
    }
    listing->shown++;
    return true;
}

static void totals_told(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                        const struct problem *problem)
{
    struct listing *listing = call->context;
    bool enough = true;

    if (fate != REDIS_ANSWERED) {
        refuse(listing, problem);
        return;
    }
    if (listing->kind->totals == COMMAND_COUNT) {
        enough = add_fields(listing, reply);
    } else {
        script_reply_read(&listing->totals, &command_table[listing->kind->totals], reply);
        if (reply->type == REDIS_REPLY_ERROR) {
            enough = begin_item(&listing->pending->reply, &listing->names[listing->at]);
            listing->shown++; /* a product in shards: its name is all there is */
        } else if (listing->totals.code == HF_OK && is_there(listing)) {
            enough = add_totals(listing);
        }
    }
    if (!enough) {
        refuse_memory(listing);
        return;
    }
    listing->last = listing->names[listing->at++].hash;
    show_next(listing);
}

/* A call of look_inside.lua. */
static void look_inside(struct listing *listing, const struct found_name *name)
{
    struct script_call *call = &listing->pending->call;
    struct script_env *env = env_of(listing);
    struct buffer *key = &env->scratch;
    bool cluster = script_env_is_cluster(env);
    const char found_by[] = {(char)('1' + name->key), '\0'};

    script_call_begin(call, "look_inside", listing->kind->count, 2);
    for (unsigned i = 0; i < listing->kind->count; i++) {
        buffer_clear(key);
        key_fill(key, env->url.name_space, key_form(listing->kind->keys[i], cluster), name->parts);
        call->bytes.failed = call->bytes.failed || key->failed;
        struct hf_bytes text = {key->data, key->failed ? 0 : key->size};
        call->request.slot = cluster ? redis_slot(text) : -1;
        script_call_text(call, text);
    }
    script_call_text(call, hf_text(listing->kind->name));
    script_call_text(call, hf_text(found_by));
}

/* The arguments of a command that has one or two ids, of which the struct is all it has. */
static void ask_totals(struct listing *listing)
{
    const struct found_name *name = &listing->names[listing->at];
    struct script_call *call = &listing->pending->call;

    if (listing->kind->totals != COMMAND_COUNT) {
        listing->ask = (struct command){.spec = &command_table[listing->kind->totals]};
        memcpy(&listing->ask.args, name->parts,
               listing->ask.spec->arg_count * sizeof name->parts[0]);
        script_call_row(call, &listing->ask, NULL, 0);
    } else {
        look_inside(listing, name);
    }
    script_call_send(call, true, 0, totals_told, listing);
}

static void show_next(struct listing *listing)
{
    if (listing->at == listing->count) {
        move_on(listing);
    } else if (listing->shown >= args_of(listing)->count) {
        finish(listing);
    } else {
        ask_totals(listing);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int by_hash(const void *a, const void *b)
{
    uint64_t x = ((const struct found_name *)a)->hash, y = ((const struct found_name *)b)->hash;
    return x < y ? -1 : x > y;
}

static bool is_wanted(const struct listing *listing, const struct found_name *name)
{
    struct hf_bytes match = args_of(listing)->match;

    return name->size >= match.size &&
           (match.size == 0 || memcmp(name->text, match.data, match.size) == 0) &&
           name->hash > listing->last;
}

/* Keeps the names of a step that are wanted, each once, by their hash. */
static bool take_names(struct listing *listing, const redisReply *keys)
{
    static const uint8_t hash_key[SIPHASH_KEY] = "holdfast listing";
    size_t count = 0;

    free(listing->names);
    listing->names = calloc(keys->elements + 1, sizeof *listing->names);
    listing->count = listing->at = 0;
    if (listing->names == NULL) {
        return false;
    }
    for (size_t i = 0; i < keys->elements; i++) {
        struct hf_bytes key = {keys->element[i]->str, keys->element[i]->len};
        struct found_name *name = &listing->names[count];
        if (keys->element[i]->type == REDIS_REPLY_STRING &&
            listed_kind_read(listing->kind, env_of(listing), key, name)) {
            name->hash = siphash(hash_key, key.data, key.size) | 1;
            count += is_wanted(listing, name);
        }
    }
    qsort(listing->names, count, sizeof *listing->names, by_hash);
    for (size_t i = 0; i < count; i++) {
        struct found_name *name = &listing->names[listing->count];
        if (i > 0 && listing->names[i].hash == listing->names[listing->count - 1].hash) {
            continue;
        }
        *name = listing->names[i];
        name->parts[0].data = name->text;
        name->parts[1].data = name->text + name->parts[0].size + 1;
        listing->count++;
    }
    return true;
}

static void scanned(struct redis_request *request, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    struct listing *listing =
        (struct listing *)((char *)request - offsetof(struct listing, request));

    if (fate != REDIS_ANSWERED) {
        refuse(listing, problem);
        return;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[0]->len >= SCAN_CURSOR_SIZE ||
        reply->element[1]->type != REDIS_REPLY_ARRAY) {
        struct problem strange = {HF_INTERNAL, "Redis answered what SCAN cannot answer"};
        if (reply->type == REDIS_REPLY_ERROR) {
            problem_set(&strange, HF_INTERNAL, "Redis says to SCAN: %.200s", reply->str);
        }
        refuse(listing, &strange);
        return;
    }
    memcpy(listing->next_scan, reply->element[0]->str, reply->element[0]->len + 1);
    if (!take_names(listing, reply->element[1])) {
        refuse_memory(listing);
        return;
    }
    int64_t found = (int64_t)listing->count, room = args_of(listing)->count;
    if (found > 0 && found > room && listing->scan_count > 1) {
        int64_t fewer = listing->scan_count * room / found / 2;
        listing->scan_count = fewer > 0 ? fewer : 1;
        scan(listing);
    } else {
        show_next(listing);
    }
}

/* One step of the master that the listing is at. */
static void scan(struct listing *listing)
{
    struct script_env *env = env_of(listing);
    struct buffer *pattern = &env->scratch;
    struct master_choice choice = {.from = listing->master};
    char count[24];

    redis_client_masters(env->client, consider, &choice);
    bool begins = strcmp(listing->scan, "0") == 0;
    if (choice.node == NULL || (!begins && choice.number != listing->master)) {
        refuse(listing, &(struct problem){begins ? HF_ENGINE_DOWN : HF_INVALID_ARGUMENT,
                                          "the master that the list is at is gone: begin again"});
        return;
    }
    listing->master = choice.number;
    listing->steps++;
    buffer_clear(pattern);
    listed_kind_pattern(listing->kind, env, pattern);
    buffer_clear(&listing->bytes);
    resp_number(&listing->bytes, '*', 6);
    resp_text(&listing->bytes, hf_text("SCAN"));
    resp_text(&listing->bytes, hf_text(listing->scan));
    resp_text(&listing->bytes, hf_text("MATCH"));
    resp_text(&listing->bytes, (struct hf_bytes){pattern->data, pattern->size});
    resp_text(&listing->bytes, hf_text("COUNT"));
    snprintf(count, sizeof count, "%" PRId64, listing->scan_count);
    resp_text(&listing->bytes, hf_text(count));
    if (pattern->failed || listing->bytes.failed) {
        refuse_memory(listing);
        return;
    }
    listing->request = (struct redis_request){.bytes = listing->bytes.data,
                                              .size = listing->bytes.size,
                                              .slot = -1,
                                              .node = choice.node,
                                              .repeatable = true,
                                              .done = scanned};
    redis_client_send(env->client, &listing->request);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* "MASTER.SCAN.LAST", or nothing. */
static bool read_cursor(struct listing *listing, struct hf_bytes after)
{
    char text[HF_CURSOR_SIZE], *scan, *last, *end;

    strcpy(listing->scan, "0");
    listing->scan_count = SCAN_COUNT;
    if (after.size == 0) {
        return true;
    }
    if (after.size >= sizeof text) {
        return false;
    }
    memcpy(text, after.data, after.size);
    text[after.size] = '\0';
    unsigned long long master = strtoull(text, &scan, 16);
    size_t digits = *scan == '.' ? strspn(scan + 1, "0123456789") : 0;
    if (master > UINT32_MAX || digits == 0 || digits >= sizeof listing->scan ||
        scan[digits + 1] != '.' || text_hex_digit(text[0]) < 0) {
        return false;
    }
    last = scan + digits + 2;
    listing->last = strtoull(last, &end, 16);
    if (text_hex_digit(last[0]) < 0 || end - last > 16 || (size_t)(end - text) != after.size) {
        return false;
    }
    listing->master = (uint32_t)master;
    memcpy(listing->scan, scan + 1, digits);
    listing->scan[digits] = '\0';
    listing->scan_count = listing->last > 0 ? 1 : SCAN_COUNT;
    return true;
}

void list_scopes_execute(struct pending_command *pending)
{
    struct listing *listing = calloc(1, sizeof *listing);
    struct hf_bytes after = pending->command.args.list.after;

    if (listing == NULL) {
        pending_refuse(pending, &(struct problem){HF_BUSY, "out of memory for the list"});
        return;
    }
    listing->pending = pending;
    buffer_init(&listing->bytes, &pending->memory);
    listing->kind = listed_kind_named(pending->command.args.list.kind);
    reply_clear(&pending->reply);
    if (!reply_init(&listing->totals, &pending->memory)) {
        refuse_memory(listing);
        return;
    }
    if (!read_cursor(listing, after)) {
        free_listing(listing);
        reply_refuse_texts(&pending->reply, HF_INVALID_ARGUMENT,
                           "AFTER @ is no cursor of this list: begin without it, or with what a "
                           "page ended with",
                           after, (struct hf_bytes){"", 0});
        pending_finish(pending);
        return;
    }
    reply_word(&pending->reply, "");
    scan(listing);
}

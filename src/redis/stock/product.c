/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of products in shards: found by their id, the least recently used forgotten first; the
 * calls of scripts at their counters, and what read_shard.lua replies. */
#include "redis/stock/product.h"

#include "base/check.h"
#include "base/crc32c.h"
#include "base/text.h"
#include "redis/script/script_reply.h"
#include "redis/script/key_write.h"
#include "redis/stock/survey.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- products -------------------------------------------------------------------------------- */

static struct list *bucket_of(struct stocks *stocks, struct hf_bytes id)
{
    return &stocks->buckets[crc32c(0, id.data, id.size) % STOCK_PRODUCT_BUCKETS];
}

static struct hf_bytes id_of(const struct stock_product *product)
{
    return product->command.args.stock_get.product;
}

struct stock_product *stock_product_find(struct stocks *stocks, struct hf_bytes id)
{
    struct list *bucket = bucket_of(stocks, id);

    for (struct list *at = bucket->next; at != bucket; at = at->next) {
        struct stock_product *product = LIST_ENTRY(at, struct stock_product, bucket);
        if (text_equal(id_of(product), id)) {
            list_remove(&product->recent);
            list_add_last(&stocks->recent, &product->recent);
            return product;
        }
    }
    return NULL;
}

static void drop(struct stock_product *product)
{
    list_remove(&product->bucket);
    list_remove(&product->recent);
    product->stocks->count--;
    stock_survey_free(product->survey);
    free(product->seen);
    free(product);
}

/* Forgets the least recently used products that no command or survey uses, until there is room. */
static void make_room(struct stocks *stocks)
{
    for (struct list *at = stocks->recent.next, *next;
         at != &stocks->recent && stocks->count >= STOCK_PRODUCTS_MAX; at = next) {
        struct stock_product *product = LIST_ENTRY(at, struct stock_product, recent);
        next = at->next;
        if (product->users == 0) {
            drop(product);
        }
    }
}

struct stock_product *stock_product_add(struct stocks *stocks, struct hf_bytes id)
{
    struct stock_product *product = stock_product_find(stocks, id);

    if (product != NULL) {
        return product;
    }
    make_room(stocks);
    product = calloc(1, sizeof *product);
    if (product == NULL) {
        return NULL;
    }
    CHECK(id.size <= sizeof product->id);
    memcpy(product->id, id.data, id.size);
    product->stocks = stocks;
    product->command.spec = &command_table[STOCK_GET];
    product->command.args.stock_get.product = (struct hf_bytes){product->id, id.size};
    list_add_last(bucket_of(stocks, id), &product->bucket);
    list_add_last(&stocks->recent, &product->recent);
    stocks->count++;
    return product;
}

void stock_product_hold(struct stock_product *product)
{
    product->users++;
}

void stock_product_release(struct stock_product *product)
{
    CHECK(product->users > 0);
    if (--product->users == 0 && product->counters <= 1) {
        drop(product);
    }
}

void stock_products_free(struct stocks *stocks)
{
    for (struct list *node = stocks->recent.next, *next; node != &stocks->recent; node = next) {
        next = node->next;
        drop(LIST_ENTRY(node, struct stock_product, recent));
    }
}

/* ---- what this engine knows of them ---------------------------------------------------------- */

size_t stock_product_home(const struct stock_product *product, struct hf_bytes id)
{
    CHECK(product->counters > 1);
    return 1 + (size_t)redis_slot(id) % (product->counters - 1);
}

size_t stock_product_active(const struct stock_product *product, size_t home)
{
    return product->merged ? COUNTER_MAIN : home;
}

size_t stock_product_other(const struct stock_product *product, size_t home)
{
    return product->merged ? home : COUNTER_MAIN;
}

int64_t stock_product_estimate(const struct stock_product *product)
{
    int64_t sum = 0;

    for (size_t i = 0; i < product->counters; i++) {
        sum = counter_sum(sum, product->seen[i].available);
    }
    sum = sum < product->loaded ? sum : product->loaded; /* both ends may count a transfer */
    return sum > 0 ? sum : 0;
}

bool stock_product_learn(struct stock_product *product, const struct counter_figures *main)
{
    size_t counters = 1 + (size_t)main->main.shard_count;

    CHECK(counters > 1);
    if (counters > product->capacity) {
        struct counter_seen *more = realloc(product->seen, counters * sizeof *more);
        if (more == NULL) {
            return false;
        }
        memset(more + product->capacity, 0, (counters - product->capacity) * sizeof *more);
        product->seen = more;
        product->capacity = counters;
    }
    product->counters = counters;
    product->epoch = main->epoch;
    product->merged = main->merged;
    product->steal = main->main.steal;
    product->limited = main->limited;
    product->end = main->end;
    product->watermark = main->main.watermark;
    product->loaded = main->main.loaded;
    return true;
}

const char *stock_mode(bool merged, bool limited)
{
    static const char *const names[2][2] = {{"sharded", "sharded limited"},
                                            {"merged", "merged limited"}};

    return names[merged][limited];
}

const char *stock_product_mode(const struct stock_product *product)
{
    return product->end == PRODUCT_CLOSING  ? "closing"
           : product->end == PRODUCT_CLOSED ? "closed"
                                            : stock_mode(product->merged, product->limited);
}

void stock_product_unlearn(struct stock_product *product)
{
    product->counters = 0;
    product->epoch = product->newest = 0;
    product->end = PRODUCT_OPEN;
}

void stock_product_saw_available(struct stock_product *product, size_t counter, int64_t available)
{
    product->seen[counter].available = available > HF_INTEGER_MAX    ? HF_INTEGER_MAX
                                       : available < -HF_INTEGER_MAX ? -HF_INTEGER_MAX
                                                                     : available;
}

void stock_product_saw(struct stock_product *product, size_t counter,
                       const struct counter_figures *figures)
{
    stock_product_saw_available(product, counter, counter_sum(figures->available, -figures->owed));
    if (figures->epoch == product->epoch && figures->records == 0) {
        product->seen[counter].empty_epoch = product->epoch;
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

void counter_name(size_t counter, char name[COUNTER_NAME_SIZE])
{
    if (counter == COUNTER_MAIN) {
        snprintf(name, COUNTER_NAME_SIZE, "main");
    } else {
        snprintf(name, COUNTER_NAME_SIZE, "%u", (unsigned)(counter - 1) % 10000);
    }
}

size_t counter_from_name(struct hf_bytes name, size_t counters)
{
    int64_t shard;

    if (text_equal(name, hf_text("main"))) {
        return COUNTER_MAIN;
    }
    return text_to_integer(name, &shard) && shard >= 0 && (size_t)shard + 1 < counters
               ? (size_t)shard + 1
               : counters;
}

static void write_box(struct script_call *call, const struct stock_product *product,
                      enum key_id box, const char *counter)
{
    struct script_env *env = product->stocks->env;
    struct key_style style = {env->url.name_space, script_env_is_cluster(env), counter};

    buffer_clear(&env->scratch);
    key_write(&env->scratch, box, &product->command, &style);
    script_call_text(call, (struct hf_bytes){env->scratch.data, env->scratch.size});
}

void counter_call(struct script_call *call, const struct stock_product *product, const char *script,
                  size_t counter, const char *box, size_t args)
{
    const struct command *command = &product->command;
    bool both = box != NULL && box[0] == 'b';
    bool out = both || (box != NULL && box[0] == 'o'), in = both || (box != NULL && box[0] == 'i');
    char name[COUNTER_NAME_SIZE];

    counter_name(counter, name);
    script_call_begin(call, script,
                      script_call_row_key_count(command->spec) + (out ? 1U : 0U) + (in ? 1U : 0U),
                      args);
    script_call_row_keys(call, command, name);
    if (out) {
        write_box(call, product, KEY_STOCK_OUTBOX, name);
    }
    if (in) {
        write_box(call, product, KEY_STOCK_INBOX, name);
    }
}

void counter_call_belief(struct script_call *call, const struct stock_product *product)
{
    script_call_number(call, product->epoch);
    script_call_text(call, hf_text(stock_product_mode(product)));
}

void counter_call_read(struct script_call *call, const struct stock_product *product,
                       size_t counter, bool with_counts, size_t first)
{
    counter_call(call, product, "read_shard", counter, with_counts ? "both" : "outbox", 4);
    counter_call_belief(call, product);
    script_call_text(call, hf_text(with_counts ? "1" : "0"));
    script_call_number(call, (int64_t)first);
}

const struct problem stock_shard_silent = {
    HF_ENGINE_DOWN, "not all shards of the product answer; nothing was changed, try again later"};

/* ---- replies --------------------------------------------------------------------------------- */

static bool is_word(const redisReply *reply, size_t i, const char *word)
{
    return i < reply->elements && reply->element[i]->type == REDIS_REPLY_STRING &&
           text_equal((struct hf_bytes){reply->element[i]->str, reply->element[i]->len},
                      hf_text(word));
}

bool stock_reply_says(const redisReply *reply, const char *word)
{
    int64_t lead;

    return script_reply_number(reply, 0, &lead) && lead == 0 && is_word(reply, 1, word);
}

enum { AT_MODE = 9, AT_POLICY = 13, AT_MORE = 17, MORE_WORDS = 3 };

/* A number that a script can have written: all of theirs are exact in a double. */
static bool read_number(const redisReply *reply, size_t i, int64_t *number)
{
    return script_reply_number(reply, i, number) && *number >= -HF_INTEGER_MAX &&
           *number <= HF_INTEGER_MAX;
}

bool counter_figures_read(struct counter_figures *figures, const redisReply *reply)
{
    int64_t known = 0, limited = 0;
    int64_t *numbers[AT_MORE] = {&known,
                                 &figures->available,
                                 &figures->taken,
                                 &figures->sold,
                                 &figures->sent,
                                 &figures->received,
                                 &figures->gains,
                                 &figures->records,
                                 &figures->epoch,
                                 NULL,
                                 &figures->main.loaded,
                                 &figures->main.shards_reported,
                                 &figures->main.watermark,
                                 NULL,
                                 &figures->main.shard_count,
                                 &limited,
                                 &figures->owed};

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < AT_MORE ||
        (reply->elements - AT_MORE) % MORE_WORDS != 0) {
        return false;
    }
    for (size_t i = 0; i < AT_MORE; i++) {
        if (numbers[i] != NULL && !read_number(reply, i, numbers[i])) {
            return false;
        }
    }
    if (figures->main.shard_count < 0 || figures->main.shard_count > STOCK_SHARDS_MAX) {
        return false;
    }
    figures->known = known != 0;
    figures->merged = is_word(reply, AT_MODE, "merged");
    figures->end = is_word(reply, AT_MODE, "closing")  ? PRODUCT_CLOSING
                   : is_word(reply, AT_MODE, "closed") ? PRODUCT_CLOSED
                                                       : PRODUCT_OPEN;
    figures->main.steal = is_word(reply, AT_POLICY, "steal");
    figures->limited = limited != 0;
    return true;
}

size_t counter_figures_more(const redisReply *reply)
{
    return (reply->elements - AT_MORE) / MORE_WORDS;
}

/* Reads {name, total, quantity} number i, of which the name begins with `prefix`. */
static bool read_more(const redisReply *reply, size_t i, const char *prefix, size_t counters,
                      size_t *other, int64_t *total, int64_t *quantity)
{
    const redisReply *name = reply->element[AT_MORE + i * MORE_WORDS];
    size_t skip = strlen(prefix);

    if (name->type != REDIS_REPLY_STRING || name->len < skip ||
        memcmp(name->str, prefix, skip) != 0) {
        return false;
    }
    *other = counter_from_name((struct hf_bytes){name->str + skip, name->len - skip}, counters);
    return *other < counters && read_number(reply, AT_MORE + i * MORE_WORDS + 1, total) &&
           read_number(reply, AT_MORE + i * MORE_WORDS + 2, quantity);
}

bool counter_figures_open(struct stock_open_transfer *open, const redisReply *reply, size_t i,
                          size_t source, size_t counters)
{
    open->source = source;
    return read_more(reply, i, "", counters, &open->target, &open->total, &open->quantity);
}

bool counter_figures_count(struct stock_transfer_count *count, const redisReply *reply, size_t i,
                           size_t counter, size_t counters)
{
    int64_t none;

    count->source = count->target = counter;
    count->arrived = read_more(reply, i, "from ", counters, &count->source, &count->total, &none);
    return count->arrived ||
           read_more(reply, i, "to ", counters, &count->target, &count->total, &none);
}

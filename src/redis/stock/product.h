/* SPDX-License-Identifier: Apache-2.0
 *
 * What this engine knows of products in shards, and how it talks to their counters. It is a memory of
 * limited size, and may be out of date: the counters themselves say so (lua/parts/shard.lua). */
#ifndef REDIS_STOCK_PRODUCT_H
#define REDIS_STOCK_PRODUCT_H

#include "net/alarm.h"
#include "redis/script/script_env.h"

#define STOCK_PRODUCTS_MAX 1024
#define STOCK_PRODUCT_BUCKETS 256

/* Places are counted: the main one is 0, shard k is k + 1. */
#define COUNTER_MAIN 0U
#define COUNTER_NAME_SIZE 8
void counter_name(size_t counter, char name[COUNTER_NAME_SIZE]);

/* One counter, as read_shard.lua answers. What stands under "main" is there only. */
struct counter_figures {
    bool known;
    int64_t available, taken, sold;
    int64_t sent, received; /* all that ever went by transfers, modulo 2^53 */
    int64_t gains;          /* how often what is available grew */
    int64_t records;        /* orders known, also closed ones */
    int64_t epoch;
    bool merged;
    struct {
        int64_t loaded, shards_reported, watermark, shard_count;
        bool steal;
    } main;
};

/* A transfer that is under way between two counters, in an outbox. */
struct stock_open_transfer {
    size_t source, target;
    int64_t number, quantity;
};

/* What was last seen of a counter. */
struct counter_seen {
    int64_t available;
    int64_t empty_epoch; /* in this epoch it knows no order; 0: it may know some */
};

struct stock_product {
    struct list bucket, recent;
    struct stocks *stocks;
    unsigned users; /* it is kept while there are any */
    char id[HF_ID_MAX];
    struct command command; /* STOCK.GET: for the names of its keys */

    size_t counters; /* the main one included; 1: it is in no shards after all */
    size_t capacity; /* of `seen`, which never shrinks: somebody may still talk to a counter */
    int64_t epoch;   /* 0: nothing is known, it is to be read */
    bool merged, steal;
    int64_t watermark, loaded;
    struct counter_seen *seen; /* of each counter */

    struct stock_survey *survey; /* survey.h; NULL: there was none yet */
};

struct stocks {
    struct script_env *env;
    bool stopped;
    struct list buckets[STOCK_PRODUCT_BUCKETS];
    struct list recent; /* the one used last is the last */
    size_t count;
    struct list commands; /* stock.c */
};

/* The product, if it may be in shards. */
struct stock_product *stock_product_find(struct stocks *stocks, struct hf_bytes id);
/* The same; if it is not known yet, it is now, with everything still to be learned. NULL when there
 * is no memory. */
struct stock_product *stock_product_add(struct stocks *stocks, struct hf_bytes id);
/* Keeps it, and lets it go again: then it may be forgotten. */
void stock_product_hold(struct stock_product *product);
void stock_product_release(struct stock_product *product);
void stock_products_free(struct stocks *stocks);

/* The counter an order belongs to. */
size_t stock_product_home(const struct stock_product *product, struct hf_bytes order);
/* Where new orders are taken; and where they are not, but may have been. */
size_t stock_product_active(const struct stock_product *product, size_t home);
size_t stock_product_other(const struct stock_product *product, size_t home);
/* The sum of what was last seen: what is left, as far as this engine knows. */
int64_t stock_product_estimate(const struct stock_product *product);

/* Takes over what the main counter says of the product; false when there is no memory. */
bool stock_product_learn(struct stock_product *product, const struct counter_figures *main);
/* Takes over what a counter says of itself. */
void stock_product_saw(struct stock_product *product, size_t counter,
                       const struct counter_figures *figures);

/* Begins a call of a script with the keys of a counter; `box` is "outbox", "inbox" or NULL. */
void counter_call(struct script_call *call, const struct stock_product *product, const char *script,
                  size_t counter, const char *box, size_t args);
/* The two arguments that say what is known of the product. */
void counter_call_belief(struct script_call *call, const struct stock_product *product);
/* read_shard.lua at a counter. */
void counter_call_read(struct script_call *call, const struct stock_product *product,
                       size_t counter);

/* Reads its answer; false if it is none. */
bool counter_figures_read(struct counter_figures *figures, const redisReply *reply);
/* How many open transfers it tells of, and which. */
size_t counter_figures_open_count(const redisReply *reply);
bool counter_figures_open(struct stock_open_transfer *open, const redisReply *reply, size_t i,
                          size_t source, size_t counters);

/* Is it {0, WORD, …}? */
bool reply_says(const redisReply *reply, const char *word);

#endif

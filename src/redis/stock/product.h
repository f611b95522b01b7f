/* SPDX-License-Identifier: Apache-2.0
 *
 * What this engine remembers of the products in shards, and how it calls the scripts at their
 * counters. The memory is bounded, and may be out of date: a counter that knows of a later epoch
 * than the caller answers STALE (lua/parts/shard.lua), and the engine reads the product again. */
#ifndef REDIS_STOCK_PRODUCT_H
#define REDIS_STOCK_PRODUCT_H

#include "net/alarm.h"
#include "redis/script/script_call.h"

#define STOCK_PRODUCTS_MAX 1024
#define STOCK_PRODUCT_BUCKETS 256

/* A product has a main counter and, in shards, one counter for each of them. They are numbered: the
 * main counter is 0, shard k is k + 1. In keys they have names: "main", "0", "1" and so on. */
#define COUNTER_MAIN 0U
#define COUNTER_NAME_SIZE 8
void counter_name(size_t counter, char name[COUNTER_NAME_SIZE]);
/* The counter of that name; `counters`, which is how many there are, if it is none of them. */
size_t counter_from_name(struct hf_bytes name, size_t counters);

/* The sum of two quantities, within ±HF_INTEGER_MAX like each of them: counters whose keys another
 * program has changed may add up to anything. */
static inline int64_t counter_sum(int64_t a, int64_t b)
{
    int64_t sum = a + b;

    return sum > HF_INTEGER_MAX ? HF_INTEGER_MAX : sum < -HF_INTEGER_MAX ? -HF_INTEGER_MAX : sum;
}

/* How far STOCK.CLOSE is with a product (lua/parts/shard.lua). */
enum product_end { PRODUCT_OPEN, PRODUCT_CLOSING, PRODUCT_CLOSED };

/* One counter, as read_shard.lua answers. Only the main counter has what stands under `main`. */
struct counter_figures {
    bool known; /* the counter exists in Redis */
    int64_t available, taken, sold;
    int64_t owed;           /* what the next gains pay for; then nothing is available */
    int64_t sent, received; /* all that transfers ever moved, modulo 2^53 */
    int64_t gains;          /* how often `available` grew */
    int64_t records;        /* orders that the counter knows, closed ones included */
    int64_t epoch;
    bool merged;
    bool limited; /* orders go to the shard of their user */
    enum product_end end;
    struct {
        int64_t loaded, watermark;
        int64_t shards_reported; /* as the last LOAD said, for GET */
        int64_t shard_count;     /* those that the first LOAD made; 0: the product has none */
        bool steal;
    } main;
};

/* Has a transfer left the counter, or arrived there, between the two? */
static inline bool counter_figures_moved(const struct counter_figures *now,
                                         const struct counter_figures *before)
{
    return now->sent != before->sent || now->received != before->received;
}

/* A transfer that is to be completed: it stands in the outbox of its source, or the counts of what
 * was sent and what arrived differ. */
struct stock_open_transfer {
    size_t source, target;
    int64_t total;    /* all that the source ever sent to the target, modulo 2^53 */
    int64_t quantity; /* in the outbox; 0 if the transfer was over once */
};

/* One end's count of all that ever went from a counter to another, modulo 2^53. */
struct stock_transfer_count {
    size_t source, target;
    bool arrived; /* counted by the target; otherwise sent, and counted by the source */
    int64_t total;
};

/* By how much a count modulo 2^53 is ahead of another; negative if it is behind. */
static inline int64_t counter_ahead(int64_t a, int64_t b)
{
    uint64_t difference = ((uint64_t)a - (uint64_t)b) & (uint64_t)HF_INTEGER_MAX;

    return difference > (uint64_t)HF_INTEGER_MAX / 2 ? (int64_t)difference - HF_INTEGER_MAX - 1
                                                     : (int64_t)difference;
}

/* What this engine saw last of a counter. */
struct counter_seen {
    int64_t available;   /* less what it owes; within ±HF_INTEGER_MAX */
    int64_t empty_epoch; /* the counter knew no order in this epoch; 0: it may know some */
};

struct stock_product {
    struct list bucket, recent;
    struct stocks *stocks;
    unsigned users; /* commands and surveys in flight, which retain the product */
    char id[HF_ID_MAX];
    struct command command; /* STOCK.GET: for the names of its keys */

    size_t counters; /* the main counter included; 0 or 1: the product has no shards after all */
    size_t capacity; /* of `seen`, which never shrinks: a call may be in flight to any counter */
    int64_t epoch;   /* 0: the product is yet to be read; otherwise it has shards */
    int64_t newest;  /* the highest epoch that any counter has learnt of; 0: not known */
    bool merged, steal, limited;
    enum product_end end;
    int64_t watermark, loaded;
    struct counter_seen *seen; /* one for each counter */

    struct stock_survey *survey; /* survey.h; NULL: there was none so far */
    struct problem obstacle;     /* why stock did not arrive in the last survey; HF_OK: it did */
};

struct stocks {
    struct script_env *env;
    bool stopped;
    struct list buckets[STOCK_PRODUCT_BUCKETS];
    struct list recent;   /* of products, the least recently used first */
    size_t count;         /* of products */
    struct list commands; /* in flight, of struct stock_command */
};

/* The product, if this engine remembers that it has or may have shards; otherwise NULL. */
struct stock_product *stock_product_find(struct stocks *stocks, struct hf_bytes id);
/* The product, added with everything still to be read if it is not remembered. NULL when there is
 * no memory. */
struct stock_product *stock_product_add(struct stocks *stocks, struct hf_bytes id);
/* Retains the product for a command or a survey, and releases it: then it may be forgotten. */
void stock_product_hold(struct stock_product *product);
void stock_product_release(struct stock_product *product);
void stock_products_free(struct stocks *stocks);

/* The shard that an order belongs to, by the CRC16 of an id: of its own, or, once a TAKE with MAX
 * has limited the product, of its user's. */
size_t stock_product_home(const struct stock_product *product, struct hf_bytes id);
/* The counter where new orders are taken; and the one where they are not, but may have been before
 * the mode changed. `home` is the order's shard. Before the product was limited, the order may have
 * been taken at yet another shard. */
size_t stock_product_active(const struct stock_product *product, size_t home);
size_t stock_product_other(const struct stock_product *product, size_t home);
/* The sum of what this engine saw last of each counter; 0 if they owe more than there is. */
int64_t stock_product_estimate(const struct stock_product *product);

/* A mode as scripts take it (lua/parts/shard.lua), and that of the product. */
const char *stock_mode(bool merged, bool limited);
const char *stock_product_mode(const struct stock_product *product);

/* Takes over what the main counter says of the product, which must have shards; false when there is
 * no memory. */
bool stock_product_learn(struct stock_product *product, const struct counter_figures *main);
/* The product has no shards any more, or never had: commands that still use it read it again. */
void stock_product_unlearn(struct stock_product *product);
/* Takes over what a counter replied of itself; or only what it has available. */
void stock_product_saw(struct stock_product *product, size_t counter,
                       const struct counter_figures *figures);
void stock_product_saw_available(struct stock_product *product, size_t counter, int64_t available);

/* Begins a call of a script with the keys of a counter, behind them that of its "outbox", "inbox",
 * or "both", as `box` says; NULL: neither. */
void counter_call(struct script_call *call, const struct stock_product *product, const char *script,
                  size_t counter, const char *box, size_t args);
/* Adds the two arguments that say what this engine believes of the product: epoch and mode. */
void counter_call_belief(struct script_call *call, const struct stock_product *product);
/* Writes the call of read_shard.lua at a counter; with the counts of its transfers, those from and
 * to STOCK_COUNTS_AT_ONCE counters from `first` on. */
void counter_call_read(struct script_call *call, const struct stock_product *product,
                       size_t counter, bool with_counts, size_t first);

/* Reads the reply of read_shard.lua; false if it is malformed. */
bool counter_figures_read(struct counter_figures *figures, const redisReply *reply);
/* How many transfers and counts the reply names behind the figures; and number i of them, as a
 * transfer in the outbox or as a count. False if it is the other one, or malformed. */
size_t counter_figures_more(const redisReply *reply);
bool counter_figures_open(struct stock_open_transfer *open, const redisReply *reply, size_t i,
                          size_t source, size_t counters);
bool counter_figures_count(struct stock_transfer_count *count, const redisReply *reply, size_t i,
                           size_t counter, size_t counters);

/* Is the reply {0, WORD, …}? */
bool stock_reply_says(const redisReply *reply, const char *word);

/* Why a command that has to read all counters cannot go on when one of them does not answer. */
extern const struct problem stock_shard_silent;

#endif

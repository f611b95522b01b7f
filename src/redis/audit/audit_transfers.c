/* SPDX-License-Identifier: Apache-2.0
 *
 * Stock in shards: what went from one counter to another.
 *
 *  1. What a counter ever sent to another has arrived there, or stands in its outbox. Otherwise a
 *     failover has lost one end of a transfer, and no engine has made it good so far.
 *  2. The sums of all that was sent and received agree with these counts.
 *  3. A product in shards has its main counter.
 *
 * A product is judged once two readings of all its counters, one after the other, are the same. */
#include "base/text.h"
#include "redis/audit/audit_state.h"

#include <stdio.h>
#include <string.h>

#define TRIES 10
#define COUNTER_TEXT_MAX 16 /* "main", or a number */
#define ALL_COUNTS "8192"   /* more than a hash with a count for each shard has */

enum { SNAPSHOT_TOTALS, SNAPSHOT_OUTBOX, SNAPSHOT_INBOX, SNAPSHOT_SENT };
enum { AUDIT_PAIR_SENT, AUDIT_PAIR_ARRIVED, AUDIT_PAIR_OPEN, AUDIT_PAIR_FIELDS };

/* ---- reading --------------------------------------------------------------------------------- */

/* What one counter says of transfers. */
static void ask_transfers(struct audit *audit, size_t master, struct hf_bytes counter)
{
    AUDIT_ASK(&audit->reader, master, hf_text("HMGET"), KEY1(audit, KEY_STOCK_TOTALS, counter),
              hf_text("sent"), hf_text("received"), hf_text("places"), hf_text("mode"));
    AUDIT_ASK(&audit->reader, master, hf_text("HGETALL"), KEY1(audit, KEY_STOCK_OUTBOX, counter));
    AUDIT_ASK(&audit->reader, master, hf_text("HGETALL"), KEY1(audit, KEY_STOCK_INBOX, counter));
    AUDIT_ASK(&audit->reader, master, hf_text("HSCAN"), KEY1(audit, KEY_STOCK_TOTALS, counter),
              hf_text("0"), hf_text("MATCH"), hf_text("to *"), hf_text("COUNT"),
              hf_text(ALL_COUNTS));
}

struct audit_snapshot {
    const struct audit_name *names[STOCK_SHARDS_MAX + 1];
    redisReply *replies[STOCK_SHARDS_MAX + 1];
    size_t count;
};

static void take_snapshot(struct audit *audit, const struct audit_name *product,
                          struct audit_snapshot *snapshot)
{
    snapshot->count = 0;
    EACH_CHILD(audit, product, 0, AUDIT_COUNTERS, i)
    {
        if (snapshot->count > STOCK_SHARDS_MAX) {
            return; /* it cannot have so many */
        }
        const struct audit_name *counter = named_at(audit, AUDIT_COUNTERS, i);
        size_t master =
            audit_reader_owner(&audit->reader, KEY1(audit, KEY_STOCK_TOTALS, named_text(counter)));
        audit_reader_begin(&audit->reader, master);
        ask_transfers(audit, master, named_text(counter));
        redisReply *reply = audit_reader_commit(&audit->reader, master);
        audit->unread = audit->unread || reply == NULL;
        snapshot->names[snapshot->count] = counter;
        snapshot->replies[snapshot->count++] = reply;
    }
}

static void free_snapshot(struct audit_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        freeReplyObject(snapshot->replies[i]);
    }
    snapshot->count = 0;
}

static bool snapshots_equal(const struct audit_snapshot *a, const struct audit_snapshot *b)
{
    bool equal = a->count == b->count;

    for (size_t i = 0; equal && i < a->count; i++) {
        equal = a->replies[i] != NULL && b->replies[i] != NULL &&
                audit_replies_equal(a->replies[i], b->replies[i]);
    }
    return equal;
}

static struct hf_bytes counter_of(const struct audit_name *named)
{
    struct hf_bytes product, counter;
    return key_split_counter(named_text(named), &product, &counter) ? counter : hf_text("");
}

static const redisReply *find_field(const redisReply *hash, struct hf_bytes field)
{
    for (size_t i = 0; i + 1 < hash->elements; i += 2) {
        if (text_equal(audit_reply_text(hash->element[i]), field)) {
            return hash->element[i + 1];
        }
    }
    return NULL;
}

/* ---- one pair of counters -------------------------------------------------------------------- */

static int64_t number_or_0(const redisReply *reply)
{
    int64_t number;
    return reply != NULL && audit_reply_integer(reply, 0, &number) ? number : 0;
}

/* By how much a count modulo 2^53 is ahead of another; negative if it is behind. */
static int64_t ahead(int64_t a, int64_t b)
{
    int64_t difference = (a - b) & HF_INTEGER_MAX;

    return difference > HF_INTEGER_MAX / 2 ? difference - HF_INTEGER_MAX - 1 : difference;
}

/* "from 3", which is what the counts of 3 are called in an inbox. */
struct field_name {
    char text[32];
    struct hf_bytes bytes;
};

static struct hf_bytes field(struct field_name *name, const char *prefix, struct hf_bytes counter)
{
    int size =
        snprintf(name->text, sizeof name->text, "%s%.*s", prefix, (int)counter.size, counter.data);

    name->bytes = (struct hf_bytes){name->text, size > 0 ? (size_t)size : 0};
    return name->bytes;
}

/* Does the text begin with the prefix? What stands behind it is the rest. */
static bool has_prefix(struct hf_bytes text, const char *prefix, struct hf_bytes *rest)
{
    size_t size = strlen(prefix);

    if (text.size <= size || memcmp(text.data, prefix, size) != 0) {
        return false;
    }
    *rest = (struct hf_bytes){text.data + size, text.size - size};
    return rest->size < COUNTER_TEXT_MAX;
}

/* The number of a counter in the snapshot; their count if it is none of them. */
static size_t find_counter(const struct audit_snapshot *snapshot, struct hf_bytes counter)
{
    size_t i = 0;

    while (i < snapshot->count && !text_equal(counter_of(snapshot->names[i]), counter)) {
        i++;
    }
    return i;
}

/* What stands in an outbox for a destination: the second word of the entry. */
static int64_t in_outbox(const redisReply *outbox, struct hf_bytes destination)
{
    const redisReply *entry = find_field(outbox, destination);
    struct hf_bytes text = entry != NULL ? audit_reply_text(entry) : hf_text("");
    const char *space = text.size > 0 ? memchr(text.data, ' ', text.size) : NULL;
    int64_t quantity = 0;

    if (space != NULL) {
        size_t used = (size_t)(space + 1 - text.data);
        text_to_integer((struct hf_bytes){space + 1, text.size - used}, &quantity);
    }
    return quantity;
}

/* Judges all that ever went from one counter to another, by the counts of both. Returns how much of
 * it has not arrived. */
static int64_t judge_pair(struct audit *audit, struct hf_bytes product, struct hf_bytes source,
                          struct hf_bytes target, const int64_t of[AUDIT_PAIR_FIELDS])
{
    int64_t missing = ahead(of[AUDIT_PAIR_SENT], of[AUDIT_PAIR_ARRIVED]);

    if (missing > 0 && missing != of[AUDIT_PAIR_OPEN]) {
        audit_finding(audit, "place", target, "product", product,
                      "lost %lld of what place %.*s sent it: %lld left there, %lld arrived here, "
                      "%lld are on their way",
                      (long long)(missing - of[AUDIT_PAIR_OPEN]), (int)source.size, source.data,
                      (long long)of[AUDIT_PAIR_SENT], (long long)of[AUDIT_PAIR_ARRIVED],
                      (long long)of[AUDIT_PAIR_OPEN]);
    } else if (missing < 0) {
        audit_finding(audit, "place", source, "product", product,
                      "forgot %lld that it sent to place %.*s: %lld left here, %lld arrived there",
                      (long long)-missing, (int)target.size, target.data,
                      (long long)of[AUDIT_PAIR_SENT], (long long)of[AUDIT_PAIR_ARRIVED]);
    }
    return missing;
}

/* ---- all pairs ------------------------------------------------------------------------------- */

/* Judges what a counter sent. Returns how much of it has not arrived. */
static int64_t judge_sent(struct audit *audit, struct hf_bytes product,
                          const struct audit_snapshot *snapshot, size_t source)
{
    const redisReply *sent = snapshot->replies[source]->element[SNAPSHOT_SENT]->element[1];
    struct hf_bytes name = counter_of(snapshot->names[source]), other;
    struct field_name from;
    int64_t missing = 0;

    for (size_t i = 0; i + 1 < sent->elements; i += 2) {
        if (!has_prefix(audit_reply_text(sent->element[i]), "to ", &other)) {
            continue;
        }
        size_t target = find_counter(snapshot, other);
        const redisReply *inbox =
            target < snapshot->count ? snapshot->replies[target]->element[SNAPSHOT_INBOX] : NULL;
        const redisReply *arrived =
            inbox != NULL ? find_field(inbox, field(&from, "from ", name)) : NULL;
        int64_t of[AUDIT_PAIR_FIELDS] = {
            number_or_0(sent->element[i + 1]), number_or_0(arrived),
            in_outbox(snapshot->replies[source]->element[SNAPSHOT_OUTBOX], other)};
        missing += judge_pair(audit, product, name, other, of);
    }
    return missing;
}

/* Judges what arrived at a counter from those that know of nothing that they sent there. */
static int64_t judge_arrived(struct audit *audit, struct hf_bytes product,
                             const struct audit_snapshot *snapshot, size_t target)
{
    const redisReply *inbox = snapshot->replies[target]->element[SNAPSHOT_INBOX];
    struct hf_bytes name = counter_of(snapshot->names[target]), other;
    struct field_name to;
    int64_t missing = 0;

    for (size_t i = 0; i + 1 < inbox->elements; i += 2) {
        if (!has_prefix(audit_reply_text(inbox->element[i]), "from ", &other)) {
            continue;
        }
        size_t source = find_counter(snapshot, other);
        const redisReply *sent = source < snapshot->count
                                     ? snapshot->replies[source]->element[SNAPSHOT_SENT]->element[1]
                                     : NULL;
        if (sent == NULL || find_field(sent, field(&to, "to ", name)) == NULL) {
            int64_t of[AUDIT_PAIR_FIELDS] = {0, number_or_0(inbox->element[i + 1]), 0};
            missing += judge_pair(audit, product, other, name, of);
        }
    }
    return missing;
}

/* Is a counter with this mode part of a product in shards? Of one that was closed, what is left has
 * a mode too, until it is forgotten. */
static bool is_shard(const redisReply *mode)
{
    return audit_reply_is_text(mode) && !text_equal(audit_reply_text(mode), hf_text("closed"));
}

/* Are the answers of a counter of the kind they should be? */
static bool is_readable(const redisReply *reply)
{
    const redisReply *totals = reply->element[SNAPSHOT_TOTALS],
                     *sent = reply->element[SNAPSHOT_SENT];

    return totals->type == REDIS_REPLY_ARRAY && totals->elements == 4 &&
           reply->element[SNAPSHOT_OUTBOX]->type == REDIS_REPLY_ARRAY &&
           reply->element[SNAPSHOT_INBOX]->type == REDIS_REPLY_ARRAY &&
           sent->type == REDIS_REPLY_ARRAY && sent->elements == 2 &&
           text_equal(audit_reply_text(sent->element[0]), hf_text("0")) &&
           sent->element[1]->type == REDIS_REPLY_ARRAY;
}

static void judge_transfers(struct audit *audit, struct hf_bytes product,
                            const struct audit_snapshot *snapshot)
{
    int64_t moving = 0, missing = 0;
    bool has_main = false, has_shards = false, is_closed = false;

    for (size_t i = 0; i < snapshot->count; i++) {
        if (!is_readable(snapshot->replies[i])) {
            audit->unread = true;
            return;
        }
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        const redisReply *totals = snapshot->replies[i]->element[SNAPSHOT_TOTALS];
        bool is_main = audit_reply_is_text(totals->element[2]);
        has_main = has_main || is_main;
        has_shards = has_shards || is_shard(totals->element[3]);
        is_closed = is_closed || (is_main && !is_shard(totals->element[3]));
        moving += ahead(number_or_0(totals->element[0]), number_or_0(totals->element[1]));
    }
    if (has_shards && !has_main) {
        audit_finding(audit, "product", product, NULL, product,
                      "in shards, but its main place is lost");
        return;
    }
    for (size_t i = 0; i < snapshot->count && !is_closed; i++) {
        missing += judge_sent(audit, product, snapshot, i);
        missing += judge_arrived(audit, product, snapshot, i);
    }
    if (!is_closed && ahead(moving & HF_INTEGER_MAX, missing & HF_INTEGER_MAX) != 0) {
        audit_finding(audit, "product", product, NULL, product,
                      "%lld left one place and did not arrive at another, but the open transfers "
                      "have %lld",
                      (long long)moving, (long long)missing);
    }
}

void audit_transfers(struct audit *audit, uint32_t index)
{
    const struct audit_name *product = named_at(audit, AUDIT_PRODUCTS, index);
    struct audit_snapshot first, second;
    bool settled = false;

    if (product->children[0] == NONE ||
        named_at(audit, AUDIT_COUNTERS, product->children[0])->next == NONE) {
        return; /* it has one counter */
    }
    for (unsigned tries = 0; !settled && tries < TRIES && audit_goes_on(audit); tries++) {
        if (tries > 0) {
            audit_pause(audit);
        }
        audit->unread = false;
        take_snapshot(audit, product, &first);
        take_snapshot(audit, product, &second);
        settled = audit_goes_on(audit) && snapshots_equal(&first, &second);
        if (settled) {
            judge_transfers(audit, named_text(product), &first);
        }
        free_snapshot(&first);
        free_snapshot(&second);
    }
}

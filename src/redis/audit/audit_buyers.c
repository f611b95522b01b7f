/* SPDX-License-Identifier: Apache-2.0
 *
 * Stock: what users have, at each counter of a product.
 *
 *  1. What a user has taken is what the user's open orders add up to.
 *  2. All users together have bought no more than was sold there.
 *  3. As many orders are listed by name as are taken.
 *
 * Orders that a former version took are not counted anywhere (lua/parts/stock.lua).
 *
 * Orders and users are read in pages. The first ones are read in one step with the figures; if
 * there are more, the reading counts if the figures are the same afterwards. */
#include "base/text.h"
#include "redis/audit/audit_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "20000"
#define TRIES 10

/* The sums of a name of AUDIT_BUYERS. */
enum { BUYER_TAKEN, BUYER_SOLD, BUYER_IN_ORDERS };

/* The elements of a reading: the figures, then a first page of each hash. */
enum { AT_TOTALS, AT_ORDERS, AT_USERS, AT_NAMES, AT_FIGURES_END, AT_ORDERS_PAGE = AT_FIGURES_END };

struct buyers_reading {
    struct audit *audit;
    size_t master;
    uint32_t counter; /* the name, of AUDIT_COUNTERS */
    int64_t orders;   /* that are taken and counted under their user */
};

static struct hf_bytes counter_text(const struct buyers_reading *reading)
{
    return named_text(named_at(reading->audit, AUDIT_COUNTERS, reading->counter));
}

static struct audit_name *buyer(struct buyers_reading *reading, struct hf_bytes user)
{
    return audit_child(reading->audit, AUDIT_COUNTERS, reading->counter, 0, AUDIT_BUYERS, user);
}

/* "T quantity ttl_ms+started_ms user": one that is taken, and counted under its user. What is
 * damaged is for audit_holds.c to tell. */
static bool counted_order(struct hf_bytes record, int64_t *quantity, struct hf_bytes *user)
{
    char text[32], *after;
    size_t size = record.size < sizeof text - 1 ? record.size : sizeof text - 1;

    memcpy(text, record.data, size);
    text[size] = '\0';
    if (strncmp(text, "T ", 2) != 0) {
        return false;
    }
    long long amount = strtoll(text + 2, &after, 10);
    if (*after != ' ' || amount <= 0) {
        return false;
    }
    const char *terms = record.data + (after + 1 - text), *end = record.data + record.size;
    const char *space = memchr(terms, ' ', (size_t)(end - terms));
    if (space == NULL || memchr(terms, '+', (size_t)(space - terms)) == NULL) {
        return false;
    }
    *quantity = amount;
    *user = (struct hf_bytes){space + 1, (size_t)(end - space) - 1};
    return true;
}

static void add_order(struct buyers_reading *reading, struct hf_bytes record)
{
    int64_t quantity;
    struct hf_bytes user;

    if (counted_order(record, &quantity, &user)) {
        struct audit_name *named = buyer(reading, user);
        reading->orders++;
        if (named != NULL) {
            named->sums[BUYER_IN_ORDERS] += quantity;
        }
    }
}

/* "t user" or "s user", and how many. */
static void add_user(struct buyers_reading *reading, struct hf_bytes field, struct hf_bytes value)
{
    int64_t quantity;

    if (field.size > 2 && text_to_integer(value, &quantity)) {
        struct audit_name *named =
            buyer(reading, (struct hf_bytes){field.data + 2, field.size - 2});
        if (named != NULL) {
            named->sums[field.data[0] == 't' ? BUYER_TAKEN : BUYER_SOLD] += quantity;
        }
    }
}

static void add_page(struct buyers_reading *reading, enum key_id key, struct audit_text_set *seen,
                     const redisReply *page)
{
    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        struct hf_bytes field = audit_reply_text(page->element[i]);
        if (!audit_text_set_add(seen, field)) {
            continue;
        }
        if (key == KEY_STOCK_ORDERS) {
            add_order(reading, audit_reply_text(page->element[i + 1]));
        } else {
            add_user(reading, field, audit_reply_text(page->element[i + 1]));
        }
    }
}

static bool is_page(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

static void ask_page(struct buyers_reading *reading, enum key_id key, const char *cursor)
{
    struct audit *audit = reading->audit;

    AUDIT_ASK(&audit->reader, reading->master, hf_text("HSCAN"),
              KEY1(audit, key, counter_text(reading)), hf_text(cursor), hf_text("COUNT"),
              hf_text(PAGE));
}

/* All pages of a hash, from the first one on. True if there was no other. */
static bool add_pages(struct buyers_reading *reading, enum key_id key, const redisReply *first)
{
    struct audit *audit = reading->audit;
    struct audit_text_set seen;
    char cursor[24];

    audit_text_set_init(&seen, audit);
    snprintf(cursor, sizeof cursor, "%s", first->element[0]->str);
    add_page(reading, key, &seen, first->element[1]);
    bool only = strcmp(cursor, "0") == 0;
    while (strcmp(cursor, "0") != 0 && audit_goes_on(audit)) {
        ask_page(reading, key, cursor);
        redisReply *page = audit_answer(audit, reading->master);
        if (!is_page(page)) {
            audit->unread = true;
            freeReplyObject(page);
            break;
        }
        snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
        add_page(reading, key, &seen, page->element[1]);
        freeReplyObject(page);
    }
    audit_text_set_free(&seen);
    return only;
}

/* The figures, and with `pages` the first ones, in one step; NULL if they cannot be read. */
static redisReply *read_figures(struct buyers_reading *reading, bool pages)
{
    struct audit *audit = reading->audit;
    size_t master = reading->master;
    struct hf_bytes counter = counter_text(reading);

    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("HMGET"), KEY1(audit, KEY_STOCK_TOTALS, counter),
              hf_text("sold"), hf_text("taken"), hf_text("gains"));
    AUDIT_ASK(&audit->reader, master, hf_text("HLEN"), KEY1(audit, KEY_STOCK_ORDERS, counter));
    AUDIT_ASK(&audit->reader, master, hf_text("HLEN"), KEY1(audit, KEY_STOCK_USERS, counter));
    AUDIT_ASK(&audit->reader, master, hf_text("ZCARD"), KEY1(audit, KEY_STOCK_NAMES, counter));
    if (pages) {
        ask_page(reading, KEY_STOCK_ORDERS, "0");
        ask_page(reading, KEY_STOCK_USERS, "0");
    }
    redisReply *reply = audit_reader_commit(&audit->reader, master);
    bool good = reply != NULL && reply->elements == AT_FIGURES_END + (pages ? 2U : 0U) &&
                reply->element[AT_TOTALS]->type == REDIS_REPLY_ARRAY &&
                reply->element[AT_TOTALS]->elements == 3 &&
                (!pages || (is_page(reply->element[AT_ORDERS_PAGE]) &&
                            is_page(reply->element[AT_ORDERS_PAGE + 1])));
    if (!good) {
        audit->unread = true;
        freeReplyObject(reply);
        reply = NULL;
    }
    return reply;
}

/* Were the figures the same before and after? */
static bool stood_still(struct buyers_reading *reading, const redisReply *before)
{
    redisReply *after = read_figures(reading, false);
    bool same = after != NULL;

    for (size_t i = 0; same && i < 3; i++) {
        same = text_equal(audit_reply_text(before->element[AT_TOTALS]->element[i]),
                          audit_reply_text(after->element[AT_TOTALS]->element[i]));
    }
    for (size_t i = AT_ORDERS; same && i < AT_FIGURES_END; i++) {
        same = before->element[i]->integer == after->element[i]->integer;
    }
    freeReplyObject(after);
    return same;
}

static void judge(struct buyers_reading *reading, const redisReply *figures)
{
    struct audit *audit = reading->audit;
    struct audit_name *counter = named_at(audit, AUDIT_COUNTERS, reading->counter);
    int64_t sold, bought = 0, named = figures->element[AT_NAMES]->integer;

    EACH_CHILD(audit, counter, 0, AUDIT_BUYERS, i)
    {
        const struct audit_name *user = named_at(audit, AUDIT_BUYERS, i);
        bought += user->sums[BUYER_SOLD];
        if (user->sums[BUYER_TAKEN] != user->sums[BUYER_IN_ORDERS]) {
            audit_finding(audit, "user", named_text(user), "product", named_text(counter),
                          "%lld taken, but the user's orders add up to %lld",
                          (long long)user->sums[BUYER_TAKEN],
                          (long long)user->sums[BUYER_IN_ORDERS]);
        }
    }
    if (!audit_reply_integer(figures->element[AT_TOTALS]->element[0], 0, &sold)) {
        audit->unread = true;
    } else if (bought > sold) {
        audit_finding(audit, "product", named_text(counter), NULL, named_text(counter),
                      "%lld sold, but its users have bought %lld", (long long)sold,
                      (long long)bought);
    }
    if (named != reading->orders) {
        audit_finding(audit, "product", named_text(counter), NULL, named_text(counter),
                      "%lld orders are listed by name, but %lld are taken", (long long)named,
                      (long long)reading->orders);
    }
}

static void forget_sums(struct buyers_reading *reading)
{
    struct audit_name *counter = named_at(reading->audit, AUDIT_COUNTERS, reading->counter);

    reading->orders = 0;
    EACH_CHILD(reading->audit, counter, 0, AUDIT_BUYERS, i)
    {
        memset(named_at(reading->audit, AUDIT_BUYERS, i)->sums, 0, sizeof counter->sums);
    }
}

void audit_buyers(struct audit *audit, uint32_t counter)
{
    struct buyers_reading reading = {.audit = audit, .counter = counter};

    reading.master =
        audit_reader_owner(&audit->reader, KEY1(audit, KEY_STOCK_TOTALS, counter_text(&reading)));
    for (unsigned tries = 0; tries < TRIES && audit_goes_on(audit); tries++) {
        redisReply *figures = read_figures(&reading, true);
        if (figures == NULL) {
            return;
        }
        forget_sums(&reading);
        bool whole = add_pages(&reading, KEY_STOCK_ORDERS, figures->element[AT_ORDERS_PAGE]);
        whole &= add_pages(&reading, KEY_STOCK_USERS, figures->element[AT_ORDERS_PAGE + 1]);
        bool settled = whole || stood_still(&reading, figures);
        if (settled && audit_goes_on(audit)) {
            judge(&reading, figures);
        }
        freeReplyObject(figures);
        if (settled) {
            return;
        }
        audit_pause(audit);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Quota and stock: totals beside a hash of holds, each of which has its deadline.
 *
 *  1. What is held (quota), or taken (stock), is what the open holds add up to.
 *  2. Every hold has a deadline, and every deadline a hold.
 *  3. Quota: used is a whole number, not below 0, and not less than what is held. Other programs
 *     may set it.
 *  4. Stock: at every counter, loaded + adjusted + received = available - owed + taken + sold +
 *     sent, and nothing is owed.
 *
 * A hash of up to HOLDS_AT_ONCE holds is read together with the totals, in one step. A larger one
 * is read in pages, and counts if the totals were the same before and after; it is read a few
 * times until they are. */
#include "base/text.h"
#include "redis/audit/audit_state.h"

#include <stdio.h>
#include <string.h>

#define HOLDS_AT_ONCE "20000"
#define TRIES 10

/* ---- a hash of holds ------------------------------------------------------------------------- */

struct audit_ledger {
    enum key_id holds, due;
    const char *what, *of; /* "hold", "tenant" */
    struct hf_bytes name;
    bool (*amount)(struct hf_bytes record, int64_t *amount); /* of an open one; 0: it is closed */
    void (*ask_figures)(struct audit *audit, size_t master, struct hf_bytes name);
    size_t figures; /* how many answers that brings */

    int64_t sum;
    bool deadlines_checked;
};

/* A hold, read again in one step with its deadline. */
static void recheck_hold(struct audit *audit, size_t master, struct audit_ledger *ledger,
                         struct hf_bytes hold)
{
    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("HGET"), KEY1(audit, ledger->holds, ledger->name),
              hold);
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, ledger->due, ledger->name),
              hold);
    redisReply *both = audit_reader_commit(&audit->reader, master);
    int64_t amount;

    if (both == NULL) {
        audit->unread = true;
    } else if (audit_reply_is_text(both->element[0]) && both->element[1]->type == REDIS_REPLY_NIL) {
        if (!ledger->amount(audit_reply_text(both->element[0]), &amount)) {
            amount = 0;
        }
        audit_finding(audit, ledger->what, hold, ledger->of, ledger->name,
                      "not among the deadlines: its %lld would never come back", (long long)amount);
    }
    freeReplyObject(both);
}

/* One page of field, value, field, value … */
static void add_up_holds(struct audit *audit, size_t master, struct audit_ledger *ledger,
                         struct audit_text_set *seen, const redisReply *page)
{
    int64_t amount;

    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        struct hf_bytes hold = audit_reply_text(page->element[i]);
        bool fresh = audit_text_set_add(seen, hold);
        if (!ledger->amount(audit_reply_text(page->element[i + 1]), &amount)) {
            if (!ledger->deadlines_checked) {
                audit_finding(audit, ledger->what, hold, ledger->of, ledger->name,
                              "its record is damaged");
            }
        } else if (fresh) {
            ledger->sum += amount;
        }
    }
    if (ledger->deadlines_checked) {
        return;
    }
    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, ledger->due, ledger->name),
                  audit_reply_text(page->element[i]));
    }
    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        redisReply *score = audit_answer(audit, master);
        page->element[i]->integer = score != NULL && score->type == REDIS_REPLY_NIL;
        freeReplyObject(score);
    }
    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        if (page->element[i]->integer != 0) {
            recheck_hold(audit, master, ledger, audit_reply_text(page->element[i]));
        }
    }
}

static bool is_page(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* The pages behind the first one. */
static void add_up_rest(struct audit *audit, size_t master, struct audit_ledger *ledger,
                        struct audit_text_set *seen, const redisReply *first)
{
    char cursor[24];

    snprintf(cursor, sizeof cursor, "%s", first->element[0]->str);
    while (strcmp(cursor, "0") != 0 && audit_goes_on(audit)) {
        AUDIT_ASK(&audit->reader, master, hf_text("HSCAN"),
                  KEY1(audit, ledger->holds, ledger->name), hf_text(cursor), hf_text("COUNT"),
                  hf_text(HOLDS_AT_ONCE));
        redisReply *page = audit_answer(audit, master);
        if (page == NULL || !is_page(page)) {
            audit->unread = true;
            freeReplyObject(page);
            return;
        }
        snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
        add_up_holds(audit, master, ledger, seen, page->element[1]);
        freeReplyObject(page);
    }
}

/* The figures, the numbers of holds and deadlines, and with `page` a first page, in one step. */
static redisReply *read_figures(struct audit *audit, size_t master,
                                const struct audit_ledger *ledger, bool page)
{
    audit_reader_begin(&audit->reader, master);
    ledger->ask_figures(audit, master, ledger->name);
    AUDIT_ASK(&audit->reader, master, hf_text("HLEN"), KEY1(audit, ledger->holds, ledger->name));
    AUDIT_ASK(&audit->reader, master, hf_text("ZCARD"), KEY1(audit, ledger->due, ledger->name));
    if (page) {
        AUDIT_ASK(&audit->reader, master, hf_text("HSCAN"),
                  KEY1(audit, ledger->holds, ledger->name), hf_text("0"), hf_text("COUNT"),
                  hf_text(HOLDS_AT_ONCE));
    }
    redisReply *reply = audit_reader_commit(&audit->reader, master);
    for (size_t i = 0; reply != NULL && i < reply->elements; i++) {
        if (reply->element[i]->type == REDIS_REPLY_ERROR) {
            freeReplyObject(reply);
            reply = NULL;
        }
    }
    audit->unread = audit->unread || reply == NULL;
    return reply;
}

/* Were the figures the same before and after? */
static bool stood_still(struct audit *audit, size_t master, const struct audit_ledger *ledger,
                        const redisReply *before)
{
    redisReply *after = read_figures(audit, master, ledger, false);
    bool same = after != NULL;

    for (size_t i = 0; same && i < after->elements; i++) {
        same = audit_replies_equal(before->element[i], after->element[i]);
    }
    freeReplyObject(after);
    return same;
}

/* Reads the figures with the sum of the holds that belongs to them. NULL if there is no reading
 * them: they could not be read, or there are so many that something changes all the time. */
static redisReply *read_ledger(struct audit *audit, size_t master, struct audit_ledger *ledger)
{
    for (unsigned tries = 0; tries < TRIES && audit_goes_on(audit); tries++) {
        redisReply *figures = read_figures(audit, master, ledger, true);
        const redisReply *page = figures != NULL ? figures->element[ledger->figures + 2] : NULL;
        if (page == NULL || !is_page(page)) {
            audit->unread = true;
            freeReplyObject(figures);
            return NULL;
        }
        struct audit_text_set seen;
        audit_text_set_init(&seen, audit);
        ledger->sum = 0;
        add_up_holds(audit, master, ledger, &seen, page->element[1]);
        add_up_rest(audit, master, ledger, &seen, page);
        audit_text_set_free(&seen);
        ledger->deadlines_checked = true;
        if (strcmp(page->element[0]->str, "0") == 0 ||
            stood_still(audit, master, ledger, figures)) {
            return figures;
        }
        freeReplyObject(figures);
        audit_pause(audit);
    }
    return NULL;
}

/* 2, the other way round: all holds have deadlines, so there must be as many of these. */
static void check_deadlines(struct audit *audit, const struct audit_ledger *ledger,
                            const redisReply *figures)
{
    int64_t holds = figures->element[ledger->figures]->integer;
    int64_t deadlines = figures->element[ledger->figures + 1]->integer;

    if (deadlines > holds) {
        audit_finding(audit, ledger->of, ledger->name, NULL, ledger->name,
                      "%lld deadlines, but %lld %ss: the others are lost", (long long)deadlines,
                      (long long)holds, ledger->what);
    }
}

/* ---- quota ----------------------------------------------------------------------------------- */

static struct hf_bytes first_word(struct hf_bytes text)
{
    const char *end = text.size > 0 ? memchr(text.data, ' ', text.size) : NULL;
    return (struct hf_bytes){text.data, end != NULL ? (size_t)(end - text.data) : text.size};
}

/* "amount ttl_ms". */
static bool hold_amount(struct hf_bytes record, int64_t *amount)
{
    return text_to_integer(first_word(record), amount) && *amount > 0;
}

static void ask_quota(struct audit *audit, size_t master, struct hf_bytes tenant)
{
    AUDIT_ASK(&audit->reader, master, hf_text("GET"), KEY1(audit, KEY_QUOTA_USED, tenant));
    AUDIT_ASK(&audit->reader, master, hf_text("GET"), KEY1(audit, KEY_QUOTA_HELD, tenant));
}

static void judge_used(struct audit *audit, struct hf_bytes tenant, const redisReply *reply,
                       int64_t held)
{
    int64_t used;

    if (!audit_reply_integer(reply, 0, &used)) {
        audit_finding(audit, "tenant", tenant, NULL, tenant,
                      "used is no whole number: nothing can be counted until it is set right");
    } else if (used < 0) {
        audit_finding(audit, "tenant", tenant, NULL, tenant, "%lld used, which is below 0",
                      (long long)used);
    } else if (used < held) {
        audit_finding(audit, "tenant", tenant, NULL, tenant,
                      "%lld used, which is less than the %lld on hold", (long long)used,
                      (long long)held);
    }
}

static void check_tenant(struct audit *audit, uint32_t index)
{
    struct hf_bytes tenant = named_text(named_at(audit, AUDIT_TENANTS, index));
    size_t master = audit_reader_owner(&audit->reader, KEY1(audit, KEY_QUOTA_USED, tenant));
    struct audit_ledger ledger = {.holds = KEY_QUOTA_HOLDS,
                                  .due = KEY_QUOTA_DUE,
                                  .what = "hold",
                                  .of = "tenant",
                                  .name = tenant,
                                  .amount = hold_amount,
                                  .ask_figures = ask_quota,
                                  .figures = 2};
    redisReply *figures = read_ledger(audit, master, &ledger);
    int64_t held;

    if (figures == NULL) {
        return;
    }
    if (!audit_reply_integer(figures->element[1], 0, &held)) {
        audit->unread = true;
    } else {
        if (held != ledger.sum) {
            audit_finding(audit, "tenant", tenant, NULL, tenant,
                          "%lld on hold, but its holds add up to %lld", (long long)held,
                          (long long)ledger.sum);
        }
        judge_used(audit, tenant, figures->element[0], held);
        check_deadlines(audit, &ledger, figures);
    }
    freeReplyObject(figures);
    audit_hold_names(audit, index);
}

void audit_quota(struct audit *audit)
{
    audit_each(audit, AUDIT_TENANTS, "tenant", check_tenant);
}

/* ---- stock: a counter ------------------------------------------------------------------------ */

/* "state quantity ttl_ms+started_ms user": only what is taken counts. */
static bool order_amount(struct hf_bytes record, int64_t *amount)
{
    if (record.size < 3 || strchr("TSG", record.data[0]) == NULL || record.data[1] != ' ' ||
        !text_to_integer(first_word((struct hf_bytes){record.data + 2, record.size - 2}), amount) ||
        *amount <= 0) {
        return false;
    }
    *amount = record.data[0] == 'T' ? *amount : 0;
    return true;
}

enum {
    AUDIT_LOADED,
    AUDIT_ADJUSTED,
    AUDIT_TAKEN,
    AUDIT_SOLD,
    AUDIT_SENT,
    AUDIT_RECEIVED,
    AUDIT_OWED,
    AUDIT_LOST_SENT,
    AUDIT_STOCK_FIELDS
};

static void ask_stock(struct audit *audit, size_t master, struct hf_bytes counter)
{
    AUDIT_ASK(&audit->reader, master, hf_text("GET"), KEY1(audit, KEY_STOCK, counter));
    AUDIT_ASK(&audit->reader, master, hf_text("HMGET"), KEY1(audit, KEY_STOCK_TOTALS, counter),
              hf_text("loaded"), hf_text("adjusted"), hf_text("taken"), hf_text("sold"),
              hf_text("sent"), hf_text("received"), hf_text("owed"), hf_text("lost_sent"));
}

/* What was moved is counted modulo 2^53. */
static int64_t wrapped(int64_t number)
{
    return number & HF_INTEGER_MAX;
}

static void judge_counter(struct audit *audit, const struct audit_ledger *ledger, int64_t available,
                          const int64_t of[AUDIT_STOCK_FIELDS])
{
    struct hf_bytes product, counter;
    int64_t in = of[AUDIT_LOADED] + of[AUDIT_ADJUSTED] + of[AUDIT_RECEIVED];
    int64_t out = available - of[AUDIT_OWED] + of[AUDIT_TAKEN] + of[AUDIT_SOLD] + of[AUDIT_SENT];

    if (!key_split_counter(ledger->name, &product, &counter)) {
        return;
    }
    if (wrapped(in - out) != 0 || available < 0 || of[AUDIT_TAKEN] < 0 || of[AUDIT_SOLD] < 0 ||
        of[AUDIT_OWED] < 0) {
        audit_finding(audit, "place", counter, "product", product,
                      "%lld loaded + %lld received, but %lld available + %lld taken + %lld sold + "
                      "%lld sent",
                      (long long)of[AUDIT_LOADED] + (long long)of[AUDIT_ADJUSTED],
                      (long long)of[AUDIT_RECEIVED], (long long)available,
                      (long long)of[AUDIT_TAKEN], (long long)of[AUDIT_SOLD],
                      (long long)of[AUDIT_SENT]);
    }
    if (of[AUDIT_OWED] > 0) {
        audit_finding(audit, "place", counter, "product", product,
                      "owes %lld: it sold them twice after failovers had lost %lld of what it had "
                      "sent to other places",
                      (long long)of[AUDIT_OWED], (long long)of[AUDIT_LOST_SENT]);
    }
    if (of[AUDIT_TAKEN] != ledger->sum) {
        audit_finding(audit, "place", counter, "product", product,
                      "%lld taken, but its orders add up to %lld", (long long)of[AUDIT_TAKEN],
                      (long long)ledger->sum);
    }
}

static void check_counter(struct audit *audit, uint32_t index)
{
    struct hf_bytes counter = named_text(named_at(audit, AUDIT_COUNTERS, index));
    size_t master = audit_reader_owner(&audit->reader, KEY1(audit, KEY_STOCK_TOTALS, counter));
    struct audit_ledger ledger = {.holds = KEY_STOCK_ORDERS,
                                  .due = KEY_STOCK_DUE,
                                  .what = "order",
                                  .of = "product",
                                  .name = counter,
                                  .amount = order_amount,
                                  .ask_figures = ask_stock,
                                  .figures = 2};
    redisReply *figures = read_ledger(audit, master, &ledger);
    int64_t available, of[AUDIT_STOCK_FIELDS];

    if (figures == NULL) {
        return;
    }
    const redisReply *totals = figures->element[1];
    bool good = audit_reply_integer(figures->element[0], 0, &available) &&
                totals->type == REDIS_REPLY_ARRAY && totals->elements == AUDIT_STOCK_FIELDS;
    for (size_t i = 0; good && i < AUDIT_STOCK_FIELDS; i++) {
        good = audit_reply_integer(totals->element[i], 0, &of[i]);
    }
    if (good) {
        judge_counter(audit, &ledger, available, of);
        check_deadlines(audit, &ledger, figures);
    } else {
        audit->unread = true;
    }
    freeReplyObject(figures);
}

void audit_stock(struct audit *audit)
{
    audit_each(audit, AUDIT_COUNTERS, "product", check_counter);
    audit_each(audit, AUDIT_COUNTERS, "product", audit_buyers);
    audit_each(audit, AUDIT_PRODUCTS, "product", audit_transfers);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Quota and stock: totals beside a hash of holds, each of which has its deadline.
 *
 *  1. What is held (quota), or taken (stock), is what the open holds add up to.
 *  2. Every hold has a deadline, and every deadline a hold.
 *  3. Quota: used is not less than what is held.
 *  4. Stock: at every counter, loaded + adjusted + received = available + taken + sold + sent.
 *  5. Stock in shards: what was sent and not received is in the outboxes.
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

static bool replies_equal(const redisReply *a, const redisReply *b)
{
    if (a->type != b->type || a->integer != b->integer || a->elements != b->elements ||
        a->len != b->len || (a->len > 0 && memcmp(a->str, b->str, a->len) != 0)) {
        return false;
    }
    for (size_t i = 0; i < a->elements; i++) {
        if (!replies_equal(a->element[i], b->element[i])) {
            return false;
        }
    }
    return true;
}

/* Were the figures the same before and after? */
static bool stood_still(struct audit *audit, size_t master, const struct audit_ledger *ledger,
                        const redisReply *before)
{
    redisReply *after = read_figures(audit, master, ledger, false);
    bool same = after != NULL;

    for (size_t i = 0; same && i < after->elements; i++) {
        same = replies_equal(before->element[i], after->element[i]);
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
    int64_t used, held;

    if (figures == NULL) {
        return;
    }
    if (!audit_reply_integer(figures->element[0], 0, &used) ||
        !audit_reply_integer(figures->element[1], 0, &held)) {
        audit->unread = true;
    } else {
        if (held != ledger.sum) {
            audit_finding(audit, "tenant", tenant, NULL, tenant,
                          "%lld on hold, but its holds add up to %lld", (long long)held,
                          (long long)ledger.sum);
        }
        if (used < held) {
            audit_finding(audit, "tenant", tenant, NULL, tenant,
                          "%lld used, which is less than the %lld on hold", (long long)used,
                          (long long)held);
        }
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
    AUDIT_PLACES_FIELD,
    AUDIT_STOCK_FIELDS
};

static void ask_stock(struct audit *audit, size_t master, struct hf_bytes counter)
{
    AUDIT_ASK(&audit->reader, master, hf_text("GET"), KEY1(audit, KEY_STOCK, counter));
    AUDIT_ASK(&audit->reader, master, hf_text("HMGET"), KEY1(audit, KEY_STOCK_TOTALS, counter),
              hf_text("loaded"), hf_text("adjusted"), hf_text("taken"), hf_text("sold"),
              hf_text("sent"), hf_text("received"), hf_text("places"));
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
    int64_t out = available + of[AUDIT_TAKEN] + of[AUDIT_SOLD] + of[AUDIT_SENT];

    if (!key_split_counter(ledger->name, &product, &counter)) {
        return;
    }
    if (wrapped(in - out) != 0 || available < 0 || of[AUDIT_TAKEN] < 0 || of[AUDIT_SOLD] < 0) {
        audit_finding(audit, "place", counter, "product", product,
                      "%lld loaded + %lld received, but %lld available + %lld taken + %lld sold + "
                      "%lld sent",
                      (long long)of[AUDIT_LOADED] + (long long)of[AUDIT_ADJUSTED],
                      (long long)of[AUDIT_RECEIVED], (long long)available,
                      (long long)of[AUDIT_TAKEN], (long long)of[AUDIT_SOLD],
                      (long long)of[AUDIT_SENT]);
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

/* ---- stock: the transfers between counters --------------------------------------------------- */

/* What one counter says of transfers. */
static void ask_transfers(struct audit *audit, size_t master, struct hf_bytes counter)
{
    AUDIT_ASK(&audit->reader, master, hf_text("HMGET"), KEY1(audit, KEY_STOCK_TOTALS, counter),
              hf_text("sent"), hf_text("received"), hf_text("places"), hf_text("mode"));
    AUDIT_ASK(&audit->reader, master, hf_text("HGETALL"), KEY1(audit, KEY_STOCK_OUTBOX, counter));
    AUDIT_ASK(&audit->reader, master, hf_text("HGETALL"), KEY1(audit, KEY_STOCK_INBOX, counter));
}

struct audit_transfers {
    const struct audit_name *names[STOCK_SHARDS_MAX + 1];
    redisReply *replies[STOCK_SHARDS_MAX + 1];
    size_t count;
};

static void take_snapshot(struct audit *audit, const struct audit_name *product,
                          struct audit_transfers *snapshot)
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

static void free_snapshot(struct audit_transfers *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        freeReplyObject(snapshot->replies[i]);
    }
    snapshot->count = 0;
}

static bool snapshots_equal(const struct audit_transfers *a, const struct audit_transfers *b)
{
    bool equal = a->count == b->count;

    for (size_t i = 0; equal && i < a->count; i++) {
        equal = a->replies[i] != NULL && b->replies[i] != NULL &&
                replies_equal(a->replies[i], b->replies[i]);
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

/* Has the transfer with this number arrived where it goes? */
static bool has_arrived(const struct audit_transfers *snapshot, struct hf_bytes from,
                        struct hf_bytes to, int64_t number)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        if (text_equal(counter_of(snapshot->names[i]), to)) {
            const redisReply *last = find_field(snapshot->replies[i]->element[2], from);
            int64_t arrived = 0;
            return last != NULL && audit_reply_integer(last, 0, &arrived) && arrived >= number;
        }
    }
    return false;
}

/* What is in an outbox and has not arrived. */
static int64_t count_open(const struct audit_transfers *snapshot, size_t counter)
{
    const redisReply *outbox = snapshot->replies[counter]->element[1];
    int64_t open = 0, number, quantity;

    for (size_t i = 0; i + 1 < outbox->elements; i += 2) {
        struct hf_bytes text = audit_reply_text(outbox->element[i + 1]), first = first_word(text);
        struct hf_bytes second = {text.data + first.size + 1, text.size - first.size - 1};
        if (first.size < text.size && text_to_integer(first, &number) &&
            text_to_integer(second, &quantity) &&
            !has_arrived(snapshot, counter_of(snapshot->names[counter]),
                         audit_reply_text(outbox->element[i]), number)) {
            open += quantity;
        }
    }
    return open;
}

/* Is a counter with this mode part of a product in shards? Of one that was closed, what is left has
 * a mode too, until it is forgotten. */
static bool is_shard(const redisReply *mode)
{
    return audit_reply_is_text(mode) && !text_equal(audit_reply_text(mode), hf_text("closed"));
}

static void judge_transfers(struct audit *audit, const struct audit_name *product,
                            const struct audit_transfers *snapshot)
{
    int64_t moving = 0, open = 0, sent, received;
    bool has_main = false, has_shards = false;

    for (size_t i = 0; i < snapshot->count; i++) {
        const redisReply *totals = snapshot->replies[i]->element[0];
        if (totals->type != REDIS_REPLY_ARRAY || totals->elements != 4 ||
            !audit_reply_integer(totals->element[0], 0, &sent) ||
            !audit_reply_integer(totals->element[1], 0, &received)) {
            audit->unread = true;
            return;
        }
        has_main = has_main || audit_reply_is_text(totals->element[2]);
        has_shards = has_shards || is_shard(totals->element[3]);
        moving = wrapped(moving + sent - received);
        open += count_open(snapshot, i);
    }
    if (has_shards && !has_main) {
        audit_finding(audit, "product", named_text(product), NULL, named_text(product),
                      "in shards, but its main place is lost");
    } else if (moving != wrapped(open)) {
        audit_finding(audit, "product", named_text(product), NULL, named_text(product),
                      "%lld left one place and did not arrive at another, but the open transfers "
                      "have %lld",
                      (long long)moving, (long long)open);
    }
}

static void check_transfers(struct audit *audit, uint32_t index)
{
    const struct audit_name *product = named_at(audit, AUDIT_PRODUCTS, index);
    struct audit_transfers first, second;
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
            judge_transfers(audit, product, &first);
        }
        free_snapshot(&first);
        free_snapshot(&second);
    }
}

void audit_stock(struct audit *audit)
{
    audit_each(audit, AUDIT_COUNTERS, "product", check_counter);
    audit_each(audit, AUDIT_COUNTERS, "product", audit_buyers);
    audit_each(audit, AUDIT_PRODUCTS, "product", check_transfers);
}

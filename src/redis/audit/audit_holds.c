/* SPDX-License-Identifier: Apache-2.0
 *
 * Quota and stock: totals beside a hash of holds, each of which has its deadline.
 *
 *  1. What is held (quota), or taken (stock), is what the open holds add up to.
 *  2. Every hold has a deadline, and every deadline a hold.
 *  3. Quota: used is not less than what is held.
 *  4. Stock: at every place, loaded + adjusted + received = available + taken + sold + sent.
 *  5. Stock in shards: what was sent and not received is in the outboxes.
 *
 * A hash of up to HOLDS_AT_ONCE holds is read together with the totals, in one step. A larger one
 * is read in pages, and counts if the totals were the same before and after; it is looked at a few
 * times until they are. */
#include "base/text.h"
#include "redis/audit/audit_state.h"

#include <stdio.h>
#include <string.h>

#define HOLDS_AT_ONCE "20000"
#define TRIES 10

/* ---- a hash of holds ------------------------------------------------------------------------- */

struct ledger {
    enum key_id holds, due;
    const char *what, *of; /* "hold", "tenant" */
    struct hf_bytes name;
    bool (*amount)(struct hf_bytes record, int64_t *amount); /* of an open one; 0: it is closed */
    void (*ask_figures)(struct audit *audit, size_t link, struct hf_bytes name);
    size_t figures; /* how many answers that brings */

    int64_t sum;
    bool looked; /* at the deadline of each */
};

/* A hold, read again in one step with its deadline. */
static void look_at_hold(struct audit *audit, size_t link, struct ledger *ledger,
                         struct hf_bytes hold)
{
    links_begin(&audit->links, link);
    ASK(&audit->links, link, hf_text("HGET"), KEY1(audit, ledger->holds, ledger->name), hold);
    ASK(&audit->links, link, hf_text("ZSCORE"), KEY1(audit, ledger->due, ledger->name), hold);
    redisReply *both = links_commit(&audit->links, link);
    int64_t amount;

    if (both == NULL) {
        audit->unread = true;
    } else if (answer_is_text(both->element[0]) && both->element[1]->type == REDIS_REPLY_NIL) {
        if (!ledger->amount(answer_text(both->element[0]), &amount)) {
            amount = 0;
        }
        audit_finding(audit, ledger->what, hold, ledger->of, ledger->name,
                      "not among the deadlines: its %lld would never come back", (long long)amount);
    }
    freeReplyObject(both);
}

/* One page of field, value, field, value … */
static void add_up_holds(struct audit *audit, size_t link, struct ledger *ledger,
                         struct text_set *seen, const redisReply *page)
{
    int64_t amount;

    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        struct hf_bytes hold = answer_text(page->element[i]);
        bool fresh = text_set_add(seen, hold);
        if (!ledger->amount(answer_text(page->element[i + 1]), &amount)) {
            if (!ledger->looked) {
                audit_finding(audit, ledger->what, hold, ledger->of, ledger->name,
                              "its record is damaged");
            }
        } else if (fresh) {
            ledger->sum += amount;
        }
    }
    if (ledger->looked) {
        return;
    }
    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        ASK(&audit->links, link, hf_text("ZSCORE"), KEY1(audit, ledger->due, ledger->name),
            answer_text(page->element[i]));
    }
    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        redisReply *score = audit_answer(audit, link);
        page->element[i]->integer = score != NULL && score->type == REDIS_REPLY_NIL;
        freeReplyObject(score);
    }
    for (size_t i = 0; i + 1 < page->elements; i += 2) {
        if (page->element[i]->integer != 0) {
            look_at_hold(audit, link, ledger, answer_text(page->element[i]));
        }
    }
}

static bool is_page(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* The pages behind the first one. */
static void add_up_rest(struct audit *audit, size_t link, struct ledger *ledger,
                        struct text_set *seen, const redisReply *first)
{
    char cursor[24];

    snprintf(cursor, sizeof cursor, "%s", first->element[0]->str);
    while (strcmp(cursor, "0") != 0 && audit_goes_on(audit)) {
        ASK(&audit->links, link, hf_text("HSCAN"), KEY1(audit, ledger->holds, ledger->name),
            hf_text(cursor), hf_text("COUNT"), hf_text(HOLDS_AT_ONCE));
        redisReply *page = audit_answer(audit, link);
        if (page == NULL || !is_page(page)) {
            audit->unread = true;
            freeReplyObject(page);
            return;
        }
        snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
        add_up_holds(audit, link, ledger, seen, page->element[1]);
        freeReplyObject(page);
    }
}

/* The figures, the numbers of holds and deadlines, and with `page` a first page, in one step. */
static redisReply *read_figures(struct audit *audit, size_t link, const struct ledger *ledger,
                                bool page)
{
    links_begin(&audit->links, link);
    ledger->ask_figures(audit, link, ledger->name);
    ASK(&audit->links, link, hf_text("HLEN"), KEY1(audit, ledger->holds, ledger->name));
    ASK(&audit->links, link, hf_text("ZCARD"), KEY1(audit, ledger->due, ledger->name));
    if (page) {
        ASK(&audit->links, link, hf_text("HSCAN"), KEY1(audit, ledger->holds, ledger->name),
            hf_text("0"), hf_text("COUNT"), hf_text(HOLDS_AT_ONCE));
    }
    redisReply *reply = links_commit(&audit->links, link);
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
static bool stood_still(struct audit *audit, size_t link, const struct ledger *ledger,
                        const redisReply *before)
{
    redisReply *after = read_figures(audit, link, ledger, false);
    bool same = after != NULL;

    for (size_t i = 0; same && i < after->elements; i++) {
        same = replies_equal(before->element[i], after->element[i]);
    }
    freeReplyObject(after);
    return same;
}

/* Reads the figures with the sum of the holds that belongs to them. NULL if there is no reading
 * them: they could not be read, or there are so many that something changes all the time. */
static redisReply *read_ledger(struct audit *audit, size_t link, struct ledger *ledger)
{
    for (unsigned tries = 0; tries < TRIES && audit_goes_on(audit); tries++) {
        redisReply *figures = read_figures(audit, link, ledger, true);
        const redisReply *page = figures != NULL ? figures->element[ledger->figures + 2] : NULL;
        if (page == NULL || !is_page(page)) {
            audit->unread = true;
            freeReplyObject(figures);
            return NULL;
        }
        struct text_set seen;
        text_set_init(&seen, audit);
        ledger->sum = 0;
        add_up_holds(audit, link, ledger, &seen, page->element[1]);
        add_up_rest(audit, link, ledger, &seen, page);
        text_set_free(&seen);
        ledger->looked = true;
        if (strcmp(page->element[0]->str, "0") == 0 || stood_still(audit, link, ledger, figures)) {
            return figures;
        }
        freeReplyObject(figures);
        audit_pause();
    }
    return NULL;
}

/* 2, the other way round: all holds have deadlines, so there must be as many of these. */
static void check_deadlines(struct audit *audit, const struct ledger *ledger,
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

static void ask_quota(struct audit *audit, size_t link, struct hf_bytes tenant)
{
    ASK(&audit->links, link, hf_text("GET"), KEY1(audit, KEY_QUOTA_USED, tenant));
    ASK(&audit->links, link, hf_text("GET"), KEY1(audit, KEY_QUOTA_HELD, tenant));
}

static void check_tenant(struct audit *audit, uint32_t index)
{
    struct hf_bytes tenant = named_text(named_at(audit, TENANTS, index));
    size_t link = links_of(&audit->links, KEY1(audit, KEY_QUOTA_USED, tenant));
    struct ledger ledger = {.holds = KEY_QUOTA_HOLDS,
                            .due = KEY_QUOTA_DUE,
                            .what = "hold",
                            .of = "tenant",
                            .name = tenant,
                            .amount = hold_amount,
                            .ask_figures = ask_quota,
                            .figures = 2};
    redisReply *figures = read_ledger(audit, link, &ledger);
    int64_t used, held;

    if (figures == NULL) {
        return;
    }
    if (!answer_integer(figures->element[0], 0, &used) ||
        !answer_integer(figures->element[1], 0, &held)) {
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
}

void audit_quota(struct audit *audit)
{
    audit_each(audit, TENANTS, "tenant", check_tenant);
}

/* ---- stock: a place -------------------------------------------------------------------------- */

/* "state quantity ttl_ms user": only what is taken counts. */
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

enum { LOADED, ADJUSTED, TAKEN, SOLD, SENT, RECEIVED, PLACES_FIELD, STOCK_FIELDS };

static void ask_stock(struct audit *audit, size_t link, struct hf_bytes place)
{
    ASK(&audit->links, link, hf_text("GET"), KEY1(audit, KEY_STOCK, place));
    ASK(&audit->links, link, hf_text("HMGET"), KEY1(audit, KEY_STOCK_TOTALS, place),
        hf_text("loaded"), hf_text("adjusted"), hf_text("taken"), hf_text("sold"), hf_text("sent"),
        hf_text("received"), hf_text("places"));
}

/* What was moved is counted modulo 2^53. */
static int64_t wrapped(int64_t number)
{
    return number & HF_INTEGER_MAX;
}

static void judge_place(struct audit *audit, const struct ledger *ledger, int64_t available,
                        const int64_t of[STOCK_FIELDS])
{
    struct hf_bytes product, place;
    int64_t in = of[LOADED] + of[ADJUSTED] + of[RECEIVED];
    int64_t out = available + of[TAKEN] + of[SOLD] + of[SENT];

    if (!key_split_counter(ledger->name, &product, &place)) {
        return;
    }
    if (wrapped(in - out) != 0 || available < 0 || of[TAKEN] < 0 || of[SOLD] < 0) {
        audit_finding(audit, "place", place, "product", product,
                      "%lld loaded + %lld received, but %lld available + %lld taken + %lld sold + "
                      "%lld sent",
                      (long long)of[LOADED] + (long long)of[ADJUSTED], (long long)of[RECEIVED],
                      (long long)available, (long long)of[TAKEN], (long long)of[SOLD],
                      (long long)of[SENT]);
    }
    if (of[TAKEN] != ledger->sum) {
        audit_finding(audit, "place", place, "product", product,
                      "%lld taken, but its orders add up to %lld", (long long)of[TAKEN],
                      (long long)ledger->sum);
    }
}

static void check_place(struct audit *audit, uint32_t index)
{
    struct hf_bytes place = named_text(named_at(audit, PLACES, index));
    size_t link = links_of(&audit->links, KEY1(audit, KEY_STOCK_TOTALS, place));
    struct ledger ledger = {.holds = KEY_STOCK_ORDERS,
                            .due = KEY_STOCK_DUE,
                            .what = "order",
                            .of = "product",
                            .name = place,
                            .amount = order_amount,
                            .ask_figures = ask_stock,
                            .figures = 2};
    redisReply *figures = read_ledger(audit, link, &ledger);
    int64_t available, of[STOCK_FIELDS];

    if (figures == NULL) {
        return;
    }
    const redisReply *totals = figures->element[1];
    bool good = answer_integer(figures->element[0], 0, &available) &&
                totals->type == REDIS_REPLY_ARRAY && totals->elements == STOCK_FIELDS;
    for (size_t i = 0; good && i < STOCK_FIELDS; i++) {
        good = answer_integer(totals->element[i], 0, &of[i]);
    }
    if (good) {
        judge_place(audit, &ledger, available, of);
        check_deadlines(audit, &ledger, figures);
    } else {
        audit->unread = true;
    }
    freeReplyObject(figures);
}

/* ---- stock: the transfers between places ----------------------------------------------------- */

/* What one place says of transfers. */
static void ask_transfers(struct audit *audit, size_t link, struct hf_bytes place)
{
    ASK(&audit->links, link, hf_text("HMGET"), KEY1(audit, KEY_STOCK_TOTALS, place),
        hf_text("sent"), hf_text("received"), hf_text("places"));
    ASK(&audit->links, link, hf_text("HGETALL"), KEY1(audit, KEY_STOCK_OUTBOX, place));
    ASK(&audit->links, link, hf_text("HGETALL"), KEY1(audit, KEY_STOCK_INBOX, place));
}

struct snapshot {
    const struct named *names[STOCK_SHARDS_MAX + 1];
    redisReply *replies[STOCK_SHARDS_MAX + 1];
    size_t count;
};

static void take_snapshot(struct audit *audit, const struct named *product,
                          struct snapshot *snapshot)
{
    snapshot->count = 0;
    EACH_CHILD(audit, product, 0, PLACES, i)
    {
        if (snapshot->count > STOCK_SHARDS_MAX) {
            return; /* it cannot have so many */
        }
        const struct named *place = named_at(audit, PLACES, i);
        size_t link = links_of(&audit->links, KEY1(audit, KEY_STOCK_TOTALS, named_text(place)));
        links_begin(&audit->links, link);
        ask_transfers(audit, link, named_text(place));
        redisReply *reply = links_commit(&audit->links, link);
        audit->unread = audit->unread || reply == NULL;
        snapshot->names[snapshot->count] = place;
        snapshot->replies[snapshot->count++] = reply;
    }
}

static void free_snapshot(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        freeReplyObject(snapshot->replies[i]);
    }
    snapshot->count = 0;
}

static bool snapshots_equal(const struct snapshot *a, const struct snapshot *b)
{
    bool equal = a->count == b->count;

    for (size_t i = 0; equal && i < a->count; i++) {
        equal = a->replies[i] != NULL && b->replies[i] != NULL &&
                replies_equal(a->replies[i], b->replies[i]);
    }
    return equal;
}

static struct hf_bytes place_of(const struct named *named)
{
    struct hf_bytes product, place;
    return key_split_counter(named_text(named), &product, &place) ? place : hf_text("");
}

static const redisReply *find_field(const redisReply *hash, struct hf_bytes field)
{
    for (size_t i = 0; i + 1 < hash->elements; i += 2) {
        if (text_equal(answer_text(hash->element[i]), field)) {
            return hash->element[i + 1];
        }
    }
    return NULL;
}

/* Has the transfer with this number arrived where it goes? */
static bool has_arrived(const struct snapshot *snapshot, struct hf_bytes from, struct hf_bytes to,
                        int64_t number)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        if (text_equal(place_of(snapshot->names[i]), to)) {
            const redisReply *last = find_field(snapshot->replies[i]->element[2], from);
            int64_t arrived = 0;
            return last != NULL && answer_integer(last, 0, &arrived) && arrived >= number;
        }
    }
    return false;
}

/* What is in an outbox and has not arrived. */
static int64_t count_open(const struct snapshot *snapshot, size_t place)
{
    const redisReply *outbox = snapshot->replies[place]->element[1];
    int64_t open = 0, number, quantity;

    for (size_t i = 0; i + 1 < outbox->elements; i += 2) {
        struct hf_bytes text = answer_text(outbox->element[i + 1]), first = first_word(text);
        struct hf_bytes second = {text.data + first.size + 1, text.size - first.size - 1};
        if (first.size < text.size && text_to_integer(first, &number) &&
            text_to_integer(second, &quantity) &&
            !has_arrived(snapshot, place_of(snapshot->names[place]),
                         answer_text(outbox->element[i]), number)) {
            open += quantity;
        }
    }
    return open;
}

static void judge_transfers(struct audit *audit, const struct named *product,
                            const struct snapshot *snapshot)
{
    int64_t moving = 0, open = 0, sent, received;
    bool has_main = false;

    for (size_t i = 0; i < snapshot->count; i++) {
        const redisReply *totals = snapshot->replies[i]->element[0];
        if (totals->type != REDIS_REPLY_ARRAY || totals->elements != 3 ||
            !answer_integer(totals->element[0], 0, &sent) ||
            !answer_integer(totals->element[1], 0, &received)) {
            audit->unread = true;
            return;
        }
        has_main = has_main || answer_is_text(totals->element[2]);
        moving = wrapped(moving + sent - received);
        open += count_open(snapshot, i);
    }
    if (!has_main) {
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
    const struct named *product = named_at(audit, PRODUCTS, index);
    struct snapshot first, second;
    bool settled = false;

    if (product->children[0] == NONE ||
        named_at(audit, PLACES, product->children[0])->next == NONE) {
        return; /* it has one place */
    }
    for (unsigned tries = 0; !settled && tries < TRIES && audit_goes_on(audit); tries++) {
        if (tries > 0) {
            audit_pause();
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
    audit_each(audit, PLACES, "product", check_place);
    audit_each(audit, PRODUCTS, "product", check_transfers);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Seats. For every event (see lua/parts/seats.lua for what is where):
 *
 *  1. capacity = available + reserved + confirmed of a zone, and nothing is negative. Reserved is
 *     what the holds among the deadlines add up to. A zone that another program made has no
 *     capacity; that of one that was opened is missed in 5.
 *  2. A user's count is what is on hold or in its grace, and what is confirmed for life. Redis
 *     deletes it once nothing counts any more, which is before a script removes the deadlines.
 *  3. Every reserved booking has a deadline, and every hold among the deadlines its booking, until
 *     it is due.
 *  4. What a zone and a user have confirmed is what the confirmed bookings add up to.
 *  5. Every name in the indexes of zones and bookings is that of one (audit_index.c).
 *
 * 1 and 2 are read in pages, a few times if they do not add up; what never did is read in one step,
 * with all deadlines of the event. 3 is read in one step for a booking that looks wrong. For 4
 * there may be any number of bookings. But a confirmed booking stays so unless it is refunded: the
 * sum of all that were seen lies between the totals read before the first and after the last of
 * them, give or take what was refunded in between, or something is wrong (audit_bookings.c). */
#include "redis/audit/audit_seats.h"

#include "base/text.h"

#include <string.h>

#define PASSES 3    /* how often pages are read before all is read in one step */
#define MEMBERS 200 /* zones or users read at a time */
#define JUDGED                                                                                     \
    1000 /* so many of an event are read in one step with all its deadlines, which costs */

/* ---- deadlines ------------------------------------------------------------------------------- */

static struct hf_bytes next_word(struct hf_bytes *rest)
{
    const char *end = rest->size > 0 ? memchr(rest->data, ' ', rest->size) : NULL;
    size_t size = end != NULL ? (size_t)(end - rest->data) : rest->size;
    size_t skip = end != NULL ? size + 1 : size;
    struct hf_bytes word = {rest->data, size};

    *rest = (struct hf_bytes){rest->data + skip, rest->size - skip};
    return word;
}

/* "h zone user quantity booking", or, while it only counts for its user, with a g and more behind
 * it. False if it is neither. */
static bool read_entry(struct hf_bytes entry, struct audit_hold *hold, bool *holds)
{
    struct hf_bytes rest = entry, kind = next_word(&rest);

    hold->zone = next_word(&rest);
    hold->user = next_word(&rest);
    hold->quantity_text = next_word(&rest);
    hold->booking = next_word(&rest);
    *holds = text_equal(kind, hf_text("h"));
    return (*holds || text_equal(kind, hf_text("g"))) && hold->zone.size > 0 &&
           hold->user.size > 0 && text_to_integer(hold->quantity_text, &hold->quantity) &&
           hold->quantity > 0 && hold->booking.size > 0;
}

static void forget_held(struct audit *audit, const struct audit_name *event)
{
    for (unsigned which = 0; which < AUDIT_EVENT_CHILDREN; which++) {
        EACH_CHILD(audit, event, which, event_children[which], i)
        {
            named_at(audit, event_children[which], i)->sums[AUDIT_HELD] = 0;
            named_at(audit, event_children[which], i)->sums[AUDIT_ENDS] = 0;
        }
    }
}

/* `step` is 2 if every entry has its score behind it, otherwise 1. */
static void add_up_entries(struct audit *audit, uint32_t event, const redisReply *entries,
                           size_t step)
{
    struct audit_hold hold;
    bool holds;

    for (size_t i = 0; i + step <= entries->elements; i += step) {
        if (!read_entry(audit_reply_text(entries->element[i]), &hold, &holds)) {
            continue;
        }
        struct audit_name *zone =
            audit_child(audit, AUDIT_EVENTS, event, AUDIT_ZONE_CHILDREN, AUDIT_ZONES, hold.zone);
        struct audit_name *user =
            audit_child(audit, AUDIT_EVENTS, event, AUDIT_USER_CHILDREN, AUDIT_USERS, hold.user);
        if (zone == NULL || user == NULL) {
            return;
        }
        zone->sums[AUDIT_HELD] += holds ? hold.quantity : 0;
        user->sums[AUDIT_HELD] += hold.quantity;
        int64_t ends_ms = INT64_MAX;
        if (step == 2 && audit_reply_integer(entries->element[i + 1], 0, &ends_ms)) {
            ends_ms += holds ? SEATS_USER_GRACE_MS : 0;
        }
        user->sums[AUDIT_ENDS] =
            ends_ms > user->sums[AUDIT_ENDS] ? ends_ms : user->sums[AUDIT_ENDS];
    }
}

/* Every hold has its booking. */
static void check_entries(struct audit *audit, size_t master, struct hf_bytes event,
                          const redisReply *entries)
{
    bool wrong[AUDIT_PAGE] = {false}, holds;
    struct audit_hold hold, recorded;

    for (size_t i = 0; i < entries->elements; i++) {
        struct hf_bytes entry = audit_reply_text(entries->element[i]);
        if (!read_entry(entry, &hold, &holds)) {
            audit_finding(audit, "event", event, NULL, event, "a deadline of nothing: %.*s",
                          entry.size < 300 ? (int)entry.size : 300, entry.data);
        } else if (holds) {
            booking_ask(audit, master, audit_key(audit, KEY_BOOKING, event, hold.booking));
        }
    }
    for (size_t i = 0; i < entries->elements; i++) {
        if (read_entry(audit_reply_text(entries->element[i]), &hold, &holds) && holds) {
            redisReply *record = audit_answer(audit, master);
            wrong[i] = !booking_is(record) || !booking_status_is(record, "reserved") ||
                       !booking_read(record, &recorded) || !hold_equal(&hold, &recorded);
            freeReplyObject(record);
        }
    }
    for (size_t i = 0; i < entries->elements; i++) {
        if (wrong[i] && read_entry(audit_reply_text(entries->element[i]), &hold, &holds)) {
            booking_recheck(audit, event, &hold);
        }
    }
}

/* The event whose deadlines are read, and whether its bookings are looked at as well. */
struct deadlines {
    uint32_t event;
    bool check;
};

static void take_deadlines(struct audit *audit, size_t master, const redisReply *entries,
                           void *context)
{
    const struct deadlines *read = context;

    add_up_entries(audit, read->event, entries, 1);
    if (read->check) {
        check_entries(audit, master, named_text(named_at(audit, AUDIT_EVENTS, read->event)),
                      entries);
    }
}

/* ---- zones and users ------------------------------------------------------------------------- */

/* What there is to know of a zone or a user: two questions. */
static void ask_member(struct audit *audit, size_t master, struct hf_bytes event, unsigned which,
                       struct hf_bytes member)
{
    if (which == AUDIT_ZONE_CHILDREN) {
        AUDIT_ASK(&audit->reader, master, hf_text("GET"),
                  audit_key(audit, KEY_ZONE, event, member));
        AUDIT_ASK(&audit->reader, master, hf_text("HMGET"),
                  audit_key(audit, KEY_ZONE_TOTALS, event, member), hf_text("capacity"),
                  hf_text("confirmed"));
    } else {
        AUDIT_ASK(&audit->reader, master, hf_text("GET"),
                  audit_key(audit, KEY_USER, event, member));
        AUDIT_ASK(&audit->reader, master, hf_text("GET"),
                  audit_key(audit, KEY_USER_CONFIRMED, event, member));
    }
}

/* 1. True if it adds up. */
static bool judge_zone(struct audit *audit, const struct audit_name *event,
                       const struct audit_name *zone, const redisReply *available_reply,
                       const redisReply *totals, bool report)
{
    int64_t available, capacity, confirmed;

    if (totals->type != REDIS_REPLY_ARRAY || totals->elements != 2 ||
        !audit_reply_integer(available_reply, 0, &available) ||
        !audit_reply_integer(totals->element[0], 0, &capacity) ||
        !audit_reply_integer(totals->element[1], 0, &confirmed)) {
        audit->unread = audit->unread || report;
        return false;
    }
    bool lost = available_reply->type == REDIS_REPLY_NIL;
    bool unknown = totals->element[0]->type == REDIS_REPLY_NIL;
    if (lost && unknown && zone->sums[AUDIT_HELD] == 0 && zone->sums[AUDIT_BOOKED] == 0) {
        return true; /* it is gone altogether, with nothing in it */
    }
    if (!lost && unknown && available >= 0 && confirmed >= 0) {
        return true; /* another program made it */
    }
    if (!lost && !unknown && available >= 0 && confirmed >= 0 &&
        capacity == available + zone->sums[AUDIT_HELD] + confirmed) {
        return true;
    }
    if (report) {
        audit_finding(audit, "zone", named_text(zone), "event", named_text(event),
                      "capacity %lld%s, but %lld available%s + %lld reserved + "
                      "%lld confirmed",
                      (long long)capacity, unknown ? " (lost)" : "", (long long)available,
                      lost ? " (lost)" : "", (long long)zone->sums[AUDIT_HELD],
                      (long long)confirmed);
    }
    return false;
}

/* 2. The time is known when all is read in one step; 0: it is not. */
static bool judge_user(struct audit *audit, const struct audit_name *event,
                       const struct audit_name *user, const redisReply *count_reply,
                       const redisReply *confirmed_reply, int64_t now_ms)
{
    bool report = now_ms > 0;
    int64_t count, confirmed[2];

    if (!audit_reply_integer(count_reply, 0, &count) ||
        !confirmed_read(confirmed_reply, confirmed)) {
        audit->unread = audit->unread || report;
        return false;
    }
    bool over = count_reply->type == REDIS_REPLY_NIL && user->sums[AUDIT_ENDS] <= now_ms;
    bool good = count == (over ? 0 : user->sums[AUDIT_HELD]) + confirmed[1] && count >= 0 &&
                confirmed[0] >= confirmed[1];
    if (!good && report) {
        audit_finding(audit, "user", named_text(user), "event", named_text(event),
                      "count %lld, but %lld on hold or in their grace + %lld "
                      "confirmed for life",
                      (long long)count, (long long)user->sums[AUDIT_HELD], (long long)confirmed[1]);
    }
    return good;
}

static bool judge(struct audit *audit, const struct audit_name *event, unsigned which,
                  const struct audit_name *member, const redisReply *first,
                  const redisReply *second, int64_t now_ms)
{
    return which == AUDIT_ZONE_CHILDREN
               ? judge_zone(audit, event, member, first, second, now_ms > 0)
               : judge_user(audit, event, member, first, second, now_ms);
}

/* In pages: which of them do not add up? Those that did before are not asked again. */
static void mark_members(struct audit *audit, struct audit_name *event, size_t master,
                         unsigned which)
{
    enum audit_kind kind = event_children[which];
    uint32_t next = event->children[which];

    while (next != NONE && audit_goes_on(audit)) {
        struct audit_name *page[MEMBERS];
        size_t count = 0;
        for (; next != NONE && count < MEMBERS; next = named_at(audit, kind, next)->next) {
            struct audit_name *member = named_at(audit, kind, next);
            if (member->suspect) {
                page[count++] = member;
                ask_member(audit, master, named_text(event), which, named_text(member));
            }
        }
        for (size_t i = 0; i < count; i++) {
            redisReply *one = audit_answer(audit, master), *two = audit_answer(audit, master);
            page[i]->suspect =
                one == NULL || two == NULL || !judge(audit, event, which, page[i], one, two, 0);
            freeReplyObject(one);
            freeReplyObject(two);
        }
    }
}

static bool has_suspects(const struct audit *audit, const struct audit_name *event)
{
    for (unsigned which = 0; which < AUDIT_EVENT_CHILDREN; which++) {
        EACH_CHILD(audit, event, which, event_children[which], i)
        {
            if (named_at(audit, event_children[which], i)->suspect) {
                return true;
            }
        }
    }
    return false;
}

static void suspect_all(struct audit *audit, const struct audit_name *event)
{
    for (unsigned which = 0; which < AUDIT_EVENT_CHILDREN; which++) {
        EACH_CHILD(audit, event, which, event_children[which], i)
        {
            named_at(audit, event_children[which], i)->suspect = true;
        }
    }
}

/* ---- in one step ----------------------------------------------------------------------------- */

/* Reads some that never added up, and all deadlines; what does not add up now is reported. Returns
 * where to go on. */
static uint32_t judge_suspects(struct audit *audit, uint32_t event_index, size_t master,
                               unsigned which, uint32_t next)
{
    enum audit_kind kind = event_children[which];
    struct audit_name *event = named_at(audit, AUDIT_EVENTS, event_index);
    struct hf_bytes name = named_text(event);
    struct audit_name *suspects[MEMBERS];
    size_t count = 0;

    for (; next != NONE && count < MEMBERS; next = named_at(audit, kind, next)->next) {
        if (named_at(audit, kind, next)->suspect) {
            suspects[count++] = named_at(audit, kind, next);
        }
    }
    if (count == 0) {
        return NONE;
    }
    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("ZRANGE"), KEY1(audit, KEY_SEATS_DUE, name),
              hf_text("0"), hf_text("-1"), hf_text("WITHSCORES"));
    AUDIT_ASK(&audit->reader, master, hf_text("TIME"));
    for (size_t i = 0; i < count; i++) {
        ask_member(audit, master, name, which, named_text(suspects[i]));
    }
    redisReply *replies = audit_reader_commit(&audit->reader, master);
    int64_t now_ms;
    if (replies == NULL || replies->element[0]->type != REDIS_REPLY_ARRAY ||
        !audit_reply_time(replies->element[1], &now_ms)) {
        audit->unread = true;
        freeReplyObject(replies);
        return NONE;
    }
    forget_held(audit, event);
    add_up_entries(audit, event_index, replies->element[0], 2);
    for (size_t i = 0; i < count; i++) {
        judge(audit, event, which, suspects[i], replies->element[2 + 2 * i],
              replies->element[3 + 2 * i], now_ms);
    }
    freeReplyObject(replies);
    return next;
}

/* There are too many to check each in one step: reports how many more have never added up. */
static uint32_t count_suspects(struct audit *audit, const struct audit_name *event, unsigned which,
                               uint32_t next)
{
    enum audit_kind kind = event_children[which];
    uint64_t count = 0;

    for (; next != NONE; next = named_at(audit, kind, next)->next) {
        count += named_at(audit, kind, next)->suspect ? 1 : 0;
    }
    if (count > 0) {
        audit_finding(audit, "event", named_text(event), NULL, named_text(event),
                      "%llu more of its %s did not add up", (unsigned long long)count,
                      kind == AUDIT_ZONES ? "zones" : "users");
    }
    return NONE;
}

static void check_event(struct audit *audit, uint32_t index)
{
    struct audit_name *event = named_at(audit, AUDIT_EVENTS, index);
    size_t master =
        audit_reader_owner(&audit->reader, KEY1(audit, KEY_SEATS_DUE, named_text(event)));

    if (event_is_closed(audit, event)) {
        return;
    }
    for (unsigned pass = 0; pass < PASSES && audit_goes_on(audit); pass++) {
        struct deadlines read = {index, pass == 0};
        forget_held(audit, event);
        audit_members(audit, KEY_SEATS_DUE, named_text(event), take_deadlines, &read);
        if (pass == 0) {
            suspect_all(audit, event); /* some may have come to light just now */
        }
        for (unsigned which = 0; which < AUDIT_EVENT_CHILDREN; which++) {
            mark_members(audit, event, master, which);
        }
        if (!has_suspects(audit, event)) {
            return;
        }
    }
    for (unsigned which = 0; which < AUDIT_EVENT_CHILDREN; which++) {
        uint32_t next = event->children[which];
        for (unsigned done = 0; next != NONE && audit_goes_on(audit); done += MEMBERS) {
            next = done < JUDGED ? judge_suspects(audit, index, master, which, next)
                                 : count_suspects(audit, event, which, next);
        }
    }
}

void audit_seats(struct audit *audit)
{
    audit_bookings(audit);
    audit_each(audit, AUDIT_EVENTS, "event", check_event);
    audit_each(audit, AUDIT_EVENTS, "event", audit_indexes);
}

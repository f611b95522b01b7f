/* SPDX-License-Identifier: Apache-2.0
 *
 * Seats. For every event (see lua/parts/seats.lua for what is where):
 *
 *  1. capacity = available + reserved + confirmed of a zone, and nothing is negative. Reserved is
 *     what the bookings add up to that have a deadline.
 *  2. A user's count is what is on hold or in its grace, and what is confirmed for life.
 *  3. Every booking that is reserved has a deadline, and every hold among the deadlines its booking.
 *  4. What a zone and a user have confirmed is what the confirmed bookings add up to.
 *
 * 1 and 2 are read in pages, a few times if they do not add up; what never did is read in one step,
 * by a script, which is the only long one: it takes about a second for a million holds of an event.
 * 3 is read in one step for a booking that looks wrong. For 4 there may be any number of bookings.
 * But a confirmed booking stays confirmed: so the sum of all that were seen lies between the totals
 * read before the first and after the last of them, or something is wrong. */
#include "redis/audit_seats.h"

#include "base/text.h"

#include <string.h>

#define ROUNDS 3      /* how often the bookings are added up before a difference is reported */
#define MEMBERS 200   /* zones or users read at a time */
#define BOOKINGS 1000 /* records read at a time */

/* ---- one record ------------------------------------------------------------------------------ */

void booking_ask(struct audit *audit, size_t link, struct hf_bytes key)
{
    ASK(&audit->links, link, hf_text("HMGET"), key, hf_text("status"), hf_text("zone_id"),
        hf_text("user_id"), hf_text("quantity"), hf_text("lifetime"), hf_text("booking_id"),
        hf_text("expires_at"));
}

bool booking_is(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == RECORD_FIELDS;
}

bool booking_status_is(const redisReply *record, const char *status)
{
    return answer_is_text(record->element[STATUS]) &&
           text_equal(answer_text(record->element[STATUS]), hf_text(status));
}

bool booking_read(const redisReply *record, struct hf_bytes booking, struct hold *hold)
{
    if (!answer_is_text(record->element[ZONE_ID]) || !answer_is_text(record->element[USER_ID]) ||
        !answer_is_text(record->element[BOOKING_ID]) ||
        !text_equal(answer_text(record->element[BOOKING_ID]), booking)) {
        return false;
    }
    hold->zone = answer_text(record->element[ZONE_ID]);
    hold->user = answer_text(record->element[USER_ID]);
    return answer_integer(record->element[QUANTITY], 0, &hold->quantity) && hold->quantity > 0;
}

struct hf_bytes booking_entry(struct audit *audit, struct hf_bytes booking)
{
    struct buffer *out = &audit->keys[audit->next_key++ % KEYS_AT_A_TIME];

    buffer_clear(out);
    buffer_text(out, "h ");
    buffer_bytes(out, booking.data, booking.size);
    if (out->failed) {
        links_fail(&audit->links, HF_BUSY, "not enough memory for the audit");
        return hf_text("");
    }
    return (struct hf_bytes){out->data, out->size};
}

/* ---- a booking that looks wrong -------------------------------------------------------------- */

/* A booking that is reserved, or that has a deadline. */
static void judge_booking(struct audit *audit, struct hf_bytes event, struct hf_bytes booking,
                          const redisReply *record, const redisReply *score)
{
    const redisReply *status = record->element[STATUS], *expires = record->element[EXPIRES_AT];
    struct hold hold;

    if (!answer_is_text(status)) {
        audit_finding(audit, "booking", booking, "event", event,
                      "has a deadline, but no record: what it held would never come back");
    } else if (!booking_status_is(record, "reserved")) {
        audit_finding(audit, "booking", booking, "event", event, "is %.*s, but has a deadline",
                      (int)status->len, status->str);
    } else if (!booking_read(record, booking, &hold) || !answer_is_text(expires)) {
        audit_finding(audit, "booking", booking, "event", event, "its record is damaged");
    } else if (score->type == REDIS_REPLY_NIL) {
        audit_finding(audit, "booking", booking, "event", event,
                      "reserved, but without a deadline: its %lld seats in zone %.*s would never "
                      "come back",
                      (long long)hold.quantity, (int)hold.zone.size, hold.zone.data);
    } else if (!text_equal(answer_text(score), answer_text(expires))) {
        audit_finding(audit, "booking", booking, "event", event,
                      "expires at %.*s, but its deadline is %.*s", (int)expires->len, expires->str,
                      (int)score->len, score->str);
    }
}

void booking_look(struct audit *audit, struct hf_bytes event, struct hf_bytes booking)
{
    struct hf_bytes due = KEY1(audit, SEATS_DUE_KEY, event);
    size_t link = links_of(&audit->links, due);

    links_begin(&audit->links, link);
    booking_ask(audit, link, audit_key(audit, BOOKING_KEY, event, booking));
    ASK(&audit->links, link, hf_text("ZSCORE"), due, booking_entry(audit, booking));
    redisReply *both = links_commit(&audit->links, link);
    if (both == NULL || !booking_is(both->element[0]) ||
        both->element[1]->type == REDIS_REPLY_ERROR) {
        audit->unread = true;
    } else if (answer_is_text(both->element[1]) ||
               booking_status_is(both->element[0], "reserved")) {
        judge_booking(audit, event, booking, both->element[0], both->element[1]);
    }
    freeReplyObject(both);
}

/* ---- all records ----------------------------------------------------------------------------- */

struct bookings {
    struct text_set seen;
    bool look; /* at those that are reserved, too */
};

struct page_entry {
    uint32_t event;
    struct hf_bytes booking;
    redisReply *record;
    bool reserved; /* its deadline is to be looked at */
};

static void count_confirmed(struct audit *audit, uint32_t event, const struct hold *hold,
                            bool for_life)
{
    struct named *zone = audit_child(audit, EVENTS, event, ZONE_CHILDREN, ZONES, hold->zone);
    struct named *user = audit_child(audit, EVENTS, event, USER_CHILDREN, USERS, hold->user);

    if (zone != NULL && user != NULL) {
        zone->sums[BOOKED] += hold->quantity;
        user->sums[BOOKED] += hold->quantity;
        user->sums[BOOKED_FOR_LIFE] += for_life ? hold->quantity : 0;
    }
}

static void take_record(struct audit *audit, struct page_entry *entry, bool look)
{
    const redisReply *record = entry->record;
    struct hold hold;

    if (!answer_is_text(record->element[STATUS]) || booking_status_is(record, "released")) {
        return; /* it is gone by now */
    }
    if (!booking_status_is(record, "confirmed")) {
        entry->reserved = look;
    } else if (booking_read(record, entry->booking, &hold)) {
        count_confirmed(audit, entry->event, &hold, answer_is_text(record->element[LIFETIME]));
    } else if (look) {
        audit_finding(audit, "booking", entry->booking, "event",
                      named_text(named_at(audit, EVENTS, entry->event)), "its record is damaged");
    }
}

static bool expires_at(const redisReply *record, const redisReply *score)
{
    const redisReply *expires = record->element[EXPIRES_AT];

    return answer_is_text(score) && answer_is_text(expires) &&
           text_equal(answer_text(score), answer_text(expires));
}

/* Every reserved booking has its deadline. */
static void check_reserved(struct audit *audit, size_t link, struct page_entry *page, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (page[i].reserved) {
            struct hf_bytes event = named_text(named_at(audit, EVENTS, page[i].event));
            ASK(&audit->links, link, hf_text("ZSCORE"), KEY1(audit, SEATS_DUE_KEY, event),
                booking_entry(audit, page[i].booking));
        }
    }
    for (size_t i = 0; i < count; i++) {
        redisReply *score = page[i].reserved ? audit_answer(audit, link) : NULL;
        page[i].reserved = score != NULL && !expires_at(page[i].record, score);
        freeReplyObject(score);
    }
    for (size_t i = 0; i < count; i++) {
        if (page[i].reserved) {
            booking_look(audit, named_text(named_at(audit, EVENTS, page[i].event)),
                         page[i].booking);
        }
    }
}

static void take_page(struct audit *audit, size_t link, struct page_entry *page, size_t count,
                      bool look)
{
    for (size_t i = 0; i < count; i++) {
        page[i].record = audit_answer(audit, link);
        if (booking_is(page[i].record)) {
            take_record(audit, &page[i], look);
        } else {
            named_at(audit, EVENTS, page[i].event)->suspect = true;
        }
    }
    check_reserved(audit, link, page, count);
    for (size_t i = 0; i < count; i++) {
        freeReplyObject(page[i].record);
    }
}

/* Asks for a record if its event is to be looked at; true if it did. */
static bool ask_booking(struct audit *audit, size_t link, struct hf_bytes key,
                        struct bookings *bookings, struct page_entry *entry)
{
    struct hf_bytes parts[KEY_PARTS_MAX];
    enum audit_key kind;
    uint32_t known = audit->names[EVENTS].slab.count;

    *entry = (struct page_entry){0};
    if (!audit_read_key(audit, key, &kind, parts) || kind != BOOKING_KEY ||
        !text_set_add(&bookings->seen, key)) {
        return false;
    }
    struct named *event = audit_name(audit, EVENTS, parts[0], &entry->event);
    if (event == NULL) {
        return false;
    }
    event->suspect = event->suspect || audit->names[EVENTS].slab.count > known;
    if (event->suspect) {
        entry->booking = parts[1];
        booking_ask(audit, link, key);
    }
    return event->suspect;
}

static void take_bookings(struct audit *audit, size_t link, const redisReply *keys, void *context)
{
    struct bookings *bookings = context;
    struct page_entry page[BOOKINGS];
    size_t count = 0;

    for (size_t i = 0; i < keys->elements && audit_goes_on(audit); i++) {
        count += ask_booking(audit, link, answer_text(keys->element[i]), bookings, &page[count]);
        if (count == BOOKINGS) {
            take_page(audit, link, page, count, bookings->look);
            count = 0;
        }
    }
    take_page(audit, link, page, count, bookings->look);
}

/* ---- what is confirmed -------------------------------------------------------------------- */

/* Reads one total of each zone and each user of an event. */
static void ask_confirmed(struct audit *audit, size_t link, struct hf_bytes event, unsigned which,
                          struct hf_bytes member)
{
    if (which == ZONE_CHILDREN) {
        ASK(&audit->links, link, hf_text("HGET"), audit_key(audit, ZONE_TOTALS_KEY, event, member),
            hf_text("confirmed"));
    } else {
        ASK(&audit->links, link, hf_text("GET"),
            audit_key(audit, USER_CONFIRMED_KEY, event, member));
    }
}

bool confirmed_read(const redisReply *reply, int64_t confirmed[2])
{
    confirmed[0] = confirmed[1] = 0;
    if (reply->type == REDIS_REPLY_NIL) {
        return true;
    }
    if (!answer_is_text(reply)) {
        return false;
    }
    const char *gap = memchr(reply->str, ' ', reply->len);
    size_t size = gap != NULL ? (size_t)(gap - reply->str) : reply->len;
    return text_to_integer((struct hf_bytes){reply->str, size}, &confirmed[0]) &&
           (gap == NULL ||
            text_to_integer((struct hf_bytes){gap + 1, reply->len - size - 1}, &confirmed[1]));
}

typedef void take_confirmed(struct audit *audit, struct named *event, unsigned which,
                            struct named *member, const int64_t confirmed[2], bool report);

static void each_confirmed(struct audit *audit, struct named *event, unsigned which, bool report,
                           take_confirmed *take)
{
    enum named_kind kind = event_children[which];
    struct hf_bytes name = named_text(event);
    size_t link = links_of(&audit->links, KEY1(audit, SEATS_DUE_KEY, name));
    uint32_t next = event->children[which];

    while (next != NONE && audit_goes_on(audit)) {
        uint32_t first = next;
        size_t count = 0;
        for (; next != NONE && count < MEMBERS; count++, next = named_at(audit, kind, next)->next) {
            ask_confirmed(audit, link, name, which, named_text(named_at(audit, kind, next)));
        }
        for (; count > 0; count--, first = named_at(audit, kind, first)->next) {
            redisReply *reply = audit_answer(audit, link);
            int64_t confirmed[2];
            if (reply != NULL && confirmed_read(reply, confirmed)) {
                take(audit, event, which, named_at(audit, kind, first), confirmed, report);
            } else {
                event->suspect = true;
            }
            freeReplyObject(reply);
        }
    }
}

static void take_before(struct audit *audit, struct named *event, unsigned which,
                        struct named *member, const int64_t confirmed[2], bool report)
{
    (void)audit;
    (void)event;
    (void)which;
    (void)report;
    member->sums[BOOKED] = member->sums[BOOKED_FOR_LIFE] = 0;
    member->sums[BEFORE] = confirmed[0];
    member->sums[BEFORE_FOR_LIFE] = confirmed[1];
}

static bool is_between(int64_t number, int64_t from, int64_t to)
{
    return from <= number && number <= to;
}

static void take_after(struct audit *audit, struct named *event, unsigned which,
                       struct named *member, const int64_t confirmed[2], bool report)
{
    int64_t *sums = member->sums;

    if (is_between(sums[BOOKED], sums[BEFORE], confirmed[0]) &&
        is_between(sums[BOOKED_FOR_LIFE], sums[BEFORE_FOR_LIFE], confirmed[1])) {
        return;
    }
    event->suspect = true;
    if (!report) {
        return;
    }
    if (which == ZONE_CHILDREN) {
        audit_finding(audit, "zone", named_text(member), "event", named_text(event),
                      "%lld confirmed, but its confirmed bookings have %lld seats",
                      (long long)confirmed[0], (long long)sums[BOOKED]);
    } else {
        audit_finding(audit, "user", named_text(member), "event", named_text(event),
                      "%lld confirmed (%lld for life), but the user's confirmed bookings have %lld "
                      "seats (%lld)",
                      (long long)confirmed[0], (long long)confirmed[1], (long long)sums[BOOKED],
                      (long long)sums[BOOKED_FOR_LIFE]);
    }
}

/* True if there is an event that has to be looked at again. */
static bool add_up_bookings(struct audit *audit, bool first, bool last)
{
    struct bookings bookings = {.look = first};
    bool again = false;

    EACH_NAMED(audit, EVENTS, i)
    {
        struct named *event = named_at(audit, EVENTS, i);
        for (unsigned which = 0; event->suspect && which < 2; which++) {
            each_confirmed(audit, event, which, false, take_before);
        }
    }
    text_set_init(&bookings.seen, audit);
    audit_scan(audit, BOOKING_KEY, take_bookings, &bookings);
    text_set_free(&bookings.seen);
    EACH_NAMED(audit, EVENTS, i)
    {
        struct named *event = named_at(audit, EVENTS, i);
        if (event->suspect) {
            event->suspect = false;
            for (unsigned which = 0; which < 2; which++) {
                each_confirmed(audit, event, which, last, take_after);
            }
            again = again || event->suspect;
        }
    }
    return again;
}

void audit_bookings(struct audit *audit)
{
    EACH_NAMED(audit, EVENTS, i)
    {
        named_at(audit, EVENTS, i)->suspect = true;
    }
    for (unsigned round = 0; round < ROUNDS && audit_goes_on(audit); round++) {
        if (!add_up_bookings(audit, round == 0, round + 1 == ROUNDS)) {
            return;
        }
        audit_pause();
        links_refresh(&audit->links);
    }
}

#define PASSES 3  /* how often pages are read before the script is called */
#define PAGE 1000 /* deadlines read at a time */

/* ---- deadlines ------------------------------------------------------------------------------- */

/* Whose hold it is: "h booking". */
static bool is_hold(struct hf_bytes entry, struct hf_bytes *booking)
{
    *booking = (struct hf_bytes){entry.data + 2, entry.size - 2};
    return entry.size > 2 && memcmp(entry.data, "h ", 2) == 0;
}

static bool next_number(struct hf_bytes *rest, int64_t *number)
{
    const char *gap = rest->size > 0 ? memchr(rest->data, ' ', rest->size) : NULL;

    if (gap == NULL) {
        return false;
    }
    struct hf_bytes word = {rest->data, (size_t)(gap - rest->data)};
    *rest = (struct hf_bytes){gap + 1, rest->size - word.size - 1};
    return text_to_integer(word, number) && *number >= 0;
}

/* What an expired hold still counts for: "g quantity deadline size user booking". */
static bool is_grace(struct hf_bytes entry, struct hold *hold)
{
    struct hf_bytes rest = {entry.data + 2, entry.size - 2};
    int64_t deadline, size;

    if (entry.size <= 2 || memcmp(entry.data, "g ", 2) != 0 ||
        !next_number(&rest, &hold->quantity) || !next_number(&rest, &deadline) ||
        !next_number(&rest, &size) || size == 0 || (uint64_t)size >= rest.size) {
        return false;
    }
    hold->zone = (struct hf_bytes){NULL, 0};
    hold->user = (struct hf_bytes){rest.data, (size_t)size};
    return true;
}

static void forget_held(struct audit *audit, const struct named *event)
{
    for (unsigned which = 0; which < EVENT_CHILDREN; which++) {
        EACH_CHILD(audit, event, which, event_children[which], i)
        {
            named_at(audit, event_children[which], i)->sums[HELD] = 0;
        }
    }
}

/* With no zone: only its user still counts it. */
static void add_hold(struct audit *audit, uint32_t event, const struct hold *hold)
{
    struct named *user = audit_child(audit, EVENTS, event, USER_CHILDREN, USERS, hold->user);
    struct named *zone = hold->zone.size > 0
                             ? audit_child(audit, EVENTS, event, ZONE_CHILDREN, ZONES, hold->zone)
                             : NULL;

    if (user != NULL) {
        user->sums[HELD] += hold->quantity;
    }
    if (zone != NULL) {
        zone->sums[HELD] += hold->quantity;
    }
}

/* A page of entries: asks for the bookings, adds up, and looks at those that are not as they should
 * be. */
static void take_entries(struct audit *audit, uint32_t event, size_t link,
                         const redisReply *entries, bool look)
{
    struct hf_bytes name = named_text(named_at(audit, EVENTS, event)), booking;
    bool wrong[PAGE] = {false};
    struct hold hold;

    for (size_t i = 0; i < entries->elements; i++) {
        if (is_hold(answer_text(entries->element[i]), &booking)) {
            booking_ask(audit, link, audit_key(audit, BOOKING_KEY, name, booking));
        }
    }
    for (size_t i = 0; i < entries->elements; i++) {
        struct hf_bytes entry = answer_text(entries->element[i]);
        if (is_hold(entry, &booking)) {
            redisReply *record = audit_answer(audit, link);
            wrong[i] = !booking_is(record) || !booking_status_is(record, "reserved") ||
                       !booking_read(record, booking, &hold);
            if (!wrong[i]) {
                add_hold(audit, event, &hold);
            }
            freeReplyObject(record);
        } else if (is_grace(entry, &hold)) {
            add_hold(audit, event, &hold);
        } else if (look) {
            audit_finding(audit, "event", name, NULL, name, "a deadline of nothing: %.*s",
                          entry.size < 300 ? (int)entry.size : 300, entry.data);
        }
    }
    for (size_t i = 0; i < entries->elements && look; i++) {
        if (wrong[i] && is_hold(answer_text(entries->element[i]), &booking)) {
            booking_look(audit, name, booking);
        }
    }
}

static void read_deadlines(struct audit *audit, uint32_t event, size_t link, bool look)
{
    struct hf_bytes name = named_text(named_at(audit, EVENTS, event));

    for (int64_t start = 0; audit_goes_on(audit); start += PAGE) {
        char from[21], to[21];
        struct hf_bytes first = {from, decimal_write(from, start)};
        struct hf_bytes last = {to, decimal_write(to, start + PAGE - 1)};
        ASK(&audit->links, link, hf_text("ZRANGE"), KEY1(audit, SEATS_DUE_KEY, name), first, last);
        redisReply *entries = audit_answer(audit, link);
        size_t count = entries != NULL ? entries->elements : 0;
        if (count > 0) {
            take_entries(audit, event, link, entries, look);
        }
        freeReplyObject(entries);
        if (count < PAGE) {
            return;
        }
    }
}

/* ---- zones and users ------------------------------------------------------------------------- */

/* The keys of a zone or a user: two, each for one answer. */
static void member_keys(struct audit *audit, struct hf_bytes event, unsigned which,
                        struct hf_bytes member, struct hf_bytes keys[2])
{
    bool zone = which == ZONE_CHILDREN;

    keys[0] = audit_key(audit, zone ? ZONE_KEY : USER_KEY, event, member);
    keys[1] = audit_key(audit, zone ? ZONE_TOTALS_KEY : USER_CONFIRMED_KEY, event, member);
}

static void ask_member(struct audit *audit, size_t link, struct hf_bytes event, unsigned which,
                       struct hf_bytes member)
{
    struct hf_bytes keys[2];

    member_keys(audit, event, which, member, keys);
    ASK(&audit->links, link, hf_text("GET"), keys[0]);
    if (which == ZONE_CHILDREN) {
        ASK(&audit->links, link, hf_text("HMGET"), keys[1], hf_text("capacity"),
            hf_text("confirmed"));
    } else {
        ASK(&audit->links, link, hf_text("GET"), keys[1]);
    }
}

/* 1. True if it adds up. */
static bool judge_zone(struct audit *audit, const struct named *event, const struct named *zone,
                       const redisReply *available_reply, const redisReply *totals, bool report)
{
    int64_t available, capacity, confirmed;

    if (totals->type != REDIS_REPLY_ARRAY || totals->elements != 2 ||
        !answer_integer(available_reply, 0, &available) ||
        !answer_integer(totals->element[0], 0, &capacity) ||
        !answer_integer(totals->element[1], 0, &confirmed)) {
        audit->unread = audit->unread || report;
        return false;
    }
    bool lost = available_reply->type == REDIS_REPLY_NIL;
    bool unknown = totals->element[0]->type == REDIS_REPLY_NIL;
    if (lost && unknown && zone->sums[HELD] == 0 && zone->sums[BOOKED] == 0) {
        return true; /* it is gone altogether, with nothing in it */
    }
    if (!lost && !unknown && available >= 0 && confirmed >= 0 &&
        capacity == available + zone->sums[HELD] + confirmed) {
        return true;
    }
    if (report) {
        audit_finding(audit, "zone", named_text(zone), "event", named_text(event),
                      "capacity %lld%s, but %lld available%s + %lld reserved + %lld confirmed",
                      (long long)capacity, unknown ? " (lost)" : "", (long long)available,
                      lost ? " (lost)" : "", (long long)zone->sums[HELD], (long long)confirmed);
    }
    return false;
}

/* 2. */
static bool judge_user(struct audit *audit, const struct named *event, const struct named *user,
                       const redisReply *count_reply, const redisReply *confirmed_reply,
                       bool report)
{
    int64_t count, confirmed[2];

    if (!answer_integer(count_reply, 0, &count) || !confirmed_read(confirmed_reply, confirmed)) {
        audit->unread = audit->unread || report;
        return false;
    }
    bool good =
        count == user->sums[HELD] + confirmed[1] && count >= 0 && confirmed[0] >= confirmed[1];
    if (!good && report) {
        audit_finding(audit, "user", named_text(user), "event", named_text(event),
                      "count %lld, but %lld on hold or in their grace + %lld confirmed for life",
                      (long long)count, (long long)user->sums[HELD], (long long)confirmed[1]);
    }
    return good;
}

static bool judge(struct audit *audit, const struct named *event, unsigned which,
                  const struct named *member, const redisReply *first, const redisReply *second,
                  bool report)
{
    return which == ZONE_CHILDREN ? judge_zone(audit, event, member, first, second, report)
                                  : judge_user(audit, event, member, first, second, report);
}

/* In pages: which of them do not add up? Those that did before are not asked again. */
static void mark_members(struct audit *audit, struct named *event, size_t link, unsigned which)
{
    enum named_kind kind = event_children[which];
    uint32_t next = event->children[which];

    while (next != NONE && audit_goes_on(audit)) {
        struct named *page[MEMBERS];
        size_t count = 0;
        for (; next != NONE && count < MEMBERS; next = named_at(audit, kind, next)->next) {
            struct named *member = named_at(audit, kind, next);
            if (member->suspect) {
                page[count++] = member;
                ask_member(audit, link, named_text(event), which, named_text(member));
            }
        }
        for (size_t i = 0; i < count; i++) {
            redisReply *one = audit_answer(audit, link), *two = audit_answer(audit, link);
            page[i]->suspect =
                one == NULL || two == NULL || !judge(audit, event, which, page[i], one, two, false);
            freeReplyObject(one);
            freeReplyObject(two);
        }
    }
}

static bool has_suspects(const struct audit *audit, const struct named *event)
{
    for (unsigned which = 0; which < EVENT_CHILDREN; which++) {
        EACH_CHILD(audit, event, which, event_children[which], i)
        {
            if (named_at(audit, event_children[which], i)->suspect) {
                return true;
            }
        }
    }
    return false;
}

static void suspect_all(struct audit *audit, const struct named *event)
{
    for (unsigned which = 0; which < EVENT_CHILDREN; which++) {
        EACH_CHILD(audit, event, which, event_children[which], i)
        {
            named_at(audit, event_children[which], i)->suspect = true;
        }
    }
}

/* ---- in one step ----------------------------------------------------------------------------- */

/* KEYS: the deadlines, then two of each zone or user. ARGV: how the key of a booking begins; 1 if
 * they are zones. Reply: zone, user, quantity of each hold; the entries of the others; two answers
 * for each zone or user. */
static const char script[] =
    "local holds, others = {}, {}\n"
    "for _, entry in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do\n"
    "    if entry:sub(1, 2) == 'h ' then\n"
    "        local record = redis.call('HMGET', ARGV[1] .. entry:sub(3),\n"
    "            'status', 'zone_id', 'user_id', 'quantity')\n"
    "        if record[1] == 'reserved' and record[2] and record[3] and record[4] then\n"
    "            for i = 2, 4 do\n"
    "                holds[#holds + 1] = record[i]\n"
    "            end\n"
    "        end\n"
    "    else\n"
    "        others[#others + 1] = entry\n"
    "    end\n"
    "end\n"
    "local reply = {holds, others}\n"
    "for i = 2, #KEYS, 2 do\n"
    "    reply[i + 1] = redis.call('GET', KEYS[i])\n"
    "    reply[i + 2] = ARGV[2] == '1' and redis.call('HMGET', KEYS[i + 1], 'capacity', "
    "'confirmed')\n"
    "        or ARGV[2] ~= '1' and redis.call('GET', KEYS[i + 1])\n"
    "end\n"
    "return reply\n";

#define SCRIPT_KEYS_MAX (1 + 2 * MEMBERS)

/* Calls it. The keys of all members stand in one buffer, one behind the other. */
static redisReply *call_script(struct audit *audit, size_t link, struct hf_bytes event,
                               unsigned which, struct named *const *members, size_t count)
{
    struct hf_bytes words[3 + SCRIPT_KEYS_MAX + 2], keys[2];
    size_t starts[2 * MEMBERS], sizes[2 * MEMBERS], at = 0;
    char number[21];
    struct buffer text;

    buffer_init(&text, &audit->memory);
    for (size_t i = 0; i < count; i++) {
        member_keys(audit, event, which, named_text(members[i]), keys);
        for (size_t j = 0; j < 2; j++) {
            starts[2 * i + j] = text.size;
            sizes[2 * i + j] = keys[j].size;
            buffer_bytes(&text, keys[j].data, keys[j].size);
        }
    }
    if (text.failed) {
        links_fail(&audit->links, HF_BUSY, "not enough memory for the audit");
    }
    words[at++] = hf_text("EVAL");
    words[at++] = hf_text(script);
    words[at++] = (struct hf_bytes){number, decimal_write(number, 1 + 2 * (int64_t)count)};
    words[at++] = KEY1(audit, SEATS_DUE_KEY, event);
    for (size_t i = 0; i < 2 * count; i++) {
        words[at++] = (struct hf_bytes){text.data + starts[i], sizes[i]};
    }
    words[at++] = audit_key(audit, BOOKING_KEY, event, hf_text(""));
    words[at++] = hf_text(which == ZONE_CHILDREN ? "1" : "0");
    links_ask(&audit->links, link, at, words);
    redisReply *reply = audit_answer(audit, link);
    buffer_free(&text);
    return reply;
}

static bool is_script_reply(const redisReply *reply, size_t members)
{
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
           reply->elements == 2 + 2 * members && reply->element[0]->type == REDIS_REPLY_ARRAY &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

static void add_up_holds(struct audit *audit, uint32_t event, const redisReply *holds,
                         const redisReply *others)
{
    struct hold hold;

    for (size_t i = 0; i + 2 < holds->elements; i += 3) {
        hold.zone = answer_text(holds->element[i]);
        hold.user = answer_text(holds->element[i + 1]);
        if (answer_integer(holds->element[i + 2], 0, &hold.quantity)) {
            add_hold(audit, event, &hold);
        }
    }
    for (size_t i = 0; i < others->elements; i++) {
        if (is_grace(answer_text(others->element[i]), &hold)) {
            add_hold(audit, event, &hold);
        }
    }
}

/* Reads some that never added up with all that is on hold; what does not add up now is reported.
 * Returns where to go on. */
static uint32_t judge_suspects(struct audit *audit, uint32_t event_index, size_t link,
                               unsigned which, uint32_t next)
{
    enum named_kind kind = event_children[which];
    struct named *event = named_at(audit, EVENTS, event_index);
    struct named *suspects[MEMBERS];
    size_t count = 0;

    for (; next != NONE && count < MEMBERS; next = named_at(audit, kind, next)->next) {
        if (named_at(audit, kind, next)->suspect) {
            suspects[count++] = named_at(audit, kind, next);
        }
    }
    if (count == 0) {
        return NONE;
    }
    redisReply *reply = call_script(audit, link, named_text(event), which, suspects, count);
    if (!is_script_reply(reply, count)) {
        audit->unread = true;
        freeReplyObject(reply);
        return NONE;
    }
    forget_held(audit, event);
    add_up_holds(audit, event_index, reply->element[0], reply->element[1]);
    for (size_t i = 0; i < count; i++) {
        judge(audit, event, which, suspects[i], reply->element[2 + 2 * i],
              reply->element[3 + 2 * i], true);
    }
    freeReplyObject(reply);
    return next;
}

static void check_event(struct audit *audit, uint32_t index)
{
    struct named *event = named_at(audit, EVENTS, index);
    size_t link = links_of(&audit->links, KEY1(audit, SEATS_DUE_KEY, named_text(event)));

    for (unsigned pass = 0; pass < PASSES && audit_goes_on(audit); pass++) {
        forget_held(audit, event);
        read_deadlines(audit, index, link, pass == 0);
        if (pass == 0) {
            suspect_all(audit, event); /* some may have come to light just now */
        }
        for (unsigned which = 0; which < EVENT_CHILDREN; which++) {
            mark_members(audit, event, link, which);
        }
        if (!has_suspects(audit, event)) {
            return;
        }
    }
    for (unsigned which = 0; which < EVENT_CHILDREN; which++) {
        uint32_t next = event->children[which];
        while (next != NONE && audit_goes_on(audit)) {
            next = judge_suspects(audit, index, link, which, next);
        }
    }
}

void audit_seats(struct audit *audit)
{
    audit_bookings(audit);
    audit_each(audit, EVENTS, "event", check_event);
}

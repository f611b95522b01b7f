/* SPDX-License-Identifier: Apache-2.0
 *
 * Seats. For every event (see lua/parts/seats.lua for what is where):
 *
 *  1. capacity = available + reserved + confirmed of a zone, and nothing is negative. Reserved is
 *     what the holds among the deadlines add up to.
 *  2. A user's count is what is on hold or in its grace, and what is confirmed for life.
 *  3. Every hold among the deadlines has its booking, reserved, and the other way round.
 *  4. What a zone and a user have confirmed is what the confirmed bookings add up to.
 *
 * 1 and 2 are looked at in pages first; what does not add up is read again in one step. 3 is read
 * again in one step for a booking that looks wrong. For 4 there may be too many bookings for that.
 * But a confirmed booking stays confirmed: so the sum of all that were seen lies between the totals
 * read before the first and after the last of them, or something is wrong. */
#include "base/text.h"
#include "redis/audit_state.h"

#include <string.h>

#define ROUNDS 3      /* how often the bookings are added up before a difference is reported */
#define PAGE 1000     /* deadlines read at a time */
#define MEMBERS 200   /* zones or users read at a time */
#define BOOKINGS 1000 /* records read at a time */

enum { ZONE_CHILDREN, USER_CHILDREN };

/* Sums of a zone and of a user. */
enum { HELD, BOOKED, BOOKED_FOR_LIFE, BEFORE, BEFORE_FOR_LIFE };

static const enum named_kind member_kinds[] = {[ZONE_CHILDREN] = ZONES, [USER_CHILDREN] = USERS};

/* ---- one hold -------------------------------------------------------------------------------- */

/* What a record and an entry of the deadlines have in common. */
struct hold {
    struct hf_bytes zone, user, quantity_text, booking;
    int64_t quantity;
};

static const char *const record_fields[] = {"status",   "zone_id",    "user_id",   "quantity",
                                            "lifetime", "booking_id", "expires_at"};
enum { STATUS, ZONE_ID, USER_ID, QUANTITY, LIFETIME, BOOKING_ID, EXPIRES_AT, RECORD_FIELDS };

static void ask_record(struct audit *audit, size_t link, struct hf_bytes key)
{
    struct hf_bytes words[2 + RECORD_FIELDS] = {hf_text("HMGET"), key};

    for (size_t i = 0; i < RECORD_FIELDS; i++) {
        words[2 + i] = hf_text(record_fields[i]);
    }
    links_ask(&audit->links, link, 2 + RECORD_FIELDS, words);
}

static bool is_record(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == RECORD_FIELDS;
}

static bool status_is(const redisReply *record, const char *status)
{
    return answer_is_text(record->element[STATUS]) &&
           text_equal(answer_text(record->element[STATUS]), hf_text(status));
}

/* What a record says of its seats; false if it does not. */
static bool read_record(const redisReply *record, struct hold *hold)
{
    if (!answer_is_text(record->element[ZONE_ID]) || !answer_is_text(record->element[USER_ID]) ||
        !answer_is_text(record->element[QUANTITY]) ||
        !answer_is_text(record->element[BOOKING_ID])) {
        return false;
    }
    *hold = (struct hold){.zone = answer_text(record->element[ZONE_ID]),
                          .user = answer_text(record->element[USER_ID]),
                          .quantity_text = answer_text(record->element[QUANTITY]),
                          .booking = answer_text(record->element[BOOKING_ID])};
    return text_to_integer(hold->quantity_text, &hold->quantity) && hold->quantity > 0;
}

static struct hf_bytes next_word(struct hf_bytes *rest)
{
    const char *end = memchr(rest->data, ' ', rest->size);
    size_t size = end != NULL ? (size_t)(end - rest->data) : rest->size;
    struct hf_bytes word = {rest->data, size};
    size_t skip = end != NULL ? size + 1 : size;

    *rest = (struct hf_bytes){rest->data + skip, rest->size - skip};
    return word;
}

/* "h zone user quantity booking", or with a g, and more behind it. False if it is neither. */
static bool read_entry(struct hf_bytes entry, struct hold *hold, bool *is_hold)
{
    struct hf_bytes rest = entry, kind = next_word(&rest);

    hold->zone = next_word(&rest);
    hold->user = next_word(&rest);
    hold->quantity_text = next_word(&rest);
    hold->booking = next_word(&rest);
    *is_hold = text_equal(kind, hf_text("h"));
    return (*is_hold || text_equal(kind, hf_text("g"))) && hold->zone.size > 0 &&
           hold->user.size > 0 && text_to_integer(hold->quantity_text, &hold->quantity) &&
           hold->quantity > 0 && hold->booking.size > 0;
}

/* The entry of a hold among the deadlines, in `out`. */
static struct hf_bytes write_entry(struct audit *audit, const struct hold *hold)
{
    struct buffer *out = &audit->keys[audit->next_key++ % KEYS_AT_A_TIME];
    const struct hf_bytes words[] = {hold->zone, hold->user, hold->quantity_text, hold->booking};

    buffer_clear(out);
    buffer_byte(out, 'h');
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        buffer_byte(out, ' ');
        buffer_bytes(out, words[i].data, words[i].size);
    }
    if (out->failed) {
        links_fail(&audit->links, HF_BUSY, "not enough memory for the audit");
        return hf_text("");
    }
    return (struct hf_bytes){out->data, out->size};
}

static bool same_hold(const struct hold *a, const struct hold *b)
{
    return a->quantity == b->quantity && text_equal(a->zone, b->zone) &&
           text_equal(a->user, b->user) && text_equal(a->booking, b->booking);
}

/* ---- a booking that looks wrong -------------------------------------------------------------- */

/* Reads a booking and an entry of the deadlines in one step; NULL if it cannot be. */
static redisReply *read_both(struct audit *audit, struct hf_bytes event, struct hf_bytes booking,
                             struct hf_bytes entry)
{
    struct hf_bytes due = KEY1(audit, SEATS_DUE_KEY, event);
    struct hf_bytes record = audit_key(audit, BOOKING_KEY, event, booking);
    size_t link = links_of(&audit->links, due);

    links_begin(&audit->links, link);
    ask_record(audit, link, record);
    ASK(&audit->links, link, hf_text("ZSCORE"), due, entry);
    redisReply *both = links_commit(&audit->links, link);
    if (both != NULL &&
        (!is_record(both->element[0]) || both->element[1]->type == REDIS_REPLY_ERROR)) {
        freeReplyObject(both);
        both = NULL;
    }
    audit->unread = audit->unread || both == NULL;
    return both;
}

/* A reserved booking whose deadline was not where it should be. */
static void look_at_booking(struct audit *audit, struct hf_bytes event, struct hf_bytes booking,
                            struct hf_bytes entry)
{
    struct hold then, now;
    bool is_hold;
    int64_t deadline, expires_at;

    redisReply *both = read_both(audit, event, booking, entry);
    if (both == NULL || !read_entry(entry, &then, &is_hold)) {
        freeReplyObject(both);
        return;
    }
    const redisReply *record = both->element[0], *score = both->element[1];
    if (!status_is(record, "reserved") || !read_record(record, &now) || !same_hold(&then, &now)) {
        freeReplyObject(both); /* it has changed since, and is not what was looked for */
        return;
    }
    if (score->type == REDIS_REPLY_NIL) {
        audit_finding(audit, "booking", booking, "event", event,
                      "reserved, but not among the deadlines: its %lld seats in zone %.*s would "
                      "never come back",
                      (long long)now.quantity, (int)now.zone.size, now.zone.data);
    } else if (!answer_integer(score, 0, &deadline) ||
               !answer_integer(record->element[EXPIRES_AT], 0, &expires_at) ||
               deadline != expires_at) {
        audit_finding(audit, "booking", booking, "event", event,
                      "expires at %.*s, but among the deadlines it stands at %.*s",
                      (int)record->element[EXPIRES_AT]->len,
                      answer_is_text(record->element[EXPIRES_AT]) ? record->element[EXPIRES_AT]->str
                                                                  : "",
                      (int)score->len, score->str);
    }
    freeReplyObject(both);
}

/* A hold among the deadlines whose booking was not as it should be. */
static void look_at_entry(struct audit *audit, struct hf_bytes event, struct hf_bytes entry)
{
    struct hold hold, recorded;
    bool is_hold;

    if (!read_entry(entry, &hold, &is_hold)) {
        return;
    }
    redisReply *both = read_both(audit, event, hold.booking, entry);
    if (both == NULL || both->element[1]->type == REDIS_REPLY_NIL) {
        freeReplyObject(both);
        return;
    }
    const redisReply *record = both->element[0];
    if (!answer_is_text(record->element[STATUS])) {
        audit_finding(audit, "booking", hold.booking, "event", event,
                      "holds %lld seats in zone %.*s, but has no record", (long long)hold.quantity,
                      (int)hold.zone.size, hold.zone.data);
    } else if (!status_is(record, "reserved")) {
        audit_finding(audit, "booking", hold.booking, "event", event,
                      "holds %lld seats in zone %.*s, but is %.*s", (long long)hold.quantity,
                      (int)hold.zone.size, hold.zone.data, (int)record->element[STATUS]->len,
                      record->element[STATUS]->str);
    } else if (!read_record(record, &recorded) || !same_hold(&hold, &recorded)) {
        audit_finding(audit, "booking", hold.booking, "event", event,
                      "holds %lld seats in zone %.*s, but its record says otherwise",
                      (long long)hold.quantity, (int)hold.zone.size, hold.zone.data);
    }
    freeReplyObject(both);
}

/* ---- 3 and 4: all bookings ------------------------------------------------------------------- */

struct bookings {
    struct text_set seen;
    bool look; /* at those that are reserved, too */
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

/* One record; `*reserved` if its deadline is to be looked at. */
static void take_record(struct audit *audit, uint32_t event, struct hf_bytes booking,
                        const redisReply *record, bool look, struct hold *hold, bool *reserved)
{
    struct hf_bytes event_name = named_text(named_at(audit, EVENTS, event));

    *reserved = false;
    if (!answer_is_text(record->element[STATUS]) || status_is(record, "released")) {
        return;
    }
    if (!read_record(record, hold) || !text_equal(hold->booking, booking)) {
        if (look) {
            audit_finding(audit, "booking", booking, "event", event_name, "its record is damaged");
        }
    } else if (status_is(record, "confirmed")) {
        count_confirmed(audit, event, hold, answer_is_text(record->element[LIFETIME]));
    } else {
        *reserved = look;
    }
}

struct page_entry {
    uint32_t event;
    struct hf_bytes booking;
    redisReply *record;
    struct hold hold;
    bool reserved;
};

/* Asks for the deadlines of those that are reserved, and looks again at what is not as expected. */
static void check_reserved(struct audit *audit, size_t link, struct page_entry *page, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (page[i].reserved) {
            struct hf_bytes event = named_text(named_at(audit, EVENTS, page[i].event));
            ASK(&audit->links, link, hf_text("ZSCORE"), KEY1(audit, SEATS_DUE_KEY, event),
                write_entry(audit, &page[i].hold));
        }
    }
    for (size_t i = 0; i < count; i++) {
        redisReply *score = page[i].reserved ? audit_answer(audit, link) : NULL;
        page[i].reserved =
            score != NULL &&
            !(answer_is_text(score) && page[i].record != NULL &&
              answer_is_text(page[i].record->element[EXPIRES_AT]) &&
              text_equal(answer_text(score), answer_text(page[i].record->element[EXPIRES_AT])));
        freeReplyObject(score);
    }
    for (size_t i = 0; i < count; i++) {
        if (page[i].reserved) {
            look_at_booking(audit, named_text(named_at(audit, EVENTS, page[i].event)),
                            page[i].booking, write_entry(audit, &page[i].hold));
        }
    }
}

static void take_page(struct audit *audit, size_t link, struct page_entry *page, size_t count,
                      bool look)
{
    for (size_t i = 0; i < count; i++) {
        redisReply *record = audit_answer(audit, link);
        page[i].record = record != NULL && is_record(record) ? record : NULL;
        if (page[i].record == NULL) {
            named_at(audit, EVENTS, page[i].event)->suspect = true;
            freeReplyObject(record);
        } else {
            take_record(audit, page[i].event, page[i].booking, record, look, &page[i].hold,
                        &page[i].reserved);
        }
    }
    check_reserved(audit, link, page, count);
    for (size_t i = 0; i < count; i++) {
        freeReplyObject(page[i].record);
    }
}

static void take_bookings(struct audit *audit, size_t link, const redisReply *keys, void *context)
{
    struct bookings *bookings = context;
    struct page_entry page[BOOKINGS];
    struct hf_bytes parts[KEY_PARTS_MAX];
    enum audit_key kind;
    size_t count = 0;
    uint32_t event;

    for (size_t i = 0; i < keys->elements && audit_goes_on(audit); i++) {
        struct hf_bytes key = answer_text(keys->element[i]);
        if (audit_read_key(audit, key, &kind, parts) && kind == BOOKING_KEY &&
            text_set_add(&bookings->seen, key)) {
            uint32_t known = audit->names[EVENTS].slab.count;
            struct named *named = audit_name(audit, EVENTS, parts[0], &event);
            if (named == NULL) {
                return;
            }
            named->suspect = named->suspect || audit->names[EVENTS].slab.count > known;
            if (named->suspect) {
                ask_record(audit, link, key);
                page[count++] = (struct page_entry){.event = event, .booking = parts[1]};
            }
        }
        if (count == BOOKINGS || i + 1 == keys->elements) {
            take_page(audit, link, page, count, bookings->look);
            count = 0;
        }
    }
}

/* ---- 4: what is confirmed -------------------------------------------------------------------- */

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

/* "confirmed lifetime" of a user, or one number of a zone. */
static bool read_confirmed(const redisReply *reply, int64_t confirmed[2])
{
    confirmed[0] = confirmed[1] = 0;
    if (reply->type == REDIS_REPLY_NIL) {
        return true;
    }
    struct hf_bytes rest = answer_text(reply), first = next_word(&rest);
    return answer_is_text(reply) && text_to_integer(first, &confirmed[0]) &&
           (rest.size == 0 || text_to_integer(rest, &confirmed[1]));
}

typedef void take_confirmed(struct audit *audit, struct named *event, unsigned which,
                            struct named *member, const int64_t confirmed[2], bool report);

static void each_confirmed(struct audit *audit, struct named *event, unsigned which, bool report,
                           take_confirmed *take)
{
    enum named_kind kind = member_kinds[which];
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
            if (reply != NULL && read_confirmed(reply, confirmed)) {
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

static void check_bookings(struct audit *audit)
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

/* ---- 1, 2 and 3: the deadlines --------------------------------------------------------------- */

static void forget_held(struct audit *audit, const struct named *event)
{
    for (unsigned which = 0; which < 2; which++) {
        EACH_CHILD(audit, event, which, member_kinds[which], i)
        {
            named_at(audit, member_kinds[which], i)->sums[HELD] = 0;
        }
    }
}

/* Adds up entries and their scores. */
static void add_up_entries(struct audit *audit, uint32_t event, const redisReply *entries)
{
    struct hold hold;
    bool is_hold;

    for (size_t i = 0; i + 1 < entries->elements; i += 2) {
        if (!read_entry(answer_text(entries->element[i]), &hold, &is_hold)) {
            continue;
        }
        struct named *zone = audit_child(audit, EVENTS, event, ZONE_CHILDREN, ZONES, hold.zone);
        struct named *user = audit_child(audit, EVENTS, event, USER_CHILDREN, USERS, hold.user);
        if (zone == NULL || user == NULL) {
            return;
        }
        zone->sums[HELD] += is_hold ? hold.quantity : 0;
        user->sums[HELD] += hold.quantity;
    }
}

/* Does a booking's record say what its entry does? */
static bool agrees(const redisReply *record, const struct hold *hold)
{
    struct hold recorded;

    return record != NULL && is_record(record) && status_is(record, "reserved") &&
           read_record(record, &recorded) && same_hold(hold, &recorded);
}

/* 3: every hold has its booking. */
static void check_entries(struct audit *audit, size_t link, struct hf_bytes event,
                          const redisReply *entries)
{
    bool wrong[PAGE] = {false}, is_hold;
    struct hold hold;

    for (size_t i = 0; i + 1 < entries->elements; i += 2) {
        struct hf_bytes entry = answer_text(entries->element[i]);
        if (!read_entry(entry, &hold, &is_hold)) {
            audit_finding(audit, "event", event, NULL, event, "a deadline that says nothing: %.*s",
                          entry.size < 300 ? (int)entry.size : 300, entry.data);
        } else if (is_hold) {
            ask_record(audit, link, audit_key(audit, BOOKING_KEY, event, hold.booking));
        }
    }
    for (size_t i = 0; i + 1 < entries->elements; i += 2) {
        if (read_entry(answer_text(entries->element[i]), &hold, &is_hold) && is_hold) {
            redisReply *record = audit_answer(audit, link);
            wrong[i / 2] = !agrees(record, &hold);
            freeReplyObject(record);
        }
    }
    for (size_t i = 0; i + 1 < entries->elements; i += 2) {
        if (wrong[i / 2]) {
            look_at_entry(audit, event, answer_text(entries->element[i]));
        }
    }
}

static void read_deadlines(struct audit *audit, uint32_t event, size_t link)
{
    struct hf_bytes name = named_text(named_at(audit, EVENTS, event));

    for (int64_t start = 0; audit_goes_on(audit); start += PAGE) {
        char from[21], to[21];
        struct hf_bytes first = {from, decimal_write(from, start)};
        struct hf_bytes last = {to, decimal_write(to, start + PAGE - 1)};
        ASK(&audit->links, link, hf_text("ZRANGE"), KEY1(audit, SEATS_DUE_KEY, name), first, last,
            hf_text("WITHSCORES"));
        redisReply *entries = audit_answer(audit, link);
        size_t count = entries != NULL ? entries->elements : 0;
        if (count > 0) {
            add_up_entries(audit, event, entries);
            check_entries(audit, link, name, entries);
        }
        freeReplyObject(entries);
        if (count < 2 * PAGE) {
            return;
        }
    }
}

/* What there is to know of a zone or a user: two questions. */
static void ask_member(struct audit *audit, size_t link, struct hf_bytes event, unsigned which,
                       struct hf_bytes member)
{
    if (which == ZONE_CHILDREN) {
        ASK(&audit->links, link, hf_text("GET"), audit_key(audit, ZONE_KEY, event, member));
        ASK(&audit->links, link, hf_text("HMGET"), audit_key(audit, ZONE_TOTALS_KEY, event, member),
            hf_text("capacity"), hf_text("confirmed"));
    } else {
        ASK(&audit->links, link, hf_text("GET"), audit_key(audit, USER_KEY, event, member));
        ASK(&audit->links, link, hf_text("GET"),
            audit_key(audit, USER_CONFIRMED_KEY, event, member));
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

    if (!answer_integer(count_reply, 0, &count) || !read_confirmed(confirmed_reply, confirmed)) {
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

/* In pages: marks what does not add up. */
static void mark_members(struct audit *audit, struct named *event, size_t link, unsigned which)
{
    enum named_kind kind = member_kinds[which];
    struct hf_bytes name = named_text(event);
    uint32_t next = event->children[which];

    while (next != NONE && audit_goes_on(audit)) {
        uint32_t first = next;
        size_t count = 0;
        for (; next != NONE && count < MEMBERS; count++, next = named_at(audit, kind, next)->next) {
            ask_member(audit, link, name, which, named_text(named_at(audit, kind, next)));
        }
        for (; count > 0; count--, first = named_at(audit, kind, first)->next) {
            struct named *member = named_at(audit, kind, first);
            redisReply *one = audit_answer(audit, link), *two = audit_answer(audit, link);
            member->suspect =
                one == NULL || two == NULL || !judge(audit, event, which, member, one, two, false);
            freeReplyObject(one);
            freeReplyObject(two);
        }
    }
}

/* Reads some that did not add up, and all deadlines, in one step; what does not add up now is
 * reported. Returns where to go on. */
static uint32_t judge_suspects(struct audit *audit, uint32_t event_index, size_t link,
                               unsigned which, uint32_t next)
{
    enum named_kind kind = member_kinds[which];
    struct named *event = named_at(audit, EVENTS, event_index);
    struct hf_bytes name = named_text(event);
    struct named *suspects[MEMBERS];
    size_t count = 0;

    links_begin(&audit->links, link);
    ASK(&audit->links, link, hf_text("ZRANGE"), KEY1(audit, SEATS_DUE_KEY, name), hf_text("0"),
        hf_text("-1"), hf_text("WITHSCORES"));
    for (; next != NONE && count < MEMBERS; next = named_at(audit, kind, next)->next) {
        struct named *member = named_at(audit, kind, next);
        if (member->suspect) {
            suspects[count++] = member;
            ask_member(audit, link, name, which, named_text(member));
        }
    }
    redisReply *replies = links_commit(&audit->links, link);
    if (replies == NULL || replies->element[0]->type != REDIS_REPLY_ARRAY) {
        audit->unread = true;
        freeReplyObject(replies);
        return NONE;
    }
    forget_held(audit, event);
    add_up_entries(audit, event_index, replies->element[0]);
    for (size_t i = 0; i < count; i++) {
        judge(audit, event, which, suspects[i], replies->element[1 + 2 * i],
              replies->element[2 + 2 * i], true);
    }
    freeReplyObject(replies);
    return next;
}

static bool has_suspects(const struct audit *audit, const struct named *event, unsigned which)
{
    EACH_CHILD(audit, event, which, member_kinds[which], i)
    {
        if (named_at(audit, member_kinds[which], i)->suspect) {
            return true;
        }
    }
    return false;
}

static void check_event(struct audit *audit, uint32_t index)
{
    struct named *event = named_at(audit, EVENTS, index);
    size_t link = links_of(&audit->links, KEY1(audit, SEATS_DUE_KEY, named_text(event)));

    forget_held(audit, event);
    read_deadlines(audit, index, link);
    for (unsigned which = 0; which < 2; which++) {
        mark_members(audit, event, link, which);
    }
    for (unsigned which = 0; which < 2; which++) {
        uint32_t next = has_suspects(audit, event, which) ? event->children[which] : NONE;
        while (next != NONE && audit_goes_on(audit)) {
            next = judge_suspects(audit, index, link, which, next);
        }
    }
}

void audit_seats(struct audit *audit)
{
    check_bookings(audit);
    audit_each(audit, EVENTS, "event", check_event);
}

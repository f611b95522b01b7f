/* SPDX-License-Identifier: Apache-2.0
 *
 * Seats, from the records of bookings; see audit_seats.c for what is proved. */
#include "base/text.h"
#include "redis/audit/audit_seats.h"

#include <string.h>

#define ROUNDS 3      /* how often the bookings are added up before a difference is reported */
#define MEMBERS 200   /* zones or users read at a time */
#define BOOKINGS 1000 /* records read at a time */
#define NOT_READ (-1) /* in place of what is confirmed */

/* ---- one record ------------------------------------------------------------------------------ */

void booking_ask(struct audit *audit, size_t master, struct hf_bytes key)
{
    AUDIT_ASK(&audit->reader, master, hf_text("HMGET"), key, hf_text("status"), hf_text("zone_id"),
              hf_text("user_id"), hf_text("quantity"), hf_text("lifetime"), hf_text("booking_id"),
              hf_text("expires_at"));
}

bool booking_is(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
           reply->elements == AUDIT_RECORD_FIELDS;
}

bool booking_status_is(const redisReply *record, const char *status)
{
    return audit_reply_is_text(record->element[AUDIT_STATUS]) &&
           text_equal(audit_reply_text(record->element[AUDIT_STATUS]), hf_text(status));
}

bool booking_is_closed(struct hf_bytes status)
{
    return text_equal(status, hf_text("released")) || text_equal(status, hf_text("refunded"));
}

bool booking_read(const redisReply *record, struct audit_hold *hold)
{
    if (!audit_reply_is_text(record->element[AUDIT_ZONE_ID]) ||
        !audit_reply_is_text(record->element[AUDIT_USER_ID]) ||
        !audit_reply_is_text(record->element[AUDIT_QUANTITY]) ||
        !audit_reply_is_text(record->element[AUDIT_BOOKING_ID])) {
        return false;
    }
    *hold = (struct audit_hold){.zone = audit_reply_text(record->element[AUDIT_ZONE_ID]),
                                .user = audit_reply_text(record->element[AUDIT_USER_ID]),
                                .quantity_text = audit_reply_text(record->element[AUDIT_QUANTITY]),
                                .booking = audit_reply_text(record->element[AUDIT_BOOKING_ID])};
    return text_to_integer(hold->quantity_text, &hold->quantity) && hold->quantity > 0;
}

bool hold_equal(const struct audit_hold *a, const struct audit_hold *b)
{
    return a->quantity == b->quantity && text_equal(a->zone, b->zone) &&
           text_equal(a->user, b->user) && text_equal(a->booking, b->booking);
}

/* The entry of a hold among the deadlines: good as long as a key is. */
static struct hf_bytes write_entry(struct audit *audit, const struct audit_hold *hold)
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
        audit_reader_fail(&audit->reader, HF_BUSY, "not enough memory for the audit");
        return hf_text("");
    }
    return (struct hf_bytes){out->data, out->size};
}

/* ---- a booking that looks wrong -------------------------------------------------------------- */

/* A booking that is reserved as `hold` says, or has a deadline that says so. */
static void judge_booking(struct audit *audit, struct hf_bytes event, const struct audit_hold *hold,
                          const redisReply *record, const redisReply *score)
{
    const redisReply *status = record->element[AUDIT_STATUS],
                     *expires = record->element[AUDIT_EXPIRES_AT];
    struct audit_hold recorded;

    if (!audit_reply_is_text(status)) {
        audit_finding(audit, "booking", hold->booking, "event", event,
                      "holds %lld seats in zone %.*s, but has no record", (long long)hold->quantity,
                      (int)hold->zone.size, hold->zone.data);
    } else if (!booking_status_is(record, "reserved")) {
        audit_finding(audit, "booking", hold->booking, "event", event,
                      "holds %lld seats in zone %.*s until a deadline, but is %.*s",
                      (long long)hold->quantity, (int)hold->zone.size, hold->zone.data,
                      (int)status->len, status->str);
    } else if (!booking_read(record, &recorded) || !hold_equal(hold, &recorded) ||
               !audit_reply_is_text(expires)) {
        audit_finding(audit, "booking", hold->booking, "event", event,
                      "holds %lld seats in zone %.*s, but its record says otherwise",
                      (long long)hold->quantity, (int)hold->zone.size, hold->zone.data);
    } else if (score->type == REDIS_REPLY_NIL) {
        audit_finding(audit, "booking", hold->booking, "event", event,
                      "reserved, but without a deadline: its %lld seats in zone %.*s would never "
                      "come back",
                      (long long)hold->quantity, (int)hold->zone.size, hold->zone.data);
    } else if (!text_equal(audit_reply_text(score), audit_reply_text(expires))) {
        audit_finding(audit, "booking", hold->booking, "event", event,
                      "expires at %.*s, but its deadline is %.*s", (int)expires->len, expires->str,
                      (int)score->len, score->str);
    }
}

/* Is it still reserved, for those seats? */
static bool is_reserved(const redisReply *record, const struct audit_hold *hold)
{
    struct audit_hold recorded;

    return booking_status_is(record, "reserved") && booking_read(record, &recorded) &&
           hold_equal(hold, &recorded);
}

/* Did Redis delete the record of a hold whose deadline is past? */
static bool is_over(const redisReply *record, const redisReply *score, const redisReply *time)
{
    int64_t deadline_ms, now_ms;

    return !audit_reply_is_text(record->element[AUDIT_STATUS]) && audit_reply_is_text(score) &&
           audit_reply_integer(score, 0, &deadline_ms) && audit_reply_time(time, &now_ms) &&
           deadline_ms <= now_ms;
}

void booking_recheck(struct audit *audit, struct hf_bytes event, const struct audit_hold *hold)
{
    struct hf_bytes due = KEY1(audit, KEY_SEATS_DUE, event);
    size_t master = audit_reader_owner(&audit->reader, due);

    audit_reader_begin(&audit->reader, master);
    booking_ask(audit, master, audit_key(audit, KEY_BOOKING, event, hold->booking));
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), due, write_entry(audit, hold));
    AUDIT_ASK(&audit->reader, master, hf_text("TIME"));
    redisReply *both = audit_reader_commit(&audit->reader, master);
    if (both == NULL || !booking_is(both->element[0]) ||
        both->element[1]->type == REDIS_REPLY_ERROR) {
        audit->unread = true;
    } else if (is_over(both->element[0], both->element[1], both->element[2])) {
        /* The next command of the event gives the seats back. */
    } else if (audit_reply_is_text(both->element[1]) || is_reserved(both->element[0], hold)) {
        judge_booking(audit, event, hold, both->element[0], both->element[1]);
    }
    freeReplyObject(both);
}

/* ---- all records ----------------------------------------------------------------------------- */

struct audit_booking_walk {
    struct audit_text_set seen;
    bool first; /* the first walk also checks records and the deadlines of reserved bookings */
};

struct audit_page_entry {
    uint32_t event;
    struct hf_bytes booking;
    redisReply *record;
    struct audit_hold hold;
    bool reserved; /* its deadline is to be checked */
};

static void count_confirmed(struct audit *audit, uint32_t event, const struct audit_hold *hold,
                            bool for_life)
{
    struct audit_name *zone =
        audit_child(audit, AUDIT_EVENTS, event, AUDIT_ZONE_CHILDREN, AUDIT_ZONES, hold->zone);
    struct audit_name *user =
        audit_child(audit, AUDIT_EVENTS, event, AUDIT_USER_CHILDREN, AUDIT_USERS, hold->user);

    if (zone != NULL && user != NULL) {
        zone->sums[AUDIT_BOOKED] += hold->quantity;
        user->sums[AUDIT_BOOKED] += hold->quantity;
        user->sums[AUDIT_BOOKED_FOR_LIFE] += for_life ? hold->quantity : 0;
    }
}

static void take_record(struct audit *audit, struct audit_page_entry *entry, bool first)
{
    const redisReply *record = entry->record;

    if (!audit_reply_is_text(record->element[AUDIT_STATUS]) ||
        booking_is_closed(audit_reply_text(record->element[AUDIT_STATUS]))) {
        return; /* it is gone by now */
    }
    if (!booking_read(record, &entry->hold) || !text_equal(entry->hold.booking, entry->booking)) {
        if (first) {
            audit_finding(audit, "booking", entry->booking, "event",
                          named_text(named_at(audit, AUDIT_EVENTS, entry->event)),
                          "its record is damaged");
        }
    } else if (booking_status_is(record, "confirmed")) {
        count_confirmed(audit, entry->event, &entry->hold,
                        audit_reply_is_text(record->element[AUDIT_LIFETIME]));
    } else {
        entry->reserved = first;
    }
}

static bool expires_at(const redisReply *record, const redisReply *score)
{
    const redisReply *expires = record->element[AUDIT_EXPIRES_AT];

    return audit_reply_is_text(score) && audit_reply_is_text(expires) &&
           text_equal(audit_reply_text(score), audit_reply_text(expires));
}

/* Every reserved booking has its deadline. */
static void check_reserved(struct audit *audit, size_t master, struct audit_page_entry *page,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (page[i].reserved) {
            struct hf_bytes event = named_text(named_at(audit, AUDIT_EVENTS, page[i].event));
            AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, KEY_SEATS_DUE, event),
                      write_entry(audit, &page[i].hold));
        }
    }
    for (size_t i = 0; i < count; i++) {
        redisReply *score = page[i].reserved ? audit_answer(audit, master) : NULL;
        page[i].reserved = score != NULL && !expires_at(page[i].record, score);
        freeReplyObject(score);
    }
    for (size_t i = 0; i < count; i++) {
        if (page[i].reserved) {
            booking_recheck(audit, named_text(named_at(audit, AUDIT_EVENTS, page[i].event)),
                            &page[i].hold);
        }
    }
}

static void take_page(struct audit *audit, size_t master, struct audit_page_entry *page,
                      size_t count, bool first)
{
    for (size_t i = 0; i < count; i++) {
        page[i].record = audit_answer(audit, master);
        if (booking_is(page[i].record)) {
            take_record(audit, &page[i], first);
        } else {
            named_at(audit, AUDIT_EVENTS, page[i].event)->suspect = true;
        }
    }
    check_reserved(audit, master, page, count);
    for (size_t i = 0; i < count; i++) {
        freeReplyObject(page[i].record);
    }
}

/* Asks for a record if its event is to be checked; true if it is. */
static bool ask_booking(struct audit *audit, size_t master, struct hf_bytes key,
                        struct audit_booking_walk *bookings, struct audit_page_entry *entry)
{
    struct hf_bytes parts[KEY_PARTS_MAX];
    enum key_id kind;
    uint32_t known = audit->names[AUDIT_EVENTS].slab.count;

    *entry = (struct audit_page_entry){0};
    if (!audit_parse_key(audit, key, &kind, parts) || kind != KEY_BOOKING ||
        !audit_text_set_add(&bookings->seen, key)) {
        return false;
    }
    struct audit_name *event = audit_name(audit, AUDIT_EVENTS, parts[0], &entry->event);
    if (event == NULL) {
        return false;
    }
    event->suspect = event->suspect || audit->names[AUDIT_EVENTS].slab.count > known;
    if (event->suspect) {
        entry->booking = parts[1];
        booking_ask(audit, master, key);
    }
    return event->suspect;
}

static void take_bookings(struct audit *audit, size_t master, const redisReply *keys, void *context)
{
    struct audit_booking_walk *bookings = context;
    struct audit_page_entry page[BOOKINGS];
    size_t count = 0;

    for (size_t i = 0; i < keys->elements && audit_goes_on(audit); i++) {
        count +=
            ask_booking(audit, master, audit_reply_text(keys->element[i]), bookings, &page[count]);
        if (count == BOOKINGS) {
            take_page(audit, master, page, count, bookings->first);
            count = 0;
        }
    }
    take_page(audit, master, page, count, bookings->first);
}

/* ---- what is confirmed ----------------------------------------------------------------------- */

/* Reads one total of each zone and each user of an event. */
static void ask_confirmed(struct audit *audit, size_t master, struct hf_bytes event, unsigned which,
                          struct hf_bytes member)
{
    if (which == AUDIT_ZONE_CHILDREN) {
        AUDIT_ASK(&audit->reader, master, hf_text("HGET"),
                  audit_key(audit, KEY_ZONE_TOTALS, event, member), hf_text("confirmed"));
    } else {
        AUDIT_ASK(&audit->reader, master, hf_text("GET"),
                  audit_key(audit, KEY_USER_CONFIRMED, event, member));
    }
}

bool confirmed_read(const redisReply *reply, int64_t confirmed[2])
{
    confirmed[0] = confirmed[1] = 0;
    if (reply->type == REDIS_REPLY_NIL) {
        return true;
    }
    if (!audit_reply_is_text(reply)) {
        return false;
    }
    const char *gap = memchr(reply->str, ' ', reply->len);
    size_t size = gap != NULL ? (size_t)(gap - reply->str) : reply->len;
    return text_to_integer((struct hf_bytes){reply->str, size}, &confirmed[0]) &&
           (gap == NULL ||
            text_to_integer((struct hf_bytes){gap + 1, reply->len - size - 1}, &confirmed[1]));
}

typedef void take_confirmed(struct audit_name *member, const int64_t confirmed[2]);

static void each_confirmed(struct audit *audit, struct audit_name *event, unsigned which,
                           take_confirmed *take)
{
    enum audit_kind kind = event_children[which];
    struct hf_bytes name = named_text(event);
    size_t master = audit_reader_owner(&audit->reader, KEY1(audit, KEY_SEATS_DUE, name));
    uint32_t next = event->children[which];

    while (next != NONE && audit_goes_on(audit)) {
        uint32_t first = next;
        size_t count = 0;
        for (; next != NONE && count < MEMBERS; count++, next = named_at(audit, kind, next)->next) {
            ask_confirmed(audit, master, name, which, named_text(named_at(audit, kind, next)));
        }
        for (; count > 0; count--, first = named_at(audit, kind, first)->next) {
            redisReply *reply = audit_answer(audit, master);
            int64_t confirmed[2];
            if (reply != NULL && confirmed_read(reply, confirmed)) {
                take(named_at(audit, kind, first), confirmed);
            } else {
                event->suspect = true;
            }
            freeReplyObject(reply);
        }
    }
}

static void take_before(struct audit_name *member, const int64_t confirmed[2])
{
    member->sums[AUDIT_BOOKED] = member->sums[AUDIT_BOOKED_FOR_LIFE] = 0;
    member->sums[AUDIT_BEFORE] = confirmed[0];
    member->sums[AUDIT_BEFORE_FOR_LIFE] = confirmed[1];
}

static void take_after(struct audit_name *member, const int64_t confirmed[2])
{
    member->sums[AUDIT_AFTER] = confirmed[0];
    member->sums[AUDIT_AFTER_FOR_LIFE] = confirmed[1];
}

/* How many seats of an event were ever refunded. */
static int64_t read_refunded(struct audit *audit, struct audit_name *event)
{
    struct hf_bytes key = KEY1(audit, KEY_SEATS_RULES, named_text(event));
    size_t master = audit_reader_owner(&audit->reader, key);
    int64_t refunded = 0;

    AUDIT_ASK(&audit->reader, master, hf_text("HGET"), key, hf_text("refunded"));
    redisReply *reply = audit_answer(audit, master);
    if (reply == NULL || !audit_reply_integer(reply, 0, &refunded)) {
        event->suspect = true;
    }
    freeReplyObject(reply);
    return refunded;
}

static bool is_between(int64_t number, int64_t from, int64_t to)
{
    return from <= number && number <= to;
}

/* Is what the bookings of a zone or a user added up to possible, if so many seats of the event were
 * refunded meanwhile? */
static bool adds_up(const int64_t *sums, int64_t refunded)
{
    return is_between(sums[AUDIT_BOOKED], sums[AUDIT_BEFORE] - refunded,
                      sums[AUDIT_AFTER] + refunded) &&
           is_between(sums[AUDIT_BOOKED_FOR_LIFE], sums[AUDIT_BEFORE_FOR_LIFE] - refunded,
                      sums[AUDIT_AFTER_FOR_LIFE] + refunded);
}

static void report_confirmed(struct audit *audit, const struct audit_name *event, unsigned which,
                             const struct audit_name *member)
{
    const int64_t *sums = member->sums;

    if (which == AUDIT_ZONE_CHILDREN) {
        audit_finding(audit, "zone", named_text(member), "event", named_text(event),
                      "%lld confirmed, but its confirmed bookings have %lld seats",
                      (long long)sums[AUDIT_AFTER], (long long)sums[AUDIT_BOOKED]);
    } else {
        audit_finding(audit, "user", named_text(member), "event", named_text(event),
                      "%lld confirmed (%lld for life), but the user's confirmed "
                      "bookings have %lld "
                      "seats (%lld)",
                      (long long)sums[AUDIT_AFTER], (long long)sums[AUDIT_AFTER_FOR_LIFE],
                      (long long)sums[AUDIT_BOOKED], (long long)sums[AUDIT_BOOKED_FOR_LIFE]);
    }
}

/* Reads what an event has confirmed after the walk over its bookings, and judges it. */
static void judge_confirmed(struct audit *audit, struct audit_name *event, int64_t refunded_before,
                            bool report)
{
    for (unsigned which = 0; which < AUDIT_EVENT_CHILDREN; which++) {
        EACH_CHILD(audit, event, which, event_children[which], i)
        {
            named_at(audit, event_children[which], i)->sums[AUDIT_AFTER] = NOT_READ;
        }
        each_confirmed(audit, event, which, take_after);
    }
    /* All until now; it is counted modulo 2^53. */
    int64_t refunded = (read_refunded(audit, event) - refunded_before) & HF_INTEGER_MAX;
    for (unsigned which = 0; which < AUDIT_EVENT_CHILDREN; which++) {
        EACH_CHILD(audit, event, which, event_children[which], i)
        {
            const struct audit_name *member = named_at(audit, event_children[which], i);
            if (member->sums[AUDIT_AFTER] == NOT_READ || adds_up(member->sums, refunded)) {
                continue;
            }
            event->suspect = true;
            if (report) {
                report_confirmed(audit, event, which, member);
            }
        }
    }
}

bool event_is_closed(struct audit *audit, const struct audit_name *event)
{
    struct hf_bytes due = KEY1(audit, KEY_SEATS_DUE, named_text(event));
    size_t master = audit_reader_owner(&audit->reader, due);

    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), due, hf_text("c"));
    redisReply *score = audit_answer(audit, master);
    bool closed = score != NULL && audit_reply_is_text(score);
    freeReplyObject(score);
    return closed;
}

/* True if there is an event whose bookings have to be added up again. */
static bool add_up_bookings(struct audit *audit, bool first, bool last)
{
    struct audit_booking_walk bookings = {.first = first};
    bool again = false;

    EACH_NAMED(audit, AUDIT_EVENTS, i)
    {
        struct audit_name *event = named_at(audit, AUDIT_EVENTS, i);
        if (event->suspect) {
            event->sums[AUDIT_REFUNDED] = read_refunded(audit, event);
        }
        for (unsigned which = 0; event->suspect && which < AUDIT_EVENT_CHILDREN; which++) {
            each_confirmed(audit, event, which, take_before);
        }
    }
    audit_text_set_init(&bookings.seen, audit);
    audit_scan(audit, KEY_BOOKING, take_bookings, &bookings);
    audit_text_set_free(&bookings.seen);
    EACH_NAMED(audit, AUDIT_EVENTS, i)
    {
        struct audit_name *event = named_at(audit, AUDIT_EVENTS, i);
        if (event->suspect) {
            event->suspect = false;
            if (!event_is_closed(audit, event)) {
                judge_confirmed(audit, event, event->sums[AUDIT_REFUNDED], last);
            }
            again = again || event->suspect;
        }
    }
    return again;
}

void audit_bookings(struct audit *audit)
{
    EACH_NAMED(audit, AUDIT_EVENTS, i)
    {
        named_at(audit, AUDIT_EVENTS, i)->suspect = true;
    }
    for (unsigned round = 0; round < ROUNDS && audit_goes_on(audit); round++) {
        if (!add_up_bookings(audit, round == 0, round + 1 == ROUNDS)) {
            return;
        }
        audit_pause(audit);
        audit_reader_refresh(&audit->reader);
    }
}

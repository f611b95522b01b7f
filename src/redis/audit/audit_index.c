/* SPDX-License-Identifier: Apache-2.0
 *
 * The indexes of events and tenants: whatever they name is there. A booking that stands among
 * the names is reserved or confirmed, a zone has its totals, a hold is open. Names are read in
 * pages; what looks wrong is read again in one step before it is reported. The other way round
 * proves nothing: what was written by scripts that kept no index is missing in it. */
#include "redis/audit/audit_seats.h"

#include "base/text.h"

#include <string.h>

static const struct audit_index {
    const char *what, *of;
    enum key_id names, record;
    const char
        *field; /* that every record has; NULL: it is a field itself, of a hash of its scope */
} indexes[] =
    {
        {"booking", "event", KEY_SEATS_BOOKINGS, KEY_BOOKING, "status"},
        {"zone", "event", KEY_SEATS_ZONES, KEY_ZONE_TOTALS, "capacity"},
},
  hold_index = {"hold", "tenant", KEY_QUOTA_NAMES, KEY_QUOTA_HOLDS, NULL};

static void ask_record(struct audit *audit, size_t master, const struct audit_index *index,
                       struct hf_bytes scope, struct hf_bytes name)
{
    if (index->field != NULL) {
        AUDIT_ASK(&audit->reader, master, hf_text("HGET"),
                  audit_key(audit, index->record, scope, name), hf_text(index->field));
    } else {
        AUDIT_ASK(&audit->reader, master, hf_text("HGET"), KEY1(audit, index->record, scope), name);
    }
}

/* Is this the field of a record that belongs among the names? */
static bool is_listable(const redisReply *field)
{
    return audit_reply_is_text(field) && !booking_is_closed(audit_reply_text(field));
}

/* Did Redis delete the record of a booking that fell due? Then its deadline is still there, and the
 * next command of the event removes both. */
static bool is_over(const redisReply *due, struct hf_bytes name)
{
    for (size_t i = 0; due->type == REDIS_REPLY_ARRAY && i < due->elements; i++) {
        struct hf_bytes entry = audit_reply_text(due->element[i]);
        if (entry.size > name.size && entry.data[0] == 'h' &&
            entry.data[entry.size - name.size - 1] == ' ' &&
            memcmp(entry.data + entry.size - name.size, name.data, name.size) == 0) {
            return true;
        }
    }
    return false;
}

/* The time of the master, written as a number; good until the next key is. */
static struct hf_bytes write_time(struct audit *audit, size_t master, char out[21])
{
    int64_t now_ms = 0;

    AUDIT_ASK(&audit->reader, master, hf_text("TIME"));
    redisReply *time = audit_answer(audit, master);
    if (time == NULL || !audit_reply_time(time, &now_ms)) {
        now_ms = 0;
    }
    freeReplyObject(time);
    return (struct hf_bytes){out, decimal_write(out, now_ms)};
}

static void recheck_name(struct audit *audit, size_t master, const struct audit_index *index,
                         struct hf_bytes scope, struct hf_bytes name)
{
    char text[21];
    struct hf_bytes now = write_time(audit, master, text);

    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, index->names, scope), name);
    ask_record(audit, master, index, scope, name);
    if (index->record == KEY_BOOKING) {
        AUDIT_ASK(&audit->reader, master, hf_text("ZRANGEBYSCORE"),
                  KEY1(audit, KEY_SEATS_DUE, scope), hf_text("-inf"), now);
    }
    redisReply *both = audit_reader_commit(&audit->reader, master);
    if (both == NULL || both->element[0]->type == REDIS_REPLY_ERROR ||
        both->element[1]->type == REDIS_REPLY_ERROR) {
        audit->unread = true;
    } else if (index->record == KEY_BOOKING && !audit_reply_is_text(both->element[1]) &&
               is_over(both->element[2], name)) {
        /* Nothing is wrong with it. */
    } else if (audit_reply_is_text(both->element[0]) && !is_listable(both->element[1])) {
        const redisReply *field = both->element[1];
        audit_finding(audit, index->what, name, index->of, scope, "is listed, but %s",
                      audit_reply_is_text(field) ? field->str : "has no record");
    }
    freeReplyObject(both);
}

/* The index whose names are read, and of which scope. */
struct indexed {
    const struct audit_index *index;
    struct hf_bytes scope;
};

static void check_names(struct audit *audit, size_t master, const redisReply *names, void *context)
{
    const struct indexed *indexed = context;
    bool wrong[AUDIT_PAGE] = {false};

    for (size_t i = 0; i < names->elements; i++) {
        ask_record(audit, master, indexed->index, indexed->scope,
                   audit_reply_text(names->element[i]));
    }
    for (size_t i = 0; i < names->elements; i++) {
        redisReply *field = audit_answer(audit, master);
        wrong[i] = field == NULL || !is_listable(field);
        freeReplyObject(field);
    }
    for (size_t i = 0; i < names->elements && audit_goes_on(audit); i++) {
        if (wrong[i]) {
            recheck_name(audit, master, indexed->index, indexed->scope,
                         audit_reply_text(names->element[i]));
        }
    }
}

static void check_index(struct audit *audit, const struct audit_index *index, struct hf_bytes scope)
{
    struct indexed indexed = {index, scope};

    audit_members(audit, index->names, scope, check_names, &indexed);
}

void audit_indexes(struct audit *audit, uint32_t event)
{
    struct hf_bytes name = named_text(named_at(audit, AUDIT_EVENTS, event));

    for (size_t i = 0; i < sizeof indexes / sizeof indexes[0]; i++) {
        check_index(audit, &indexes[i], name);
    }
}

void audit_hold_names(struct audit *audit, uint32_t tenant)
{
    check_index(audit, &hold_index, named_text(named_at(audit, AUDIT_TENANTS, tenant)));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The indexes of events and tenants: whatever they name is there. A booking that stands among
 * the names is reserved or confirmed, a zone has its totals, a hold is open. Names are read in
 * pages; what looks wrong is read again in one step before it is reported. The other way round
 * proves nothing: what was written by scripts that kept no index is missing in it. */
#include "redis/audit/audit_seats.h"

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

static void recheck_name(struct audit *audit, size_t master, const struct audit_index *index,
                         struct hf_bytes scope, struct hf_bytes name)
{
    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, index->names, scope), name);
    ask_record(audit, master, index, scope, name);
    redisReply *both = audit_reader_commit(&audit->reader, master);
    if (both == NULL || both->element[0]->type == REDIS_REPLY_ERROR ||
        both->element[1]->type == REDIS_REPLY_ERROR) {
        audit->unread = true;
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

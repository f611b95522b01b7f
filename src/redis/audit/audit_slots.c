/* SPDX-License-Identifier: Apache-2.0
 *
 * Holders of several slots of a semaphore. A client with n slots has n members in the sorted sets:
 * its id, and ID{2} to ID{n}. Its note says how many they are.
 *
 *  1. A holder has a member for each of its slots, in both sets.
 *  2. No slot is left of a holder that is gone, or has fewer. */
#include "base/limits.h"
#include "base/text.h"
#include "redis/audit/audit_state.h"

#include <stdio.h>

/* The slots of a holder by its note, "H heartbeat ttl granted fence token in_use [slots [until]]":
 * the eighth word, or 1. 0: it is no holder's. */
static int64_t slots_noted(const redisReply *note)
{
    struct hf_bytes text = audit_reply_text(note);
    int64_t slots = 1;

    if (!audit_reply_is_text(note) || text.size == 0 || text.data[0] != 'H') {
        return 0;
    }
    const char *at = text.data, *end = text.data + text.size;
    for (unsigned i = 0; i < 7 && at != NULL; i++) {
        at = memchr(at, ' ', (size_t)(end - at));
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL) {
        return slots;
    }
    const char *stop = memchr(at, ' ', (size_t)(end - at));
    stop = stop != NULL ? stop : end;
    if (!text_to_integer((struct hf_bytes){at, (size_t)(stop - at)}, &slots)) {
        return 0;
    }
    return slots;
}

/* The id of the holder whose slot a member is, and which of its slots: 1 for the id itself. */
static struct hf_bytes holder_of(struct hf_bytes member, int64_t *number)
{
    const char *brace = memchr(member.data, '{', member.size);

    *number = 1;
    if (brace == NULL || member.data[member.size - 1] != '}') {
        return member;
    }
    size_t size = (size_t)(brace - member.data);
    struct hf_bytes digits = {brace + 1, member.size - size - 2};
    return text_to_integer(digits, number) ? (struct hf_bytes){member.data, size} : member;
}

/* Asks for a holder's note and for all its members but the first, in one step, and counts them. */
static void check_holder(struct audit *audit, size_t master, struct hf_bytes scope,
                         struct hf_bytes id, int64_t slots)
{
    char member[HF_ID_SIZE + 24];
    int64_t there = 0;

    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("HGET"), KEY1(audit, KEY_SEM_OWN, scope), id);
    for (int64_t i = 2; i <= slots; i++) {
        snprintf(member, sizeof member, "%.*s{%lld}", (int)id.size, id.data, (long long)i);
        AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, KEY_SEM_SLOTS, scope),
                  hf_text(member));
        AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, KEY_SEM_SLOT_TTL, scope),
                  hf_text(member));
    }
    redisReply *reply = audit_reader_commit(&audit->reader, master);
    if (reply == NULL) {
        audit->unread = true;
        return;
    }
    for (size_t i = 1; i < reply->elements; i++) {
        there += audit_reply_is_text(reply->element[i]);
    }
    if (slots_noted(reply->element[0]) == slots && there < 2 * (slots - 1)) {
        audit_finding(audit, "holder", id, "semaphore", scope,
                      "holds %lld slots, but not all of them are there", (long long)slots);
    }
    freeReplyObject(reply);
}

/* Asks whether a slot beyond the first still has a holder that has so many. */
static void check_share(struct audit *audit, size_t master, struct hf_bytes scope,
                        struct hf_bytes member)
{
    int64_t number;
    struct hf_bytes id = holder_of(member, &number);

    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("HGET"), KEY1(audit, KEY_SEM_OWN, scope), id);
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, KEY_SEM_SLOTS, scope), id);
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, KEY_SEM_SLOTS, scope), member);
    redisReply *reply = audit_reader_commit(&audit->reader, master);
    if (reply == NULL) {
        audit->unread = true;
        return;
    }
    bool held = audit_reply_is_text(reply->element[1]) && slots_noted(reply->element[0]) >= number;
    if (audit_reply_is_text(reply->element[2]) && !held) {
        audit_finding(audit, "slot", member, "semaphore", scope, "nobody holds it");
    }
    freeReplyObject(reply);
}

static void check_members(struct audit *audit, size_t master, const redisReply *members,
                          void *context)
{
    struct hf_bytes scope = *(const struct hf_bytes *)context;
    int64_t slots[AUDIT_PAGE] = {0}, number;

    for (size_t i = 0; i < members->elements; i++) {
        AUDIT_ASK(&audit->reader, master, hf_text("HGET"), KEY1(audit, KEY_SEM_OWN, scope),
                  holder_of(audit_reply_text(members->element[i]), &number));
    }
    for (size_t i = 0; i < members->elements; i++) {
        redisReply *note = audit_answer(audit, master);
        slots[i] = note != NULL ? slots_noted(note) : 0;
        freeReplyObject(note);
    }
    for (size_t i = 0; i < members->elements && audit_goes_on(audit); i++) {
        struct hf_bytes member = audit_reply_text(members->element[i]);
        holder_of(member, &number);
        if (number > 1) {
            check_share(audit, master, scope, member);
        } else if (slots[i] > 1 && slots[i] <= SEM_SLOTS_HELD_MAX) {
            check_holder(audit, master, scope, member, slots[i]);
        }
    }
}

void audit_slots(struct audit *audit, struct hf_bytes scope)
{
    audit_members(audit, KEY_SEM_SLOTS, scope, check_members, &scope);
}

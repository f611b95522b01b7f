/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting rooms and semaphores: who is in one sorted set has to be in another one too.
 *
 *  1. Everybody in a room's line has a deadline, and the other way round.
 *  2. Every slot of a semaphore that came through our scripts has an end of its time, and everybody
 *     in line that did has a sign of life. What other programs keep there is theirs.
 *
 * More slots than the limit are no finding: a lower limit evicts nobody. */
#include "redis/audit/audit_state.h"

#define PAGE 1000

/* Members of one set that have to be in the other. */
struct audit_pair {
    enum key_id from, to;
    enum key_id notes; /* only members with a note there count; KEY_NONE: all do */
    char note;         /* the first character of such a note */
    const char *what, *of;
    const char *finding;
};

static bool is_ours(const struct audit_pair *pair, const redisReply *note)
{
    return pair->notes == KEY_NONE ||
           (audit_reply_is_text(note) && note->len > 0 && note->str[0] == pair->note);
}

/* Where a member is: in the first set, in the second, and its note. */
static void ask_member(struct audit *audit, size_t master, const struct audit_pair *pair,
                       struct hf_bytes scope, struct hf_bytes member)
{
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, pair->from, scope), member);
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, pair->to, scope), member);
    if (pair->notes != KEY_NONE) {
        AUDIT_ASK(&audit->reader, master, hf_text("HGET"), KEY1(audit, pair->notes, scope), member);
    }
}

static void recheck_member(struct audit *audit, size_t master, const struct audit_pair *pair,
                           struct hf_bytes scope, struct hf_bytes member)
{
    audit_reader_begin(&audit->reader, master);
    ask_member(audit, master, pair, scope, member);
    redisReply *reply = audit_reader_commit(&audit->reader, master);

    if (reply == NULL) {
        audit->unread = true;
    } else if (audit_reply_is_text(reply->element[0]) &&
               reply->element[1]->type == REDIS_REPLY_NIL &&
               is_ours(pair, reply->element[reply->elements - 1])) {
        audit_finding(audit, pair->what, member, pair->of, scope, "%s", pair->finding);
    }
    freeReplyObject(reply);
}

static void check_members(struct audit *audit, size_t master, const struct audit_pair *pair,
                          struct hf_bytes scope, const redisReply *members)
{
    bool missing[PAGE] = {false};

    for (size_t i = 0; i < members->elements; i++) {
        AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, pair->to, scope),
                  audit_reply_text(members->element[i]));
    }
    for (size_t i = 0; i < members->elements; i++) {
        redisReply *score = audit_answer(audit, master);
        missing[i] = score != NULL && score->type == REDIS_REPLY_NIL;
        freeReplyObject(score);
    }
    for (size_t i = 0; i < members->elements; i++) {
        if (missing[i]) {
            recheck_member(audit, master, pair, scope, audit_reply_text(members->element[i]));
        }
    }
}

static void check_pair(struct audit *audit, const struct audit_pair *pair, struct hf_bytes scope)
{
    size_t master = audit_reader_owner(&audit->reader, KEY1(audit, pair->from, scope));

    for (int64_t start = 0; audit_goes_on(audit); start += PAGE) {
        char from[21], to[21];
        struct hf_bytes first = {from, decimal_write(from, start)};
        struct hf_bytes last = {to, decimal_write(to, start + PAGE - 1)};
        AUDIT_ASK(&audit->reader, master, hf_text("ZRANGE"), KEY1(audit, pair->from, scope), first,
                  last);
        redisReply *members = audit_answer(audit, master);
        size_t count = members != NULL ? members->elements : 0;
        if (count > 0) {
            check_members(audit, master, pair, scope, members);
        }
        freeReplyObject(members);
        if (count < PAGE) {
            return;
        }
    }
}

static void check_room(struct audit *audit, uint32_t index)
{
    static const struct audit_pair pairs[] = {
        {KEY_QUEUE, KEY_QUEUE_DUE, KEY_NONE, 0, "user", "the waiting room of event",
         "in line, but without a deadline"},
        {KEY_QUEUE_DUE, KEY_QUEUE, KEY_NONE, 0, "user", "the waiting room of event",
         "has a deadline, but is not in line"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        check_pair(audit, &pairs[i], named_text(named_at(audit, AUDIT_ROOMS, index)));
    }
}

void audit_rooms(struct audit *audit)
{
    audit_each(audit, AUDIT_ROOMS, "waiting room", check_room);
}

static void check_semaphore(struct audit *audit, uint32_t index)
{
    static const struct audit_pair pairs[] = {
        {KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_OWN, 'H', "holder", "semaphore",
         "has a slot without an end of its time"},
        {KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_OWN, 'W', "client", "semaphore",
         "waits in line, but would never be missed: it has no heartbeat"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        check_pair(audit, &pairs[i], named_text(named_at(audit, AUDIT_SEMAPHORES, index)));
    }
}

void audit_semaphores(struct audit *audit)
{
    audit_each(audit, AUDIT_SEMAPHORES, "semaphore", check_semaphore);
}

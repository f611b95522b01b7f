/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting rooms and semaphores: who is in one sorted set has to be in another one too.
 *
 *  1. Everybody in a room's line has a deadline, and the other way round.
 *  2. Everybody inside a room has a pass that ends when their place does, and reserves of seats see
 *     the gate of a room that has one.
 *  3. Every slot of a semaphore that came through our scripts has an end of its time, and everybody
 *     in line that did has a sign of life. What other programs keep there is theirs.
 *
 * More slots than the limit are no finding: a lower limit evicts nobody. */
#include "redis/audit/audit_state.h"

/* Members of one set that have to be in the other. */
struct audit_pair {
    enum key_id from, to;
    enum key_id notes; /* only members with a note there count; KEY_NONE: all do */
    char note;         /* the first character of such a note */
    const char *what, *of;
    const char *finding;
};

/* The same of one room or semaphore. */
struct audit_pair_of {
    const struct audit_pair *pair;
    struct hf_bytes scope;
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

static void check_members(struct audit *audit, size_t master, const redisReply *members,
                          void *context)
{
    const struct audit_pair_of *of = context;
    const struct audit_pair *pair = of->pair;
    struct hf_bytes scope = of->scope;
    bool missing[AUDIT_PAGE] = {false};

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
    struct audit_pair_of of = {pair, scope};

    audit_members(audit, pair->from, scope, check_members, &of);
}

/* ---- waiting rooms --------------------------------------------------------------------------- */

/* The time of Redis, in ms, from the answer to TIME; 0 if it is none. */
static int64_t redis_now_ms(const redisReply *time)
{
    int64_t seconds, micros;

    return time->type == REDIS_REPLY_ARRAY && time->elements == 2 &&
                   audit_reply_integer(time->element[0], 0, &seconds) &&
                   audit_reply_integer(time->element[1], 0, &micros)
               ? seconds * 1000 + micros / 1000
               : 0;
}

/* Where somebody is inside, their pass has to end at the same time. One that is over may have lost
 * its pass already. */
static void check_pass(struct audit *audit, size_t master, struct hf_bytes event,
                       struct hf_bytes user)
{
    int64_t until_ms = 0, pass_ms = 0;

    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("ZSCORE"), KEY1(audit, KEY_QUEUE_PASSES, event),
              user);
    AUDIT_ASK(&audit->reader, master, hf_text("HGET"),
              audit_key(audit, KEY_QUEUE_USER, event, user), hf_text("pass_deadline"));
    AUDIT_ASK(&audit->reader, master, hf_text("TIME"));
    redisReply *reply = audit_reader_commit(&audit->reader, master);

    if (reply == NULL || !audit_reply_integer(reply->element[0], 0, &until_ms) ||
        !audit_reply_integer(reply->element[1], 0, &pass_ms)) {
        audit->unread = true;
    } else if (until_ms > redis_now_ms(reply->element[2]) && until_ms != pass_ms) {
        audit_finding(audit, "user", user, "the waiting room of event", event,
                      "inside until %lld, but the pass is valid until %lld", (long long)until_ms,
                      (long long)pass_ms);
    }
    freeReplyObject(reply);
}

static void check_some_passes(struct audit *audit, size_t master, const redisReply *users,
                              void *context)
{
    const struct hf_bytes *event = context;

    for (size_t i = 0; i < users->elements; i++) {
        check_pass(audit, master, *event, audit_reply_text(users->element[i]));
    }
}

static void check_passes(struct audit *audit, struct hf_bytes event)
{
    audit_members(audit, KEY_QUEUE_PASSES, event, check_some_passes, &event);
}

static void check_gate(struct audit *audit, struct hf_bytes event)
{
    size_t master = audit_reader_owner(&audit->reader, KEY1(audit, KEY_QUEUE_ROOM, event));
    int64_t has = 0, seen = 0;

    audit_reader_begin(&audit->reader, master);
    AUDIT_ASK(&audit->reader, master, hf_text("HGET"), KEY1(audit, KEY_QUEUE_ROOM, event),
              hf_text("gate"));
    AUDIT_ASK(&audit->reader, master, hf_text("HGET"), KEY1(audit, KEY_SEATS_RULES, event),
              hf_text("gate"));
    redisReply *reply = audit_reader_commit(&audit->reader, master);

    if (reply == NULL || !audit_reply_integer(reply->element[0], 0, &has) ||
        !audit_reply_integer(reply->element[1], 0, &seen)) {
        audit->unread = true;
    } else if (has != seen) {
        audit_finding(audit, "event", event, NULL, event,
                      has != 0 ? "its waiting room has a gate that reserves do not see"
                               : "reserves see a gate that its waiting room does not have");
    }
    freeReplyObject(reply);
}

static void check_room(struct audit *audit, uint32_t index)
{
    static const struct audit_pair pairs[] = {
        {KEY_QUEUE, KEY_QUEUE_DUE, KEY_NONE, 0, "user", "the waiting room of event",
         "in line, but without a deadline"},
        {KEY_QUEUE_DUE, KEY_QUEUE, KEY_NONE, 0, "user", "the waiting room of event",
         "has a deadline, but is not in line"},
    };

    struct hf_bytes event = named_text(named_at(audit, AUDIT_ROOMS, index));

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        check_pair(audit, &pairs[i], event);
    }
    check_passes(audit, event);
    check_gate(audit, event);
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
    audit_slots(audit, named_text(named_at(audit, AUDIT_SEMAPHORES, index)));
}

void audit_semaphores(struct audit *audit)
{
    audit_each(audit, AUDIT_SEMAPHORES, "semaphore", check_semaphore);
}

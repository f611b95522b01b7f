/* SPDX-License-Identifier: Apache-2.0
 *
 * LOCK.TRY takes two rounds, and on failure gives back what it got:
 *
 *     TAKING ── quorum ──> RAISING ── quorum, in time ──> answered
 *        └──────┬─────────────┘
 *           GIVING_BACK ── attempts left ──> PAUSING ──> TAKING
 *                └──────── none left ──────> answered (LOCKED, or ENGINE_DOWN)
 *
 * TAKING asks for the lock, with the same id everywhere. RAISING lifts the fence to the largest one
 * that was handed out, wherever it is lower. */
#include "base/check.h"
#include "redis/script/key_write.h"
#include "redis/redlock/redlock_ballot.h"

#include <stdio.h>

#define ATTEMPTS 3
#define PAUSE_MAX_MS 200 /* between attempts, at random: clients that split the vote retry apart */

/* A lock taken on some servers and held before on others is neither. */
static size_t yes_votes(const struct redlock_tally *tally)
{
    return tally->fresh > tally->held ? tally->fresh : tally->held;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void send_try(struct redlock_vote *vote, int64_t floor)
{
    char text[32];
    int size = snprintf(text, sizeof text, "floor:%lld", (long long)floor);

    script_call_row(&vote->call, &vote->ballot->pending->command, NULL, 1);
    script_call_text(&vote->call, (struct hf_bytes){text, (size_t)size});
    redlock_ballot_send(vote);
}

void redlock_ballot_try_unlock(struct redlock_vote *vote)
{
    vote->owes_unlock = false;
    vote->unlocking = true;
    script_call_row(&vote->call, &vote->ballot->unlock, NULL, 0);
    redlock_ballot_send(vote);
}

static struct hf_bytes copy_text(char *to, struct hf_bytes text)
{
    CHECK(text.size <= HF_ID_MAX);
    memcpy(to, text.data, text.size);
    return (struct hf_bytes){to, text.size};
}

/* The command that takes back what a TRY gets, with texts that outlive the command. */
static bool prepare_unlock(struct redlock_ballot *ballot)
{
    const struct command *command = &ballot->pending->command;
    struct buffer *id = &ballot->redlock->env->scratch;
    struct hf_lock_unlock_args *args = &ballot->unlock.args.lock_unlock;

    ballot->unlock.spec = &command_table[LOCK_UNLOCK];
    buffer_clear(id);
    script_arg_write(id, hf_text("@lock_id"), command);
    if (id->failed) {
        return false;
    }
    args->resource = copy_text(ballot->resource, command->args.lock_try.resource);
    args->lock_id = copy_text(ballot->lock_id, (struct hf_bytes){id->data, id->size});
    return true;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void take(struct redlock_ballot *ballot)
{
    ballot->step = REDLOCK_TAKING;
    ballot->round++;
    ballot->attempt++;
    ballot->asked_ms = redlock_ballot_now_ms(ballot);
    redlock_ballot_find_away(ballot);
    for (size_t i = 0; i < ballot->redlock->count; i++) {
        struct redlock_vote *vote = &ballot->votes[i];
        vote->fresh = vote->maybe = false;
        if (vote->away) {
            vote->say = REDLOCK_SILENT;
        } else {
            send_try(vote, 0);
        }
    }
}

static void on_pause_over(struct alarm *alarm)
{
    struct redlock_ballot *ballot = LIST_ENTRY(alarm, struct redlock_ballot, pause);

    take(ballot);
    redlock_ballot_try_judge(ballot); /* too few may be left that can be asked */
}

static void pause_a_while(struct redlock_ballot *ballot)
{
    struct redlock *redlock = ballot->redlock;
    uint32_t random;

    random_bytes(&redlock->env->random, &random, sizeof random);
    ballot->step = REDLOCK_PAUSING;
    if (!redlock->closing) {
        alarm_set(&redlock->env->alarms, &ballot->pause, random % (PAUSE_MAX_MS + 1));
    }
}

/* Unlocks wherever the lock may have been taken, also where no answer came. A server that has not
 * answered yet is sent the unlock once it has, so that the two cannot overtake each other. The next
 * attempt waits for those alone that answered this one. But a holder that retries while too few
 * servers answer must not lose what it has; what is left behind then ends by its TTL. */
static void give_back(struct redlock_ballot *ballot)
{
    ballot->step = REDLOCK_GIVING_BACK;
    ballot->round++;
    for (size_t i = 0; i < ballot->redlock->count && !ballot->redlock->closing; i++) {
        struct redlock_vote *vote = &ballot->votes[i];
        bool was_asked = !vote->away;
        vote->away = vote->in_flight || vote->say == REDLOCK_SILENT;
        if (!was_asked || vote->say == REDLOCK_NO || (ballot->spare && !vote->fresh)) {
            continue;
        }
        if (vote->in_flight) {
            vote->owes_unlock = true;
        } else {
            redlock_ballot_try_unlock(vote);
        }
    }
    redlock_ballot_try_judge(ballot); /* there may have been nothing to do */
}

/* Another attempt makes sense unless another client plainly holds the lock, or too few servers
 * answer. */
static bool may_try_again(const struct redlock_ballot *ballot, const struct redlock_tally *tally)
{
    struct redlock *redlock = ballot->redlock;

    return ballot->attempt < ATTEMPTS && !redlock->closing &&
           tally->silent <= redlock->count - redlock->quorum &&
           (yes_votes(tally) > 0 || tally->no < redlock->quorum) &&
           redlock_ballot_now_ms(ballot) - ballot->began_ms < redlock->env->url.timeout_ms;
}

static void fail_attempt(struct redlock_ballot *ballot, const struct redlock_tally *tally)
{
    size_t unheard = tally->silent + tally->open;

    if (!may_try_again(ballot, tally)) {
        if (unheard > 0 && yes_votes(tally) + unheard >= ballot->redlock->quorum) {
            redlock_ballot_unclear(ballot,
                                   HF_ENGINE_DOWN); /* what came is given back: it is not held */
        } else {
            redlock_ballot_nil(ballot);
        }
    }
    give_back(ballot);
}

static int64_t largest_fence(const struct redlock_ballot *ballot)
{
    int64_t largest = 0;

    for (size_t i = 0; i < ballot->redlock->count; i++) {
        const struct redlock_vote *vote = &ballot->votes[i];
        if (vote->say == REDLOCK_YES && vote->fence > largest) {
            largest = vote->fence;
        }
    }
    return largest;
}

static void judge_raising(struct redlock_ballot *ballot);

/* Only those that voted for it: by now another one would hand out a larger fence still. Where this
 * id held the lock before on a quorum, this is a retry, and they alone know the fence. */
static void raise_fence(struct redlock_ballot *ballot, bool fresh)
{
    ballot->step = REDLOCK_RAISING;
    ballot->round++;
    for (size_t i = 0; i < ballot->redlock->count; i++) {
        struct redlock_vote *vote = &ballot->votes[i];
        if (vote->say != REDLOCK_YES || vote->fresh != fresh) {
            vote->say = REDLOCK_UNASKED;
        }
    }
    ballot->fence = largest_fence(ballot);
    for (size_t i = 0; i < ballot->redlock->count; i++) {
        struct redlock_vote *vote = &ballot->votes[i];
        if (vote->say == REDLOCK_YES && vote->fence < ballot->fence) {
            send_try(vote, ballot->fence);
        }
    }
    judge_raising(ballot);
}

/* An attempt that cannot succeed is over once it is clear why: because others hold the lock, or
 * because too few servers answered. */
static void judge_taking(struct redlock_ballot *ballot)
{
    struct redlock_tally tally = redlock_ballot_count(ballot);
    size_t quorum = ballot->redlock->quorum;
    bool id_is_given = ballot->pending->command.args.lock_try.id.size > 0;

    ballot->spare = id_is_given && tally.held + tally.silent + tally.open >= quorum;
    if (yes_votes(&tally) >= quorum && !ballot->redlock->closing) {
        raise_fence(ballot, tally.fresh >= quorum);
    } else if (yes_votes(&tally) + tally.open < quorum &&
               (tally.open == 0 || yes_votes(&tally) + tally.open + tally.silent < quorum)) {
        fail_attempt(ballot, &tally);
    }
}

static void judge_raising(struct redlock_ballot *ballot)
{
    struct redlock_tally tally = redlock_ballot_count(ballot);

    if (yes_votes(&tally) + tally.open < ballot->redlock->quorum) {
        fail_attempt(ballot, &tally);
    } else if (yes_votes(&tally) >= ballot->redlock->quorum) {
        if (redlock_ballot_validity_ms(ballot) <= 0) {
            fail_attempt(ballot, &tally);
            return;
        }
        struct hf_bytes id = ballot->unlock.args.lock_unlock.lock_id;
        reply_clear(&ballot->pending->reply);
        reply_text(&ballot->pending->reply, id.data, id.size);
        reply_number(&ballot->pending->reply, ballot->fence);
        redlock_ballot_finish(ballot);
    }
}

/* Has every server answered that the next attempt waits for? */
static bool is_given_back(const struct redlock_ballot *ballot)
{
    for (size_t i = 0; i < ballot->redlock->count; i++) {
        if (ballot->votes[i].in_flight && !ballot->votes[i].away) {
            return false;
        }
    }
    return true;
}

void redlock_ballot_try_judge(struct redlock_ballot *ballot)
{
    if (ballot->pending == NULL) {
        return;
    }
    switch (ballot->step) {
    case REDLOCK_TAKING:
        judge_taking(ballot);
        break;
    case REDLOCK_RAISING:
        judge_raising(ballot);
        break;
    case REDLOCK_GIVING_BACK:
        if (is_given_back(ballot) && !ballot->redlock->closing) {
            pause_a_while(ballot);
        }
        break;
    case REDLOCK_ASKING:
    case REDLOCK_PAUSING:
        break;
    }
}

bool redlock_ballot_try(struct redlock_ballot *ballot)
{
    if (!prepare_unlock(ballot)) {
        return false;
    }
    alarm_init(&ballot->pause, on_pause_over);
    take(ballot);
    return true;
}

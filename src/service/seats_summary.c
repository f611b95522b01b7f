/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.SUMMARY: what a user has in an event, and what a zone of it still allows him. It is put
 * together from SEATS.USER and SEATS.ZONE of the engine, and needs no ledger. What is not known is
 * said to be unknown. */
#include "service/service_state.h"

static const struct hf_seats_summary_args *args_of(const struct service_call *call)
{
    return &call->command.args.seats_summary;
}

/* call->total is what is held, call->delta what is confirmed. */
static struct reply *begin_answer(struct service_call *call, const char *limited)
{
    struct reply *reply = call_reply(call);

    reply_number(reply, call->total);
    reply_number(reply, call->delta);
    reply_word(reply, limited);
    return reply;
}

static void zone_seen(struct service_call *call)
{
    int64_t max = call->engine.numbers[4];
    bool for_life = call->engine.numbers[5] != 0;

    if (call->engine.code != HF_OK) {
        call_refuse_as_engine(call);
    } else if (max == 0 || max == HF_INTEGER_MAX) {
        call_answer(call, begin_answer(call, "no"));
    } else {
        int64_t counted = call->total + (for_life ? call->delta : 0);
        struct reply *reply = begin_answer(call, "yes");
        reply_number(reply, max);
        reply_number(reply, counted < max ? max - counted : 0);
        call_answer(call, reply);
    }
    call_end(call);
}

static void user_seen(struct service_call *call)
{
    struct command zone = {.spec = &command_table[SEATS_ZONE]};

    if (call->engine.code != HF_OK) {
        call_refuse_as_engine(call);
        call_end(call);
        return;
    }
    call->total = call->engine.numbers[0];
    call->delta = call->engine.numbers[1];
    if (args_of(call)->zone.size == 0) {
        call_answer(call, begin_answer(call, "unknown"));
        call_end(call);
        return;
    }
    zone.args.seats_zone =
        (struct hf_seats_zone_args){.event = args_of(call)->event, .zone = args_of(call)->zone};
    call_engine(call, &zone, zone_seen);
}

void seats_summary(struct service_call *call)
{
    struct command user = {.spec = &command_table[SEATS_USER]};

    user.args.seats_user =
        (struct hf_seats_user_args){.event = args_of(call)->event, .user = args_of(call)->user};
    call_engine(call, &user, user_seen);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * ROOM.POSITION and ROOM.STATS of a room whose places inside are all taken: RATE says nothing then
 * of how long it takes, and the engine knows nothing else. The rate that the worker measured
 * does. */
#include "command/room_refresh.h"
#include "service/service_state.h"

/* Where the estimate stands in a reply, and the place in line that it is for. */
#define POSITION_WAIT 2
#define POSITION_IN_LINE 5 /* values; with the pass of a user who is admitted there are more */
#define STATS_WAIT 7

static void copy_numbers(struct reply *to, const struct reply *from)
{
    reply_clear(to);
    for (size_t i = 0; i < from->count; i++) {
        reply_number(to, from->values[i].number);
    }
}

static void estimate_position(struct service *service, struct hf_bytes event, struct reply *reply)
{
    int64_t wait_s = reply->values[POSITION_WAIT].number;

    wait_s = admission_wait_s(service, event, reply->values[0].number, wait_s);
    reply->values[POSITION_WAIT].number = wait_s;
    reply->values[POSITION_WAIT + 2].number = room_refresh_s(wait_s);
}

static void answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    struct service *service = call->service;
    struct reply *own = &service->reply;
    bool stats = command_id(call->command.spec) == ROOM_STATS;

    if (reply->code != HF_OK || (!stats && reply->count != POSITION_IN_LINE)) {
        call_answer(call, reply);
    } else if (stats) {
        copy_numbers(own, reply);
        own->values[STATS_WAIT].number =
            admission_wait_s(service, call->command.args.room_stats.event, own->values[0].number,
                             own->values[STATS_WAIT].number);
        call_answer(call, own);
    } else {
        copy_numbers(own, reply);
        estimate_position(service, call->command.args.room_position.event, own);
        call_answer(call, own);
    }
    call_end(call);
}

void admission_answer(struct service *service, struct command *command, engine_done *done,
                      void *context)
{
    enum command_id id = command_id(command->spec);
    struct service_call *call = NULL;

    if ((id == ROOM_STATS && admission_estimates(service, command->args.room_stats.event)) ||
        (id == ROOM_POSITION && admission_estimates(service, command->args.room_position.event))) {
        call = call_new(service, command, done, context);
    }
    if (call == NULL) { /* without memory the engine's own figure has to do */
        engine_submit(service->inner, command, done, context);
    } else {
        engine_submit(service->inner, command, answered, call);
    }
}

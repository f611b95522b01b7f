/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of the engine's LIST, for calls that walk over all there is of a kind. */
#include "service/service_state.h"

#include <stdio.h>

void call_list(struct service_call *call, const char *kind, const char *after, int64_t count,
               engine_done *listed)
{
    struct command list = {.spec = &command_table[LIST]};

    list.args.list = (struct hf_list_args){
        .kind = hf_text(kind), .match = hf_text(""), .after = hf_text(after), .count = count};
    engine_submit(call->service->inner, &list, listed, call);
}

bool call_listed(struct service_call *call, const struct reply *reply, char cursor[HF_CURSOR_SIZE],
                 service_run *failed)
{
    if (reply->code != HF_OK) {
        call_note(call, reply);
        call_ready(call, failed);
        return false;
    }
    struct hf_bytes next = reply_bytes(reply, 0);
    snprintf(cursor, HF_CURSOR_SIZE, "%.*s", (int)next.size, next.data);
    return true;
}

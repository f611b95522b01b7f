/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of a call's work that has a state of its own for as long as it lasts: it stands on the
 * state of whoever began it, who finds that again when the part is over. */
#include "service/service_state.h"

#include <stdlib.h>

static void clear(struct call_part *part)
{
    if (part->clear != NULL) {
        part->clear(part);
    }
}

/* With all that it stands on, when the service is closed in the middle of it. */
static void release(void *state)
{
    struct call_part *part = state;

    if (part->outer != NULL) {
        part->release_outer(part->outer);
    }
    clear(part);
    free(part);
}

void *call_part_begin(struct service_call *call, size_t size, service_run *next)
{
    void *outer = call->state;
    void (*release_outer)(void *state) = call->release;
    struct call_part *part = call_add_state(call, size, release);

    if (part == NULL) {
        call->state = outer;
        call->release = release_outer;
        next(call);
        return NULL;
    }
    part->next = next;
    part->outer = outer;
    part->release_outer = release_outer;
    return part;
}

void call_part_end(struct service_call *call)
{
    struct call_part *part = call->state;
    service_run *next = part->next;

    call->state = part->outer;
    call->release = part->release_outer;
    clear(part);
    free(part);
    next(call);
}

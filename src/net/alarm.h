/* SPDX-License-Identifier: Apache-2.0
 *
 * Timeouts on a loop: any number of alarms on one uv timer. Setting and stopping an alarm allocates
 * nothing, leaves no handle to be closed and takes O(log n) steps, so that each of 100,000 requests
 * in flight can have one. */
#ifndef NET_ALARM_H
#define NET_ALARM_H

#include "base/heap.h"

#include <stdint.h>
#include <uv.h>

/* The alarms of one loop; used by its thread alone. */
struct alarms {
    uv_timer_t timer; /* its `data` is free for the owner's closing callback */
    struct heap set;  /* by the time of the loop at which they ring */
    uint64_t armed_ms;
};

struct alarm {
    struct heap_node node;
    struct alarms *alarms; /* where it was last set */
    void (*ring)(struct alarm *alarm);
};

void alarms_init(struct alarms *alarms, uv_loop_t *loop);
/* No alarm rings any more, nor can any be set; `closed` (NULL: nothing) is called by the loop. */
void alarms_close(struct alarms *alarms, uv_close_cb closed);

void alarm_init(struct alarm *alarm, void (*ring)(struct alarm *alarm));

/* Rings once, `delay_ms` from now, in place of whenever it was set for before. Never rings inside
 * of this call, nor in the callback of another alarm. */
void alarm_set(struct alarms *alarms, struct alarm *alarm, uint64_t delay_ms);
/* The same, unless it rings earlier anyway. */
void alarm_set_sooner(struct alarms *alarms, struct alarm *alarm, uint64_t delay_ms);
/* One that is not set, or was never initialised but is all zero, is left as it is. */
void alarm_stop(struct alarm *alarm);

/* uv_now() when it rings; it is set. */
static inline uint64_t alarm_due_ms(const struct alarm *alarm)
{
    return (uint64_t)alarm->node.due;
}

static inline bool alarm_is_set(const struct alarm *alarm)
{
    return alarm->node.in;
}

#endif

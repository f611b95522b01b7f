/* SPDX-License-Identifier: Apache-2.0
 *
 * Any number of alarms on one uv timer: setting and stopping one allocates nothing, and there is no
 * handle to be closed for it. For a few dozen at a time: they are kept in a sorted list. */
#ifndef NET_ALARM_H
#define NET_ALARM_H

#include "base/list.h"

#include <stdint.h>
#include <uv.h>

struct alarms {
    uv_timer_t timer; /* whose `data` is free for the owner's closing callback */
    struct list set;  /* the next to ring first */
    uint64_t armed_ms;
};

struct alarm {
    struct list node;
    uint64_t due_ms;
    bool is_set;
    void (*ring)(struct alarm *alarm);
};

void alarms_init(struct alarms *alarms, uv_loop_t *loop);

void alarm_init(struct alarm *alarm, void (*ring)(struct alarm *alarm));

/* Rings once, `delay_ms` from now, in place of whenever it was set for before. */
void alarm_set(struct alarms *alarms, struct alarm *alarm, uint64_t delay_ms);
/* The same, unless it rings earlier anyway. */
void alarm_set_sooner(struct alarms *alarms, struct alarm *alarm, uint64_t delay_ms);
void alarm_stop(struct alarm *alarm);

#endif

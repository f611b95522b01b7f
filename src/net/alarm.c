/* SPDX-License-Identifier: Apache-2.0
 *
 * Alarms stand in a heap by their time; the uv timer is set to the first of them. It is not moved
 * when the first alarm is stopped: it then expires once for nothing, which is cheaper than a change
 * of the timer for every request that is answered in time. */
#include "net/alarm.h"

#include "base/check.h"

static void arm(struct alarms *alarms);

static struct alarm *first_of(const struct alarms *alarms)
{
    return LIST_ENTRY(alarms->set.first, struct alarm, node);
}

static void ring_those_due(uv_timer_t *timer)
{
    struct alarms *alarms = LIST_ENTRY(timer, struct alarms, timer);
    int64_t now_ms = (int64_t)uv_now(timer->loop);

    alarms->armed_ms = UINT64_MAX;
    while (alarms->set.count > 0 && alarms->set.first->due <= now_ms) {
        struct alarm *alarm = first_of(alarms);
        alarm_stop(alarm);
        alarm->ring(alarm); /* which may free it, and stop or set others */
    }
    arm(alarms);
}

static void arm(struct alarms *alarms)
{
    if (alarms->set.count == 0 || uv_is_closing((uv_handle_t *)&alarms->timer)) {
        return;
    }
    uint64_t due_ms = (uint64_t)alarms->set.first->due;
    if (due_ms < alarms->armed_ms) {
        uint64_t now_ms = uv_now(alarms->timer.loop);
        alarms->armed_ms = due_ms;
        uv_timer_start(&alarms->timer, ring_those_due, due_ms > now_ms ? due_ms - now_ms : 0, 0);
    }
}

void alarms_init(struct alarms *alarms, uv_loop_t *loop)
{
    uv_timer_init(loop, &alarms->timer);
    alarms->set = (struct heap){.count = 0};
    alarms->armed_ms = UINT64_MAX;
}

void alarms_close(struct alarms *alarms, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&alarms->timer, closed);
}

void alarm_init(struct alarm *alarm, void (*ring)(struct alarm *alarm))
{
    *alarm = (struct alarm){.ring = ring};
}

void alarm_set(struct alarms *alarms, struct alarm *alarm, uint64_t delay_ms)
{
    CHECK(alarm->ring != NULL);
    alarm_stop(alarm);
    alarm->alarms = alarms;
    /* One that is set while another rings is for the next turn, even with no delay. */
    uint64_t due_ms = uv_now(alarms->timer.loop) + (delay_ms > 0 ? delay_ms : 1);
    heap_add(&alarms->set, &alarm->node, (int64_t)due_ms);
    arm(alarms);
}

void alarm_set_sooner(struct alarms *alarms, struct alarm *alarm, uint64_t delay_ms)
{
    int64_t due_ms = (int64_t)(uv_now(alarms->timer.loop) + delay_ms);

    if (!alarm_is_set(alarm) || alarm->node.due > due_ms) {
        alarm_set(alarms, alarm, delay_ms);
    }
}

void alarm_stop(struct alarm *alarm)
{
    if (alarm_is_set(alarm)) {
        heap_remove(&alarm->alarms->set, &alarm->node);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "net/alarm.h"

#include "base/check.h"

static void arm(struct alarms *alarms);

static void ring_those_due(uv_timer_t *timer)
{
    struct alarms *alarms = LIST_ENTRY(timer, struct alarms, timer);
    uint64_t now_ms = uv_now(timer->loop);

    alarms->armed_ms = UINT64_MAX;
    while (!list_empty(&alarms->set)) {
        struct alarm *alarm = LIST_ENTRY(alarms->set.next, struct alarm, node);
        if (alarm->due_ms > now_ms) {
            break;
        }
        alarm_stop(alarm);
        alarm->ring(alarm);
    }
    arm(alarms);
}

/* The timer of one that was stopped rings for nothing: that is cheaper than moving it each time. */
static void arm(struct alarms *alarms)
{
    if (list_empty(&alarms->set) || uv_is_closing((uv_handle_t *)&alarms->timer)) {
        return;
    }
    uint64_t due_ms = LIST_ENTRY(alarms->set.next, struct alarm, node)->due_ms;
    if (due_ms < alarms->armed_ms) {
        uint64_t now_ms = uv_now(alarms->timer.loop);
        alarms->armed_ms = due_ms;
        uv_timer_start(&alarms->timer, ring_those_due, due_ms > now_ms ? due_ms - now_ms : 0, 0);
    }
}

void alarms_init(struct alarms *alarms, uv_loop_t *loop)
{
    uv_timer_init(loop, &alarms->timer);
    list_init(&alarms->set);
    alarms->armed_ms = UINT64_MAX;
}

void alarm_init(struct alarm *alarm, void (*ring)(struct alarm *alarm))
{
    alarm->is_set = false;
    alarm->ring = ring;
}

void alarm_set(struct alarms *alarms, struct alarm *alarm, uint64_t delay_ms)
{
    CHECK(alarm->ring != NULL);
    alarm_stop(alarm);
    /* One that is set while another rings is for the next turn, even with no delay. */
    alarm->due_ms = uv_now(alarms->timer.loop) + (delay_ms > 0 ? delay_ms : 1);
    alarm->is_set = true;

    struct list *after = alarms->set.prev;
    while (after != &alarms->set && LIST_ENTRY(after, struct alarm, node)->due_ms > alarm->due_ms) {
        after = after->prev;
    }
    list_add_last(after->next, &alarm->node);
    arm(alarms);
}

void alarm_set_sooner(struct alarms *alarms, struct alarm *alarm, uint64_t delay_ms)
{
    if (!alarm->is_set || alarm->due_ms > uv_now(alarms->timer.loop) + delay_ms) {
        alarm_set(alarms, alarm, delay_ms);
    }
}

void alarm_stop(struct alarm *alarm)
{
    if (alarm->is_set) {
        alarm->is_set = false;
        list_remove(&alarm->node);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * First one walk over all keys, to learn what there is; then each family checks its own. */
#include "redis/audit/redis_audit.h"

#include "base/text.h"
#include "redis/audit/audit_seats.h"

#include <stdlib.h>

/* The kind that each key is of: on its own, or within an event. */
static const struct {
    enum key_id key;
    enum audit_kind kind;
    unsigned which; /* children of an event */
} known_keys[] = {
    {KEY_ZONE, AUDIT_ZONES, AUDIT_ZONE_CHILDREN},
    {KEY_ZONE_TOTALS, AUDIT_ZONES, AUDIT_ZONE_CHILDREN},
    {KEY_USER, AUDIT_USERS, AUDIT_USER_CHILDREN},
    {KEY_USER_CONFIRMED, AUDIT_USERS, AUDIT_USER_CHILDREN},
    {KEY_SEATS_DUE, AUDIT_EVENTS, 0},
    {KEY_BOOKING, AUDIT_EVENTS, 0},
    {KEY_SEATS_BOOKINGS, AUDIT_EVENTS, 0},
    {KEY_SEATS_ZONES, AUDIT_EVENTS, 0},
    {KEY_QUOTA_USED, AUDIT_TENANTS, 0},
    {KEY_QUOTA_NAMES, AUDIT_TENANTS, 0},
    {KEY_QUOTA_HELD, AUDIT_TENANTS, 0},
    {KEY_QUOTA_HOLDS, AUDIT_TENANTS, 0},
    {KEY_QUOTA_DUE, AUDIT_TENANTS, 0},
    {KEY_STOCK, AUDIT_COUNTERS, 0},
    {KEY_STOCK_TOTALS, AUDIT_COUNTERS, 0},
    {KEY_STOCK_ORDERS, AUDIT_COUNTERS, 0},
    {KEY_STOCK_DUE, AUDIT_COUNTERS, 0},
    {KEY_STOCK_USERS, AUDIT_COUNTERS, 0},
    {KEY_STOCK_NAMES, AUDIT_COUNTERS, 0},
    {KEY_STOCK_OUTBOX, AUDIT_COUNTERS, 0},
    {KEY_STOCK_INBOX, AUDIT_COUNTERS, 0},
    {KEY_QUEUE_DUE, AUDIT_ROOMS, 0}, /* many a program has a queue:… of its own */
    {KEY_QUEUE_USER, AUDIT_ROOMS, 0},
    {KEY_QUEUE_ROOM, AUDIT_ROOMS, 0},
    {KEY_QUEUE_PASSES, AUDIT_ROOMS, 0},
    {KEY_SEM_SLOTS, AUDIT_SEMAPHORES, 0},
    {KEY_SEM_LINE, AUDIT_SEMAPHORES, 0},
};

static bool is_counter(struct hf_bytes counter)
{
    int64_t number;
    return text_equal(counter, hf_text("main")) || text_to_integer(counter, &number);
}

static void learn_counter(struct audit *audit, struct hf_bytes name)
{
    struct hf_bytes product, counter;
    uint32_t index;

    if (key_split_counter(name, &product, &counter) && is_counter(counter) &&
        audit_name(audit, AUDIT_PRODUCTS, product, &index) != NULL) {
        audit_child(audit, AUDIT_PRODUCTS, index, 0, AUDIT_COUNTERS, name);
    }
}

static void learn_key(struct audit *audit, enum key_id key, const struct hf_bytes *parts)
{
    uint32_t index;

    for (size_t i = 0; i < sizeof known_keys / sizeof known_keys[0]; i++) {
        if (known_keys[i].key != key) {
            continue;
        }
        if (known_keys[i].kind == AUDIT_COUNTERS) {
            learn_counter(audit, parts[0]);
        } else if (known_keys[i].kind != AUDIT_ZONES && known_keys[i].kind != AUDIT_USERS) {
            audit_name(audit, known_keys[i].kind, parts[0], &index);
        } else if (audit_name(audit, AUDIT_EVENTS, parts[0], &index) != NULL) {
            audit_child(audit, AUDIT_EVENTS, index, known_keys[i].which, known_keys[i].kind,
                        parts[1]);
        }
        return;
    }
}

static void learn_keys(struct audit *audit, size_t master, const redisReply *keys, void *context)
{
    struct hf_bytes parts[KEY_PARTS_MAX];
    enum key_id key;

    (void)master;
    (void)context;
    for (size_t i = 0; i < keys->elements && audit_goes_on(audit); i++) {
        if (audit_parse_key(audit, audit_reply_text(keys->element[i]), &key, parts)) {
            learn_key(audit, key, parts);
        }
    }
}

enum hf_error redis_audit(const struct redis_url *url, hf_audit_report *report, void *context,
                          uint64_t *findings, struct problem *problem)
{
    static void (*const families[])(struct audit *) = {audit_seats, audit_quota, audit_stock,
                                                       audit_rooms, audit_semaphores};
    struct audit *audit = calloc(1, sizeof *audit);

    if (audit == NULL) {
        return problem_set(problem, HF_BUSY, "not enough memory for the audit");
    }
    enum hf_error code = audit_init(audit, url, problem);
    audit->report = report;
    audit->context = context;
    if (code == HF_OK) {
        audit_scan(audit, KEY_NONE, learn_keys, NULL);
        for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
            if (audit_goes_on(audit)) {
                families[i](audit);
            }
        }
        code = audit->reader.code;
        *findings = audit->findings;
    }
    audit_free(audit);
    free(audit);
    return code;
}

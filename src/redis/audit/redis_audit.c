/* SPDX-License-Identifier: Apache-2.0
 *
 * First one walk over all keys, to learn what there is; then each family looks at its own. */
#include "redis/audit/redis_audit.h"

#include "base/text.h"
#include "redis/audit/audit_state.h"

#include <stdlib.h>

enum { ZONE_CHILDREN, USER_CHILDREN };

/* What a key tells of: something on its own, or something within an event. */
static const struct {
    enum key_id key;
    enum named_kind kind;
    unsigned which; /* children of an event */
} told[] = {
    {KEY_ZONE, ZONES, ZONE_CHILDREN}, {KEY_ZONE_TOTALS, ZONES, ZONE_CHILDREN},
    {KEY_USER, USERS, USER_CHILDREN}, {KEY_USER_CONFIRMED, USERS, USER_CHILDREN},
    {KEY_SEATS_DUE, EVENTS, 0},       {KEY_BOOKING, EVENTS, 0},
    {KEY_QUOTA_USED, TENANTS, 0},     {KEY_QUOTA_HELD, TENANTS, 0},
    {KEY_QUOTA_HOLDS, TENANTS, 0},    {KEY_QUOTA_DUE, TENANTS, 0},
    {KEY_STOCK, PLACES, 0},           {KEY_STOCK_TOTALS, PLACES, 0},
    {KEY_STOCK_ORDERS, PLACES, 0},    {KEY_STOCK_DUE, PLACES, 0},
    {KEY_STOCK_OUTBOX, PLACES, 0},    {KEY_STOCK_INBOX, PLACES, 0},
    {KEY_QUEUE_DUE, ROOMS, 0}, /* many a program has a queue:… of its own */
    {KEY_QUEUE_USER, ROOMS, 0},       {KEY_SEM_SLOTS, SEMAPHORES, 0},
    {KEY_SEM_LINE, SEMAPHORES, 0},
};

static bool is_place(struct hf_bytes place)
{
    int64_t number;
    return text_equal(place, hf_text("main")) || text_to_integer(place, &number);
}

static void learn_place(struct audit *audit, struct hf_bytes name)
{
    struct hf_bytes product, place;
    uint32_t index;

    if (key_split_counter(name, &product, &place) && is_place(place) &&
        audit_name(audit, PRODUCTS, product, &index) != NULL) {
        audit_child(audit, PRODUCTS, index, 0, PLACES, name);
    }
}

static void learn_key(struct audit *audit, enum key_id key, const struct hf_bytes *parts)
{
    uint32_t index;

    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        if (told[i].key != key) {
            continue;
        }
        if (told[i].kind == PLACES) {
            learn_place(audit, parts[0]);
        } else if (told[i].kind != ZONES && told[i].kind != USERS) {
            audit_name(audit, told[i].kind, parts[0], &index);
        } else if (audit_name(audit, EVENTS, parts[0], &index) != NULL) {
            audit_child(audit, EVENTS, index, told[i].which, told[i].kind, parts[1]);
        }
        return;
    }
}

static void learn_keys(struct audit *audit, size_t link, const redisReply *keys, void *context)
{
    struct hf_bytes parts[KEY_PARTS_MAX];
    enum key_id key;

    (void)link;
    (void)context;
    for (size_t i = 0; i < keys->elements && audit_goes_on(audit); i++) {
        if (audit_read_key(audit, answer_text(keys->element[i]), &key, parts)) {
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
        code = audit->links.code;
        *findings = audit->findings;
    }
    audit_free(audit);
    free(audit);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the audit of seats share: the record of a booking. */
#ifndef REDIS_AUDIT_AUDIT_SEATS_H
#define REDIS_AUDIT_AUDIT_SEATS_H

#include "redis/audit/audit_state.h"

/* An event's children. */
enum { AUDIT_ZONE_CHILDREN, AUDIT_USER_CHILDREN, AUDIT_EVENT_CHILDREN };
static const enum audit_kind event_children[] = {
    [AUDIT_ZONE_CHILDREN] = AUDIT_ZONES, [AUDIT_USER_CHILDREN] = AUDIT_USERS};

/* Sums of a zone and of a user. */
enum {
    AUDIT_HELD,
    AUDIT_BOOKED,
    AUDIT_BOOKED_FOR_LIFE,
    AUDIT_BEFORE,
    AUDIT_BEFORE_FOR_LIFE,
    AUDIT_AFTER,
    AUDIT_AFTER_FOR_LIFE,
    AUDIT_ENDS /* of a user: how long something counts, in ms; known with the scores alone */
};
/* The sum of an event: seats refunded before the walk over its bookings. */
enum { AUDIT_REFUNDED };

/* A record, as it is answered. */
enum {
    AUDIT_STATUS,
    AUDIT_ZONE_ID,
    AUDIT_USER_ID,
    AUDIT_QUANTITY,
    AUDIT_LIFETIME,
    AUDIT_BOOKING_ID,
    AUDIT_EXPIRES_AT,
    AUDIT_RECORD_FIELDS
};

/* What it says of its seats, and an entry of the deadlines too. */
struct audit_hold {
    struct hf_bytes zone, user, quantity_text, booking;
    int64_t quantity;
};

void booking_ask(struct audit *audit, size_t master, struct hf_bytes key);
/* Is this the answer to that? */
bool booking_is(const redisReply *reply);
bool booking_status_is(const redisReply *record, const char *status);
/* Is this the status of a booking that is over, and remembered for retries only? */
bool booking_is_closed(struct hf_bytes status);
/* False if it is damaged. */
bool booking_read(const redisReply *record, struct audit_hold *hold);

bool hold_equal(const struct audit_hold *a, const struct audit_hold *b);

/* "confirmed lifetime" of a user, or the one number of a zone. */
bool confirmed_read(const redisReply *reply, int64_t confirmed[2]);

/* A booking, reserved for these seats, and its deadline look as if they did not belong together:
 * reads both in one step, and reports what is wrong then. */
void booking_recheck(struct audit *audit, struct hf_bytes event, const struct audit_hold *hold);

/* Adds up all confirmed bookings, and checks the deadline of every reserved one. */
void audit_bookings(struct audit *audit);

/* Checks that all names in an event's indexes are those of bookings and zones. */
void audit_indexes(struct audit *audit, uint32_t event);

/* Was the event closed, and is what it left behind being removed? Its totals say nothing then. */
bool event_is_closed(struct audit *audit, const struct audit_name *event);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the audit of seats share: the record of a booking. */
#ifndef REDIS_AUDIT_AUDIT_SEATS_H
#define REDIS_AUDIT_AUDIT_SEATS_H

#include "redis/audit/audit_state.h"

/* An event's children. */
enum { ZONE_CHILDREN, USER_CHILDREN, EVENT_CHILDREN };
static const enum named_kind event_children[] = {[ZONE_CHILDREN] = ZONES, [USER_CHILDREN] = USERS};

/* Sums of a zone and of a user. */
enum { HELD, BOOKED, BOOKED_FOR_LIFE, BEFORE, BEFORE_FOR_LIFE };

/* A record, as it is answered. */
enum { STATUS, ZONE_ID, USER_ID, QUANTITY, LIFETIME, BOOKING_ID, EXPIRES_AT, RECORD_FIELDS };

/* What it says of its seats, and an entry of the deadlines too. */
struct hold {
    struct hf_bytes zone, user, quantity_text, booking;
    int64_t quantity;
};

void booking_ask(struct audit *audit, size_t link, struct hf_bytes key);
/* Is this the answer to that? */
bool booking_is(const redisReply *reply);
bool booking_status_is(const redisReply *record, const char *status);
/* False if it is damaged. */
bool booking_read(const redisReply *record, struct hold *hold);

bool hold_equal(const struct hold *a, const struct hold *b);

/* "confirmed lifetime" of a user, or the one number of a zone. */
bool confirmed_read(const redisReply *reply, int64_t confirmed[2]);

/* A booking, reserved for these seats, and its deadline look as if they did not belong together:
 * reads both in one step, and reports what is wrong then. */
void booking_look(struct audit *audit, struct hf_bytes event, const struct hold *hold);

/* Adds up all confirmed bookings, and looks at the deadline of every reserved one. */
void audit_bookings(struct audit *audit);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Every statement that the ledger sends, in the dialect of its database. Nothing that a client
 * sends becomes part of a text: it goes into values. */
#ifndef LEDGER_STATEMENTS_H
#define LEDGER_STATEMENTS_H

#include "base/buffer.h"
#include "ledger/inventory_name.h"
#include "ledger/sql.h"

/* The list stands in statements.c; a number is the driver's key for what it has prepared. */
enum ledger_statement {
    /* writers */
    LEDGER_FENCE,
    LEDGER_WRITER_ADD,
    LEDGER_WRITER_REJOIN,
    LEDGER_WRITER_READ,
    LEDGER_WRITER_MARK,
    LEDGER_WRITER_FORGET,
    LEDGER_WRITERS_FENCE_DEAD,
    LEDGER_WRITERS_BURY,
    /* sales */
    LEDGER_ORDER_ADD,
    LEDGER_BOOKING_ADD,
    LEDGER_STOCK_SELL,
    LEDGER_ZONE_SELL,
    LEDGER_USER_GUARD,
    LEDGER_ORDER_FIND,
    LEDGER_BOOKING_FIND,
    LEDGER_STOCK_LOCK,
    LEDGER_ZONE_LOCK,
    LEDGER_USER_SUM,
    /* jobs */
    LEDGER_ORDER_END,
    LEDGER_BOOKING_END,
    LEDGER_ORDER_CANCEL,
    LEDGER_BOOKING_CANCEL,
    LEDGER_BARRIER_ADD,
    LEDGER_STOCK_ADD,
    LEDGER_STOCK_MAKE,
    LEDGER_ZONE_GIVE,
    LEDGER_ZONE_SET,
    LEDGER_ZONE_MAKE,
    LEDGER_STOCK_READ,
    LEDGER_ZONE_READ,
    LEDGER_ORDERS_EDGE,
    LEDGER_BOOKINGS_EDGE,
    LEDGER_ORDERS_STALE,
    LEDGER_BOOKINGS_STALE,
    LEDGER_LEASE_READ,
    LEDGER_LEASE_MAKE,
    LEDGER_LEASE_TAKE,
    LEDGER_LEASE_DROP,
    LEDGER_DRIFT_ADD,
    LEDGER_AUDIT_STOCK,
    LEDGER_AUDIT_ZONES,
    LEDGER_AUDIT_SEATS,
    LEDGER_AUDIT_RETURNS,
    LEDGER_AUDIT_REFUNDS,
    LEDGER_AUDIT_BARRIERS,
    /* outbox */
    LEDGER_NOTICE_ADD,
    LEDGER_HOLD_TELL,
    LEDGER_OUTBOX_DUE,
    LEDGER_OUTBOX_PENDING,
    LEDGER_OUTBOX_OLDEST,
    LEDGER_OUTBOX_SETTLE,
    LEDGER_OUTBOX_ENDED,
    LEDGER_OUTBOX_REVIVE,
    LEDGER_OUTBOX_OLD,
    LEDGER_OUTBOX_REMOVE,
    /* sagas */
    LEDGER_SAGA_ADD,
    LEDGER_SAGA_MOVE,
    LEDGER_SAGA_FIND,
    LEDGER_SAGA_OF_BOOKING,
    LEDGER_SAGA_OF_PAYMENT,
    LEDGER_SAGAS_DUE,
    LEDGER_SAGA_CLAIM,
    LEDGER_SAGA_WAKE,
    LEDGER_SAGA_BOOK,
    LEDGER_BARRIER_FIND,
    LEDGER_BARRIERS_FORGET,
    LEDGER_BARRIER_DROP,
    LEDGER_BARRIERS_OF,
    LEDGER_SAGA_ROUSE,
    LEDGER_SAGAS_ALL,
    LEDGER_SAGAS_END,
    LEDGER_SAGAS_IN,
    LEDGER_SAGAS_REST,
    /* bookings */
    LEDGER_HOLD_DROP,
    LEDGER_HOLD_ADD,
    LEDGER_HOLD_SET,
    LEDGER_HOLDS_LAPSED,
    LEDGER_BOOKINGS_OF_EVENT,
    LEDGER_BOOKINGS_OF_USER,
    /* migrations */
    LEDGER_SCHEMA_VERSION,
    LEDGER_SCHEMA_LOCK,
    LEDGER_SCHEMA_UNLOCK,
    LEDGER_INVENTORY_CHECK,
    LEDGER_STATEMENT_COUNT
};

/* The number, from 0, of the row with the last id of a page of LEDGER_ORDERS_STALE or
 * LEDGER_BOOKINGS_STALE; findings of each kind in an audit. */
#define LEDGER_PAGE_LAST 499
#define LEDGER_FINDINGS 1000
/* Notices that a replay, a sweep or a SETTLE changes at once. */
#define LEDGER_OUTBOX_PAGE 500

struct ledger_statements {
    struct sql_statement all[LEDGER_STATEMENT_COUNT];
    struct buffer texts; /* what they point into */
    struct memory memory;
};

/* False if there is no memory. */
bool ledger_statements_init(struct ledger_statements *statements, enum sql_dialect dialect,
                            const struct inventory_name *inventory);
void ledger_statements_free(struct ledger_statements *statements);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * One template for each statement. What differs between dialects stands in braces and is written
 * out once, when the ledger is opened:
 *
 *     {now}        milliseconds since 1970, by the database's clock
 *     {lock}       locks the rows that a query finds; nothing on SQLite, whose transactions have
 *                  the lock of the whole file
 *     {integer}    the type of 64 bits that CAST knows
 *     {text}       a value that is a text where the database cannot tell
 *     {each_booking}, {unless_there}   of a statement about many bookings
 *     {hold_set}, {saga_rows}, {saga_moves}   of statements about many bookings or sagas
 *     {inventory}, {product}, {stock}   the table and columns of the setting, quoted
 *     {take_schema_lock}, {give_schema_lock}
 *     {rows}       is left to the driver, see sql.h */
#include "ledger/statements.h"

#include "base/check.h"
#include "ledger/ledger.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* Rows of writers that are fenced, which the engine may not know of yet, after an id. {join} has
 * the database begin with the writers, of which there are few; {its_writer} and {bare} have MySQL
 * use both columns of the index on writer and batch, where it would read all rows of a writer. */
#define STALE(table, id)                                                                           \
    " FROM writers w {join} " table " r WHERE w.fenced = 1 AND {its_writer}"                       \
    " AND r.batch > w.told AND r.status <> 'cancelled' AND {bare}(r." id ") > ?"
/* The sum of what is in flight with a status. */
#define FLYING(table, where, status)                                                               \
    "CAST(COALESCE((SELECT SUM(r.quantity) FROM writers w {join} " table " r"                      \
    " WHERE {its_writer} AND r.batch > w.told AND " where " AND r.status = '" status               \
    "'), 0) AS {integer})"
/* A row was told of if its writer is gone, or says so. */
#define TOLD "COALESCE((SELECT w.told FROM writers w WHERE w.writer_id = r.writer), r.batch)"

/* What is read of a saga. */
#define SAGA                                                                                       \
    "SELECT saga_id, event_id, booking_id, zone_id, user_id, quantity, max_per_user, unit_price,"  \
    " currency, pass, payment_id, payment_token, state, came_from, payment, error_code,"           \
    " error_message, attempts, created_at, updated_at, due_at, owner, fence FROM sagas"
/* A booking that is confirmed. */
#define BOOKING_ADD                                                                                \
    "INSERT INTO bookings (event_id, booking_id, zone_id, user_id, show_id, quantity, unit_price," \
    " created_at, payment_id, confirmation_code, writer, batch) {rows}"
/* A move: each value as the dialect names it, and where the values of many come from. A lease of
 * less than nothing ends never, one of nothing is kept. */
#define SAGA_MOVE(a, b, c, d, e, f, g, h, i, j, k, l, m, source, n, o, p)                          \
    "state = " a ", came_from = " b ", payment = " c ", error_code = " d ", error_message = " e    \
    ", attempts = " f ", due_at = {now} + " g ", owner = " h ", fence = " i ", payment_token = " j \
    ", updated_at = {now}, lease_until = CASE WHEN " k " < 0 THEN 9007199254740991 WHEN " l        \
    " = 0 THEN lease_until ELSE {now} + " m " END" source " WHERE saga_id = " n " AND fence = " o  \
    " AND state = " p
#define SAGA_MOVE_ONE                                                                              \
    SAGA_MOVE("?", "?", "?", "?", "?", "?", "?", "?", "?", "?", "?", "?", "?", "", "?", "?", "?")
#define SAGA_MOVE_ALL                                                                              \
    SAGA_MOVE("v.a", "v.b", "v.c", "v.d", "v.e", "v.f", "v.g", "v.h", "v.i", "v.j", "v.k", "v.k",  \
              "v.k", " FROM ({rows}) v(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)", "v.n",    \
              "v.o", "v.p")
#define SAGA_ADD_ONE "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {now} + ?)"
#define SAGA_ADD_ALL                                                                               \
    "SELECT a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, {now} + p"                                \
    " FROM ({rows}) v(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)"
/* A hold is moved on: one row, or all that are given, each another booking's. */
#define HOLD_SET_ONE                                                                               \
    "UPDATE bookings SET created_at ="                                                             \
    " CASE WHEN ? >= COALESCE(ended_at, expires_at) THEN ? ELSE created_at END,"                   \
    " zone_id = ?, user_id = ?, show_id = ?, quantity = ?, unit_price = ?, status = ?,"            \
    " ended_at = ?, expires_at = ? WHERE event_id = ? AND booking_id = ? AND batch = 0"            \
    " AND CASE ?"                                                                                  \
    " WHEN 'reserved' THEN (status = 'reserved' AND expires_at < ?)"                               \
    " OR (status <> 'reserved' AND created_at < ? AND expires_at <> ?)"                            \
    " WHEN 'cancelled' THEN status <> 'cancelled' AND (created_at <= ? OR expires_at = ?)"         \
    " ELSE status = 'reserved' AND expires_at = ? END"
#define HOLD_SET_ALL                                                                               \
    "UPDATE bookings b SET created_at = CASE WHEN v.a >= COALESCE(b.ended_at, b.expires_at) THEN " \
    "v.a"                                                                                          \
    " ELSE b.created_at END, zone_id = v.c, user_id = v.d, show_id = v.e, quantity = v.f,"         \
    " unit_price = v.g, status = v.h, ended_at = v.i, expires_at = v.j"                            \
    " FROM ({rows}) v(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)"                    \
    " WHERE b.event_id = v.k AND b.booking_id = v.l AND b.batch = 0 AND CASE v.h"                  \
    " WHEN 'reserved' THEN (b.status = 'reserved' AND b.expires_at < v.j)"                         \
    " OR (b.status <> 'reserved' AND b.created_at < v.a AND b.expires_at <> v.j)"                  \
    " WHEN 'cancelled' THEN b.status <> 'cancelled' AND (b.created_at <= v.a OR b.expires_at = "   \
    "v.j)"                                                                                         \
    " ELSE b.status = 'reserved' AND b.expires_at = v.j END"
/* The columns of a booking that are shown; of a hold that has lapsed and was not marked yet, the
 * state is what the mark will say. */
#define SHOWN                                                                                      \
    "event_id, booking_id, zone_id, user_id, show_id,"                                             \
    " CASE WHEN status = 'reserved' AND expires_at <= {now} THEN 'expired' ELSE status END,"       \
    " payment_id, confirmation_code, quantity, unit_price, created_at, COALESCE(expires_at, 0),"   \
    " COALESCE(confirmed_at, 0), COALESCE(ended_at, 0)"

static const struct {
    const char *text, *types;
} templates[LEDGER_STATEMENT_COUNT] = {
    /* Begins every transaction that writes: it says which one it is, and comes to nothing once the
     * epoch is another. */
    [LEDGER_FENCE] =
        {"UPDATE writers SET batch = ?, told = CASE WHEN told < ? THEN ? ELSE told END,"
         " seen_at = {now} WHERE writer_id = ? AND epoch = ?",
         "iiiii"},
    [LEDGER_WRITER_ADD] = {"INSERT INTO writers (writer_id, epoch, batch, told, seen_at)"
                           " VALUES (?, 1, ?, ?, {now})",
                           "iii"},
    [LEDGER_WRITER_REJOIN] = {"UPDATE writers SET epoch = epoch + 1, seen_at = {now}"
                              " WHERE writer_id = ? AND fenced = 0",
                              "i"},
    [LEDGER_WRITER_READ] = {"SELECT epoch, batch, fenced FROM writers WHERE writer_id = ?", "i"},
    [LEDGER_WRITER_MARK] = {"UPDATE writers SET told = CASE WHEN told < ? THEN ? ELSE told END,"
                            " seen_at = {now} WHERE writer_id = ? AND fenced = 0",
                            "iii"},
    [LEDGER_WRITER_FORGET] = {"DELETE FROM writers WHERE writer_id = ?", "i"},
    [LEDGER_WRITERS_FENCE_DEAD] = {"UPDATE writers SET epoch = epoch + 1, fenced = 1"
                                   " WHERE fenced = 0 AND seen_at < {now} - ?",
                                   "i"},
    [LEDGER_WRITERS_BURY] = {"DELETE FROM writers WHERE fenced = 1", ""},

    [LEDGER_ORDER_ADD] = {"INSERT INTO orders (order_id, product_id, user_id, quantity, unit_price,"
                          " writer, batch) {rows}",
                          "tttiiii"},
    [LEDGER_BOOKING_ADD] = {BOOKING_ADD, "tttttiiittii"},
    [LEDGER_STOCK_SELL] = {"UPDATE {inventory} SET {stock} = {stock} - ?"
                           " WHERE {product} = ? AND {stock} >= ?",
                           "iti"},
    [LEDGER_ZONE_SELL] = {"UPDATE zones SET sold = sold + ?"
                          " WHERE event_id = ? AND zone_id = ? AND capacity - sold >= ?",
                          "itti"},
    /* Stands after the counter's update, whose lock keeps other sales of the product out: changes a
     * row, which nobody expects, if the user has more than he may. */
    [LEDGER_USER_GUARD] = {"UPDATE writers SET epoch = epoch WHERE writer_id = ?"
                           " AND ? < (SELECT COALESCE(SUM(quantity), 0) FROM orders"
                           " WHERE user_id = ? AND product_id = ? AND status = 'sold')",
                           "iitt"},
    [LEDGER_ORDER_FIND] = {"SELECT r.product_id, r.user_id, r.status, r.quantity, r.unit_price,"
                           " r.sold_at, COALESCE(r.returned_at, 0), r.writer, r.batch, " TOLD
                           " FROM orders r WHERE r.order_id = ?",
                           "t"},
    [LEDGER_BOOKING_FIND] = {"SELECT r.event_id, r.user_id, r.status, r.quantity, r.unit_price,"
                             " COALESCE(r.confirmed_at, 0), COALESCE(r.ended_at, 0), r.writer,"
                             " r.batch, " TOLD ", r.zone_id, r.payment_id, r.confirmation_code"
                             " FROM bookings r WHERE r.event_id = ? AND r.booking_id = ?"
                             " AND r.batch <> 0",
                             "tt"},
    [LEDGER_STOCK_LOCK] = {"SELECT {stock} FROM {inventory} WHERE {product} = ?{lock}", "t"},
    [LEDGER_ZONE_LOCK] = {"SELECT capacity - sold, capacity FROM zones"
                          " WHERE event_id = ? AND zone_id = ?{lock}",
                          "tt"},
    [LEDGER_USER_SUM] = {"SELECT CAST(COALESCE(SUM(quantity), 0) AS {integer}) FROM orders"
                         " WHERE user_id = ? AND product_id = ? AND status = 'sold'",
                         "tt"},

    [LEDGER_ORDER_END] = {"UPDATE orders SET status = 'returned', returned_at = {now}, writer = ?,"
                          " batch = ? WHERE order_id = ? AND status = 'sold'",
                          "iit"},
    [LEDGER_BOOKING_END] = {"UPDATE bookings SET status = 'refunded', ended_at = {now}, writer = ?,"
                            " batch = ? WHERE event_id = ? AND booking_id = ?"
                            " AND status = 'confirmed'",
                            "iitt"},
    [LEDGER_ORDER_CANCEL] = {"INSERT INTO orders (order_id, product_id, user_id, quantity,"
                             " unit_price, status, returned_at, writer, batch)"
                             " VALUES (?, ?, ?, ?, 0, 'cancelled', {now}, ?, ?)",
                             "tttiii"},
    [LEDGER_BOOKING_CANCEL] =
        {"INSERT INTO bookings (booking_id, event_id, user_id, quantity,"
         " unit_price, status, zone_id, confirmed_at, ended_at, writer, batch)"
         " VALUES (?, ?, ?, ?, 0, 'cancelled', ?, NULL, {now}, ?, ?)",
         "tttitii"},
    [LEDGER_BARRIER_ADD] = {"INSERT INTO barriers (scope, id, step) VALUES (?, ?, ?)", "ttt"},
    [LEDGER_STOCK_ADD] = {"UPDATE {inventory} SET {stock} = {stock} + ? WHERE {product} = ?", "it"},
    [LEDGER_STOCK_MAKE] = {"INSERT INTO {inventory} ({product}, {stock}) VALUES (?, ?)", "ti"},
    [LEDGER_ZONE_GIVE] = {"UPDATE zones SET sold = sold - ?, refunded = refunded + ?"
                          " WHERE event_id = ? AND zone_id = ?",
                          "iitt"},
    [LEDGER_ZONE_SET] = {"UPDATE zones SET capacity = ? WHERE event_id = ? AND zone_id = ?", "itt"},
    [LEDGER_ZONE_MAKE] = {"INSERT INTO zones (event_id, zone_id, capacity, sold)"
                          " VALUES (?, ?, ?, 0)",
                          "tti"},
    [LEDGER_STOCK_READ] =
        {"SELECT i.{stock}, i.{stock}, " FLYING("orders", "r.product_id = ?", "sold") ", " FLYING(
             "orders", "r.product_id = ?", "returned") " FROM {inventory} i WHERE i.{product} = ?",
         "ttt"},
    [LEDGER_ZONE_READ] =
        {"SELECT z.capacity - z.sold, z.capacity, " FLYING(
             "bookings", "r.event_id = z.event_id AND r.zone_id = z.zone_id",
             "confirmed") ", " FLYING("bookings",
                                      "r.event_id = z.event_id AND r.zone_id = z.zone_id",
                                      "refunded") ", z.refunded FROM zones z WHERE"
                                                  " z.event_id = ? AND z.zone_id = ?",
         "tt"},
    [LEDGER_ORDERS_EDGE] =
        {"SELECT r.order_id" STALE(
             "orders", "order_id") " ORDER BY r.order_id LIMIT 1 OFFSET " TEXT(LEDGER_PAGE_LAST),
         "t"},
    [LEDGER_BOOKINGS_EDGE] =
        {"SELECT r.booking_id" STALE(
             "bookings",
             "booking_id") " ORDER BY r.booking_id LIMIT 1 OFFSET " TEXT(LEDGER_PAGE_LAST),
         "t"},
    [LEDGER_ORDERS_STALE] = {"SELECT r.product_id, r.order_id, r.user_id, r.quantity, r.sold_at,"
                             " r.status" STALE(
                                 "orders",
                                 "order_id") " AND (? = 0 OR r.order_id <= ?) ORDER BY r.order_id",
                             "tit"},
    [LEDGER_BOOKINGS_STALE] = {"SELECT r.event_id, r.booking_id, r.user_id, r.quantity,"
                               " r.created_at, r.status, r.payment_id,"
                               " r.confirmation_code" STALE(
                                   "bookings", "booking_id") " AND (? = 0 OR r.booking_id <= ?)"
                                                             " ORDER BY r.booking_id, r.event_id",
                               "tit"},
    [LEDGER_LEASE_READ] =
        {"SELECT owner, fence, expires_at - {now} FROM leases WHERE name = ?{lock}", "t"},
    [LEDGER_LEASE_MAKE] = {"INSERT INTO leases (name, owner, fence, expires_at)"
                           " VALUES (?, ?, 1, {now} + ?)",
                           "tti"},
    [LEDGER_LEASE_TAKE] = {"UPDATE leases SET owner = ?, fence = ?, expires_at = {now} + ?"
                           " WHERE name = ?",
                           "tiit"},
    [LEDGER_LEASE_DROP] = {"UPDATE leases SET expires_at = 0 WHERE name = ? AND owner = ?", "tt"},
    [LEDGER_DRIFT_ADD] = {"INSERT INTO drift (scope, zone, before_value, after_value, in_flight,"
                          " cause, server) VALUES (?, ?, ?, ?, ?, ?, ?)",
                          "ttiiitt"},
#define AUDIT(...) "SELECT " __VA_ARGS__ " LIMIT " TEXT(LEDGER_FINDINGS)
    [LEDGER_AUDIT_STOCK] = {AUDIT("{product}, {stock} FROM {inventory} WHERE {stock} < 0"
                                  " ORDER BY {product}"),
                            ""},
    [LEDGER_AUDIT_ZONES] = {AUDIT("event_id, zone_id, sold, capacity FROM zones"
                                  " WHERE sold < 0 OR sold > capacity ORDER BY event_id, zone_id"),
                            ""},
    [LEDGER_AUDIT_SEATS] = {AUDIT("z.event_id, z.zone_id, z.sold,"
                                  " CAST(COALESCE(b.booked, 0) AS {integer})"
                                  " FROM zones z LEFT JOIN (SELECT event_id, zone_id,"
                                  " SUM(quantity) AS booked FROM bookings"
                                  " WHERE status = 'confirmed' AND writer <> 0"
                                  " GROUP BY event_id, zone_id) b"
                                  " ON b.event_id = z.event_id AND b.zone_id = z.zone_id"
                                  " WHERE z.sold <> COALESCE(b.booked, 0)"
                                  " ORDER BY z.event_id, z.zone_id"),
                            ""},
    [LEDGER_AUDIT_RETURNS] = {AUDIT("product_id, order_id FROM orders r WHERE status = 'returned'"
                                    " AND NOT EXISTS (SELECT 1 FROM barriers b WHERE"
                                    " b.scope = r.product_id AND b.id = r.order_id"
                                    " AND b.step = 'return') ORDER BY order_id"),
                              ""},
    [LEDGER_AUDIT_REFUNDS] = {AUDIT("event_id, booking_id FROM bookings r"
                                    " WHERE status = 'refunded' AND NOT EXISTS"
                                    " (SELECT 1 FROM barriers b WHERE b.scope = r.event_id"
                                    " AND b.id = r.booking_id AND b.step = 'refund')"
                                    " ORDER BY booking_id"),
                              ""},
    [LEDGER_AUDIT_BARRIERS] = {AUDIT("scope, id, step FROM barriers b WHERE"
                                     " (step = 'return' AND NOT EXISTS (SELECT 1 FROM orders r"
                                     " WHERE r.order_id = b.id AND r.product_id = b.scope"
                                     " AND r.status = 'returned')) OR"
                                     " (step = 'refund' AND NOT EXISTS (SELECT 1 FROM bookings r"
                                     " WHERE r.event_id = b.scope AND r.booking_id = b.id"
                                     " AND r.status = 'refunded')) ORDER BY scope, id"),
                               ""},

    [LEDGER_NOTICE_ADD] = {"INSERT INTO outbox (scope, subject_id, type, payload) {rows}", "tttt"},
    /* Only what the row says, and not again what was told: a HOLDS may be repeated, also by another
     * request. What is told ends with the trace of the first, or is without one. */
    [LEDGER_HOLD_TELL] =
        {"INSERT INTO outbox (scope, subject_id, type, payload) SELECT b.event_id, b.booking_id,"
         " {text}, {text} FROM bookings b WHERE b.event_id = ? AND b.booking_id = ? AND b.status = "
         "?"
         " AND b.batch = 0 AND NOT EXISTS (SELECT 1 FROM outbox p WHERE p.scope = b.event_id"
         " AND p.subject_id = b.booking_id AND p.type = ?"
         " AND (p.payload = ? OR SUBSTR(p.payload, 1, {characters}(?)) = ?))",
         "ttttttttt"},
    [LEDGER_OUTBOX_DUE] =
        {"SELECT o.outbox_id, o.scope, o.subject_id, o.type, o.payload, o.attempts, o.created_at,"
         " CAST({now} + ? - o.retry_from AS {integer}),"
         " COALESCE((SELECT MAX(p.due_at) FROM outbox p WHERE p.subject_id = o.subject_id"
         " AND p.scope = o.scope AND p.state = 0 AND p.outbox_id < o.outbox_id), -1),"
         " CAST({now} + ? AS {integer}) FROM outbox o WHERE o.state = 0 AND o.due_at <= {now} + ?"
         " ORDER BY o.due_at, o.outbox_id LIMIT " TEXT(LEDGER_DUE_PAGE),
         "iii"},
    [LEDGER_OUTBOX_PENDING] = {"SELECT COUNT(*) FROM (SELECT 1 AS one FROM outbox WHERE state = 0"
                               " LIMIT ?) counted",
                               "i"},
    [LEDGER_OUTBOX_OLDEST] =
        {"SELECT CAST({now} + ? - created_at AS {integer}) FROM outbox WHERE state = 0"
         " ORDER BY outbox_id LIMIT 1",
         "i"},
    [LEDGER_OUTBOX_SETTLE] = {"UPDATE outbox SET state = ?, attempts = ?, due_at = {now} + ?"
                              " WHERE outbox_id = ? AND state = 0",
                              "iiii"},
    [LEDGER_OUTBOX_ENDED] =
        {"SELECT outbox_id FROM outbox WHERE outbox_id > ? AND (state = 2 OR state = ?)"
         " AND created_at >= ? AND (? = 0 OR type = ?) AND (? = 0 OR subject_id = ?)"
         " ORDER BY outbox_id LIMIT " TEXT(LEDGER_OUTBOX_PAGE),
         "iiiitit"},
    [LEDGER_OUTBOX_REVIVE] = {"UPDATE outbox SET state = 0, attempts = 0, due_at = {now} + ?,"
                              " retry_from = {now} + ? WHERE outbox_id = ? AND state <> 0",
                              "iii"},
    [LEDGER_OUTBOX_OLD] = {"SELECT outbox_id FROM outbox WHERE state = ? AND due_at < {now} + ? - ?"
                           " ORDER BY due_at LIMIT " TEXT(LEDGER_OUTBOX_PAGE),
                           "iii"},
    [LEDGER_OUTBOX_REMOVE] = {"DELETE FROM outbox WHERE outbox_id = ? AND state <> 0", "i"},
    [LEDGER_SAGA_ADD] = {"INSERT INTO sagas (saga_id, event_id, booking_id, zone_id, user_id,"
                         " quantity, max_per_user, unit_price, currency, pass, payment_id,"
                         " payment_token, state, owner, fence, lease_until) {saga_rows}",
                         "tttttiiittttttii"},
    [LEDGER_SAGA_MOVE] = {"UPDATE sagas SET {saga_moves}", "tttttiititiiitit"},
    [LEDGER_SAGA_FIND] = {SAGA " WHERE saga_id = ?", "t"},
    [LEDGER_SAGA_OF_BOOKING] = {SAGA " WHERE event_id = ? AND booking_id = ?", "tt"},
    [LEDGER_SAGA_OF_PAYMENT] = {SAGA " WHERE payment_id = ?{lock}", "t"},
    [LEDGER_SAGAS_DUE] = {SAGA " WHERE lease_until < {now} ORDER BY lease_until LIMIT ?{lock}",
                          "i"},
    [LEDGER_SAGA_CLAIM] = {"UPDATE sagas SET owner = ?, fence = ?, lease_until = {now} + ?"
                           " WHERE saga_id = ? AND fence = ?",
                           "tiiti"},
    [LEDGER_SAGA_WAKE] = {"UPDATE sagas SET lease_until = 0, due_at = {now}"
                          " WHERE saga_id = ? AND fence = ? AND owner = ''"
                          " AND lease_until < 9007199254740991",
                          "ti"},
    [LEDGER_SAGA_BOOK] = {BOOKING_ADD "{unless_there}", "tttttiiittii"},
    [LEDGER_BARRIER_FIND] = {"SELECT made_at FROM barriers WHERE scope = ? AND id = ?"
                             " AND step = ?{lock}",
                             "ttt"},
    [LEDGER_BARRIERS_FORGET] = {"DELETE FROM barriers WHERE scope = ?", "t"},
    [LEDGER_BARRIER_DROP] = {"DELETE FROM barriers WHERE scope = ? AND id = ? AND step = ?", "ttt"},
    [LEDGER_BARRIERS_OF] = {"SELECT id FROM barriers WHERE scope = ? LIMIT ?", "ti"},
    [LEDGER_SAGA_ROUSE] = {"UPDATE sagas SET lease_until = 0, due_at = {now} WHERE saga_id = ?"
                           " AND owner = '' AND lease_until < 9007199254740991",
                           "t"},
    /* Of a list: all behind an id; the last id of a stretch; those of a state within it, or where
     * the stretch is the last. */
    [LEDGER_SAGAS_ALL] = {SAGA " WHERE saga_id > ? ORDER BY saga_id LIMIT ?", "ti"},
    [LEDGER_SAGAS_END] = {"SELECT saga_id FROM sagas WHERE saga_id > ? ORDER BY saga_id"
                          " LIMIT 1 OFFSET ?",
                          "ti"},
    [LEDGER_SAGAS_IN] = {SAGA " WHERE saga_id > ? AND saga_id <= ? AND state = ?"
                              " ORDER BY saga_id LIMIT ?",
                         "ttti"},
    [LEDGER_SAGAS_REST] = {SAGA " WHERE saga_id > ? AND state = ? ORDER BY saga_id LIMIT ?", "tti"},
    /* The rows of holds have batch 0, which no transaction of a writer has; only the primary key is
     * of use to find them by. */
    [LEDGER_HOLD_DROP] = {"DELETE FROM bookings WHERE {each_booking} AND batch = 0", "tt"},
    [LEDGER_HOLD_ADD] = {"INSERT INTO bookings (event_id, booking_id, zone_id, user_id, show_id,"
                         " quantity, unit_price, status, created_at, expires_at, confirmed_at,"
                         " ended_at, writer, batch) {rows}{unless_there}",
                         "tttttiitiiiiii"},
    /* A hold that was made again is a later one with another deadline; one that was extended has a
     * later deadline; an end is of the hold that was made then or was to lapse then. A hold that is
     * begun behind the end of the one before begins anew. created_at stands first: MySQL goes on
     * with what it has assigned. */
    [LEDGER_HOLD_SET] = {"{hold_set}", "iitttiitiitttiiiiii"},
    [LEDGER_HOLDS_LAPSED] = {"SELECT " SHOWN " FROM bookings WHERE status = 'reserved'"
                             " AND expires_at <= {now} ORDER BY expires_at"
                             " LIMIT " TEXT(LEDGER_HOLDS_MAX),
                             ""},
    [LEDGER_BOOKINGS_OF_EVENT] = {"SELECT " SHOWN " FROM bookings WHERE event_id = ?"
                                  " AND booking_id > ? ORDER BY booking_id LIMIT ?",
                                  "tti"},
    [LEDGER_BOOKINGS_OF_USER] = {"SELECT " SHOWN " FROM bookings WHERE user_id = ?"
                                 " AND event_id >= ? AND (event_id > ? OR booking_id > ?)"
                                 " ORDER BY event_id, booking_id LIMIT ?",
                                 "tttti"},

    [LEDGER_SCHEMA_VERSION] = {"SELECT MAX(version) FROM holdfast_schema", ""},
    [LEDGER_SCHEMA_LOCK] = {"{take_schema_lock}", ""},
    [LEDGER_SCHEMA_UNLOCK] = {"{give_schema_lock}", ""},
    [LEDGER_INVENTORY_CHECK] = {"SELECT {stock} + 0 FROM {inventory} WHERE {product} = ?", "t"},
};

struct token {
    const char *name;
    const char *texts[SQL_DIALECT_COUNT];
};

static const struct token tokens[] = {
    {"{now}",
     {"CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
      "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
      "CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)"}},
    {"{lock}", {"", " FOR UPDATE", " FOR UPDATE"}},
    {"{integer}", {"INTEGER", "BIGINT", "SIGNED"}},
    {"{text}", {"?", "CAST(? AS TEXT)", "?"}},
    {"{characters}", {"LENGTH", "LENGTH", "CHAR_LENGTH"}},
    {"{join}", {"CROSS JOIN", "CROSS JOIN", "STRAIGHT_JOIN"}},
    {"{its_writer}",
     {"r.writer = w.writer_id", "r.writer = w.writer_id",
      "r.writer >= w.writer_id AND r.writer <= w.writer_id"}},
    {"{bare}", {"", "", "CONCAT"}},
    /* One statement for all rows where the driver can, or one for each. */
    {"{each_booking}",
     {"event_id = ? AND booking_id = ?", "(event_id, booking_id) IN ({rows})",
      "event_id = ? AND booking_id = ?"}},
    {"{unless_there}",
     {" ON CONFLICT (event_id, booking_id) DO NOTHING",
      " ON CONFLICT (event_id, booking_id) DO NOTHING", " ON DUPLICATE KEY UPDATE batch = batch"}},
    {"{hold_set}", {HOLD_SET_ONE, HOLD_SET_ALL, HOLD_SET_ONE}},
    {"{saga_rows}", {SAGA_ADD_ONE, SAGA_ADD_ALL, SAGA_ADD_ONE}},
    {"{saga_moves}", {SAGA_MOVE_ONE, SAGA_MOVE_ALL, SAGA_MOVE_ONE}},
    /* Both locks are the session's: they end with it at the latest. On SQLite a migration is one
     * transaction, which has the lock of the file. */
    {"{take_schema_lock}",
     {"SELECT 1", "SELECT 1 FROM (SELECT pg_advisory_lock(4653465446534654)) locked",
      "SELECT COALESCE(GET_LOCK('holdfast_schema', 30), 0)"}},
    {"{give_schema_lock}",
     {"SELECT 1", "SELECT 1 FROM (SELECT pg_advisory_unlock(4653465446534654)) locked",
      "SELECT RELEASE_LOCK('holdfast_schema')"}},
};

/* What a dialect has for a token; it may have tokens in it. NULL: it is none. */
static const char *token_text(const char *at, size_t size, enum sql_dialect dialect)
{
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        if (strlen(tokens[i].name) == size && strncmp(tokens[i].name, at, size) == 0) {
            return tokens[i].texts[dialect];
        }
    }
    return NULL;
}

static const char *name_text(const char *at, size_t size, const struct inventory_name *inventory)
{
    const struct {
        const char *name, *text;
    } names[] = {{"{inventory}", inventory->table},
                 {"{product}", inventory->product},
                 {"{stock}", inventory->stock},
                 {"{rows}", "{rows}"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].name) == size && strncmp(names[i].name, at, size) == 0) {
            return names[i].text;
        }
    }
    return NULL;
}

static void expand(struct buffer *out, const char *template, enum sql_dialect dialect,
                   const struct inventory_name *inventory)
{
    for (const char *at = template; *at != '\0';) {
        size_t size = *at == '{' ? strcspn(at, "}") + 1 : 1;
        const char *text = *at == '{' ? token_text(at, size, dialect) : NULL;
        const char *name = *at == '{' && text == NULL ? name_text(at, size, inventory) : NULL;
        CHECK(*at != '{' || text != NULL || name != NULL);
        if (text != NULL) {
            expand(out, text, dialect, inventory);
        } else if (name != NULL) {
            buffer_text(out, name);
        } else {
            buffer_byte(out, (uint8_t)*at);
        }
        at += size;
    }
}

bool ledger_statements_init(struct ledger_statements *statements, enum sql_dialect dialect,
                            const struct inventory_name *inventory)
{
    size_t starts[LEDGER_STATEMENT_COUNT];

    memory_init(&statements->memory);
    buffer_init(&statements->texts, &statements->memory);
    for (unsigned i = 0; i < LEDGER_STATEMENT_COUNT; i++) {
        CHECK(templates[i].text != NULL);
        starts[i] = statements->texts.size;
        expand(&statements->texts, templates[i].text, dialect, inventory);
        buffer_byte(&statements->texts, '\0');
    }
    for (unsigned i = 0; i < LEDGER_STATEMENT_COUNT; i++) {
        statements->all[i] = (struct sql_statement){
            .number = i,
            .text = statements->texts.data + starts[i],
            .types = templates[i].types,
        };
    }
    return !statements->texts.failed;
}

void ledger_statements_free(struct ledger_statements *statements)
{
    buffer_free(&statements->texts);
}

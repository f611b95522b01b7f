-- SPDX-License-Identifier: Apache-2.0
--
-- The ledger's tables on SQLite. Texts are compared by their bytes (BINARY). Times are milliseconds
-- since 1970 by the clock of the machine that writes. sql/postgres and sql/mysql have the same
-- tables and columns.

-- Which of these files were applied.
CREATE TABLE holdfast_schema (
    version INTEGER NOT NULL PRIMARY KEY,
    applied_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
);

-- What can still be sold of each product. A shop's own table may stand in its place.
CREATE TABLE inventory (
    product_id TEXT NOT NULL PRIMARY KEY,
    stock INTEGER NOT NULL CHECK (stock >= 0)
) WITHOUT ROWID;

-- An order, once. An IN of three words would make SQLite build a table of them for every row; hence
-- the ORs. (writer, batch) is the transaction that changed the row last: it is in flight
-- while batch > writers.told, that is, the engine may not know of it yet.
CREATE TABLE orders (
    order_id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity >= 0),
    unit_price INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'sold' CHECK (status = 'sold' OR status = 'returned' OR status = 'cancelled'),
    sold_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    returned_at INTEGER,
    writer INTEGER NOT NULL,
    batch INTEGER NOT NULL
);
CREATE INDEX orders_in_flight ON orders (writer, batch);
CREATE INDEX orders_of_user ON orders (user_id, product_id);

-- How many seats a zone has, and how many are sold.
CREATE TABLE zones (
    event_id TEXT NOT NULL,
    zone_id TEXT NOT NULL,
    capacity INTEGER NOT NULL,
    sold INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, zone_id),
    CHECK (sold >= 0 AND sold <= capacity)
) WITHOUT ROWID;

-- A booking, once; (writer, batch) as of orders.
CREATE TABLE bookings (
    event_id TEXT NOT NULL,
    booking_id TEXT NOT NULL,
    zone_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    show_id TEXT NOT NULL DEFAULT '',
    quantity INTEGER NOT NULL CHECK (quantity >= 0),
    unit_price INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'confirmed',
    created_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    expires_at INTEGER,
    confirmed_at INTEGER DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    ended_at INTEGER,
    payment_id TEXT NOT NULL DEFAULT '',
    confirmation_code TEXT NOT NULL DEFAULT '',
    writer INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    PRIMARY KEY (event_id, booking_id),
    CHECK (status = 'reserved' OR status = 'confirmed' OR status = 'cancelled' OR status = 'expired' OR status = 'refunded')
);
CREATE INDEX bookings_in_flight ON bookings (writer, batch);
CREATE INDEX bookings_of_user ON bookings (user_id);

-- A step that happens once, whatever is repeated.
CREATE TABLE barriers (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    step TEXT NOT NULL,
    made_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    PRIMARY KEY (scope, id, step)
) WITHOUT ROWID;

-- Every correction of the engine.
CREATE TABLE drift (
    drift_id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    zone TEXT NOT NULL DEFAULT '',
    before_value INTEGER NOT NULL,
    after_value INTEGER NOT NULL,
    in_flight INTEGER NOT NULL,
    cause TEXT NOT NULL,
    server TEXT NOT NULL,
    made_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
);

-- Who may do what one server does at a time, until when. The fence grows with every new owner.
CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    fence INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Connections that write. Every transaction sets `batch` to its number where writer_id and epoch fit:
-- one whose COMMIT got no answer was carried out if its number is here. The engine knows all
-- batches up to `told`. A fenced writer was taken for dead and writes nothing any more.
CREATE TABLE writers (
    writer_id INTEGER NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    told INTEGER NOT NULL,
    fenced INTEGER NOT NULL DEFAULT 0,
    seen_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
);

INSERT INTO holdfast_schema (version) VALUES (1);

-- SPDX-License-Identifier: Apache-2.0
--
-- The ledger's tables on PostgreSQL. Texts are compared by their bytes (COLLATE "C"). Times are
-- milliseconds since 1970 by the database's clock. sql/sqlite and sql/mysql have the same tables and
-- columns.

-- Which of these files were applied.
CREATE TABLE holdfast_schema (
    version BIGINT NOT NULL PRIMARY KEY,
    applied_at BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT))
);

-- What can still be sold of each product. A shop's own table may stand in its place.
CREATE TABLE inventory (
    product_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    stock BIGINT NOT NULL CHECK (stock >= 0)
);

-- An order, once. (writer, batch) is the transaction that changed the row last: it is in flight
-- while batch > writers.told, that is, the engine may not know of it yet.
CREATE TABLE orders (
    order_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    product_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    quantity BIGINT NOT NULL CHECK (quantity >= 0),
    unit_price BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL DEFAULT 'sold' CHECK (status IN ('sold', 'returned', 'cancelled')),
    sold_at BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)),
    returned_at BIGINT,
    writer BIGINT NOT NULL,
    batch BIGINT NOT NULL
);
CREATE INDEX orders_in_flight ON orders (writer, batch);
CREATE INDEX orders_of_user ON orders (user_id, product_id);

-- How many seats a zone has, and how many are sold.
CREATE TABLE zones (
    event_id TEXT COLLATE "C" NOT NULL,
    zone_id TEXT COLLATE "C" NOT NULL,
    capacity BIGINT NOT NULL,
    sold BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, zone_id),
    CHECK (sold >= 0 AND sold <= capacity)
);

-- A booking, once; (writer, batch) as of orders.
CREATE TABLE bookings (
    event_id TEXT COLLATE "C" NOT NULL,
    booking_id TEXT COLLATE "C" NOT NULL,
    zone_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    show_id TEXT COLLATE "C" NOT NULL DEFAULT '',
    quantity BIGINT NOT NULL CHECK (quantity >= 0),
    unit_price BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL DEFAULT 'confirmed',
    created_at BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)),
    expires_at BIGINT,
    confirmed_at BIGINT DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)),
    ended_at BIGINT,
    payment_id TEXT COLLATE "C" NOT NULL DEFAULT '',
    confirmation_code TEXT COLLATE "C" NOT NULL DEFAULT '',
    writer BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    PRIMARY KEY (event_id, booking_id),
    CHECK (status IN ('reserved', 'confirmed', 'cancelled', 'expired', 'refunded'))
);
CREATE INDEX bookings_in_flight ON bookings (writer, batch);
CREATE INDEX bookings_of_user ON bookings (user_id);

-- A step that happens once, whatever is repeated.
CREATE TABLE barriers (
    scope TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    step TEXT COLLATE "C" NOT NULL,
    made_at BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)),
    PRIMARY KEY (scope, id, step)
);

-- Every correction of the engine.
CREATE TABLE drift (
    drift_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope TEXT COLLATE "C" NOT NULL,
    zone TEXT COLLATE "C" NOT NULL DEFAULT '',
    before_value BIGINT NOT NULL,
    after_value BIGINT NOT NULL,
    in_flight BIGINT NOT NULL,
    cause TEXT COLLATE "C" NOT NULL,
    server TEXT COLLATE "C" NOT NULL,
    made_at BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT))
);

-- Who may do what one server does at a time, until when. The fence grows with every new owner.
CREATE TABLE leases (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner TEXT COLLATE "C" NOT NULL,
    fence BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- Connections that write. Every transaction sets `batch` to its number where writer_id and epoch fit:
-- one whose COMMIT got no answer was carried out if its number is here. The engine knows all
-- batches up to `told`. A fenced writer was taken for dead and writes nothing any more.
CREATE TABLE writers (
    writer_id BIGINT NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    told BIGINT NOT NULL,
    fenced BIGINT NOT NULL DEFAULT 0,
    seen_at BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT))
);

INSERT INTO holdfast_schema (version) VALUES (1);

-- SPDX-License-Identifier: Apache-2.0
--
-- The ledger's tables on MySQL and MariaDB. Texts are compared by their bytes (utf8mb4_bin). Times are
-- milliseconds since 1970 by the database's clock. sql/sqlite and sql/postgres have the same tables
-- and columns. Each statement is a transaction of its own here, so that one that was cut off is
-- carried out again: all of them may find their table there.

-- Which of these files were applied.
CREATE TABLE IF NOT EXISTS holdfast_schema (
    version BIGINT NOT NULL PRIMARY KEY,
    applied_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED))
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What can still be sold of each product. A shop's own table may stand in its place.
CREATE TABLE IF NOT EXISTS inventory (
    product_id VARCHAR(128) NOT NULL PRIMARY KEY,
    stock BIGINT NOT NULL CHECK (stock >= 0)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- An order, once. (writer, batch) is the transaction that changed the row last: it is in flight
-- while batch > writers.told, that is, the engine may not know of it yet.
CREATE TABLE IF NOT EXISTS orders (
    order_id VARCHAR(128) NOT NULL PRIMARY KEY,
    product_id VARCHAR(128) NOT NULL,
    user_id VARCHAR(128) NOT NULL,
    quantity BIGINT NOT NULL CHECK (quantity >= 0),
    unit_price BIGINT NOT NULL,
    status VARCHAR(16) NOT NULL DEFAULT 'sold' CHECK (status IN ('sold', 'returned', 'cancelled')),
    sold_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    returned_at BIGINT,
    writer BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    INDEX orders_in_flight (writer, batch),
    INDEX orders_of_user (user_id, product_id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How many seats a zone has, and how many are sold.
CREATE TABLE IF NOT EXISTS zones (
    event_id VARCHAR(128) NOT NULL,
    zone_id VARCHAR(128) NOT NULL,
    capacity BIGINT NOT NULL,
    sold BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, zone_id),
    CHECK (sold >= 0 AND sold <= capacity)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A booking, once; (writer, batch) as of orders.
CREATE TABLE IF NOT EXISTS bookings (
    event_id VARCHAR(128) NOT NULL,
    booking_id VARCHAR(128) NOT NULL,
    zone_id VARCHAR(128) NOT NULL,
    user_id VARCHAR(128) NOT NULL,
    show_id VARCHAR(128) NOT NULL DEFAULT '',
    quantity BIGINT NOT NULL CHECK (quantity >= 0),
    unit_price BIGINT NOT NULL,
    status VARCHAR(16) NOT NULL DEFAULT 'confirmed',
    created_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    expires_at BIGINT,
    confirmed_at BIGINT DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    ended_at BIGINT,
    payment_id VARCHAR(128) NOT NULL DEFAULT '',
    confirmation_code VARCHAR(16) NOT NULL DEFAULT '',
    writer BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    PRIMARY KEY (event_id, booking_id),
    CHECK (status IN ('reserved', 'confirmed', 'cancelled', 'expired', 'refunded')),
    INDEX bookings_in_flight (writer, batch),
    INDEX bookings_of_user (user_id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A step that happens once, whatever is repeated.
CREATE TABLE IF NOT EXISTS barriers (
    scope VARCHAR(128) NOT NULL,
    id VARCHAR(128) NOT NULL,
    step VARCHAR(16) NOT NULL,
    made_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    PRIMARY KEY (scope, id, step)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Every correction of the engine.
CREATE TABLE IF NOT EXISTS drift (
    drift_id BIGINT AUTO_INCREMENT PRIMARY KEY,
    scope VARCHAR(128) NOT NULL,
    zone VARCHAR(128) NOT NULL DEFAULT '',
    before_value BIGINT NOT NULL,
    after_value BIGINT NOT NULL,
    in_flight BIGINT NOT NULL,
    cause VARCHAR(512) NOT NULL,
    server VARCHAR(512) NOT NULL,
    made_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED))
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who may do what one server does at a time, until when. The fence grows with every new owner.
CREATE TABLE IF NOT EXISTS leases (
    name VARCHAR(128) NOT NULL PRIMARY KEY,
    owner VARCHAR(128) NOT NULL,
    fence BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Connections that write. Every transaction sets `batch` to its number where writer_id and epoch fit:
-- one whose COMMIT got no answer was carried out if its number is here. The engine knows all
-- batches up to `told`. A fenced writer was taken for dead and writes nothing any more.
CREATE TABLE IF NOT EXISTS writers (
    writer_id BIGINT NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    told BIGINT NOT NULL,
    fenced BIGINT NOT NULL DEFAULT 0,
    seen_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED))
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO holdfast_schema (version) VALUES (1);

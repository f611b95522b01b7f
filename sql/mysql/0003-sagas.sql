-- SPDX-License-Identifier: Apache-2.0
--
-- Checkouts in flight and ended, on MySQL and MariaDB.

-- A saga: one checkout from the reservation to its end. `state` is written before the step that
-- belongs to it begins. Every change asks for the fence that its owner read: a server that was taken
-- for dead changes nothing any more. A saga whose lease_until is past is there to be claimed; one
-- that has ended has a lease_until that never comes. `payment` is what is known of the charge.
CREATE TABLE IF NOT EXISTS sagas (
    saga_id VARCHAR(128) NOT NULL PRIMARY KEY,
    event_id VARCHAR(128) NOT NULL,
    booking_id VARCHAR(128) NOT NULL,
    zone_id VARCHAR(128) NOT NULL,
    user_id VARCHAR(128) NOT NULL,
    quantity BIGINT NOT NULL,
    max_per_user BIGINT NOT NULL,
    unit_price BIGINT NOT NULL,
    currency VARCHAR(8) NOT NULL,
    pass VARCHAR(128) NOT NULL,
    payment_id VARCHAR(128) NOT NULL UNIQUE,
    payment_token VARCHAR(512) NOT NULL,
    state VARCHAR(20) NOT NULL,
    came_from VARCHAR(20) NOT NULL DEFAULT '',
    payment VARCHAR(16) NOT NULL DEFAULT '',
    error_code VARCHAR(32) NOT NULL DEFAULT '',
    error_message VARCHAR(512) NOT NULL DEFAULT '',
    attempts BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    updated_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    due_at BIGINT NOT NULL DEFAULT 0,
    owner VARCHAR(128) NOT NULL,
    fence BIGINT NOT NULL DEFAULT 1,
    lease_until BIGINT NOT NULL,
    UNIQUE (event_id, booking_id),
    INDEX sagas_due (lease_until)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO holdfast_schema (version) VALUES (3);

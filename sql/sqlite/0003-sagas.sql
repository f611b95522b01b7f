-- SPDX-License-Identifier: Apache-2.0
--
-- Checkouts in flight and ended, on SQLite.

-- A saga: one checkout from the reservation to its end. `state` is written before the step that
-- belongs to it begins. Every change asks for the fence that its owner read: a server that was taken
-- for dead changes nothing any more. A saga whose lease_until is past is there to be claimed; one
-- that has ended has a lease_until that never comes. `payment` is what is known of the charge.
CREATE TABLE sagas (
    saga_id TEXT NOT NULL PRIMARY KEY,
    event_id TEXT NOT NULL,
    booking_id TEXT NOT NULL,
    zone_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    max_per_user INTEGER NOT NULL,
    unit_price INTEGER NOT NULL,
    currency TEXT NOT NULL,
    pass TEXT NOT NULL,
    payment_id TEXT NOT NULL UNIQUE,
    payment_token TEXT NOT NULL,
    state TEXT NOT NULL,
    came_from TEXT NOT NULL DEFAULT '',
    payment TEXT NOT NULL DEFAULT '',
    error_code TEXT NOT NULL DEFAULT '',
    error_message TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    updated_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    due_at INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL,
    fence INTEGER NOT NULL DEFAULT 1,
    lease_until INTEGER NOT NULL,
    UNIQUE (event_id, booking_id)
);
CREATE INDEX sagas_due ON sagas (lease_until);

INSERT INTO holdfast_schema (version) VALUES (3);

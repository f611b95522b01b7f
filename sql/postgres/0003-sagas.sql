-- SPDX-License-Identifier: Apache-2.0
--
-- Checkouts in flight and ended, on PostgreSQL.

-- A saga: one checkout from the reservation to its end. `state` is written before the step that
-- belongs to it begins. Every change asks for the fence that its owner read: a server that was taken
-- for dead changes nothing any more. A saga whose lease_until is past is there to be claimed; one
-- that has ended has a lease_until that never comes. `payment` is what is known of the charge.
CREATE TABLE sagas (
    saga_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    event_id TEXT COLLATE "C" NOT NULL,
    booking_id TEXT COLLATE "C" NOT NULL,
    zone_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    quantity BIGINT NOT NULL,
    max_per_user BIGINT NOT NULL,
    unit_price BIGINT NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    pass TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C" NOT NULL UNIQUE,
    payment_token TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    came_from TEXT COLLATE "C" NOT NULL DEFAULT '',
    payment TEXT COLLATE "C" NOT NULL DEFAULT '',
    error_code TEXT COLLATE "C" NOT NULL DEFAULT '',
    error_message TEXT COLLATE "C" NOT NULL DEFAULT '',
    attempts BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)),
    updated_at BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)),
    due_at BIGINT NOT NULL DEFAULT 0,
    owner TEXT COLLATE "C" NOT NULL,
    fence BIGINT NOT NULL DEFAULT 1,
    lease_until BIGINT NOT NULL,
    UNIQUE (event_id, booking_id)
);
CREATE INDEX sagas_due ON sagas (lease_until);

INSERT INTO holdfast_schema (version) VALUES (3);

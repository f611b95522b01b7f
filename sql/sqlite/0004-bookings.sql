-- SPDX-License-Identifier: Apache-2.0
--
-- Bookings in all their states. The row of a hold that was never sold has writer and batch 0: it is
-- written behind the engine, which has the hold, and gives way to the row of the sale. created_at and
-- expires_at are by the engine's clock.

-- What the reconciliation looks for: holds past their deadline.
CREATE INDEX bookings_due ON bookings (status, expires_at);

-- A user's bookings, page by page.
CREATE INDEX bookings_by_user ON bookings (user_id, event_id, booking_id);
DROP INDEX bookings_of_user;

-- Seats that were ever given back by a refund: it only grows, so that two readings of the zone can
-- tell whether one was between them.
ALTER TABLE zones ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;

INSERT INTO holdfast_schema (version) VALUES (4);

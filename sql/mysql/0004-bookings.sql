-- SPDX-License-Identifier: Apache-2.0
--
-- Bookings in all their states. The row of a hold that was never sold has writer and batch 0: it is
-- written behind the engine, which has the hold, and gives way to the row of the sale. created_at and
-- expires_at are by the engine's clock.
--
-- Each ALTER is a transaction of its own here, and one that was carried out before is left out:
-- neither MySQL nor MariaDB has a word for that which both know.

-- What the reconciliation looks for: holds past their deadline; and a user's bookings, page by page.
SET @alteration = IF((SELECT COUNT(*) FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'bookings' AND index_name = 'bookings_due') = 0,
    'ALTER TABLE bookings ADD INDEX bookings_due (status, expires_at),
    ADD INDEX bookings_by_user (user_id, event_id, booking_id), DROP INDEX bookings_of_user', 'DO 0');
PREPARE alteration FROM @alteration;
EXECUTE alteration;

-- Seats that were ever given back by a refund: it only grows, so that two readings of the zone can
-- tell whether one was between them.
SET @alteration = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'zones' AND column_name = 'refunded') = 0,
    'ALTER TABLE zones ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0', 'DO 0');
PREPARE alteration FROM @alteration;
EXECUTE alteration;
DEALLOCATE PREPARE alteration;

INSERT IGNORE INTO holdfast_schema (version) VALUES (4);

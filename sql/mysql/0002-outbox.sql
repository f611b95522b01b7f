-- SPDX-License-Identifier: Apache-2.0
--
-- What has to be told to the receiver of webhooks, on MySQL and MariaDB. A row is written in the transaction of
-- the change that it tells of.

-- Rows of one subject (a booking of an event, an order of a product) are delivered one after the
-- other, in the order of their ids. state: 0 pending, 1 delivered, 2 given up. due_at: when it is
-- tried next, or when it ended. retry_from: from when on the days count after which it is given up;
-- a replay moves it.
CREATE TABLE IF NOT EXISTS outbox (
    outbox_id BIGINT AUTO_INCREMENT PRIMARY KEY,
    scope VARCHAR(128) NOT NULL,
    subject_id VARCHAR(128) NOT NULL,
    type VARCHAR(64) NOT NULL,
    payload TEXT NOT NULL,
    state BIGINT NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    retry_from BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    due_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED)),
    INDEX outbox_due (state, due_at, outbox_id),
    INDEX outbox_in_order (state, outbox_id),
    INDEX outbox_of_subject (subject_id, scope, state, outbox_id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO holdfast_schema (version) VALUES (2);

-- SPDX-License-Identifier: Apache-2.0
--
-- What has to be told to the receiver of webhooks, on SQLite. A row is written in the transaction of
-- the change that it tells of.

-- Rows of one subject (a booking of an event, an order of a product) are delivered one after the
-- other, in the order of their ids. state: 0 pending, 1 delivered, 2 given up. due_at: when it is
-- tried next, or when it ended. retry_from: from when on the days count after which it is given up;
-- a replay moves it.
CREATE TABLE outbox (
    outbox_id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    type TEXT NOT NULL,
    payload TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    retry_from INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    due_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
);
CREATE INDEX outbox_due ON outbox (state, due_at, outbox_id);
CREATE INDEX outbox_in_order ON outbox (state, outbox_id);
CREATE INDEX outbox_of_subject ON outbox (subject_id, scope, state, outbox_id);

INSERT INTO holdfast_schema (version) VALUES (2);

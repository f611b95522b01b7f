-- SPDX-License-Identifier: Apache-2.0
--
-- Nothing: on PostgreSQL the pages of sagas keep room for moves, and versions are the same everywhere.

INSERT INTO holdfast_schema (version) VALUES (5);

-- SPDX-License-Identifier: Apache-2.0
--
-- A saga's row is changed four times in its first second: pages keep room for that, so that a move whose
-- lease stays as it is touches none of the indexes.
ALTER TABLE sagas SET (fillfactor = 40);

INSERT INTO holdfast_schema (version) VALUES (5);

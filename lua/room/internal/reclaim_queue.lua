-- SPDX-License-Identifier: Apache-2.0
-- For the release worker: entries past their deadline leave the line of an event. The commands do
-- that for themselves too, so nobody depends on it.
--
-- KEYS[1] queue:E        sorted set, users by arrival
-- KEYS[2] queue:due:{E}  sorted set, users by the deadline of their entry
-- ARGV[1] how many at most, up to limits.RECLAIMED_AT_ONCE
-- Reply   {how many left, milliseconds until the next is due, how late the first was}. 0 until the
--         next: more are due already; -1: nobody is in line.
-- uses: clock common worker room

local now = now_ms()
local count, first_due = lapse_entries(KEYS[1], KEYS[2], now, worker_limit(ARGV[1]))
return worker_answer(KEYS[2], now, count, first_due)

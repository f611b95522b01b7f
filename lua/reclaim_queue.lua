-- SPDX-License-Identifier: Apache-2.0
-- For the release worker: entries past their deadline leave the line of an event. The commands do
-- that for themselves too, so nobody depends on it.
--
-- KEYS[1] queue:E        sorted set, users by arrival
-- KEYS[2] queue:due:{E}  sorted set, users by the deadline of their entry
-- ARGV[1] how many at most, up to 100
-- Reply   {how many left, milliseconds until the next is due, how late the first was}. 0 until the
--         next: more are due already; -1: nobody is in line.
-- uses: clock common room

local limit = math.max(1, math.min(RECLAIM_MAX, math.floor(tonumber(ARGV[1]))))
local now = now_ms()
local count, first_due = lapse_entries(KEYS[1], KEYS[2], now, limit)
local next_due = tonumber(redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2])
return {count, next_due and math.max(0, next_due - now) or -1, first_due and now - first_due or 0}

-- SPDX-License-Identifier: Apache-2.0
-- Argument and answer of the scripts for the release worker.

-- Returns how many to give back at most: as given, within 1 to limits.RECLAIMED_AT_ONCE.
local function worker_limit(text)
    local most = math.floor(tonumber(text) or 1)
    return math.max(1, math.min(limits.RECLAIMED_AT_ONCE, most))
end

-- Returns the answer {how many were given back, milliseconds until the next is due, how late the
-- first was}. 0 until the next: more is due already; -1: nothing has a deadline.
local function worker_answer(due_key, now, count, first_due)
    local next_due = tonumber(redis.call('ZRANGE', due_key, 0, 0, 'WITHSCORES')[2])
    return {count, next_due and math.max(0, next_due - now) or -1,
        first_due and math.max(0, now - first_due) or 0}
end

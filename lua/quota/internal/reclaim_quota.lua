-- SPDX-License-Identifier: Apache-2.0
-- Release worker: gives back the holds of a tenant that are due. The commands do the same for
-- themselves: nothing depends on this script being called.
--
-- KEYS[1] quota:tenant:$tenant:used   integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit  integer
-- KEYS[3] quota:tenant:$tenant:held   integer
-- KEYS[4] quota:tenant:$tenant:holds  hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due    sorted set, holds by deadline
-- ARGV[1] limit  how many at most, up to limits.RECLAIMED_AT_ONCE
-- Returns {how many holds were given back, milliseconds until the next is due, how late the first
--         was}. 0 until the next: more are due already; -1: nothing is on hold.
-- Refuses nothing
-- Errors  none
-- Derives quota:tenant:$tenant:names, the open holds by name
-- uses: slot clock common worker quota

local used, problem = figures()
if not used then
    return problem
end
local now = now_ms()
local _, count, first_due = reclaim_holds(now, worker_limit(ARGV[1]))
return worker_answer(DUE, now, count, first_due)

-- SPDX-License-Identifier: Apache-2.0
-- For the release worker: gives back the holds of a tenant that are due. The commands do that for
-- themselves too, so nobody depends on it.
--
-- KEYS[1] quota:tenant:T:used   integer: committed and held together
-- KEYS[2] quota:tenant:T:limit  integer
-- KEYS[3] quota:tenant:T:held   integer
-- KEYS[4] quota:tenant:T:holds  hash: hold to "amount ttl_ms"
-- KEYS[5] quota:tenant:T:due    sorted set, holds by deadline
-- ARGV[1] how many at most, up to limits.RECLAIMED_AT_ONCE
-- Reply   {how many holds were given back, milliseconds until the next is due, how late the first
--         was}. 0 until the next: more are due already; -1: nothing is on hold.
-- uses: clock common worker quota

local now = now_ms()
local _, count, first_due = reclaim_holds(now, worker_limit(ARGV[1]))
return worker_answer(DUE, now, count, first_due)

-- SPDX-License-Identifier: Apache-2.0
-- LOCK.GET: which id holds a lock.
--
-- KEYS[1] seat:locked:$resource  string, the lock id with its TTL
-- KEYS[2] seat:fence:$resource   string, the last grant: fence, deadline, id
-- ARGV    none
-- Returns {lock_id, fence, milliseconds left}, or nil if nobody holds it. A lock that another
--         program set has fence 0, and -1 milliseconds left if it has no TTL.
-- Refuses nothing
-- Errors  none
-- uses: slot clock common lock

local now = now_ms()
local lock, _, moving = find_lock(now)
if moving then
    return moving
end
if not lock then
    return false
end
return {lock.id, lock.fence, time_left(lock, now)}

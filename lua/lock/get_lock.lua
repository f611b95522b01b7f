-- SPDX-License-Identifier: Apache-2.0
-- LOCK.GET: who holds a lock.
--
-- KEYS[1] seat:locked:R  string, the lock id with its TTL
-- KEYS[2] seat:fence:R   string, the last grant: fence, deadline, id
-- Reply   {lock_id, fence, milliseconds left}, or nil if nobody holds it. A lock that another
--         program set has fence 0, and -1 milliseconds left if it has no TTL.
-- uses: clock common lock

local now = now_ms()
local lock = find_lock(now)
if not lock then
    return false
end
return {lock.id, lock.fence, time_left(lock, now)}

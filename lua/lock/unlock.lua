-- SPDX-License-Identifier: Apache-2.0
-- LOCK.UNLOCK: lets a lock go, if this id holds it.
--
-- KEYS[1] seat:locked:R  string, the lock id with its TTL
-- KEYS[2] seat:fence:R   string, the last grant: fence, deadline, id; stays, for the next fence
-- ARGV[1] lock_id
-- Reply   1, or 0 if that lock id does not hold it
-- uses: clock common lock

local lock = find_lock(now_ms())
if not lock or lock.id ~= ARGV[1] then
    return 0
end
let_go(lock)
return 1

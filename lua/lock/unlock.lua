-- SPDX-License-Identifier: Apache-2.0
-- LOCK.UNLOCK: lets a lock go, if this id holds it. Works with KEYS[1] alone.
--
-- KEYS[1] seat:locked:$resource  string, the lock id with its TTL
-- KEYS[2] seat:fence:$resource   string, the last grant; stays, for the next fence; made from the
--                                first
-- ARGV[1] lock_id
-- Returns 1, or 0 if that lock id does not hold it
-- Refuses nothing
-- Errors  none
-- uses: slot clock common lock

local lock, _, moving = find_lock(now_ms())
if moving then
    return moving
end
if not lock or lock.id ~= ARGV[1] then
    return 0
end
let_go(lock)
return 1

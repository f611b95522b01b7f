-- SPDX-License-Identifier: Apache-2.0
-- LOCK.EXTEND: the lock lasts until now + ttl, which may be earlier than before.
--
-- KEYS[1] seat:locked:$resource  string, the lock id with its TTL
-- KEYS[2] seat:fence:$resource   string, the last grant: fence, deadline, id
-- ARGV[1] lock_id
-- ARGV[2] ttl      in seconds
-- Returns 1, or 0 if that lock id does not hold it
-- Refuses nothing
-- Errors  none
-- uses: slot clock common expiry lock

local ttl_ms = to_ms(ARGV[2])
local now = now_ms()
local lock, _, moving = find_lock(now)
if moving then
    return moving
end
if not lock or lock.id ~= ARGV[1] then
    return 0
end
redis.call('PEXPIRE', KEYS[1], redis_ttl(ttl_ms))
if lock.granted then
    lock.deadline = now + ttl_ms
    note_grant(lock, ttl_ms)
end
return 1

-- SPDX-License-Identifier: Apache-2.0
-- LOCK.TRY: takes a lock that nobody holds. For the id that holds it: answers as before, and does
-- not extend it. Works with KEYS[1], ARGV[1] and ARGV[2] alone.
--
-- KEYS[1] seat:locked:$resource  string, the lock id with its TTL
-- KEYS[2] seat:fence:$resource   string, the last grant: fence, deadline, id; made from the first
-- ARGV[1] lock_id
-- ARGV[2] ttl      in seconds; longer than 30 days is 30 days
-- ARGV[3] fence    optional, 1: the reply has the fence
-- ARGV[4] +floor   optional, "floor:N": the fence is to be at least N, also that of a lock held
--                  already. For Redlock, whose fences have to grow across servers.
-- Returns lock_id, with fence {lock_id, fence}, with a floor {lock_id, fence, milliseconds left,
--         taken}; taken: 1 if it was taken just now, 0 if the id held it before. Nil while another
--         id holds it. Fences of a resource only grow.
-- Refuses nothing
-- Errors  ERR
-- uses: slot clock common expiry lock

local lock_id, ttl_ms = ARGV[1], capped_ms(ARGV[2])
local floor = tonumber((ARGV[4] or ''):match('^floor:(%d+)$'))
if (lock_id or '') == '' or floor and floor > limits.HF_INTEGER_MAX then
    return redis.error_reply('ERR a lock needs an id, and a floor up to 2^53-1')
end
local now = now_ms()
local lock, last_fence, moving = find_lock(now)
if moving then
    return moving
end
if lock and lock.id ~= lock_id then
    return false
end

local taken = not lock
if taken then
    redis.call('SET', KEYS[1], lock_id, 'PX', redis_ttl(ttl_ms))
    lock = {id = lock_id, deadline = now + ttl_ms, granted = false}
end
if not lock.granted then
    local grown = last_fence > 0 and math.max(last_fence + 1, now * 1000) or now_us()
    lock.fence = math.max(grown, floor or 0)
    note_grant(lock, ttl_ms)
elseif floor and lock.fence < floor then
    lock.fence = floor
    note_grant(lock, ttl_ms)
end

if floor then
    return {lock.id, lock.fence, time_left(lock, now), taken and 1 or 0}
end
return ARGV[3] == '1' and {lock.id, lock.fence} or lock.id

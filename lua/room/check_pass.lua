-- SPDX-License-Identifier: Apache-2.0
-- ROOM.CHECK: whether this is the user's pass, and still valid.
--
-- KEYS[1] queue:$event               not used
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         not used
-- ARGV[1] user
-- ARGV[2] pass
-- Returns 1 or 0
-- Refuses nothing
-- Errors  none
-- uses: clock

local known = redis.call('HMGET', KEYS[2], 'pass', 'pass_deadline')
if not known[1] then
    return 0
end
if tonumber(known[2]) <= now_ms() then
    redis.call('HDEL', KEYS[2], 'pass', 'pass_deadline')
    return 0
end
return known[1] == ARGV[2] and 1 or 0
